"""Whatever parser is in use is asked in one way."""

from __future__ import annotations

from datetime import time
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from scrapy.utils.test import get_crawler

from scrapy_robots_plus import RobotsParser
from scrapy_robots_plus.origins.parsers import (
    ParsedFile,
    Parsers,
    charset_of,
    takes_several_names,
)
from scrapy_robots_plus.protocol import (
    FIRST_MATCH,
    RFC9309,
    CleanParam,
    Reason,
    RequestRate,
    Verdict,
    VisitTime,
)
from tests.crawl.parsers_in_use import OURS, PROTEGO, PYTHON, RERP, PlainParser, read

FILE = b"""\
User-agent: *
Disallow: /closed
Crawl-delay: 2
Request-rate: 1/5
Visit-time: 0600-0845
Sitemap: https://x.example/s.xml
"""
MORNING = VisitTime(time(6), time(8, 45))
ALL = [OURS, PROTEGO, PYTHON, RERP]


class Subclass(RobotsParser):
    """One that takes Scrapy's arguments only, and says another delay."""

    __slots__ = ()

    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes) -> Subclass:  # type: ignore[override]
        return super().from_crawler(crawler, robotstxt_body)

    def crawl_delay(self, user_agent: Any) -> float | None:
        return 3 * (super().crawl_delay(user_agent) or 0)


class Duck:
    """Has other names for what it knows, and no base class."""

    def __init__(self, **answers: Any) -> None:
        self.__dict__.update(answers)


@pytest.mark.parametrize("parser", ALL)
def test_all_know_rules_delays_and_sitemaps(parser: str) -> None:
    file = read(FILE, parser)
    assert file.verdict("https://x.example/open", "Foobot")
    assert not file.verdict("https://x.example/closed", "Foobot")
    assert file.crawl_delay("Foobot") == 2
    assert file.sitemaps == ("https://x.example/s.xml",)


@pytest.mark.parametrize("parser", ALL)
def test_only_ours_knows_rates_and_hours(parser: str) -> None:
    file = read(FILE, parser)
    known = (RequestRate(1, 5), MORNING) if parser == OURS else (None, None)
    assert (file.request_rate("Foobot"), file.visit_time("Foobot")) == known


@pytest.mark.parametrize("parser", [PROTEGO, PYTHON, RERP, PlainParser])
def test_only_ours_names_rules(parser: Any) -> None:
    file = read(FILE, parser)
    assert file.verdict("https://x.example/closed", "Foobot").rule is None
    assert file.ours is None


@pytest.mark.parametrize("parser", [OURS, Subclass])
def test_ours_and_its_subclasses_do(parser: Any) -> None:
    file = read(FILE, parser)
    verdict = file.verdict("https://x.example/closed", "Foobot")
    assert (verdict.allowed, verdict.reason, verdict.line) == (False, Reason.RULE, 2)
    assert file.ours is not None
    assert file.ours.file.groups_for("Foobot") == (("*",),)
    assert file.ours.file.size == len(FILE) - FILE.count(b"\n")


def test_a_subclass_is_asked_for_what_it_overrides() -> None:
    assert read(FILE, Subclass).crawl_delay("Foobot") == 6


class Stricter(RobotsParser):
    __slots__ = ()

    def allowed(self, url: Any, user_agent: Any) -> bool:
        return "secret" not in url and super().allowed(url, user_agent)


def test_a_subclass_that_decides_otherwise_names_no_rules() -> None:
    file = read(FILE, Stricter)
    assert not file.verdict("https://x.example/secret", "Foobot")
    for path in ("secret", "open", "closed"):
        assert file.verdict(f"https://x.example/{path}", "Foobot").rule is None


def test_scrapys_interface_is_enough() -> None:
    file = read(b"https://x.example/closed", PlainParser)
    assert file.verdict("https://x.example/open", "Foobot")
    assert not file.verdict("https://x.example/closed", "Foobot")
    assert file.crawl_delay("Foobot") is None
    assert file.request_rate("Foobot") is None
    assert file.visit_time("Foobot") is None
    assert file.sitemaps == ()


@pytest.mark.parametrize(
    ("parser", "delay"),
    [
        (Duck(crawl_delay=lambda _: 1), 1),
        (Duck(rp=Duck(crawl_delay=lambda _: 2)), 2),  # Scrapy's own before 2.18
        (Duck(rp=Duck(get_crawl_delay=lambda _: 3)), 3),
        (Duck(crawl_delay=lambda _: None, rp=Duck(crawl_delay=lambda _: 4)), None),
        (Duck(crawl_delay=5), None),
    ],
)
def test_where_a_crawl_delay_is_looked_for(parser: Any, delay: float | None) -> None:
    assert ParsedFile(parser).crawl_delay("Foobot") == delay


@pytest.mark.parametrize(
    ("answers", "sitemaps"),
    [
        ({"sitemaps": ["/a"]}, ("/a",)),
        ({"sitemaps": lambda: ["/a"]}, ("/a",)),
        ({"site_maps": lambda: None}, ()),
        ({"rp": Duck(sitemaps=iter(["/a", "/b"]))}, ("/a", "/b")),
        ({"rp": Duck(site_maps=lambda: ["/a"])}, ("/a",)),
        ({}, ()),
    ],
)
def test_where_sitemaps_are_looked_for(answers: dict[str, Any], sitemaps: tuple[str, ...]) -> None:
    parser: Any = Duck(**answers)
    assert ParsedFile(parser).sitemaps == sitemaps


def test_what_a_parser_raises_is_raised() -> None:
    def fail(*_: object) -> bool:
        raise RuntimeError("no idea")

    parser: Any = Duck(allowed=fail, crawl_delay=fail)
    with pytest.raises(RuntimeError, match="no idea"):
        ParsedFile(parser).verdict("https://x.example/", "Foobot")
    with pytest.raises(RuntimeError, match="no idea"):
        ParsedFile(parser).crawl_delay("Foobot")


class TestCharset:
    FILE = "User-agent: *\nDisallow: /é".encode("iso-8859-1")

    @pytest.mark.parametrize("parser", [*ALL, Subclass])
    def test_the_file_reaches_parsers_that_take_none_in_utf8(self, parser: Any) -> None:
        file = read(self.FILE, parser, "iso-8859-1")
        assert not file.verdict("https://x.example/%C3%A9", "Foobot")

    @pytest.mark.parametrize("parser", ALL)
    def test_one_octet_that_is_not_utf8_does_not_empty_the_file(self, parser: str) -> None:
        file = read(FILE + b"Disallow: /\xff\n", parser)
        assert not file.verdict("https://x.example/closed", "Foobot")


class Listening(PlainParser):
    """Says what it was made of."""

    made_of: ClassVar[list[Any]] = []

    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes, charset: Any = 0) -> Any:
        cls.made_of = [crawler, robotstxt_body, charset]
        return cls(robotstxt_body)


class Deaf(Listening):
    """Takes no charset."""

    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes) -> Any:  # type: ignore[override]
        return super().from_crawler(crawler, robotstxt_body)


@pytest.mark.parametrize(
    ("served", "charset", "body"),
    [(b"/\xe9", "cp1252", b"/\xc3\xa9"), (b"/\xc3\xa9\xff\x0f", None, b"/\xc3\xa9%FF\x0f")],
)
def test_what_a_parser_is_made_of(served: bytes, charset: str | None, body: bytes) -> None:
    for parser, made_of in ((Listening, [served, charset]), (Deaf, [body, 0])):
        crawler = get_crawler(settings_dict={"ROBOTSTXT_PARSER": parser})
        Parsers(crawler).read(served, charset)
        assert parser.made_of == [crawler, *made_of]


@pytest.mark.parametrize(
    ("headers", "charset"),
    [
        ({"content-type": "text/plain; charset=latin-1"}, "cp1252"),
        ({"content-type": "text/plain"}, None),
        ({}, None),
    ],
)
def test_the_charset_of_a_content_type(headers: dict[str, str], charset: str | None) -> None:
    assert charset_of(headers) == charset


class Broken(PlainParser):
    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes) -> Any:
        raise ImportError("no module named parser_for_robots")


def test_a_parser_that_lacks_something_is_found_at_the_start() -> None:
    with pytest.raises(ImportError, match="parser_for_robots"):
        Parsers(get_crawler(settings_dict={"ROBOTSTXT_PARSER": Broken}))


@pytest.mark.parametrize(
    ("parser", "takes"),
    [(OURS, True), (Subclass, True), (PROTEGO, False), (PlainParser, False)],
)
def test_several_names_are_for_ours_alone(parser: Any, takes: bool) -> None:
    crawler = get_crawler(settings_dict={"ROBOTSTXT_PARSER": parser})
    assert takes_several_names(crawler.settings) is takes
    file = read(b"User-agent: b\nDisallow: /\n", parser)
    assert file.verdict("http://x.example/", ("a", "b")).allowed is (parser is PROTEGO or not takes)


FIRST_OR_LONGEST = b"User-agent: *\nAllow: /\nDisallow: /b\xfccher\n"


def test_our_parser_reads_the_same_file_in_another_dialect() -> None:
    file = read(FIRST_OR_LONGEST, charset="iso-8859-1")
    other = file.read_as(FIRST_MATCH)
    url = "http://x.example/b%C3%BCcher"
    assert not file.verdict(url, "Foobot")
    assert other.verdict(url, "Foobot")
    assert other.ours is not None
    assert other.ours.dialect is FIRST_MATCH
    assert file.read_as(RFC9309) is file
    assert not other.read_as(RFC9309).verdict(url, "Foobot")


@pytest.mark.parametrize("parser", [PROTEGO, PlainParser])
def test_other_parsers_read_it_as_they_do(parser: Any) -> None:
    file = read(FIRST_OR_LONGEST, parser)
    assert file.read_as(FIRST_MATCH) is file


@pytest.mark.parametrize("parser", ALL)
def test_clean_params(parser: str) -> None:
    file = read(b"Clean-param: ref\n", parser)
    params = file.ours.file.clean_params if file.ours else ()
    assert params == ((CleanParam(("ref",)),) if parser == OURS else ())


@pytest.mark.parametrize("told", [True, "allowed", ("rule", 3)])
def test_what_another_parser_calls_a_verdict_is_not_asked(told: Any) -> None:
    parser: Any = SimpleNamespace(allowed=lambda *_: True, verdict=lambda *_: told)
    assert ParsedFile(parser).verdict("http://x.example/", "bot") == Verdict(True, Reason.RULE)


def test_only_ours_knows_of_uses() -> None:
    text = b"User-agent: *\nContent-Usage: train-ai=n\nLicense: https://x.example/l.xml\n"
    ours, theirs = read(text, OURS).ours, read(text, PROTEGO).ours
    assert ours is not None
    url = "http://x.example/"
    (statement,) = ours.statements(url, "bot", ())
    assert (statement.category, statement.line) == ("train-ai", 2)
    assert ours.uses("bot", ()).licenses == ("https://x.example/l.xml",)
    assert theirs is None


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        (b"Disallow: /closed\n", True),
        (b"Content-Usage: train-ai=n\n", False),
        (b"Content-Usage: /art train-ai=n\n", False),
        (b"License: https://x.example/l.xml\n", False),
    ],
)
def test_a_file_is_silent_that_says_nothing_of_uses_and_names_no_licence(
    text: bytes, silent: bool
) -> None:
    file = read(b"User-agent: *\n" + text, OURS).ours
    assert file is not None
    said = file.statements("http://x.example/art", "bot", ()), file.uses("bot", ()).licenses
    assert (said == ((), ())) is silent


def test_each_agent_is_told_what_is_said_to_it_and_to_its_use_tokens() -> None:
    file = read(
        b"User-agent: foobot\nContent-Usage: search=n\n\n"
        b"User-agent: *\nAllow: /\n\nUser-agent: X-Training\nDisallow: /\n",
        OURS,
    ).ours
    assert file is not None

    def lines_for(agent: str, *use_tokens: str) -> list[int | None]:
        found = file.statements("https://x.example/", agent, use_tokens)
        return [statement.line for statement in found]

    for _ in range(2):
        assert lines_for("foobot") == [2]
        assert lines_for("barbot") == []
        assert lines_for("barbot", "X-Training") == [8]
        assert lines_for("foobot", "X-Training") == [2, 8]


@pytest.mark.parametrize("agent", ["Foobot", ("Foobot", "Other")])
def test_a_foreign_parser_gets_the_first_name(agent: str | tuple[str, ...]) -> None:
    asked: list[object] = []

    def answer(*arguments: object) -> bool:
        asked.append(arguments[-1])
        return True

    file = ParsedFile(Duck(allowed=answer, crawl_delay=answer))  # type: ignore[arg-type]
    assert file.verdict("http://a.example/", agent).allowed
    file.crawl_delay(agent)
    assert asked == ["Foobot", "Foobot"]
