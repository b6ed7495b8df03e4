"""Which URL a Sitemap line stands for, and whether it may be requested."""

from __future__ import annotations

import time

import pytest

from scrapy_robots_plus.pages.sitemaps import url_in
from scrapy_robots_plus.protocol.origin import LONGEST_URL

BASE = "https://site.example/robots.txt"
HERE = "https://site.example"

USABLE = {
    "https://site.example/map.xml": f"{HERE}/map.xml",
    "HTTPS://SITE.example/Map.xml": f"{HERE}/Map.xml",
    "http://site.example:8080/map.xml": "http://site.example:8080/map.xml",
    "https://far.example/map.xml?a=1&b": "https://far.example/map.xml?a=1&b",
    "map.xml": f"{HERE}/map.xml",
    "/map.xml": f"{HERE}/map.xml",
    "../map.xml": f"{HERE}/map.xml",
    "//far.example/map.xml": "https://far.example/map.xml",
    "site.example/map.xml": f"{HERE}/site.example/map.xml",
    "https:///map.xml": f"{HERE}/map.xml",
    "\u00a0 https://far.example/map.xml\t": "https://far.example/map.xml",
    "https://site.example/a b.xml": f"{HERE}/a%20b.xml",
    "https://site.example/\u00fc.xml": f"{HERE}/%C3%BC.xml",
    "https://b\u00fccher.example/map.xml": "https://xn--bcher-kva.example/map.xml",
    "https://site.example/map.xml#part": f"{HERE}/map.xml",
    "http://127.0.0.1/map.xml": "http://127.0.0.1/map.xml",
    "http://[::1]:81/map.xml": "http://[::1]:81/map.xml",
}
UNUSABLE = [
    "ftp://site.example/map.xml",
    "file:///etc/passwd",
    "data:text/xml,<urlset/>",
    "javascript:alert(1)",
    "mailto:admin@site.example",
    "https://user:secret@site.example/map.xml",
    "https://site.example@far.example/map.xml",
    "https://@site.example/map.xml",
    "",
    "robots.txt",
    "https://far.example/robots.txt#map",
    "http://[::1",
    "http://site example/map.xml",
    "https://site.example:99999/map.xml",
    "https://site.example:port/map.xml",
    "localhost:8080/map.xml",
    "http://a..b/",
    f"https://{'a' * 64}.example/",
    f"https://{'a.' * 1_000}example/",
    "a" * (LONGEST_URL + 1),
]


@pytest.mark.parametrize(("line", "url"), USABLE.items())
def test_lines_that_name_a_url(line: str, url: str) -> None:
    assert url_in(line, BASE) == url


@pytest.mark.parametrize("line", UNUSABLE)
def test_lines_that_are_left_out(line: str) -> None:
    assert url_in(line, BASE) is None


def test_nor_is_the_file_itself_where_a_redirect_has_found_it() -> None:
    base = "https://site.example/crawlers/policy.txt"
    assert url_in("", base) is url_in("#todo", base) is url_in("policy.txt", base) is None
    assert url_in("map.xml", base) == "https://site.example/crawlers/map.xml"


def test_no_line_takes_long() -> None:
    """One line a million times as long as another takes no longer than what is read of it."""
    odd = ("a" * 10**6, "http://" + "[" * 10**6, "//" + "\u00fc" * 10**6, "?" + "%" * 7_000)
    began = time.process_time()
    for line in odd:
        url_in(line, BASE)
    assert time.process_time() - began < 1
