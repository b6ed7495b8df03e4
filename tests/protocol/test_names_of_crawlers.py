"""RFC 9309 2.2.1: a file may address a crawler by any name in its User-Agent header."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from crawleruseragents import CRAWLER_USER_AGENTS_DATA
from scrapy.robotstxt import ProtegoRobotParser

from scrapy_robots_plus.protocol import RobotsTxt
from scrapy_robots_plus.protocol.product_token import names_of, product_tokens

PAGE = Path(__file__).parents[2] / "docs" / "user-agent.md"

HEADERS = [
    (found[0], header)
    for crawler in CRAWLER_USER_AGENTS_DATA
    for header in crawler["instances"]
    if (found := re.search(crawler["pattern"], header))
]
"""Real headers of crawlers, each with the name by which the list knows the crawler."""

_ADDRESS = re.compile(r"(?:https?:|www\.)[^\s;,()]*|[^\s;,()/]+(?:@|\[at\])[^\s;,()]*")


def denies(file: RobotsTxt, header: str) -> bool:
    """Whether the group for the name counts, and not that for ``*``."""
    return not file.allowed("/named", header) and file.allowed("/others", header)


def is_a_word_of(name: str, header: str) -> bool:
    """Whether the header holds the name as a whole, and not only in an address."""
    bounds = rf"(?<![\w.!-]){re.escape(name.strip(' ;()/'))}(?![\w!-]|\.\w)"
    return re.search(bounds, _ADDRESS.sub(" ", header), re.IGNORECASE) is not None


def test_the_group_that_names_a_real_crawler_counts_unless_the_page_says_why_not() -> None:
    scrapys, ours, others = 0, 0, set()
    for name, header in HEADERS:
        body = f"User-agent: {name}\nDisallow: /named\n\nUser-agent: *\nDisallow: /others\n"
        parser = ProtegoRobotParser(body.encode(), None)
        if parser.allowed("/named", header):
            continue
        scrapys += 1
        if denies(RobotsTxt.parse(body), header):
            ours += 1
        elif is_a_word_of(name, header):
            others.add(name)
    page = PAGE.read_text(encoding="utf-8")
    assert f"{len(HEADERS):,} headers" in page
    assert f"{ours:,} of {scrapys:,}" in page
    assert [name for name in sorted(others) if f"`{name}`" not in page] == []
    assert len(others) == page.count("\n| `") > 0


def test_whatever_name_of_a_header_a_file_names_denies_what_it_disallows() -> None:
    for _, header in HEADERS:
        for name in names_of(header):
            if "#" in name:  # begins a comment
                continue
            file = RobotsTxt.parse(f"User-agent: {name}\nDisallow: /a\n\nUser-agent: *\nAllow: /")
            assert not file.allowed("/a", header)


@pytest.mark.parametrize(
    "word",
    [
        *("compatible", "bot", "robot", "crawler", "spider", "http", "https", "linux", "android"),
        *("X11", "Windows", "NT", "x86_64", "U", "en-US", "KHTML", "Gecko", "Googlebot", "foo"),
        *("Mozilla", "AppleWebKit", "Chrome", "Safari", "example", "me", "a", "of", "the"),
    ],
)
def test_words_that_tell_no_crawlers_apart_are_no_names(word: str) -> None:
    header = (
        "Mozilla/5.0 (X11; U; Linux x86_64; en-US; Windows NT; Android; http; compatible; Foobot/1"
        " bot; a crawler, spider and robot of the foo.example; +https://foo.example; me@example)"
        " AppleWebKit/537.36 (KHTML, like Googlebot) Chrome/1.0 Safari/537.36"
    )
    assert names_of(header)[0] == "foobot"
    file = RobotsTxt.parse(f"User-agent: {word}\nDisallow: /named\nCrawl-delay: 60")
    assert file.allowed("/named", header)
    assert file.crawl_delay(header) is None


class TestSeveralNames:
    HEADER = "Mozilla/5.0 (compatible; Yahoo! Slurp/3.0; https://help.example) Nutch-1.10"
    BOTH = (
        "User-agent: slurp\nDisallow: /s\nAllow: /n\nCrawl-delay: 2\n\n"
        "User-agent: nutch\nDisallow: /n\nAllow: /s\nCrawl-delay: 5\n\n"
        "User-agent: *\nDisallow: /\n"
    )

    def test_all_are_held(self) -> None:
        assert names_of(self.HEADER) == ("yahoo!", "slurp", "nutch-1.10", "nutch")

    @pytest.mark.parametrize("name", ["Yahoo!", "Slurp", "Nutch", "Nutch-1.10"])
    def test_whichever_a_file_names_is_obeyed(self, name: str) -> None:
        body = f"User-agent: {name}\nDisallow: /x\nUser-agent: *\nDisallow: /\n"
        assert RobotsTxt.parse(body).allowed("/", self.HEADER)
        assert not RobotsTxt.parse(body).allowed("/x", self.HEADER)

    def test_of_several_the_likeliest_counts(self) -> None:
        file = RobotsTxt.parse(self.BOTH)
        allowed = [url for url in ("/", "/s", "/n") if file.allowed(url, self.HEADER)]
        assert allowed == ["/", "/n"]
        assert file.crawl_delay(self.HEADER) == 2

    def test_one_alone_is_judged_by_its_own(self) -> None:
        assert RobotsTxt.parse(self.BOTH).allowed("/n", "Slurp")
        assert not RobotsTxt.parse(self.BOTH).allowed("/n", ["Nutch", "Slurp"])
        assert RobotsTxt.parse(self.BOTH).allowed("/n", ["Foobot", "Slurp", "Nutch"])


@pytest.mark.parametrize(
    "part", ["(", "a/", "((a) ", "compatible;", "a@", "@", "+", "-1.", "like ", "b ", "www.", "bc "]
)
def test_of_a_long_header_only_the_beginning_is_read(part: str) -> None:
    header = f"Foobot/1 ({part * 100_000}"
    names, cut = names_of(header), names_of(header[:1000])
    assert names == cut
    assert names[0] == "foobot"
    assert len(names) <= 65


def test_sixty_four_words_of_a_header_may_be_names() -> None:
    header = f"Foobot/1 ({'; '.join(f'w{n}w' for n in range(100))})"
    assert len(header) < 1000
    assert names_of(header) == ("foobot", *(f"w{n}w" for n in range(63)))


def test_parentheses_may_be_nested_four_deep() -> None:
    four, five = ("(a" * depth + ")" * depth for depth in (4, 5))
    assert names_of(f"Mozilla/5.0 {four} Foobot/1.0")[0] == "foobot"
    assert product_tokens(f"Mozilla/5.0 {four} Foobot/1.0") == ("foobot",)
    assert product_tokens(f"Mozilla/5.0 {five} Foobot/1.0") == ()
