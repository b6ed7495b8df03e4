"""``scrapy robots job retry``: requests that were set aside are sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.subcommand import Exit, Subcommand
from scrapy_robots_plus.protocol.counting import counted

from .folder import add_folder, described, file_of, opened

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project


class Retry(Subcommand):
    """They wait at their old places, as if they had never been under way at a kill."""

    name = "retry"
    syntax = "JOBDIR"
    help = "Give the requests that were set aside back to the job"
    details = (
        "The next run sends them again. Exit status: 0; 2 if the job is in use or cannot be read."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_folder(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:  # noqa: ARG002
        with opened(file_of(arguments), output) as file:
            given_back = file.retry()
        for request in given_back:
            output.line(described(request))
        output.line(f"{counted(len(given_back), 'request')} will be sent again")
        return Exit.OK
