"""A Dictionary as RFC 9651 section 4.2 parses it: its steps one after the other, octet by octet."""

from __future__ import annotations

import base64
import binascii

LOWER = b"abcdefghijklmnopqrstuvwxyz"
ALPHA = LOWER + LOWER.upper()
DIGITS = b"0123456789"
TOKEN = ALPHA + DIGITS + b"!#$%&'*+-.^_`|~:/"
HEX = b"0123456789abcdef"


class FailedError(Exception):
    """The RFC's "fail parsing"."""


class Input:
    """The octets that are not consumed yet."""

    def __init__(self, octets: bytes) -> None:
        self.left = list(octets)

    def first(self) -> int:
        return self.left[0] if self.left else -1

    def consume(self) -> int:
        if not self.left:
            raise FailedError
        return self.left.pop(0)

    def discard(self, octets: bytes) -> None:
        while self.left and self.left[0] in octets:
            self.left.pop(0)

    def first_is(self, octets: bytes) -> bool:
        return bool(self.left) and self.left[0] in octets


def tokens_in(octets: bytes) -> dict[str, str | None]:
    """4.2, for a Dictionary. Values that are not Tokens become None."""
    left = Input(octets)
    left.discard(b" ")
    found = dictionary(left)
    left.discard(b" ")
    if left.left:
        raise FailedError
    return found


def dictionary(left: Input) -> dict[str, str | None]:
    """4.2.2."""
    found: dict[str, str | None] = {}
    while left.left:
        this_key = key(left)
        if left.first_is(b"="):
            left.consume()
            member = item_or_inner_list(left)
        else:
            member = None
            parameters(left)
        found[this_key] = member
        left.discard(b" \t")
        if not left.left:
            return found
        if left.consume() != ord(","):
            raise FailedError
        left.discard(b" \t")
        if not left.left:
            raise FailedError
    return found


def item_or_inner_list(left: Input) -> str | None:
    """4.2.1.1."""
    if not left.first_is(b"("):
        return item(left)
    inner_list(left)
    return None


def inner_list(left: Input) -> None:
    """4.2.1.2."""
    if left.consume() != ord("("):
        raise FailedError
    while left.left:
        left.discard(b" ")
        if left.first_is(b")"):
            left.consume()
            parameters(left)
            return
        item(left)
        if not left.first_is(b" )"):
            raise FailedError
    raise FailedError


def item(left: Input) -> str | None:
    """4.2.3."""
    found = bare_item(left)
    parameters(left)
    return found


def bare_item(left: Input) -> str | None:
    """4.2.3.1."""
    if left.first_is(b"-" + DIGITS):
        number(left)
    elif left.first_is(b'"'):
        string(left)
    elif left.first_is(b"*" + ALPHA):
        return token(left)
    elif left.first_is(b":"):
        byte_sequence(left)
    elif left.first_is(b"?"):
        boolean(left)
    elif left.first_is(b"@"):
        date(left)
    elif left.first_is(b"%"):
        display_string(left)
    else:
        raise FailedError
    return None


def parameters(left: Input) -> None:
    """4.2.3.2."""
    while left.first_is(b";"):
        left.consume()
        left.discard(b" ")
        key(left)
        if left.first_is(b"="):
            left.consume()
            bare_item(left)


def key(left: Input) -> str:
    """4.2.3.3."""
    if not left.first_is(b"*" + LOWER):
        raise FailedError
    found = ""
    while left.first_is(LOWER + DIGITS + b"_-.*"):
        found += chr(left.consume())
    return found


def number(left: Input) -> str:
    """4.2.4: "integer" or "decimal"."""
    kind, digits = "integer", ""
    if left.first_is(b"-"):
        left.consume()
    if not left.first_is(DIGITS):
        raise FailedError
    while left.left:
        char = chr(left.consume())
        if char.encode() in [bytes([each]) for each in DIGITS]:
            digits += char
        elif kind == "integer" and char == ".":
            if len(digits) > 12:
                raise FailedError
            digits += char
            kind = "decimal"
        else:
            left.left.insert(0, ord(char))
            break
        if len(digits) > (15 if kind == "integer" else 16):
            raise FailedError
    if kind == "decimal" and (digits.endswith(".") or len(digits.partition(".")[2]) > 3):
        raise FailedError
    return kind


def string(left: Input) -> None:
    """4.2.5."""
    left.consume()
    while left.left:
        char = left.consume()
        if char == ord("\\"):
            if left.consume() not in b'"\\':
                raise FailedError
        elif char == ord('"'):
            return
        elif char <= 0x1F or char >= 0x7F:
            raise FailedError
    raise FailedError


def token(left: Input) -> str:
    """4.2.6."""
    found = ""
    while left.first_is(TOKEN):
        found += chr(left.consume())
    return found


def byte_sequence(left: Input) -> None:
    """4.2.7. Padding may be missing or hold bits, as parsers SHOULD allow."""
    left.consume()
    content = b""
    while left.first() != ord(":"):
        content += bytes([left.consume()])
    left.consume()
    data = content.rstrip(b"=")
    if any(each not in ALPHA + DIGITS + b"+/" for each in data):
        raise FailedError
    if len(content) - len(data) > 2 or (content and not data):
        raise FailedError
    try:
        base64.b64decode(data + b"=" * (-len(data) % 4))
    except binascii.Error:
        raise FailedError from None


def boolean(left: Input) -> None:
    """4.2.8."""
    left.consume()
    if left.consume() not in b"01":
        raise FailedError


def date(left: Input) -> None:
    """4.2.9."""
    left.consume()
    if number(left) == "decimal":
        raise FailedError


def display_string(left: Input) -> None:
    """4.2.10."""
    left.consume()
    if left.consume() != ord('"'):
        raise FailedError
    while left.left:
        char = left.consume()
        if char <= 0x1F or char >= 0x7F:
            raise FailedError
        if char == ord("%"):
            digits = bytes([left.consume(), left.consume()])
            if any(each not in HEX for each in digits):
                raise FailedError
        elif char == ord('"'):
            return  # whatever is escaped: no preference is a Display String
    raise FailedError
