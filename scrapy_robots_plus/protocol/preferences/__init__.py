"""What a site says about the use of its pages: by robots.txt, by headers, by directives.

Here is what pages may be used for, what somebody says about it, and several statements together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.printable import Word, printable

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.fields import Line

_SHOWN = 200
"""Characters of the text of a statement that are handed on."""


VOCABULARY = "draft-ietf-aipref-vocab-08"
"""The Internet-Draft whose labels these are, with its version."""

TRAINING = "train-ai"
"""The use that ``noai``, a reservation of mining (TDM Reservation Protocol) and a group for a
usage-control token are about: training of generative AI models (Internet-Draft
draft-ietf-aipref-vocab)."""

LABELS = (
    TRAINING,
    "ai-use",  # use by generative AI models, other than what their user gives them
    "search",  # search that leads its users to the content
)
"""All uses that a preference can be stated for, as Content-Usage and settings name them
(Internet-Draft draft-ietf-aipref-vocab)."""

SIGNALS = {"ai-train": TRAINING, "ai-input": "ai-use", "search": "search"}
"""Keys of Content-Signal (contentsignals.org, 2025-09-24), each with the use in the Internet-Draft
that it is about."""

LEVELS = {"use": ("immediate", "reference", "full")}
"""Keys of Content-Signal whose values are not ``yes`` or ``no``, each with the values there are,
from the least use to the most (contentsignals.org, 2026). Each value is a use of its own that no
Internet-Draft has, ``use=full``: a site that names one allows it and those before it, and disallows
those behind it."""


class Preference(Word):
    """What is preferred for one use (Internet-Draft draft-ietf-aipref-vocab, "Statements of
    Preference")."""

    ALLOW = "allow"
    """The use is wanted, or accepted."""
    DISALLOW = "disallow"
    """The use is not wanted."""
    UNKNOWN = "unknown"
    """Nothing is known: this grants nothing and restricts nothing."""


class Source(Word):
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


class Statement(NamedTuple):
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


_OVERRULING = (Source.TDM_FILE, Source.TDM_HEADER, Source.TDM_META)
"""Of these, only the last that says something counts (TDM Reservation Protocol, "Processing
priority")."""


class Preferences(NamedTuple):
    """What is preferred for one page, and who says so. Made by :func:`combine`.

    If any statement disallows a use, it is disallowed; otherwise, if any allows it, it is allowed;
    otherwise its preference is unknown (Internet-Draft draft-ietf-aipref-vocab, "Combining
    Preferences"). It is true if there is any statement, be it one that leaves a use unknown.
    """

    statements: tuple[Statement, ...]
    """All of them, in the order given."""

    def __bool__(self) -> bool:
        return bool(self.statements)

    def of(self, category: str) -> Preference:
        """The preference for a use, by its label; unknown for a label that the vocabulary does not
        have."""
        decisive = self.decisive(category)
        return decisive.preference if decisive else Preference.UNKNOWN

    def decisive(self, category: str) -> Statement | None:
        """The first statement that says what :meth:`of` says; None if the preference is unknown."""
        found = self._first(category, Preference.DISALLOW)
        return found or self._first(category, Preference.ALLOW)

    def by_category(self) -> dict[str, Preference]:
        """The preference for each use of the vocabulary."""
        return {label: self.of(label) for label in LABELS}

    def objection(self, uses: Iterable[str]) -> Statement | None:
        """The first statement that disallows one of *uses*; None if nobody objects."""
        found = (self._first(use, Preference.DISALLOW) for use in uses)
        return next(filter(None, found), None)

    @property
    def tdm_policy(self) -> str | None:
        """The URL of the policy for mining that counts, as served; None if there is none, or if
        mining is not reserved (TDM Reservation Protocol)."""
        known = [each for each in self.statements if each.source in _OVERRULING]
        if any(each.preference is Preference.ALLOW for each in known):
            return None
        known.sort(key=lambda each: _OVERRULING.index(each.source))
        return next((each.policy for each in reversed(known) if each.policy), None)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Uses that one statement allows and another disallows; they count as disallowed."""
        said = {(each.category, each.preference) for each in self.statements}
        both = (Preference.ALLOW, Preference.DISALLOW)
        return tuple(use for use in LABELS if said.issuperset((use, each) for each in both))

    def as_dict(self) -> dict[str, object]:
        """What JSON can hold: the version of the vocabulary, the preferences, the statements."""
        return {
            "vocabulary": VOCABULARY,
            "preferences": {label: each.value for label, each in self.by_category().items()},
            "statements": [statement.as_dict() for statement in self.statements],
        }

    def _first(self, category: str, preference: Preference) -> Statement | None:
        wanted = category, preference
        found = (each for each in self.statements if (each.category, each.preference) == wanted)
        return next(found, None)


def combine(statements: Iterable[Statement]) -> Preferences:
    """Takes statements of any number of sources together (Internet-Draft
    draft-ietf-aipref-vocab). A reservation of mining that another one overrules is kept as one that
    leaves the preference unknown (TDM Reservation Protocol)."""
    return Preferences(_in_force(tuple(statements)))


def _in_force(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    known = {each.source for each in statements if each.preference is not Preference.UNKNOWN}
    overruled = [each for each in _OVERRULING if each in known][:-1]
    if not overruled:
        return statements
    return tuple(
        each._replace(preference=Preference.UNKNOWN) if each.source in overruled else each
        for each in statements
    )
