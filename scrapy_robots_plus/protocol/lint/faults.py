"""The checks of a file: of its octets, its lines, its groups, its rules; and what they find.

Each kind of finding has a code that does not change between versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from scrapy_robots_plus.protocol.fields import ABOUT_USES, Field, Line
from scrapy_robots_plus.protocol.groups import STAR, Section
from scrapy_robots_plus.protocol.matcher import Pattern, Rank, line_of
from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.preferences import Preference
from scrapy_robots_plus.protocol.preferences.values import statements_in
from scrapy_robots_plus.protocol.printable import Explained, cut
from scrapy_robots_plus.protocol.product_token import fold
from scrapy_robots_plus.protocol.robotstxt import READERS, is_whole_url

from .reading import Reading

_QUOTED = 40
"""The number of characters of a key or value that a finding quotes."""


class Code(Explained):
    """The kinds of findings: what is wrong, or may be other than meant.

    They come from RFC 9309 and from what real files show. The value is the code, in kebab-case; the
    words are those of a finding.
    """

    HTML = "html", "This is a web page. Everything that is not a rule is ignored."
    """The file is a web page, not a robots.txt."""
    FILE_TOO_LONG = "file-too-long", "The last {:,} bytes are over the size limit and not read."
    """The file is longer than `ROBOTS_FETCH_MAX_BYTES`, by default 500 KiB (RFC 9309 2.5)."""
    LINE_TOO_LONG = "line-too-long", "Only the first {:,} of {:,} bytes are read."
    """The end of the line is not read, because it is too long, or comes after a NUL."""
    INVISIBLE_CHARACTER = (
        "invisible-character",
        "The character U+{:04X} cannot be seen, but counts as part of the text.",
    )
    """The line has an invisible character, such as a no-break space or a byte order mark."""
    UTF_16 = "utf-16", "The file is UTF-16. Others may find no rule in it: save it as UTF-8."
    """The file is UTF-16, not UTF-8 (RFC 9309 2.3). Others find no rule and fetch everything."""
    NOT_UTF_8 = "not-utf-8", "Byte 0x{:02X} is not UTF-8."
    """The line is not UTF-8 (RFC 9309 2.3)."""
    MISSPELT_KEY = "misspelt-key", "{} is read as {}, but others may ignore it."
    """The key is misspelt, but understood. Others may not."""
    MISSING_COLON = "missing-colon", "There is no colon after {}: others may not read the line."
    """There is no colon after the key. Others may not read the line."""
    UNKNOWN_KEY = "unknown-key", "{} is unknown and ignored."
    """The key is unknown, so the line is ignored."""
    NOT_A_RECORD = "not-a-record", "Neither a comment nor a key with a value: ignored."
    """The line has no key, and is not a comment: it is ignored."""
    SEVERAL_RECORDS = "several-records", "A line break may be missing before {!r}."
    """The value holds another key: a line break may be missing."""
    OUTSIDE_GROUP = "outside-group", "{} belongs to no group: most crawlers ignore it."
    """No user-agent line is above a rule, a Crawl-delay or a Content-Signal (RFC 9309 2.2.2)."""
    NAMES_NOBODY = "names-nobody", "{!r} names no crawler."
    """A user-agent line without a name that a crawler can have."""
    ALL_IS_A_NAME = "all-is-a-name", "{!r} is the name of one crawler: write * for all."
    """The group is for a crawler named `all` or the like. Only `*` is for all (RFC 9309 2.2.1)."""
    NAME_CUT_OFF = "name-cut-off", "{}Only {!r} counts, at the beginning of {!r}."
    """Only the beginning of a user-agent line counts as its name (RFC 9309 2.2.1)."""
    DUPLICATE_USER_AGENT = "duplicate-user-agent", "{!r} is already named on line {}: both count."
    """The name is there already: groups of one name are merged (RFC 9309 2.2.1)."""
    JOINED_GROUP = (
        "joined-group",
        "No rule stands in between, so the rules below are also for {!r}.",
    )
    """A user-agent line continues a group across a blank line or a Crawl-delay, as no rule is in
    between (RFC 9309 2.1): the rules below are for all its crawlers."""
    GROUP_WITHOUT_RULES = "group-without-rules", "No rules for {}: those for * do not apply to it."
    """A group has no rules, so its crawlers may fetch all, whatever the rules for `*` say."""
    NEVER_MATCHES = "never-matches", "{}{}"
    """No URL can match the rule."""
    SEVERAL_PATHS = "several-paths", "A rule has one path: write a line of its own for {}"
    """A rule has one path (RFC 9309 2.2.2): a space and what follows it are part of that."""
    REGULAR_EXPRESSION = (
        "regular-expression",
        "{!r} is no regular expression: only * and a $ at the end are special.",
    )
    """The path looks like a regular expression. Only `*` and a final `$` are special (RFC 9309
    2.2.3)."""
    EMPTY_RULE = "empty-rule", "{} without a path means nothing."
    """A rule without a path means nothing here (RFC 9309 2.2.2)."""
    SHADOWED_RULE = "shadowed-rule", "Line {} is about the same paths and wins."
    """The rule changes nothing: another one of its group is about the same paths, and wins."""
    UNREADABLE_VALUE = "unreadable-value", "{} is not understood: write {}."
    """A value is missing, or cannot be understood, so that it has no effect, or not all of it."""


class Finding(NamedTuple):
    """Something in a robots.txt that is wrong, or may not be what was meant (RFC 9309)."""

    line: int | None
    """The line number, counted from 1; None for the whole file."""
    code: Code
    """The kind of finding."""
    text: str
    """What is wrong here, in plain English. May quote the file: escape it before printing."""


def finding(line: int | None, code: Code, *values: object) -> Finding:
    """Returns a finding in the words of *code* about *values*, as for ``str.format``.

    Octets are shown as text.
    """
    shown = [text(each) if isinstance(each, bytes) else each for each in values]
    return Finding(line, code, code.words.format(*shown))


def quoted(name: bytes) -> str:
    """Returns a key or value in quotes, cut short: a line may be long."""
    return repr(cut(text(name), _QUOTED))


_INVISIBLE = re.compile("[\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u2060\u3000\ufeff]")
_HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body|title|meta)\b",
    re.IGNORECASE | re.DOTALL,
)
_BEGINNING = 2048

_ANOTHER_KEY = re.compile(rb"(?:user-?agent|disallow|crawl-delay|sitemap)[ \t]*:", re.IGNORECASE)
_EXPECTED = {
    Field.CRAWL_DELAY: "a number of seconds, such as 5 or 0.5",
    Field.REQUEST_RATE: "a rate such as 1/5 or 10/60m",
    Field.VISIT_TIME: "a time such as 0600-0845",
    Field.SITEMAP: "a whole URL, with https:// and the host",
    Field.LICENSE: "a whole URL, with https:// and the host",
    Field.CONTENT_USAGE: "uses with y or n, such as train-ai=n, search=y",
    Field.CONTENT_SIGNAL: "uses with yes or no, such as ai-train=no, search=yes",
}
"""What the value of each of these fields has to be."""

_ALL = re.compile(
    rb"(?:all|any|every)(?:one|body)?(?:[ _-]*(?:robots|bots|crawlers|spiders|agents))?$",
    re.IGNORECASE,
)

_URL = re.compile(rb"(?:https?:/*|www\.)[^/]*(/.*)?", re.IGNORECASE)
_SEVERAL = re.compile(rb"\s([/*]\S*)")
_REGULAR = re.compile(
    rb"^\^"  # ^/private
    rb"|(?<=[^*/])/\.[*+]\??(?=\$?$)"  # /private/.*
    rb"|\\(?:[dwsDWS](?![a-zA-Z])|[./?+*-])"  # /\d
    rb"|\([^()/|]*\|[^()]*\)"  # /(a|b)
    rb"|\[(?=[^][/]*[a-zA-Z0-9]-[a-zA-Z0-9])[^][/]*\]"  # /[0-9]
)
"""Signs of a regular expression. Each takes a look or two at each octet, whatever the path."""


def faults(reading: Reading) -> Iterator[Finding]:
    """Yields findings about the whole file, its lines, its groups and its rules, in no order."""
    if reading.is_utf16:
        yield finding(None, Code.UTF_16)
    if reading.unread:
        yield finding(len(reading.raw) or None, Code.FILE_TOO_LONG, reading.unread)
    yield from _of_lines(reading)
    yield from _of_names(reading)
    yield from _joined(reading)
    yield from _without_rules(reading)
    for section in reading.sections:
        yield from _of_rules(section, reading)


def _of_lines(reading: Reading) -> Iterator[Finding]:
    is_html = _HTML.match(b"\n".join(reading.lines[:50])[:_BEGINNING])
    if is_html:
        yield finding(1, Code.HTML)
    for number, (raw, line) in enumerate(zip(reading.raw, reading.lines, strict=True), 1):
        content, read = line.partition(b"#")[0].strip(), reading.records.get(number)
        if len(raw) != len(line):
            yield finding(number, Code.LINE_TOO_LONG, len(line), len(raw))
        if not content.isascii():
            yield from _outside_ascii(number, content)
        if read is not None and read.field is not Field.NOTHING:
            yield from _of_record(read, content, reading)
        elif content and not is_html:  # a web page has too many such lines
            code = Code.NOT_A_RECORD if read is None else Code.UNKNOWN_KEY
            yield finding(number, code, quoted(read.key if read else content))


def _outside_ascii(number: int, content: bytes) -> Iterator[Finding]:
    try:
        found = _INVISIBLE.search(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        yield finding(number, Code.NOT_UTF_8, content[error.start])
        return
    if found:
        yield finding(number, Code.INVISIBLE_CHARACTER, ord(found[0]))


def _of_record(read: Line, content: bytes, reading: Reading) -> Iterator[Finding]:
    number, field, key, value = read
    name = field.key.capitalize()
    if text(key).lower() != field.key:
        yield finding(number, Code.MISSPELT_KEY, quoted(key), name)
    if not content[len(key) :].lstrip().startswith(b":"):
        yield finding(number, Code.MISSING_COLON, quoted(key))
    if another := _ANOTHER_KEY.search(value):
        yield finding(number, Code.SEVERAL_RECORDS, text(another[0]))
    if reading.is_apart(read):
        yield finding(number, Code.OUTSIDE_GROUP, name)
    elif field in _EXPECTED and not _is_understood(read):
        yield finding(number, Code.UNREADABLE_VALUE, quoted(value), _EXPECTED[field])


def _is_understood(read: Line) -> bool:
    """Returns whether all of the value has an effect."""
    if read.field in READERS:
        return READERS[read.field](read.value) is not None
    if read.field in ABOUT_USES:
        preferences = {each.preference for each in statements_in(read)[1]}
        return bool(preferences) and Preference.UNKNOWN not in preferences
    return is_whole_url(read.value)


def _of_names(reading: Reading) -> Iterator[Finding]:
    first: dict[tuple[str, ...], int] = {}
    for number, (_, value, names) in reading.agents.items():
        if not any(names):
            yield finding(number, Code.NAMES_NOBODY, value)
            continue
        if _ALL.match(value):
            yield finding(number, Code.ALL_IS_A_NAME, value)
        starred = b"*" in value[1:]
        if starred or fold(text(value)) not in names:
            why = "A * in a name is no wildcard. " if starred else ""
            counted = names[0] if starred else names[-1]
            yield finding(number, Code.NAME_CUT_OFF, why, counted, value)
        line = first.setdefault(names, number)
        if line != number:
            yield finding(number, Code.DUPLICATE_USER_AGENT, value, line)


def _joined(reading: Reading) -> Iterator[Finding]:
    """Yields findings about groups that an author may have meant to be two (2.1).

    Between user-agent lines, a blank line or another line of the group looks like its end.
    """
    agents = reading.agents.items()
    for (before, (first, names, _)), (number, (section, _, _)) in pairwise(agents):
        if first == section and reading.sections[section].rules:
            between = range(before + 1, number)
            if any(n in reading.groups or not reading.lines[n - 1].strip() for n in between):
                yield finding(number, Code.JOINED_GROUP, names)


def _without_rules(reading: Reading) -> Iterator[Finding]:
    """Yields findings about groups that lift the rules for ``*``, perhaps by mistake (2.2.1)."""
    by_name = reading.scanned.by_name
    if not _has_rules(reading, by_name.get(STAR, ())):
        return
    first_lines = {position: n for n, (position, _, _) in reversed(reading.agents.items())}
    for position, section in enumerate(reading.sections):
        names = {name for each in section.names for name in each}
        merged = (each for name in names for each in by_name.get(name, ()))
        if not section.rules and any(names) and not _has_rules(reading, merged):
            shown = b", ".join(section.agents)
            yield finding(first_lines[position], Code.GROUP_WITHOUT_RULES, shown)


def _has_rules(reading: Reading, chosen: Iterable[int]) -> bool:
    return any(reading.sections[position].rules for position in chosen)


def _of_rules(section: Section, reading: Reading) -> Iterator[Finding]:
    """Yields findings about rules that match no URL, are beaten, or look like a mistake (2.2.2)."""
    strongest: dict[Pattern, Rank] = {}
    for number in section.rules:
        for pattern, rank in reading.patterns.get(number, ()):
            strongest[pattern] = max(rank, strongest.get(pattern, rank))
    for number in section.rules:
        _, field, _, value = reading.records[number]
        patterns = reading.patterns.get(number, [])
        if patterns and all(rank < strongest[pattern] for pattern, rank in patterns):
            winner = strongest[patterns[0][0]]
            yield finding(number, Code.SHADOWED_RULE, line_of(winner))
        if several := _SEVERAL.search(value):
            yield finding(number, Code.SEVERAL_PATHS, several[1])
        if special := _REGULAR.search(value):
            yield finding(number, Code.REGULAR_EXPRESSION, special[0])
        if value and not patterns:
            yield finding(number, Code.NEVER_MATCHES, *_why_not(value))
        if not value and (field is Field.ALLOW or len(section.rules) > 1):
            yield finding(number, Code.EMPTY_RULE, field.key.capitalize())


def _why_not(value: bytes) -> tuple[str, bytes]:
    """Returns why no URL can match a rule, and the path to write instead, or an empty one."""
    if value[:1] in {b"/", b"*"}:
        return "URLs have no such characters: they are sent percent-encoded.", b""
    if whole := _URL.fullmatch(value):
        return "This is a URL, not a path: write ", whole[1] or b"/"
    return "The path does not begin with / or *, but all paths of URLs begin with /.", b""
