"""A report, read as a browser without scripts would."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"br", "link", "meta"}


class Page(HTMLParser):
    """The elements of a page, its tables, and its text. Each element has to be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        """By the anchor of their section; several in one section are one after the other."""
        self.texts: list[str] = []
        self._open: list[str] = []
        self._section = ""
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
        if tag == "tr":
            self.tables.setdefault(self._section, []).append([])
        if tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag in ("td", "th") and self._cell is not None:
            self.tables[self._section][-1].append(" ".join(" ".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.texts.append(data)
        if self._cell is not None:
            self._cell.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of that name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def figures(self, section: str) -> dict[str, list[str]]:
        """The cells of the rows of a section's table, by the first."""
        return {row[0]: row[1:] for row in self.tables[section]}
