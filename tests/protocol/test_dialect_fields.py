"""Dialects made of fields: the worked examples of yoink and webcanon, and each field by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrapy_robots_plus.protocol import GOOGLE, RFC9309, Reason, RobotsTxt
from scrapy_robots_plus.protocol.dialect import Choice, Escapes, Names, Order

YOINK = replace(
    RFC9309,
    name="yoink",
    names=Names.EITHER,
    choice=Choice.FIRST,
    allow_wins_ties=False,
    index_is_slash=False,
    escapes=Escapes.NONE,
)

WEBCANON = replace(
    RFC9309,
    name="webcanon",
    forgiving=False,
    orphans_for_all=True,
    names=Names.SUBSTRING,
    dollar_counts=False,
    index_is_slash=False,
)


class TestYoink:
    BODY = (
        "User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\n"
        "Allow: /private/public-page.html\nCrawl-delay: 2\n"
    )

    @pytest.mark.parametrize(
        ("url", "want"),
        [
            ("/about", True),
            ("/private/secrets", False),
            ("/private/public-page.html", True),
            ("/docs/manual.pdf", False),
            ("/docs/manual.pdf?download=1", True),
        ],
    )
    def test_worked_example(self, url: str, want: bool) -> None:
        assert RobotsTxt.parse(self.BODY, YOINK).allowed(url, "yoink") is want

    def test_delay(self) -> None:
        assert RobotsTxt.parse(self.BODY, YOINK).crawl_delay("yoink") == 2

    @pytest.mark.parametrize(
        ("rules", "want"),
        [("Disallow: /same\nAllow: /same", False), ("Allow: /same\nDisallow: /same", True)],
    )
    def test_of_equal_rules_the_first_in_the_file_wins(self, rules: str, want: bool) -> None:
        assert RobotsTxt.parse(f"User-agent: *\n{rules}", YOINK).allowed("/same", "yoink") is want

    @pytest.mark.parametrize("name", ["yoink", "YOINK", "yo", "yoinkbot"])
    def test_names_are_substrings_either_way(self, name: str) -> None:
        file = RobotsTxt.parse(
            f"User-agent: {name}\nDisallow: /x\n\nUser-agent: *\nDisallow: /", YOINK
        )
        assert not file.allowed("/x", "Yoink")
        assert file.allowed("/y", "Yoink")

    def test_an_exact_name_comes_before_a_part_of_one(self) -> None:
        body = "User-agent: yo\nDisallow: /a\nUser-agent: yoink\nDisallow: /b"
        file = RobotsTxt.parse(body, YOINK)
        assert file.allowed("/a", "yoink")
        assert not file.allowed("/b", "yoink")

    def test_then_star(self) -> None:
        body = "User-agent: other\nDisallow: /a\nUser-agent: *\nDisallow: /b"
        assert not RobotsTxt.parse(body, YOINK).allowed("/b", "yoink")


class TestWebcanon:
    """Its verdicts name explicit and implicit permission; ours are RULE, NO_RULE, ROBOTS_TXT."""

    @pytest.mark.parametrize(
        ("rules", "url", "allowed", "reason"),
        [
            ("Disallow: /private", "/private/a", False, Reason.RULE),
            ("Disallow: /private", "/public", True, Reason.NO_RULE),
            ("Disallow: /docs\nAllow: /docs/public", "/docs/public/a", True, Reason.RULE),
            ("Disallow: /docs\nAllow: /docs/public", "/docs/secret", False, Reason.RULE),
            ("Disallow: /*.pdf$", "/file.pdf", False, Reason.RULE),
            ("Disallow: /*.pdf$", "/file.pdf?x=1", True, Reason.NO_RULE),
            ("Disallow: /a\nAllow: /a", "/a", True, Reason.RULE),
            ("Disallow:", "/anything", True, Reason.NO_RULE),
            ("Disallow: /", "/robots.txt", True, Reason.ROBOTS_TXT),
        ],
    )
    def test_worked_example(self, rules: str, url: str, allowed: bool, reason: Reason) -> None:
        file = RobotsTxt.parse(f"User-agent: *\n{rules}", WEBCANON)
        verdict = file.verdict("https://x.example" + url, "WebCanonBot")
        assert (verdict.allowed, verdict.reason) == (allowed, reason)

    def test_a_group_of_its_own_counts(self) -> None:
        body = "User-agent: *\nDisallow: /\n\nUser-agent: WebCanonBot\nDisallow: /private\nAllow: /"
        file = RobotsTxt.parse(body, WEBCANON)
        assert file.allowed("/public", "WebCanonBot")
        assert not file.allowed("/private", "WebCanonBot")

    def test_rules_before_any_group_belong_to_star(self) -> None:
        file = RobotsTxt.parse("Disallow: /x\nUser-agent: other\nDisallow: /y", WEBCANON)
        assert not file.allowed("/x", "WebCanonBot")
        assert file.groups[0].agents == ("*",)

    @pytest.mark.parametrize("name", ["web", "canon", "WebCanonBot"])
    def test_names_are_prefixes_or_substrings_and_all_groups_that_fit_are_merged(
        self, name: str
    ) -> None:
        body = f"User-agent: {name}\nDisallow: /x\nUser-agent: bot\nDisallow: /y"
        file = RobotsTxt.parse(body, WEBCANON)
        assert not file.allowed("/x", "WebCanonBot")
        assert not file.allowed("/y", "WebCanonBot")

    def test_a_dollar_is_no_octet(self) -> None:
        body = "User-agent: *\nAllow: /x\nDisallow: /x$"
        assert RobotsTxt.parse(body, WEBCANON).allowed("/x", "bot")
        assert not RobotsTxt.parse(body, RFC9309).allowed("/x", "bot")

    def test_sitemaps(self) -> None:
        body = "Sitemap: https://x.example/sitemap.xml\nUser-agent: *\nDisallow:"
        assert RobotsTxt.parse(body, WEBCANON).sitemaps == ("https://x.example/sitemap.xml",)


class TestFields:
    def test_line_limit(self) -> None:
        short = replace(RFC9309, max_line=14)
        assert not RobotsTxt.parse("User-agent: *\nDisallow: /abcdef", short).allowed("/abc", "x")

    @pytest.mark.parametrize(
        ("rule", "url", "want"),
        [
            ("/a/index.html", "/a/", True),
            ("/a/index.htm", "/a/", True),
            ("/a/index.html?x", "/a/", True),
            ("/index.html", "/", True),
            ("/a/index.html", "/a/b", False),
            ("/a/index.html", "/a", False),
            ("/a/index.html/b", "/a/", False),
            ("/a/index.html/b", "/a/index.html/", False),
            ("/a/index.html/index.html", "/a/index.html/", True),
            ("/a/index.php", "/a/", False),
        ],
    )
    def test_only_the_page_itself_stands_for_its_directory(
        self, rule: str, url: str, want: bool
    ) -> None:
        assert (
            RobotsTxt.parse(f"User-agent: *\nDisallow: /\nAllow: {rule}").allowed(url, "x") is want
        )

    def test_index_pages(self) -> None:
        body = "User-agent: *\nDisallow: /\nAllow: /a/index.html"
        assert RobotsTxt.parse(body, RFC9309).allowed("/a/", "x")
        assert not RobotsTxt.parse(body, replace(RFC9309, index_is_slash=False)).allowed("/a/", "x")

    def test_order(self) -> None:
        body = "User-agent: *\nAllow: /\nDisallow: /x"
        assert RobotsTxt.parse(body, replace(RFC9309, order=Order.FIRST)).allowed("/x", "bot")

    def test_blank_lines(self) -> None:
        body = "User-agent: *\nDisallow: /a\n\nDisallow: /b"
        strict = replace(GOOGLE, blank_line_ends_group=True)
        assert RobotsTxt.parse(body, strict).allowed("/b", "bot")


@pytest.mark.parametrize(
    ("rules", "want"),
    [
        ("Allow: /a/index.html\nDisallow: /a/", True),
        ("Disallow: /a/\nAllow: /a/index.html", False),
    ],
)
def test_if_the_first_rule_wins_so_does_that_of_an_index_page(rules: str, *, want: bool) -> None:
    dialect = replace(RFC9309, order=Order.FIRST)
    assert RobotsTxt.parse(f"User-agent: *\n{rules}", dialect).allowed("/a/", "bot") is want
