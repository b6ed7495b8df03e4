"""``scrapy robots check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..crawl_process import MODES
from ..sites import answer, hang
from .running import Robots

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

RULES = "User-agent: *\nDisallow: /closed\nAllow: /closed/open\n"


def test_a_line_for_each_url_in_their_order(sites: Sites, robots: Robots) -> None:
    host = sites.host(RULES)
    done = robots("check", host.url("/closed"), host.url("/closed/open"), host.url("/other"))
    where = f"of {host.url('/robots.txt')}"
    assert done.lines == [
        f"denied    {host.url('/closed')}  (Disallow: /closed, line 2 {where})",
        f"allowed   {host.url('/closed/open')}  (Allow: /closed/open, line 3 {where})",
        f"allowed   {host.url('/other')}  (no rule {where} matches (200))",
    ]
    assert done.status == 1
    assert done.errors == ""
    assert host.fetched == []  # no page


@pytest.mark.parametrize("mode", MODES)
def test_in_every_reactor_mode(sites: Sites, tmp_path: Path, mode: str) -> None:
    host = sites.host(RULES)
    settings = [f"-s{name}={value}" for name, value in MODES[mode].items()]
    done = Robots(tmp_path)("check", "--json", host.url("/closed"), host.url("/"), *settings)
    assert [answer["result"] for answer in done.json] == ["denied", "allowed"]
    assert done.status == 1


def test_all_allowed_is_status_0(sites: Sites, alone: Robots) -> None:
    assert alone("check", sites.host(RULES).url("/")).status == 0
    assert alone("check", sites.host(answer(status=404)).url("/")).status == 0


def test_what_cannot_be_read_is_undecided(sites: Sites, robots: Robots) -> None:
    host, dead = sites.host(RULES), sites.host(RULES)
    dead.robots(hang)
    done = robots("check", host.url("/closed"), dead.url("/"), "-sROBOTS_FETCH_TIMEOUT=0.5")
    assert done.status == 2
    assert done.lines[1].startswith(f"undecided {dead.url('/')}  (")
    assert "timeout" in done.lines[1]


def test_what_is_not_a_url_is_undecided(alone: Robots) -> None:
    done = alone("check", "no url", "mailto:someone@site.example", "http://site.example:x/")
    assert [line.split()[0] for line in done.lines] == ["undecided", "allowed", "undecided"]
    assert done.status == 2


def test_a_file_is_judged_offline(alone: Robots) -> None:
    (alone.folder / "some.txt").write_text("User-agent: foobot\nDisallow: /f\n")
    url = "http://site.invalid/f"
    done = alone("check", "--file", "some.txt", "--agent", "Foobot/2.0", url)
    assert done.lines == [f"denied    {url}  (Disallow: /f, line 2 of some.txt)"]
    assert alone("check", "--file", "some.txt", "--agent", "barbot", url).status == 0


def test_the_dialect_decides(alone: Robots) -> None:
    (alone.folder / "some.txt").write_text("User-agent: *\nAllow: /\nDisallow: /a/long/path\n")
    url = "http://site.invalid/a/long/path"
    assert alone("check", "--file", "some.txt", url).status == 1
    assert alone("check", "--file", "some.txt", "--dialect", "FIRST_MATCH", url).status == 0


def test_urls_from_a_file_or_standard_input(sites: Sites, alone: Robots) -> None:
    host = sites.host(RULES)
    text = f"{host.url('/closed')}\r\n\n# no URL\n  {host.url('/')}  "
    (alone.folder / "urls.txt").write_text(text)
    for source, given in (("urls.txt", ""), ("-", text)):
        done = alone("check", "--json", "--input", source, stdin=given)
        assert [answer["result"] for answer in done.json] == ["denied", "allowed"]


def test_a_line_that_is_not_in_utf_8_is_named_and_not_judged(alone: Robots) -> None:
    (alone.folder / "some.txt").write_text("User-agent: *\nDisallow: /%FC\n")
    (alone.folder / "urls.txt").write_bytes(
        b"http://site.invalid/a\n\n# caf\xe9\nhttp://site.invalid/\xfc\nhttp://site.invalid/b\n"
    )
    done = alone("check", "--file", "some.txt", "--input", "urls.txt")
    assert [line.split()[0] for line in done.lines] == ["allowed", "undecided", "allowed"]
    named = "undecided line 4 is not in UTF-8: http://site.invalid/\\xfc  ("
    assert done.lines[1].startswith(named)
    assert done.status == 2


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_line_is_too_long_from_one_byte_more_on(alone: Robots, end: str) -> None:
    (alone.folder / "some.txt").write_text(RULES)
    for more in (0, 1):
        url = "http://site.invalid/".ljust(16_384 + more, "a")
        (alone.folder / "urls.txt").write_text(url + end)
        done = alone("check", "--file", "some.txt", "--input", "urls.txt")
        assert ("is longer than" in done.lines[0]) is bool(more)


def test_a_line_that_no_url_can_have_is_not_held_and_the_next_is_judged(alone: Robots) -> None:
    """Nor is more of a robots.txt than what counts."""
    lines = ["http://site.invalid/" + "a" * 20_000_000, "# " + "b" * 1_000_000, "http://b.invalid/"]
    (alone.folder / "urls.txt").write_text("\n".join(lines))
    (alone.folder / "some.txt").write_text(RULES)
    with (alone.folder / "some.txt").open("ab") as file:
        file.truncate(500_000_000)
    done, grown = alone.growing("check", "--file", "some.txt", "--input", "urls.txt")
    first, second = done.lines
    assert first.startswith("undecided line 1 is longer than 16,384 bytes: http://site.invalid/aaa")
    assert len(first) < 1_000
    assert second.startswith("allowed   http://b.invalid/  (")
    assert done.status == 2
    assert grown < 20_000_000


def test_an_argument_that_is_not_in_utf_8_is_not_judged(alone: Robots) -> None:
    (alone.folder / "some.txt").write_text(RULES)
    done = alone("check", "--file", "some.txt", "http://site.invalid/\udcfc")
    assert (done.status, done.lines[0].split()[0]) == (2, "undecided")


def test_a_file_that_is_longer_than_what_is_read_is_told(sites: Sites, alone: Robots) -> None:
    long = "User-agent: *\n" + f"Disallow: /{'a' * 100}\n" * 5_000 + "Disallow: /closed\n"
    (alone.folder / "some.txt").write_text(long)
    done = alone("check", "--file", "some.txt", "http://site.invalid/closed", "http://x.invalid/")
    told = " is longer than 512,000 bytes (ROBOTS_FETCH_MAX_BYTES); the rest is ignored\n"
    assert done.errors == f"some.txt{told}"
    host = sites.host(long)
    kept = ("-s", "ROBOTS_STORE=sqlite:known.db")
    for _ in range(2):  # the second time from the store
        done = alone("check", host.url("/closed"), host.url("/"), *kept)
        assert done.errors == f"{host.url('/robots.txt')}{told}"
    assert host.robots_hits == 1
    shown = alone("explain", host.url("/closed"), *kept).output
    assert "bytes (longer than ROBOTS_FETCH_MAX_BYTES; the rest is ignored): http" in shown
    whole = "User-agent: *\n" + "#" * (512_000 - 14)
    (alone.folder / "some.txt").write_text(whole)
    assert alone("check", "--file", "some.txt", "http://site.invalid/").errors == ""


def test_hosts_are_asked_side_by_side(sites: Sites, robots: Robots) -> None:
    """One that never answers holds up its own answer, not the fetches of the others."""
    dead, hosts = sites.host(RULES), [sites.host(RULES) for _ in range(20)]
    dead.robots(hang)
    urls = [dead.url("/"), *(host.url("/closed") for host in hosts)]
    done = robots.interrupted(
        "check",
        *urls,
        "-sROBOTS_FETCH_TIMEOUT=60",
        when=lambda: all(host.robots_hits for host in hosts),
    )
    assert done.status == 130
    assert [host.robots_hits for host in hosts] == [1] * 20


def test_each_file_is_fetched_once(sites: Sites, alone: Robots) -> None:
    host = sites.host(RULES)
    urls = "\n".join(host.url(f"/closed/{number}") for number in range(2_000))
    done = alone("check", "--input", "-", stdin=urls)
    assert len(done.lines) == 2_000
    assert host.robots_hits == 1


def test_an_answer_does_not_wait_for_the_next_line(sites: Sites, alone: Robots) -> None:
    host = sites.host(RULES)
    with alone.started("check", "--input", "-") as process:
        for url in (host.url("/closed/1"), "no URL", host.url("/closed/2")):
            process.stdin.write(f"{url}\n".encode())
            process.stdin.flush()
            assert url in process.stdout.readline().decode()
        process.stdin.close()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("check",),
        ("check", "http://site.example/", "--input", "-"),
        ("check", "http://site.example/", "--no-such-option"),
        ("check", "http://site.example/", "--dialect", "KLINGON"),
        ("check", "http://site.example/", "-s", "ROBOTS_TTL=never"),
        ("check", "http://site.example/", "-s", "without-a-value"),
        ("check", "--input", "missing.txt"),
        ("check", "--file", "missing.txt", "http://site.example/"),
        ("chekc", "http://site.example/"),
    ],
)
def test_wrong_usage_says_what_is_expected(alone: Robots, arguments: tuple[str, ...]) -> None:
    done = alone(*arguments)
    assert done.status == 2
    assert done.output == ""
    assert "error: " in done.errors or done.errors.startswith("scrapy robots check: ")


def test_a_closed_pipe_ends_it_silently(alone: Robots) -> None:
    (alone.folder / "some.txt").write_text(RULES)
    urls = b"http://site.invalid/closed\n" * 20_000
    done = alone.into_closed_pipe("check", "--file", "some.txt", "--input", "-", stdin=urls)
    assert (done.status, done.errors) == (141, "")


def test_text_of_a_site_cannot_write_to_the_terminal(sites: Sites, alone: Robots) -> None:
    host = sites.host("User-agent: *\nDisallow: /\x1b]0;owned\x07\nDisallow: /a\n")
    done = alone("check", host.url("/a"), host.url("/%1b]0;owned%07"))
    assert "\x1b" not in done.output
    assert "\\x1b" in done.output


def test_nothing_of_the_projects_crawls_happens(sites: Sites, tmp_path: Path) -> None:
    """No job is resumed, no feed written, no spider loaded, no obedience switched off."""
    robots = Robots.in_project(
        tmp_path,
        JOBDIR="job",
        FEEDS={"items.json": {"format": "json"}},
        SPIDER_MODULES=["no_such_module"],
        ROBOTSTXT_OBEY=False,
        EXTENSIONS={"no.such.Extension": 0},
        ITEM_PIPELINES={"no.such.Pipeline": 0},
    )
    assert robots("check", sites.host(RULES).url("/closed")).status == 1
    assert not (tmp_path / "job").exists()
    assert not (tmp_path / "items.json").exists()


def test_the_projects_agent_policy_and_store_count(sites: Sites, tmp_path: Path) -> None:
    robots = Robots.in_project(
        tmp_path,
        USER_AGENT="Foobot/1.0 (+https://foobot.example)",
        ROBOTS_STATUS_POLICY={"403": "disallow"},
        ROBOTS_STORE="sqlite:known.db",
    )
    host, shut = sites.host("User-agent: foobot\nDisallow: /\n"), sites.host(answer(status=403))
    for _ in range(2):
        assert robots("check", host.url("/")).status == 1
    assert host.robots_hits == 1  # the second time from the store
    assert robots("check", shut.url("/")).status == 2
