"""Structured fields: the part of RFC 9651 that Content-Usage needs, a Dictionary and its Tokens.

The grammar has no recursion, so each piece of it is one regular expression, tried in one place and
never again: time grows with the length of the value. It is as strict as section 4.2 says, however
the process is set up: the library ``http-sf`` accepts upper-case keys wherever another package has
set its ``COMPAT``, and refuses whole fields over a date that Python cannot represent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACES = re.compile(rb" *")
_BLANKS = re.compile(rb"[ \t]*")
_KEY = re.compile(rb"[a-z*][a-z0-9_.*-]*")
_ITEM = re.compile(
    rb"""
    (?P<token> [A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]* )
    | -?(?: [0-9]{1,12}\.[0-9]{1,3} | [0-9]{1,15} )
    | "[^\x00-\x1f\x7f-\xff"\\]*(?: \\["\\][^\x00-\x1f\x7f-\xff"\\]* )*"
    | :(?: (?:[A-Za-z0-9+/]{4})* [A-Za-z0-9+/]{2,4} ={0,2} )?:
    | \?[01]
    | @-?[0-9]{1,15}
    | %"(?P<text> (?: [^\x00-\x1f\x7f-\xff"%] | %[0-9a-f]{2} )* )"
    """,
    re.VERBOSE,
)
"""A bare item (4.2.3.1) of any type. Of octets, padding may be missing, and what does not fill the
last one may be anything (4.2.7)."""


class StructuredFieldError(ValueError):
    """A value that is not a Dictionary (RFC 9651 4.2.2): all of it is to be ignored (4.2)."""


def tokens_in(value: bytes) -> dict[str, str | None]:
    """The keys of a Dictionary, each with its value if that is a Token (RFC 9651 3.3.4); None for
    a value of any other type. Parameters are left out; the last of equal keys counts (4.2.2).

    Raises :class:`StructuredFieldError` for what is not a Dictionary.
    """
    members = _Reader(value).members(keyed=True)
    return {key.decode(): token for key, token, _ in members}


def items_in(value: bytes) -> list[tuple[bytes, dict[str, bytes]]]:
    """The members of a List (RFC 9651 3.1), each with its parameters, all as they stand there.

    Raises :class:`StructuredFieldError` for what is not a List.
    """
    return [(served, more) for served, _, more in _Reader(value).members(keyed=False)]


class _Reader:
    """Reads a value once, from left to right."""

    def __init__(self, value: bytes) -> None:
        self._value = value
        self._at = 0

    def members(self, *, keyed: bool) -> Iterator[tuple[bytes, str | None, dict[str, bytes]]]:
        """Yields the key of each member of a Dictionary (4.2.2), which is Boolean true without
        ``=``, or each member of a List as it stands there (4.2.1); its Token and its parameters.
        """
        self._take(_SPACES)
        while not self._ends():
            begin = self._at
            name = self._take(_KEY) if keyed else b""
            token = self._value_of_member() if not keyed or self._next(b"=") else None
            yield name or self._value[begin : self._at], token, self._parameters()
            self._separator()

    def _separator(self) -> None:
        self._take(_BLANKS)
        if self._ends():
            return
        if not self._next(b","):
            raise StructuredFieldError(f"no comma at octet {self._at}")
        self._take(_BLANKS)
        if self._ends():
            raise StructuredFieldError("a comma ends the value")

    def _value_of_member(self) -> str | None:
        if not self._next(b"("):
            return self._bare_item()
        self._inner_list()
        return None

    def _inner_list(self) -> None:
        """4.2.1.2, from behind the bracket."""
        self._take(_SPACES)
        while not self._next(b")"):
            self._bare_item()
            self._parameters()
            if not self._take(_SPACES) and not self._value.startswith(b")", self._at):
                raise StructuredFieldError("items of a list need a space between them")

    def _parameters(self) -> dict[str, bytes]:
        """4.2.3.2."""
        found = {}
        while self._next(b";"):
            self._take(_SPACES)
            key = self._take(_KEY).decode()
            begin = self._at
            if self._next(b"="):
                self._bare_item()
            found[key] = self._value[begin + 1 : self._at]
        return found

    def _bare_item(self) -> str | None:
        """4.2.3.1: the Token, if it is one."""
        token, text = self._match(_ITEM).group("token", "text")
        try:
            unquote_to_bytes(text or b"").decode()  # 4.2.10
        except UnicodeDecodeError:
            raise StructuredFieldError(f"not UTF-8 before octet {self._at}") from None
        return token.decode() if token else None

    def _ends(self) -> bool:
        return self._at == len(self._value)

    def _next(self, octet: bytes) -> bool:
        """Goes over *octet* if it is next."""
        found = self._value.startswith(octet, self._at)
        self._at += found
        return found

    def _take(self, pattern: re.Pattern[bytes]) -> bytes:
        return self._match(pattern)[0]

    def _match(self, pattern: re.Pattern[bytes]) -> re.Match[bytes]:
        match = pattern.match(self._value, self._at)
        if match is None:
            raise StructuredFieldError(f"unexpected octet at {self._at}")
        self._at = match.end()
        return match
