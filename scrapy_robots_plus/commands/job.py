"""Inspect and maintain the requests that a job keeps in its folder.

No crawl may use the job meanwhile.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.job import FILE_NAME, QUEUE_FOLDER, UNSORTED, JobFile, JobFileError, rank_of
from scrapy_robots_plus.job.reading import held_requests, overview
from scrapy_robots_plus.job.written import url_in
from scrapy_robots_plus.protocol.printable import counted, picked

from .errors import WrongUsageError
from .inputs import JSON, argument
from .subcommand import Exit, Subcommand, complain, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.job import StoredRequest


FOLDER = argument("folder", metavar="JOBDIR", help="the folder of the job")


def _folder(name: str) -> Path:
    """Returns the folder of a job. Raises WrongUsageError if it does not exist."""
    folder = Path(name).absolute()
    if not folder.is_dir():
        raise WrongUsageError(f"{name}: expected the folder of a job (JOBDIR)")
    return folder


def _file(name: str) -> Path:
    """Returns the path of the job's file in a folder. Raises WrongUsageError if there is none."""
    path = _folder(name) / FILE_NAME
    if not path.exists():
        raise WrongUsageError(
            f"{name} has no {FILE_NAME}: expected the JOBDIR of a crawl with the add-on. To "
            "convert a job in Scrapy's own format, use scrapy robots job convert"
        )
    return path


def _aside(request: StoredRequest) -> dict[str, Any]:
    """Returns the fields of a request that is set aside."""
    return {"url": url_in(request.data), "lane": request.lane, "kills": request.hard_ends}


def _in_words(aside: dict[str, Any]) -> str:
    """Returns which request is set aside and why, in words."""
    killed = f"the process was killed {aside['kills']} times while it was under way"
    return f"{aside['url']}: {killed if aside['kills'] else 'its spider could not send it'}"


_LANES = 10
"""How many lanes are named: those with the most requests."""
NAMED = argument("--urls", action="store_true", help="name each request, in the order they came")


class Show(Subcommand):
    """Show which requests a job keeps, how many, in which state, in which lanes.

    Nothing is changed. Exit status: 0; 1 if requests are set aside; 2 if the job is in use or
    cannot be read.
    """

    arguments = FOLDER, NAMED, JSON

    def run(self) -> None:
        path = _file(self.given.folder)
        found = overview(path, _LANES)
        fields: dict[str, Any] = {
            "file": str(path),
            **picked(found, "was_closed", "waiting", "under_way", "last", "losses", "lanes"),
            "set_aside": list(map(_aside, found.set_aside)),
            "seen": found.fingerprints,
            "size": path.stat().st_size,
            "largest": dict(found.largest),
        }
        if self.given.urls:
            fields["requests"] = [
                {"url": url_in(each.data), "state": state, "priority": -each.priority}
                for each, state in held_requests(path)
            ]
        self.show([fields], _listing(fields))
        if found.set_aside:
            self.note(Exit.FOUND)


def _listing(fields: dict[str, Any]) -> Iterator[str]:
    yield fields["file"]
    yield from (f"  {name:13} {value}" for name, value in _facts(fields))
    lists = {
        "Most requests": [f"{number:>9,} {name}" for name, number in fields["largest"].items()],
        "Set aside": list(map(_in_words, fields["set_aside"])),
        "Requests": [f"{each['state']:<10} {each['url']}" for each in fields.get("requests", ())],
    }
    for title, lines in lists.items():
        if lines:
            yield from ("", title, *(f"  {line}" for line in lines))


def _facts(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    was_closed, lanes = fields["was_closed"], counted(fields["lanes"], "lane")
    yield "last run", "was closed" if was_closed else "was killed"
    yield "waiting", f"{counted(fields['waiting'], 'request')} in {lanes}"
    if number := fields["under_way"]:
        yield "under way", f"{number:,} when the last run ended; they are sent again"
    if number := fields["last"]:
        what = "that were under way when the process was killed twice; they are sent last"
        yield "last", f"{number:,} {what}"
    yield "set aside", f"{len(fields['set_aside']):,}"
    yield from (("lost", loss) for loss in fields["losses"])
    yield "seen", counted(fields["seen"], "fingerprint")
    yield "size", f"{fields['size']:,} bytes"


class Retry(Subcommand):
    """Give the requests that were set aside back to the job.

    The next run sends them again. Exit status: 0; 2 if the job is in use or cannot be read.
    """

    # They return to their old places, as if they had never been under way at a kill.

    arguments = (FOLDER,)

    def run(self) -> None:
        path = _file(self.given.folder)
        if not path.stat().st_size:  # a new job would take its place
            raise JobFileError(path, "is empty", "Restore a copy")
        with JobFile(path) as file:
            for trouble in file.troubles:
                complain(trouble)
            given_back = file.retry()
        for request in given_back:
            say(_in_words(_aside(request)))
        say(f"{counted(len(given_back), 'request')} will be sent again")


_SEEN = "requests.seen"
_SIZE = 4
"""Bytes in which a queue stores the length of a request."""
_PART = re.compile(r"(-?\d+)(s?)")

KEPT_IN = "before-conversion"
"""The folder, in that of the job, to which the old files are moved."""

_EVERY = 1_000
"""The number of requests or fingerprints in a transaction."""


class Convert(Subcommand):
    """Put a job that keeps its requests in files, as Scrapy does, into one file.

    The old files are kept in JOBDIR/before-conversion. Exit status: 0; 1 if requests cannot be
    read; 2 if there is nothing to convert, the job is in use, or the file cannot be written.
    """

    # The new file gets its name when it is complete; only then are the old ones moved.

    arguments = (FOLDER,)

    def run(self) -> None:
        folder = _folder(self.given.folder)
        _check(folder)
        path = folder / f"{FILE_NAME}.converted"
        for each in folder.glob(f"{path.name}*"):  # left by a killed conversion
            each.unlink()
        counts = self._convert(folder, path)
        os.replace(path, folder / FILE_NAME)
        _move(folder)
        requests = counted(counts["requests"], "request")
        seen = counted(counts["seen"], "fingerprint")
        say(f"{requests} and {seen} are in {FILE_NAME}; the old files are in {KEPT_IN}")
        if counts["lost"]:
            complain(f"{counted(counts['lost'], 'request')} or more cannot be read")
            self.note(Exit.FOUND)

    def _convert(self, folder: Path, path: Path) -> Counter[str]:
        counts: Counter[str] = Counter()

        def count(what: str) -> None:
            counts[what] += 1
            if counts[what] % _EVERY == 0:
                file.commit()

        with JobFile(path) as file:
            for lane, rank, part in _parts_in(folder):
                for data in _requests_in(part, counts):
                    try:
                        file.add(lane, rank, data)
                    except ValueError:  # noqa: PERF203 - a priority of more than 62 bits
                        counts["lost"] += 1
                    else:
                        count("requests")
            for fingerprint in _fingerprints_in(folder):
                file.see(fingerprint)
                count("seen")
            file.set_note(UNSORTED, "yes")
        return counts


def _check(folder: Path) -> None:
    if (folder / FILE_NAME).exists():
        raise WrongUsageError(f"{folder} has a {FILE_NAME} already")
    if not (folder / _SEEN).exists() and not any(_parts_in(folder)):
        raise WrongUsageError(f"{folder} holds no requests of a job: expected a JOBDIR of Scrapy")
    for name in (QUEUE_FOLDER, _SEEN):
        if (folder / KEPT_IN / name).exists():
            raise WrongUsageError(f"{folder / KEPT_IN} has {name} of an earlier job: move it away")


def _move(folder: Path) -> None:
    kept = folder / KEPT_IN
    kept.mkdir(exist_ok=True)
    for name in (QUEUE_FOLDER, _SEEN):
        if (folder / name).exists():
            os.replace(folder / name, kept / name)


# The files in which Scrapy's own queues and its duplicate filter keep a job. Needed for Scrapy 2.14
# to 2.19, whose files are private.


def _parts_in(folder: Path) -> Iterator[tuple[str, int, Path]]:
    """Yields lane, rank and path of each part of a job: the requests of one priority and kind.

    The lane is the name of its folder; empty for a queue that does not separate hosts.
    """
    queues = folder / QUEUE_FOLDER
    for path in sorted([*queues.glob("*"), *queues.glob("*/*")]):
        if found := _PART.fullmatch(path.name):
            lane = "" if path.parent == queues else path.parent.name
            yield lane, rank_of(int(found[1]), bool(found[2])), path


def _requests_in(path: Path, counts: Counter[str]) -> Iterator[bytes]:
    """Yields the requests of a part, as they were pushed, without parsing them.

    Counts as lost how many, at least, cannot be read.
    """
    if path.is_dir():
        yield from _fifo(path, counts)
    elif path.stat().st_size:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            yield from _lifo(data, counts)


def _fingerprints_in(folder: Path) -> Iterator[bytes]:
    """Yields the fingerprints of the duplicate filter.

    They are stored as bytes after their length, or as lines of hexadecimal digits.
    """
    path = folder / _SEEN
    data = path.read_bytes() if path.exists() else b""
    if data[:1] == b"\0":
        yield from _framed(data, 0, 2)
        return
    for line in data.split():
        with suppress(ValueError):
            yield bytes.fromhex(line.decode("ascii"))


def _framed(data: bytes, at: int, prefix: int) -> Iterator[bytes]:
    """Yields each part of *data* from *at* on, but not the last if a kill has cut it.

    Before each part, *prefix* bytes hold its length.
    """
    while (begin := at + prefix) <= len(data):
        at = begin + int.from_bytes(data[at:begin], "big")
        if at <= len(data):
            yield data[begin:at]


def _lifo(data: mmap, counts: Counter[str]) -> Iterator[bytes]:
    """Reads a LIFO queue from its end: a count, then requests, each followed by its length."""
    ends, end = list[tuple[int, int]](), len(data)
    while end >= 2 * _SIZE:
        begin = end - _SIZE - int.from_bytes(data[end - _SIZE : end], "big")
        if begin < _SIZE:
            break
        ends.append((begin, end - _SIZE))
        end = begin
    if end > _SIZE:
        counts["lost"] += max(1, int.from_bytes(data[:_SIZE], "big") - len(ends))
    for begin, end in reversed(ends):
        yield data[begin:end]


def _fifo(folder: Path, counts: Counter[str]) -> Iterator[bytes]:
    """Reads a FIFO queue: files of many requests, each preceded by its length."""
    chunks = sorted(folder.glob("q*"))
    begin = told = 0  # if the queue was never closed, there is no info.json
    with suppress(OSError, ValueError, LookupError, TypeError):
        info = json.loads((folder / "info.json").read_text())
        number, _, offset = info["tail"]
        # It is of the last close: a killed run may have emptied and deleted that file since.
        if chunks[0].name == f"q{number:05d}":
            begin, told = int(offset), int(info["size"])
    found, is_damaged = 0, False
    for chunk in chunks:
        data = chunk.read_bytes()
        for request in _framed(data, begin, _SIZE):
            yield request
            found += 1
            begin += _SIZE + len(request)
        is_damaged |= begin < len(data)
        begin = 0
    if told > found or is_damaged:
        counts["lost"] += max(1, told - found)


MEMBERS = (Show, Retry, Convert)
