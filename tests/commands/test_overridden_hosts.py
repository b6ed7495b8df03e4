"""Commands answer as crawls of the project do: under its overrides."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from ..storage.records import rules
from .running import Robots

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

CLOSED = "User-agent: *\nDisallow: /\n"


def test_check_and_explain_answer_under_the_overrides_of_the_project(
    sites: Sites, tmp_path: Path
) -> None:
    off, own, named = sites.host(CLOSED), sites.host(CLOSED), sites.host()
    named.robots("User-agent: Barbot\nDisallow: /bar\n")
    robots = Robots.in_project(
        tmp_path,
        ROBOTS_MODE="observe",
        ROBOTS_OVERRIDES={
            off.address: {"obey": False, "reason": "ours"},
            own.address: {"robots_txt": "User-agent: *\nDisallow: /own\nCrawl-delay: 2\n"},
            named.address: {"user_agent": "Barbot"},
        },
    )
    urls = [off.url("/a"), own.url("/own"), own.url("/a"), named.url("/bar")]
    done = robots("check", *urls)
    words = ["allowed", "denied", "allowed", "denied"]
    assert [line.split()[0] for line in done.lines] == words
    labels = ["ours", "robots_txt", "robots_txt", "user_agent"]
    assert [line.rpartition("; override: ")[2] for line in done.lines] == [
        f"{label})" for label in labels
    ]
    assert done.errors == ""
    assert off.robots_hits == own.robots_hits == 0
    for url, word in zip(urls, words, strict=True):
        explained = robots("explain", url)
        assert explained.lines[0].split() == [word, url]
        assert explained.errors == ""
    (found,) = robots("explain", own.url("/own"), "--json").json
    facts = dict(found["facts"])
    assert facts["delay"] == "2 s asked, 2 s kept"
    assert found["override"] == "robots_txt"
    assert facts["robots.txt"].startswith("own text (override: robots_txt)")


def test_check_names_what_is_wrong_with_an_end(tmp_path: Path) -> None:
    overrides = {"a.example": {"obey": False, "reason": "ours", "until": "31.12.2026"}}
    done = Robots.in_project(tmp_path, ROBOTS_OVERRIDES=overrides)("check", "http://a.example/")
    assert done.status not in (0, 1)
    told = "ROBOTS_OVERRIDES['a.example']['until'] = '31.12.2026': expected a day (2026-12-31), "
    assert told in done.errors


def test_an_agent_on_the_command_line_goes_before_an_override(sites: Sites, tmp_path: Path) -> None:
    host = sites.host("User-agent: Barbot\nDisallow: /\n")
    overrides = {host.address: {"user_agent": "Barbot"}}
    robots = Robots.in_project(tmp_path, ROBOTS_OVERRIDES=overrides)
    for command in ("check", "explain"):
        assert robots(command, host.url("/a")).lines[0].startswith("denied")
        named = robots(command, host.url("/a"), "--agent", "Foobot")
        assert named.lines[0].startswith("allowed")


def test_show_and_diff_read_a_file_as_crawls_of_its_host_do(sites: Sites, tmp_path: Path) -> None:
    host = sites.host("User-agent: *\nAllow: /\nDisallow: /a\n")
    override = {"dialect": "GYM2008", "user_agent": "Barbot"}
    robots = Robots.in_project(tmp_path, ROBOTS_OVERRIDES={host.address: override})
    file = tmp_path / "next.txt"
    file.write_text("User-agent: *\nDisallow: /a\nAllow: /\n")
    site = host.url("/a")
    assert robots("check", site).lines[0].startswith("allowed")
    for names in ((site, str(file)), (str(file), site)):
        (found,) = robots("diff", *names, "--json").json
        assert ["agent", "Barbot"] in found["facts"]
        became = "denied" if names[0] == site else "allowed"
        assert [(each["became"], each["examples"][0]) for each in found["paths"]] == [
            (became, "/a")
        ]
        (found,) = robots("diff", *names, "--dialect", "RFC9309", "--json").json
        assert found["paths"] == []
    host.robots("User-agent: 008\nDisallow: /\n")
    overrides = {host.address: {"dialect": "GOOGLE", "user_agent": "008"}}
    robots = Robots.in_project(tmp_path, ROBOTS_OVERRIDES=overrides)
    (found,) = robots("show", site, "--json").json
    assert (found["dialect"], found["group_numbers"]) == ("GOOGLE", [])


def test_wrong_overrides_are_wrong_usage(tmp_path: Path) -> None:
    robots = Robots.in_project(tmp_path, ROBOTS_OVERRIDES={"a.example": {"obay": True}})
    done = robots("check", "http://a.example/")
    assert done.status == 2
    assert "ROBOTS_OVERRIDES['a.example']['obay'] = True: there is no such key" in done.errors
    assert "Traceback" not in done.errors


def test_a_plan_counts_as_the_agent_of_an_override(sites: Sites, tmp_path: Path) -> None:
    host = sites.host("User-agent: Barbot\nCrawl-delay: 3\nDisallow: /closed\n")
    overrides = {host.address: {"user_agent": "Barbot"}}
    robots = Robots.in_project(tmp_path, ROBOTS_OVERRIDES=overrides)
    planned, total = robots("plan", host.url("/a"), host.url("/closed"), "--json").json
    assert (total["allowed_urls"], total["denied_urls"]) == (1, 1)
    assert planned["delay"] == 3


def test_a_copy_in_the_store_is_shown_under_the_overrides_of_its_site(tmp_path: Path) -> None:
    body = b"User-agent: *\nAllow: /\n\nUser-agent: Barbot\nDisallow: /bar\n"
    record = rules(1)._replace(body=body, sha256=sha256(body).hexdigest())
    with SqliteStore(tmp_path / "robots.db", 10) as store:
        store.put(record)
    robots = Robots.in_project(
        tmp_path,
        ROBOTS_STORE=f"sqlite:{tmp_path}/robots.db",
        ROBOTS_OVERRIDES={record.origin.host: {"user_agent": "Barbot"}},
    )
    done = robots("show", f"store:{record.origin}")
    assert done.errors == ""
    assert [line.split()[1] for line in done.lines if line.startswith("> ")] == ["4", "5"]
