"""A report, read as a browser without scripts would."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.chain import Link, LogReader, LogState
from scrapy_robots_plus.audit.report import page
from scrapy_robots_plus.audit.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_robots_plus.audit.entries import Entry

VOID = {"br", "link", "meta"}
ELEMENT = re.compile(
    "html|head|meta|title|link|style|body|header|main|section|nav|a|h[1-3]|p|b|div|span|ul|li|dl|dt"
    "|dd|table|thead|tbody|tfoot|tr|th|td|br|code|time|details|summary"
)
ATTRIBUTE = re.compile(
    "lang|charset|http-equiv|content|name|rel|href|id|class|aria-label|scope|dir|datetime|data-head"
)


class Page(HTMLParser):
    """The elements of a page, its tables, and its text. Each element has to be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        """By the anchor of their section; several in one section are one after the other."""
        self.texts: list[str] = []
        self.sentence = ""
        """What it says first."""
        self._open: list[str] = []
        self._section = ""
        self._in_sentence = False
        self._cell: list[str] | None = None
        self.feed(text)
        self.close()
        assert self._open == []

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "section":
            self._section = attributes["id"] or ""
        self._in_sentence = attributes.get("class") == "sentence"
        if tag == "tr":
            self.tables.setdefault(self._section, []).append([])
        if tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        self._in_sentence = False
        if tag in ("td", "th") and self._cell is not None:
            self.tables[self._section][-1].append(" ".join(" ".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.texts.append(data)
        if self._cell is not None:
            self._cell.append(data)
        if self._in_sentence:
            self.sentence += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of that name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def figures(self, section: str) -> dict[str, list[str]]:
        """The cells of the rows of a section's table, by the first."""
        return {row[0]: row[1:] for row in self.tables[section]}


def text_of(
    entries: Iterable[Entry], *damages: str, title: str = "", hosts: Sequence[str] = ()
) -> str:
    summary = Summary(hosts)
    for entry in entries:
        summary.add(entry)
    log = LogReader([Path("audit.jsonl")])
    for damage in damages:
        log.report(LogState.DAMAGED, damage)
    log.lines, log.last, log.is_readable = summary.totals.lines, Link(1, "5f" * 32), True
    return page(summary, log, title)


def page_of(entries: Iterable[Entry], *damages: str, hosts: Sequence[str] = ()) -> Page:
    return Page(text_of(entries, *damages, hosts=hosts))


def assert_harmless(found: Page) -> None:
    for tag, attributes in found.elements:
        assert ELEMENT.fullmatch(tag)
        assert all(map(ATTRIBUTE.fullmatch, attributes))
    assert {(each["href"] or "")[0] for each in found.all("a")} == {"#"}
    assert [each["href"] for each in found.all("link")] == ["data:,"]
