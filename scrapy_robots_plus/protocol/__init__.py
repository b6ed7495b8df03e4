"""The meaning of a robots.txt: pure functions of bytes, without Scrapy, Twisted or a clock."""

from .crawl_delay import RequestRate, VisitTime
from .dialect import DIALECTS, FIRST_MATCH, GOOGLE, GYM2008, MK1996, RFC9309, Dialect, dialect_named
from .product_token import Agent, has_product_token, product_tokens
from .robotstxt import CleanParam, RobotsTxt
from .verdict import Explanation, Reason, Verdict

__all__ = [
    "DIALECTS",
    "FIRST_MATCH",
    "GOOGLE",
    "GYM2008",
    "MK1996",
    "RFC9309",
    "Agent",
    "CleanParam",
    "Dialect",
    "Explanation",
    "Reason",
    "RequestRate",
    "RobotsTxt",
    "Verdict",
    "VisitTime",
    "dialect_named",
    "has_product_token",
    "product_tokens",
]
