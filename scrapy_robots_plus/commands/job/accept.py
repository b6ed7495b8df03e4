"""``scrapy robots job accept``: what damage has taken is known, and no longer told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.subcommand import Exit, Subcommand
from scrapy_robots_plus.protocol.counting import counted

from .folder import add_folder, file_of, opened

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project


class Accept(Subcommand):
    """The requests stay lost; the damaged files stay where they are."""

    name = "accept"
    syntax = "JOBDIR"
    help = "Stop reporting requests that were lost when the file was damaged"
    details = "Exit status: 0; 2 if the job is in use or cannot be read."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_folder(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:  # noqa: ARG002
        with opened(file_of(arguments), output) as file:
            losses = file.accept_losses()
        for loss in losses:
            output.line(loss)
        output.line(f"{counted(len(losses), 'message')} will not come again")
        return Exit.OK
