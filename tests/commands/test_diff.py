"""``scrapy robots diff``."""

from __future__ import annotations

import os
import time
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage import open_store
from scrapy_robots_plus.storage.record import RobotsRecord

from ..protocol.hostile_files import hostile
from ..sites import answer, hang
from .running import Done, Robots

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Host, Sites

OLD = "User-agent: *\nCrawl-delay: 2\nDisallow: /private/\nSitemap: http://site.example/old.xml\n"
NEW = (
    "User-agent: *\nAllow: /private/open/\nDisallow: /private/\nDisallow: /*?sort=\n"
    "Request-rate: 1/10s 0600-0845\nVisit-time: 0600-0845\nSitemap: http://site.example/new.xml\n"
)


def put(robots: Robots, **files: str) -> None:
    for name, text in files.items():
        (robots.folder / name).write_text(text)


def became(done: Done) -> list[tuple[str, str | None, str | None, str]]:
    """For each change of paths: what, the rule before, the rule after, and the first example."""
    return [
        (path["became"], path["before"]["rule"], path["after"]["rule"], path["examples"][0])
        for path in done.json[0]["paths"]
    ]


def test_what_changed_in_words(robots: Robots) -> None:
    put(robots, old=OLD, new=NEW)
    done = robots("diff", "old", "new", "--agent", "foobot")
    assert done.lines == [
        "before       old",
        "after        new",
        "agent        foobot",
        "",
        "became denied (1)",
        "  /?sort= /b?sort=b",
        "      no rule -> Disallow: /*?sort= (line 4)",
        "",
        "became allowed (1)",
        "  /private/open/ /private/open/b /private/open/?sort=",
        "      Disallow: /private/ (line 3) -> Allow: /private/open/ (line 2)",
        "",
        "crawl-delay  2 s -> none",
        "request-rate none -> 1 in 10 s, 06:00-08:45 UTC",
        "visit-time   none -> 06:00-08:45 UTC",
        "sitemap      - http://site.example/old.xml",
        "sitemap      + http://site.example/new.xml",
    ]
    assert (done.status, done.errors) == (1, "")


def test_what_changed_as_json(alone: Robots) -> None:
    put(alone, old=OLD, new=NEW)
    done = alone("diff", "old", "new", "--agent", "foobot", "--json")
    assert became(done) == [
        ("allowed", "Disallow: /private/", "Allow: /private/open/", "/private/open/"),
        ("denied", None, "Disallow: /*?sort=", "/?sort="),
    ]
    (found,) = done.json
    assert (found["differs"], found["complete"]) == (True, True)
    assert found["facts"] == [
        ["before", "old"],
        ["after", "new"],
        ["agent", "foobot"],
        ["crawl-delay", "2 s -> none"],
        ["request-rate", "none -> 1 in 10 s, 06:00-08:45 UTC"],
        ["visit-time", "none -> 06:00-08:45 UTC"],
        ["sitemap", "- http://site.example/old.xml"],
        ["sitemap", "+ http://site.example/new.xml"],
    ]
    assert found["paths"][0]["after"] == {
        "reason": "rule",
        "rule": "Allow: /private/open/",
        "line": 2,
    }


def test_nothing_changed(alone: Robots) -> None:
    put(alone, old=OLD, same=OLD.replace("\n", "\r\n# nothing\n"))
    done = alone("diff", "old", "same", "--agent", "foobot")
    assert done.lines[-2:] == ["", "no difference"]
    assert done.status == 0


def test_of_a_file_that_is_longer_than_what_is_read_that_is_told(alone: Robots) -> None:
    beginning = OLD + "#" * 512_000 + "\n"
    put(alone, old=beginning, new=beginning + "User-agent: *\nDisallow: /\n")
    done = alone("diff", "old", "new", "--json")
    assert (done.status, done.json[0]["differs"]) == (0, False)
    told = "is longer than 512,000 bytes (ROBOTS_FETCH_MAX_BYTES); the rest is ignored"
    assert done.errors.splitlines() == [f"{name} {told}" for name in ("old", "new")]


def test_another_group_applies_now(alone: Robots) -> None:
    put(alone, old="User-agent: *\n", new="User-agent: *\nUser-agent: foobot\n")
    assert alone("diff", "old", "new", "--agent", "foobot").lines[-1] == "group        * -> foobot"
    assert alone("diff", "old", "new", "--agent", "barbot").status == 0


def test_one_of_them_is_standard_input(alone: Robots) -> None:
    put(alone, old=OLD)
    for arguments in (("old", "-"), ("-", "old")):
        done = alone("diff", *arguments, "--json", stdin=NEW)
        assert len(became(done)) == 2
        assert done.status == 1


def test_many_changes_are_counted_and_shown(alone: Robots) -> None:
    many = "".join(f"Disallow: /{number}/\n" for number in range(1_000))
    put(alone, old="", new=f"User-agent: *\n{many}")
    shown = alone("diff", "old", "new")
    assert "became denied (1,000)" in shown.lines
    assert shown.output.count(" -> Disallow: /") == 1_000
    assert len(alone("diff", "old", "new", "--json").json[0]["paths"]) == 1_000


def test_sites_are_asked_as_by_a_crawl(sites: Sites, robots: Robots) -> None:
    host, other, missing = sites.host(OLD), sites.host(NEW), sites.host(answer(status=404))
    done = robots("diff", host.origin, other.url("/robots.txt"), "--json")
    assert [each[0] for each in became(done)] == ["allowed", "denied"]
    assert done.json[0]["facts"][1] == ["after", f"{other.url('/robots.txt')} (200, rules)"]
    gone = robots("diff", host.origin, missing.origin)
    assert f"after        {missing.origin} (404, all allowed)" in gone.lines
    assert "      Disallow: /private/ (line 3) -> no robots.txt" in gone.lines
    assert (done.status, gone.status) == (1, 1)
    assert (host.robots_hits, host.fetched) == (2, [])


def test_an_empty_file_is_not_the_same_as_none(sites: Sites, alone: Robots) -> None:
    put(alone, empty="")
    done = alone("diff", sites.host(answer(status=404)).origin, "empty")
    assert done.status == 1
    assert "no difference" not in done.output
    assert "(404, all allowed)" in done.lines[0]


def test_the_status_policy_decides_about_a_missing_file(sites: Sites, tmp_path: Path) -> None:
    robots = Robots.in_project(tmp_path, ROBOTS_STATUS_POLICY={"403": "disallow"})
    put(robots, old=OLD)
    done = robots("diff", "old", sites.host(answer(status=403)).origin)
    assert "      no rule -> robots.txt unreadable" in done.lines
    assert "crawl-delay" not in done.output
    assert done.status == 1


def test_a_dead_site_denies_all_and_is_said_to_be_unreadable(sites: Sites, robots: Robots) -> None:
    closed = sites.closed_host().rstrip("/")
    broken = sites.host(answer(status=503)).origin
    put(robots, old=OLD)
    for dead, why in ((closed, "connection"), (broken, "503")):
        done = robots("diff", "old", dead, "-sROBOTS_FETCH_RETRIES=0")
        assert f"after        {dead} ({why}, all denied)" in done.lines
        assert "became denied (1)" in done.lines
        assert done.status == 2


@pytest.fixture
def stored(tmp_path: Path, sites: Sites) -> tuple[Robots, Host]:
    """A project whose store has a site's old file, and the site, which has a new one."""
    robots, host = Robots.in_project(tmp_path, ROBOTS_STORE="sqlite:known.db"), sites.host(NEW)
    origin = Origin.of(host.origin)
    assert origin is not None
    body, now = OLD.encode(), time.time()
    digest = sha256(body).hexdigest()
    record = RobotsRecord(
        origin, Access.RULES, 200, origin.robots_url, now, 9e4, sha256=digest, body=body
    )
    with open_store(f"sqlite:{tmp_path}/known.db", 10) as store:
        assert store.put(record)
    return robots, host


def test_a_stored_copy_and_what_the_site_has_now(stored: tuple[Robots, Host]) -> None:
    robots, host = stored
    kept = f"store:{host.origin}"
    for _ in range(2):  # the comparison leaves the store as it is
        done = robots("diff", kept, host.origin, "--json")
        assert [each[0] for each in became(done)] == ["allowed", "denied"]
        assert done.json[0]["facts"][0] == ["before", f"{kept} (200, rules)"]
        assert done.status == 1
    assert robots("diff", kept, kept).status == 0
    shown = robots("show", kept, "--json").json[0]
    assert [line["text"] for line in shown["lines"]] == OLD.splitlines()
    assert host.robots_hits == 2


def test_what_no_store_has_cannot_be_compared(stored: tuple[Robots, Host]) -> None:
    robots, host = stored
    for store, name in (("known.db", "http://other.example"), ("no.db", host.origin)):
        done = robots("diff", f"store:{name}", host.origin, f"-sROBOTS_STORE=sqlite:{store}")
        assert (done.status, done.output) == (2, "")
        assert done.errors.startswith("scrapy robots diff: ")
        assert (name if store == "known.db" else store) in done.errors
    assert not (robots.folder / "no.db").exists()
    assert host.robots_hits == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("a",),
        ("a", "b", "c"),
        ("a", "missing"),
        ("missing", "a"),
        ("a", "."),
        ("a", "http://site.example:x/"),
        ("a", "http://"),
        ("a", "store:http://site.example"),
        ("a", "store:somewhere"),
        ("a", "a", "--dialect", "KLINGON"),
    ],
)
def test_wrong_usage_says_what_is_expected(alone: Robots, arguments: tuple[str, ...]) -> None:
    put(alone, a=OLD)
    done = alone("diff", *arguments)
    assert (done.status, done.output) == (2, "")
    assert "error: " in done.errors or done.errors.startswith("scrapy robots")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_an_unreadable_file_is_named(alone: Robots) -> None:
    put(alone, a=OLD)
    (alone.folder / "a").chmod(0)
    done = alone("diff", "a", "a")
    assert (done.status, done.output) == (2, "")
    assert "a: Permission denied" in done.errors


def test_a_closed_pipe_ends_it_silently(alone: Robots) -> None:
    many = "".join(f"Disallow: /{number}/\n" for number in range(5_000))
    put(alone, old="", new=f"User-agent: *\n{many}")
    done = alone.into_closed_pipe("diff", "old", "new")
    assert (done.status, done.errors) == (141, "")


def test_ctrl_c_while_a_site_is_asked(sites: Sites, alone: Robots) -> None:
    host = sites.host(OLD)
    host.robots(hang)
    put(alone, old=OLD)
    started = ("diff", "old", host.origin, "-sROBOTS_FETCH_TIMEOUT=60")
    done = alone.interrupted(*started, when=lambda: host.robots_hits > 0)
    assert (done.status, done.output) == (130, "")


def test_a_hostile_pair_ends_and_is_said_to_be_not_complete(alone: Robots) -> None:
    put(alone, old=hostile("stars", 128_000).decode(), new="User-agent: *\nDisallow: /z\n")
    done = alone("diff", "old", "new")
    assert done.lines[-1].startswith("not complete: ")
    assert done.status == 1


def test_text_of_a_site_cannot_write_to_the_terminal(alone: Robots) -> None:
    put(alone, old="", new="User-agent: *\nDisallow: /\x1b]0;owned\x07\nSitemap: /\x1b[31m\n")
    done = alone("diff", "old", "new")
    assert "\x1b" not in done.output
    assert "\\x1b" in done.output


def test_long_text_is_cut_in_words_and_whole_as_json(alone: Robots) -> None:
    path = "/" + "a" * 5_000
    put(alone, old="", new=f"User-agent: *\nDisallow: {path}\n")
    assert len(alone("diff", "old", "new").output) < 3_000
    assert became(alone("diff", "old", "new", "--json"))[0][3] == path
