"""``scrapy robots explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..sites import answer, redirect
from .running import Robots

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

RULES = """\
User-agent: foobot
Allow: /p/open
Allow: /p/o
Disallow: /p
Crawl-delay: 200
Visit-time: 0600-0845

User-agent: *
Disallow: /
Sitemap: https://site.example/sitemap.xml
"""
FOOBOT = "Foobot/1.0 (+https://foobot.example)"


def test_all_that_decides(sites: Sites, robots: Robots) -> None:
    host = sites.host(RULES)
    host.robots(answer(RULES, cache_control="max-age=7200"))
    url = host.url("/p/open/x")
    done = robots("explain", url, "--agent", FOOBOT)
    robots_url = host.url("/robots.txt")
    lines = [line for line in done.lines if not line.startswith("freshness")]
    assert lines == [
        f"allowed      {url}",
        f"because      Allow: /p/open, line 2 of {robots_url}",
        "beats        Allow: /p/o, line 3",
        "beats        Disallow: /p, line 4",
        f"agent        {FOOBOT}",
        "group        User-agent: foobot (looked for foobot)",
        f"robots.txt   200, rules, {len(RULES)} bytes: {robots_url}",
        "delay        200 s asked, 60 s kept",
        "visit time   06:00-08:45 UTC: ignored (ROBOTS_VISIT_TIME)",
    ]
    assert "fresh for another " in done.output
    assert "(Cache-Control: max-age=7200)" in done.output
    assert done.status == 0
    assert host.fetched == []


def test_what_decides_beats_the_rule_that_would_have(alone: Robots) -> None:
    text = "User-agent: *\nContent-Usage: train-ai=n\nAllow: /a\nDisallow: /\n"
    (alone.folder / "r.txt").write_text(text)
    skip = ("-s", "ROBOTS_AI_USES=train-ai", "-s", "ROBOTS_AI_POLICY=skip", "--agent", FOOBOT)
    done = alone("explain", "--file", "r.txt", *skip, "https://site.example/a")
    assert [line for line in done.lines if line.startswith("beats")] == [
        "beats        Allow: /a, line 3",
        "beats        Disallow: /, line 4",
    ]


def test_visiting_hours_that_a_crawl_keeps(alone: Robots) -> None:
    (alone.folder / "r.txt").write_text(RULES)
    obey = ("-s", "ROBOTS_VISIT_TIME=obey", "--agent", FOOBOT)
    done = alone("explain", "--file", "r.txt", *obey, "https://site.example/")
    assert done.lines[-1] == "visit time   06:00-08:45 UTC"


def test_json_has_the_same(sites: Sites, alone: Robots) -> None:
    host = sites.host(RULES)
    done = alone("explain", host.url("/x"), "--json")
    (found,) = done.json
    assert found["result"] == "denied"
    assert (found["rule"], found["line"]) == ("Disallow: /", 9)
    assert found["group"] == ["*"]
    words = [f"{title:12} {words}" for title, words in found["facts"]]
    assert [line for line in words if not line.startswith("freshness")] == [
        line for line in alone("explain", host.url("/x")).lines[1:] if line[:9] != "freshness"
    ]
    assert done.status == 1


def test_a_redirect_is_named(sites: Sites, alone: Robots) -> None:
    target = sites.host(RULES)
    host = sites.host()
    host.robots(redirect(target.url("/robots.txt")))
    done = alone("explain", host.url("/x"))
    moved = f"{target.url('/robots.txt')}, where {host.url('/robots.txt')} redirects to"
    assert moved in done.output


def test_an_unreadable_file_leaves_it_undecided(sites: Sites, robots: Robots) -> None:
    host = sites.host()
    host.robots(answer("broken", 503, retry_after="100"))
    done = robots("explain", host.url("/x"))
    assert done.lines[0] == f"undecided    {host.url('/x')}"
    assert "freshness    1 failed in a row, next attempt in 1 min " in done.output
    assert done.status == 2


def test_no_file_allows_everything(sites: Sites, alone: Robots) -> None:
    done = alone("explain", sites.host().url("/x"))
    assert "404, all allowed" in done.output
    assert done.status == 0


def test_an_agent_without_a_token_is_told_so(alone: Robots) -> None:
    (alone.folder / "r.txt").write_text("User-agent: foobot\nDisallow: /\n")
    done = alone(
        "explain", "--file", "r.txt", "--agent", "Mozilla/5.0 (X11; Linux)", "http://site.invalid/"
    )
    said = "no group applies: the agent has no product token, and there is none for *"
    assert said in done.output


def test_another_parser_names_no_rules(sites: Sites, tmp_path: Path) -> None:
    robots = Robots.in_project(
        tmp_path, ROBOTSTXT_PARSER="scrapy.robotstxt.ProtegoRobotParser", USER_AGENT="foobot"
    )
    host = sites.host(RULES)
    (found,) = robots("explain", "--json", host.url("/p/x")).json
    assert (found["result"], found["rule"]) == ("denied", None)
    facts = dict(found["facts"])
    assert facts["delay"] == "200 s asked, 60 s kept"
    assert not facts.keys() & {"beats", "group"}


@pytest.mark.parametrize(
    "arguments",
    [(), ("a url",), ("mailto:someone@site.example",), ("http://a.example/", "http://b.example/")],
)
def test_wrong_usage(alone: Robots, arguments: tuple[str, ...]) -> None:
    done = alone("explain", *arguments)
    assert done.status == 2
    assert "scrapy robots explain: error: " in done.errors


USES = """\
User-agent: *
Disallow: /closed
Content-Usage: /a train-ai=n, search=y
License: https://site.invalid/license.xml
"""


def test_what_the_page_may_be_used_for_is_shown(alone: Robots) -> None:
    (alone.folder / "r.txt").write_text(USES)
    done = alone("explain", "--file", "r.txt", "http://site.invalid/a")
    said = "(line 3: Content-Usage: /a train-ai=n, search=y)"
    uses = [line for line in done.lines if line.startswith(("use", "licence"))]
    assert uses == [
        f"use          train-ai: disallow {said}",
        f"use          search: allow {said}",
        "licence      https://site.invalid/license.xml",
    ]
    assert done.status == 0


def test_of_a_page_that_may_not_be_fetched_nothing_is_preferred(alone: Robots) -> None:
    (alone.folder / "r.txt").write_text(USES)
    done = alone("explain", "--file", "r.txt", "http://site.invalid/closed")
    assert [line for line in done.lines if line.startswith("use")] == []
    assert done.status == 1
