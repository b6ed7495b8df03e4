"""Text of a remote site, made safe to show in a terminal, a log line or a table."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0 with ESC and line ends, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # change the direction of what follows
    "\u2028\u2029\ufeff"  # line ends, byte order mark
    "\ud800-\udfff"  # surrogates: a stream that writes UTF-8 fails on them
    "]"
)


def printable(text: object, most: int | None = None) -> str:
    """*text* with its control characters written as Python writes them: ``\\x1b``, ``\\u202e``.

    A terminal obeys such characters, and some of them forge log lines. All else stays as it is;
    after *most* characters ``...`` stands for the rest.
    """
    shown = str(text)
    if most is not None and len(shown) > most:
        shown = f"{shown[:most]}..."
    return _UNPRINTABLE.sub(_escaped, shown)


def _escaped(match: re.Match[str]) -> str:
    return ascii(match.group())[1:-1]
