"""Parsers of robots.txt: this package's own, and one interface to all others."""
