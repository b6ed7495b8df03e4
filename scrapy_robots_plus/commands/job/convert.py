"""``scrapy robots job convert``: a job that was begun with files, into one file."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.errors import UnreadableError, WrongUsageError
from scrapy_robots_plus.commands.subcommand import Exit, Subcommand
from scrapy_robots_plus.job import FILE_NAME, JobFile, JobFileError, part_of, replace
from scrapy_robots_plus.job.queues import QUEUE_FOLDER
from scrapy_robots_plus.job.renaming import NAMED_BY
from scrapy_robots_plus.protocol.counting import counted

from .actions import add_folder, folder_of
from .scrapys_files import SEEN, fingerprints_in, parts_in

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project

KEPT_IN = "before-conversion"
"""The folder in the job's that the old files are moved to."""

_EVERY = 1_000
"""Requests and fingerprints in a transaction, and from one look at the progress to the next."""


class Convert(Subcommand):
    """The new file takes its name when it is complete, and only then the old ones move."""

    name = "convert"
    syntax = "JOBDIR"
    help = "Put a job that keeps its requests in files, as Scrapy does, into one file"
    details = (
        f"The old files are kept in JOBDIR/{KEPT_IN}. Exit status: 0; 1 if requests cannot be "
        "read; 2 if there is nothing to convert, the job is in use, or the file cannot be written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_folder(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:  # noqa: ARG002
        folder = folder_of(arguments)
        _check(folder)
        path = folder / FILE_NAME
        part_of(path).unlink(missing_ok=True)
        try:
            counts = _convert(folder, part_of(path), output)
        except JobFileError as error:
            raise UnreadableError(str(error)) from error
        replace(path)
        _move(folder)
        output.line(
            f"{counted(counts['requests'], 'request')} and "
            f"{counted(counts['seen'], 'fingerprint')} are in {FILE_NAME}; the old files are in "
            f"{KEPT_IN}"
        )
        if counts["lost"]:
            output.error(f"{counted(counts['lost'], 'request')} or more cannot be read")
            return Exit.FOUND
        return Exit.OK


def _check(folder: Path) -> None:
    if (folder / FILE_NAME).exists():
        raise WrongUsageError(f"{folder} has a {FILE_NAME} already")
    if not (folder / SEEN).exists() and not any(parts_in(folder)):
        raise WrongUsageError(f"{folder} holds no requests of a job: expected a JOBDIR of Scrapy")
    user = _process_with(folder / SEEN)
    if user is not None:
        raise UnreadableError(f"{folder} is in use by the process {user}: stop that crawl first")


def _process_with(path: Path) -> str | None:
    """One that has *path* open, where the system tells (Linux). Crawls do all the time."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # it has ended, or is another user's
            if os.path.samefile(link, path):
                return link.parts[2]
    return None


def _convert(folder: Path, path: Path, output: Output) -> Counter[str]:
    counts: Counter[str] = Counter()

    def lost(number: int) -> None:
        counts["lost"] += number

    with JobFile(path) as file:
        separates_hosts = False
        for part in parts_in(folder):
            separates_hosts |= bool(part.lane)
            for data in part.requests(lost):
                file.add(part.lane, part.priority, data, starts=part.starts)
                _count(counts, "requests", file, output)
        for fingerprint in fingerprints_in(folder):
            file.see(fingerprint)
            _count(counts, "seen", file, output)
        file.set_note(NAMED_BY, "slots" if separates_hosts else "none")
    return counts


def _count(counts: Counter[str], what: str, file: JobFile, output: Output) -> None:
    counts[what] += 1
    if counts[what] % _EVERY == 0:
        file.commit()
        output.progress(f"{counts['requests']:,} requests, {counts['seen']:,} fingerprints")


def _move(folder: Path) -> None:
    kept = folder / KEPT_IN
    kept.mkdir(exist_ok=True)
    for name in (QUEUE_FOLDER, SEEN):
        if (folder / name).exists():
            os.replace(folder / name, kept / name)
