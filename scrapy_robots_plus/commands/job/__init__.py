"""``scrapy robots job``: the requests that a job keeps, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.subcommand import Group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.commands.subcommand import Subcommand


class Job(Group):
    """Its actions."""

    name = "job"
    help = "Inspect and maintain the requests that a job keeps in its folder"
    details = "No crawl may use the job meanwhile."

    def subcommands(self) -> Iterator[Subcommand]:
        from .actions import Accept, Retry, Show, Shrink
        from .convert import Convert

        yield from (Show(), Retry(), Accept(), Convert(), Shrink())
