"""Keeps Scrapy's own INFO lines out of the output, so that those of the package stand out."""

import logging

from scrapy.exceptions import NotConfigured


class Quiet:
    """``-s QUIET=False`` brings them back."""

    @classmethod
    def from_crawler(cls, crawler):
        if not crawler.settings.getbool("QUIET"):
            raise NotConfigured
        logging.getLogger("scrapy").setLevel(logging.WARNING)
        return cls()
