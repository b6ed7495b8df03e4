"""``scrapy robots job``: the requests that a job keeps, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.subcommand import Group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.commands.subcommand import Subcommand


class Job(Group):
    """Its actions are in a file each."""

    name = "job"
    help = "Look at the requests that a job keeps in its folder, and look after them"
    details = "No crawl may use the job meanwhile."

    def subcommands(self) -> Iterator[Subcommand]:
        from .accept import Accept
        from .convert import Convert
        from .retry import Retry
        from .show import Show
        from .shrink import Shrink

        yield from (Show(), Retry(), Accept(), Convert(), Shrink())
