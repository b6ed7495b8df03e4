"""``scrapy robots cache``: what a store keeps, for people."""

from __future__ import annotations

from scrapy_robots_plus.commands.subcommand import Group

from .contents import List, Show, Verify
from .exchange import Export, Import
from .purge import Purge

CACHE = Group(
    "cache",
    help="Inspect and maintain a store of robots.txt files",
    details="A store can be looked at while crawls use it.",
    subcommands=(List(), Show(), Export(), Import(), Purge(), Verify()),
)
