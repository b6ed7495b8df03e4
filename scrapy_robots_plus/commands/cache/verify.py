"""``scrapy robots cache verify``: is everything in a store as it was written?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.output import Output, Style
from scrapy_robots_plus.commands.subcommand import Exit, Subcommand
from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.storage import StoreDamagedError

from .store import add_store, opened_to_read
from .words import PROGRESS_EVERY

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.storage import StoreReader


class Verify(Subcommand):
    """Each record with its checksum and the hash of its text, and the file as SQLite sees it."""

    name = "verify"
    syntax = "[--store URI | --jobdir FOLDER]"
    help = "Check every record of a store, and the store itself"
    details = (
        "Nothing is repaired: a crawl does that when it finds damage. Exit status: 0; 1 if "
        "something is wrong; 2 if the store cannot be opened."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_store(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        counts: Counter[str] = Counter()
        try:
            with opened_to_read(arguments, project) as store:
                for fault in _faults(store, counts, output):
                    counts["wrong"] += 1
                    output.line((fault, Style.BAD))
        except StoreDamagedError as error:
            counts["wrong"] += 1
            output.line((error, Style.BAD))
        output.line(
            f"{counted(counts['records'], 'record')} checked, {counted(counts['wrong'], 'fault')}"
        )
        return Exit.FOUND if counts["wrong"] else Exit.OK


def _faults(store: StoreReader, counts: Counter[str], output: Output) -> Iterator[str]:
    output.progress("checking the file")
    yield from store.faults()
    for each in store.scan():
        counts["records"] += 1
        if each.record is None:
            yield f"{each.origin}: {each.fault}"
        if counts["records"] % PROGRESS_EVERY == 0:
            output.progress(f"{counts['records']:,} records")
