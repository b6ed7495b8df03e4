"""Files of any size that are made to hurt: each by what it aims at."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from tests.protocol.worst_cases import FILE_OCTETS, LETTERS, full

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = "User-agent: *\n"
BLANKS = " " * 16_000


def lines(text: str, head: str = HEAD) -> Callable[[int], str]:
    """Files of one line, in which {} is its number."""
    return lambda size: full((text.replace("{}", str(number)) for number in count()), head, size)


def halves(first: str, second: str, between: str = "") -> Callable[[int], str]:
    """Files whose halves are of two lines."""
    return lambda size: lines(first, "")(size // 2) + between + lines(second, "")(size // 2)


def chains(size: int) -> str:
    """Rules that all follow the path to its end, but for their last part."""
    words = (f"{number:b}".zfill(12) for number in count(1))
    pairs = ("".join("*ab" if bit == "1" else "*ba" for bit in word) for word in words)
    return full(("Disallow: /*q" + each * 4 + "*zy" for each in pairs), size=size)


def sorted_letters(size: int) -> str:
    """Four letters that the path has, the last two in the wrong order."""
    found = (
        f"allow:*{a}*{b}*{d}*{c}"
        for a in LETTERS
        for b in LETTERS
        for c in LETTERS
        for d in LETTERS
        if a < b < c < d
    )
    return full(found, size=size)


def odd_ones(size: int) -> str:
    """Long parts that nearly fit everywhere."""
    rules = (f"allow:*{'a' * (100 + n % 600)}b{'a' * (40 + n % 159)}" for n in count())
    return full(rules, size=size)


A_PATH = "/" + "a" * 2082
AB_PATH = "/qzy" + "ab" * 1039 + "a"
ODD_PATH = "/" + "a" * 90 + "b" + "a" * 1039 + "b" + "a" * 39 + "c" + "a" * 900
SORTED_PATH = "/" + "".join(sorted((LETTERS * 30)[:2082]))

FILES: dict[str, tuple[Callable[[int], str], str]] = {
    "blanks in a rate": (lines("Request-rate: 1/5 0600" + BLANKS + "x"), A_PATH),
    "blanks before a slash": (lines("Request-rate: 1" + BLANKS + "x"), A_PATH),
    "blanks in a window": (lines("Visit-time: 0600" + BLANKS + "x"), A_PATH),
    "one window": (lambda size: HEAD + "Visit-time: 0600" + " " * size + "x", A_PATH),
    "agents and delays": (halves("User-agent: a{}", "Crawl-delay: {}"), A_PATH),
    "agents, * and delays": (
        halves("User-agent: a{}", "Crawl-delay: {}", "User-agent: *\n"),
        A_PATH,
    ),
    "a delay per agent": (lines("User-agent: *\nCrawl-delay: {}", ""), A_PATH),
    "agents and rules": (halves("User-agent: a{}", "Disallow: *", "User-agent: *\n"), A_PATH),
    "a rule per agent": (lines("User-agent: bot{}\nDisallow: /{}", ""), A_PATH),
    "groups for *": (lines("User-agent: *\nDisallow: /{}", ""), A_PATH),
    "a name of stars": (lambda size: f"User-agent: {'*b' * (size // 2)}\nDisallow: /", A_PATH),
    "names of no ASCII": (lines("User-agent: \u00e9\u212a\u0130{}", ""), A_PATH),
    "the same rule": (lines("Disallow: *"), A_PATH),
    "literals": (lines("Disallow: /{}"), A_PATH),
    "index pages": (lines("Allow: /a*/index.html{}/index.html"), A_PATH),
    "escapes": (lines("Disallow: /%61%2f%7e*{}%'[]"), "/" + "%7E'%61" * 290),
    "stars": (lines("Disallow: /*{}*a*a*a*b"), A_PATH),
    "very many stars": (lines("Disallow: /" + "*a*b" * 2000 + "{}"), A_PATH),
    "ends": (lines("Disallow: /*{}$"), A_PATH),
    "odd ones inside": (odd_ones, ODD_PATH),
    "chains": (chains, AB_PATH),
    "letters": (sorted_letters, SORTED_PATH),
    "sitemaps": (lines("Sitemap:{}"), A_PATH),
    "Clean-param": (lambda size: "Clean-param: " + "a&" * (size // 2), A_PATH),
    "words": (lines("a b"), A_PATH),
    "no lines": (lambda size: "\n" * size, A_PATH),
    "one line": (lambda size: HEAD + "Disallow: /" + "*a" * (size // 2), A_PATH),
}


def hostile(name: str, size: int = FILE_OCTETS) -> bytes:
    """The file of this name, not longer than 500 KiB."""
    return FILES[name][0](size).encode()[:FILE_OCTETS]
