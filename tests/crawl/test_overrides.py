"""What a project has decided about some hosts holds wherever a request may go."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from scrapy_robots_plus import (
    Origin,
    Reason,
    RobotsDisallowed,
    RobotsMiddleware,
    RobotsUnreachable,
)
from scrapy_robots_plus.audit.entries import CrawlEntry, VerdictEntry
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.crawl import Crawl
from tests.audit.logs import entries_in
from tests.commands.running import Robots
from tests.crawling import (
    OTHER_PARSER,
    ProbeSpider,
    SendsAsBarbot,
    StepSpider,
    crawl,
    make_crawler,
    names_rules,
    run,
    stat,
)
from tests.sending import HICCUP, TimedSpider, gaps
from tests.sites import Sites, answer, hang, in_turn, redirect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.sites import Host

CLOSED = "User-agent: *\nDisallow: /\n"
RULES = "User-agent: *\nDisallow: /closed\n"
SLOW = "User-agent: *\nCrawl-delay: 0.5\n"
OFF = {"obey": False, "reason": "our own site"}
ON = {"obey": True, "reason": "a site that asked us to"}

ours_alone = pytest.mark.skipif(OTHER_PARSER is not None, reason="only our parser has dialects")


def by_host(host: Host, **keys: Any) -> dict[str, Any]:
    return {host.address: keys}


@pytest_twisted.ensureDeferred
async def test_a_host_that_is_not_obeyed_is_not_asked_for_its_robots_txt(sites: Sites) -> None:
    own, other = sites.host(CLOSED), sites.host(CLOSED)
    crawler = await crawl(own.url("/a"), other.url("/a"), ROBOTS_OVERRIDES=by_host(own, **OFF))
    assert own.fetched == ["/a"]
    assert own.robots_hits == 0
    assert other.fetched == []
    assert stat(crawler, "robotstxt/override") == 1
    assert stat(crawler, "robotstxt/override/our own site") == 1
    assert stat(crawler, "robotstxt/forbidden") == 1


@pytest_twisted.ensureDeferred
async def test_one_host_is_obeyed_in_a_crawl_that_obeys_none(sites: Sites) -> None:
    obeyed, other = sites.host(RULES), sites.host(CLOSED)
    urls = [obeyed.url("/closed"), obeyed.url("/open"), other.url("/a")]
    crawler = await crawl(*urls, ROBOTSTXT_OBEY=False, ROBOTS_OVERRIDES=by_host(obeyed, **ON))
    assert obeyed.fetched == ["/open"]
    assert other.fetched == ["/a"]
    assert other.robots_hits == 0
    verdict = crawler.spider.failures[obeyed.url("/closed")].verdict
    assert verdict.override == ON["reason"]
    assert verdict.describe().endswith("; override: a site that asked us to")
    assert stat(crawler, f"robotstxt/override/{ON['reason']}") == 2


@pytest_twisted.ensureDeferred
async def test_a_host_may_know_the_crawler_by_another_name(sites: Sites) -> None:
    robots = "User-agent: Barbot\nDisallow: /bar\n\nUser-agent: Foobot\nDisallow: /foo\n"
    host, other = sites.host(robots), sites.host(robots)
    paths = ("/foo", "/bar")
    await crawl(
        *(each.url(path) for each in (host, other) for path in paths),
        ROBOTS_OVERRIDES=by_host(host, user_agent="Barbot"),
    )
    assert host.fetched == ["/foo"]
    assert other.fetched == ["/bar"]


@names_rules
@pytest_twisted.ensureDeferred
async def test_several_names_are_taken_in_order_of_preference(sites: Sites) -> None:
    host = sites.host("User-agent: Third\nDisallow: /x\n\nUser-agent: *\nDisallow: /\n")
    names = ["Second", "Third"]
    await crawl(host.url("/x"), host.url("/y"), ROBOTS_OVERRIDES=by_host(host, user_agent=names))
    assert host.fetched == ["/y"]


@ours_alone
@pytest_twisted.ensureDeferred
async def test_a_host_is_read_in_another_dialect(sites: Sites) -> None:
    """In the order of the file, ``Allow: /`` decides; by octets ``Disallow: /closed``."""
    robots = "User-agent: *\nAllow: /\nDisallow: /closed\n"
    host, other = sites.host(robots), sites.host(robots)
    overrides = by_host(host, dialect="FIRST_MATCH")
    await crawl(host.url("/closed"), other.url("/closed"), ROBOTS_OVERRIDES=overrides)
    assert host.fetched == ["/closed"]
    assert other.fetched == []


@pytest_twisted.ensureDeferred
async def test_a_status_means_something_else_at_one_host(sites: Sites) -> None:
    forbidden, failing, other = (sites.host(answer("", each)) for each in (403, 503, 503))
    overrides = {
        **by_host(forbidden, status_policy={"403": "disallow"}),
        **by_host(failing, status_policy="fail-open"),
    }
    hosts = (forbidden, failing, other)
    crawler = await crawl(
        *(each.url("/a") for each in hosts), ROBOTS_OVERRIDES=overrides, ROBOTS_FETCH_RETRIES=0
    )
    assert [each.fetched for each in hosts] == [[], ["/a"], []]
    refused = crawler.spider.failures[forbidden.url("/a")]
    assert isinstance(refused, RobotsUnreachable)
    assert refused.verdict.override == "status_policy"


@pytest.mark.parametrize("queue", ["ours", "Scrapy's"])
@pytest_twisted.ensureDeferred
async def test_a_fixed_delay_takes_the_place_of_the_files(sites: Sites, queue: str) -> None:
    slow, fast = sites.host(), sites.host("User-agent: *\nCrawl-delay: 60\n")
    others = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}
    crawler = await crawl(
        *(host.url(f"/{number}") for number in range(4) for host in (slow, fast)),
        spider=TimedSpider,
        ROBOTS_OVERRIDES={**by_host(slow, crawl_delay=0.5), **by_host(fast, crawl_delay=0)},
        **({} if queue == "ours" else others),
    )
    assert min(gaps(crawler.spider.sent, slow)) >= 0.5 - HICCUP
    assert len(fast.fetched) == 4
    assert crawler.stats.get_value("elapsed_time_seconds") < 60
    assert stat(crawler, "robotstxt/crawl_delay/applied") == 0


@pytest_twisted.ensureDeferred
async def test_a_fixed_delay_holds_where_nothing_is_obeyed_and_needs_no_robots_txt(
    sites: Sites,
) -> None:
    host = sites.host(CLOSED)
    crawler = await crawl(
        *(host.url(f"/{number}") for number in range(3)),
        spider=TimedSpider,
        ROBOTSTXT_OBEY=False,
        ROBOTS_OVERRIDES=by_host(host, crawl_delay=0.5),
    )
    assert min(gaps(crawler.spider.sent, host)) >= 0.5 - HICCUP
    assert host.robots_hits == 0


@pytest_twisted.ensureDeferred
async def test_a_host_that_is_not_obeyed_is_asked_for_its_delay_if_delays_are_kept(
    sites: Sites,
) -> None:
    host = sites.host(f"{SLOW}Disallow: /\n")
    crawler = await crawl(
        *(host.url(f"/{number}") for number in range(3)),
        spider=TimedSpider,
        ROBOTS_CRAWL_DELAY_OBEY=True,
        ROBOTS_OVERRIDES=by_host(host, **OFF),
    )
    if OTHER_PARSER != "PythonRobotParser":  # which reads whole seconds alone
        assert min(gaps(crawler.spider.sent, host)) >= 0.5 - HICCUP
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_a_text_of_ones_own_is_read_and_the_sites_is_not_fetched(sites: Sites) -> None:
    host = sites.host(hang)
    text = "User-agent: *\nDisallow: /private\nSitemap: http://x.example/map\n"
    overrides = by_host(host, robots_txt=text, reason="agreed with the site")
    crawler = await crawl(host.url("/a"), host.url("/private"), ROBOTS_OVERRIDES=overrides)
    assert host.fetched == ["/a"]
    assert host.robots_hits == 0
    refused = crawler.spider.failures[host.url("/private")]
    assert isinstance(refused, RobotsDisallowed)
    assert refused.verdict.override == "agreed with the site"
    assert refused.verdict.outcome == "own text"


@ours_alone
@pytest.mark.parametrize("dialect", ["RFC9309", "GYM2008"])
@pytest_twisted.ensureDeferred
async def test_a_text_of_ones_own_is_text_whatever_charset_its_dialect_expects(
    sites: Sites, dialect: str
) -> None:
    host = sites.host()
    override = {"robots_txt": "User-agent: *\nDisallow: /b\u00fccher\n", "dialect": dialect}
    await crawl(host.url("/b\u00fccher"), host.url("/a"), ROBOTS_OVERRIDES={host.address: override})
    assert host.fetched == ["/a"]


@pytest.mark.parametrize("text", ["", "\ufeffUser-agent: *\rDisallow: /closed", "\0\ud800"])
@pytest_twisted.ensureDeferred
async def test_any_text_may_be_ones_own(sites: Sites, text: str) -> None:
    host = sites.host(CLOSED)
    await crawl(host.url("/a"), ROBOTS_OVERRIDES=by_host(host, robots_txt=text))
    assert host.fetched == ["/a"]
    assert host.robots_hits == 0


@pytest_twisted.ensureDeferred
async def test_the_most_specific_override_decides_alone(sites: Sites) -> None:
    first, second = sites.host(CLOSED), sites.host(CLOSED)
    overrides = {
        f"http://{first.address}:{sites.port}": {"dialect": "RFC9309"},
        first.address: OFF,
        second.address: OFF,
        f"http://{second.address}:1": {"dialect": "RFC9309"},
    }
    await crawl(first.url("/a"), second.url("/a"), ROBOTS_OVERRIDES=overrides)
    assert first.fetched == []
    assert second.fetched == ["/a"]


@pytest_twisted.ensureDeferred
async def test_what_was_fetched_for_another_host_is_found_by_the_next_crawl_as_it_was(
    sites: Sites, tmp_path: Any
) -> None:
    """The store keeps what the site said: no text of an override, no status under another."""
    own, open_ = sites.host(RULES), sites.host(answer("", 403))
    store: dict[str, Any] = {"ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.db'}"}
    urls = [own.url("/closed"), own.url("/a"), open_.url("/a")]
    overrides = {
        **by_host(own, robots_txt=CLOSED),
        **by_host(open_, status_policy={"403": "disallow"}),
    }
    await crawl(*urls, ROBOTS_OVERRIDES=overrides, **store)
    assert own.fetched == open_.fetched == []
    await crawl(*urls, **store)
    assert own.fetched == open_.fetched == ["/a"]
    await crawl(*urls, ROBOTS_OVERRIDES=overrides, **store)
    assert own.fetched == open_.fetched == ["/a"]
    assert own.robots_hits == 1


class AskingSpider(ProbeSpider):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        self.verdicts = [await policies.verdict(url) for url in self.urls]
        self.policies = [policies.usable(origin) for url in self.urls if (origin := Origin.of(url))]
        return
        yield


@pytest_twisted.ensureDeferred
async def test_code_that_asks_gets_the_answer_of_the_override(sites: Sites) -> None:
    off, named, own, plain = (sites.host(CLOSED) for _ in range(4))
    overrides = {
        **by_host(off, **OFF, crawl_delay=3),
        **by_host(named, user_agent="Barbot", status_policy="mk1996"),
        **by_host(own, robots_txt=RULES),
    }
    named.robots("User-agent: Foobot\nDisallow: /\n")
    hosts = (off, named, own, plain)
    crawler = await crawl(
        *(host.url("/a") for host in hosts), spider=AskingSpider, ROBOTS_OVERRIDES=overrides
    )
    verdicts, policies = crawler.spider.verdicts, crawler.spider.policies
    assert [verdict.allowed for verdict in verdicts] == [True, True, True, False]
    assert verdicts[0].reason is Reason.NOT_OBEYED
    labels = [OFF["reason"], "status_policy, user_agent", "robots_txt", None]
    assert [verdict.override for verdict in verdicts] == labels
    assert [policy.delay for policy in policies] == [3, None, None, None]
    assert [policy.in_words for policy in policies] == [
        "not obeyed (override: our own site)",
        "200, rules (override: status_policy, user_agent)",
        "own text (override: robots_txt)",
        "200, rules",
    ]


class LaterSpider(StepSpider):
    errback_of_later = None

    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        return scrapy.Request(url, dont_filter=True, errback=self.failed, **arguments)

    def parse(self, response: scrapy.http.Response) -> Any:
        super().parse(response)
        for path in ("/closed", "/later"):  # known by now, and without an errback
            if not response.url.endswith(("/closed", "/later")):
                yield scrapy.Request(response.urljoin(path))


@pytest_twisted.ensureDeferred
async def test_the_check_before_the_queue_knows_overrides(sites: Sites) -> None:
    off, own, other = sites.host(RULES), sites.host(CLOSED), sites.host(RULES)
    overrides = {**by_host(off, **OFF), **by_host(own, robots_txt=RULES)}
    hosts = (off, own, other)
    crawler = await crawl(
        *(host.url("/first") for host in hosts), spider=LaterSpider, ROBOTS_OVERRIDES=overrides
    )
    assert sorted(off.fetched) == ["/closed", "/first", "/later"]
    assert sorted(own.fetched) == ["/first", "/later"]
    assert sorted(other.fetched) == ["/first", "/later"]
    assert stat(crawler, "robotstxt/override") == 6


@pytest_twisted.ensureDeferred
async def test_a_request_that_a_middleware_renames_is_judged_by_the_name_in_the_override(
    sites: Sites,
) -> None:
    robots = "User-agent: Barbot\nDisallow: /\n"
    named, plain = sites.host(robots), sites.host(robots)
    crawler = await crawl(
        named.url("/a"),
        plain.url("/a"),
        ROBOTS_OVERRIDES=by_host(named, user_agent="Foobot"),
        DOWNLOADER_MIDDLEWARES={SendsAsBarbot: 500},
    )
    assert named.fetched == ["/a"]
    assert plain.fetched == []
    assert stat(crawler, "robotstxt/override") == 1


@pytest_twisted.ensureDeferred
async def test_a_redirect_to_a_host_with_an_override_is_judged_under_it(sites: Sites) -> None:
    host, off = sites.host(), sites.host(CLOSED)
    host.pages["/moved"] = redirect(off.url("/here"))
    await crawl(host.url("/moved"), ROBOTS_OVERRIDES=by_host(off, **OFF))
    assert off.fetched == ["/here"]


@pytest_twisted.ensureDeferred
async def test_the_summary_says_what_was_overridden(sites: Sites, tmp_path: Path) -> None:
    off, plain = sites.host(CLOSED), sites.host(CLOSED)
    anyway = scrapy.Request(plain.url("/a"), meta={"dont_obey_robotstxt": True})
    file = tmp_path / "summary.json"
    await crawl(
        off.url("/a"),
        plain.url("/b"),
        anyway,
        ROBOTS_OVERRIDES=by_host(off, **OFF),
        ROBOTS_SUMMARY_FILE=str(file),
        ROBOTS_MODE="observe",
    )
    summary = json.loads(file.read_text())
    assert [summary[key] for key in ("mode", "dont_obey")] == ["observe", 1]
    overrides = {site["origin"]: site["override"] for site in summary["sites"]}
    assert overrides == {off.origin: OFF["reason"], plain.origin: None}


@pytest_twisted.ensureDeferred
async def test_the_table_says_what_was_overridden(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    off, own = sites.host(CLOSED), sites.host(CLOSED)
    overrides = {
        **by_host(off, obey=False, reason="our own\x1b site"),
        **by_host(own, robots_txt=RULES),
    }
    anyway = scrapy.Request(own.url("/closed"), meta={"dont_obey_robotstxt": True})
    with caplog.at_level(logging.INFO):
        crawler = await crawl(off.url("/a"), own.url("/a"), anyway, ROBOTS_OVERRIDES=overrides)
    assert "not obeyed (override: our own\\x1b site)" in caplog.text
    assert "own text (override: robots_txt)" in caplog.text
    assert "0 denied, 1 with dont_obey_robotstxt" in caplog.text
    assert stat(crawler, "robotstxt/dont_obey") == 1
    assert stat(crawler, "robotstxt/override/our own\\x1b site") == 1


class Deadline(StepSpider):
    """After its second page, the moment :data:`ENDS` has come."""

    override: dict[str, Any] | None = None
    """That of its requests."""

    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        meta = {} if self.override is None else {"robots_override": self.override}
        return super().request(url, meta=meta, **arguments)


ENDS = 2_000_000_000.0
GRANTED = {**OFF, "by": "the owner", "evidence": "ticket 4711", "until": "2033-05-18T03:33:20Z"}


@pytest.mark.parametrize("queue", ["ours", "Scrapy's"])
@pytest.mark.parametrize("of_request", [False, True])
@pytest_twisted.ensureDeferred
async def test_when_it_has_ended_the_rules_hold_again(
    sites: Sites, queue: str, of_request: bool, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    host, log = sites.host(CLOSED), tmp_path / "audit.jsonl"
    spider = type("Spider", (Deadline,), {"override": GRANTED if of_request else None})
    settings: dict[str, Any] = {"ROBOTS_AUDIT_LOG": str(log), "ROBOTS_AUDIT_LOG_ALLOWED": True}
    if queue != "ours":
        settings["SCHEDULER_PRIORITY_QUEUE"] = "scrapy.pqueues.ScrapyPriorityQueue"
    if not of_request:
        settings["ROBOTS_OVERRIDES"] = by_host(host, **GRANTED)
    crawler = make_crawler(spider, **settings)
    clock = Clock(wall=lambda: ENDS - 1 + 2 * (len(host.fetched) > 1))
    shared = Crawl.of(crawler, clock)
    await run(crawler, urls=[host.url(f"/{number}") for number in range(5)])
    assert Crawl.of(crawler) is shared
    assert host.fetched == ["/0", "/1"]
    assert host.robots_hits == 1
    assert len(crawler.spider.failures) == 3
    ended = [each for each in caplog.records if "has ended" in each.getMessage()]
    assert [each.levelname for each in ended] == ["WARNING"]
    entries = entries_in(log)
    verdicts = [each for each in entries if isinstance(each, VerdictEntry)]
    assert [each.override for each in verdicts] == [GRANTED] * 2 + [None] * 3
    (begin,) = (each for each in entries if isinstance(each, CrawlEntry))
    assert begin.overrides == (None if of_request else {host.address: GRANTED})
    done = Robots(tmp_path)("report", log, "-o", "report.html")
    assert done.status == 0
    assert "ticket 4711" in (tmp_path / "report.html").read_text()


FOR_NOBODY = "User-agent: *\nAllow: /a\n\nDisallow: /\n"
"""Its rule is in no group, where a blank line ends one."""


@ours_alone
@pytest.mark.parametrize(
    ("given", "settings", "file"),
    [
        ({"dialect": "GYM2008"}, {}, answer(FOR_NOBODY)),
        (
            {"status_policy": {"403": "allow"}},
            {"ROBOTS_STATUS_POLICY": {"403": "disallow"}},
            in_turn(answer(status=403), answer(status=503)),
        ),
    ],
    ids=["dialect", "status_policy"],
)
@pytest_twisted.ensureDeferred
async def test_what_was_known_under_it_means_what_the_crawl_says_when_it_is_refreshed(
    sites: Sites, given: Any, settings: Any, file: Any
) -> None:
    host = sites.host(file)
    granted = {**given, "reason": "ours", "until": GRANTED["until"]}
    crawler = make_crawler(StepSpider, **settings, ROBOTS_OVERRIDES=by_host(host, **granted))

    def now() -> float:  # two days pass
        return ENDS - 1 + 2 * 86_400 * (len(host.fetched) > 1)

    shared = Crawl.of(crawler, Clock(wall=now, monotonic=now))
    await run(crawler, urls=[host.url(f"/{number}") for number in range(5)])
    assert Crawl.of(crawler) is shared
    assert host.fetched == ["/0", "/1"]
    assert len(crawler.spider.failures) == 3
    assert host.robots_hits > 1


@pytest_twisted.ensureDeferred
async def test_one_that_was_not_used_is_in_the_log(sites: Sites, tmp_path: Path) -> None:
    host, log = sites.host(), tmp_path / "audit.jsonl"
    await crawl(
        host.url(), ROBOTS_AUDIT_LOG=str(log), ROBOTS_OVERRIDES={"*.partner.example": GRANTED}
    )
    (begin,) = (each for each in entries_in(log) if isinstance(each, CrawlEntry))
    assert begin.overrides == {"*.partner.example": GRANTED}


class SubdomainSpider(ProbeSpider):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        origins = [Origin("http", f"h{number}.example", 80) for number in range(1_000)]
        found = [policies.usable(origin) for origin in origins]
        self.bodies = {id(policy.record.body) for policy in found}
        self.files = {id(policy.file) for policy in found}
        self.fetched = len(list(policies))
        return
        yield


@pytest_twisted.ensureDeferred
async def test_a_thousand_subdomains_share_one_text() -> None:
    text = f"User-agent: *\nDisallow: /closed\n{'# ' + 'x' * 997}\n" * 100
    overrides = {"*.example": {"robots_txt": text}}
    crawler = await crawl(spider=SubdomainSpider, ROBOTS_OVERRIDES=overrides)
    assert len(crawler.spider.bodies) == len(crawler.spider.files) == 1
    assert crawler.spider.fetched == 0
