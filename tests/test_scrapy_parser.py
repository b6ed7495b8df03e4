"""RobotsParser: the engine behind Scrapy's own interface."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import pytest
from scrapy.robotstxt import RobotParser
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler

from scrapy_robots_plus.origins import parsers as module
from scrapy_robots_plus.origins.parsers import HOT_OCTETS_OF_LONG, LEAST_HOT, HotFiles, RobotsParser
from scrapy_robots_plus.protocol import FIRST_MATCH, GOOGLE, MK1996, RFC9309, Dialect, Reason

BODY = b"""\
User-agent: *
Disallow: /star
Crawl-delay: 2
Request-rate: 1/5

User-agent: foobot
Disallow: /foo
Visit-time: 0600-0800
Sitemap: https://e.example/s.xml
"""
LONG = BODY + b"# %s\n" % (b"long " * 30)
BLANKS = " " * 15_000
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0"


def parser(settings: dict[str, object] | None = None, body: bytes = BODY) -> RobotsParser:
    return RobotsParser.from_crawler(get_crawler(settings_dict=settings), body)


def test_it_is_found_by_its_path() -> None:
    assert load_object("scrapy_robots_plus.origins.parsers.RobotsParser") is RobotsParser
    assert issubclass(RobotsParser, RobotParser)


def test_without_a_crawler_as_scrapys_own_tests_make_parsers() -> None:
    assert not RobotsParser.from_crawler(None, BODY).allowed("/foo", "foobot")


@pytest.mark.parametrize("url", ["https://e.example/foo", b"https://e.example/foo"])
@pytest.mark.parametrize("agent", ["foobot", b"foobot/1.0", ["x", "foobot"], ("x", "foobot")])
def test_urls_and_agents_of_all_types(
    url: bytes | str, agent: bytes | list[str] | str | tuple[str, ...]
) -> None:
    assert not parser().allowed(url, agent)
    assert parser().allowed("https://e.example/star", agent)


def test_names_beyond_ascii() -> None:
    body = "User-agent: UnicödeBöt\nDisallow: /x\nUser-agent: *\nDisallow: /wiki/K%C3%A4:".encode()
    found = parser(body=body)
    for agent in ("UnicödeBöt", "UnicödeBöt".encode(), "UnicödeBöt".encode("iso-8859-1")):
        assert not found.allowed("https://e.example/x", agent)
    assert not found.allowed("https://e.example/wiki/Kä:".encode(), "*")


def test_answers() -> None:
    found = parser()
    verdict = found.verdict("https://e.example/foo", "foobot")
    assert (verdict.allowed, verdict.reason, verdict.line) == (False, Reason.RULE, 7)
    assert found.file.explain("/foo", "foobot").verdict == verdict
    assert found.crawl_delay("foobot") is None
    assert found.crawl_delay("barbot") == 2
    assert found.request_rate("barbot").delay == 5
    assert found.visit_time("foobot") is not None
    assert found.sitemaps() == ("https://e.example/s.xml",)


def test_charset() -> None:
    body = "User-agent: *\nDisallow: /é".encode("iso-8859-1")
    for crawler in (get_crawler(), None):
        found = RobotsParser.from_crawler(crawler, body, charset="iso-8859-1")
        assert not found.allowed("/%C3%A9", "bot")


def test_the_whole_file_is_read() -> None:
    assert not parser(body=b"#" * 600_000 + b"\n" + BODY).allowed("/foo", "foobot")


class TestDialect:
    @pytest.mark.parametrize(
        ("value", "dialect"),
        [
            (None, RFC9309),
            ("RFC9309", RFC9309),
            ("google", GOOGLE),
            (MK1996, MK1996),
            ("FIRST_MATCH", FIRST_MATCH),
        ],
    )
    def test_is_chosen_by_a_setting(self, value: Dialect | str | None, dialect: Dialect) -> None:
        assert parser({"ROBOTS_DIALECT": value}).file.dialect == dialect

    def test_an_unknown_one_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="RFC9309"):
            parser({"ROBOTS_DIALECT": "LATIN"})


class TestMemory:
    def test_a_crawler_that_is_over_is_forgotten(self) -> None:
        crawler = get_crawler()
        crawler.spider = crawler._create_spider("x")
        found = RobotsParser.from_crawler(crawler, BODY)
        found.allowed("/", "foobot")
        reference = weakref.ref(crawler)
        del crawler
        gc.collect()
        assert reference() is None
        assert not found.allowed("/foo", "foobot")

    def test_only_the_files_asked_last_are_kept_parsed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hot = HotFiles(octets=3000)
        monkeypatch.setattr(module, "_hot", hot)
        crawler = get_crawler()
        found = [RobotsParser.from_crawler(crawler, BODY + b"#%d" % n) for n in range(20)]
        for _ in range(2):
            for each in found:
                assert not each.verdict("/foo", "foobot")
                assert len(hot._octets) <= 5
        assert sum(each._file is not None for each in found) == len(hot._octets)

    def test_the_others_answer_from_compact_rules_for_the_agent_that_asked_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_hot", HotFiles(octets=10, least=1))
        crawler = get_crawler()
        first, second = (RobotsParser.from_crawler(crawler, BODY) for _ in range(2))
        for each in (first, second):
            assert not each.allowed("/foo", "foobot")
        for url in ("/foo", "/fo", "https://x.example/foo/bar", "/robots.txt"):
            assert first.allowed(url, "foobot") is second.allowed(url, "foobot")
            assert first._file is None
            assert second._file is not None
        assert first.allowed("/foo", "other") is second.allowed("/foo", "other")

    def test_a_file_is_compressed_when_it_is_no_longer_kept_parsed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        packed: list[bytes] = []

        def compress(body: bytes, level: int) -> bytes:
            packed.append(body)
            return b""

        monkeypatch.setattr("zlib.compress", compress)
        monkeypatch.setattr(module, "_hot", HotFiles(octets=10, least=3))
        crawler = get_crawler()
        found = [RobotsParser.from_crawler(crawler, LONG + b"#%d" % n) for n in range(3)]
        for each in found:
            assert not each.allowed("/foo", "foobot")
        assert packed == []
        another = parser()
        assert packed == [LONG + b"#0"]
        assert [each._is_packed for each in (*found, another)] == [True, False, False, False]

    @pytest.mark.parametrize("octets", [256, 257])
    def test_a_short_file_is_not_compressed(
        self, octets: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_hot", HotFiles(octets=10, least=0))
        body = BODY + b"#" * (octets - len(BODY))
        found = parser(body=body)
        assert (found._is_packed, found._body == body) == ((octets > 256), (octets <= 256))
        for _ in range(2):
            assert not found.allowed("/foo", "foobot")
            assert found._whole() == body

    def test_a_file_that_nobody_holds_any_more_is_neither_kept_nor_compressed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hot = HotFiles(octets=10_000, least=0)
        monkeypatch.setattr(module, "_hot", hot)
        found = parser()
        assert not found.allowed("/foo", "foobot")
        room = hot.room
        other = parser()
        other.allowed("/foo", "foobot")
        file = weakref.ref(other)
        del other
        assert file() is None
        assert (len(hot._octets), hot.room) == (1, room)
        assert not found.allowed("/foo", "foobot")

    def test_one_that_nobody_asks_is_compressed_as_well(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_hot", HotFiles(octets=10, least=0))
        found = parser(body=LONG)
        assert found._is_packed
        assert found.read_as(GOOGLE).allowed("/foo", "foobot") is False
        assert not found.allowed("/foo", "foobot")
        assert found._file is None

    def test_it_is_compressed_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_hot", HotFiles(octets=10, least=0))
        found = parser(body=LONG)
        packed = found._body
        for _ in range(3):
            assert not found.verdict("/foo", "foobot")
            assert found._body is packed

    def test_a_rule_that_has_decided_is_named_without_reading_the_file_again(self) -> None:
        rules = b"".join(b"Disallow: /%d/\n" % n for n in range(40))
        found = parser(body=b"User-agent: *\n" + rules)
        urls = [f"/{n}/x" for n in range(40)]
        expected = [found.file.verdict(url, "foobot") for url in urls]
        assert found.allowed("/", "foobot")
        read = 0
        for number in [0, 1, 0, 1, *range(15), *range(15), 15, 15, 16, 15, 39, 39]:
            found.cool()
            assert found.verdict(urls[number], "foobot") == expected[number]
            read += found._file is not None
            assert found._verdicts is not None
            assert len(found._verdicts) <= 16
        assert read == 15 + 1 + 1 + 1 + 1  # 16 rules are remembered, then all are forgotten

    def test_another_agent_is_not_answered_from_compact_rules(self) -> None:
        found = parser()
        assert not found.allowed("/foo", "foobot")
        found.cool()
        assert found.verdict("/foo", "foobot") == found.file.verdict("/foo", "foobot")
        for agent in ("barbot", "other"):
            found.cool()
            assert found.verdict("/foo", agent) == found.file.verdict("/foo", agent)

    @pytest.mark.parametrize("nameless", ["", b"", ()])
    def test_nor_if_the_one_that_asked_first_has_no_name(
        self, nameless: bytes | str | tuple[str, ...]
    ) -> None:
        found = parser(body=b"User-agent: *\nDisallow: /x\nUser-agent: foobot\nDisallow: /foo\n")
        assert found.allowed("/foo", nameless)
        for url, allowed in {"/": True, "/x": True, "/foo": False}.items():
            for _ in range(2):
                found.cool()
                assert found.allowed(url, "foobot") is allowed

    def test_while_the_file_is_there_it_is_asked(self) -> None:
        found = parser()
        assert not found.allowed("/foo", "foobot")
        found.verdict("/foo", "foobot")
        assert found._verdicts is None

    def test_what_it_says_of_uses_is_kept_or_read_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_hot", HotFiles(octets=10, least=1))
        crawler = get_crawler()
        bodies = {
            "silent": b"User-agent: *\nDisallow: /foo\n",
            "everywhere": b"User-agent: *\nDisallow: /foo\nContent-Signal: ai-train=no\n",
            "by path": b"User-agent: *\nDisallow: /foo\nContent-Usage: /a train-ai=n\n",
        }
        found = {name: RobotsParser.from_crawler(crawler, body) for name, body in bodies.items()}
        for _ in range(2):
            for name, each in found.items():
                each.allowed("/a", "foobot")
                said = [str(one.preference) for one in each.statements("/a", "foobot")]
                assert said == ([] if name == "silent" else ["disallow"])
                assert each.statements("/foo", "foobot") == ()
        parser().allowed("/", "foobot")
        for name in ("silent", "everywhere"):
            found[name].statements("/a", "foobot")
            assert found[name]._file is None
        found["by path"].statements("/a", "foobot")
        assert found["by path"]._file is not None

    @pytest.mark.parametrize(
        "lines",
        [
            [f"User-agent: a{number}" for number in range(3_000)],
            [f"Content-Signal: {use}=no, {BLANKS}x" for use in ("ai-train", "ai-input", "search")],
            [f"License: https://e.example/{BLANKS.replace(' ', str(n))}" for n in range(10)],
        ],
        ids=["names", "uses", "licenses"],
    )
    def test_what_a_site_says_at_length_is_not_kept_for_each_host(self, lines: list[str]) -> None:
        """Two compressed kilobytes took 374 kB, and 60 took 1.6 MB."""
        body = "\n".join([*lines, "User-agent: *", "Disallow: /foo"]).encode()

        def said(found: RobotsParser) -> tuple[object, ...]:
            uses = found.statements("/", "foobot"), found.uses("foobot").licenses
            return found.verdict("/foo", "foobot"), *uses

        first, found = said(parser(body=body)), parser(body=body)
        tracemalloc.start()
        try:
            for _ in range(2):
                assert said(found) == first
                found.cool()
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] < 20_000
        finally:
            tracemalloc.stop()

    def test_files_that_just_fit_are_kept_parsed(self) -> None:
        hot = HotFiles(octets=20, least=0)
        found = [parser() for _ in range(3)]
        for each, kept in zip(found, (1, 2, 2), strict=True):
            hot.add(each, 10)
            assert len(hot._octets) == kept

    def test_what_was_asked_last_stays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        hot = HotFiles(octets=3000)
        monkeypatch.setattr(module, "_hot", hot)
        crawler = get_crawler()
        found = [RobotsParser.from_crawler(crawler, BODY + b"#%d" % n) for n in range(20)]
        for each in found:
            each.allowed("/foo", "foobot")
            found[0].allowed("/foo", "foobot")
        assert found[0]._file is not None
        assert found[1]._file is None

    def test_a_hundred_usual_files_are_kept_parsed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_hot", HotFiles())
        crawler = get_crawler()
        found = [RobotsParser.from_crawler(crawler, BODY) for _ in range(100)]
        for each in found:
            each.allowed("/foo", "foobot")
        assert all(each._file is not None for each in found)

    def test_the_long_files_of_a_hundred_shops_are_not_read_again_for_each_request(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_hot_long", HotFiles(HOT_OCTETS_OF_LONG))
        rules = b"".join(b"Disallow: /%d/*?sort=\n" % number for number in range(500))
        crawler, bodies = get_crawler(), (b"User-agent: *\n%s#%d" % (rules, n) for n in range(100))
        found = [RobotsParser.from_crawler(crawler, body) for body in bodies]
        for each in found:
            each.verdict("/foo", "foobot")
        assert all(each._file is not None for each in found)

    def test_one_file_may_be_larger_than_the_room(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_hot", HotFiles(octets=10, least=1))
        found = parser()
        assert not found.allowed("/foo", "foobot")
        assert found._file is not None

    def test_a_few_files_that_are_asked_by_turns_are_read_once_however_long(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hot = HotFiles(octets=10)
        monkeypatch.setattr(module, "_hot", hot)
        found = [parser() for _ in range(6)]
        for each in found:
            each.allowed("/foo", "foobot")
        assert len(hot._octets) == LEAST_HOT
        assert all(each._file is not None for each in found[-LEAST_HOT:])
        assert all(each._file is None for each in found[:-LEAST_HOT])
