"""``scrapy robots cache`` on real stores."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from ..storage.records import never_read, origin, rules
from .running import Robots

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.storage.record import RobotsRecord

NOW = float(int(time.time()))
STORE = ("--store", "sqlite:robots.db")
ACTIONS = [
    ("list",),
    ("list", "--json"),
    ("show", "https://host1.example"),
    ("purge", "https://host1.example"),
    ("purge", "--all"),
]


def filled(folder: Path, *records: RobotsRecord, name: str = "robots.db") -> Path:
    with SqliteStore(folder / name, 1_000_000) as store:
        for record in records:
            store.put(record)
    return folder / name


def held(path: Path) -> dict[str, RobotsRecord | None]:
    with SqliteStore(path, 1_000_000) as store:
        return {each.origin: each.record for each in store.scan()}


def listing(folder: Path) -> dict[str, bytes]:
    return {found.name: found.read_bytes() for found in folder.iterdir() if found.is_file()}


@pytest.fixture
def three(robots: Robots) -> list[RobotsRecord]:
    """What ``robots.db`` has in these tests."""
    records = [
        rules(1, NOW - 7_200, lifetime=86_400.0),
        rules(2, NOW - 100, failure=503, failures=3, failed_at=NOW - 10, retry_in=3_000.0),
        never_read(3, NOW - 10),
    ]
    filled(robots.folder, *records)
    return records


@pytest.mark.usefixtures("three")
def test_list_has_a_line_for_each_origin(robots: Robots) -> None:
    done = robots("cache", "list", *STORE)
    assert (done.status, done.errors) == (0, "")
    heading, *lines = done.lines
    headings = "STATUS ACCESS FETCHED (UTC) AGE FRESH FOR BYTES FAILURES ORIGIN"
    assert " ".join(heading.split()) == headings
    fetched = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(NOW - 7_200))
    assert lines[0].startswith(f"200                rules       {fetched}  ")
    assert " 2 h " in lines[0]
    assert [line.rpartition("  ")[2] for line in lines] == [str(origin(n)) for n in (1, 2, 3)]
    assert lines[0].index("https") == lines[2].index("https") == heading.index("ORIGIN")
    assert "200, now 503       rules" in lines[1]
    assert lines[2].startswith("timeout            unreachable never ")


def test_list_for_machines(alone: Robots, three: list[RobotsRecord]) -> None:
    done = alone("cache", "list", "--json", *STORE)
    for found, record in zip(done.json, three, strict=True):
        assert found["origin"] == str(record.origin)
        assert found["size"] == len(record.body)
        assert found["sha256"] == record.sha256
        assert found["failures"] == record.failures
        assert "body" not in found
    ages = [found["age"] for found in done.json]
    assert NOW - three[0].fetched_at <= ages[0] <= time.time() - three[0].fetched_at
    assert ages[2] is None  # it was never read
    assert [found["failure"] for found in done.json] == [None, "503", str(three[2].failure)]


def test_show_prints_a_record_and_its_text(robots: Robots, three: list[RobotsRecord]) -> None:
    for named in ("https://host2.example", "https://HOST2.example/any?x"):
        done = robots("cache", "show", named, *STORE)
        assert done.status == 0
        head, headers, text = done.output.split("\n\n")
        assert text == three[1].body.decode()
        assert head.splitlines()[1].endswith("  https://host2.example")
        assert 'etag: "2"' in headers
    (found,) = robots("cache", "show", "https://host2.example", "--json", *STORE).json
    assert found["v"] == 1
    assert found["body"] == three[1].body.decode()
    done = robots("cache", "show", "http://host2.example", *STORE)
    assert (done.status, done.output) == (2, "")
    assert "the store has no record of http://host2.example\n" in done.errors


def test_a_text_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    body = b"User-agent: *\r\nDisallow: /\x1b]0;owned\x07\x0c\xff\xc2\x85\n"
    filled(tmp_path, rules(1, body=body, sha256=sha256(body).hexdigest(), headers={"etag": "\x1b"}))
    done = Robots(tmp_path)("cache", "show", "https://host1.example", *STORE)
    assert r"Disallow: /\x1b]0;owned\x07\x0c\xff\x85" in done.lines  # no line begins within
    assert "\x1b" not in done.output


@pytest.mark.parametrize(
    ("arguments", "left", "says"),
    [
        (("https://host1.example/", "https://host1.example/a"), [2, 3], "1 record deleted\n"),
        (("--all",), [], "3 records deleted\n"),
    ],
)
def test_purge_deletes_what_is_asked(
    tmp_path: Path, arguments: tuple[str, ...], left: list[int], says: str
) -> None:
    path = filled(tmp_path, *(rules(number, NOW) for number in (1, 2, 3)))
    done = Robots(tmp_path)("cache", "purge", *arguments, *STORE)
    assert (done.status, done.errors, done.output) == (0, "", says)
    assert [*held(path)] == [str(origin(number)) for number in left]


def test_purge_names_what_is_not_there(tmp_path: Path) -> None:
    path = filled(tmp_path, rules(1), rules(2))
    done = Robots(tmp_path)("cache", "purge", "http://host1.example", str(origin(2)), *STORE)
    assert (done.status, done.output) == (2, "1 record deleted\n")
    assert done.errors == "the store has no record of http://host1.example\n"
    assert [*held(path)] == [str(origin(1))]


def test_a_crawls_store_is_purged_while_it_is_used(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "robots.db", 1_000_000) as crawl:
        for number in range(500):
            crawl.put(rules(number, NOW))
        assert Robots(tmp_path)("cache", "purge", "--all", *STORE).status == 0
        assert len(crawl) == 0
        assert crawl.put(rules(1, NOW))
        assert crawl.losses == 0


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    path = filled(tmp_path, *(rules(number, NOW) for number in range(1, 5)))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "UPDATE records SET data = CAST(data || x'00' AS BLOB) WHERE origin LIKE '%host2.%'"
        )
        connection.commit()
    before = listing(tmp_path)
    done = Robots(tmp_path)("cache", "list", *STORE)
    assert done.status == 1
    assert done.errors == "https://host2.example: the record is damaged: wrong checksum\n"
    assert len(done.lines) == 4
    assert listing(tmp_path) == before
    done = Robots(tmp_path)("cache", "purge", "https://host2.example", *STORE)
    assert (done.status, done.output, done.errors) == (0, "1 record deleted\n", "")


@pytest.mark.parametrize("arguments", ACTIONS, ids=" ".join)
def test_a_damaged_file_is_said_to_be_and_left_alone(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    path = filled(tmp_path, *(rules(number, NOW) for number in range(200)))
    os.truncate(path, 9_000)
    before = listing(tmp_path)
    done = Robots(tmp_path)("cache", *arguments, *STORE)
    assert done.status == 2
    assert "robots.db: database disk image is malformed" in done.output + done.errors
    assert listing(tmp_path) == before


@pytest.mark.parametrize("arguments", ACTIONS, ids=" ".join)
def test_another_programs_file_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(tmp_path / "robots.db")) as connection:
        connection.execute("CREATE TABLE records (mine TEXT)")
    before = listing(tmp_path)
    done = Robots(tmp_path)("cache", *arguments, *STORE)
    assert (done.status, done.output) == (2, "")
    assert "is not a store of" in done.errors
    assert listing(tmp_path) == before


@pytest.mark.parametrize("arguments", ACTIONS, ids=" ".join)
def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = Robots(tmp_path)("cache", *arguments, *STORE)
    assert (done.status, done.output) == (2, "")
    assert "there is no store at " in done.errors
    assert listing(tmp_path) == {}


def test_the_store_is_that_of_the_project_or_its_job_or_the_one_named(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    filled(tmp_path, rules(1), name="of_project.db")
    filled(tmp_path / "job", rules(2), name="robots.sqlite")
    robots = Robots.in_project(tmp_path, ROBOTS_STORE="sqlite:of_project.db")
    named = ("--store", "sqlite:of_project.db")
    assert [each["origin"] for each in robots("cache", "list", "--json").json] == [str(origin(1))]
    robots = Robots.in_project(tmp_path, JOBDIR="job")
    assert [each["origin"] for each in robots("cache", "list", "--json").json] == [str(origin(2))]
    done = robots("cache", "list", "--json", *named)
    assert [each["origin"] for each in done.json] == [str(origin(1))]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "required: SUBCOMMAND"),
        (("lsit",), "invalid choice"),
        (("list",), "expected a ROBOTS_STORE that outlives its crawl"),
        (("list", "--store", "memory"), "expected a ROBOTS_STORE that outlives its crawl"),
        (("list", "--store", "robots.db"), "ROBOTS_STORE = 'robots.db': expected 'memory'"),
        (("list", *STORE, "extra"), "unrecognized arguments: extra"),
        (("show", *STORE), "required: ORIGIN"),
        (("show", "ftp://site.example", *STORE), "is not an http or https URL"),
        (("show", "http://site.example:x", *STORE), "ort"),
        (("purge", *STORE), "expected either origins or --all"),
        (("purge", "--all", "http://site.example", *STORE), "expected either origins or --all"),
        (("purge", "site", *STORE), "site"),
    ],
)  # fmt: skip
def test_wrong_usage_says_what_is_expected(
    tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    path = filled(tmp_path, rules(1))
    done = Robots(tmp_path)("cache", *arguments)
    assert (done.status, done.output) == (2, "")
    assert why in " ".join(done.errors.split())
    assert held(path) == {str(origin(1)): rules(1)}


def test_a_closed_pipe_ends_it_silently(tmp_path: Path) -> None:
    filled(tmp_path, *(rules(number, lines=50) for number in range(500)))
    for action in (("list",), ("list", "--json")):
        done = Robots(tmp_path).into_closed_pipe("cache", *action, *STORE)
        assert (done.status, done.errors) == (141, "")


def test_any_origin_is_shown(tmp_path: Path) -> None:
    each = Origin("http", "2001:db8::1", 8080)
    filled(tmp_path, rules(1, origin=each))
    done = Robots(tmp_path)("cache", "show", "http://[2001:db8::1]:8080/x", *STORE)
    assert done.lines[1].endswith("  http://[2001:db8::1]:8080")


def test_a_tdmrep_is_named_as_the_list_shows_it(alone: Robots) -> None:
    here, there = rules(1, NOW - 100), rules(2, NOW - 100)
    filled(alone.folder, here, there._replace(origin=here.origin.tdmrep))
    _, *names = (line.rpartition("  ")[2] for line in alone("cache", "list", *STORE).lines)
    for name in names:
        assert alone("cache", "show", name, "--json", *STORE).json[0]["origin"] == name
    assert names == [str(here.origin), f"{here.origin}/.well-known/tdmrep.json"]
    assert alone("cache", "purge", names[1], *STORE).lines == ["1 record deleted"]
    assert set(held(alone.folder / "robots.db")) == {names[0]}
