"""Which store an action is about, and how it is opened."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from scrapy_robots_plus.commands.errors import WrongUsageError
from scrapy_robots_plus.origins.archive import uri_in_job
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage import StoreError, check_store_uri, open_reader, open_store

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.storage import Store, StoreReader

_T = TypeVar("_T")

PATIENCE = 30.0
"""Seconds to go on asking for a store that other processes keep locked."""

PROGRESS_EVERY = 1_000
"""Records from one look at the progress to the next."""

_PAUSE = 0.05
"""Seconds between two attempts."""

_NO_MAXIMUM = 1_000_000_000
"""Records. An action never drops a record to make room; the next crawl does."""


def add_store(parser: ArgumentParser) -> None:
    """``--store`` and ``--jobdir``."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--store",
        metavar="URI",
        help="the store, such as sqlite:robots.db (default: ROBOTS_STORE, else that of JOBDIR)",
    )
    which.add_argument("--jobdir", metavar="FOLDER", help="the store of the job in FOLDER")


def uri_of(arguments: Namespace, project: Project) -> str:
    """The store to use. Raises WrongUsageError if there is none to choose."""
    if arguments.jobdir is not None:
        return uri_in_job(arguments.jobdir)
    if arguments.store is not None:
        try:
            return check_store_uri(arguments.store)
        except ValueError as error:
            raise WrongUsageError(f"--store: {error}") from error
    if project.robots.store is None:
        raise WrongUsageError(
            "expected --store URI or --jobdir FOLDER, as the project has neither a ROBOTS_STORE "
            "nor a JOBDIR with a store"
        )
    return project.robots.store


def opened_to_read(arguments: Namespace, project: Project) -> StoreReader:
    """The store, which must be there. Raises StoreError or WrongUsageError."""
    return open_reader(uri_of(arguments, project), project.robots.fetch_max_bytes)


def opened_to_change(arguments: Namespace, project: Project) -> Store:
    """The store, made if it is not there. Raises StoreError or WrongUsageError."""
    uri = uri_of(arguments, project)
    if uri == "memory":
        raise StoreError("the store 'memory' ends with its crawl")
    return open_store(uri, _NO_MAXIMUM, project.robots.fetch_max_bytes)


def origin_in(text: str) -> Origin:
    """The origin that a user names, by any of its URLs. Raises WrongUsageError."""
    try:
        origin = Origin.of(text)
    except ValueError as error:
        raise WrongUsageError(f"{text}: {error}") from error
    if origin is None:
        raise WrongUsageError(f"{text!r}: expected an origin such as https://site.example")
    return origin


def patiently(work: Callable[[], _T]) -> _T:
    """What *work* returns, tried again while crawls keep the store locked. Raises StoreError."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except StoreError as error:  # noqa: PERF203 - what the loop is for
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
