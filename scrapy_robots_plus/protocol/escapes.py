"""The path of a URL, and percent-escapes (RFC 9309 2.2.2, RFC 3986 6.2.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial

from . import rfc9309
from .dialect import Dialect

usual_url = re.compile(rb"https?://[^/?;#]+(/[^#]*)").match
"""Matches nearly every URL and captures path and query: :func:`path_of`, but faster."""

_HEAD = re.compile(rb"(?://)?(?:[^/?;]*?://)?[^/?;]*")
_KEPT = rfc9309.UNRESERVED | rfc9309.RESERVED - rfc9309.SENT_ESCAPED
SIMPLE = bytes(_KEPT - frozenset(b"*$#"))
"""Octets that no dialect changes or treats as special."""


def path_of(url: bytes) -> bytes:
    """Returns path and query of a URL, or of a path and query: what rules are matched against.

    Like the reference parser: without scheme, authority and fragment, and ``/`` for a URL without a
    path.
    """
    path = _HEAD.sub(b"", url.partition(b"#")[0], count=1)
    return path if path.startswith(b"/") else b"/" + path


Form = tuple[bytes, Callable[[bytes], bytes]]
"""A form for comparison: the octets that stay unchanged, and the function for other values."""

_ALL = frozenset(range(256))


@lru_cache(maxsize=16)
def _form(undone: frozenset[int], escaped: frozenset[int]) -> Form:
    """Returns the form that undoes escapes of *undone* octets and makes those of *escaped* ones.

    Other escapes are put in upper case.
    """
    changed = rb"%[0-9A-Fa-f]{2}"
    if escaped:
        changed += rb"|[" + re.escape(bytes(escaped)) + rb"]"

    def one_form(match: re.Match[bytes]) -> bytes:
        found = match.group()
        if len(found) == 1:
            return b"%%%02X" % ord(found)
        octet = int(found[1:], 16)
        return bytes((octet,)) if octet in undone else found.upper()

    return bytes(_ALL - escaped - {ord("%")}), partial(re.compile(changed).sub, one_form)


_NORMAL = _form(rfc9309.UNRESERVED, _ALL - _KEPT - {ord("%")})
"""The one form of everything that 2.2.2 treats as equal: ``%7E`` is ``~``, ``%c3`` is ``%C3``, and
an octet that no URI may contain, or that clients send escaped, is its escape."""
_AS_SERVED: Form = (bytes(_ALL), bytes)

_UPPER = _form(frozenset(), frozenset(range(128, 256)))


def rule_form(dialect: Dialect) -> Form:
    """Returns the form in which the rules of a dialect are compared."""
    return _UPPER if url_form(dialect) is _AS_SERVED else url_form(dialect)


def url_form(dialect: Dialect) -> Form:
    """Returns the form in which the paths of URLs are compared."""
    if dialect.normal_escapes:
        return _NORMAL
    kept = frozenset(dialect.kept_escapes.encode())
    return _form(_ALL - kept, frozenset()) if kept else _AS_SERVED


def path_in_form(url: str | bytes, form: Form) -> bytes:
    """Returns the path and query of *url* in the form in which rules are compared with them."""
    octets = url.encode("utf-8", "surrogatepass") if isinstance(url, str) else url
    usual = usual_url(octets)
    path = usual[1] if usual else path_of(octets)
    return form[1](path) if path.translate(None, form[0]) else path
