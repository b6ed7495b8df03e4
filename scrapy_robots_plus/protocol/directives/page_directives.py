"""What a page asks of one crawler, by X-Robots-Tag headers and robots meta tags together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.protocol.product_token import names_of, token_in

from .page_statements import (
    IMAGE_PREVIEWS,
    MAX_IMAGE_PREVIEW,
    MAX_SNIPPET,
    MAX_VIDEO_PREVIEW,
    NOFOLLOW,
    NOINDEX,
    PLAIN,
    UNAVAILABLE_AFTER,
    PageStatement,
    moment_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy_robots_plus.protocol.product_token import Agent


@dataclass(frozen=True, slots=True)
class PageDirectives:
    """What a page asks of one crawler, as Google documents: what it says to all and what it says
    to this one count together, and of contradicting directives the most restrictive.
    """

    statements: tuple[PageStatement, ...] = ()
    """What counts for this crawler, in the order of headers and page, each once."""

    @classmethod
    def of(cls, statements: Iterable[PageStatement], agent: Agent) -> PageDirectives:
        """Those of the *statements* that count for a crawler that goes by *agent*: those for all,
        and those for any of its names."""
        names = frozenset(chain(*names_of(agent)))
        return cls(tuple(dict.fromkeys(each for each in statements if _is_for(names, each.agent))))

    def __bool__(self) -> bool:
        return bool(self.statements)

    def says(self, directive: str) -> PageStatement | None:
        """The statement with *directive*, such as ``noarchive``, that decides: the most restrictive
        value, the first of equal ones. None if there is none."""
        said = (each for each in self.statements if each.directive == directive)
        return min(said, key=lambda each: _rank(directive, each.value), default=None)

    @property
    def directives(self) -> dict[str, str]:
        """Every directive that counts, in a fixed order, with its value; empty if it takes none."""
        return {name: each.value for name, each in self._deciding()}

    def as_json(self) -> dict[str, dict[str, str]]:
        """The same with what decides: its ``value``, its ``source``, and its ``text``, as in a
        :class:`PageStatement`."""
        return {
            name: {"value": each.value, "source": each.source.value, "text": each.text}
            for name, each in self._deciding()
        }

    @property
    def unavailable_after(self) -> float | None:
        """From when on the page counts as ``noindex``: seconds since 1970. None if never."""
        said = self.says(UNAVAILABLE_AFTER)
        return None if said is None else moment_in(said.value)

    def _deciding(self) -> Iterator[tuple[str, PageStatement]]:
        for name in _ORDER if self.statements else ():
            statement = self.says(name)
            if statement is not None:
                yield name, statement

    def against_following(self) -> PageStatement | None:
        """The statement because of which links of the page are not to be followed, if any:
        ``nofollow`` or ``none``."""
        return self.says(NOFOLLOW)

    def against_indexing(self, now: float) -> PageStatement | None:
        """The statement because of which the page is not to be used, if any: ``noindex``, ``none``,
        or an ``unavailable_after`` that is over *now*, in seconds since 1970."""
        ends = self.unavailable_after
        over = ends is not None and ends <= now
        return self.says(NOINDEX) or (self.says(UNAVAILABLE_AFTER) if over else None)


def _is_for(names: frozenset[str], agent: str) -> bool:
    return not agent or agent in names or token_in(agent) in names


def _number(value: str) -> float:
    return inf if value == "-1" else int(value)


_ORDER = (*PLAIN, UNAVAILABLE_AFTER, MAX_SNIPPET, MAX_IMAGE_PREVIEW, MAX_VIDEO_PREVIEW)
_RANKS: dict[str, Callable[[str], Any]] = {
    UNAVAILABLE_AFTER: moment_in,
    MAX_SNIPPET: _number,
    MAX_IMAGE_PREVIEW: IMAGE_PREVIEWS.index,
    MAX_VIDEO_PREVIEW: _number,
}


def _rank(directive: str, value: str) -> Any:
    """The smaller, the more restrictive."""
    return _RANKS.get(directive, str)(value)
