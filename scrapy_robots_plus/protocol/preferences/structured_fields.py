"""Structured fields: the part of RFC 9651 that Content-Usage needs.

The grammar has no recursion, so a member is one regular expression. Each piece of it can end in
only one place, so time grows with the length of the value. It is as strict as section 4.2, except
for escapes in a Display String, however the process is set up: the library ``http-sf`` accepts
upper-case keys wherever another package has set its ``COMPAT``, and refuses whole fields over a
date that Python cannot represent.
"""

from __future__ import annotations

import re

_KEY = rb"[a-z*][a-z0-9_.*-]*"
_TOKEN = rb"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*"
_CHARACTER = rb'(?: [^\x00-\x1f\x7f-\xff"%] | %[0-9a-f]{2} )'
"""A character of a Display String (4.2.10): ASCII, or an escape, whether or not it is UTF-8."""
_ITEM = rb"""(?:
    %b
    | -?(?: [0-9]{1,12}\.[0-9]{1,3} | [0-9]{1,15} )
    | "[^\x00-\x1f\x7f-\xff"\\]*(?: \\["\\][^\x00-\x1f\x7f-\xff"\\]* )*"
    | :(?: (?:[A-Za-z0-9+/]{4})* [A-Za-z0-9+/]{2,4} ={0,2} )?:
    | \?[01]
    | @-?[0-9]{1,15}
    | %%"%b*"
)""" % (_TOKEN, _CHARACTER)
"""A bare item (4.2.3.1) of any type. In a Byte Sequence, padding may be missing, and the bits that
do not fill an octet may be anything (4.2.7)."""
_PARAMETERS = rb"(?: ;[ ]* %b (?: = %b )? )*" % (_KEY, _ITEM)
_VALUE = rb"(?: %b | \( [ ]* (?: %b %b (?: [ ]+ | (?=\)) ) )* \) )" % (_ITEM, _ITEM, _PARAMETERS)
"""An item or an inner list (4.2.1.2)."""
_COMMA = rb"[ \t]* (?P<comma> , [ \t]* )?"

# Compiled when it is first needed, and cached by ``re``: most crawls never need it.
_MEMBER = rb"(?P<key> %b ) (?: = (?: (?P<token> %b ) | %b ) )? %b %b" % (
    _KEY,
    _TOKEN,
    _VALUE,
    _PARAMETERS,
    _COMMA,
)


def tokens_in(value: bytes) -> dict[str, str | None]:
    """Returns the keys of a Dictionary, each with its value if that is a Token (RFC 9651 3.3.4).

    A value of any other type is None. Parameters are left out; the last of equal keys counts
    (4.2.2). Raises ValueError for what is not a Dictionary: all of it is to be ignored (4.2).
    """
    found: dict[str, str | None] = {}
    match = re.compile(_MEMBER, re.VERBOSE).match
    at = len(value) - len(value.lstrip(b" "))
    while at < len(value):
        member = match(value, at)
        # A comma stands between two members, and not behind the last one.
        if member is None or bool(member["comma"]) is not (member.end() < len(value)):
            raise ValueError(f"no Dictionary: unexpected octet behind {at}")
        key, token = member.group("key", "token")
        found[key.decode()] = token.decode() if token else None
        at = member.end()
    return found
