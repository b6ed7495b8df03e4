"""The values of Content-Usage and Content-Signal: which preference for which category."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .statements import Preference
from .structured_fields import StructuredFieldError, tokens_in
from .vocabulary import CURRENT, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

Stated = dict[str, Preference]
"""Preferences by category, as one value states them."""

USAGE_TOKENS = {"y": Preference.ALLOW, "n": Preference.DISALLOW}
SIGNAL_WORDS = {"yes": Preference.ALLOW, "no": Preference.DISALLOW}


class UsageRule(NamedTuple):
    """The value of a Content-Usage line: for which paths, and what."""

    path: bytes
    """A path-pattern as served; empty for all paths."""
    value: bytes
    """The Dictionary."""


def usage_rule(value: bytes) -> UsageRule:
    """Splits the value of a line: a path, if there is one, begins with ``/`` and ends before the
    first space or tab (draft-ietf-aipref-attach-05, "Processing Content-Usage Rules")."""
    if not value.startswith(b"/"):
        return UsageRule(b"", value)
    path = value.replace(b"\t", b" ").partition(b" ")[0]
    return UsageRule(path, value[len(path) :].lstrip(b" \t"))


def usage(value: bytes, vocabulary: Vocabulary = CURRENT) -> Stated:
    """What a Dictionary states (draft-ietf-aipref-vocab-08, "Processing Algorithm").

    The Token ``y`` allows, ``n`` disallows; a key with another value is unknown, and keys that are
    not in the vocabulary are ignored. If the value cannot be parsed, all is unknown.
    """
    try:
        found = tokens_in(value)
    except StructuredFieldError:
        return dict.fromkeys(vocabulary.labels, Preference.UNKNOWN)
    return {
        label: USAGE_TOKENS.get(found[label] or "", Preference.UNKNOWN)
        for label in vocabulary.labels
        if label in found
    }


def signal_parts(value: bytes) -> Iterator[tuple[str, str]]:
    """Keys and values of Content-Signal, in lower case: ``search=yes, ai-train=no``. What has no
    ``=`` has no value."""
    for part in value.decode("utf-8", "backslashreplace").split(","):
        key, _, said = part.partition("=")
        if part.strip():
            yield key.strip().lower(), said.strip().lower()


def signals(value: bytes, vocabulary: Vocabulary = CURRENT) -> Iterator[tuple[str, Preference]]:
    """What a Content-Signal states (contentsignals.org): ``yes`` allows, ``no`` disallows, a key
    with another value is unknown, and keys that nobody has defined are ignored. ``use=reference``
    allows ``use=immediate`` and ``use=reference``, and disallows ``use=full``."""
    for key, said in signal_parts(value):
        if key in vocabulary.signals:
            yield vocabulary.signals[key], SIGNAL_WORDS.get(said, Preference.UNKNOWN)
        elif key in vocabulary.levels:
            levels = vocabulary.levels[key]
            most = levels.index(said) if said in levels else -1
            if most < 0:
                yield key, Preference.UNKNOWN
                continue
            for each, level in enumerate(levels):
                yield f"{key}={level}", Preference.ALLOW if each <= most else Preference.DISALLOW
