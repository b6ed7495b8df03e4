"""What all parts of one crawl share: its clock, log, stats, meta keys, signals and exceptions.

``crawl.py`` has the objects of one crawl.
"""
