"""``scrapy robots cache`` on real stores."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage.exchange import line_of
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
    ("show", "host1.example"),
    ("export",),
    ("export", "-o", "out.jsonl"),
    ("verify",),
    ("purge",),
    ("purge", "--all", "--yes"),
]


def filled(folder: Path, *records: RobotsRecord, name: str = "robots.db") -> Path:
    with SqliteStore(folder / name, 1_000_000) as store:
        for record in records:
            store.put(record)
    return folder / name


def held(path: Path) -> dict[str, RobotsRecord | None]:
    with SqliteStore(path, 1_000_000) as store:
        return {each.origin: each.record for each in store.scan()}


def lines_of(*records: RobotsRecord) -> str:
    return "".join(f"{json.dumps(line_of(record))}\n" for record in records)


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
        expected = {**line_of(record), "v": 1, "size": len(record.body)}
        del expected["body"]
        age = found.pop("age")
        assert NOW - record.fetched_at <= age <= time.time() - record.fetched_at
        assert found.pop("fresh_for") >= 0
        assert found == json.loads(json.dumps(expected))


def test_show_prints_a_record_and_its_text(robots: Robots, three: list[RobotsRecord]) -> None:
    for named in ("host2.example", "HOST2.example", "https://host2.example/any?x"):
        done = robots("cache", "show", named, *STORE)
        assert done.status == 0
        head, _, text = done.output.partition("\n\n")
        assert text == three[1].body.decode()
        assert head.splitlines()[:2] == ["https://host2.example", "status     200, now 503 (rules)"]
        assert f"sha256     {three[1].sha256}" in head
    (found,) = robots("cache", "show", "host2.example", "--json", *STORE).json
    assert found == json.loads(json.dumps(line_of(three[1])))
    done = robots("cache", "show", "http://host2.example", *STORE)
    assert (done.status, done.output) == (2, "")
    assert done.errors == "the store has no record of http://host2.example\n"


def test_a_text_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    body = b"User-agent: *\r\nDisallow: /\x1b]0;owned\x07\x0c\xff\xc2\x85\n"
    filled(tmp_path, rules(1, body=body, sha256=sha256(body).hexdigest(), headers={"etag": "\x1b"}))
    done = Robots(tmp_path)("cache", "show", "host1.example", *STORE)
    assert done.lines[-2:] == ["User-agent: *", r"Disallow: /\x1b]0;owned\x07\x0c\xff\x85"]
    assert "\x1b" not in done.output


def test_what_is_exported_can_be_imported(robots: Robots, three: list[RobotsRecord]) -> None:
    body = b"User-agent: \xff\n"
    path = filled(robots.folder, rules(4, NOW, body=body, sha256=sha256(body).hexdigest()))
    printed = robots("cache", "export", *STORE)
    assert (printed.status, printed.errors) == (0, "")
    written = robots("cache", "export", "-o", "out.jsonl", *STORE)
    assert (written.status, written.output) == (0, "")
    assert (robots.folder / "out.jsonl").read_text() == printed.output
    done = robots("cache", "import", "out.jsonl", "--store", "sqlite:new.db")
    assert done.lines == ["4 records imported, 0 newer in the store, 0 lines left out"]
    assert done.status == 0
    assert held(robots.folder / "new.db") == held(path)
    assert held(path)[str(origin(1))] == three[0]
    assert not list(robots.folder.glob("*.part"))


def test_of_two_records_the_newer_stays(tmp_path: Path) -> None:
    path = filled(tmp_path, rules(1, NOW - 5), rules(2, NOW - 5))
    given = lines_of(rules(1, NOW - 9), rules(2, NOW - 1), rules(3, NOW - 1))
    for expected in ("2 records imported, 1 newer", "2 records imported, 1 newer"):
        done = Robots(tmp_path)("cache", "import", "-", *STORE, stdin=given)
        assert done.output == f"{expected} in the store, 0 lines left out\n"
        assert done.status == 0
    assert held(path)[str(origin(1))] == rules(1, NOW - 5)
    assert held(path)[str(origin(2))] == rules(2, NOW - 1)


def test_wrong_lines_are_named_and_left_out(tmp_path: Path) -> None:
    given = lines_of(
        rules(1, NOW), rules(2, NOW, sha256="0" * 64), rules(3, NOW + 3_600), rules(4, NOW)
    )
    given = given.replace("\n", "\nnonsense\n\n", 1) + lines_of(rules(5, NOW))[:-20]
    done = Robots(tmp_path)("cache", "import", "-", *STORE, stdin=given)
    assert done.status == 1
    assert done.output == "2 records imported, 0 newer in the store, 5 lines left out\n"
    reasons = [line.split(": ", 1) for line in done.errors.splitlines()]
    assert [number for number, _ in reasons] == [f"line {n}" for n in (2, 3, 4, 5, 7)]
    assert "sha256" in reasons[2][1]
    assert "future" in reasons[3][1]
    assert [*held(tmp_path / "robots.db")] == [str(origin(1)), str(origin(4))]


def test_a_line_without_an_end_is_not_kept_in_memory(tmp_path: Path) -> None:
    """Nor are all the wrong lines of a file that is something else."""
    (tmp_path / "big").write_bytes(b"x" * 40_000_000 + b"\n" + b"wrong\n" * 1_000)
    with (tmp_path / "big").open("ab") as file:
        file.write(lines_of(rules(1, NOW)).encode())
    done = Robots(tmp_path)("cache", "import", "big", *STORE)
    assert done.output == "1 record imported, 0 newer in the store, 1,001 lines left out\n"
    assert len(done.errors.splitlines()) == 21
    assert max(map(len, done.errors.splitlines())) < 300


def test_an_import_drops_nothing_but_says_what_a_crawl_would(tmp_path: Path) -> None:
    path = filled(tmp_path, *(rules(number, NOW - number) for number in range(20)))
    given = lines_of(rules(99, NOW))
    done = Robots(tmp_path)("cache", "import", "-", *STORE, "-sROBOTS_STORE_MAX=5", stdin=given)
    assert done.status == 0
    assert "The store has 21 records; a crawl with ROBOTS_STORE_MAX = 5 drops" in done.errors
    assert len(held(path)) == 21


def test_purge_deletes_what_no_crawl_can_use(tmp_path: Path) -> None:
    day = 86_400
    path = filled(tmp_path, rules(1, NOW - 29 * day), rules(2, NOW - 32 * day), rules(3, NOW + day))
    robots = Robots(tmp_path)
    assert robots("cache", "purge", *STORE).output == "2 of 3 records deleted\n"
    assert [*held(path)] == [str(origin(1))]
    assert robots("cache", "purge", *STORE, "-sROBOTS_STALE_MAX=86400").status == 0
    assert held(path) == {}


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (("--before", "3000s"), [1]),
        (("--before", "100min"), [1, 2]),
        (("--before", "1w"), [1, 2, 3]),
        (("--before", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW - 3_000))), [1]),
        (("--before", "2020-01-01"), [1, 2, 3]),
        (("--origin", "https://host1.example/", "--origin", "https://host9.example"), [2, 3]),
        (("--all", "--yes"), []),
    ],
)
def test_purge_deletes_what_is_asked(
    tmp_path: Path, arguments: tuple[str, ...], left: list[int]
) -> None:
    now = time.time()
    path = filled(
        tmp_path, rules(1, now), rules(2, now - 5_000), rules(3, now - 9_000, failed_at=now - 7_000)
    )
    done = Robots(tmp_path)("cache", "purge", *arguments, *STORE)
    assert (done.status, done.errors) == (0, "")
    assert done.output == f"{3 - len(left)} of 3 records deleted\n"
    assert [*held(path)] == [str(origin(number)) for number in left]


def test_verify_finds_nothing_in_a_sound_store(alone: Robots, three: list[RobotsRecord]) -> None:
    done = alone("cache", "verify", *STORE)
    assert (done.status, done.errors) == (0, "")
    assert done.output == f"{len(three)} records checked, 0 faults\n"


def test_verify_names_each_fault(tmp_path: Path) -> None:
    path = filled(tmp_path, *(rules(number, NOW) for number in range(1, 5)))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "UPDATE records SET data = CAST(data || x'00' AS BLOB) WHERE origin LIKE '%host2.%'"
        )
        connection.commit()
    before = listing(tmp_path)
    done = Robots(tmp_path)("cache", "verify", *STORE)
    assert done.status == 1
    assert done.lines == [
        "https://host2.example: the record is damaged: wrong checksum",
        "4 records checked, 1 fault",
    ]
    assert listing(tmp_path) == before
    done = Robots(tmp_path)("cache", "list", *STORE)
    assert done.status == 1
    assert done.errors == "https://host2.example: the record is damaged: wrong checksum\n"
    assert len(done.lines) == 4
    done = Robots(tmp_path)("cache", "export", *STORE)
    assert (done.status, len(done.lines)) == (1, 3)
    assert "host2.example is left out" in done.errors


@pytest.mark.parametrize("arguments", ACTIONS, ids=" ".join)
def test_a_damaged_file_is_said_to_be_and_left_alone(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    path = filled(tmp_path, *(rules(number, NOW) for number in range(200)))
    os.truncate(path, 9_000)
    before = listing(tmp_path)
    done = Robots(tmp_path)("cache", *arguments, *STORE)
    assert done.status == (1 if arguments == ("verify",) else 2)
    assert "robots.db is damaged: " in done.output + done.errors
    assert listing(tmp_path) == before


@pytest.mark.parametrize("arguments", [*ACTIONS, ("import", "in.jsonl")], ids=" ".join)
def test_another_programs_file_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(tmp_path / "robots.db")) as connection:
        connection.execute("CREATE TABLE records (mine TEXT)")
    (tmp_path / "in.jsonl").write_text(lines_of(rules(1)))
    before = listing(tmp_path)
    done = Robots(tmp_path)("cache", *arguments, *STORE)
    assert (done.status, done.output) == (2, "")
    assert "is not a store of scrapy-robots-plus" in done.errors
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
    done = robots("cache", "list", "--json", "--jobdir", "job")
    assert [each["origin"] for each in done.json] == [str(origin(2))]
    robots = Robots.in_project(tmp_path, JOBDIR="job")
    assert [each["origin"] for each in robots("cache", "list", "--json").json] == [str(origin(2))]
    done = robots("cache", "list", "--json", *named)
    assert [each["origin"] for each in done.json] == [str(origin(1))]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "required: SUBCOMMAND"),
        (("lsit",), "invalid choice"),
        (("list",), "expected --store URI or --jobdir FOLDER"),
        (("list", *STORE, "--jobdir", "job"), "not allowed with"),
        (("list", "--store", "robots.db"), "--store: 'robots.db' is not a store; expected"),
        (("list", "--store", "memory"), "'memory' ends with its crawl"),
        (("import", "-", "--store", "memory"), "'memory' ends with its crawl"),
        (("list", *STORE, "extra"), "unrecognized arguments: extra"),
        (("show", *STORE), "required: ORIGIN"),
        (("show", "ftp://site.example", *STORE), "expected an origin such as"),
        (("show", "http://site.example:x", *STORE), "ort"),
        (("export", "-o", "no/such/folder/x", *STORE), "No such file"),
        (("import", *STORE), "required: FILE"),
        (("import", "missing", *STORE), "missing cannot be read: No such file"),
        (("import", ".", *STORE), "cannot be read: Is a directory"),
        (("purge", "--all", *STORE), "--all and --yes are used together"),
        (("purge", "--yes", *STORE), "--all and --yes are used together"),
        (("purge", "--all", "--yes", "--before", "1d", *STORE), "not allowed with"),
        (("purge", "--before", "yesterday", *STORE), "'yesterday': expected a date"),
        (("purge", "--before", "2999-01-01", *STORE), "in the future"),
        (("purge", "--origin", "site", *STORE), "expected an origin such as"),
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
    for action in (("list",), ("list", "--json"), ("export",)):
        done = Robots(tmp_path).into_closed_pipe("cache", *action, *STORE)
        assert (done.status, done.errors) == (141, "")


def test_ctrl_c_leaves_no_half_file(tmp_path: Path) -> None:
    filled(tmp_path, *(rules(number, lines=200) for number in range(6_000)))
    shutil.copy(tmp_path / "robots.db", tmp_path / "copy.db")
    done = Robots(tmp_path).interrupted(
        "cache", "export", "-o", "out.jsonl", *STORE, when=lambda: any(tmp_path.glob("*.part"))
    )
    assert (done.status, done.output) == (130, "")
    assert sorted(listing(tmp_path)) == ["copy.db", "robots.db"]


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    filled(tmp_path, *(rules(number, lines=50) for number in range(50)))
    done = Robots(tmp_path)("cache", "export", "-o", "/dev/full", *STORE)
    assert done.status == 2
    assert "No space left" in done.errors


def test_an_import_that_is_killed_can_be_done_again(tmp_path: Path) -> None:
    records = [rules(number, NOW) for number in range(5_000)]
    (tmp_path / "in.jsonl").write_text(lines_of(*records))
    robots = Robots(tmp_path)
    process = robots.started("cache", "import", "in.jsonl", *STORE)
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        if (tmp_path / "robots.db-wal").exists():
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert robots("cache", "import", "in.jsonl", *STORE).status == 0
    assert held(tmp_path / "robots.db") == {str(record.origin): record for record in records}


def test_a_crawls_store_is_listed_changed_and_filled_while_it_is_used(tmp_path: Path) -> None:
    robots = Robots(tmp_path)
    given = lines_of(*(rules(number, NOW) for number in range(1_000, 3_000)))
    with SqliteStore(tmp_path / "robots.db", 1_000_000) as crawl:
        for number in range(500):
            crawl.put(rules(number, NOW))
        process = robots.started("cache", "import", "-", *STORE)
        process.stdin.write(given.encode())
        process.stdin.close()
        puts = 0
        while process.poll() is None:  # no StoreError: the crawl always gets its turn
            assert crawl.put(rules(puts % 500, NOW + puts / 1_000_000))
            puts += 1
        output, errors = process.communicate(timeout=60)
        assert (output[:21], errors) == (b"2,000 records importe", b"")
        assert len(robots("cache", "list", "--json", *STORE).lines) == 2_500
        assert robots("cache", "verify", *STORE).status == 0
        assert robots("cache", "purge", "--all", "--yes", *STORE).status == 0
        assert len(crawl) == 0
        assert crawl.put(rules(1, NOW))
        assert crawl.losses == 0


def test_any_origin_is_shown(tmp_path: Path) -> None:
    each = Origin("http", "2001:db8::1", 8080)
    filled(tmp_path, rules(1, origin=each))
    done = Robots(tmp_path)("cache", "show", "http://[2001:db8::1]:8080/x", *STORE)
    assert done.lines[0] == "http://[2001:db8::1]:8080"
