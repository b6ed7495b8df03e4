"""``scrapy robots cache purge``: deletes records from a store."""

from __future__ import annotations

import re
import time
from datetime import datetime, timezone
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.errors import WrongUsageError
from scrapy_robots_plus.commands.subcommand import Exit, Subcommand
from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.protocol.freshness import span_of_use

from .store import add_store, opened_to_change, opened_to_read, origin_in, patiently

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage import Store

_AGE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(s|min|h|d|w)")
_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}


def moment_in(text: str, now: float) -> float:
    """Seconds since the epoch of ``2026-11-20``, ``2026-11-20T18:00`` (UTC unless it says
    otherwise), or ``30d``, which is 30 days before *now*.

    Raises WrongUsageError.
    """
    age = _AGE.fullmatch(text)
    if age:
        return now - float(age[1]) * _SECONDS[age[2]]
    try:
        moment = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))
    except ValueError:
        raise WrongUsageError(
            f"{text!r}: expected a date (2026-11-20), a time (2026-11-20T18:00), or an age (30d, "
            "12h, 90min, 10s)"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return moment.timestamp()


_BATCH = 1_000
"""Records that are deleted between two looks at the progress."""


class Purge(Subcommand):
    """Some hundred records at a time: a crawl that uses the store goes on."""

    name = "purge"
    syntax = "[--before TIME | --origin ORIGIN | --all --yes] [--store URI | --jobdir FOLDER]"
    help = "Delete records from a store: by default those that no crawl can use any more"
    details = (
        "Without options, deletes what is older than ROBOTS_STALE_MAX and the longest ROBOTS_TTL "
        "together, and what is dated in the future, as each crawl does when it starts. "
        "Exit status: 0; 2 if the store cannot be changed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--before",
            metavar="TIME",
            help="what was neither fetched nor tried since: 2026-11-20, 2026-11-20T18:00 (UTC), or "
            "an age such as 30d, 12h, 90min, 10s",
        )
        which.add_argument(
            "--origin", action="append", metavar="ORIGIN", help="this one (any number of times)"
        )
        which.add_argument("--all", action="store_true", help="everything; needs --yes")
        parser.add_argument("--yes", action="store_true", help="to confirm --all")
        add_store(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        if arguments.all != arguments.yes:
            raise WrongUsageError("--all and --yes are used together")
        origins = [origin_in(each) for each in arguments.origin or ()]
        before, after = _span(arguments, project)
        with opened_to_read(arguments, project) as reader:
            len(reader)  # a store that is missing or damaged is left alone
        with opened_to_change(arguments, project) as store:
            held = len(store)
            if origins:
                deleted = sum(patiently(partial(_delete, store, each)) for each in origins)
            else:
                deleted = _purge(store, before, after, output)
            output.line(f"{deleted:,} of {counted(held, 'record')} deleted")
        return Exit.OK


def _span(arguments: Namespace, project: Project) -> tuple[float, float]:
    """Records from outside of it are deleted."""
    now = time.time()
    if arguments.all:
        return inf, inf
    if arguments.before is None:
        return span_of_use(now, project.robots.limits)
    before = moment_in(arguments.before, now)
    if before > now:
        raise WrongUsageError("--before: the time is in the future; see --all")
    return before, inf


def _purge(store: Store, before: float, after: float, output: Output) -> int:
    deleted = 0
    while found := patiently(partial(store.purge, before, after, _BATCH)):
        deleted += found
        output.progress(f"{deleted:,} records deleted")
    return deleted


def _delete(store: Store, origin: Origin) -> bool:
    """Whether there was a record to delete."""
    known = store.get(origin) is not None
    store.delete(origin)
    return known
