"""The entries of an audit log: their fields, and the version of their schema.

The tables of docs/audit-log-lines.md are made from the docstrings here. On a line, the fields of an
entry stand between those that chain the lines (:mod:`~scrapy_robots_plus.audit.chain`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from math import isfinite
from typing import Annotated, Any, ClassVar, NamedTuple, get_args, get_type_hints

from scrapy_robots_plus.protocol.dialect import RFC9309, Dialect, dialect_named
from scrapy_robots_plus.protocol.printable import moment_of, rfc3339
from scrapy_robots_plus.protocol.product_token import AgentNames

SHA256 = re.compile("[0-9a-f]{64}")


class Kind(NamedTuple):
    """A kind of value that a field may hold."""

    type: str
    """The words for it, such as ``whole number``."""
    accepts: tuple[object, ...]
    """The exact types of values in parsed JSON. A bool is not accepted as an int."""
    convert: Callable[[Any], Any] | None = None
    """The conversion from JSON; None if values are read as they are. It raises ValueError, or
    OverflowError for a number that is too large."""

    def read(self, value: Any) -> Any:
        """Converts *value* from JSON. Raises ValueError for another kind, or OverflowError."""
        if type(value) not in self.accepts:
            raise ValueError(f"expected a {self.type}, not {value!r:.100}")
        return value if self.convert is None else self.convert(value)


def _finite(value: float) -> float:
    if not isfinite(value):
        raise ValueError("expected a finite number")
    return float(value)


_TEXT = Kind("string", (str,))
_MOMENT = Kind("time, RFC 3339 in UTC", (str,), moment_of)


def _texts(values: str | list[Any]) -> AgentNames:
    return values if isinstance(values, str) else tuple(map(_TEXT.read, values))


Text = Annotated[str, _TEXT]
Texts = Annotated[tuple[str, ...], Kind("list of strings", (list,), _texts)]
Names = Annotated[AgentNames, Kind("string, or list of strings", (str, list), _texts)]
Flag = Annotated[bool, Kind("boolean", (bool,))]
Count = Annotated[int, Kind("whole number", (int,))]
Number = Annotated[float, Kind("number", (float, int), _finite)]
Seconds = Annotated[float, Kind("number of seconds", (float, int), _finite)]
Moment = Annotated[float, _MOMENT]
Object = Annotated[Mapping[str, Any], Kind("JSON object", (dict,))]
Objects = Annotated[list[Any], Kind("list of JSON objects", (list,))]


def fields_of(entry: type) -> Iterator[tuple[str, Kind, bool]]:
    """Yields the name and the kind of each field of a dataclass, and whether it may be null.

    Fields come in the order in which they are written; their docstrings, in Markdown, explain them.
    """
    hints = get_type_hints(entry, include_extras=True)
    for each in fields(entry):
        nullable, hint = each.default is None, hints[each.name]
        (kind,) = (get_args(hint)[0] if nullable else hint).__metadata__
        yield each.name, kind, nullable


VERSION = 1
"""The version of the schema. A reader of version 1 ignores unknown fields and types."""


_BY_TYPE: dict[str, type[Entry]] = {}


@dataclass(slots=True, kw_only=True)  # frozen would be slower, and each request makes one
class Entry:
    """The fields that all entries have."""

    type: ClassVar[str]
    """The ``type`` of the line: ``crawl`` for a CrawlEntry."""

    def __init_subclass__(cls) -> None:
        cls.type = cls.__name__.removesuffix("Entry").lower()
        _BY_TYPE[cls.type] = cls  # called twice: slots=True makes the class anew; the last counts

    time: Moment
    """When it happened."""
    crawl: Text
    """Which crawl: several may write to one file, each with a chain of its own."""


@dataclass(slots=True, kw_only=True)
class CrawlEntry(Entry):
    """A crawl begins, or goes on in a new file: all that its verdicts depend on"""

    spider: Text
    """The spider's name."""
    version: Text
    """The version of scrapy-robots-plus."""
    mode: Text
    """`ROBOTS_MODE`: `obey`, or `observe` if denials are counted but not enforced."""
    obey: Flag
    """`ROBOTSTXT_OBEY`."""
    agent: Names
    """`ROBOTSTXT_USER_AGENT`, else the User-Agent that requests have by default."""
    parser: Text
    """`ROBOTSTXT_PARSER`."""
    dialect: Object
    """The dialect, with all its fields; `name` is that of `ROBOTS_DIALECT`."""
    status_policy: Object
    """`ROBOTS_STATUS_POLICY` as a table: what each status and each failure means."""
    crawl_delay_obey: Flag | None = None
    """`ROBOTS_CRAWL_DELAY_OBEY`; null if it is not set: delays are kept where rules are obeyed."""
    crawl_delay_max: Seconds
    """`ROBOTS_CRAWL_DELAY_MAX`; 0 for no maximum."""
    crawl_delay_too_long: Text
    """`ROBOTS_CRAWL_DELAY_TOO_LONG`."""
    stale_max: Seconds
    """`ROBOTS_STALE_MAX`."""
    ai_uses: Texts | None = None
    """`ROBOTS_AI_USES`: what the crawl is for."""
    content_use: Text | None = None
    """`ROBOTS_CONTENT_USE`: `immediate`, `reference` or `full`."""
    ai_policy: Text | None = None
    """`ROBOTS_AI_POLICY`: `observe` or `skip`."""
    use_tokens: Texts | None = None
    """`ROBOTS_AI_TOKENS`."""
    overrides: Object | None = None
    """`ROBOTS_OVERRIDES`, by host; each as in the `override` of a verdict."""
    allowed_share: Number
    """Which share of the allowed requests is logged: `ROBOTS_AUDIT_LOG_ALLOWED`."""
    bodies: Text | None = None
    """The folder of the robots.txt files, relative to that of the log if it lies below it."""


@dataclass(slots=True, kw_only=True)
class FileEntry(Entry):
    """A robots.txt was fetched, found in the store, or could not be read"""

    origin: Text
    """Whose robots.txt: scheme, host, and port if it is not the usual."""
    robots_url: Text
    """Where it came from, after redirects."""
    source: Text
    """`network`, `store`, `cache` (Scrapy's HTTP cache) or `override` (one's own text)."""
    status: Text | None = None
    """The HTTP status of its last readable answer, else the failure. Null for one's own text."""
    failure: Text | None = None
    """The status or failure of the last attempt, if that could not read it: `503`, `timeout`."""
    detail: Text | None = None
    """The failure in words."""
    access: Text
    """What the status or failure means: `rules`, `unavailable` or `unreachable`."""
    sha256: Text | None = None
    """Hash of its text, and its name in `bodies`; null without rules."""
    charset: Text | None = None
    """The charset in its Content-Type, as Python names it."""
    fetched_at: Moment | None = None
    """When it was received or last found unchanged; null for one's own text."""
    changed: Flag
    """Whether its rules differ from those that the crawl had before."""
    previous: Text | None = None
    """The `sha256` that the crawl had before, if it had one."""
    delay_asked: Seconds | None = None
    """The Crawl-delay that it asks of the crawl's agent."""


@dataclass(slots=True, kw_only=True)
class VerdictEntry(Entry):
    """One request was denied, or allowed and sent, or its page was skipped"""

    url: Text
    """The URL of the request."""
    origin: Text | None = None
    """Its origin; null if robots.txt does not apply to it."""
    agent: Names
    """The names that it was judged by: a product token, a whole header, or several."""
    allowed: Flag
    """Whether robots.txt allows it."""
    reason: Text
    """What decided: see below."""
    rule: Text | None = None
    """The deciding line, such as `Disallow: /private/`; its first 500 characters."""
    line: Count | None = None
    """Its number in the file, counted from 1."""
    group: Texts | None = None
    """The user agents of the group that it is in; the first 32, and 100 characters of each."""
    form: Text | None = None
    """The path and query that decided, if a download handler may send them for the URL."""
    use: Text | None = None
    """The use that the site objects to in `rule`, if the reason is `ai_preference`."""
    source: Text | None = None
    """Where the site says so, such as `robots.txt Content-Usage`, `tdmrep.json`, `X-Robots-Tag`."""
    statements: Objects | None = None
    """What the site says of uses, as [in the stamp](preferences.md#the-stamp): `category`,
    `preference`, `source`, `text` and `line`. What pages say is known of skipped ones only."""
    robots_url: Text | None = None
    """The robots.txt that decided, after redirects; null if none was asked."""
    sha256: Text | None = None
    """Hash of its text, and its name in `bodies`; null without rules."""
    charset: Text | None = None
    """The charset in its Content-Type, as Python names it."""
    status: Text | None = None
    """The HTTP status of its last readable answer, else the failure. Null if an override says not
    to ask for it."""
    failure: Text | None = None
    """The status or failure of the last attempt, if that could not read it."""
    access: Text | None = None
    """`rules`, `unavailable` or `unreachable`."""
    fetched_at: Moment | None = None
    """When the robots.txt was received or last confirmed."""
    age: Seconds | None = None
    """The age of the robots.txt at the verdict."""
    delay: Seconds | None = None
    """The delay kept between requests to the host; the delay asked for, if it was too long."""
    sent: Moment | None = None
    """When an allowed request was handed to the download handler; null for others."""
    override: Object | None = None
    """What of `ROBOTS_OVERRIDES` applied to it; `robots_txt` is the hash of that text.
    `{"dont_obey_robotstxt": true}` if the request has that meta key, so that it was not judged."""
    mode: Text
    """`obey`, or `observe` if a denial was not enforced."""


MOST_OF_A_RULE, MOST_NAMES, MOST_OF_A_NAME = 500, 32, 100
"""How many characters of a rule, names of a group, and characters of a name are logged. Otherwise
a robots.txt of 500 kB could make each line about its site as long."""


def as_logged(rule: str | None, group: tuple[str, ...] | None) -> dict[str, Any]:
    """Returns what an entry of the log keeps of a verdict's *rule* and *group*."""
    names = group and tuple([each[:MOST_OF_A_NAME] for each in group[:MOST_NAMES]])
    return {"rule": rule and rule[:MOST_OF_A_RULE], "group": names}


@dataclass(slots=True, kw_only=True)
class StandingEntry(Entry):
    """A site treats the crawl differently than before, as its answers to several pages show"""

    origin: Text
    """The site."""
    standing: Text
    """`walled`, `priced`, `limited`, `broken`, or `open` again."""
    why: Text
    """What the last refusal said: a status, a failure or a header."""
    url: Text
    """The page whose answer has decided."""


@dataclass(slots=True, kw_only=True)
class EndEntry(Entry):
    """A crawl ends. A crawl without it was killed, or the end of the log is missing"""

    reason: Text
    """Why: the reason that Scrapy gives, such as `finished`."""
    allowed: Count
    """Requests that robots.txt allowed, logged or not."""
    denied: Count
    """Requests that it denied, and allowed ones whose page was skipped for what it says."""
    dont_obey: Count
    """Requests with `dont_obey_robotstxt`, which were not judged, logged or not."""
    lost: Count
    """Lines of the crawl that could not be written."""


ENTRIES = tuple(_BY_TYPE.values())
"""All types of entries, in the order of the docs."""

_FIELDS = {entry: tuple(fields_of(entry)) for entry in (*ENTRIES, Entry)}


def to_fields(entry: Entry) -> dict[str, Any]:
    """Returns the fields of the line of *entry*, in the order in which they are written."""
    written = {"type": entry.type}
    for name, kind, _ in _FIELDS[type(entry)]:
        value = getattr(entry, name)
        written[name] = rfc3339(value) if kind is _MOMENT and value is not None else value
    return written


def from_fields(line: Mapping[str, Any]) -> Entry:
    """Returns the entry in a parsed line; a plain :class:`Entry` if its type is unknown.

    Later releases may add types. Raises ValueError, which says what is wrong: another version, or a
    field that is missing or of another kind.
    """
    version = line.get("v")
    if version != VERSION:
        raise ValueError(f"version {version!r} of the schema; this is a reader of {VERSION}")
    entry = _BY_TYPE.get(_TEXT.read(line.get("type")), Entry)
    found = {}
    for name, kind, nullable in _FIELDS[entry]:
        value = line.get(name)
        if value is None and nullable:
            continue
        try:
            found[name] = kind.read(value)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{name!r}: {error}") from None
    return entry(**found)


def dialect_from_json(value: str | Mapping[str, Any]) -> Dialect:
    """Returns the dialect with this name, or that of RFC 9309 with these fields changed.

    Raises ValueError for an unknown name, TypeError for what is neither.
    """
    if isinstance(value, str):
        return dialect_named(value)
    given = {name: value[name] for name in {*Dialect._fields}.intersection(value)}
    return RFC9309._replace(**given)
