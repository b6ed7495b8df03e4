"""The findings of the linter, each with a code that does not change between versions."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.printable import Explained, cut

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
    """The line has a character that cannot be seen, such as a no-break space or a byte order
    mark."""
    UTF_16 = "utf-16", "The file is UTF-16. Others may find no rule in it: save it as UTF-8."
    """The file is UTF-16, not UTF-8 (RFC 9309 2.3). It is read here, but others find no rule in it
    and fetch everything."""
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
    """A rule, a Crawl-delay or a Content-Signal is in no group, because no user-agent line comes
    before it (RFC 9309 2.2.2)."""
    NAMES_NOBODY = "names-nobody", "{!r} names no crawler."
    """A user-agent line without a name that a crawler can have."""
    ALL_IS_A_NAME = "all-is-a-name", "{!r} is the name of one crawler: write * for all."
    """The group is for a crawler named `all` or the like. Only `*` is for all (RFC 9309 2.2.1)."""
    NAME_CUT_OFF = "name-cut-off", "{}Only {!r} counts, at the beginning of {!r}."
    """Only the beginning of a user-agent line counts as its name (RFC 9309 2.2.1)."""
    DUPLICATE_USER_AGENT = "duplicate-user-agent", "{!r} is already named on line {}: both count."
    """This group or an earlier one has the name already: groups of one name are merged (RFC 9309
    2.2.1)."""
    JOINED_GROUP = (
        "joined-group",
        "No rule stands in between, so the rules below are also for {!r}.",
    )
    """A user-agent line continues a group across a blank line or a Crawl-delay, as no rule is in
    between (RFC 9309 2.1): the rules below are for all its crawlers."""
    GROUP_WITHOUT_RULES = "group-without-rules", "No rules for {}: those for * do not apply to it."
    """A group has no rules, so its crawlers may fetch everything: the rules for `*` do not apply to
    them."""
    NEVER_MATCHES = "never-matches", "{}{}"
    """No URL can match the rule."""
    SEVERAL_PATHS = "several-paths", "A rule has one path: write a line of its own for {}"
    """A rule has one path (RFC 9309 2.2.2): a space and what follows it are part of that."""
    REGULAR_EXPRESSION = (
        "regular-expression",
        "{!r} is no regular expression: only * and a $ at the end are special.",
    )
    """The path looks like a regular expression. In paths, only `*` and a final `$` are special (RFC
    9309 2.2.3)."""
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
