"""What a robots.txt says: pure functions of bytes, without Scrapy, Twisted or a clock."""

from .verdict import Reason, Verdict

__all__ = ["Reason", "Verdict"]
