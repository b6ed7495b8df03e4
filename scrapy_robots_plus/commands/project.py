"""The project that a command runs in: its settings, and what it knows of sites."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings, Settings
from scrapy.statscollectors import DummyStatsCollector

from scrapy_robots_plus import compat
from scrapy_robots_plus.addon import Addon
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.extension import RobotsExtension
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.codings import GZIP_FILE, BodyError, decoded
from scrapy_robots_plus.origins.crawl_store import FILE_IN_JOBDIR, uri_in_job
from scrapy_robots_plus.origins.freshness import under_statuses
from scrapy_robots_plus.origins.parsers import ParsedFile, RobotsParser, charset_of
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.origins.store_or_site import Retrieval, Retrieved
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.dialect import Dialect
from scrapy_robots_plus.protocol.octets import whole_lines
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.product_token import AgentNames
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from scrapy_robots_plus.settings.scrapys_own import job_folder
from scrapy_robots_plus.storage import Store, open_store
from scrapy_robots_plus.storage.record import RobotsRecord

from .errors import UnreadableError
from .inputs import opened, site_of, with_policies

Work = Callable[[Crawl], Awaitable[None]]

_FOR_A_QUESTION: dict[str, Any] = {
    # The question is what robots.txt says, whether or not the crawls of the project obey it.
    "ROBOTSTXT_OBEY": True,
    # Nothing is crawled, so nothing of a crawl is resumed, exported, reported or counted. Download
    # handlers and middlewares stay: without them, a robots.txt may be out of reach.
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "EXTENSIONS": {RobotsExtension: None},
    "EXTENSIONS_BASE": {},
    "ITEM_PIPELINES": {},
    "JOBDIR": None,
    "LOG_STDOUT": False,
    "ROBOTS_MODE": "obey",
    "ROBOTS_SITEMAPS": False,
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "SPIDER_MIDDLEWARES": {},
    "SPIDER_LOADER_CLASS": "scrapy.spiderloader.DummySpiderLoader",
}


STORED = "store:"
"""The prefix of a name that means the copy in the store."""


class Project:
    """The project's settings (outside a project, Scrapy's defaults), adapted to a command."""

    def __init__(self, settings: Settings, arguments: Namespace) -> None:
        self.settings = settings
        for option in ("dialect", "store"):
            if value := getattr(arguments, option, None):
                settings.set(f"ROBOTS_{option.upper()}", value, "cmdline")
        self._named_agent: str | None = getattr(arguments, "agent", None)
        self._is_dialect_named = bool(getattr(arguments, "dialect", None))
        _use_store_of_job(settings)
        settings.setdict(_FOR_A_QUESTION, "cmdline")
        Addon().update_settings(settings)  # a second time, in a project with it, is harmless

    @cached_property
    def robots(self) -> RobotsSettings:
        """The checked ``ROBOTS_`` settings. Raises RobotsSettingsError if they are wrong."""
        return RobotsSettings.from_settings(self.settings)

    def open_store(self) -> Store:
        """Opens the store as it is. Raises StoreError if there is none that outlives crawls."""
        robots = self.robots
        uri = robots.store or "memory"
        return open_store(uri, robots.store_max, robots.fetch_max_bytes, as_it_is=True)

    def stored(self, origin: Origin) -> RobotsRecord:
        """Returns the store's record of *origin*.

        Raises UnreadableError if there is none, and StoreError as :meth:`open_store` does.
        """
        with self.open_store() as store:
            record = store.get(origin)
        if record is None:
            raise UnreadableError(f"the store has no record of {origin}")
        return record

    def agent_for(self, policy: Policy) -> AgentNames:
        """Returns ``--agent``, else the agent of the project's crawls for the site of *policy*."""
        if self._named_agent:
            return self._named_agent
        return Crawl.of(self._idle_crawler).get(Agents).default_under(policy.settings)

    def dialect_for(self, policy: Policy) -> Dialect:
        """Returns ``--dialect``, else that of the project's crawls for the site of *policy*."""
        return self.robots.dialect if self._is_dialect_named else policy.settings.dialect

    @cached_property
    def _idle_crawler(self) -> Crawler:
        """A crawler that never runs, for objects that need one."""
        crawler = Crawler(AskingSpider, self.settings.copy())
        crawler.spider = Spider("robots")
        return crawler

    def ask(self, work: Work) -> None:
        """Runs *work* in a crawl that sends only what *work* asks for.

        *work* gets that :class:`Crawl`. Raises KeyboardInterrupt if the user stops it, whatever
        *work* raises, and UnreadableError if the crawl cannot start.
        """
        self.robots  # noqa: B018 - wrong settings are reported here, without a log
        errors: list[BaseException] = []
        spider: Spider | None = None
        try:
            process = compat.crawler_process(self.settings)
            crawler = process.create_crawler(AskingSpider)
            compat.on_failure(process.crawl(crawler, work=work), errors.append)
            process.start()
            spider = crawler.spider
        except (ImportError, NameError) as missing:  # a reactor or an add-on
            errors.append(missing)
        failure: BaseException | None = getattr(spider, "failure", AskingSpider.failure)
        if errors and failure in (None, AskingSpider.failure):
            wrong = _wrong_path(self.settings, errors[0])
            failure = UnreadableError(wrong) if wrong else errors[0]
        if failure is not None:
            raise failure

    def read(self, names: Sequence[str], *, anew: bool = False) -> list[Source]:
        """Returns each robots.txt, in order.

        A name is that of a file, ``-`` for standard input, a URL of a site, or ``store:`` and a URL
        for the store's copy. Files of sites are fetched concurrently, if needed; with *anew*, even
        if they are stored, and the store stays as it is. Raises WrongUsageError, OSError, and what
        :meth:`ask` does.
        """
        places = list(map(self._place, names))
        if anew:
            self.settings.set("ROBOTS_STORE", "memory", "cmdline")
        found: dict[Origin, Source] = {}

        async def obtain_all(crawl: Crawl) -> None:
            retrieved: list[Retrieved] = []
            crawl.get(Retrieval).listeners.append(retrieved.append)
            async for asked, policy in with_policies(sites, crawl):
                if (origin := asked.origin) and policy:
                    # A record just retrieved has its text, which a policy's own lacks.
                    records = (each.record for each in retrieved if each.record.origin == origin)
                    record = next(records, policy.record)
                    found[origin] = Source(policy, record, is_file=not policy.settings.needs_file)

        named = zip(names, places, strict=True)
        sites = [name for name, place in named if isinstance(place, Origin)]
        if sites:
            self.ask(obtain_all)
        return [found[place] if isinstance(place, Origin) else place for place in places]

    def _place(self, name: str) -> Origin | Source:
        """Returns the site that *name* names, or the robots.txt if nothing has to be fetched."""
        if name.startswith(STORED):
            stored = self.stored(site_of(name.removeprefix(STORED))[1])
            settings = self.robots.for_origin(stored.origin)
            return self._source(under_statuses(stored, settings.status_policy), settings)
        if "://" in name:
            return site_of(name)[1]
        try:
            return self.file(name)
        except FileNotFoundError as error:
            why = f"{error.strerror} (a site begins with https:// or http://)"
            raise UnreadableError(f"{name}: {why}") from error

    def file(self, name: str) -> Source:
        """Reads a robots.txt for any site: a file, or standard input (``-``). Raises OSError."""
        most = self.robots.fetch_max_bytes
        with opened(name) as stream:
            body = stream.read(most + 1)  # one more shows that it is longer
        if body.startswith(GZIP_FILE):  # as a crawl keeps it beside its audit log
            try:
                body = decoded(body, [b"gzip"], most)
            except BodyError as error:
                raise UnreadableError(f"{name}: {error}") from None
        read = whole_lines(body, most)
        site = Origin("http", "site.example", 80)
        record = RobotsRecord(site, Access.RULES, 200, name, fetched_at=0, lifetime=0, body=read)
        digest, is_cut = sha256(read).hexdigest(), len(read) < len(body)
        record = record._replace(sha256=digest, is_cut=is_cut)
        return self._source(record, self.robots, is_file=True)

    def _source(
        self, record: RobotsRecord, settings: RobotsSettings, *, is_file: bool = False
    ) -> Source:
        """Makes a policy from *record* and its text, without using the network."""
        parser = RobotsParser(record.body, settings.dialect, charset_of(record.headers))
        stats = DummyStatsCollector(self._idle_crawler)
        policy = Policy(record, ParsedFile(parser), settings, DEFAULT_CLOCK, stats)
        return Source(policy, record, is_file)


class AskingSpider(Spider):
    """The spider of :meth:`Project.ask`, which does the work instead of crawling."""

    name = "robots"
    work: Work
    failure: BaseException | None = UnreadableError("the crawl could not start; see its log")
    """What the work raised, or why it was not completed; None if it was."""

    async def start(self) -> AsyncIterator[Any]:
        self.failure = KeyboardInterrupt()
        try:
            await self.work(Crawl.of(self.crawler))
            self.failure = None
        except Exception as error:  # noqa: BLE001 - raised again by Project.ask
            if not isinstance(error, compat.CANCELLED):  # else the user stopped it
                self.failure = error
        for request in list[Any]():  # none: the yield makes this an async generator
            yield request


class Source(NamedTuple):
    """A policy, and the record that it was made from, whose text the policy does not keep."""

    policy: Policy
    record: RobotsRecord
    is_file: bool = False
    """Whether it is a local file or the text of an override, not the answer of a site."""


def _wrong_path(settings: BaseSettings, error: BaseException | None) -> str:
    """Describes the setting that names what *error* cannot import; returns "" if there is none."""
    names = isinstance(error, (ImportError, NameError)) and re.findall(r"'([\w.]+)'", str(error))
    missing = ".".join(names or ())
    for name, value in settings.items() if missing else ():
        paths = [*value, *value.values()] if isinstance(value, Mapping) else [value]
        for path in paths:
            if isinstance(path, str) and f"{path}.".startswith(f"{missing}."):
                return f"{name} = {path!r}: {error}"
    # After a failed import, closing the engine may fail too: the context is the cause.
    return _wrong_path(settings, error.__context__) if error else ""


def _use_store_of_job(settings: BaseSettings) -> None:
    """Uses the store in the project's JOBDIR, as its crawls do, but only if it exists."""
    folder = job_folder(settings)
    if not settings.get("ROBOTS_STORE") and folder and (Path(folder) / FILE_IN_JOBDIR).is_file():
        settings.set("ROBOTS_STORE", uri_in_job(folder), "cmdline")
