"""``scrapy robots cache export``: all records of a store as lines of JSON."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.output import Output
from scrapy_robots_plus.commands.subcommand import Exit, Subcommand
from scrapy_robots_plus.storage.exchange import line_of

from .store import add_store, opened_to_read
from .words import PROGRESS_EVERY

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator
    from typing import TextIO

    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.storage import StoreReader


class Export(Subcommand):
    """A file is complete when it appears."""

    name = "export"
    syntax = "[-o FILE] [--store URI | --jobdir FOLDER]"
    help = "Write all records of a store as lines of JSON"
    details = (
        "Exit status: 0; 1 if a record cannot be trusted and was left out; 2 if the store cannot "
        "be read or FILE cannot be written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "-o", dest="file", metavar="FILE", help="write to FILE (default: to standard output)"
        )
        add_store(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        with opened_to_read(arguments, project) as store:
            if arguments.file is None:
                return _export(store, output, output)
            with _whole_file(Path(arguments.file)) as stream:
                return _export(store, Output(stream), output)


def _export(store: StoreReader, target: Output, output: Output) -> Exit:
    status = Exit.OK
    for count, each in enumerate(store.scan()):
        if each.record is None:
            output.error(f"{each.origin} is left out: {each.fault}")
            status = Exit.FOUND
        else:
            target.json(line_of(each.record))
        if count % PROGRESS_EVERY == 0:
            output.progress(f"{count:,} records")
    return status


@contextmanager
def _whole_file(path: Path) -> Iterator[TextIO]:
    """A stream that becomes the file at *path* when all went well."""
    if path.exists() and not path.is_file():  # a pipe, or /dev/stdout
        with path.open("w", encoding="ascii") as stream:
            yield stream
        return
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="ascii") as stream:
            yield stream
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()
