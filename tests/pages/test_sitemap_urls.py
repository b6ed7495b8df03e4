"""Which URL a Sitemap line stands for, and whether it may be requested."""

from __future__ import annotations

import time

import pytest
import pytest_twisted

from scrapy_robots_plus import Origin
from scrapy_robots_plus.pages.sitemaps import (
    LONGEST,
    LeftOut,
    SitemapUrls,
    are_of_one_site,
    site_of,
    sitemap_urls,
    url_in,
)
from scrapy_robots_plus.settings.declared import SitemapScope

BASE = "https://site.example/robots.txt"
ORIGIN = Origin("https", "site.example", 443)
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
UNUSABLE = {
    "ftp://site.example/map.xml": LeftOut.SCHEME,
    "file:///etc/passwd": LeftOut.SCHEME,
    "data:text/xml,<urlset/>": LeftOut.SCHEME,
    "javascript:alert(1)": LeftOut.SCHEME,
    "mailto:admin@site.example": LeftOut.SCHEME,
    "https://user:secret@site.example/map.xml": LeftOut.CREDENTIALS,
    "https://site.example@far.example/map.xml": LeftOut.CREDENTIALS,
    "https://@site.example/map.xml": LeftOut.CREDENTIALS,
    "": LeftOut.INVALID,
    "robots.txt": LeftOut.INVALID,
    "https://far.example/robots.txt#map": LeftOut.INVALID,
    "http://[::1": LeftOut.INVALID,
    "http://site example/map.xml": LeftOut.INVALID,
    "https://site.example:99999/map.xml": LeftOut.INVALID,
    "https://site.example:port/map.xml": LeftOut.INVALID,
    "localhost:8080/map.xml": LeftOut.INVALID,
    "http://a..b/": LeftOut.INVALID,
    f"https://{'a' * 64}.example/": LeftOut.INVALID,
    f"https://{'a.' * 1_000}example/": LeftOut.INVALID,
    "a" * (LONGEST + 1): LeftOut.INVALID,
}


@pytest.mark.parametrize(("line", "url"), USABLE.items())
def test_lines_that_name_a_url(line: str, url: str) -> None:
    assert url_in(line, BASE) == url


@pytest.mark.parametrize(("line", "reason"), UNUSABLE.items())
def test_lines_that_are_left_out(line: str, reason: LeftOut) -> None:
    found = url_in(line, BASE)
    assert found is reason


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("a.b.shop.co.uk", "shop.co.uk"),
        ("user.github.io", "user.github.io"),
        ("github.io", None),
        ("co.uk", None),
        ("localhost", None),
        ("127.0.0.1", None),
        ("::1", None),
        ("xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd.xn--p1ai"),
        ("", None),
    ],
)
def test_the_site_of_a_host_without_a_network(host: str, site: str | None) -> None:
    assert site_of(host) == site


def test_hosts_without_a_site_are_sites_of_their_own() -> None:
    assert are_of_one_site("127.0.0.1", "127.0.0.1")
    assert not are_of_one_site("127.0.0.1", "127.0.0.2")
    assert not are_of_one_site("localhost", "co.uk")
    assert are_of_one_site("www.shop.com", "cdn.shop.com")
    assert not are_of_one_site("one.github.io", "two.github.io")


@pytest.mark.parametrize(
    ("scope", "hosts"),
    [
        ("host", ["www.shop.com"]),
        ("site", ["www.shop.com", "cdn.shop.com", "shop.com"]),
        ("any", ["www.shop.com", "cdn.shop.com", "shop.com", "far.com"]),
    ],
)
def test_the_scope(scope: SitemapScope, hosts: list[str]) -> None:
    urls = SitemapUrls()
    for host in ("www.shop.com", "cdn.shop.com", "shop.com", "far.com", "shop.com"):
        urls.add(f"http://{host}/", BASE, "www.shop.com", scope)
    assert urls.in_scope == tuple(f"http://{host}/" for host in hosts)
    assert len(urls.all) == 4
    assert urls.left_out[LeftOut.SCOPE] == 4 - len(hosts)


@pytest_twisted.ensureDeferred
async def test_duplicates_relatives_and_too_many_are_counted() -> None:
    lines = ("map.xml", "/map.xml", " HTTPS://site.example/c.xml", "b.xml", "ftp:x", "data:,")
    far = "http://far.example/"
    urls = await sitemap_urls((*lines, far, "d", "e"), BASE, ORIGIN, "host", 7)
    assert urls.all == (f"{HERE}/map.xml", f"{HERE}/c.xml", f"{HERE}/b.xml", far)
    assert urls.in_scope == urls.all[:-1]
    assert urls.relative == 2
    assert {str(reason): count for reason, count in urls.left_out.items()} == {
        "scheme": 2,
        "scope": 1,
        "too_many": 2,
    }


def test_no_line_takes_long() -> None:
    """One line a million times as long as another takes no longer than what is read of it."""
    odd = ("a" * 10**6, "http://" + "[" * 10**6, "//" + "\u00fc" * 10**6, "?" + "%" * 7_000)
    began = time.process_time()
    for line in odd:
        url_in(line, BASE)
    assert time.process_time() - began < 1
