"""``scrapy robots cache``: what a store keeps, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.subcommand import Group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.commands.subcommand import Subcommand


class Cache(Group):
    """Its actions."""

    name = "cache"
    help = "Inspect and maintain a store of robots.txt files"
    details = "A store can be looked at while crawls use it."

    def subcommands(self) -> Iterator[Subcommand]:
        from .contents import List, Show, Verify
        from .exchange import Export, Import
        from .purge import Purge

        yield from (List(), Show(), Export(), Import(), Purge(), Verify())
