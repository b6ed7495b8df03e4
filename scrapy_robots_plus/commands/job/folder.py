"""The folder of a job, and its file."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.errors import UnreadableError, WrongUsageError
from scrapy_robots_plus.crawl.jobs.written import url_in
from scrapy_robots_plus.job import FILE_NAME, JobFile, JobFileError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.job import AsideRequest


def add_folder(parser: ArgumentParser) -> None:
    """``JOBDIR``, for :func:`folder_of`."""
    parser.add_argument("folder", metavar="JOBDIR", help="the folder of the job")


def folder_of(arguments: Namespace) -> Path:
    """Raises WrongUsageError if it does not exist."""
    folder = Path(arguments.folder).absolute()
    if not folder.is_dir():
        raise WrongUsageError(f"{arguments.folder}: expected the folder of a job (JOBDIR)")
    return folder


def file_of(arguments: Namespace) -> Path:
    """The file of the job. Raises WrongUsageError if it has none."""
    path = folder_of(arguments) / FILE_NAME
    if not path.exists():
        raise WrongUsageError(
            f"{arguments.folder} has no {FILE_NAME}: expected the JOBDIR of a crawl with the "
            "add-on. For one that keeps its requests as Scrapy does, see scrapy robots job convert"
        )
    return path


@contextmanager
def opened(path: Path, output: Output) -> Iterator[JobFile]:
    """The job, as the next run would resume it. Raises UnreadableError."""
    try:
        with JobFile(path) as file:
            for trouble in file.troubles:
                output.error(trouble)
            yield file
    except JobFileError as error:
        raise UnreadableError(str(error)) from error


def described(request: AsideRequest) -> str:
    """A request that is set aside, and why."""
    why = (
        f"the process was killed {request.hard_ends} times while it was under way"
        if request.hard_ends
        else "its spider could not send it"
    )
    return f"{url_in(request.data)}: {why}"


def size(octets: int) -> str:
    """Such as ``53 kB`` or ``1,455.2 MB``."""
    return f"{octets / 1e3:.0f} kB" if octets < 1e6 else f"{octets / 1e6:,.1f} MB"
