"""Audit logs made and read by tests."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from time import time
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.audit.chain import START, LogReader, seal
from scrapy_robots_plus.audit.entries import CrawlEntry, EndEntry, VerdictEntry, to_fields
from scrapy_robots_plus.audit.log import AuditLog
from scrapy_robots_plus.audit.replay import OUR_PARSER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from scrapy_robots_plus.audit.chain import Link, LogState
    from scrapy_robots_plus.audit.entries import Entry


def begin(crawl: str = "a") -> CrawlEntry:
    return CrawlEntry(
        time=0.0,
        crawl=crawl,
        spider="probe",
        version="1",
        mode="obey",
        obey=True,
        agent="Foobot",
        parser=OUR_PARSER,
        dialect={"name": "RFC9309"},
        status_policy={},
        crawl_delay_max=60.0,
        crawl_delay_too_long="clamp",
        stale_max=1.0,
        allowed_share=1.0,
    )


def verdict(url: str = "http://x.example/", **others: Any) -> VerdictEntry:
    fields = {"time": 1.0, "crawl": "a", "agent": "Foobot", "mode": "obey"}
    return VerdictEntry(**{**fields, "url": url, "allowed": False, "reason": "rule", **others})


def end(crawl: str = "a", **others: Any) -> EndEntry:
    fields = {"time": 2.0, "reason": "finished", "allowed": 0, "denied": 0, "dont_obey": 0}
    return EndEntry(**{**fields, "crawl": crawl, "lost": 0, **others})


class Warned(list[str]):
    """What a log warned of."""

    def __call__(self, text: str) -> None:
        self.append(text)


def open_log(path: Path, crawl: str = "a", warned: Warned | None = None) -> AuditLog:
    """A log whose first entry is *begin()*; in further files, that has the current time."""
    times = chain([0.0], iter(time, None))
    return AuditLog(
        path,
        lambda: replace(begin(crawl), time=next(times)),
        Warned() if warned is None else warned,
    )


def write(path: Path, *entries: Entry, crawl: str = "a") -> AuditLog:
    """A log with a whole crawl of *entries*."""
    log = open_log(path, crawl)
    for entry in (*entries, end(crawl)):
        log.add(entry)
    assert log.flush()
    log.close()
    return log


def write_sealed(path: Path, entries: Iterable[Entry]) -> None:
    """A log with these *entries*, whole crawls or not."""
    with path.open("wb") as file:
        file.writelines(sealed(entries))


def sealed(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The lines of *entries*, each chained to the one before it of its crawl."""
    last: dict[str, Link] = {}
    for entry in entries:
        line, last[entry.crawl] = seal(to_fields(entry), last.get(entry.crawl, START))
        yield line


def entries_in(path: Path) -> list[Entry]:
    return list(LogReader([path]))


def urls_in(path: Path) -> list[str]:
    return [entry.url for entry in entries_in(path) if isinstance(entry, VerdictEntry)]


def damages_in(*paths: Path) -> list[str]:
    """What is found by verifying."""
    return found_in(*paths)[1]


def state_of(*paths: Path) -> LogState:
    return found_in(*paths)[0]


def found_in(*paths: Path) -> tuple[LogState, list[str]]:
    """The state of a log, or of its parts, and what is wrong with them."""
    reader = LogReader(paths)
    for _ in reader:
        pass
    return reader.state, reader.damages
