"""The parser of this package, and one interface to whichever ``ROBOTSTXT_PARSER`` is in use.

Files in use are kept parsed, within a bound on memory.
"""

from __future__ import annotations

import inspect
import logging
import re
import traceback
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from weakref import ref

from scrapy.crawler import Crawler
from scrapy.robotstxt import RobotParser
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector
from w3lib.encoding import http_content_type_encoding

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.protocol import RFC9309, Agent, Dialect, RequestRate, RobotsTxt, VisitTime
from scrapy_robots_plus.protocol.dialect import dialect_named
from scrapy_robots_plus.protocol.octets import to_utf8
from scrapy_robots_plus.protocol.preferences import Statement
from scrapy_robots_plus.protocol.preferences.in_file import FilePreferences
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.product_token import AgentNames
from scrapy_robots_plus.protocol.robotstxt import OVERHEAD
from scrapy_robots_plus.protocol.rules import deciding_pattern
from scrapy_robots_plus.protocol.verdict import Reason, Verdict
from scrapy_robots_plus.settings.scrapys_own import class_in

if TYPE_CHECKING:
    from typing_extensions import Self


HOT_OCTETS = 256 * 1024
"""How many bytes of robots.txt files, over all hosts, are kept parsed: some 200 usual files. This
limits memory only: for other files, compact rules are kept and the rest is parsed again."""

LONG = 2_048
"""The length in bytes above which a file may have too many for compact rules."""
HOT_OCTETS_OF_LONG = 2 * 1024 * 1024
"""How many bytes of files longer than :data:`LONG` are kept parsed: some 300 files of shops. That
takes fifteen times the memory of their text, three quarters of what Protego takes, and a twentieth
of the time of parsing again."""

LEAST_HOT = 4
"""How many files are kept parsed whatever their length: otherwise two files of 500 KiB used in turn
would cost half a second of parsing per request. Such a file takes up to some 18 MB."""


class HotFiles:
    """The most recently used parsers, whose files are kept parsed.

    They are held weakly: a parser that is no longer used elsewhere goes, with its file.
    """

    def __init__(self, octets: int = HOT_OCTETS, least: int = LEAST_HOT) -> None:
        self.room = octets
        self._least = least
        self._octets: OrderedDict[ref[RobotsParser], int] = OrderedDict()

    def add(self, parser: RobotsParser, octets: int) -> None:
        """Makes *parser* the most recently used, and cools the oldest others if room is short."""
        key = ref(parser, self._forget)
        self.room += self._octets.pop(key, 0) - octets
        self._octets[key] = octets
        while self.room < 0 and len(self._octets) > self._least:
            oldest, octets = self._octets.popitem(last=False)
            self.room += octets
            cooled = oldest()
            if cooled is not None:
                cooled.cool()

    def touch(self, parser: RobotsParser) -> None:
        """Makes *parser*, which was added before, the most recently used."""
        self._octets.move_to_end(ref(parser))

    def _forget(self, key: ref[RobotsParser]) -> None:
        self.room += self._octets.pop(key, 0)


MOST_LICENSES = 10
"""How many License URLs of a file count."""

_MOST_SAID = 2_048
"""How many characters of lines about uses and of licenses are kept for a host."""


class Uses(NamedTuple):
    """What one file says about uses to one agent."""

    asked: tuple[Agent, tuple[str, ...]]
    """The agent, and the names of the groups that are about training."""
    everywhere: tuple[Statement, ...]
    """What the file says about every URL that may be fetched, if it says the same about all."""
    by_url: FilePreferences | None
    """What the file says about each URL, if that depends on the URL. This keeps the file parsed."""
    licenses: tuple[str, ...]
    """The first ten License URLs as served, each once. They are for all agents."""

    @property
    def is_short(self) -> bool:
        """Whether this is short enough to keep for each of many hosts, without the file."""
        said = sum(map(len, (*self.licenses, *(each.text for each in self.everywhere))))
        return self.by_url is None and said <= _MOST_SAID


_MOST_VERDICTS = 16
"""How many verdicts a parser keeps while its file is not kept parsed."""

_MOST_NAMES, _MOST_CHARACTERS = 32, 1_000
"""The most names in the group, and characters in group and rule, of a verdict that is kept."""


def is_short(verdict: Verdict) -> bool:
    """Returns whether *verdict* is short enough to keep for each of many hosts.

    Sites choose how many names a group has.
    """
    group, rule = verdict.group or (), verdict.rule or ""
    return len(group) <= _MOST_NAMES and sum(map(len, (rule, *group))) <= _MOST_CHARACTERS


_QUICKLY = 1
"""The level of compression: it takes half the time of the default, for a tenth more bytes."""

_SMALL = 256
"""The length in bytes up to which a file is not compressed: that would save next to nothing."""

_hot, _hot_long = HotFiles(), HotFiles(HOT_OCTETS_OF_LONG)


@dataclass(slots=True, eq=False, repr=False)
class RobotsParser(RobotParser):
    """``ROBOTSTXT_PARSER``: a host's robots.txt, read as ``ROBOTS_DIALECT`` says.

    A user agent may be a product token, a whole User-Agent header, or a list of names in order of
    preference. For each host, the file is kept compressed, with compact rules for the agent that
    asked first; files in use are also kept parsed.
    """

    _body: bytes
    """The file as served; compressed from the first time that it is not kept parsed."""
    dialect: Dialect = RFC9309
    """The dialect in which the file is read."""
    _charset: str | None = None
    _hot: HotFiles = field(init=False)
    """The parsers among which this one's file is kept parsed."""
    _is_packed: bool = field(default=False, init=False)
    _file: RobotsTxt | None = field(default=None, init=False)
    _agent: Agent | None = field(default=None, init=False)
    """The agent that asked first."""
    _compact: bytes | None = field(default=None, init=False)
    """The compact rules for the agent that asked first, once the file is not kept parsed."""
    _verdicts: dict[bytes | None, Verdict] | None = field(default=None, init=False)
    """Verdicts, by the compact rule that decides; None before the first."""
    _uses: Uses | None = field(default=None, init=False)
    """What the file says about uses to the agent that asked last."""

    def __post_init__(self) -> None:
        self._hot = _hot_long if len(self._body) > LONG else _hot
        self._hot.add(self, len(self._body) + OVERHEAD)

    @classmethod
    def from_crawler(
        cls, crawler: Crawler | None, robotstxt_body: bytes, charset: str | None = None
    ) -> Self:
        """Returns a parser of *robotstxt_body*. Called as Scrapy calls its parsers.

        *charset* is that of the Content-Type header, if the caller knows it.
        """
        dialect = crawler.settings.get("ROBOTS_DIALECT") if crawler else None
        return cls(robotstxt_body, dialect_named(dialect or RFC9309), charset)

    @property
    def file(self) -> RobotsTxt:
        """The whole file, parsed."""
        file = self._file
        if file is not None:
            self._hot.touch(self)
            return file
        body = self._whole()
        # The fetcher has already applied the size limit.
        file = self._file = RobotsTxt.parse(body, self.dialect, self._charset, None)
        self._hot.add(self, len(body) + OVERHEAD)
        return file

    def _whole(self) -> bytes:
        return zlib.decompress(self._body) if self._is_packed else self._body

    def read_as(self, dialect: Dialect | str) -> Self:
        """Returns a parser of the same file in another *dialect*, which may be given by name."""
        return type(self)(self._whole(), dialect_named(dialect), self._charset)

    def cool(self) -> None:
        """Keeps only the compressed file and the compact rules, until the next question."""
        if not self._is_packed and len(self._body) > _SMALL:
            self._body = zlib.compress(self._body, _QUICKLY)
            self._is_packed = True
        if self._file is not None and self._agent is not None and self._compact is None:
            self._compact = self._file.rules_for(self._agent).compact()
        self._file = None
        if self._uses is not None and not self._uses.is_short:
            self._uses = None

    def allowed(self, url: str | bytes, user_agent: Agent) -> bool:
        """Returns whether the user agent may fetch the URL."""
        if self._file is None or self._agent is None:
            verdict = self._by_compact_rules(url, user_agent)
            if verdict is not None:
                return verdict.allowed
        return self.file.allowed(url, user_agent)

    def verdict(self, url: str | bytes, user_agent: Agent) -> Verdict:
        """Returns whether the user agent may fetch the URL, and which rule and line say so."""
        if self._file is None or self._agent is None:
            verdict = self._by_compact_rules(url, user_agent)
            if verdict is not None:
                return verdict
        return self.file.verdict(url, user_agent)

    def _by_compact_rules(self, url: str | bytes, agent: Agent) -> Verdict | None:
        """Returns the verdict of the compact rules; None if *agent* has none or the file is parsed.

        Parses the file again only for a rule that has not decided yet.
        """
        if self._agent is None:
            self._agent = agent
        if self._file is not None or self._compact is None or agent != self._agent:
            return None
        pattern = deciding_pattern(self._compact, url, self.dialect)
        known = self._verdicts
        if known is None or len(known) >= _MOST_VERDICTS:
            known = self._verdicts = {}
        verdict = known.get(pattern)
        if verdict is None:
            verdict = self.file.verdict(url, agent)
            if is_short(verdict):
                known[pattern] = verdict
        return verdict

    def statements(
        self, url: str | bytes, user_agent: Agent, use_tokens: tuple[str, ...] = ()
    ) -> tuple[Statement, ...]:
        """Returns what the file says about the use of the URL, if the user agent may fetch it.

        *use_tokens* are the names of groups that are about training.
        """
        uses = self.uses(user_agent, use_tokens)
        if uses.by_url is not None:
            return uses.by_url.statements(url)
        return uses.everywhere if uses.everywhere and self.allowed(url, user_agent) else ()

    def uses(self, user_agent: Agent, use_tokens: tuple[str, ...] = ()) -> Uses:
        """Returns what the file says about uses to the user agent."""
        asked, uses = (user_agent, use_tokens), self._uses
        if uses is None or uses.asked != asked:
            said, licenses = FilePreferences(self.file, *asked), self.file.licenses
            by_url = said if said.everywhere is None else None
            uses = Uses(asked, said.everywhere or (), by_url, licenses[:MOST_LICENSES])
            self._uses = uses
        return uses

    def crawl_delay(self, user_agent: Agent) -> float | None:
        """Returns the Crawl-delay in seconds; None if the site asks for none."""
        return self.file.crawl_delay(user_agent)

    def request_rate(self, user_agent: Agent) -> RequestRate | None:
        """Returns the Request-rate; None if the site asks for none."""
        return self.file.request_rate(user_agent)

    def visit_time(self, user_agent: Agent) -> VisitTime | None:
        """Returns the Visit-time; None if the site asks for none."""
        return self.file.visit_time(user_agent)

    def sitemaps(self) -> tuple[str, ...]:
        """Returns the Sitemap URLs as served, each once."""
        return self.file.sitemaps


class Parsers:
    """The factory of a crawl's parsers.

    Creating it raises whatever an unusable parser class raises, such as for a missing dependency:
    at the start rather than in the middle of the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = crawler.stats
        self._make: Any = class_in(crawler.settings, "ROBOTSTXT_PARSER").from_crawler
        self._takes_charset = "charset" in inspect.signature(self._make).parameters
        self.read(b"", None)

    def read(self, body: bytes, charset: str | None) -> ParsedFile:
        """Returns *body*, read by a new parser. *charset* is that of its Content-Type."""
        if self._takes_charset:
            return ParsedFile(self._make(self._crawler, body, charset=charset))
        return ParsedFile(self._make(self._crawler, _in_utf8(body, charset)))

    def file_of(
        self, body: bytes, charset: str | None, dialect: Dialect, subject: str
    ) -> tuple[ParsedFile | None, str]:
        """Returns what :meth:`read` does, in *dialect*; None and the error if the parser fails.

        The error is in words, else empty. *subject* names what is read, for the log.
        """
        try:
            return self.read(body, charset).read_as(dialect), ""
        except Exception as error:  # noqa: BLE001 - any parser may be in use
            return None, parser_failed(error, subject, self._stats)


def takes_several_names(settings: BaseSettings) -> bool:
    """Returns whether the parser in use takes a tuple of names for an agent: only ours does."""
    return issubclass(class_in(settings, "ROBOTSTXT_PARSER"), RobotsParser)


def charset_of(headers: Mapping[str, str]) -> str | None:
    """Returns the charset of the Content-Type, under Python's name; None if there is none."""
    return http_content_type_encoding(headers.get("content-type", ""))


_UNDECODED = "[\udc80-\udcff]"
"""A pattern for the characters that ``surrogateescape`` makes of octets that are not UTF-8."""


def _in_utf8(body: bytes, charset: str | None) -> bytes:
    """Returns *body* in a form that all of Scrapy's parsers can read.

    Two of them treat a file with one octet that is not UTF-8 as empty, and some miss a rule after a
    byte order mark. Octets that are not UTF-8 become percent-escapes, which mean the same (RFC 9309
    2.2.2).
    """
    text = to_utf8(body, charset or "").decode("utf-8", "surrogateescape")
    return re.sub(_UNDECODED, lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text).encode()


class ParsedFile:
    """One file, whichever of Scrapy's robots.txt parsers has read it.

    Scrapy's interface defines ``allowed`` and, from 2.18, ``crawl_delay``. Some parsers have the
    delay and the sitemaps under other names, or in a parser that they wrap (``rp``). Only our
    parser provides the rest. Exceptions of the parser are passed on.
    """

    __slots__ = ("_named_by", "ours", "parser")

    def __init__(self, parser: RobotParser) -> None:
        self.parser = parser
        self.ours = ours = parser if isinstance(parser, RobotsParser) else None
        """The parser if it is ours, else None: others name no rules and ignore lines about uses."""
        # If a subclass overrides allowed(), that decides.
        is_named = ours is not None and type(ours).allowed is RobotsParser.allowed
        self._named_by = ours if is_named else None
        """The parser if it names the rules that decide; else None."""

    def read_as(self, dialect: Dialect) -> ParsedFile:
        """Returns the same file in another *dialect*. Parsers other than ours have only one."""
        ours = self.ours
        if ours is None or ours.dialect == dialect:
            return self
        return ParsedFile(ours.read_as(dialect))

    def verdict(self, url: str, agent: AgentNames) -> Verdict:
        """Returns whether *agent* may fetch *url*, with rule and line if the parser is ours."""
        if self._named_by is not None:
            return self._named_by.verdict(url, agent)
        return Verdict(self.parser.allowed(url, self._understood(agent)), Reason.RULE)

    def crawl_delay(self, agent: AgentNames) -> object:
        """Returns the Crawl-delay for *agent* as the parser returns it, unchecked."""
        # Before 2.18 Scrapy's own parsers have no crawl_delay(), but wrap a parser that does.
        ask = self._named("crawl_delay", "get_crawl_delay")
        return ask(self._understood(agent)) if callable(ask) else None

    def _understood(self, agent: AgentNames) -> str:
        """Returns *agent* as the parser takes it: all but ours only get the first name."""
        return agent[0] if isinstance(agent, tuple) and not self.ours else cast("str", agent)

    def request_rate(self, agent: AgentNames) -> RequestRate | None:
        """Returns the Request-rate for *agent*; None if it is not known."""
        return self.ours.request_rate(agent) if self.ours else None

    def visit_time(self, agent: AgentNames) -> VisitTime | None:
        """Returns the Visit-time for *agent*; None if it is not known."""
        return self.ours.visit_time(agent) if self.ours else None

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The URLs of the Sitemap lines, if the parser provides them."""
        found = self._named("sitemaps", "site_maps")
        if callable(found):
            found = found()
        return tuple(str(url) for url in found) if isinstance(found, Iterable) else ()

    def _named(self, *names: str) -> Any:
        """Returns what the parser, or else the one that it wraps, has under one of *names*."""
        holders = self.parser, getattr(self.parser, "rp", None)
        found = (getattr(holder, name, None) for holder in holders for name in names)
        return next((each for each in found if each is not None), None)


_T = TypeVar("_T")
_E = TypeVar("_E")

_FURTHER = f" Further failures are counted as {stats.PARSER_ERRORS} and logged at DEBUG."


def parser_failed(error: Exception, subject: object, collector: StatsCollector) -> str:
    """Counts *error* and logs it, the first of a crawl at ERROR; returns it in words.

    *subject* is the URL or origin that the parser failed on.
    """
    collector.inc_value(stats.PARSER_ERRORS)
    is_first = collector.get_value(stats.PARSER_ERRORS, 1) == 1
    lines = "".join(traceback.format_exception(error)).split("\n")
    logging.getLogger(__name__).log(
        logging.ERROR if is_first else logging.DEBUG,
        "ROBOTSTXT_PARSER failed on %s.%s\n%s",
        printable(subject),
        _FURTHER if is_first else "",
        "\n".join(map(printable, lines)),
    )
    return f"ROBOTSTXT_PARSER failed: {type(error).__name__}: {error}"


def answer_or(
    ask: Callable[[], _T], otherwise: _E, subject: object, collector: StatsCollector
) -> _T | _E:
    """Returns what *ask* returns; if it raises, counts and logs that, and returns *otherwise*.

    Any exception is caught, as any parser may be in use. *subject* is the URL or origin that *ask*
    is about.
    """
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - any parser may be in use
        parser_failed(error, subject, collector)
        return otherwise
