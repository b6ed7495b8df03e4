"""``scrapy robots cache``: what a store keeps, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.subcommand import Group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.commands.subcommand import Subcommand


class Cache(Group):
    """Its actions are in a file each."""

    name = "cache"
    help = "Look at a store of robots.txt files, and look after it"
    details = "A store can be looked at while crawls use it."

    def subcommands(self) -> Iterator[Subcommand]:
        from .export import Export
        from .importing import Import
        from .listing import List
        from .purge import Purge
        from .show import Show
        from .verify import Verify

        yield from (List(), Show(), Export(), Import(), Purge(), Verify())
