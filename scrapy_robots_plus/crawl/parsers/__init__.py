"""The parsers of robots.txt: this package's, and what any of them can be asked."""
