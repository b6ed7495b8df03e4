"""What pages say of themselves: which of their links are followed, which items are kept.

``reading.py`` finds out what a page says; because of it, ``consequences.py`` drops requests and
items. ``link_rel.py`` is for spiders, which look at the links themselves.
"""
