"""Which lines of a robots.txt are about a URL: by group, by path, by rules, by tokens."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import DIALECTS, FIRST_MATCH, GYM2008, MK1996, RobotsTxt
from scrapy_robots_plus.protocol.preferences import Preference, Source, Statement, combine
from scrapy_robots_plus.protocol.preferences.in_file import FilePreferences
from scrapy_robots_plus.protocol.printable import printable
from tests.protocol.worst_cases import seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.protocol import Dialect

ALLOW, DISALLOW, UNKNOWN = Preference.ALLOW, Preference.DISALLOW, Preference.UNKNOWN


def said(body: str, url: str = "/", agent: str = "foobot", tokens: tuple[str, ...] = ()) -> str:
    """Line, category and preference of each statement: ``2 train-ai disallow, ...``."""
    statements = FilePreferences(RobotsTxt.parse(body), agent, tokens).statements(url)
    return ", ".join(f"{each.line} {each.category} {each.preference}" for each in statements)


class TestGroups:
    BODY = (
        "User-agent: *\nContent-Usage: train-ai=n\nContent-Signal: search=yes\n\n"
        "User-agent: foobot\nUser-agent: barbot\nContent-Usage: ai-use=n\n"
    )

    def test_a_crawler_has_those_of_its_group(self) -> None:
        assert said(self.BODY, agent="foobot") == "7 ai-use disallow"
        assert said(self.BODY, agent="barbot") == "7 ai-use disallow"

    def test_others_have_those_for_all(self) -> None:
        assert said(self.BODY, agent="another") == "2 train-ai disallow, 3 search allow"

    def test_a_file_that_says_nothing_is_false(self) -> None:
        for body in ("", "User-agent: *\nDisallow: /x", "Content-Signal: search=yes", "<html>"):
            assert not FilePreferences(RobotsTxt.parse(body), "foobot")
        assert FilePreferences(RobotsTxt.parse(self.BODY), "foobot")
        assert FilePreferences(RobotsTxt.parse("User-agent: *\nContent-Signal: use=full"), "x")
        assert FilePreferences(RobotsTxt.parse("User-agent: X\nDisallow: /"), "foobot", ["x"])

    def test_a_line_without_any_preference_counts_as_a_line(self) -> None:
        assert FilePreferences(RobotsTxt.parse("User-agent: *\nContent-Usage: /a"), "foobot")

    def test_a_managed_block_in_front_is_merged_with_the_group_of_the_site(self) -> None:
        body = (
            "# BEGIN managed\nUser-agent: *\nContent-Signal: search=yes,ai-train=no\nAllow: /\n\n"
            "User-agent: GPTBot\nDisallow: /\n# END managed\n\n"
            "User-agent: *\nContent-Signal: search=no, search=yes\nContent-Usage: /a ai-use=n\n"
            "Disallow: /private/\n"
        )
        assert said(body) == "3 search allow, 3 train-ai disallow, 11 search disallow"
        assert said(body, "/a").startswith("12 ai-use disallow, 3 search allow")
        assert said(body, "/private/") == ""

    def test_a_hostile_file_cannot_make_many_statements_of_one(self) -> None:
        lines = "Content-Signal: search=yes, use=full\nContent-Usage: train-ai=n\n" * 1000
        assert said("User-agent: *\n" + lines) == (
            "3 train-ai disallow, 2 search allow, 2 use=immediate allow, 2 use=reference allow, "
            "2 use=full allow"
        )


class TestApart:
    """Real files have such lines above the first group or behind a blank line, and mean all."""

    GROUPS = "User-agent: foobot\nDisallow: /x\n\nUser-agent: *\nAllow: /\n"

    @pytest.mark.parametrize(
        "body",
        [
            "Content-Signal: ai-train=no\n" + GROUPS,
            "# our policy\n\nContent-Signal: ai-train=no, search=yes\n\n" + GROUPS,
            "Disallow: /y\nContent-Signal: ai-train=no\n" + GROUPS,
            "Sitemap: https://x.example/s\nContent-Usage: train-ai=n, search=y\n" + GROUPS,
            GROUPS + "\nContent-Signal: ai-train=no",
            GROUPS + "\n# for all\nSitemap: https://x.example/s\nContent-Usage: train-ai=n",
            GROUPS.replace("\n\n", "\n \t\nContent-Signal: ai-train=no\n\n"),
            GROUPS.replace("\n\n", "\r\n\r\nContent-Signal: ai-train=no\r\n"),
            "Content-Signal: ai-train=no",
            "Content-Signal: search=no\nContent-Signal: search=yes\nContent-Usage: train-ai=n",
            "Content-Usage: /a train-ai=n",
        ],
    )
    @pytest.mark.parametrize("agent", ["foobot", "another"])
    @pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
    def test_what_they_disallow_counts_for_all(
        self, body: str, agent: str, dialect: Dialect
    ) -> None:
        file = RobotsTxt.parse(body, dialect)
        preferences = combine(FilePreferences(file, agent).statements("/a"))
        assert preferences.of("train-ai") is DISALLOW
        assert preferences.of("search") is (DISALLOW if "search=no" in body else UNKNOWN)

    @pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
    def test_one_without_its_colon_is_read_where_others_are(self, dialect: Dialect) -> None:
        file = RobotsTxt.parse("Content-Usage train-ai=n\n" + self.GROUPS, dialect)
        assert bool(FilePreferences(file, "foobot")) is dialect.forgiving

    @pytest.mark.parametrize(
        "said_apart", ["Content-Signal: search=yes, use=full", "Content-Usage: search=y, ai-use=x"]
    )
    def test_what_they_allow_counts_for_nobody(self, said_apart: str) -> None:
        assert said(f"{said_apart}\n{self.GROUPS}") == ""
        assert said(f"{self.GROUPS}\n{said_apart}") == ""

    @pytest.mark.parametrize(
        "body",
        [
            "Content-Signal: search=yes,ai-train=no,use=reference\n" + GROUPS,
            GROUPS + "\nContent-Signal: use=immediate",
            "# managed\n\nContent-Signal: use=reference\nContent-Signal: use=full\n\n" + GROUPS,
            GROUPS.replace("\n\n", "\n\nContent-Signal: use=reference\n\n"),
        ],
    )
    @pytest.mark.parametrize("agent", ["foobot", "another"])
    def test_a_level_of_use_disallows_those_beyond_it_and_allows_none(
        self, body: str, agent: str
    ) -> None:
        found = combine(FilePreferences(RobotsTxt.parse(body), agent).statements("/a"))
        assert found.of("use=full") is DISALLOW
        assert found.of("use=immediate") is not DISALLOW
        assert found.objection(["train-ai", "use=full"]) is not None

    def test_the_group_that_they_are_in_has_all_that_they_say_once(self) -> None:
        body = f"{self.GROUPS}\nContent-Signal: search=yes, ai-train=no\nContent-Usage: ai-use=n"
        assert said(body) == "8 ai-use disallow, 7 train-ai disallow"
        assert said(body, agent="x") == "8 ai-use disallow, 7 search allow, 7 train-ai disallow"

    def test_a_path_counts(self) -> None:
        body = "Content-Usage: train-ai=n\nContent-Usage: /open/ train-ai=y\n" + self.GROUPS
        assert said(body, "/a") == "1 train-ai disallow"
        assert said(body, "/open/") == ""
        assert said(body, "/x") == ""

    @pytest.mark.parametrize(
        "body",
        [
            "User-agent: another\nDisallow: /x\nContent-Signal: ai-train=no\n",
            "User-agent: another\n\nContent-Signal: ai-train=no\n",
            "User-agent: another\n\n# why\n\nContent-Signal: ai-train=no\nAllow: /",
            "User-agent: another\nAllow: /\n\nDisallow: /x\nContent-Usage: train-ai=n\n",
            "User-agent: another\nAllow: /\n# Content-Signal: ai-train=no",
            "User-agent: another\nFoo: bar\nContent-Signal: ai-train=no\n",
        ],
    )
    def test_lines_that_stand_in_a_group_do_not(self, body: str) -> None:
        assert said(body) == ""

    def test_many_of_them_are_read_once_in_linear_time(self) -> None:
        def work(size: int) -> float:
            body = "\nContent-Usage: /a{} train-ai=n\n\nContent-Signal: ai-train=no" * size
            return seconds(lambda: FilePreferences(RobotsTxt.parse(body), "foobot").statements("/"))

        assert work(1_000) < 10 * work(250) + 0.005


class TestPaths:
    def test_the_most_specific_path_decides(self) -> None:
        body = (
            "User-agent: *\nContent-Usage: /shop/ train-ai=y\nContent-Usage: train-ai=n\n"
            "Content-Usage: / ai-use=n\nContent-Usage: /shop/*.pdf$ search=n\n"
        )
        assert said(body, "/about") == "4 ai-use disallow"
        assert said(body, "/shop/1") == "2 train-ai allow"
        assert said(body, "/shop/1.pdf") == "5 search disallow"
        assert said(body, "https://x.example/shop/1.pdf?y") == "2 train-ai allow"

    def test_without_a_path_a_line_is_for_all_others(self) -> None:
        body = "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a train-ai=y\n"
        assert said(body, "/") == "2 train-ai disallow"
        assert said(body, "/b") == "2 train-ai disallow"
        assert said(body, "/a") == "3 train-ai allow"

    def test_no_line_may_match(self) -> None:
        assert said("User-agent: *\nContent-Usage: /a train-ai=n", "/b") == ""

    def test_lines_with_equal_paths_all_count(self) -> None:
        body = (
            "User-agent: *\nContent-Usage: /a~ train-ai=y\nContent-Usage: /b search=n\n"
            "Content-Usage: /a%7E train-ai=n\nContent-Usage: /a%7e ai-use=y\n"
        )
        assert said(body, "/a~") == "2 train-ai allow, 4 train-ai disallow, 5 ai-use allow"
        assert said(body, "/a%7Eb") == "2 train-ai allow, 4 train-ai disallow, 5 ai-use allow"

    def test_so_do_other_paths_of_that_length(self) -> None:
        body = (
            "User-agent: *\nContent-Usage: /ab* train-ai=n\nContent-Usage: /a*c train-ai=y\n"
            "Content-Usage: /abc ai-use=y\nContent-Usage: /abd search=y\n"
            "Content-Usage: /x ai-use=n\n"
        )
        assert said(body, "/abc") == "2 train-ai disallow, 3 train-ai allow, 4 ai-use allow"
        assert said(body, "/abd") == "2 train-ai disallow, 5 search allow"
        assert said(body, "/axc") == "3 train-ai allow"
        assert said(body, "/x") == "6 ai-use disallow"

    def test_also_if_all_of_them_have_wildcards(self) -> None:
        body = "User-agent: *\nContent-Usage: /ab* train-ai=n\nContent-Usage: /a*b search=n\n"
        assert said(body, "/ab") == "2 train-ai disallow, 3 search disallow"
        assert said(body, "/axb") == "3 search disallow"

    def test_an_end_may_be_as_long_as_a_beginning(self) -> None:
        body = "User-agent: *\nContent-Usage: /a$ train-ai=n\nContent-Usage: /ab search=n\n"
        assert said(body, "/a") == "2 train-ai disallow"
        assert said(body, "/ab") == "3 search disallow"
        body = "User-agent: *\nContent-Usage: /a$ train-ai=n\nContent-Usage: /a* search=n\n"
        assert said(body, "/a") == "2 train-ai disallow, 3 search disallow"

    def test_the_length_is_that_of_the_octets_that_are_compared(self) -> None:
        body = "User-agent: *\nContent-Usage: /%C3%A9 train-ai=n\nContent-Usage: /é?a search=n\n"
        assert said(body, "/é") == "2 train-ai disallow"
        assert said(body, "/%c3%a9?a=1") == "3 search disallow"

    def test_a_broken_line_takes_precedence_over_a_less_specific_one(self) -> None:
        body = "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a train-ai:y\n"
        assert said(body, "/a") == "3 train-ai unknown, 3 ai-use unknown, 3 search unknown"
        assert said(body.replace("train-ai:y", ""), "/a") == ""

    def test_a_path_of_a_dialect_without_wildcards_is_literal(self) -> None:
        body = "User-agent: *\nContent-Usage: /*x train-ai=n"
        for dialect, found in ((MK1996, 0), (GYM2008, 1), (FIRST_MATCH, 1)):
            file = RobotsTxt.parse(body + "\nDisallow: /none", dialect)
            assert len(FilePreferences(file, "foobot").statements("/ax")) == found


class TestRules:
    BODY = (
        "User-agent: foobot\nDisallow: /a\nAllow: /a/b\nContent-Usage: train-ai=n\n"
        "Content-Signal: search=yes\n\nUser-agent: Google-Extended\nDisallow: /\n"
    )

    @pytest.mark.parametrize("url", ["/a", "/a/", "/a/c", "https://x.example/a?b"])
    def test_what_may_not_be_fetched_has_no_preference(self, url: str) -> None:
        assert said(self.BODY, url) == ""
        assert said(self.BODY, url, tokens=("Google-Extended",)) == ""

    @pytest.mark.parametrize("url", ["/", "/b", "/a/b", "/robots.txt"])
    def test_what_may_be_fetched_has_one(self, url: str) -> None:
        assert said(self.BODY, url) == "4 train-ai disallow, 5 search allow"


class TestTokens:
    BODY = (
        "User-agent: *\nDisallow: /private\n\n"
        "User-agent: Google-Extended\nDisallow: /a\nAllow: /a/b\n\n"
        "User-agent: Applebot-Extended\nDisallow: /\n"
    )

    def test_a_group_that_disallows_a_url_is_about_training(self) -> None:
        preferences = FilePreferences(RobotsTxt.parse(self.BODY), "foobot", ["google-extended"])
        assert preferences.statements("/a") == (
            Statement(
                "train-ai",
                DISALLOW,
                Source.USE_TOKEN,
                "User-agent: google-extended, Disallow: /a",
                5,
            ),
        )
        assert preferences.statements("/a/b") == ()
        assert preferences.statements("/") == ()

    def test_each_token_says_it_for_itself(self) -> None:
        both = ("Google-Extended", "Applebot-Extended")
        assert said(self.BODY, "/a", tokens=both) == "5 train-ai disallow, 9 train-ai disallow"
        assert said(self.BODY, "/", tokens=both) == "9 train-ai disallow"

    @pytest.mark.parametrize("token", ["CCBot", "", "*", "Google", "Google-Extended-2", "é", "a b"])
    def test_the_group_for_all_is_not_about_a_token(self, token: str) -> None:
        assert (
            said("User-agent: *\nDisallow: /x\nUser-agent: foobot\n", "/x", tokens=(token,)) == ""
        )
        assert said(self.BODY, "/", tokens=(token,)) == ""

    def test_a_group_may_be_for_all_and_for_a_token(self) -> None:
        body = "User-agent: *\nUser-agent: X-Ext\nDisallow: /x\nUser-agent: foobot\nAllow: /\n"
        assert said(body, "/x", tokens=("X-Ext",)) == "3 train-ai disallow"
        assert said(body, "/x", tokens=("Y-Ext",)) == ""

    def test_a_line_that_says_it_otherwise_remains(self) -> None:
        body = self.BODY.replace("/private", "/private\nContent-Usage: train-ai=y")
        assert said(body, "/a", tokens=("Google-Extended",)) == (
            "3 train-ai allow, 6 train-ai disallow"
        )

    @pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
    def test_in_each_dialect(self, dialect: object) -> None:
        body = "User-agent: Google-Extended\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n"
        file = RobotsTxt.parse(body, dialect)  # type: ignore[arg-type]
        said = FilePreferences(file, "foobot", ["Google-Extended", "CCBot"])
        assert [each.line for each in said.statements("/a")] == [2]
        assert said.statements("/c") == ()


@pytest.mark.parametrize(
    ("lines", "everywhere"),
    [
        ("Disallow: /a\nContent-Signal: search=yes", ["search"]),
        ("Disallow: /a", []),
        ("Content-Signal: search=yes\nContent-Usage: train-ai=n", None),
        ("Content-Usage: /a", None),
        ("User-agent: X-Ext\nDisallow: /a", None),
        ("User-agent: Y-Ext\nDisallow: /a", []),
    ],
)
def test_some_files_say_the_same_of_every_url(lines: str, everywhere: list[str] | None) -> None:
    said = FilePreferences(RobotsTxt.parse(f"User-agent: *\n{lines}"), "foobot", ["X-Ext"])
    found = said.everywhere
    assert everywhere == (None if found is None else [each.category for each in found])
    if found is not None:
        assert said.statements("/b") == found


PATHS = st.text("ab/*$", max_size=5).map("/".__add__)
VALUES = st.sampled_from(["train-ai=y", "train-ai=n", "ai-use=n", "search=y", "!", ""])


def slow(rules: list[tuple[str, str]], url: str) -> set[tuple[str, str]]:
    """The rules that count: those with the longest path that matches, tried one by one."""
    file = [
        RobotsTxt.parse(f"User-agent: *\nDisallow: {path or '/'}\nAllow: /robots.txt\n")
        for path, _ in rules
    ]
    matching = [rule for rule, each in zip(rules, file, strict=True) if not each.allowed(url, "x")]
    longest = max((len(path) for path, _ in matching), default=0)
    return {(path, value) for path, value in matching if len(path) == longest}


@given(st.lists(st.tuples(st.just("") | PATHS, VALUES), max_size=8), st.text("ab/", max_size=5))
def test_the_lines_that_count_are_those_that_match_and_are_longest(
    rules: list[tuple[str, str]], url: str
) -> None:
    body = "User-agent: *\n" + "".join(f"Content-Usage: {p} {v}\n" for p, v in rules)
    statements = FilePreferences(RobotsTxt.parse(body), "foobot").statements("/" + url)
    stated = {"y": ALLOW, "n": DISALLOW}
    expected = set()
    for _, value in slow(rules, "/" + url):
        key, _, token = value.partition("=")
        if value == "!":
            expected |= {(each, UNKNOWN) for each in ("train-ai", "ai-use", "search")}
        elif value:
            expected.add((key, stated[token]))
    assert {(each.category, each.preference) for each in statements} == expected


HOSTILE: dict[str, Callable[[int], str]] = {
    "equal paths": lambda number: "/a",
    "other paths": lambda number: f"/{number}",
    "wildcards": lambda number: f"/*{number:05}",
    "wildcards of one length": lambda number: f"/a*a*a*{number:05}",
    "nearly all match": lambda number: "/" + "a*" * (number % 50) + f"{number:05}",
    "ends": lambda number: f"/{number:05}$",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_file_and_not_with_its_square(name: str) -> None:
    path = HOSTILE[name]

    def work(size: int) -> float:
        lines = "".join(f"Content-Usage: {path(each)} train-ai=n\n" for each in range(size))
        file = RobotsTxt.parse("User-agent: *\n" + lines)
        url = "/" + "a" * 2000
        return seconds(lambda: FilePreferences(file, "foobot").statements(url), 3)

    assert work(1_000) < 10 * work(250) + 0.005


def test_a_line_at_random_never_raises() -> None:
    generator = random.Random(1)
    for _ in range(300):
        lines = [
            generator.choice([b"Content-Usage", b"content-signal", b"License", b"User-agent"])
            + generator.choice([b":", b" : ", b" "])
            + generator.randbytes(generator.randrange(30))
            for _ in range(8)
        ]
        file = RobotsTxt.parse(b"User-agent: *\n" + b"\n".join(lines))
        for statement in FilePreferences(file, "foobot", ["x"]).statements("/"):
            assert printable(statement.describe()) == statement.describe()
        assert len(file.licenses) <= 8


def test_a_crawler_may_be_named_by_a_part_of_its_name() -> None:
    file = RobotsTxt.parse("User-agent: foo\nDisallow: /a\n", GYM2008)
    assert file.addressed_as("foobot") == {"foo"}
    assert file.addressed_as("barbot") == set()


@pytest.mark.parametrize("url", ["/aab", "/abc", "/ab"])
def test_paths_of_one_length_that_differ_at_their_end_alone(url: str) -> None:
    lines = "Content-Usage: /a*b*c$ train-ai=n\n", "Content-Usage: /a*b*** search=y\n"
    expected = {"train-ai disallow"} if url.endswith("c") else set[str]()
    for body in ("".join(lines), "".join(reversed(lines))):
        stated = {each[2:] for each in said(f"User-agent: *\n{body}", url).split(", ")}
        assert stated == expected | {"search allow"}
