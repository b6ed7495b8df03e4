"""GYM2008 and MK1996 beside robotexclusionrulesparser itself, on made-up files and URLs.

They may differ only as docs/dialects.md says, under "Where they differ all the same". Each of these
differences has a way here to write it out of a file or a URL, after which both must agree.
"""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol import GYM2008, MK1996, Dialect, RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Callable

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its docstrings hold escapes that Python warns of
    import robotexclusionrulesparser as rerp

SYNTAXES = [(GYM2008, rerp.GYM2008), (MK1996, rerp.MK1996)]

NAMES = [
    *("x", "y", "*", "foobot", "FooBot/1.0", "* all", "foo bar", "foobot-news", "ébot", "", "*bot"),
    *("Foo*", " * ", "xy", "\u212a", "k"),
]
RULES = [
    *(
        "/",
        "/a",
        "/a/b",
        "*",
        "/*b",
        "/a*$",
        "/a$",
        "$",
        "*$",
        "",
        "/%61",
        "/%2f",
        "/a%2Fb",
        "/**a",
    ),
    *("/%C3%A9", "/é", "/a;p", "/a?q", "/a?q=*", "/a/index.html", "/a b", "/A", "a", "/a%", "/%zz"),
    *("/a*b*", "http://h/a", "/[", "/'", "/%5b", "/a*/*b$"),
]
OTHERS = [
    *("Host: h", "Visit-time: 0600-0845", "Request-rate: 1/5", "Clean-param: a", "Crawl-delay: 3"),
    *(
        "Crawl-delay: x",
        "Sitemap: /s",
        "Sitemap:",
        "Noindex: /",
        "words only",
        "# note",
        "   # note",
    ),
    *("", "", "  ", "<p>", "License: x", "Content-Signal: ai=no", "Disallow /a"),
    *("user agent: x", "Disallow:: /a", "Disallow: allow: /a", "Disallow: /a#c", "Crawldelay: 1"),
]
ODD = [
    *(
        "Disallow : /a",
        "Disallow\t: /a",
        "xDisallow: /a",
        "dissallow: /a",
        "\ufeffUser-agent: *",
        "allow:disallow: /",
    ),
    *(
        "Disallow: /a\vb",
        "Disallow:\t/a\tb",
        "User-agent: x\x01y",
        "Disallow: /a\0b",
        "Allow: \x1c/a",
    ),
    *(
        "Disallow: /a\u00a0",
        "Disallow: /\u0085a",
        "Disallow: /\x1fa",
        "Disallow: /%0Ab",
        "Allow: /%ff",
    ),
]
AGENTS = [
    *(
        "x",
        "y",
        "foobot",
        "FOOBOT/2.1",
        "Mozilla/5.0 (compatible; Foobot/2.1)",
        "stranger",
        "",
        "*",
    ),
    *("éBOT", "foo bar", "xy", "kite"),
]
URLS = [
    *(
        "/",
        "/a",
        "/a/b",
        "/b",
        "/ab",
        "/a/",
        "/a%2fb",
        "/a%2Fb",
        "/%61",
        "/é",
        "/%C3%A9",
        "/a;p",
        "/[",
    ),
    *("/a;p?q", "/a?q", "/a?q=1", "http://h/a", "https://h/", "http://h/a/b;x?y", "/a b", "/a%20b"),
    *("/A", "//h/a", "/a$", "/*", "/a%", "/a//b", "/robots.txt", "/'", "/%27", "/%5B"),
]
ODD_URLS = [
    "",
    "a",
    "h/a",
    "https://h",
    "http://h?q",
    "/a#f",
    "http://h/a#/b",
    "/%0Ab",
    "/%ff",
    "/%fe",
]

KEY = r"(?:allow|disallow|user-?agent|sitemap|crawl-delay)"
MANGLED = [
    # Control characters: it drops them, the engine ends lines at NUL and trims white space.
    lambda text: re.sub(r"[\0-\x09\x0b\x0c\x0e-\x1f]", "", text),
    # White space outside ASCII: it trims that, too.
    lambda text: re.sub(r"[\x1c-\x1f\x85\xa0]", "", text),
    # White space before the colon: it knows no such key.
    lambda text: re.sub(r"[ \t]+:", ":", text),
    # A key in the middle of a line: it takes that one.
    lambda text: re.sub(rf"(?im)^(?![ \t]*{KEY}:)[ \t]*[^\s#].*?(?={KEY}:)", "", text),
    # Escaped line feeds, by which it keeps %2F, and escapes that are no UTF-8.
    lambda text: re.sub(r"(?i)%0a|%f[ef]", "", text),
]
REWRITES: list[Callable[[str, str], tuple[str, str]]] = [
    *(lambda body, url, each=each: (each(body), url) for each in MANGLED[:-1]),
    lambda body, url: (MANGLED[-1](body), MANGLED[-1](url)),
    # A fragment: it compares that, too.
    lambda body, url: (body, url.partition("#")[0]),
    # A URL without a path: it takes none for "/".
    lambda body, url: (body, _with_path(url)),
]


def _with_path(url: str) -> str:
    found = re.fullmatch(r"(https?://[^/?]*)?([^?]*)(.*)", url)
    assert found is not None
    host, path, query = found[1] or "", found[2], found[3]
    return host + (path if path.startswith("/") else f"/{path.rpartition('/')[2]}") + query


def triple(random_: random.Random, odd: bool) -> tuple[str, str, str]:
    """A file, a crawler and a URL."""
    pick, lines = random_.choice, []
    for _ in range(random_.randrange(1, 14)):
        kind = random_.random()
        if kind < 0.3:
            lines.append(pick(["User-agent: ", "user-agent:", "Useragent: "]) + pick(NAMES))
        elif kind < 0.7:
            lines.append(pick(["Disallow: ", "Allow: ", "disallow:", "ALLOW: "]) + pick(RULES))
        else:
            lines.append(pick(ODD if odd and kind > 0.95 else OTHERS))
    urls = ODD_URLS if odd and random_.random() < 0.1 else URLS
    return pick(["\n", "\n", "\r\n", "\r"]).join(lines), pick(AGENTS), pick(urls)


def answers(body: str, agent: str, url: str) -> list[tuple[bool, bool]]:
    """What the engine and what the library say, in both syntaxes."""
    peer = rerp.RobotExclusionRulesParser()
    peer.parse(body)
    return [
        (RobotsTxt.parse(body, dialect).allowed(url, agent), peer.is_allowed(agent, url, syntax))
        for dialect, syntax in SYNTAXES
    ]


def agree(body: str, agent: str, url: str) -> bool:
    return all(ours == its for ours, its in answers(body, agent, url))


def names_of_differences(body: str, agent: str, url: str) -> list[int]:
    """Which rewrites it took until both agreed; none where nothing that has a name differs."""
    taken = []
    body = re.sub("\r\n?", "\n", body)
    for number, rewrite in enumerate(REWRITES):
        plain = rewrite(body, url)
        if plain != (body, url):
            body, url = plain
            taken.append(number)
            if agree(body, agent, url):
                return taken
    return []


def compare(seeds: range, odd: bool) -> Counter[int]:
    found: Counter[int] = Counter()
    for seed in seeds:
        asked = triple(random.Random(seed), odd)
        if not agree(*asked):
            names = names_of_differences(*asked) if odd else []
            assert names, (seed, *asked)
            found.update(names[-1:])
    return found


def test_files_and_urls_as_they_come_in_a_crawl_are_judged_alike() -> None:
    compare(range(750), odd=False)


def test_odd_ones_differ_only_as_the_documentation_says() -> None:
    assert compare(range(750), odd=True)


@pytest.mark.stress
def test_of_twenty_thousand_none_differs_without_a_name() -> None:
    compare(range(10_000, 30_000), odd=False)
    assert len(compare(range(10_000, 30_000), odd=True)) > 5


# One for each way of writing a difference out.
EXAMPLES = [
    ("Disallow: /a\vb", "/ab"),
    ("Disallow: /a\u00a0", "/ab"),
    ("Disallow : /a", "/a"),
    ("dissallow: /a\nAllow: /b\nDisallow: /", "/a"),
    ("Disallow: /%0Ab", "/%2Fb"),
    ("Disallow: /a$", "/a#f"),
    ("Disallow: /", "https://h"),
]


@pytest.mark.parametrize("number", range(len(REWRITES)))
def test_each_difference_there_is(number: int) -> None:
    lines, url = EXAMPLES[number]
    body = f"User-agent: *\n{lines}"
    assert not agree(body, "x", url)
    assert names_of_differences(body, "x", url)[-1:] == [number]


def group(*lines: str) -> str:
    return "\n".join(lines)


@pytest.mark.parametrize("other", ["Host: h", "Visit-time: 0600-0700", "Request-rate: 1/5"])
def test_only_a_delay_or_a_sitemap_ends_a_run_of_agents(other: str) -> None:
    body = group("User-agent: x", other, "User-agent: y", "Disallow: /")
    assert answers(body, "x", "/a") == [(False, False)] * 2
    body = group("User-agent: x", "Crawl-delay: 1", "User-agent: y", "Disallow: /")
    assert answers(body, "x", "/a") == [(True, True)] * 2


def test_a_group_for_all_comes_last_even_to_those_it_names() -> None:
    body = group("User-agent: x", "User-agent: *", "Disallow: /", "", "User-agent: xy", "Allow: /")
    assert answers(body, "xy", "/a") == [(True, True)] * 2
    assert answers(body, "x", "/a") == [(False, False)] * 2


@pytest.mark.parametrize("url", ["/a?", "/a;", "/a?#b"])
@pytest.mark.parametrize(("dialect", "syntax"), SYNTAXES)
def test_an_empty_query_is_compared_and_the_library_drops_it(
    url: str, dialect: Dialect, syntax: int
) -> None:
    for rule, ours, librarys in (("/a" + url[2], False, True), ("/a", False, False)):
        body = f"User-agent: *\nDisallow: {rule}\n"
        library = rerp.RobotExclusionRulesParser()
        library.parse(body)
        assert RobotsTxt.parse(body, dialect).allowed(url, "bot") is ours
        assert library.is_allowed("bot", "http://e.example" + url, syntax) is librarys
    assert RobotsTxt.parse("User-agent: *\nDisallow: /a$\n", dialect).allowed(url, "bot")
