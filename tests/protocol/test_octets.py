"""Which octets of a body mean what: byte order marks, UTF-16, charsets (RFC 9309 2.3, 2.3.1.5)."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import DIALECTS, RFC9309, Dialect, RobotsTxt
from scrapy_robots_plus.protocol.octets import to_utf8, whole_lines

RULES = "User-agent: *\nDisallow: /caf\u00e9\nDisallow: /x\n"
ASCII = b"User-agent: *\nDisallow: /x\n"


def denies(body: bytes, url: str = "/x", charset: str | None = None) -> bool:
    return not RobotsTxt.parse(body, charset=charset).allowed(url, "bot")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
class TestUtf16:
    def test_with_a_mark_it_is_read(self, encoding: str) -> None:
        mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
        body = mark + RULES.encode(encoding)
        assert denies(body, "/caf%C3%A9")
        assert denies(body, "/x")

    def test_with_its_charset_it_is_read(self, encoding: str) -> None:
        assert denies(RULES.encode(encoding), "/caf%C3%A9", encoding)

    def test_comments_in_other_scripts_do_not_hide_it(self, encoding: str) -> None:
        text = "# \u4e0a\u6d77\u5e02\u6d66\u4e1c\u65b0\u533a\n" * 3 + RULES
        assert denies(text.encode(encoding), "/x", encoding)

    def test_nor_do_they_where_hardly_any_of_it_is_ascii(self, encoding: str) -> None:
        comment = "# " + "\u4e00\u4e0a\u6ce8\u91ca" * 40 + "\n"  # U+4E00 has a NUL of its own
        mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
        assert denies(mark + (comment * 6 + RULES).encode(encoding), "/x")
        ascii_is_most_nul = comment.replace("\u4e00", "")
        assert denies((ascii_is_most_nul * 6 + RULES).encode(encoding), "/x", encoding)

    def test_a_file_of_ascii_with_its_charset_stays_ascii(self, encoding: str) -> None:
        assert denies(ASCII, "/x", encoding)
        assert denies(b"\n" + ASCII, "/x", encoding)


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
class TestAMarkOfUtf16InFrontOfAscii:
    def test_costs_its_line_and_no_more(self, mark: bytes, dialect: Dialect) -> None:
        for filler in (b"\n", b"# x\n", b"\r\n", b" \n"):
            file = RobotsTxt.parse(mark + filler + ASCII, dialect)
            assert not file.allowed("/x", "bot"), filler

    def test_a_stray_nul_makes_it_no_utf16(self, mark: bytes, dialect: Dialect) -> None:
        for stray in (b"Disallow: /y\0\n", b"# \0\0\0\n", b"\0" * 512):
            file = RobotsTxt.parse(mark + b"\n" + ASCII + stray, dialect)
            assert not file.allowed("/x", "bot"), stray


@pytest.mark.parametrize("charset", ["iso-8859-1", "ISO8859-1", "latin1", "windows-1252", "cp1252"])
def test_a_charset_that_is_known_is_read(charset: str) -> None:
    assert denies(RULES.encode("latin-1"), "/caf%C3%A9", charset)


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("shift_jis", "/\u30c4"),
        ("euc-jp", "/\u30c4"),
        ("gbk", "/\u4e0a"),
        ("GB2312", "/\u4e0a"),
        ("big5", "/\u4e0a"),
        ("euc-kr", "/\ud55c"),
        ("koi8-r", "/\u0436"),
        ("windows-1251", "/\u0436"),
    ],
)
def test_charsets_in_which_files_come(charset: str, text: str) -> None:
    assert denies(f"User-agent: *\nDisallow: {text}".encode(charset), text, charset)


def test_a_letter_that_is_the_first_octet_of_a_mark_elsewhere_stays_one() -> None:
    body = "\u043f\nUser-agent: *\nDisallow: /\u043f".encode("windows-1251")
    assert body.startswith(b"\xef")
    assert denies(body, "/\u043f", "windows-1251")
    assert denies(b"\xef\xbb\xbf" + ASCII, "/x", "windows-1251")  # a whole mark is one


@pytest.mark.parametrize(
    "charset",
    [
        *("idna", "punycode", "utf-7", "cp037", "cp500", "hex", "rot13", "zlib", "unicode_escape"),
        *("raw_unicode_escape", "undefined", "mbcs", "uu", "bz2", "iso2022_jp", "hz", "utf-32"),
        *("", "nonsense", "x" * 10_000, "utf-8\0", "../x", "\u00e9", "encodings.idna", "__init__"),
    ],
)
def test_any_other_leaves_the_file_as_it_is(charset: str) -> None:
    assert denies(ASCII, "/x", charset)


def test_a_charset_that_lies_leaves_the_file_as_it_is() -> None:
    assert denies(ASCII + b"Disallow: /\xff", "/x", "shift_jis")


def test_a_charset_imports_nothing() -> None:
    import sys

    before = set(sys.modules)
    for charset in ("idna", "punycode", "this", "antigravity", "utf_7"):
        RobotsTxt.parse(ASCII, charset=charset)
    assert set(sys.modules) == before


def test_every_charset_that_is_read_keeps_ascii() -> None:
    from scrapy_robots_plus.protocol.octets import _SUPERSETS_OF_ASCII

    for charset in _SUPERSETS_OF_ASCII:
        assert ASCII.decode(charset).encode() == ASCII, charset
        assert RobotsTxt.parse(ASCII, RFC9309, charset).groups, charset


@pytest.mark.parametrize(
    "charset",
    [
        *("latin_1", *(f"iso8859_{part}" for part in (*range(2, 12), *range(13, 17)))),
        *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
        *("cp437", "cp850", "cp852", "cp866", "cp874", "cp932", "cp949", "cp950"),
        *("koi8_r", "koi8_u", "koi8_t", "kz1048", "ptcp154", "tis_620"),
        *("mac_roman", "mac_cyrillic", "mac_greek", "mac_latin2", "mac_turkish"),
        *("shift_jis", "euc_jp", "euc_kr", "gb2312", "gbk", "gb18030", "big5", "big5hkscs"),
    ],
)
def test_each_charset_is_decoded(charset: str) -> None:
    for octets in (b"\xe0\xe1", b"\xb0\xa1", b"\xd0\xc0"):
        try:
            letters = octets.decode(charset)
        except UnicodeDecodeError:
            continue
        assert denies(b"User-agent: *\nDisallow: /" + octets, f"/{letters}", charset)
        assert not denies(b"User-agent: *\nDisallow: /" + octets, f"/{letters[:-1]}", charset)


def test_text_may_hold_what_utf8_cannot() -> None:
    file = RobotsTxt.parse("\ufeffUser-agent: *\nDisallow: /x\nDisallow: /\ud800y")
    assert not file.allowed("/x", "bot")
    assert not file.allowed("/\ud800y", "bot")
    assert file.allowed("/\ud801y", "bot")
    assert file.rules_for("bot").size == 2


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
class TestWhatIsLabelledUtf16IsReadSo:
    @pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
    def test_if_a_character_of_eight_has_a_nul(
        self, encoding: str, more: int, *, is_read: bool
    ) -> None:
        ascii_ = "Sitemap: /a\n"
        body = ("\u4e0a" * (7 * len(ascii_) + more) + ascii_).encode(encoding)
        assert (to_utf8(body, encoding) != body) is is_read

    @pytest.mark.parametrize("key", ["User-agent", "USERAGENT", "allow", "Disallow"])
    def test_or_if_it_has_a_key_of_rules(self, encoding: str, key: str) -> None:
        body = ("\u4e0a" * 1000 + f"\n{key}: *\n").encode(encoding)
        assert to_utf8(body, encoding) == body.decode(encoding).encode()


def test_so_may_utf16() -> None:
    body = "User-agent: *\nDisallow: /x\nDisallow: /\ud800y".encode("utf-16", "surrogatepass")
    assert denies(body, "/x")


def test_characters_whose_first_octet_is_nul_do_not_turn_the_order_around() -> None:
    text = "User-agent: *\nDisallow: /" + "\u0100" * 15
    assert to_utf8(text.encode("utf-16-le"), "utf-16") == text.encode()
    assert to_utf8(text.encode("utf-16-be"), "utf-16") == text.encode()


def test_of_a_single_line_that_is_too_long_the_beginning_is_left() -> None:
    assert whole_lines(b"0123456789", 3) == b"012"


def test_a_body_as_long_as_the_limit_stays_whole() -> None:
    assert whole_lines(b"a\nbc", 4) == b"a\nbc"
    assert whole_lines(b"a\nbc", 3) == b"a"


@pytest.mark.parametrize("codec", ["utf-16-be", "utf-16-le"])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_no_limit_cuts_a_line_of_utf_16(codec: str, end: str) -> None:
    # The octets of a line end are in these too, within a character and across two.
    odd = "\u010a\u0a0a\u0d0d" + 2 * "\u0100\u0a61\u0100\u0d61\u0100"
    lines = ["\ufeffUser-agent: *", f"Disallow: /{odd}", f"Disallow: /\U0001f60a{odd}"]
    body = end.join([*lines, "Disallow: /private"]).encode(codec)
    wholes = {end.join(lines[:number]).encode(codec) for number in range(1, 4)}
    wholes |= {each + end[:1].encode(codec) for each in wholes} if len(end) > 1 else set()
    for size in range(len(lines[0].encode(codec) + end.encode(codec)), len(body)):
        longest = max((each for each in wholes if len(each) <= size), key=len)
        assert whole_lines(body, size) == longest
    assert whole_lines(body, len(body)) == body
    assert whole_lines("\ufeffabc".encode(codec), 5) == "\ufeffa".encode(codec)
