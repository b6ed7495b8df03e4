"""No control character of a site reaches the log, an exception or a stat."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

import pytest
import pytest_twisted

from scrapy_robots_plus.protocol import Verdict
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.verdict import Reason
from tests.crawling import ProbeSpider, crawl, names_rules
from tests.sites import Hit, Sites, answer, redirect

if TYPE_CHECKING:
    import asyncio

HOSTILE = (
    "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
    + "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff"
)
IN_A_LINE = "".join(letter for letter in HOSTILE if letter not in "\x00\n\r")
CONTROL = re.compile(f"[{re.escape(HOSTILE.replace(chr(10), ''))}\ud800-\udfff]")


def test_control_characters_are_written_out_and_all_else_stays() -> None:
    shown = printable(HOSTILE + "\ud800")
    assert not CONTROL.search(shown)
    assert "\n" not in shown
    assert printable("\x1b[31m \u202e \ud800") == r"\x1b[31m \u202e \ud800"
    assert printable(r"Disallow: /*?a=[1]\x'") == r"Disallow: /*?a=[1]\x'"
    assert printable("J\u00e4vla \u5317\u4eac \U0001f916") == "J\u00e4vla \u5317\u4eac \U0001f916"


def test_a_verdict_describes_safely_what_it_keeps_as_served() -> None:
    rule = f"Disallow: /{HOSTILE}"
    verdict = Verdict(False, Reason.RULE, rule, 1, robots_url=f"http://x.example/{HOSTILE}")
    assert not CONTROL.search(verdict.describe())
    assert verdict.rule == rule


def test_a_rule_as_long_as_its_file_is_described_in_part() -> None:
    rule = "Disallow: /" + "*" * 500_000
    verdict = Verdict(False, Reason.RULE, rule, 7, robots_url="http://x.example/robots.txt")
    described = verdict.describe()
    assert len(described) < 700
    assert described.endswith("..., line 7 of http://x.example/robots.txt")


async def status_line(hit: Hit, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 \x1b[31m\x9b200 \xe2\x80\xae\r\n\r\n")


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_hostile_site_cannot_write_to_the_terminal_of_a_crawl(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    line = IN_A_LINE.encode()
    rules = (
        b"User-agent: *\nCrawl-delay: 0.1\nDisallow: /a*"
        + line
        + b"\nDisallow: /a\nSitemap: /"
        + line
    )
    other = sites.host(rules)
    hosts = [
        sites.host(rules),
        sites.host(b"User-agent: *\nDisallow: /a*\xff\xfe\x1b[31m*\nDisallow: /\x1b]0;owned\x07\n"),
        sites.host(redirect(f"{other.origin}/robots.txt?\x1b[31m\x9b")),
        sites.host(redirect("/\x1b[31m/robots.txt")),
        sites.host(redirect("ftp://\x1b[31m/")),
        sites.host(redirect("http://[\x1b[31m/")),
        sites.host(status_line),
        sites.host(answer(b"\x1b[31m" * 100, content_encoding="\x1b[31mgzip")),
        sites.host(answer(rules, content_type="text/plain; charset=\x1b[31m")),
        sites.host(answer(b"", 503, retry_after="\x1b[31m")),
    ]
    urls = [host.url(f"/a{path}") for host in hosts for path in ("", "\x1b[31mb", "%1b[31m\u202e")]
    with caplog.at_level(logging.DEBUG):
        crawler = await crawl(*urls, ROBOTS_FETCH_RETRIES=0, spider=ProbeSpider)
    # Scrapy's own middleware quotes a Content-Encoding as it came, of any page.
    records = [each for each in caplog.records if not each.name.endswith("httpcompression")]
    assert sum(each.name.startswith("scrapy_robots_plus") for each in records) > len(urls) / 2
    shown = [each.getMessage() for each in records]
    shown += [str(error) for error in crawler.spider.failures.values()]
    shown += [repr(error) for error in crawler.spider.failures.values()]
    shown += [name for name in crawler.stats.get_stats() if name.startswith("robotstxt/")]
    found = [text for text in shown if CONTROL.search(text)]
    assert found == []
