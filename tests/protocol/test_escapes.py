"""Which octets mean the same whether escaped or not: all octets, in each way of comparing."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import FIRST_MATCH, GOOGLE, MK1996, RFC9309, Dialect, RobotsTxt

LETTERS_AND_DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
UNRESERVED = LETTERS_AND_DIGITS + b"-._~"
MAY_STAND_IN_A_URL = UNRESERVED + b":/?#@!$&()*+,;="  # RFC 3986 2; clients escape [ ] and '
NOT_IN_A_RULE = b"\t\n\v\f\r #*$\0"
OCTETS = [bytes((octet,)) for octet in range(256) if octet not in NOT_IN_A_RULE]


def same(dialect: Dialect, rule: bytes, url: bytes) -> bool:
    file = RobotsTxt.parse(b"User-agent: *\nDisallow: /-" + rule + b"-", dialect, "utf-8")
    return not file.allowed(b"https://e.example/-" + url + b"-", "bot")


def escape(octet: bytes) -> bytes:
    return b"%%%02X" % octet[0]


def is_meant(octet: bytes, dialect: Dialect) -> bool:
    """Whether a rule with the octet means a URL with its escape, and the reverse."""
    if dialect is not RFC9309:
        return octet not in {MK1996: b"/", FIRST_MATCH: b"/?&="}[dialect]
    return octet in UNRESERVED or (octet not in MAY_STAND_IN_A_URL and octet != b"%")


UNDOING = pytest.mark.parametrize("dialect", [RFC9309, MK1996, FIRST_MATCH], ids=str)


@UNDOING
def test_an_octet_and_its_escape(dialect: Dialect) -> None:
    for octet in OCTETS:
        meant = is_meant(octet, dialect)
        assert same(dialect, octet, escape(octet)) is meant, octet
        if octet != b"#":
            assert same(dialect, escape(octet), octet) is meant, octet


def test_without_escapes_a_rule_is_written_as_urls_are() -> None:
    for octet in OCTETS:
        assert same(GOOGLE, octet, escape(octet)) is (octet[0] >= 0x80), octet
        assert same(GOOGLE, octet, octet) is (octet[0] < 0x80), octet
        for small in (slice(3), slice(2), slice(2, 3)):
            rule = bytearray(escape(octet))
            rule[small] = rule[small].lower()
            assert same(GOOGLE, bytes(rule), escape(octet))
        assert not same(GOOGLE, escape(octet), octet) or octet[0] >= 0x80


@UNDOING
def test_digits_of_an_escape_have_no_case(dialect: Dialect) -> None:
    for octet in OCTETS:
        capital = escape(octet)
        small = capital.lower()
        for other in {small, capital[:2] + small[2:], small[:2] + capital[2:]} - {capital}:
            assert same(dialect, other, capital), octet
            assert same(dialect, capital, other), octet


@pytest.mark.parametrize("dialect", [RFC9309, GOOGLE, MK1996, FIRST_MATCH])
@pytest.mark.parametrize("rest", [b"%", b"%4", b"%zz", b"%%41"])
def test_a_percent_sign_may_stand_alone(dialect: Dialect, rest: bytes) -> None:
    assert same(dialect, rest, rest)


def test_a_capital_letter_is_one_octet_of_a_rule() -> None:
    file = RobotsTxt.parse("User-agent: *\nDisallow: /ABC\nAllow: /*b-c-d")
    assert file.allowed("/ABCb-c-d", "bot")
