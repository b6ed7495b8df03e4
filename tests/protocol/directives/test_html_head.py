"""Which robots meta tags the head of a page has, in all spellings, and nothing else."""

from __future__ import annotations

import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.directives.html_head import robots_metas
from tests.protocol.worst_cases import takes_less

NOINDEX = "<meta name=robots content=noindex>"


def metas(text: str) -> list[tuple[str, str]]:
    return robots_metas(text, ("foobot",))


def contents(text: str) -> list[str]:
    return [content for _, content in metas(text)]


SPELLINGS = [
    '<meta http-equiv="x" name="robots" content="noindex">',
    NOINDEX,
    '<meta name="robots" content="noindex">',
    "<meta name='robots' content='noindex'>",
    '<META NAME="ROBOTS" CONTENT="noindex">',
    '<meta content="noindex" name="robots">',
    '<meta name="robots" content="noindex" />',
    '<meta name="robots" content="noindex"/>',
    "<meta name=robots content=noindex />",
    "<meta name=robots content=noindex/>",
    '<meta/name="robots"/content="noindex"/>',
    '<meta name="robots"content="noindex">',
    '<meta\n\tname\n=\n"robots"\r\n content =\f"noindex"\n>',
    '<meta name=" robots " content="noindex">',
    '<meta name="rob&#111;ts" content="n&#x6f;index">',
    '<meta name="robots" content="noindex" name="other" content="index">',
    '<meta data-x="y" name="robots" id=z content="noindex" hidden>',
    '<meta x=">" name="robots" content="noindex">',
    '<meta x=\'a"b>\' name="robots" content="noindex">',
    '<meta = name="robots" content="noindex">',
    '<meta =x="y" name="robots" content="noindex">',
    '<meta x= name="robots" name="robots" content="noindex">',
    '<meta "x" name="robots" content="noindex">',
    '<meta <x name="robots" content="noindex">',
    '<meta x=a"b name="robots" content="noindex">',
    "\ufeff<!DOCTYPE html><html><head>" + NOINDEX,
    "<!-- x -->" + NOINDEX,
    "<!-->" + NOINDEX,
    "<!--->" + NOINDEX,
    "<!----!>" + NOINDEX,
    "<!-- x --!>" + NOINDEX,
    "<!-- > -- > -->" + NOINDEX,
    "<!x>" + NOINDEX,
    "<!>" + NOINDEX,
    '<?xml version="1.0"?>' + NOINDEX,
    "</>" + NOINDEX,
    "</ x>" + NOINDEX,
    "< " + NOINDEX,
    "<1" + NOINDEX,
    "<<" + NOINDEX,
    "a < b > c" + NOINDEX,
    "<title>x</title>" + NOINDEX,
    "<TITLE>x</Title >" + NOINDEX,
    "<title>x</title/>" + NOINDEX,
    '<title>x</title x=">">' + NOINDEX,
    "<title>x</titles></title>" + NOINDEX,
    "<title></</title>" + NOINDEX,
    "<title>x</title>" + NOINDEX + "<title>x</title>",
    "<script>'<!--'</script>" + NOINDEX,
    "<script src=x></script>" + NOINDEX,
    "<style>a > b {}</style>" + NOINDEX,
    "<noscript><img></noscript>" + NOINDEX,
    "<template></template>" + NOINDEX,
    "<template><template></template></template>" + NOINDEX,
    "</template>" + NOINDEX,
    "</template><template></template>" + NOINDEX,
    "<template></body><body></template>" + NOINDEX,
    "<link rel=x href='/body'>" + NOINDEX,
    "<header></header>" + NOINDEX,
    "<div><img></div>" + NOINDEX,
    "<bodyx><headers></headers>" + NOINDEX,
]


@pytest.mark.parametrize("text", SPELLINGS, ids=ascii)
def test_a_tag_counts(text: str) -> None:
    assert metas(text) == [("robots", "noindex")]


COUNT_NOT = [
    "",
    "noindex",
    '<meta name="robots">',
    '<meta content="noindex">',
    '<meta property="robots" content="noindex">',
    '<meta http-equiv="X-Robots-Tag" content="noindex">',
    '<meta name="googlebot" content="noindex">',
    '<meta name="robotsx" content="noindex">',
    '<meta name="foobot" conten="noindex">',
    '<metax name="robots" content="noindex">',
    '</meta name="robots" content="noindex">',
    '<meta name="other" name="robots" content="noindex">',
    '<meta x= name="robots" content="noindex">',
    '<meta name="robots" content="noindex"',
    '<meta name="robots" content="noindex',
    '<meta name="robots" content="noindex" ',
    "<meta name='robots\" content='noindex>",
    "<meta name=robots content=noindex",
    "<!-- " + NOINDEX + " -->",
    "<!--" + NOINDEX,
    "<!--!>" + NOINDEX,
    "<!---!>" + NOINDEX,
    "<!" + NOINDEX,
    "<?x " + NOINDEX,
    "</ " + NOINDEX,
    "<x y='" + NOINDEX + "'>",
    "<x y='" + NOINDEX,
    "<x y=" + NOINDEX,
    *(f"<{name}>{NOINDEX}</{name}>" for name in ("title", "textarea", "script", "style")),
    *(f"<{name}>{NOINDEX}</{name}>" for name in ("noscript", "noframes", "noembed", "iframe")),
    *(f"<{name}>{NOINDEX}" for name in ("xmp", "TITLE", "template", "noscript x='>'")),
    "<title>" + NOINDEX + "</titles>",
    "<template>" + NOINDEX + "</template>",
    "<template><template></template>" + NOINDEX + "</template>",
    "<template/>" + NOINDEX,
    *(f"<{name}>{NOINDEX}" for name in ("/head", "/HEAD ", "/html", "/body", "body", "Body x")),
    *(f"<{name}>{NOINDEX}" for name in ("frameset", "plaintext", "body/")),
]


@pytest.mark.parametrize("text", COUNT_NOT, ids=ascii)
def test_nothing_counts(text: str) -> None:
    assert metas(text) == []


def test_tags_by_a_token_and_several_count_in_order() -> None:
    text = (
        '<meta name="robots" content="a"><meta name=Foobot content="b">'
        '<meta name="barbot" content="c"><meta name="robots" content="d">'
    )
    assert metas(text) == [("robots", "a"), ("foobot", "b"), ("robots", "d")]


def test_content_is_as_served_but_for_entities() -> None:
    text = '<meta name=robots content=" NoIndex&#44;&nbsp;&amp;\u00e4 ">'
    assert contents(text) == [" NoIndex,\xa0&\u00e4 "]
    assert contents("<meta name=robots content>") == [""]
    assert contents("<meta name=robots content=>") == [""]
    assert contents('<meta name=robots content="a/">') == ["a/"]
    assert contents("<meta name=robots content=a/b>") == ["a/b"]


@pytest.mark.parametrize("number", ["1" * 9, "1" * 5000, "x" + "f" * 9, "X" + "F" * 5000])
def test_an_entity_that_no_character_has_is_replaced(number: str) -> None:
    assert contents(f"<meta name=robots content='a&#{number};b'>") == ["a\ufffdb"]
    assert contents(f"<meta name=robots content='a&#{number}'>") == ["a\ufffd"]


class TestOctets:
    @pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
    def test_of_utf_8_and_iso_8859_1_are_read(self, encoding: str) -> None:
        page = "<title>\u00e4</title><meta name=J\u00e4vla content='\u00e4&#228;'>".encode(encoding)
        assert robots_metas(page, ("j\u00e4vla",)) == [("j\u00e4vla", "\u00e4\u00e4")]

    def test_of_a_charset_with_ascii_are_searched(self) -> None:
        page = f"<title>\u65e5\u672c</title>{NOINDEX}".encode("shift_jis")
        assert robots_metas(page, ()) == [("robots", "noindex")]


@pytest.mark.parametrize(
    "text", ["<script src='x'/>", "<title />", "<!DOCTYPE html>", "<script>x</script>", "<p/>"]
)
def test_in_xhtml_too_a_tag_counts(text: str) -> None:
    assert contents(text + NOINDEX) == ["noindex"]


PIECES = st.sampled_from(
    [
        *("<", ">", "</", "/>", "<!--", "-->", "<!", "<?", "<![CDATA[", "]]>", "=", '"', "'", " "),
        *("meta ", "name=", "robots ", "content=", "noindex", "script", "title", "template", "&#x"),
        *("head", "body", "&", ";", "9" * 20, "\0", "\u0130", "/", "a"),
    ]
)


class TestWhateverIsServed:
    @given(st.text())
    def test_text_does_not_fail(self, text: str) -> None:
        metas(text)

    @given(st.lists(PIECES).map("".join))
    def test_pieces_of_pages_do_not_fail(self, text: str) -> None:
        metas(text)

    @pytest.mark.parametrize(
        "piece",
        [
            *("<", "</", "<a", "<a ", "<a>", "<a b", "<a b=", "<a b='", '<a b="', "<a b='\" ", "/"),
            *("<!--", "<!--x--", "<!", "<?", "<meta ", NOINDEX, "<script>", "<title>", "</title"),
            *(
                "<template>",
                "</template>",
                "<a" + " " * 1000,
                "<a " + "/" * 1000,
                "<a b" + " " * 99,
            ),
            *("<script></scrip", "<a b= ", "=", "<a =", "<title></title>"),
            *("<meta name=robots content=&#11", "<a b" + " " * 99),
        ],
    )
    @pytest.mark.parametrize("start", ["", "<a ", "<meta name=robots content='"])
    def test_it_takes_linear_time(self, start: str, piece: str) -> None:
        text = start + piece * (20_000 // len(piece))
        assert takes_less(lambda: metas(text), 10)

    @pytest.mark.skipif(sys.version_info < (3, 11, 5), reason="re remembers each repetition")
    @pytest.mark.parametrize("start", ["<!--", "<meta ", "<script>"])
    @pytest.mark.parametrize("piece", ["-", "x-", "]", "x]", "<", "x<", "a ", "a='' "])
    def test_it_takes_memory_like_the_text(self, start: str, piece: str) -> None:
        text = start + piece * (100_000 // len(piece))
        tracemalloc.start()
        try:
            assert metas(text) == []
            assert tracemalloc.get_traced_memory()[1] < 5 * len(text)
        finally:
            tracemalloc.stop()
