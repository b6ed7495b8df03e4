"""What the linter can find, each with a code that does not change between versions."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import NamedTuple

from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.printable import Explained, cut

_QUOTED = 40
"""Characters of a key or value that a finding quotes."""

_LISTED = 10_000
"""So many findings of a code are listed."""


class Code(Explained):
    """What is wrong, or may be other than meant (RFC 9309, and what real files show).

    Its value is the code, in kebab-case; its words are those of a finding.
    """

    HTML = "html", "This is a web page. Everything that is not a rule is ignored."
    """The file is a web page, not a robots.txt."""
    FILE_TOO_LONG = "file-too-long", "The last {:,} bytes are over the size limit and not read."
    """The file is longer than `ROBOTS_FETCH_MAX_BYTES`, by default 500 KiB (RFC 9309 2.5)."""
    LINE_TOO_LONG = "line-too-long", "Only the first {:,} of {:,} bytes are read."
    """The end of the line is not read, because it is too long, or comes after a NUL."""
    INVISIBLE_CHARACTER = (
        "invisible-character",
        "There is {}, which cannot be seen and counts as part of the text.",
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
    MISSPELT_KEY_IGNORED = "misspelt-key-ignored", "{!r} is ignored. {} may be meant."
    """The key looks like a misspelling, and the line is ignored."""
    MISSING_COLON = "missing-colon", "There is no colon after {}{}."
    """There is no colon after the key."""
    UNKNOWN_KEY = "unknown-key", "{} is unknown and ignored."
    """The key is unknown, so the line is ignored."""
    NOT_A_RECORD = "not-a-record", "Neither a comment nor a key with a value: ignored."
    """The line has no key, and is not a comment: it is ignored."""
    SEVERAL_RECORDS = "several-records", "A line break may be missing before {!r}."
    """The value holds another key: a line break may be missing."""
    OUTSIDE_GROUP = "outside-group", "{} belongs to no group, so it is ignored."
    """A rule, a Crawl-delay or a Content-Signal is in no group, because no user-agent line comes
    before it (RFC 9309 2.2.2)."""
    NAMES_NOBODY = "names-nobody", "{!r} names no crawler."
    """A user-agent line without a name that a crawler can have."""
    ALL_IS_A_NAME = "all-is-a-name", "{!r} is the name of one crawler: write * for all."
    """The group is for a crawler named `all` or the like. Only `*` is for all (RFC 9309 2.2.1)."""
    NAME_CUT_OFF = "name-cut-off", "{}Only {!r} counts, at the beginning of {!r}."
    """Only the beginning of a user-agent line counts as its name (RFC 9309 2.2.1)."""
    DUPLICATE_USER_AGENT = "duplicate-user-agent", "{!r} is already named on line {}."
    """The group has this name already."""
    DUPLICATE_GROUP = (
        "duplicate-group",
        "{!r} is already named on line {}: the two groups are merged.",
    )
    """An earlier group has this name, too: the two are merged (RFC 9309 2.2.1)."""
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
    LITERAL_DOLLAR = (
        "literal-dollar",
        "Only a $ at the very end is special: this one stands for itself.",
    )
    """A `$` that is not the last character stands for itself (RFC 9309 2.2.3)."""
    COMMENT_IN_PATH = "comment-in-path", "# begins a comment: the path is {}"
    """`#` begins a comment (RFC 9309 2.2), so the path ends there."""
    EMPTY_RULE = "empty-rule", "{} without a path means nothing."
    """A rule without a path means nothing here (RFC 9309 2.2.2)."""
    DUPLICATE_RULE = "duplicate-rule", "Line {} says the same: {}"
    """An earlier rule says the same about the same paths."""
    CONTRADICTION = "contradiction", "Line {} says the opposite about the same paths and wins: {}"
    """The paths of the rule are both allowed and disallowed; the other rule wins."""
    SHADOWED_RULE = "shadowed-rule", "Line {} matches all these paths and wins: {}"
    """The rule changes nothing: wherever it matches, another one wins or says the same."""
    RELATIVE_URL = "relative-url", "{} needs a whole URL, with https:// and the host."
    """A Sitemap or a License is not a full URL (sitemaps.org: "complete URL"; RSL 1.0)."""
    EMPTY_VALUE = "empty-value", "{} has no value."
    """There is nothing after the key."""
    UNREADABLE_VALUE = "unreadable-value", "{} is ignored: it is not {}.{}"
    """A Crawl-delay, Request-rate or Visit-time cannot be understood, so it is ignored."""
    BROKEN_PREFERENCE = (
        "broken-preference",
        "It does not look like train-ai=n, search=y ({}): all is unknown.",
    )
    """A Content-Usage is not a Dictionary (RFC 9651), so that all preferences are unknown
    (draft-ietf-aipref-vocab)."""
    UNKNOWN_USE = "unknown-use", "{} is unknown and ignored. There are {}."
    """A key of Content-Usage or Content-Signal is not in use, so that it is ignored."""
    UNCLEAR_PREFERENCE = "unclear-preference", "{!r} is unknown: its value is none of {}."
    """A value of Content-Usage is not `y` or `n`, or one of Content-Signal is not `yes` or `no`:
    the preference is unknown."""
    NOT_CHECKED = "not-checked", "There are too many rules to look for all that change nothing."
    """A part of the file was not searched for shadowed rules, because that would take too long."""


class Finding(NamedTuple):
    """Something in a robots.txt that is wrong, or may be other than meant (RFC 9309)."""

    line: int | None
    """Its line, counted from 1; None for the whole file."""
    code: Code
    """What it is."""
    text: str
    """What it means here, in plain English. May quote the file: escape it before printing."""


class Findings:
    """Those of a file: 10,000 of each code are listed, the others counted."""

    def __init__(self) -> None:
        self._listed: defaultdict[Code, list[Finding]] = defaultdict(list)
        self._others: Counter[Code] = Counter()

    def add(self, line: int | None, code: Code, *values: object, words: str = "") -> None:
        """Adds one. *words*, or those of *code*, with *values*, as for ``str.format``, are only put
        together if it is listed; octets are shown as text."""
        listed = self._listed[code]
        if len(listed) >= _LISTED and line is not None:
            self._others[code] += 1
            return
        shown = [text(each) if isinstance(each, bytes) else each for each in values]
        listed.append(Finding(line, code, (words or code.words).format(*shown)))

    def in_order(self) -> list[Finding]:
        """Those that are listed, by line and code, and for the others how many there are."""
        for code, number in self._others.items():
            words = f"{number:,} more findings of this kind are not listed."
            self._listed[code].append(Finding(None, code, words))
        by_code = chain.from_iterable(self._listed[code] for code in sorted(self._listed))
        return sorted(by_code, key=lambda each: each.line or 0)


def quoted(name: bytes) -> str:
    """A key or value in quotes, cut short: a line may be long."""
    return repr(cut(text(name), _QUOTED))
