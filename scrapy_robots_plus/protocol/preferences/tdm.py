"""The reservations of a site by the TDM Reservation Protocol: in a file, in headers, in a page.

https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/ is the final report of the W3C
community group. ``tdm-reservation`` 1 reserves mining, 0 does not, and any other value is as if
there were none; ``tdm-policy`` is the URL of a policy, under which mining may still be allowed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from scrapy_robots_plus.protocol.dialect import RFC9309
from scrapy_robots_plus.protocol.escapes import path_in_form, url_form
from scrapy_robots_plus.protocol.matcher import NO_RANK, Matcher, line_of, rank_of

from . import TRAINING, Preference, Source, Statement
from .in_file import in_form

RESERVATION, POLICY = "tdm-reservation", "tdm-policy"

_WORDS = {"1": Preference.DISALLOW, "0": Preference.ALLOW}
_LONGEST_NUMBER = 9


class TdmFile:
    """A ``/.well-known/tdmrep.json`` (W3C's TDMRep): the first rule whose location matches counts.

    A location is a path as in a robots.txt, with ``*`` and ``$``. A file that is not a list has no
    rules; a rule without a location that begins with ``/`` or ``*`` matches nothing, and one whose
    reservation is neither 0 nor 1 leaves the preference unknown. Never raises; takes time in
    proportion to the length of the file.
    """

    __slots__ = ("_best", "_said")

    def __init__(self, body: bytes) -> None:
        rules = _rules_in(body)
        self._said = [said for _, said in rules]
        paths = [(path, rank_of(0, index, True)) for index, (path, _) in enumerate(rules)]
        self._best = Matcher({}, paths).best

    def __bool__(self) -> bool:
        return bool(self._said)

    def statements(self, url: str | bytes) -> tuple[Statement, ...]:
        """Returns what the file says about the use of a URL, absolute or a path and query."""
        path = path_in_form(url, url_form(RFC9309)).replace(b"*", b"%2A").replace(b"$", b"%24")
        rank = self._best(path)
        return () if rank == NO_RANK else (self._said[line_of(rank)],)


def tdm_statements(
    source: Source, reservations: Iterable[str], policies: Iterable[str]
) -> tuple[Statement, ...]:
    """Returns what headers or meta tags say, as *source* says which they are. Never raises.

    Follows W3C's TDMRep. If one of several values reserves, that counts.
    """
    values = [part.strip() for each in reservations for part in each.split(",")]
    policy = next((each.strip() for each in policies if each.strip()), None)
    if not values and policy is None:
        return ()
    known = {_WORDS.get(each, Preference.UNKNOWN) for each in values}
    text = f"{RESERVATION}: {', '.join(values)}" if values else f"{POLICY}: {policy}"
    said = Preference.DISALLOW
    if said not in known:
        said = known.pop() if len(known) == 1 else Preference.UNKNOWN
    return (Statement(TRAINING, said, source, text, policy=policy),)


def _rules_in(body: bytes) -> list[tuple[bytes, Statement]]:
    """Returns the paths in a file, each with the statement about it."""
    try:
        # One invalid character must not void an objection.
        text = body.decode(json.detect_encoding(body), "replace")
        # A long number would take quadratic time; its beginning tells that it is neither 0 nor 1.
        found = json.loads(text, parse_int=lambda digits: int(digits[:_LONGEST_NUMBER]))
        rules = found if isinstance(found, list) else []
        return [
            _rule(each["location"], each)
            for each in rules
            if isinstance(each, dict) and str(each.get("location")).startswith(("/", "*"))
        ]
    except (ValueError, RecursionError):
        return []


def _rule(location: str, served: dict[str, Any]) -> tuple[bytes, Statement]:
    # A location means a * or $ in a URL by its escape, or by a $ that is not at the end.
    path = in_form(location.encode("utf-8", "surrogatepass"), RFC9309)
    reservation: Any = served.get(RESERVATION)
    policy = served.get(POLICY)
    # Not isinstance: a bool is an int.
    is_number = type(reservation) in (int, float) and reservation in (0, 1)
    said = _WORDS[str(int(reservation))] if is_number else Preference.UNKNOWN
    policy = _writable(policy) if isinstance(policy, str) and policy else None
    kept = {key: served[key] for key in ("location", RESERVATION, POLICY) if key in served}
    text = _writable(json.dumps(kept, ensure_ascii=False))
    escaped = path[:-1].replace(b"$", b"%24") + path[-1:]
    return escaped, Statement(TRAINING, said, Source.TDM_FILE, text, policy=policy)


def _writable(text: str) -> str:
    """Returns *text* with lone surrogates, which JSON can name and no feed can hold, escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
