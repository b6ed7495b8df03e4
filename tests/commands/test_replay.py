"""``scrapy robots replay``: verdicts come out again, damage is found."""

from __future__ import annotations

import fcntl
import gzip
import itertools
import os
import re
import termios
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from scrapy_robots_plus.audit.entries import VerdictEntry
from tests.audit.logs import begin, end, entries_in, verdict, write
from tests.crawling import crawl, names_rules
from tests.forks import SCRAPY
from tests.programs import Program
from tests.sites import Sites, answer, hang_up

from .running import Robots

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent.parent
RULES = "User-agent: *\nDisallow: /closed\n\nUser-agent: barbot\nDisallow: /open\n"
ALL: dict[str, Any] = {"ROBOTS_AUDIT_LOG_ALLOWED": True, "ROBOTS_FETCH_RETRIES": 0}


async def crawl_of_a_site(sites: Sites, log: Path, **settings: Any) -> str:
    """A log with verdicts of many kinds; the origin of a host with :data:`RULES`."""
    ruled, missing, locked = sites.host(RULES), sites.host(), sites.host(answer("", 403))
    failing, slow = sites.host(hang_up), sites.host("User-agent: *\nCrawl-delay: 100\n")
    google = sites.host("User-agent: *\nDisallow: /\n")
    urls: list[str | scrapy.Request] = [
        ruled.url("/closed"),
        ruled.url("/open"),
        ruled.url("/a/../closed"),
        missing.url("/a"),
        locked.url("/a"),
        failing.url("/a"),
        slow.url("/a"),
        google.url("/robots.txt"),
        scrapy.Request(ruled.url("/open/as"), headers={"User-Agent": "Barbot"}),
    ]
    long_: dict[str, Any] = {
        "ROBOTS_CRAWL_DELAY_MAX": 10,
        "ROBOTS_CRAWL_DELAY_TOO_LONG": "skip",
    }
    await crawl(*urls, ROBOTS_AUDIT_LOG=log, **ALL, **long_, **settings)
    return ruled.origin


@names_rules
@pytest_twisted.ensureDeferred
async def test_every_verdict_of_a_crawl_comes_out_again(
    sites: Sites, robots: Robots, tmp_path: Path
) -> None:
    log = tmp_path / "audit.jsonl"
    await crawl_of_a_site(sites, log)
    done = robots("replay", log.name)
    assert (done.status, done.errors) == (0, "")
    assert done.lines == ["9 verdicts, 0 differ"]
    done = robots("replay", log.name, "--verify")
    assert done.status == 0
    assert done.lines[0] == "whole: 17 lines"
    assert re.fullmatch("the last is number 16, its hash is [0-9a-f]{64}", done.lines[1])


@names_rules
@pytest_twisted.ensureDeferred
async def test_what_would_have_changed_is_printed_in_groups(sites: Sites, tmp_path: Path) -> None:
    log, robots = tmp_path / "audit.jsonl", Robots(tmp_path)
    ruled = await crawl_of_a_site(sites, log)
    by_agent = robots("replay", log, "--agent", "Barbot")
    assert by_agent.status == 1
    assert by_agent.lines[-1] == (
        "9 verdicts, 3 would differ: 1 denied instead of allowed, 2 allowed instead of denied"
    )
    denied = f"1 x {ruled}: allowed (no_rule) -> denied (Disallow: /open, line 5)"
    assert denied in by_agent.lines
    example = by_agent.lines[by_agent.lines.index(denied) + 1]
    assert re.fullmatch(rf" +line \d+: {ruled}/open", example)
    by_dialect = robots("replay", log, "--dialect", "google")
    assert by_dialect.lines[-1].endswith("1 would differ: 1 denied instead of allowed")
    groups = re.findall(r"^(\d+) x .+: (\w+) .+-> (\w+) ", by_agent.output, re.MULTILINE)
    assert sum(int(count) for count, _, _ in groups) == 3
    assert groups[0][1] != groups[0][2]


@names_rules
@pytest_twisted.ensureDeferred
async def test_overrides_and_audit_mode_are_replayed(sites: Sites, tmp_path: Path) -> None:
    log, robots = tmp_path / "audit.jsonl", Robots(tmp_path)
    hosts = [sites.host(RULES) for _ in range(5)]
    own = "User-agent: *\nDisallow: /mine\n"
    overrides = {
        hosts[0].origin: {"obey": False, "reason": "ours"},
        hosts[1].origin: {"user_agent": "Barbot"},
        hosts[2].origin: {"robots_txt": own},
        hosts[3].origin: {"dialect": "GOOGLE", "crawl_delay": 0.01},
    }
    paths = ("/closed", "/open", "/mine", "/other")
    urls = [host.url(path) for host in hosts for path in paths]
    for mode in ("obey", "observe"):
        await crawl(
            *urls, ROBOTS_AUDIT_LOG=log, ROBOTS_OVERRIDES=overrides, ROBOTS_MODE=mode, **ALL
        )
    found = [entry for entry in entries_in(log) if isinstance(entry, VerdictEntry)]
    assert len(found) == 2 * len(urls)
    assert all(bool(entry.sent) is entry.allowed for entry in found)
    assert sum(entry.override is not None for entry in found) == 2 * 4 * len(paths)
    done = robots("replay", log)
    assert done.lines == [f"{len(found)} verdicts, 0 differ"]


@pytest_twisted.ensureDeferred
async def test_what_another_parser_decided_is_undecided(sites: Sites, tmp_path: Path) -> None:
    log, protego = tmp_path / "audit.jsonl", "scrapy.robotstxt.ProtegoRobotParser"
    host = sites.host(RULES)
    urls = [host.url("/closed"), host.url("/open")]
    await crawl(*urls, ROBOTS_AUDIT_LOG=log, ROBOTSTXT_PARSER=protego, **ALL)
    done = Robots(tmp_path)("replay", log)
    assert done.status == 2
    assert done.lines == [
        f"undecided  2 x its crawl used {protego}, not this package's parser",
        "0 verdicts, 0 differ",
    ]


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_dialect_gets_the_charset_that_the_crawl_got(sites: Sites, tmp_path: Path) -> None:
    body = "User-agent: *\nDisallow: /caf\u00e9\n".encode()
    paths, robots = ("/caf%C3%A9", "/caf%E9", "/caf%C3%83%C2%A9"), Robots(tmp_path)
    for charset, differing in (("", 2), ("; charset=iso-8859-1", 0)):
        host = sites.host(answer(body, content_type=f"text/plain{charset}"))
        logs = {name: tmp_path / f"{name}{differing}.jsonl" for name in ("RFC9309", "MK1996")}
        for dialect, log in logs.items():
            urls = [host.url(path) for path in paths]
            await crawl(*urls, ROBOTS_AUDIT_LOG=log, ROBOTS_DIALECT=dialect, **ALL)
        here, there = ({e.url: e.allowed for e in _verdicts(log)} for log in logs.values())
        assert sum(here[url] is not there[url] for url in here) == differing
        done = robots("replay", logs["RFC9309"], "--dialect", "MK1996")
        instead = re.findall(r"(\d+) \w+ instead of", done.lines[-1])
        assert sum(map(int, instead)) == differing


def _verdicts(log: Path) -> list[VerdictEntry]:
    return [entry for entry in entries_in(log) if isinstance(entry, VerdictEntry)]


@pytest.mark.parametrize(
    "spider", [pytest.param("s1_basic", marks=pytest.mark.stress), "s2_why", "s4_failures"]
)
def test_a_crawl_of_the_sample_site_comes_out_again(spider: str, tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    given = {"ROBOTS_AUDIT_LOG": log, "ROBOTS_AUDIT_LOG_ALLOWED": True}
    options = itertools.chain.from_iterable(
        ("-s", f"{key}={value}") for key, value in given.items()
    )
    Program(SCRAPY, "crawl", spider, *options, folder=ROOT / "sample_project").succeed()
    robots = Robots(tmp_path)
    assert robots("replay", log, "--verify").status == 0
    done = robots("replay", log)
    assert done.status == 0, done.output
    assert int(done.lines[-1].split()[0]) >= 4


# Damage


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    log = tmp_path / "audit.jsonl"
    write(log, *(verdict(f"http://x.example/{number}") for number in range(5)))
    return log


def _changed(lines: list[bytes]) -> None:
    lines[3] = lines[3].replace(b"x.example", b"y.example")


def _without(number: int) -> Callable[[list[bytes]], None]:
    def remove(lines: list[bytes]) -> None:
        del lines[number]

    return remove


def _exchanged(lines: list[bytes]) -> None:
    lines[2], lines[3] = lines[3], lines[2]


def _twice(lines: list[bytes]) -> None:
    lines.insert(3, lines[3])


def _inserted(lines: list[bytes]) -> None:
    lines.insert(3, b"a line\n")


def _torn(lines: list[bytes]) -> None:
    lines[3] = lines[3][:100] + b"\n"


@pytest.mark.parametrize(
    ("damage", "status", "found"),
    [
        (_changed, 5, ["line 4: changed"]),
        (_without(0), 4, ["line 1: 1 line of its crawl missing before it"]),
        (_without(3), 4, ["line 4: 1 line of its crawl missing before it"]),
        (_without(-1), 3, ["line 6: the end of crawl a, which begins at line 1, is missing"]),
        (_exchanged, 5, ["line 3: 1 line of its crawl missing", "line 4: out of order"]),
        (_twice, 5, ["line 5: out of order"]),
        (_inserted, 5, ["line 4: not a line of a log"]),
        (_torn, 4, ["line 4: has no end", "line 5: 1 line of its crawl missing before it"]),
    ],
)
def test_damage_is_found_and_named_by_its_line(
    whole: Path, damage: Callable[[list[bytes]], None], status: int, found: list[str]
) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    damage(lines)
    whole.write_bytes(b"".join(lines))
    robots = Robots(whole.parent)
    done = robots("replay", whole, "--verify")
    assert done.status == status
    told = [line for line in done.lines if line.startswith("line ")]
    assert [line.startswith(start) for line, start in zip(told, found, strict=True)] == [
        True for _ in found
    ]
    word = {3: "unfinished", 4: "cut", 5: "damaged"}[status]
    assert done.lines[-2] == f"{word}: {len(lines)} lines"
    assert robots("replay", whole).output.startswith(told[0])


def test_of_an_empty_log_no_last_line_is_told(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").touch()
    done = Robots(tmp_path)("replay", "audit.jsonl", "--verify")
    assert (done.status, done.lines) == (4, ["line 1: the log is empty", "cut: 0 lines"])


def test_a_log_full_of_damage_is_summed_up(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    write(log)
    log.write_bytes(log.read_bytes() + b"x\n" * 1000)
    done = Robots(tmp_path)("replay", log, "--verify")
    assert done.status == 5
    assert len(done.lines) == 23
    assert done.lines[20] == "and 980 more"


def test_what_cannot_be_recomputed_is_told_with_status_2(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    about: dict[str, Any] = {"status": "200", "access": "rules", "sha256": "a" * 64, "age": 0.0}
    write(log, verdict("http://x.example/a", **about))
    done = Robots(tmp_path)("replay", log)
    assert done.status == 2
    assert sorted(done.lines) == [
        "0 verdicts, 0 differ",
        "undecided  1 x no robots.txt files were kept beside the log",
    ]


def test_a_verdict_of_a_crawl_that_began_elsewhere_is_undecided(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    write(log, verdict("http://x.example/b", crawl="b"))
    done = Robots(tmp_path)("replay", log)
    assert done.status == 4
    assert "undecided  1 x the log does not say how its crawl began" in done.lines
    assert "line 2: 1 line of its crawl missing before it" in done.lines


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_text_that_was_changed_is_told(sites: Sites, tmp_path: Path) -> None:
    log, robots = tmp_path / "audit.jsonl", Robots(tmp_path)
    await crawl(sites.host(RULES).url("/closed"), ROBOTS_AUDIT_LOG=log)
    (body,) = tmp_path.joinpath("audit.bodies").rglob("*.gz")
    body.write_bytes(b"")
    done = robots("replay", log)
    assert done.status == 2
    assert "cannot be read" in done.output or "was changed" in done.output
    verified = robots("replay", log, "--verify")
    assert verified.status == 5
    told = [line for line in verified.lines if line.startswith("line ")]
    assert len(told) == 1
    assert "its robots.txt: " in told[0]
    assert body.name in told[0]


@names_rules
@pytest_twisted.ensureDeferred
async def test_parts_may_have_moved_away_from_the_texts(sites: Sites, tmp_path: Path) -> None:
    """As logrotate's `olddir` does it."""
    log, old, robots = tmp_path / "audit.jsonl", tmp_path / "old" / "audit.1", Robots(tmp_path)
    await crawl(sites.host(RULES).url("/closed"), ROBOTS_AUDIT_LOG=log, **ALL)
    lines = log.read_bytes().splitlines(keepends=True)
    old.parent.mkdir()
    old.write_bytes(b"".join(lines[:2]))
    log.write_bytes(b"".join(lines[2:]))
    for parts in ([old, log], [log, old]):
        assert robots("replay", *parts).lines == ["1 verdict, 0 differ"]
        assert robots("replay", *parts, "--verify").status == 0


@names_rules
@pytest_twisted.ensureDeferred
async def test_the_text_of_an_empty_file_is_known(sites: Sites, tmp_path: Path) -> None:
    log, robots = tmp_path / "audit.jsonl", Robots(tmp_path)
    await crawl(sites.host("").url("/"), ROBOTS_AUDIT_LOG=log, **ALL)
    assert robots("replay", log).lines == ["1 verdict, 0 differ"]
    assert robots("replay", log, "--verify").status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "the following arguments are required: AUDIT_LOG"),
        (("audit.jsonl", "--dialect", "NOBODYS"), "'NOBODYS' is not a dialect"),
        (("missing.jsonl",), "missing.jsonl: No such file or directory"),
        ((".",), ".: Is a directory"),
    ],
)
def test_wrong_usage(whole: Path, arguments: tuple[str, ...], words: str) -> None:
    done = Robots(whole.parent)("replay", *arguments)
    assert done.status == 2
    assert words in done.errors
    assert done.output == ""


@pytest.mark.parametrize("command", [("replay",), ("replay", "--verify"), ("report",)])
def test_a_part_that_logrotate_compressed_is_not_called_damaged(
    whole: Path, command: tuple[str, ...]
) -> None:
    part = whole.with_name("audit.jsonl.1.gz")
    part.write_bytes(gzip.compress(whole.read_bytes()))
    for parts in ([part], [whole, part]):
        done = Robots(whole.parent)(*command, *parts)
        assert (done.status, done.output) == (2, "")
        assert f"{part} is compressed (gzip): decompress it first" in done.errors


def test_a_closed_pipe_ends_it_silently(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    write(log)
    log.write_bytes(log.read_bytes() + b"x\n" * 1_000)
    done = Robots(tmp_path).into_closed_pipe("replay", log, "--verify")
    assert (done.status, done.errors) == (141, "")


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    pipe = tmp_path / "audit.jsonl"
    os.mkfifo(pipe)
    writer = -1

    def has_read_a_line() -> bool:
        nonlocal writer
        if writer < 0:
            with suppress(OSError):  # nobody has opened the other end yet
                writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                os.write(writer, b"x\n")
            return False
        return fcntl.ioctl(writer, termios.FIONREAD, bytes(4)) == bytes(4)

    done = Robots(tmp_path).interrupted("replay", pipe, when=has_read_a_line)
    os.close(writer)
    assert done.status == 130


def test_entries_of_a_log_by_hand_are_as_a_crawl_writes_them(whole: Path) -> None:
    entries = entries_in(whole)
    assert entries[0] == begin()
    assert entries[-1] == end()


@pytest.mark.parametrize(("delays", "reason"), [(None, "crawl_delay"), (False, "no_rule")])
@pytest_twisted.ensureDeferred
async def test_what_an_override_obeys_in_a_crawl_that_does_not(
    sites: Sites, tmp_path: Path, delays: bool | None, reason: str
) -> None:
    slow, log = sites.host("User-agent: *\nCrawl-delay: 100\n"), tmp_path / "audit.jsonl"
    settings: dict[str, Any] = {
        "ROBOTSTXT_OBEY": False,
        "ROBOTS_OVERRIDES": {slow.origin: {"obey": True, "reason": "asked to"}},
        "ROBOTS_CRAWL_DELAY_OBEY": delays,
        "ROBOTS_CRAWL_DELAY_MAX": 10,
        "ROBOTS_CRAWL_DELAY_TOO_LONG": "skip",
    }
    await crawl(slow.url("/a"), ROBOTS_AUDIT_LOG=log, **ALL, **settings)
    (found,) = (entry for entry in entries_in(log) if isinstance(entry, VerdictEntry))
    assert found.reason == reason
    assert Robots(tmp_path)("replay", log).lines == ["1 verdict, 0 differ"]


@pytest_twisted.ensureDeferred
async def test_a_429_means_what_the_status_policy_said(sites: Sites, tmp_path: Path) -> None:
    busy, log = sites.host(answer("", 429)), tmp_path / "audit.jsonl"
    await crawl(busy.url("/a"), ROBOTS_AUDIT_LOG=log, ROBOTS_STATUS_POLICY="fail-open", **ALL)
    assert Robots(tmp_path)("replay", log).lines == ["1 verdict, 0 differ"]


@names_rules
@pytest_twisted.ensureDeferred
async def test_logs_of_several_folders_have_their_texts_beside_them(
    sites: Sites, tmp_path: Path
) -> None:
    logs = [tmp_path / name / "audit.jsonl" for name in "ab"]
    for log in logs:
        log.parent.mkdir()
        await crawl(sites.host(RULES + f"# {log}").url("/closed"), ROBOTS_AUDIT_LOG=log, **ALL)
    robots = Robots(tmp_path)
    assert robots("replay", *logs).lines == ["2 verdicts, 0 differ"]
    assert robots("replay", *logs, "--verify").status == 0
