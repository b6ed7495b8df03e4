"""What a site reserves by the TDM Reservation Protocol: in a file, in headers, in a page.

https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/ is the final report of the W3C
community group. ``tdm-reservation`` 1 reserves mining, 0 does not, and any other value is as if
there were none; ``tdm-policy`` is the URL of a policy, under which it may be allowed all the same.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_robots_plus.protocol.dialect import RFC9309
from scrapy_robots_plus.protocol.rules.matcher import Matcher
from scrapy_robots_plus.protocol.rules.pattern import NO_RANK, line_of, rank_of
from scrapy_robots_plus.protocol.rules.rules import path_in_form

from .in_file import in_form
from .statements import Preference, Source, Statement
from .vocabulary import CURRENT, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable

RESERVATION, POLICY = "tdm-reservation", "tdm-policy"

_WORDS = {"1": Preference.DISALLOW, "0": Preference.ALLOW}
_NUMBERS: dict[float, Preference] = {1: Preference.DISALLOW, 0: Preference.ALLOW}
_LONGEST_NUMBER = 9


class _Rule(NamedTuple):
    """An object of the file, as far as it matters."""

    location: bytes
    reservation: Preference
    policy: str | None
    text: str


class TdmFile:
    """A ``/.well-known/tdmrep.json`` (W3C's TDMRep): the first rule whose location matches counts.

    A location is a path as in a robots.txt, with ``*`` and ``$``. What is no list of rules has
    none; a rule without a location that begins with ``/`` or ``*`` matches nothing, and one whose
    reservation is neither 0 nor 1 leaves the preference unknown. Never raises; takes time in
    proportion to the length of the file.
    """

    __slots__ = ("_best", "_rules")

    def __init__(self, body: bytes) -> None:
        self._rules = _rules_in(body)
        paths = [
            (_in_form(each.location), rank_of(0, index, True))
            for index, each in enumerate(self._rules)
        ]
        self._best = Matcher({}, paths, True).best

    def __bool__(self) -> bool:
        return bool(self._rules)

    def statements(
        self, url: str | bytes, vocabulary: Vocabulary = CURRENT
    ) -> tuple[Statement, ...]:
        """What the file says about the use of a URL, absolute or a path and query."""
        path = path_in_form(url, RFC9309).replace(b"*", b"%2A").replace(b"$", b"%24")
        rank = self._best(path)
        if rank == NO_RANK:
            return ()
        rule = self._rules[line_of(rank)]
        return _said(Source.TDM_FILE, rule.reservation, rule.text, rule.policy, vocabulary)


@lru_cache(maxsize=32)
def tdm_file(body: bytes) -> TdmFile:
    """The file with this *body*; those that are in use are kept parsed."""
    return TdmFile(body)


def tdm_statements(
    source: Source,
    reservations: Iterable[str],
    policies: Iterable[str],
    vocabulary: Vocabulary = CURRENT,
) -> tuple[Statement, ...]:
    """What headers or meta tags of these values say: *source* is which of both. Never raises.

    Goes by W3C's TDMRep. If one of several values reserves, that counts.
    """
    values = [part.strip() for each in reservations for part in each.split(",")]
    policy = next((each.strip() for each in policies if each.strip()), None)
    if not values and policy is None:
        return ()
    known = {_WORDS.get(each, Preference.UNKNOWN) for each in values}
    text = f"{RESERVATION}: {', '.join(values)}" if values else f"{POLICY}: {policy}"
    if Preference.DISALLOW in known:
        said = Preference.DISALLOW
    else:
        said = Preference.ALLOW if known == {Preference.ALLOW} else Preference.UNKNOWN
    return _said(source, said, text, policy, vocabulary)


def _said(
    source: Source, said: Preference, text: str, policy: str | None, vocabulary: Vocabulary
) -> tuple[Statement, ...]:
    return tuple(
        Statement(category, said, source, text, policy=policy) for category in vocabulary.mining
    )


def _in_form(location: bytes) -> bytes:
    """A path-pattern as others are compared. Of ``*`` and ``$``, a location means those of a URL by
    their escapes, or by a ``$`` that is not at its end."""
    path = in_form(location, RFC9309)
    return path[:-1].replace(b"$", b"%24") + path[-1:]


def _rules_in(body: bytes) -> list[_Rule]:
    try:
        found = json.loads(body, parse_int=_number)
        rules = found if isinstance(found, list) else []
        return [_rule(each) for each in rules if isinstance(each, dict) and _is_path(each)]
    except (ValueError, RecursionError):
        return []


def _is_path(rule: dict[str, Any]) -> bool:
    location = rule.get("location")
    return isinstance(location, str) and location.startswith(("/", "*"))


def _rule(served: dict[str, Any]) -> _Rule:
    reservation: Any = served.get(RESERVATION)
    policy = served.get(POLICY)
    # Not isinstance: a bool is an int.
    said = _NUMBERS.get(reservation) if type(reservation) in (int, float) else None
    kept = {key: served[key] for key in ("location", RESERVATION, POLICY) if key in served}
    return _Rule(
        served["location"].encode("utf-8", "surrogatepass"),
        said or Preference.UNKNOWN,
        policy if isinstance(policy, str) and policy else None,
        json.dumps(kept, ensure_ascii=False),
    )


def _number(digits: str) -> int:
    """A number that is too long for any meaning would take quadratic time."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else -1
