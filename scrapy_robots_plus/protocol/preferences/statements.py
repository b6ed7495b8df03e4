"""What somebody says about one use of content, and where it is said."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.lines import Line

_SHOWN = 200
"""Characters of the text of a statement that are handed on."""


class Preference(str, Enum):
    """What is preferred for one use (Internet-Draft draft-ietf-aipref-vocab, "Statements of
    Preference")."""

    ALLOW = "allow"
    """The use is wanted, or accepted."""
    DISALLOW = "disallow"
    """The use is not wanted."""
    UNKNOWN = "unknown"
    """Nothing is known: this grants nothing and restricts nothing."""

    def __str__(self) -> str:
        return self.value


class Source(str, Enum):
    """Where a statement stands. Its value is the name that a stamp and a log have for it."""

    CONTENT_USAGE = "robots.txt Content-Usage"
    """A line of a robots.txt group (Internet-Draft draft-ietf-aipref-attach)."""
    CONTENT_SIGNAL = "robots.txt Content-Signal"
    """A line of a robots.txt group (contentsignals.org)."""
    USE_TOKEN = "robots.txt group"  # noqa: S105 - a product token is no secret
    """A group for a token that no crawler fetches with, such as Google-Extended."""
    CONTENT_USAGE_HEADER = "Content-Usage header"
    """A response header (Internet-Draft draft-ietf-aipref-attach)."""
    CONTENT_SIGNAL_HEADER = "Content-Signal header"
    """A response header (contentsignals.org)."""
    X_ROBOTS_TAG = "X-Robots-Tag"
    """A response header (DeviantArt's ``noai`` and ``noimageai``)."""
    META_ROBOTS = "meta robots"
    """``<meta name="robots">`` in a page."""
    TDM_FILE = "tdmrep.json"
    """A rule in ``/.well-known/tdmrep.json`` (TDM Reservation Protocol)."""
    TDM_HEADER = "tdm-reservation header"
    """A response header (TDM Reservation Protocol)."""
    TDM_META = "meta tdm-reservation"
    """``<meta name="tdm-reservation">`` in a page (TDM Reservation Protocol)."""

    @property
    def is_of_page(self) -> bool:
        """Whether it is known only with the response: a header, or a tag in the page."""
        return not self.value.startswith("robots.txt") and self is not Source.TDM_FILE

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Statement:
    """What one source says about one use (Internet-Draft draft-ietf-aipref-vocab)."""

    category: str
    """The use: a label of the vocabulary, such as ``train-ai``, or a key of Content-Signal that is
    about none of them, such as ``use``."""
    preference: Preference
    """Whether it may be so used. Unknown if the source has something else to say about it, or
    cannot be understood."""
    source: Source
    """Where it stands."""
    text: str
    """As served: the line, the header or the directive. Escape it before printing."""
    line: int | None = None
    """Its line in the robots.txt, counted from 1; None for other sources."""
    policy: str | None = None
    """The URL of a policy for mining, as served (``tdm-policy``); None if there is none."""

    def describe(self) -> str:
        """In words, e.g. ``train-ai: disallow (line 3: Content-Usage: train-ai=n)``.

        Safe to print: control characters are escaped, and long texts are cut short.
        """
        where = f"line {self.line}" if self.line else str(self.source)
        return f"{printable(self.category)}: {self.preference} ({where}: {self._shown})"

    def as_dict(self) -> dict[str, str | int | None]:
        """Its fields by name, as values that JSON has; the text is safe to print."""
        return {
            "category": self.category,
            "preference": self.preference.value,
            "source": self.source.value,
            "text": self._shown,
            "line": self.line,
        }

    @property
    def _shown(self) -> str:
        return printable(self.text, _SHOWN)


def of_line(
    line: Line, source: Source, stated: Iterable[tuple[str, Preference]]
) -> Iterator[Statement]:
    """What a line of a robots.txt states: pairs of category and preference."""
    served = f"{text(line.key)}: {text(line.value)}"
    for category, preference in stated:
        yield Statement(category, preference, source, served, line.number)


def first_of_each(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Of those of a source that say the same about a use, only the first: a hostile file could
    say it a thousand times."""
    first: dict[tuple[str, Preference, Source], Statement] = {}
    for each in statements:
        first.setdefault((each.category, each.preference, each.source), each)
    return tuple(first.values())
