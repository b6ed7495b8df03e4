"""``scrapy robots job shrink``: free space of a job's file goes back to the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.subcommand import Exit, Subcommand

from .folder import add_folder, file_of, opened, size

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project


class Shrink(Subcommand):
    """Crawls use free space again, so this is for jobs that will not grow as large again."""

    name = "shrink"
    syntax = "JOBDIR"
    help = "Make the file of a job as small as what it holds"
    details = (
        "Copies the file: the disk needs room for what it holds, twice. Exit status: 0; 2 if the "
        "job is in use, cannot be read, or the disk is full."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_folder(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:  # noqa: ARG002
        path = file_of(arguments)
        before = path.stat().st_size
        output.progress("copying the file")
        with opened(path, output) as file:
            file.shrink()
        output.line(f"{size(before)} before, {size(path.stat().st_size)} now")
        return Exit.OK
