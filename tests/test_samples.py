"""The code samples of README and docs run, and do what is said of them.

Those that need another package are in ``tests/crawl/test_other_packages.py``.
"""

from __future__ import annotations

import doctest
import logging
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.settings import SETTINGS_PRIORITIES

from scrapy_robots_plus import RobotsDisallowed, RobotsMiddleware

from .crawling import ProbeSpider, crawl, make_crawler, names_rules, run
from .redis_server import RedisServer, scrapy_redis_may_warn
from .samples import (
    FOLLOWED,
    PAGES,
    block_with,
    blocks,
    defined_by,
    is_session,
    is_settings,
    run_as_it_is,
    run_by_a_test,
    settings_of,
)
from .sites import answer, in_turn

if TYPE_CHECKING:
    from pathlib import Path

    from .sites import Sites

CLOSED = "User-agent: *\nDisallow: /private/\n"
SETTINGS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks("python", page))
    if not is_session(block) and is_settings(block)
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_sample_is_run(page: Path) -> None:
    if page in FOLLOWED:
        return
    named = run_by_a_test(page)
    assert [
        block
        for block in blocks("python", page)
        if not is_session(block)
        and not is_settings(block)
        and not any(words in block for words in named)
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sessions_run(page: Path) -> None:
    names: dict[str, Any] = {}  # the sessions of a page go on from one another
    for block in filter(is_session, blocks("python", page)):
        session = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
        assert doctest.DocTestRunner().run(session, clear_globs=False).failed == 0
        names = session.globs


@scrapy_redis_may_warn
@pytest.mark.parametrize("block", SETTINGS)
@pytest_twisted.ensureDeferred
async def test_settings_are_taken(
    sites: Sites, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in set(re.findall(r"\bscrapy_(?!robots_plus)\w+", block)):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)  # where a store would be
    host = sites.host(CLOSED)
    settings = settings_of(defined_by(block, proxy=host.origin))
    with ExitStack() as stack:
        if "REDIS_URL" in settings:
            settings["REDIS_URL"] = stack.enter_context(RedisServer()).url
        await crawl(host.url("/"), **settings)
    assert "/private/" not in host.fetched
    assert len(host.hits) > 0


# README.md
@pytest_twisted.ensureDeferred
async def test_the_quickstart_is_enough(sites: Sites) -> None:
    host = sites.host(CLOSED)
    settings = settings_of(block_with("ADDONS", "README.md"))
    assert list(settings) == ["ADDONS"]
    crawler = await crawl(host.url("/private/"), host.url("/"), **settings)
    assert host.fetched == ["/"]
    assert isinstance(crawler.spider.failures[host.url("/private/")], RobotsDisallowed)


@names_rules
@pytest_twisted.ensureDeferred
async def test_the_first_crawl_of_the_readme_logs_what_is_shown(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    robots, shown = blocks("text", "README.md")
    host = sites.host(robots)
    spider = block_with("DiarySpider", "README.md", site=host.origin)["DiarySpider"]
    with caplog.at_level(logging.DEBUG):
        await run_as_it_is(spider)
    assert sorted(host.fetched) == ["/", "/contact"]
    assert min(host.gaps) >= 1.95  # as they arrive
    logged = "\n".join(
        f"{record.levelname}: {record.getMessage()}"
        for record in caplog.records
        if record.name.startswith("scrapy_robots_plus")
    )
    assert squeezed(logged.replace(host.origin, "http://site.example")) == squeezed(shown)


def squeezed(text: str) -> list[str]:
    """The lines, however wide the columns of their tables are."""
    return [re.sub(r"  +", "  ", line) for line in text.strip().splitlines()]


@names_rules
@pytest_twisted.ensureDeferred
async def test_the_errback_of_the_readme_is_told_why(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    robots, _ = blocks("text", "README.md")
    host = sites.host(robots)
    with caplog.at_level(logging.INFO):
        await run_as_it_is(block_with("def failed", "README.md", site=host.origin)["MySpider"])
    (told,) = (text for text in caplog.messages if text.startswith(host.url("/private/")))
    (sample,) = (block for block in blocks("python", "README.md") if "def failed" in block)
    assert f"# {told}\n".replace(host.origin, "http://site.example") in sample


@pytest_twisted.ensureDeferred
async def test_policies_can_be_asked_by_a_spider(
    sites: Sites, capsys: pytest.CaptureFixture[str]
) -> None:
    host = sites.host(CLOSED + f"Sitemap: {sites.host().url('/sitemap.xml')}\n")
    spider = block_with("AskingSpider", "docs/usage.md", site=host.origin)["AskingSpider"]
    await run_as_it_is(spider)
    assert host.fetched == ["/page"]
    assert capsys.readouterr().out.startswith(f"{host.origin} 200 ")


# docs/usage.md
@pytest_twisted.ensureDeferred
async def test_the_signal_handler_of_the_docs_is_called(
    sites: Sites, capsys: pytest.CaptureFixture[str]
) -> None:
    host = sites.host(CLOSED)
    extension = block_with("DenialLog", "docs/usage.md")["DenialLog"]
    await crawl(host.url("/private/"), EXTENSIONS={extension: 0})
    assert capsys.readouterr().out.startswith(f"{host.url('/private/')} rule ")


@names_rules
@pytest_twisted.ensureDeferred
async def test_changes_are_told_as_the_docs_say(
    sites: Sites, capsys: pytest.CaptureFixture[str]
) -> None:
    before = answer(CLOSED, cache_control="max-age=1")
    host = sites.host(in_turn(before, answer(CLOSED + "Disallow: /new\n")))
    await crawl(
        *(host.url(f"/{number}") for number in range(5)),
        EXTENSIONS={block_with("ChangeLog", "docs/usage.md")["ChangeLog"]: 0},
        ROBOTS_TTL=(1, 86_400),
        CONCURRENT_REQUESTS=1,
        DOWNLOAD_DELAY=1,
    )
    told = f"{host.origin} 200, rules 200, rules\nDisallow: /new, line 3 of robots.txt\n"
    assert capsys.readouterr().out == told


@names_rules
@pytest_twisted.ensureDeferred
async def test_policies_can_be_asked_as_the_docs_do(
    sites: Sites, capsys: pytest.CaptureFixture[str]
) -> None:
    host = sites.host(CLOSED)
    look = block_with("def look", "docs/usage.md", site=host.origin)["look"]

    class Spider(ProbeSpider):
        async def start(self) -> Any:
            await look(self.crawler)
            yield self.request(host.url("/"))

    await crawl(spider=Spider)
    robots_url = host.url("/robots.txt")
    assert capsys.readouterr().out == f"rule Disallow: /private/ 2 {robots_url}\n"


# docs/coming-from-scrapy.md
@pytest_twisted.ensureDeferred
async def test_one_spider_may_keep_scrapys_own_middleware(sites: Sites) -> None:
    host = sites.host(CLOSED)
    old = block_with("OldSpider", "docs/coming-from-scrapy.md")["OldSpider"]

    class Spider(ProbeSpider):
        custom_settings = old.custom_settings

    crawler = make_crawler(Spider)
    assert crawler.settings.getpriority("ADDONS") == SETTINGS_PRIORITIES["spider"]
    await run(crawler, urls=[host.url("/"), host.url("/private/")])
    assert crawler.get_downloader_middleware(RobotsMiddleware) is None
    assert host.fetched == ["/"]


class OwnRobotsTxtMiddleware(RobotsTxtMiddleware):
    """What a project may have in place of Scrapy's own."""


@pytest_twisted.ensureDeferred
async def test_a_subclass_of_scrapys_middleware_works_beside_ours_and_is_named(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(CLOSED)
    settings = settings_of(block_with("OwnRobotsTxt", "docs/coming-from-scrapy.md"))
    middlewares = {
        name.replace("project.middlewares", __name__): place
        for name, place in settings["DOWNLOADER_MIDDLEWARES"].items()
    }
    await crawl(host.url("/"), host.url("/private/"), DOWNLOADER_MIDDLEWARES=middlewares)
    assert (host.fetched, host.robots_hits) == (["/"], 2)
    assert f"'{__name__}.OwnRobotsTxtMiddleware': None" in caplog.text


# docs/testing.md
@names_rules
@pytest_twisted.ensureDeferred
async def test_a_verdict_can_be_asserted_as_the_docs_do(sites: Sites) -> None:
    host = sites.host(CLOSED)
    sample = block_with("VerdictSpider", "docs/testing.md", site=host.origin)
    await run_as_it_is(sample["VerdictSpider"])
    assert host.fetched == ["/"]
