"""Puts a crawl on record: the audit log, the robots.txt files beside it, and the WARC file."""
