"""RFC 9309 2.2.1: how a crawler is called."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import RobotsTxt, has_product_token, product_tokens
from scrapy_robots_plus.protocol.product_token import fold, names_of

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko"
CHROME = f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT}) Chrome/120.0.0.0 Safari/537.36"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_10_1) AppleWebKit/600.2.5 (KHTML, like Gecko)"

NAMED = [
    "Foobot",
    "FOOBOT",
    " foobot ",
    "Foobot/1.0",
    "Foobot/1.0 (+https://foo.example/bot)",
    "Foobot/2.1 (https://foo.example; bot@foo.example) Python/3.11",
    "Foobot (compatible; +https://foo.example)",
    "Mozilla/5.0 (compatible; Foobot/2.1; +https://foo.example/bot)",
    "Mozilla/5.0 (compatible; Foobot; +https://foo.example/bot)",
    "Mozilla/5.0 (compatible;Foobot/2.1)",
    "Thing/2.0 (Compatible; Foobot/2.1)",
    f"Mozilla/5.0 {WEBKIT}; compatible; Foobot/1.2; +https://foo.example)",
    f"Mozilla/5.0 {WEBKIT}; compatible; Foobot/1.2; +https://foo.example) Chrome/1 Safari/537.36",
    f"{CHROME} (compatible; Foobot/2.1; +http://foo.example)",
    f"{MAC} Version/8.0.2 Safari/600.2.5 (Foobot/0.1; +http://foo.example)",
    f"{CHROME} Foobot/1.0",
    "Mozilla/5.0 (X11) Mobile Foobot/1.0",
    "Mozilla/5.0 Foobot/1.0",
    "Mozilla/5.0 (COMPATIBLE; Foobot/2.1)",
    "*/* Foobot/1.0",
    "Mozilla/5.0 (compatible; Foobot/1.0 +https://foo.example/bot)",
    "Mozilla/5.0 (compatible; Foobot me@foo.example)",
    "Mozilla/5.0 (compatible; Foobot/1.0; +https://foo.example/bot",
    "Mozilla/5.0 (compatible; Linux; Foobot/3.1 +https://foo.example)",
    "Mozilla/5.0 (compatible, Foobot)",
    f"{CHROME} Foobot",
    f"Mozilla/5.0 (X11; Linux; Foobot/1.0) {WEBKIT}) Chrome/1 Safari/537.36",
    "Mozilla/5.0+(compatible;+Foobot/1.0;++https://foo.example/bot)",
    "Foobot/1.0 (compatible; Mozilla/5.0; +https://foo.example)",
    "compatible; Foobot/1.0; +https://foo.example",
    "Foobot;me@foo.example",
    "@Foobot twitter",
]


@pytest.mark.parametrize("header", NAMED)
def test_the_token_is_found_in_a_header(header: str) -> None:
    assert product_tokens(header) == ("foobot",)
    assert has_product_token(header)
    file = RobotsTxt.parse("User-agent: foobot\nDisallow: /x\nUser-agent: *\nDisallow: /y")
    assert not file.allowed("/x", header)
    assert file.allowed("/y", header)
    assert not file.allowed("/x", header.encode())


@pytest.mark.parametrize(
    "header",
    [
        CHROME,
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:121.0) Gecko/20100101 Firefox/121.0",
        "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0)",
        "Mozilla/5.0 (compatible; Konqueror/4.5; Linux)",
        "Opera/9.80 (Windows NT 6.1) Presto/2.12 Version/12.16",
        CHROME + " Edg/120.0",
        "*",
        "",
        "   ",
        "()",
        "Mozilla/5.0",
    ],
)
def test_a_browser_has_none_and_fits_only_star(header: str) -> None:
    assert product_tokens(header) == ()
    assert not has_product_token(header)
    file = RobotsTxt.parse(
        "User-agent: chrome\nUser-agent: mozilla\nDisallow: /x\nUser-agent: *\nDisallow: /y"
    )
    assert file.allowed("/x", header)
    assert not file.allowed("/y", header)


BROWSERS = (
    *("AppleWebKit", "Brave", "Chrome", "Chromium", "CriOS", "Edg", "EdgA", "Edge", "EdgiOS"),
    *(
        "Electron",
        "Thunderbird",
        "Firefox",
        "FxiOS",
        "Gecko",
        "HeadlessChrome",
        "IEMobile",
        "KHTML",
        "Konqueror",
        "like",
    ),
    *("Lynx", "Maxthon", "Mobile", "Mozilla", "MSIE", "Netscape", "Opera", "OPiOS", "OPR", "OPX"),
    *("Presto", "Safari", "SamsungBrowser", "SeaMonkey", "Silk", "Trident", "Ubuntu"),
    *("UCBrowser", "Version", "Vivaldi", "Windows", "YaBrowser"),
)


@pytest.mark.parametrize("browser", BROWSERS)
def test_the_names_of_browsers_name_no_crawler(browser: str) -> None:
    assert product_tokens(f"{browser}/1.0") == ()
    assert product_tokens(f"Mozilla/5.0 (X11; Linux x86_64) {browser}/1.0") == ()
    assert product_tokens(f"Mozilla/5.0 (Foobot/1.0; +https://foo.example) {browser}/1.0") == (
        "foobot",
    )


OF_ANY_CRAWLER = """
    agent bot crawler robot scraper spider bots browser client compatible crawl crawlers robots
    search server service site test tool url user-agent version web website abuse admin at contact
    email gmail hello help info mail mailto questions support webmaster com http https net org www
    a an and are as by for from in is it my no not of on only or our please see that the this to
    using via we with you your
"""
OF_ITS_MACHINE = """
    amd64 android arm arm64 armv7l centos cpu cros darwin debian fedora freebsd i386 i586 i686
    intel ios ipad iphone ipod linux mac macintosh macos nt openbsd os phone suse sv1 symbianos
    tablet unix win32 win64 wow64 x11 x64 x86 x86_64 build clr en en-gb en-us gzip nokia release
    rv wv
"""


@pytest.mark.parametrize("word", [*OF_ANY_CRAWLER.split(), *OF_ITS_MACHINE.split()])
def test_a_word_that_tells_no_crawlers_apart_is_no_name(word: str) -> None:
    for written in (word, word.title()):
        assert names_of(f"Foobot/1.0 (x; {written}) {written}/2.0") == ("foobot",)


@pytest.mark.parametrize(
    "address", ["HTTPS://Barbot.example/x", "WWW.Barbot.example", "x[AT]Barbot.example"]
)
def test_a_word_of_an_address_is_no_name(address: str) -> None:
    for written in (address, address.lower()):
        assert names_of(f"Foobot/1.0 ({written})") == ("foobot",)


def test_any_other_word_of_a_header_is_one() -> None:
    names = ("foobot", "barbot", "bazbot-2", "bazbot")
    assert names_of("Foobot/1.0 (x; Barbot) Bazbot-2") == names


@pytest.mark.parametrize(
    ("comment", "tokens"),
    [
        ("Foobot/1.0; +https://foo.example", ("foobot",)),
        ("X11; Foobot/1.0; https://foo.example", ("foobot",)),
        ("https://foo.example/; Foobot/1.0", ("foobot",)),
        ("Foobot/1.0; bot@foo.example", ("foobot",)),
        ("Foobot/1.0; www.foo.example", ("foobot",)),
        ("Foobot/1.0; HTTPS://FOO.EXAMPLE", ("foobot",)),
        ("Foo bot/1.0; +https://foo.example", ("foo",)),
        ("Chrome/1.0; Foobot/1.0; +https://foo.example", ("foobot",)),
        ("+https://foo.example", ()),
        ("Foobot; +https://foo.example", ("foobot",)),
        ("Foobot/1.0", ("foobot",)),
        ("X11; Linux x86_64; Foobot/1.0", ("foobot",)),
        ("Windows NT 10.0; Win64; x64; +https://foo.example", ()),
        ("Linux; Android 9; SM-G950U Build/PPR1.180610.011", ()),
        ("X11; U; Linux i686 (x86_64); en-US; rv:1.8.1.11", ()),
    ],
)
def test_a_comment_with_an_address_names_the_crawler(comment: str, tokens: tuple[str, ...]) -> None:
    assert product_tokens(f"Mozilla/5.0 ({comment})") == tokens
    assert product_tokens(f"Mozilla/5.0 (X11) Safari/1 ({comment})") == tokens


@pytest.mark.parametrize(
    ("agent", "tokens"),
    [
        ("008", ()),
        ("go!zilla", ()),
        ("008/0.83", ("008",)),
        ("Crawler (compatible; 008)", ("008",)),
        ("Foobot", ("foobot",)),
        (["008", "Foobot"], ("foobot",)),
    ],
)
def test_strictly_a_name_is_a_token_or_stands_in_a_header(
    agent: str | list[str], tokens: tuple[str, ...]
) -> None:
    assert product_tokens(agent, strict=True) == tokens


def test_not_strictly_any_word_is_a_name() -> None:
    assert product_tokens(["008", "go!zilla"]) == ("008", "go!zilla")


def test_of_a_kind_of_program_after_compatible_there_may_be_only_one() -> None:
    assert product_tokens("Mozilla/5.0 (compatible; Bot/1.0; +https://b.example)") == ("bot",)
    assert product_tokens("Mozilla/5.0 (compatible; The/2.1; +https://t.example)") == ("the",)
    assert product_tokens("Mozilla/5.0 (compatible; Bot/1.0; Foobot)") == ("foobot",)
    assert product_tokens("Foobot/1.0 (compatible; Bot/1.0)") == ("foobot",)


@pytest.mark.parametrize("agent", ["Chrome", "mozilla", ["Safari", "AppleWebKit"], CHROME])
def test_the_name_of_a_browser_is_not_a_crawlers_own(agent: str | list[str]) -> None:
    assert not has_product_token(agent)
    assert has_product_token([*([agent] if isinstance(agent, str) else agent), "Foobot"])


def test_mozilla_may_be_a_name_of_its_own() -> None:
    assert product_tokens("mozilla") == ("mozilla",)
    assert product_tokens("Mozilla/5.0 (compatible; Mozilla/2.1; +https://m.example)") == (
        "mozilla",
    )


class TestPreference:
    FILE = RobotsTxt.parse(
        "User-agent: Foobot\nDisallow: /bot\nUser-agent: Foobot-News\nDisallow: /news\n"
        "User-agent: *\nDisallow: /star"
    )

    @pytest.mark.parametrize("agent", [["Foobot-News", "Foobot"], ("Foobot-News", "Foobot")])
    def test_the_first_name_with_a_group_counts(self, agent: list[str] | tuple[str, ...]) -> None:
        assert not self.FILE.allowed("/news", agent)
        assert self.FILE.allowed("/bot", agent)

    def test_a_name_without_a_group_gives_way(self) -> None:
        assert not self.FILE.allowed("/bot", ["Foobot-Images", "Foobot"])

    def test_then_star(self) -> None:
        assert not self.FILE.allowed("/star", ["Barbot", "Bazbot"])
        assert not self.FILE.allowed("/star", [])

    def test_names_may_be_headers(self) -> None:
        assert not self.FILE.allowed("/bot", ["Foobot-X/1.0", "Mozilla/5.0 (compatible; Foobot/1)"])


class TestNamesThatAreNoTokens:
    @pytest.mark.parametrize("name", ["MJ12bot", "008", "Jävla-Bot", "go!zilla", "bot2"])
    def test_are_meant_by_the_whole_word(self, name: str) -> None:
        file = RobotsTxt.parse(f"User-agent: {name}/1.0\nDisallow: /x")
        assert not file.allowed("/x", name)
        assert not file.allowed("/x", name.upper())
        assert not file.allowed("/x", f"{name}/2.0 (+https://e.example)")

    def test_are_not_meant_by_another_word(self) -> None:
        file = RobotsTxt.parse("User-agent: bot1\nDisallow: /x")
        assert file.allowed("/x", "bot2")

    def test_the_reference_reading_of_the_line_holds_as_well(self) -> None:
        assert not RobotsTxt.parse("User-agent: bot1\nDisallow: /x").allowed("/x", "bot")

    @pytest.mark.parametrize(
        ("line", "name"),
        [
            ("\u212aite", "kite"),
            ("\u212abot/1.0", "kbot"),
            ("\u0130bot", "ibot"),
            ("\u0130", "i\u0307"),
        ],
    )
    def test_a_character_outside_ascii_is_no_letter_of_ascii(self, line: str, name: str) -> None:
        file = RobotsTxt.parse(f"User-agent: {line}\nDisallow: /x")
        assert file.allowed("/x", name)
        assert file.allowed("/x", name.upper())
        assert not file.allowed("/x", line)

    def test_case_counts_for_no_character_and_makes_none_another_kind(self) -> None:
        characters = "".join(map(chr, range(0x80, 0x30000)))
        folded = fold(characters)
        assert len(folded) == len(characters)
        for character, one in zip(characters, folded, strict=True):
            assert not one.isascii()
            assert one in (character, character.lower())


def test_a_name_is_folded_and_otherwise_as_it_was() -> None:
    assert fold("Jävla-BÖT") == "jävla-böt"
