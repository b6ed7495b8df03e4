"""What X-Robots-Tag headers and robots meta tags say: accepted, odd and broken values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.directives import (
    PageSource,
    PageStatement,
    header_statements,
    meta_statements,
    moment_in,
)
from tests.protocol.worst_cases import takes_less

JUNE_25 = 1277424000
"""2010-06-25, 00:00 UTC."""
AT_15_PST = JUNE_25 + 23 * 3600


def brief(statements: tuple[PageStatement, ...]) -> str:
    """``noindex, foobot: nofollow``; a date as the seconds since 2010-06-25."""
    return ", ".join(map(_brief, statements))


def _brief(said: PageStatement) -> str:
    value = said.value
    if said.directive == "unavailable_after":
        moment = moment_in(value)
        assert moment is not None
        value = f"{moment - JUNE_25:g}"
    agent = said.agent and f"{said.agent}: "
    return f"{agent}{said.directive}" + (value and f"={value}")


HEADERS = {
    # Google's own examples
    "noindex": "noindex",
    "noindex, nofollow": "noindex, nofollow",
    "googlebot: nofollow": "googlebot: nofollow",
    "otherbot: noindex, nofollow": "otherbot: noindex, otherbot: nofollow",
    "unavailable_after: 25 Jun 2010 15:00:00 PST": "unavailable_after=82800",
    "BadBot: noindex, nofollow, googlebot: nofollow": (
        "badbot: noindex, badbot: nofollow, googlebot: nofollow"
    ),
    # plain directives
    "none": "noindex, nofollow",
    "all": "",
    "index, follow": "",
    "noarchive, nosnippet, noimageindex, notranslate": (
        "noarchive, nosnippet, noimageindex, notranslate"
    ),
    "noai, noimageai": "noai, noimageai",
    "noindex, indexifembedded": "noindex, indexifembedded",
    "nocache": "nocache",
    # spelling
    "NoIndex , NOFOLLOW": "noindex, nofollow",
    "\t noindex \t": "noindex",
    "noindex,,nofollow,": "noindex, nofollow",
    ",": "",
    "": "",
    "noindex nofollow": "noindex, nofollow",
    "noindex;nofollow": "noindex, nofollow",
    "noindex\n": "noindex",
    "noindex, noindex": "noindex, noindex",
    "no-index, no_follow, no index": "",
    "noindexx": "",
    '"noindex"': "",
    "please": "",
    # agents
    "Foobot/1.0: noindex": "foobot: noindex",
    "foobot : noindex": "foobot: noindex",
    "foobot:noindex,nofollow": "foobot: noindex, foobot: nofollow",
    "noindex, foobot: nofollow": "noindex, foobot: nofollow",
    "foobot: noindex, *: nofollow": "foobot: noindex, nofollow",
    "foobot: noindex, robots: nofollow": "foobot: noindex, nofollow",
    "a: noindex, b: nofollow, a: noarchive": "a: noindex, b: nofollow, a: noarchive",
    "a: b: noindex": "b: noindex",
    "foobot:": "",
    "foobot:, noindex": "foobot: noindex",
    "MJ12bot: noindex": "mj12bot: noindex",
    "Screaming Frog: noindex": "screaming: noindex",
    "J\u00e4vla-bot: noindex": "j\u00e4vla-bot: noindex",
    "foobot: none": "foobot: noindex, foobot: nofollow",
    "foobot: unavailable_after: 25 Jun 2010 15:00:00 PST, noindex": (
        "foobot: unavailable_after=82800, foobot: noindex"
    ),
    "all: noindex": "noindex",
    "noindex: nofollow": "noindex, nofollow",
    "noindex: true": "noindex",
    ": noindex": "noindex",
    "foobot: noindex, : nofollow": "foobot: noindex, nofollow",
    "foobot: noindex, -: nofollow": "foobot: noindex, nofollow",
    "008: noindex": "008: noindex",
    "360Spider: noindex": "360spider: noindex",
    "-: noindex": "noindex",
    '"otherbot": noindex': "otherbot: noindex",
    "'otherbot' : noindex": "otherbot: noindex",
    "[otherbot]: noindex, nofollow": "otherbot: noindex, otherbot: nofollow",
    "<otherbot>: noindex": "otherbot: noindex",
    "(otherbot/1.0): noindex": "otherbot: noindex",
    '"[otherbot]": noindex': "otherbot: noindex",
    "@otherbot: noindex": "otherbot: noindex",
    '"Screaming Frog": noindex': "screaming: noindex",
    '"otherbot": noindex, "*": nofollow': "otherbot: noindex, nofollow",
    "[robots]: noindex": "noindex",
    '"noindex": true': "",
    '"": noindex': "noindex",
    "[]: noindex": "noindex",
    '"max-snippet": 20': "",
    # limits
    "max-snippet: 20, max-image-preview: large, max-video-preview: -1": "",
    "foobot: max-snippet: 20, noindex": "foobot: noindex",
    "max-snippet : 20": "",
    "MAX-IMAGE-PREVIEW: None": "",
    "max-snippet:-1 max-image-preview:none noindex": "noindex",
    "max-snippet, noindex": "noindex",
    "max-snippet:, noindex": "noindex",
    "max-age: 20, noindex": "noindex",
    "max-image-preview: none, noindex": "noindex",
    # dates
    "unavailable_after: Fri, 25 Jun 2010 15:00:00 PST": "unavailable_after=82800",
    "unavailable_after: Friday, 25-Jun-10 15:00:00 PST": "unavailable_after=82800",
    "unavailable_after: Fri, 25 Jun 2010 15:00:00 -0800, noarchive": (
        "unavailable_after=82800, noarchive"
    ),
    "unavailable_after: 2010-06-25T15:00:00-08:00": "unavailable_after=82800",
    "unavailable_after: 2010-06-25T15:00:00Z, noindex": "unavailable_after=54000, noindex",
    "unavailable_after: 2010-06-25 15:00": "unavailable_after=54000",
    "unavailable_after: 2010-06-25": "unavailable_after=0",
    "unavailable_after: 25 Jun 2010": "unavailable_after=0",
    "unavailable_after: Friday, June 25, 2010 15:00:00 PST, noindex": (
        "unavailable_after=82800, noindex"
    ),
    "UNAVAILABLE_AFTER:25 JUN 2010 15:00:00 GMT": "unavailable_after=54000",
    "unavailable_after : 25 Jun 2010 15:00:00 GMT": "unavailable_after=54000",
    "unavailable_after: soon, noindex": "noindex",
    "unavailable_after: Friday, noindex": "noindex",
    "unavailable_after: Fri, 99 Foo 2010 15:00:00 PST, noindex": "noindex",
    "unavailable_after: soon, 2010-06-25T15:00:00Z, noindex": "noindex",
    "unavailable_after: , , , 25 Jun 2010": "",
    "unavailable_after, noindex": "noindex",
    "unavailable_after: , noindex": "noindex",
    "unavailable-after: 25 Jun 2010 15:00:00 PST, noindex": "noindex",
    "published: Fri, 25 Jun 2010 15:00:00 PST, noindex": "published: noindex",
}


@pytest.mark.parametrize(("value", "meaning"), HEADERS.items(), ids=ascii)
def test_a_header_says(value: str, meaning: str) -> None:
    assert brief(header_statements(value)) == meaning
    assert header_statements(value.encode()) == header_statements(value)


@pytest.mark.parametrize(
    "word", ["all", "index", "follow", "archive", "snippet", "translate", "cache", "noai", "none"]
)
def test_a_directive_is_no_name_of_a_crawler(word: str) -> None:
    assert header_statements(f"{word}: max-snippet: 5, nofollow")[-1].agent == ""
    assert brief(header_statements(f"{word}: x, noindex")).endswith("noindex")


METAS = {
    ("robots", "noindex"): "noindex",
    ("ROBOTS", "NOINDEX, NOFOLLOW"): "noindex, nofollow",
    (" robots ", " noindex "): "noindex",
    ("robots", "index, follow, max-image-preview:large"): "",
    ("robots", "none"): "noindex, nofollow",
    ("robots", "noai,noimageai"): "noai, noimageai",
    ("robots", "noindex nofollow"): "noindex, nofollow",
    ("robots", "noindex\nnofollow"): "noindex, nofollow",
    ("robots", "unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noarchive"): (
        "unavailable_after=82800, noarchive"
    ),
    ("robots", ""): "",
    ("googlebot", "noindex"): "googlebot: noindex",
    ("Foobot/1.0", "noindex"): "foobot: noindex",
    ("robots", "foobot: noindex"): "noindex",
    ("googlebot", "*: noindex"): "googlebot: noindex",
    ("*", "noindex"): "noindex",
}


@pytest.mark.parametrize(("meta", "meaning"), METAS.items(), ids=ascii)
def test_a_meta_tag_says(meta: tuple[str, str], meaning: str) -> None:
    assert brief(meta_statements(*meta)) == meaning


def test_it_is_known_where_each_directive_stands() -> None:
    (header,) = header_statements("nosuch,\t foobot: NoIndex")
    assert header == PageStatement("noindex", "", "foobot", PageSource.HEADER, "foobot: NoIndex")
    (meta,) = meta_statements("Robots", " NoAI")
    assert meta == PageStatement("noai", "", "", PageSource.META, "NoAI")
    (dated,) = header_statements("unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, please")
    assert dated.text == "unavailable_after: Fri, 25 Jun 2010 15:00:00 PST"
    assert dated.value == "fri, 25 jun 2010 15:00:00 pst"


def test_a_statement_describes_itself_on_one_line() -> None:
    (header,) = header_statements("foobot: NoIndex\n")
    assert header.describe() == "X-Robots-Tag: foobot: NoIndex"
    (meta,) = meta_statements("robots", "noai\nx")
    assert meta.describe() == r"meta robots: noai\nx"
    (ours,) = meta_statements("Foobot", "noai")
    assert ours.describe() == "meta foobot: noai"


def test_a_text_is_kept_up_to_a_limit() -> None:
    (said,) = header_statements("noindex" + " x" * 1000)
    assert said.text == ("noindex" + " x" * 1000)[:200]


def test_several_lines_each_begin_without_an_agent() -> None:
    lines: list[str | bytes] = [b"foobot: noindex", "nofollow", b"\xe4bot: noarchive"]
    assert brief(header_statements(lines)) == "foobot: noindex, nofollow, \xe4bot: noarchive"
    assert header_statements(iter(lines)) == header_statements(lines)
    assert header_statements([]) == ()


DATES = {
    "Fri, 25 Jun 2010 15:00:00 PST": AT_15_PST,
    "25 Jun 10 15:00 +0000": JUNE_25 + 54000,
    "25 Jun 2010 15:00:00": JUNE_25 + 54000,
    "Friday, 25-Jun-10 15:00:00 UT": JUNE_25 + 54000,
    "2010-06-25T15:00:00": JUNE_25 + 54000,
    "2010-06-25T15:00:30.750Z": JUNE_25 + 54030.75,
    "2010-06-25t15:00+01:30": JUNE_25 + 48600,
    "2010-06-25T15:00:00-08:00": AT_15_PST,
    "2010-06-25 15:00:00 -0800": AT_15_PST,  # as Ruby writes it, and PHP without the blank
    "2010-06-25 15:00:00 GMT": JUNE_25 + 54000,
    "2010-06-25 15:00:00 UTC": JUNE_25 + 54000,
    " 2010-06-25 ": JUNE_25,
    "2010-6-25": None,
    "2010-13-25": None,
    "2010-06-31": None,
    "2010-06-25T24:00": None,
    "2010-06-25T15:00+25:00": None,
    "31 Jun 2010 00:00:00 GMT": None,
    "25 Foo 2010 15:00:00 GMT": None,
    "25 Jun 99999 15:00:00 GMT": None,
    "25 Jun 0 99:00:00 GMT": None,
    "31 Dec 9999 23:59:59 -9900": None,
    "Friday": None,
    "June 25": None,
    "1277424000": None,
    ":": None,
    "": None,
    "2010-06-25" + " " * 200: JUNE_25,
    "2010-06-25" + " " * 200 + "Z": None,
    "\u0662\u0660\u0661\u0660-06-25": None,
}


@pytest.mark.parametrize(("text", "moment"), DATES.items(), ids=ascii)
def test_a_moment(text: str, moment: float | None) -> None:
    assert moment_in(text) == moment


def test_the_longest_date_has_a_hundred_characters() -> None:
    padding = " " * (100 - len("2010-06-25Z"))
    assert moment_in(f"2010-06-25{padding}Z") == JUNE_25
    assert moment_in(f"2010-06-25{padding} Z") is None


PIECES = st.sampled_from(
    [
        *("noindex", "none", "max-snippet", "unavailable_after", "foobot", "robots", "*", "25 Jun"),
        *(":", ",", ";", " ", "-", "\u0130", "\0", "2010", "15:00:00", "PST", "Fri", "T", "Z", "+"),
    ]
)


class TestWhateverIsServed:
    @given(st.binary())
    def test_octets_do_not_fail(self, octets: bytes) -> None:
        header_statements(octets)

    @given(st.text(), st.text())
    def test_text_does_not_fail(self, name: str, content: str) -> None:
        header_statements(content)
        meta_statements(name, content)
        moment_in(content)

    @given(st.lists(PIECES).map("".join))
    def test_pieces_of_the_grammar_do_not_fail(self, value: str) -> None:
        for each in header_statements(value):
            assert each.directive != "unavailable_after" or moment_in(each.value) is not None

    @pytest.mark.parametrize(
        "piece",
        [
            *(",", ":", " ", "a:", "a: ", "noindex,", "noindex ", "max-", "max-a ", "max-snippet:"),
            *("unavailable_after:", "unavailable_after:,", "unavailable_after:25 Jun 2010,"),
            *("\u0130", "a: unavailable_after: Fri,", "_", "-", "J\u00e4:"),
        ],
    )
    def test_it_takes_linear_time(self, piece: str) -> None:
        value = piece * (12_500 // len(piece))
        assert takes_less(lambda: header_statements(value), 10)
