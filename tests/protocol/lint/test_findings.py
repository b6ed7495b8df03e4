"""Each finding: where it is, what it says, and what is much like it and none."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import GOOGLE, RFC9309, Dialect
from scrapy_robots_plus.protocol.lint import Code, lint

STAR = "User-agent: *\n"
MARK = "\ufeff"


def found(text: str | bytes, dialect: Dialect = RFC9309) -> list[tuple[int | None, str]]:
    return [(each.line, each.code.value) for each in lint(text, dialect).findings]


def words(text: str | bytes, dialect: Dialect = RFC9309) -> list[str]:
    return [each.text for each in lint(text, dialect).findings]


def test_a_usual_file_has_none() -> None:
    text = """\
# A file as it should be
User-agent: *
Crawl-delay: 2
Disallow: /private/
Disallow: /*?sort=
Allow: /private/open$

User-agent: MJ12bot
User-agent: Foobot
Disallow: /

User-agent: Barbot
Disallow:

Sitemap: https://site.example/sitemap.xml
Host: site.example
"""
    assert found(text) == []
    assert found("") == []
    assert found(b"\xef\xbb\xbf" + text.encode()) == []
    assert found(text.replace("\n", "\r\n")) == []


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("Disalow: /a", "misspelt-key", "'Disalow' is read as Disallow, but others may ignore it."),
        ("Disallowed: /a", "misspelt-key", "'Disallowed' is read as Disallow, but others"),
        (
            "Content-Signals: use=full",
            "misspelt-key",
            "'Content-Signals' is read as Content-signal,",
        ),
        ("Dissalllow: /a", "unknown-key", "'Dissalllow' is unknown and ignored."),
        ("Noindex: /a", "unknown-key", "'Noindex' is unknown and ignored."),
        (f"{'x' * 50}: /a", "unknown-key", f"'{'x' * 40}...' is unknown and ignored."),
        ("https://x.example/s", "unknown-key", "'https' is unknown and ignored."),
        ("Disallow /a", "missing-colon", "There is no colon after 'Disallow': others may not"),
        ("Disallow /a b", "not-a-record", "Neither a comment nor a key with a value: ignored."),
        ("this is prose", "not-a-record", "Neither a comment nor a key with a value: ignored."),
        ("Disallow: /User-agent: x", "several-records", "A line break may be missing before"),
        ("User-agent: x Disallow: /", "several-records", "A line break may be missing before 'Dis"),
        ("Crawl-delay: 5 s", "unreadable-value", "'5 s' is not understood: write a number of sec"),
        ("Crawl-delay: 10s", "unreadable-value", "'10s' is not understood: write a number of sec"),
        ("Crawl-delay: 1,5", "unreadable-value", "'1,5' is not understood: write a number of sec"),
        ("Crawl-delay: -1", "unreadable-value", "'-1' is not understood: write a number of seco"),
        ("Request-rate: 5", "unreadable-value", "'5' is not understood: write a rate such as 1/5"),
        ("Visit-time: day", "unreadable-value", "'day' is not understood: write a time such as 06"),
        ("Crawl-delay:", "unreadable-value", "'' is not understood: write a number of seconds"),
        ("Sitemap: # none", "unreadable-value", "'' is not understood: write a whole URL, with ht"),
        ("Sitemap: /s.xml", "unreadable-value", "'/s.xml' is not understood: write a whole URL,"),
        ("Sitemap: x.example/s", "unreadable-value", "'x.example/s' is not understood: write a w"),
        ("Disallow: a/", "never-matches", "The path does not begin with / or *, but all paths of"),
        ("Disallow: ?q=", "never-matches", "The path does not begin with / or *, but all paths of"),
        ("Disallow: a.html", "never-matches", "The path does not begin with / or *, but all"),
        ("Disallow: https://x.example/a", "never-matches", "This is a URL, not a path: write /a"),
        ("Disallow: http:/x.example", "never-matches", "This is a URL, not a path: write /"),
        ("Disallow: www.x.example/a*", "never-matches", "This is a URL, not a path: write /a*"),
        ("Disallow: HTTP://x.example/a", "never-matches", "This is a URL, not a path: write /a"),
        ("Disallow: WWW.x.example", "never-matches", "This is a URL, not a path: write /"),
        ("Allow:", "empty-rule", "Allow without a path means nothing."),
        ("Disallow: /\u00a0a", "invisible-character", "The character U+00A0 cannot be seen, but"),
        ("Disallow: /a\u200e", "invisible-character", "The character U+200E cannot be seen, but"),
    ],
)
def test_what_is_wrong_with_a_line(line: str, code: str, says: str) -> None:
    findings = lint(f"{STAR}Disallow: /z\n{line}\nDisallow: /y").findings
    (finding,) = (each for each in findings if each.code == code)
    assert finding.line == 3
    assert finding.text.startswith(says)
    assert {str(each.code) for each in findings} - {code} <= {"name-cut-off"}


@pytest.mark.parametrize(
    "line",
    [
        "Disallow: /a$b",
        "Disallow: /a#b",
        "Disallow: /a # b",
        "Disallow: /a #",
        "Disallow: /a#",
        "Disallow: /a%20b",
        "Disallow: /a b",
        "Disallow: *a",
        "Disallow : /a",
        "  disallow\t:/a",
        "# Disallow /a b c",
        "CRAWL-DELAY: 0.5",
        "SITEMAP: HTTPS://x.example/s",
        "Clean-param: a /b",
        "Disallow: /allow:",
        "Disallow: /\u00e9",
    ],
)
def test_what_is_not_wrong(line: str) -> None:
    assert found(STAR + "Disallow: /z\n" + line) == []


def test_an_empty_disallow_is_odd_only_among_others() -> None:
    assert found(f"{STAR}Disallow:") == []
    assert found(f"{STAR}Disallow: /a\nDisallow:") == [(3, "empty-rule")]
    nothing = "Disallow without a path means nothing."
    assert words(f"{STAR}Disallow: /a\nDisallow:") == [nothing]


def test_a_host_line_is_wherever_it_stands() -> None:
    assert found("Host: x.example\nSitemap: https://x.example/s") == []


def test_lines_outside_of_groups() -> None:
    text = "Disallow: /a\nCrawl-delay: 1\nUser-agent: *\nDisallow: /b"
    assert found(text) == [(1, "outside-group"), (2, "outside-group")]
    assert words(text)[0] == "Disallow belongs to no group: most crawlers ignore it."
    assert found(f"{STAR}Disallow: /a\n\nDisallow: /b") == []


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("Foobot/1.0", "Only 'foobot' counts, at the beginning of 'Foobot/1.0'."),
        ("Foo Bar", "Only 'foo' counts, at the beginning of 'Foo Bar'."),
        ("MJ12bot, Bar", "Only 'mj12bot' counts, at the beginning of 'MJ12bot, Bar'."),
        ("Foo*", "A * in a name is no wildcard. Only 'foo' counts, at the beginning of 'Foo*'."),
        ("* x", "Only '*' counts, at the beginning of '* x'."),
    ],
)
def test_names_of_which_only_the_beginning_counts(value: str, says: str) -> None:
    text = f"User-agent: {value}\nDisallow: /"
    assert found(text) == [(1, "name-cut-off")]
    assert words(text) == [says]


def test_names_that_google_cuts_off_at_a_digit() -> None:
    text = "User-agent: MJ12bot\nDisallow: /"
    assert found(text, GOOGLE) == [(1, "name-cut-off")]
    assert words("User-agent: 008\nDisallow: /", GOOGLE) == ["'008' names no crawler."]


def test_lines_that_name_nobody() -> None:
    assert words("User-agent:\nDisallow: /") == ["'' names no crawler."]
    assert found("User-agent: *bot*\nUser-agent: a\nDisallow: /") == [(1, "names-nobody")]
    followed = "User-agent:\nUser-agent: a/1\nDisallow: /"
    assert found(followed) == [(1, "names-nobody"), (2, "name-cut-off")]


def test_names_that_occur_twice() -> None:
    text = "User-agent: a\nUser-agent: A\nDisallow: /x\nUser-agent: b\nUser-agent: a\nDisallow: /y"
    assert found(text) == [(2, "duplicate-user-agent"), (5, "duplicate-user-agent")]
    assert words(text) == [
        "'A' is already named on line 1: both count.",
        "'a' is already named on line 1: both count.",
    ]


def test_a_name_that_an_earlier_group_has_may_occur_twice_again() -> None:
    text = "User-agent: a\nDisallow: /x\nUser-agent: a\nUser-agent: a\nDisallow: /y"
    assert found(text) == [(3, "duplicate-user-agent"), (4, "duplicate-user-agent")]


def test_groups_that_are_one_group() -> None:
    text = "User-agent: a\nCrawl-delay: 5\nUser-agent: b\nDisallow: /"
    blank = "User-agent: a\n\nUser-agent: b\nDisallow: /"
    for each in (text, blank):
        assert found(each) == [(3, "joined-group")]
        assert words(each) == ["No rule stands in between, so the rules below are also for 'a'."]
    assert found("User-agent: a\n# why\nUser-agent: b\nDisallow: /") == []
    assert found("User-agent: a\n\nUser-agent: b\nCrawl-delay: 1") == []


def test_groups_without_rules() -> None:
    text = f"{STAR}Disallow: /\nUser-agent: a\nUser-agent: b\nCrawl-delay: 1"
    assert found(text) == [(3, "group-without-rules")]
    assert words(text) == ["No rules for a, b: those for * do not apply to it."]
    assert found("User-agent: a\nCrawl-delay: 1") == []  # nothing is lifted
    assert found(f"User-agent: a\nDisallow: /\n{STAR}Crawl-delay: 1") == []
    assert found(f"{STAR}Disallow: /\nUser-agent: a\nDisallow:") == []
    split = f"{STAR}Disallow: /\nUser-agent: a\nDisallow: /a\nUser-agent: a\nCrawl-delay: 1"
    assert found(split) == [(5, "duplicate-user-agent")]


def test_rules_that_match_nothing_in_a_dialect() -> None:
    assert found(f"{STAR}Disallow: /a b", GOOGLE) == [(2, "never-matches")]
    assert words(f"{STAR}Disallow: /a*<b", GOOGLE) == [
        "URLs have no such characters: they are sent percent-encoded."
    ]


def test_byte_order_marks_in_the_middle() -> None:
    text = f"{STAR}Disallow: /a\n{MARK}User-agent: b\nDisallow: /{MARK}c\n# {MARK}"
    marks = [line for line, code in found(text) if code == "invisible-character"]
    assert marks == [3, 4]
    assert words(text)[0].startswith("The character U+FEFF cannot be seen")
    assert found((MARK * 2 + STAR).encode())[0] == (1, "invisible-character")


def test_octets_that_are_not_utf_8() -> None:
    body = STAR.encode() + b"Disallow: /\xe9\n# \xe9\n"
    assert found(body) == [(2, "not-utf-8")]
    assert words(body) == ["Byte 0xE9 is not UTF-8."]
    assert lint(body, charset="iso-8859-1").findings == ()


def test_a_nul_cuts_a_line_off() -> None:
    text = f"{STAR}Disallow: /a\0bc\nDisallow: /d"
    assert found(text) == [(2, "line-too-long")]
    assert words(text) == ["Only the first 12 of 15 bytes are read."]
    assert lint(text).lines[1].words == "denies what begins with /a"


def test_a_line_that_is_too_long() -> None:
    text = f"{STAR}Disallow: /{'a' * 20_000}"
    assert words(text) == ["Only the first 16,663 of 20,011 bytes are read."]


def test_a_file_that_is_too_long() -> None:
    text = STAR + f"# {'comment ' * 12}x\n" * 6_000
    (finding,) = lint(text).findings
    assert finding.code is Code.FILE_TOO_LONG
    assert finding.line == len(lint(text).lines) == 5_120
    assert finding.text == "The last 88,101 bytes are over the size limit and not read."
    assert lint(text, max_bytes=None).findings == ()


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE html>\n<html>\nsome words in it\nkey: value\n</html>",
        "\n\n  <HTML lang='en'>\nno key",
        "<!-- Moved\n -->\n<head><title>x</title>\nno key",
    ],
)
def test_a_web_page_is_one_finding(text: str) -> None:
    assert found(text) == [(1, "html")]
    assert words(text) == ["This is a web page. Everything that is not a rule is ignored."]


def test_rules_in_a_web_page_count_all_the_same() -> None:
    text = "<html>\nUser-agent: *\nDisallow: a\n"
    assert found(text) == [(1, "html"), (3, "never-matches")]


def test_codes_do_not_change() -> None:
    """Users name them in scripts: one may be added, none renamed."""
    assert [code.value for code in Code] == [
        *("html", "file-too-long", "line-too-long", "invisible-character", "utf-16", "not-utf-8"),
        *("misspelt-key", "missing-colon", "unknown-key", "not-a-record", "several-records"),
        *("outside-group", "names-nobody", "all-is-a-name", "name-cut-off"),
        "duplicate-user-agent",
        *("joined-group", "group-without-rules", "never-matches", "several-paths"),
        "regular-expression",
        *("empty-rule", "shadowed-rule", "unreadable-value"),
    ]


def test_what_is_printed_of_a_file_is_what_is_wrong_with_it() -> None:
    linted = lint("Disallow: /\n")
    assert repr(linted) == f"LintedFile(findings={linted.findings!r})"


def test_prose_is_shown_as_it_is_served() -> None:
    (line,) = lint("some words of prose").lines
    assert (line.text, line.role, line.words) == ("some words of prose", "text", "ignored")


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_told_of(charset: str) -> None:
    body = f"{STAR}Disallow: /a\n".encode(charset)
    for linted in (lint(body, charset="utf-16"), lint(body, charset=charset)):
        (finding,) = linted.findings
        assert (finding.line, finding.code) == (None, Code.UTF_16)
        assert finding.text.endswith("save it as UTF-8.")
    with_mark = f"\ufeff{STAR}Disallow: /a\n".encode(charset)
    assert found(with_mark if charset != "utf-16" else body) == [(None, "utf-16")]


def test_what_is_only_labelled_utf_16_is_not() -> None:
    body = f"{STAR}Disallow: /a\n"
    assert lint(body.encode(), charset="utf-16").findings == ()
    assert lint(body, charset="utf-16").findings == ()
    marked = lint(b"\xff\xfe" + body.encode(), charset="utf-16").findings
    assert Code.UTF_16 not in {each.code for each in marked}


@pytest.mark.parametrize(
    ("path", "quoted"),
    [
        ("/secret/.*", "/.*"),
        ("/secret/.*$", "/.*"),
        ("/secret/.+", "/.+"),
        ("^/secret", "^"),
        (r"/search\?", r"\?"),
        (r"/a\d+", r"\d"),
        ("/(a|b)/", "(a|b)"),
        ("/x/[0-9]+/", "[0-9]"),
        ("/[a-zA-Z_]*", "[a-zA-Z_]"),
    ],
)
def test_a_path_like_a_regular_expression(path: str, quoted: str) -> None:
    text = f"{STAR}Disallow: {path}"
    assert (2, "regular-expression") in found(text)
    assert any(each.startswith(f"{quoted!r} is no regular expression") for each in words(text))


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/*.*",
            "/.*",
            "/*/.*",
            "/a/*.*",
            "/a.*",
            "*.modal.*",
            "/a.+b",
            "/a(b)",
            "/a[b]",
            "/[id]",
        ),
        *(
            "/a[]=",
            "/a/b|c",
            "/x^y",
            "/a.b*",
            "/...",
            "/a-[b]",
            "/(a)/(b)",
            "/.well-known/",
            "/a\\b",
        ),
    ],
)
def test_other_paths_are_not_like_one(path: str) -> None:
    assert "regular-expression" not in {code for _, code in found(f"{STAR}Disallow: {path}")}


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("/a /b", "/b"),
        ("/a, /b", "/b"),
        ("/a ,  /b/c", "/b/c"),
        ("/a\t/b /c", "/b"),
        ("/a *.pdf$", "*.pdf$"),
    ],
)
def test_several_paths_of_one_rule(path: str, other: str) -> None:
    text = f"{STAR}Disallow: {path}"
    assert (2, "several-paths") in found(text)
    assert any(each.endswith(f"a line of its own for {other}") for each in words(text))


@pytest.mark.parametrize("path", ["/a,/b", "/a b", "/a - b/c", "/a # /b", "/a/b", "/a?b=c, d"])
def test_a_path_with_a_space_or_a_comma_is_one(path: str) -> None:
    assert "several-paths" not in {code for _, code in found(f"{STAR}Disallow: {path}")}


@pytest.mark.parametrize(
    "name", ["all", "All", "ALL", "any", "everyone", "all robots", "AllBots", "any-crawlers"]
)
def test_all_is_the_name_of_one_crawler(name: str) -> None:
    text = f"User-agent: {name}\nDisallow: /a"
    assert (1, "all-is-a-name") in found(text)
    assert f"{name!r} is the name of one crawler: write * for all." in words(text)


@pytest.mark.parametrize("name", ["*", "allbot", "all-in-one", "anybot", "alligator", "overall"])
def test_other_names_are_not_for_all(name: str) -> None:
    assert "all-is-a-name" not in {code for _, code in found(f"User-agent: {name}\nDisallow: /a")}


def test_a_group_that_a_blank_line_ends_is_looked_at() -> None:
    dialect = RFC9309._replace(blank_line_ends_group=True)
    text = "User-agent: *\nDisallow: /a\n\nUser-agent: foo\nCrawl-delay: 3\n"
    assert (4, "group-without-rules") in found(text, dialect)
