"""The meta tags of random pages, beside those that lxml finds: from libxml2 2.14 on, it tells tags
from text as the HTML standard says."""

from __future__ import annotations

import random

import pytest
from lxml import etree  # type: ignore[import-untyped,unused-ignore]

from scrapy_robots_plus.protocol.directives.html_head import robots_metas

PIECES = [
    *("<meta name=robots content=a>", '<meta name="robots" content="b">', "<meta name=robots"),
    *(
        " content = 'c' >",
        "<meta/name=robots/content=d>",
        "<link rel='<meta name=robots content=e>'>",
    ),
    *(
        "<!--",
        "-->",
        "--!>",
        "<!-->",
        "<!--->",
        "<!---!>",
        "--",
        "-",
        "<!x>",
        "<?y>",
        "</>",
        "</ z>",
    ),
    *("<title>", "</title>", "<TITLE x>", "</Title >", "<script>", "</script>", "<style>"),
    *("</style>", "<textarea>", "</textarea>", '<a b=">">', "</a>", "<x y", "<!doctype html>"),
    *("<", ">", '"', "'", "=", "/", "x", "\n", "&lt;"),
]


class Metas:
    """A target of lxml's parser."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "meta" and attributes.get("name") == "robots" and "content" in attributes:
            self.found.append(attributes["content"])

    def end(self, tag: str) -> None: ...

    def data(self, text: str) -> None: ...

    def comment(self, text: str) -> None: ...

    def close(self) -> list[str]:
        return self.found


def found_by_lxml(text: str) -> list[str]:
    parser = etree.HTMLParser(target=Metas())
    parser.feed(text)
    return list(parser.close())


@pytest.mark.skipif(etree.LIBXML_VERSION < (2, 14), reason="reads HTML in its own way")
@pytest.mark.parametrize("pages", [3_000, pytest.param(100_000, marks=pytest.mark.stress)])
def test_the_same_tags_are_found(pages: int) -> None:
    chosen = random.Random(14)
    several = 0
    for _ in range(pages):
        text = "<html><head>" + "".join(chosen.choices(PIECES, k=chosen.randint(1, 9)))
        found = [content for _, content in robots_metas(text, ())]
        assert found == found_by_lxml(text), text
        several += len(found) > 1
    assert several > pages / 100
