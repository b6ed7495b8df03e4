"""Clean-param: which URLs of a site are the same page, as its robots.txt says."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import CleanParam, RobotsTxt
from scrapy_robots_plus.protocol.clean_param import MAX_PATHS, CleanParams
from scrapy_robots_plus.protocol.robotstxt import MAX_RULE

SITE = "http://site.example"


def params_of(*lines: str) -> CleanParams:
    return CleanParams(RobotsTxt.parse("\n".join(lines)).clean_params)


LONG = "&".join(["a" * 9] * 50)
"""499 characters."""

# The value of the line, the URL, and what it is without the parameters; None if no rule is for it.
TABLE = [
    # from the documentation
    (
        "ref /some_dir/get_book.pl",
        "/some_dir/get_book.pl?ref=site_1&book_id=123",
        "/some_dir/get_book.pl?book_id=123",
    ),
    (
        "s /forum/showthread.php",
        "/forum/showthread.php?s=68&t=8243",
        "/forum/showthread.php?t=8243",
    ),
    (
        "sid&sort /forum/*.php",
        "/forum/viewforum.php?sid=1&f=2&sort=asc",
        "/forum/viewforum.php?f=2",
    ),
    ("some_trash&other_trash", "/index.php?other_trash=1", "/index.php"),
    # where a rule applies
    ("ref", "/any/where?ref=1", "/any/where"),
    ("ref /", "/any/where?ref=1", "/any/where"),
    ("ref *", "/any/where?ref=1", "/any/where"),
    ("ref /shop", "/shopping?ref=1", "/shopping"),
    ("ref /shop/", "/shop?ref=1", None),
    ("ref /shop/", "/Shop/?ref=1", None),
    ("ref */index.html", "/a/b/index.html?ref=1", "/a/b/index.html"),
    ("ref */index.html", "/a/b/index.php?ref=1", None),
    ("ref /*/b*/d", "/a/bc/d/e?ref=1", "/a/bc/d/e"),
    ("ref shop", "/shop?ref=1", None),
    ("ref /a?b", "/a?b&ref=1", None),
    ("ref\t/shop", "/shop?ref=1", "/shop"),
    ("ref /shop # session", "/shop?ref=1", "/shop"),
    # what is taken away
    ("ref", "/p", "/p"),
    ("ref", "/p?", "/p"),
    ("ref", "/p?id=1", "/p?id=1"),
    ("ref", "/p?ref", "/p"),
    ("ref", "/p?ref=", "/p"),
    ("ref", "/p?ref=1&ref=2&id=3", "/p?id=3"),
    ("ref", "/p?id=3&ref=1#part", "/p?id=3"),
    ("ref", "/p?id=3#part&ref=1", "/p?id=3"),
    ("ref", "/p#part?ref=1", "/p"),
    ("ref /a://b/c", "/a://b/c?ref=1", "/a://b/c"),
    ("ref /c", "/a://b/c?ref=1", None),
    ("ref", "/p?Ref=1", "/p?Ref=1"),
    ("ref", "/p?refs=1&xref=2", "/p?refs=1&xref=2"),
    ("ref", "/p?id=ref&a=?ref=1", "/p?id=ref&a=?ref=1"),
    ("ref", "/p?r%65f=1&id=1", "/p?id=1"),
    ("r%65f", "/p?ref=1&id=1", "/p?id=1"),
    ("utm_*", "/p?utm_source=1", "/p?utm_source=1"),
    ("ref", "/p;ref=1?id=1", "/p;ref=1?id=1"),
    ("ref", "/p?b=1&a=2&ref=3", "/p?b=1&a=2"),
    ("ref", "/p?a&&ref", "/p?a&"),
    ("\u0441\u043b\u0435\u0434", "/p?%D1%81%D0%BB%D0%B5%D0%B4=1", "/p"),
    # broken
    ("", "/p?ref=1", None),
    ("&", "/p?=1", None),
    ("&&ref&", "/p?ref=1&=2", "/p?=2"),
    ("&ref, sid /shop", "/shop?ref=1", None),
    (LONG, "/p?aaaaaaaaa=1", "/p"),
    (f"{LONG} /", "/p?aaaaaaaaa=1", None),
]


@pytest.mark.parametrize(("value", "url", "cleaned"), TABLE)
def test_what_a_url_is_without_the_parameters(value: str, url: str, cleaned: str | None) -> None:
    params = params_of(f"Clean-param: {value}")
    assert params.cleaned(url) == cleaned
    absolute = None if cleaned is None else SITE + cleaned
    assert params.cleaned(SITE + url) == absolute


def test_all_lines_count_in_whatever_group_they_stand() -> None:
    params = params_of(
        "Clean-param: &",
        "Clean-param: a /x",
        "User-agent: Yandex",
        "Clean-param: b /x/y",
        "Disallow: /z",
        "CLEAN-PARAM: c",
    )
    assert params.cleaned("/x/y?a&b&c&d") == "/x/y?d"
    assert params.cleaned("/x?a&b&c&d") == "/x?b&d"
    assert params.cleaned("/?a&b&c&d") == "/?a&b&d"


def test_octets_that_are_not_utf_8_are_compared_as_they_are() -> None:
    params = CleanParams([CleanParam(("a",), "/\ud800")])
    assert params.cleaned("/\ud800?a=1") == "/\ud800"
    assert params.cleaned("/\ud801?a=1") is None


def test_a_url_without_a_host() -> None:
    assert params_of("Clean-param: a /x").cleaned("http:///x?a") == "http:///x"


def test_a_host_alone_is_its_first_page() -> None:
    assert params_of("Clean-param: a /").cleaned("http://site.example?a=1") == "http://site.example"
    assert params_of("Clean-param: a /b").cleaned("http://site.example?a=1") is None


def test_a_file_without_rules_is_false() -> None:
    assert not params_of("Clean-param:", "Clean-param: &")
    assert params_of("Clean-param: a")
    assert params_of("Clean-param: a /b")


def test_the_longest_rule() -> None:
    assert MAX_RULE == 500
    name = "a" * (MAX_RULE - 3)
    assert params_of(f"Clean-param: {name} /p").cleaned(f"/p?{name}") == "/p"
    assert not params_of(f"Clean-param: {name}a /p")
    assert params_of(f"Clean-param: {name}aaa")
    assert not params_of(f"Clean-param: {name}aaaa")


def test_so_many_paths_and_no_more() -> None:
    lines = [f"Clean-param: a /{number}/" for number in range(MAX_PATHS + 1)]
    assert MAX_PATHS == 1_000
    params = params_of(*lines, "Clean-param: b /0/")
    assert params.cleaned(f"/{MAX_PATHS - 1}/?a&b") == f"/{MAX_PATHS - 1}/?b"
    assert params.cleaned(f"/{MAX_PATHS}/?a") is None
    assert params.cleaned("/0/?a&b") == "/0/"


@given(st.binary(max_size=300), st.text(max_size=100))
def test_nothing_raises_and_cleaning_again_changes_nothing(body: bytes, url: str) -> None:
    params = CleanParams(RobotsTxt.parse(b"Clean-param: " + body).clean_params)
    cleaned = params.cleaned(url)
    assert cleaned is None or params.cleaned(cleaned) == cleaned


def test_hostile_rules_take_no_time() -> None:
    stars = "Clean-param: a /" + "*a" * 230
    file = [f"{stars}{number}" for number in range(1_000)]
    many = [f"Clean-param: p{number}" for number in range(20_000)]
    began = time.process_time()
    assert params_of(*file).cleaned("/" + "a" * 8_000 + "?a=1") is None
    assert params_of(*many).cleaned("/?" + "&".join(f"p{n}=1" for n in range(2_000))) == "/"
    assert time.process_time() - began < 5
