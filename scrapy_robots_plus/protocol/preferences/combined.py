"""Several statements about one page, taken together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .statements import Preference, Source, Statement
from .vocabulary import CURRENT, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable

_OVERRULING = (Source.TDM_FILE, Source.TDM_HEADER, Source.TDM_META)
"""Of these, only the last that says something counts (TDM Reservation Protocol, "Processing
priority")."""

_STRONGEST_FIRST = (Preference.DISALLOW, Preference.ALLOW)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One use that is both allowed and disallowed; it counts as disallowed (Internet-Draft
    draft-ietf-aipref-vocab, "Combining Preferences")."""

    allowed: Statement
    """The first that allows it."""
    disallowed: Statement
    """The first that disallows it."""

    @property
    def category(self) -> str:
        """The use."""
        return self.allowed.category

    def describe(self) -> str:
        """In words, safe to print: what contradicts what."""
        return f"{self.disallowed.describe()}, but {self.allowed.describe()}"


@dataclass(frozen=True, slots=True)
class Preferences:
    """What is preferred for one page, and who says so. Made by :func:`combine`.

    If any statement disallows a use, it is disallowed; otherwise, if any allows it, it is allowed;
    otherwise its preference is unknown (Internet-Draft draft-ietf-aipref-vocab, "Combining
    Preferences"). It is true if there is any statement, be it one that leaves a use unknown.
    """

    statements: tuple[Statement, ...]
    """All of them, in the order given."""
    vocabulary: Vocabulary
    """What the statements are about."""

    def __bool__(self) -> bool:
        return bool(self.statements)

    def of(self, category: str) -> Preference:
        """The preference for a use, by its label; unknown for a label that the vocabulary does not
        have."""
        decisive = self.decisive(category)
        return decisive.preference if decisive else Preference.UNKNOWN

    def decisive(self, category: str) -> Statement | None:
        """The first statement that says what :meth:`of` says; None if the preference is unknown."""
        wanted: str | None = category
        while wanted:
            for preference in _STRONGEST_FIRST:
                found = self._first(wanted, preference)
                if found:
                    return found
            wanted = self.vocabulary.parent(wanted)
        return None

    def by_category(self) -> dict[str, Preference]:
        """The preference for each use of the vocabulary."""
        return {label: self.of(label) for label in self.vocabulary.labels}

    def objection(self, uses: Iterable[str]) -> Statement | None:
        """The first statement that disallows one of *uses*; None if nobody objects."""
        found = (self.decisive(use) for use in uses)
        return next(
            (each for each in found if each and each.preference is Preference.DISALLOW), None
        )

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
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Uses that one statement allows and another disallows, each once."""
        return tuple(filter(None, map(self._contradiction, self.vocabulary.labels)))

    def _contradiction(self, label: str) -> Contradiction | None:
        allowed = self._first(label, Preference.ALLOW)
        disallowed = self._first(label, Preference.DISALLOW)
        return Contradiction(allowed, disallowed) if allowed and disallowed else None

    def as_dict(self) -> dict[str, object]:
        """What JSON can hold: the version of the vocabulary, the preferences, the statements."""
        return {
            "vocabulary": self.vocabulary.name,
            "preferences": {label: each.value for label, each in self.by_category().items()},
            "statements": [statement.as_dict() for statement in self.statements],
        }

    def _first(self, category: str, preference: Preference) -> Statement | None:
        matching = (
            each
            for each in self.statements
            if each.category == category and each.preference is preference
        )
        return next(matching, None)


def combine(statements: Iterable[Statement], vocabulary: Vocabulary = CURRENT) -> Preferences:
    """Takes statements of any number of sources together (Internet-Draft
    draft-ietf-aipref-vocab). A reservation of mining that another one overrules is kept as one that
    leaves the preference unknown (TDM Reservation Protocol)."""
    return Preferences(_in_force(tuple(statements)), vocabulary)


def _in_force(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    known = {each.source for each in statements if each.preference is not Preference.UNKNOWN}
    overruled = [each for each in _OVERRULING if each in known][:-1]
    if not overruled:
        return statements
    return tuple(
        replace(each, preference=Preference.UNKNOWN) if each.source in overruled else each
        for each in statements
    )
