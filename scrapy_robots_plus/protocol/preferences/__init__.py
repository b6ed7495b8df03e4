"""A site's preferences for the use of its pages: in robots.txt, in headers, in directives.

Here are the uses, statements about them, and the combination of several statements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scrapy_robots_plus.protocol.printable import Word, printable

_SHOWN = 200
"""The number of characters of a statement's text that are handed on."""


VOCABULARY = "draft-ietf-aipref-vocab-08"
"""The Internet-Draft that defines :data:`LABELS`, with its version."""

TRAINING = "train-ai"
"""The training of generative AI models (Internet-Draft draft-ietf-aipref-vocab): what ``noai``, a
reservation of mining (TDM Reservation Protocol) and a group for a usage-control token are about."""

LABELS = (
    TRAINING,
    "ai-use",  # use by generative AI models, other than what their user gives them
    "search",  # search that leads its users to the content
)
"""All uses that a preference can be stated for, as Content-Usage and settings name them
(Internet-Draft draft-ietf-aipref-vocab)."""

SIGNALS = {"ai-train": TRAINING, "ai-input": "ai-use", "search": "search"}
"""The keys of Content-Signal (contentsignals.org, 2025-09-24), each with the use in the
Internet-Draft that it is about."""

LEVELS = {"use": ("immediate", "reference", "full")}
"""The keys of Content-Signal whose values are not ``yes`` or ``no``, each with its possible values,
from the least use to the most (contentsignals.org, 2026). Each value is a use that no
Internet-Draft has, such as ``use=full``: it allows itself and those before, disallows the rest."""


class Preference(Word):
    """A site's preference for one use.

    See "Statements of Preference" in the Internet-Draft draft-ietf-aipref-vocab.
    """

    ALLOW = "allow"
    """The use is wanted, or accepted."""
    DISALLOW = "disallow"
    """The use is not wanted."""
    UNKNOWN = "unknown"
    """The preference is unknown: this grants nothing and restricts nothing."""


class Source(Word):
    """The place of a statement. Its value is the name in stamps and logs."""

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
        """Whether the statement comes with the response: in a header, or in a tag of the page."""
        return not self.value.startswith("robots.txt") and self is not Source.TDM_FILE


class Statement(NamedTuple):
    """One source's statement about one use (Internet-Draft draft-ietf-aipref-vocab)."""

    category: str
    """The use: a label of the vocabulary, such as ``train-ai``, or one that only Content-Signal
    has, such as ``use`` or ``use=full``."""
    preference: Preference
    """Whether the page may be so used. Unknown if the source says neither, or is unclear."""
    source: Source
    """The place of the statement."""
    text: str
    """The line, the header or the directive, as served. Escape it before printing."""
    line: int | None = None
    """The line number in the robots.txt, counted from 1; None for other sources."""
    policy: str | None = None
    """The URL of a policy for mining, as served (``tdm-policy``); None if there is none."""

    def describe(self) -> str:
        """Returns the statement in words.

        E.g. ``train-ai: disallow (line 3: Content-Usage: train-ai=n)``. Safe to print: control
        characters are escaped, and long texts are cut short.
        """
        where = f"line {self.line}" if self.line else str(self.source)
        return f"{printable(self.category)}: {self.preference} ({where}: {self._shown})"

    def as_dict(self) -> dict[str, str | int | None]:
        """Returns all fields but ``policy`` by name, as JSON values; the text is safe to print."""
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


def first_of_each(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Returns the first of those statements of a source that say the same about a use.

    A hostile file could say it a thousand times.
    """
    first: dict[tuple[str, Preference, Source], Statement] = {}
    for each in statements:
        first.setdefault((each.category, each.preference, each.source), each)
    return tuple(first.values())


_OVERRULING = (Source.TDM_FILE, Source.TDM_HEADER, Source.TDM_META)
"""The sources of which only the last that says something counts (TDM Reservation Protocol,
"Processing priority")."""


class Preferences(NamedTuple):
    """The preferences for one page, and who states them. Made by :func:`combine`.

    If any statement disallows a use, it is disallowed; otherwise, if any allows it, it is allowed;
    otherwise its preference is unknown (Internet-Draft draft-ietf-aipref-vocab, "Combining
    Preferences"). It is true if there is any statement, even one that leaves a use unknown.
    """

    statements: tuple[Statement, ...]
    """All statements, in the order given."""

    def __bool__(self) -> bool:
        return bool(self.statements)

    def of(self, category: str) -> Preference:
        """Returns the preference for a use, by its label; unknown if no statement decides."""
        decisive = self.decisive(category)
        return decisive.preference if decisive else Preference.UNKNOWN

    def decisive(self, category: str) -> Statement | None:
        """Returns the first statement that says what :meth:`of` says; None if that is unknown."""
        found = self._first(category, Preference.DISALLOW)
        return found or self._first(category, Preference.ALLOW)

    def by_category(self) -> dict[str, Preference]:
        """Returns the preference for each use of the vocabulary."""
        return {label: self.of(label) for label in LABELS}

    def objection(self, uses: Iterable[str]) -> Statement | None:
        """Returns the first statement that disallows one of *uses*; None if nobody objects."""
        found = (self._first(use, Preference.DISALLOW) for use in uses)
        return next(filter(None, found), None)

    @property
    def tdm_policy(self) -> str | None:
        """The URL of the policy for mining that counts, as served (TDM Reservation Protocol).

        None if there is none, or if mining is not reserved.
        """
        known = [each for each in self.statements if each.source in _OVERRULING]
        if any(each.preference is Preference.ALLOW for each in known):
            return None
        known.sort(key=lambda each: _OVERRULING.index(each.source))
        return next((each.policy for each in reversed(known) if each.policy), None)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """The uses that one statement allows and another disallows; they count as disallowed."""
        both = (Preference.ALLOW, Preference.DISALLOW)
        return tuple(use for use in LABELS if all(self._first(use, each) for each in both))

    def as_dict(self) -> dict[str, object]:
        """Returns the vocabulary's version, the preferences and the statements, as JSON values."""
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
    """Combines statements of any number of sources (Internet-Draft draft-ietf-aipref-vocab).

    A reservation of mining that another one overrules is kept, but leaves the preference unknown
    (TDM Reservation Protocol).
    """
    stated = tuple(statements)
    known = {each.source for each in stated if each.preference is not Preference.UNKNOWN}
    overruled = [each for each in _OVERRULING if each in known][:-1]
    in_force = [
        each._replace(preference=Preference.UNKNOWN) if each.source in overruled else each
        for each in stated
    ]
    return Preferences(tuple(in_force))
