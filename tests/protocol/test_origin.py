"""Which robots.txt speaks for a URL (RFC 9309 2.3)."""

from __future__ import annotations

from urllib.parse import urlparse, urlsplit

import pytest

from scrapy_robots_plus.protocol.origin import Origin

ORIGINS = [
    ("http://x.example", ("http", "x.example", 80), "x.example"),
    ("https://x.example/a?b#c", ("https", "x.example", 443), "x.example"),
    ("http://x.example:80/", ("http", "x.example", 80), "x.example"),
    ("https://x.example:443/", ("https", "x.example", 443), "x.example"),
    ("http://x.example:443/", ("http", "x.example", 443), "x.example:443"),
    ("https://x.example:80/", ("https", "x.example", 80), "x.example:80"),
    ("http://x.example:8080/", ("http", "x.example", 8080), "x.example:8080"),
    ("http://x.example:0/", ("http", "x.example", 0), "x.example:0"),
    ("HTTP://X.Example/", ("http", "x.example", 80), "x.example"),
    ("http://X.EXAMPLE/", ("http", "x.example", 80), "x.example"),
    ("http://user:secret@x.example/", ("http", "x.example", 80), "x.example"),
    ("http://127.0.0.1:8000/", ("http", "127.0.0.1", 8000), "127.0.0.1:8000"),
    ("http://[::1]/", ("http", "::1", 80), "[::1]"),
    ("https://[::1]:8443/", ("https", "::1", 8443), "[::1]:8443"),
]


@pytest.mark.parametrize(("url", "parts", "authority"), ORIGINS, ids=[url for url, *_ in ORIGINS])
def test_the_origin_of_a_url(url: str, parts: tuple[str, str, int], authority: str) -> None:
    origin = Origin.of(url)
    assert origin == Origin(*parts)
    assert origin == Origin.of(urlsplit(url)) == Origin.of(urlparse(url))
    assert origin.authority == authority
    assert str(origin) == f"{parts[0]}://{authority}"
    assert origin.robots_url == f"{parts[0]}://{authority}/robots.txt"
    assert Origin.of(origin.robots_url) == Origin.of(str(origin)) == origin


def test_a_tdmrep_is_a_file_of_its_own_of_the_same_origin() -> None:
    origin = Origin("https", "site.example", 8443)
    file = origin.tdmrep
    url = "https://site.example:8443/.well-known/tdmrep.json"
    assert (str(file), file.robots_url, file.authority) == (url, url, origin.authority)
    assert file != origin
    assert Origin.of(url) == origin


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://x.example/", "file:///etc/hosts", "data:,x", "s3://bucket/key", "//x.example/"),
        *("/a", "", "http:///a", "https://", "http://:80/", "httpx://x.example/"),
    ],
)
def test_where_robots_txt_does_not_apply(url: str) -> None:
    assert Origin.of(url) is None


@pytest.mark.parametrize("url", ["http://x.example:port/", "http://x.example:65536/"])
def test_a_port_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ValueError, match=r"[Pp]ort"):
        Origin.of(url)


@pytest.mark.parametrize(
    ("rest", "is_short"),
    [
        *(("", True), (":1", True), (":443", True), (":59999", True), (":8080?a:9", True)),
        *((":60000", False), (":65535", False)),
        *((":", False), (":0", False), (":080", False), (":65536", False), (":99999", False)),
        *((":8080@y.example", False), (":8080x", False), (":٣", False), ("@y.example:8080", False)),
    ],
)
def test_the_short_way_finds_the_origin_that_the_long_one_does(rest: str, is_short: bool) -> None:
    url = f"https://x.example{rest}/a"
    plain = Origin.plain(url)
    assert (plain is not None) is is_short
    if plain is not None:
        assert plain == Origin.of(urlsplit(url))
