"""The lines of an audit log: what they say, and in which version of the schema.

The tables of docs/audit-log-lines.md are made from this. Around the fields of an entry stand those
that chain the lines (:mod:`~scrapy_robots_plus.audit.chain`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy_robots_plus.protocol.dialect import RFC9309, Dialect, dialect_named
from scrapy_robots_plus.protocol.printable import moment_of, rfc3339

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.product_token import AgentNames

SHA256 = re.compile("[0-9a-f]{64}")
"""A hash in hexadecimal."""


@dataclass(frozen=True)
class Kind:
    """A kind of field."""

    type: str
    """What it is in JSON, in words."""
    read: Callable[[Any], Any]
    """From JSON. Raises ValueError for a value of another kind."""
    write: Callable[[Any], Any] | None = None
    """To JSON; None if the value is written as it is."""


@dataclass(frozen=True)
class Field:
    """One field, as it is declared."""

    kind: Kind
    nullable: bool


def _of_type(words: str, *types: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) not in types:  # a bool is an int, but not here
            raise ValueError(f"expected {words}, not {value!r:.100}")
        return value

    return read


_text = _of_type("a string", str)
_object = _of_type("an object", dict)


def _number(value: Any) -> float:
    number = float(_of_type("a number", int, float)(value))
    if not isfinite(number):
        raise ValueError("expected a finite number")
    return number


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, _of_type("a list", list)(value)))


def _objects(value: Any) -> list[Any]:
    return list(map(_object, _of_type("a list", list)(value)))


def _names(value: Any) -> AgentNames:
    return _texts(value) if isinstance(value, list) else str(_text(value))


TEXT = Kind("string", _text)
TEXTS = Kind("list of strings", _texts, list)
NAMES = Kind("string, or list of strings", _names)
FLAG = Kind("boolean", _of_type("true or false", bool))
COUNT = Kind("whole number", _of_type("a whole number", int))
NUMBER = Kind("number", _number)
SECONDS = Kind("number of seconds", _number)
MOMENT = Kind("time, RFC 3339 in UTC", lambda value: moment_of(_text(value)), rfc3339)
OBJECT = Kind("object", _object, dict)
OBJECTS = Kind("list of objects", _objects, list)


def required(kind: Kind) -> Any:
    """A field that always has a value. Its docstring says what it means, in Markdown."""
    return field(metadata={"field": Field(kind, nullable=False)})


def optional(kind: Kind) -> Any:
    """A field that may be null; None is its default."""
    return field(default=None, metadata={"field": Field(kind, nullable=True)})


def fields_of(entry: type) -> Iterator[tuple[str, Field]]:
    """The fields that a dataclass declares, by name, in the order in which they are written."""
    for each in fields(entry):
        yield each.name, each.metadata["field"]


DONT_OBEY = "dont_obey_robotstxt"
"""The key in ``override`` of a request that was not judged, because it has this meta key."""

VERSION = 1
"""Of the schema. A reader of version 1 ignores fields and types that it does not know."""


@dataclass(slots=True, kw_only=True)  # not frozen: one is made for each request
class Entry:
    """What all entries have."""

    type: ClassVar[str]
    """The ``type`` of the line: ``crawl`` of a CrawlEntry."""

    def __init_subclass__(cls) -> None:
        cls.type = cls.__name__.removesuffix("Entry").lower()

    time: float = required(MOMENT)
    """When it happened."""
    crawl: str = required(TEXT)
    """Which crawl: several may write to one file."""


@dataclass(slots=True, kw_only=True)
class CrawlEntry(Entry):
    """A crawl begins, or goes on in a new file: all that its verdicts depend on"""

    spider: str = required(TEXT)
    """The spider's name."""
    version: str = required(TEXT)
    """Of scrapy-robots-plus."""
    mode: str = required(TEXT)
    """`ROBOTS_MODE`: `obey`, or `observe` if denials are counted but not enforced."""
    obey: bool = required(FLAG)
    """`ROBOTSTXT_OBEY`."""
    agent: AgentNames = required(NAMES)
    """`ROBOTSTXT_USER_AGENT`, else the User-Agent that requests have by default."""
    parser: str = required(TEXT)
    """`ROBOTSTXT_PARSER`."""
    dialect: Mapping[str, Any] = required(OBJECT)
    """The dialect, with all its fields; `name` is that of `ROBOTS_DIALECT`."""
    status_policy: Mapping[str, Any] = required(OBJECT)
    """`ROBOTS_STATUS_POLICY` as a table: what each status and each failure means."""
    keeps_delays: bool = required(FLAG)
    """Whether Crawl-delay is kept (`ROBOTS_CRAWL_DELAY_OBEY`)."""
    crawl_delay_max: float = required(SECONDS)
    """`ROBOTS_CRAWL_DELAY_MAX`; 0 for no maximum."""
    crawl_delay_too_long: str = required(TEXT)
    """`ROBOTS_CRAWL_DELAY_TOO_LONG`."""
    stale_max: float = required(SECONDS)
    """`ROBOTS_STALE_MAX`."""
    ai_uses: tuple[str, ...] | None = optional(TEXTS)
    """`ROBOTS_AI_USES`: what the crawl is for, and how far it uses pages."""
    ai_policy: str | None = optional(TEXT)
    """`ROBOTS_AI_POLICY`: `observe` or `skip`."""
    use_tokens: tuple[str, ...] | None = optional(TEXTS)
    """`ROBOTS_AI_TOKENS`."""
    overrides: Mapping[str, Any] | None = optional(OBJECT)
    """`ROBOTS_OVERRIDES`, by host; each as in the `override` of a verdict."""
    allowed_share: float = required(NUMBER)
    """Which share of the allowed requests is logged: `ROBOTS_AUDIT_LOG_ALLOWED`."""
    bodies: str | None = optional(TEXT)
    """The folder of the robots.txt files, relative to that of the log if it lies below it."""
    continues: Mapping[str, Any] | None = optional(OBJECT)
    """If the crawl goes on here, because the file was rotated, emptied or cut: its last line
    before, with `n`, `hash`, and `lines`, the number of its lines up to there."""


@dataclass(slots=True, kw_only=True)
class FileEntry(Entry):
    """A robots.txt was fetched, found in the store, or could not be read"""

    origin: str = required(TEXT)
    """Whose robots.txt: scheme, host, and port if it is not the usual."""
    robots_url: str = required(TEXT)
    """Where it came from, after redirects."""
    source: str = required(TEXT)
    """`network`, `store`, `cache` (Scrapy's HTTP cache) or `override` (a text of one's own)."""
    status: str | None = optional(TEXT)
    """The HTTP status of its last readable answer; if there is none, the failure. Null for a text
    of one's own."""
    failure: str | None = optional(TEXT)
    """The status or failure of the last attempt, if that could not read it: `503`, `timeout`."""
    detail: str | None = optional(TEXT)
    """The failure in words."""
    access: str = required(TEXT)
    """What that means: `rules`, `unavailable` or `unreachable`."""
    sha256: str | None = optional(TEXT)
    """Hash of its text, and its name in `bodies`; null without rules."""
    size: int | None = optional(COUNT)
    """Bytes of its lines, without their ends."""
    charset: str | None = optional(TEXT)
    """From its Content-Type, as Python names it."""
    fetched_at: float | None = optional(MOMENT)
    """When it was received or last found unchanged; null for a text of one's own."""
    lifetime: float | None = optional(SECONDS)
    """How long it is fresh; after a failure, until the next attempt. Null for a text of one's own,
    which always is."""
    changed: bool = required(FLAG)
    """Whether its rules differ from those that the crawl had before."""
    previous: str | None = optional(TEXT)
    """The `sha256` that the crawl had before, if it had one."""
    suspicion: str | None = optional(TEXT)
    """Why the change looks like a mistake of the site."""
    delay_asked: float | None = optional(SECONDS)
    """The Crawl-delay that it asks of the crawl's agent."""
    delay: float | None = optional(SECONDS)
    """The part of it that is kept."""


@dataclass(slots=True, kw_only=True)
class VerdictEntry(Entry):
    """One request was denied, or allowed and sent, or its page was skipped"""

    url: str = required(TEXT)
    """The URL of the request."""
    origin: str | None = optional(TEXT)
    """Its origin; null if robots.txt does not apply to it."""
    agent: AgentNames = required(NAMES)
    """The names that it was judged by: a product token, a whole header, or several."""
    tokens: tuple[str, ...] = required(TEXTS)
    """The product tokens found in them; none if only `*` applies."""
    allowed: bool = required(FLAG)
    """Whether robots.txt allows it."""
    reason: str = required(TEXT)
    """What decided: see below."""
    rule: str | None = optional(TEXT)
    """The deciding line, such as `Disallow: /private/`."""
    line: int | None = optional(COUNT)
    """Its number in the file, counted from 1."""
    group: tuple[str, ...] | None = optional(TEXTS)
    """The user agents of the group that it is in."""
    form: str | None = optional(TEXT)
    """The path and query that decided, if a download handler may send them for the URL."""
    use: str | None = optional(TEXT)
    """The use that the site objects to, if the reason is `ai_preference`. `rule` is then what says
    so."""
    source: str | None = optional(TEXT)
    """Where it says so: `robots.txt Content-Usage`, `tdmrep.json`, `X-Robots-Tag` and so on."""
    preferences: Mapping[str, Any] | None = optional(OBJECT)
    """What the site prefers for the uses that it speaks of: `{"train-ai": "disallow"}`. Null if it
    speaks of none. What pages say is known for those that were skipped only."""
    statements: list[Any] | None = optional(OBJECTS)
    """What it says, as [in the stamp](preferences.md#the-stamp): `category`, `preference`,
    `source`, `text` and `line`."""
    robots_url: str | None = optional(TEXT)
    """The robots.txt that decided, after redirects; null if none was asked."""
    sha256: str | None = optional(TEXT)
    """Hash of its text, and its name in `bodies`; null without rules."""
    charset: str | None = optional(TEXT)
    """From its Content-Type, as Python names it."""
    status: str | None = optional(TEXT)
    """The HTTP status of its last readable answer; if there is none, the failure. Null if the site
    was not asked for it, because of an override."""
    failure: str | None = optional(TEXT)
    """The status or failure of the last attempt, if that could not read it."""
    access: str | None = optional(TEXT)
    """`rules`, `unavailable` or `unreachable`."""
    fetched_at: float | None = optional(MOMENT)
    """When the robots.txt was received or last confirmed."""
    age: float | None = optional(SECONDS)
    """How long before the verdict that was."""
    delay: float | None = optional(SECONDS)
    """The delay kept between requests to the host; that asked for if it was too long."""
    sent: float | None = optional(MOMENT)
    """When the request was handed to the download handler; null if it was not sent. A page that is
    skipped for what it says was sent."""
    override: Mapping[str, Any] | None = optional(OBJECT)
    """What of `ROBOTS_OVERRIDES` applied to it; `robots_txt` is the hash of that text.
    `{"dont_obey_robotstxt": true}` if the request has that meta key, so that it was not judged."""
    mode: str = required(TEXT)
    """`obey`, or `observe` if a denial was not enforced."""


@dataclass(slots=True, kw_only=True)
class SaidEntry(Entry):
    """A page says something of its use: that it objects, or anything if the URL is in the share"""

    url: str = required(TEXT)
    """The URL of the page."""
    origin: str = required(TEXT)
    """Its origin."""
    agent: AgentNames = required(NAMES)
    """The names that it was read for."""
    statements: list[Any] = required(OBJECTS)
    """What its headers and meta tags say: `category`, `preference`, `source` and `text`."""
    mode: str = required(TEXT)
    """`obey`, or `observe` if nothing was skipped."""


@dataclass(slots=True, kw_only=True)
class PageEntry(Entry):
    """Because of what a page says of itself, requests or items were dropped or marked"""

    url: str = required(TEXT)
    """The URL of the page."""
    origin: str = required(TEXT)
    """Its origin."""
    agent: AgentNames = required(NAMES)
    """The names that it was read for."""
    tokens: tuple[str, ...] = required(TEXTS)
    """The product tokens found in them; none if only what is said to all counts."""
    directives: Mapping[str, Any] = required(OBJECT)
    """Each directive that counts, with its `value`, its `source` (`X-Robots-Tag` or `meta`) and its
    `text` there."""
    nofollow: str = required(TEXT)
    """`ROBOTS_NOFOLLOW` for the page: `ignore`, `observe` or `obey`."""
    requests: int = required(COUNT)
    """Requests that were dropped because of it, or marked if that is `observe`."""
    noindex: str = required(TEXT)
    """`ROBOTS_NOINDEX` for the page: `ignore`, `observe` or `obey`."""
    items: int = required(COUNT)
    """Items that were dropped because of it, or kept if that is `observe`."""
    mode: str = required(TEXT)
    """`obey`, or `observe` if nothing was dropped."""


@dataclass(slots=True, kw_only=True)
class StandingEntry(Entry):
    """A site treats the crawl in another way than before, by its answers to several pages"""

    origin: str = required(TEXT)
    """The site."""
    standing: str = required(TEXT)
    """`walled`, `priced`, `limited`, `broken`, or `open` again."""
    why: str = required(TEXT)
    """What the last refusal said: a status, a failure or a header."""
    url: str = required(TEXT)
    """The page whose answer has decided."""


@dataclass(slots=True, kw_only=True)
class EndEntry(Entry):
    """A crawl ends. A crawl without it was killed, or the end of the log is missing"""

    reason: str = required(TEXT)
    """Why: the reason that Scrapy gives, such as `finished`."""
    allowed: int = required(COUNT)
    """Requests that robots.txt allowed, logged or not."""
    denied: int = required(COUNT)
    """Requests that it denied, and pages that were skipped for what they say; the requests for
    these are among those allowed."""
    dont_obey: int = required(COUNT)
    """Requests with `dont_obey_robotstxt`, which were not judged, logged or not."""
    preferences: Mapping[str, Any] | None = optional(OBJECT)
    """How many responses had a site that allows or disallows a use, anywhere:
    `{"train-ai/disallow": 12}`."""
    lost: int = required(COUNT)
    """Lines of the crawl that could not be written."""
    lines: int | None = optional(COUNT)
    """Lines of the crawl before this one, in all files."""


ENTRIES: tuple[type[Entry], ...] = (
    CrawlEntry,
    FileEntry,
    VerdictEntry,
    SaidEntry,
    PageEntry,
    StandingEntry,
    EndEntry,
)
"""In the order of the docs."""

_BY_TYPE = {entry.type: entry for entry in ENTRIES}
_FIELDS = {entry: tuple(fields_of(entry)) for entry in ENTRIES}


def to_fields(entry: Entry) -> dict[str, Any]:
    """The fields of the line, in the order in which they are written."""
    written: dict[str, Any] = {"type": entry.type}
    for name, declared in _FIELDS[type(entry)]:
        value, write = getattr(entry, name), declared.kind.write
        written[name] = value if value is None or write is None else write(value)
    return written


def from_fields(line: Mapping[str, Any]) -> Entry | None:
    """The entry in a parsed line; None if its type is unknown, as one of later may be.

    Raises ValueError saying what is wrong: another version, a field missing or of another kind.
    """
    version = line.get("v")
    if version != VERSION:
        raise ValueError(f"version {version!r} of the schema; this is a reader of {VERSION}")
    kind = line.get("type")
    if not isinstance(kind, str):
        raise ValueError(f"'type': expected a string, not {kind!r:.100}")
    entry = _BY_TYPE.get(kind)
    if entry is None:
        return None
    found = {}
    for name, declared in _FIELDS[entry]:
        value = line.get(name)
        if value is None and declared.nullable:
            continue
        if name not in line:
            raise ValueError(f"{name!r} is missing")
        try:
            found[name] = declared.kind.read(value)
        except ValueError as error:
            raise ValueError(f"{name!r}: {error}") from None
    return entry(**found)


def dialect_from_json(value: str | Mapping[str, Any]) -> Dialect:
    """The dialect with these fields, or with this name. Raises ValueError if there is none.

    Fields that are missing are as in RFC 9309: an older version did not have them.
    """
    if isinstance(value, str):
        return dialect_named(value)
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r:.100} is not a dialect")
    found: dict[str, Any] = {"name": str(value.get("name", "of one's own"))}
    for each in fields(Dialect):
        default = getattr(RFC9309, each.name)
        if each.name not in value or each.name == "name":
            continue
        kind = type(default)
        given = value[each.name]
        if not (isinstance(default, Enum) or isinstance(given, kind) or given is None):
            raise ValueError(f"{each.name!r} of the dialect is {given!r:.100}")
        found[each.name] = kind(given) if isinstance(default, Enum) else given
    return Dialect(**found)
