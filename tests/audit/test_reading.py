"""Reading a log in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.audit.bodies import Bodies
from scrapy_robots_plus.audit.chain import MOST_OPEN_CRAWLS, SHOWN, LogReader, LogState
from scrapy_robots_plus.protocol.dialect import RFC9309
from tests.audit.logs import begin, damages_in, end, entries_in, verdict, write_sealed
from tests.commands.running import Robots

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.audit.entries import Entry


def test_crawls_that_were_killed_are_all_told_in_bounded_memory(tmp_path: Path) -> None:
    log, killed = tmp_path / "audit.jsonl", 2 * MOST_OPEN_CRAWLS
    write_sealed(log, (begin(f"{number:012x}") for number in range(killed)))
    reader = LogReader([log])
    most = max(len(reader.open_crawls) for _ in reader)
    assert most <= MOST_OPEN_CRAWLS
    assert reader.damaged == killed
    assert reader.state is LogState.UNFINISHED
    assert f"crawl {SHOWN - 1:012x}, which begins at line {SHOWN}," in reader.damages[-2]
    assert reader.damages[-1] == f"and {killed - SHOWN:,} more"


def test_a_crawl_that_ends_is_not_missed(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    write_sealed(log, [begin("a"), begin("b"), end("a"), end("b")])
    assert len(entries_in(log)) == 4
    assert damages_in(log) == []


def killed_crawls(folder: Path, count: int) -> Path:
    """A log of crawls without an end, all of the same large robots.txt."""
    body = b"User-agent: *\n" + b"".join(b"Disallow: /closed/%d\n" % each for each in range(20_000))
    digest = sha256(body).hexdigest()
    Bodies(folder / "audit.bodies").put(digest, body)
    about: dict[str, Any] = {"sha256": digest, "status": "200", "access": "rules", "age": 0.0}
    settings: dict[str, Any] = {"bodies": "audit.bodies", "dialect": RFC9309._asdict()}
    entries: list[Entry] = []
    for number in range(count):
        crawl = f"{number:012x}"
        entries.append(replace(begin(crawl), **settings))
        entries.append(verdict("http://x.example/closed/1", crawl=crawl, **about))
    write_sealed(folder / f"{count}.jsonl", entries)
    return folder / f"{count}.jsonl"


def memory_of_a_replay(log: Path) -> int:
    """By how much it grows, in octets."""
    done, grown = Robots(log.parent).growing("replay", log)
    assert " verdict" in done.output
    return grown


def test_a_replay_keeps_no_files_for_each_killed_crawl(tmp_path: Path) -> None:
    few, many = (memory_of_a_replay(killed_crawls(tmp_path, count)) for count in (2, 20))
    assert many < few + 9_400_000
