"""Makes text from a remote site safe to show in a terminal, a log line or a table."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0 with ESC and line ends, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # change the direction of what follows
    "\u2028\u2029\ufeff"  # line ends, byte order mark
    "\ud800-\udfff"  # surrogates: writing them to a UTF-8 stream fails
    "]"
)


def printable(text: object, most: int | None = None) -> str:
    """*text* with control characters escaped as in Python: ``\\x1b``, ``\\u202e``.

    A terminal obeys such characters, and some can forge log lines. Everything else stays unchanged.
    Text of more than *most* characters is cut and ends in ``...``.
    """
    shown = str(text) if most is None else cut(str(text), most)
    return _UNPRINTABLE.sub(_escaped, shown)


def cut(text: str, most: int) -> str:
    """*text*, or its first *most* characters and ``...``."""
    return text if len(text) <= most else f"{text[:most]}..."


def _escaped(match: re.Match[str]) -> str:
    return ascii(match.group())[1:-1]
