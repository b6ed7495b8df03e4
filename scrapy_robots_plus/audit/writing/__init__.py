"""Appends to files that several crawls write: the log, and the WARC file of the fetches."""
