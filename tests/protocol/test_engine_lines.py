"""Octets to lines: encodings, line ends, and the errors that the reference parser forgives."""

from __future__ import annotations

import codecs

import pytest

from scrapy_robots_plus.protocol import GYM2008, RobotsTxt

BODY = "User-agent: *\r\nDisallow: /é\r\n"
BLOCKED = "/%C3%A9"


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        (BODY, None),
        ("\ufeff" + BODY, None),
        (BODY.encode(), None),
        (BODY.encode(), "UTF-8"),
        (BODY.encode("utf-8-sig"), None),
        (BODY.encode("utf-8-sig"), "iso-8859-1"),
        (codecs.BOM_UTF16_LE + BODY.encode("utf-16-le"), None),
        (codecs.BOM_UTF16_BE + BODY.encode("utf-16-be"), "utf-8"),
        (BODY.encode("iso-8859-1"), "ISO-8859-1"),
        (BODY.encode("cp1252"), "windows-1252"),
        (BODY.encode("utf-16-le"), "utf-16-le"),
        (bytearray(BODY.encode()), None),
        (memoryview(BODY.encode()), None),
    ],
)
def test_encodings(body: bytearray | bytes | memoryview | str, charset: str | None) -> None:
    assert not RobotsTxt.parse(body, charset=charset).allowed(BLOCKED, "x")


@pytest.mark.parametrize(
    "charset", ["x-unknown", "hex", "", "ascii", "idna", "utf-8", "\0", "undefined"]
)
def test_octets_that_cannot_be_decoded_stay(charset: str) -> None:
    file = RobotsTxt.parse(b"User-agent: *\nDisallow: /\xe9", charset=charset)
    assert not file.allowed("/%E9x", "bot")
    assert file.allowed("/x", "bot")


def test_without_charset_a_dialect_may_read_latin_1() -> None:
    body = b"User-agent: *\nDisallow: /\xe9"
    assert not RobotsTxt.parse(body, GYM2008).allowed("/%C3%A9", "bot")
    assert not RobotsTxt.parse(b"User-agent: *\nDisallow: /\xc3\xa9", GYM2008, "utf-8").allowed(
        "/é", "bot"
    )


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"])
def test_parts_of_a_byte_order_mark_are_skipped(mark: bytes) -> None:
    assert not RobotsTxt.parse(mark + b"User-agent: *\nDisallow: /").allowed("/", "x")


def test_a_byte_order_mark_elsewhere_is_not() -> None:
    assert RobotsTxt.parse(b"User-agent: *\n\xef\xbb\xbfDisallow: /").allowed("/", "x")


def test_nul_cuts_a_line_off() -> None:
    file = RobotsTxt.parse(b"User-agent: *\0x\nDisallow: /a\0b\n\0Disallow: /c")
    assert not file.allowed("/ax", "x")
    assert file.allowed("/c", "x")


def test_a_line_is_read_up_to_its_limit() -> None:
    limit = 2083 * 8 - 1
    head = "Disallow: /"
    path = "a" * (limit - len(head))
    file = RobotsTxt.parse(f"User-agent: *\n{head}{path}bbbb\nDisallow: /c")
    assert not file.allowed("/" + path, "x")
    assert file.allowed("/" + path[:-1], "x")
    assert not file.allowed("/c", "x")


@pytest.mark.parametrize(
    "key",
    [
        "Disallow",
        "disallow",
        "dissallow",
        "dissalow",
        "disalow",
        "diasllow",
        "disallaw",
        "Disallowed",
        "disallow everything",
    ],
)
def test_keys_that_disallow(key: str) -> None:
    for line in (f"{key}: /x", f" {key}:/x", f"{key}\t:/x"):
        assert not RobotsTxt.parse(f"User-agent: *\n{line}").allowed("/x", "bot")


@pytest.mark.parametrize("key", ["Allow", "allowed", "allow this"])
def test_keys_that_allow(key: str) -> None:
    assert RobotsTxt.parse(f"User-agent: *\nDisallow: /\n{key}: /x").allowed("/x", "bot")


@pytest.mark.parametrize(
    "key", ["User-agent", "useragent", "user agent", "USER-AGENTS", "user-agent-x"]
)
def test_keys_that_name_an_agent(key: str) -> None:
    assert not RobotsTxt.parse(f"{key}: bot\nDisallow: /x").allowed("/x", "bot")


@pytest.mark.parametrize(
    "key", ["desallow", "dis allow", "un-allow", "user", "agent", "x-disallow"]
)
def test_keys_that_mean_nothing(key: str) -> None:
    assert RobotsTxt.parse(f"User-agent: *\n{key}: /x").allowed("/x", "bot")


@pytest.mark.parametrize(
    ("line", "blocked"),
    [
        ("Disallow /x", True),
        ("Disallow\t/x", True),
        ("  Disallow  \t /x  # why", True),
        ("Disallow /x and /y", False),
        ("Disallow\f/x", False),
        ("Disallow", False),
        ("Disallow/x", False),
    ],
)
def test_two_words_need_no_colon(line: str, blocked: bool) -> None:
    assert RobotsTxt.parse(f"User-agent: *\n{line}").allowed("/x", "bot") is not blocked


def test_an_html_page_has_no_rules() -> None:
    page = (
        "<!DOCTYPE html>\n<html>\n<head><title>Not found</title>\n<style>\n  a { color: red }\n"
        "</style></head>\n<body><p>User-agent: *\n<p>Disallow: /\n</body></html>\n"
    )
    file = RobotsTxt.parse(page)
    assert file.groups == ()
    assert file.allowed("/", "bot")


def test_index_pages_are_their_directories_to_an_allow() -> None:
    file = RobotsTxt.parse("User-agent: *\nDisallow: /\nAllow: /a/index.html\nAllow: /b/index.htm")
    assert file.allowed("/a/", "x")
    assert file.allowed("/b/", "x")
    assert not file.allowed("/a/other", "x")
    assert file.verdict("/a/", "x").rule == "Allow: /a/index.html"
