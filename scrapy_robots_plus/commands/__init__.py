"""The ``scrapy robots`` command, which answers questions about robots.txt in a terminal."""
