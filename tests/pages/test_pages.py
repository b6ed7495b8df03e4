"""What callbacks make of pages with nofollow and noindex: kept, marked or dropped."""

from __future__ import annotations

import logging
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from scrapy_robots_plus import RobotsNoindex
from scrapy_robots_plus.pages.stamp import NOT_CHECKED
from tests.crawl.paging import PAGES, SAYING, TakingSpider, page, says, serve
from tests.crawling import crawl, stat, takes_names
from tests.sites import answer, redirect

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

    from tests.sites import Host, Reply, Sites

ACTIONS = ("ignore", "observe", "obey")
OBEY: dict[str, Any] = {"ROBOTS_NOFOLLOW": "obey", "ROBOTS_NOINDEX": "obey"}
MARK: dict[str, Any] = {"ROBOTS_NOFOLLOW": "observe", "ROBOTS_NOINDEX": "observe"}


class AsyncSpider(TakingSpider):
    """Its callback is an asynchronous generator."""

    async def parse(self, response: scrapy.http.Response) -> Any:
        for output in super().parse(response):
            yield output


@pytest.mark.parametrize(
    ("nofollow", "noindex", "spider"),
    [
        # With the same action for both, in `make test`.
        pytest.param(*both, TakingSpider, marks=[] if len({*both}) == 1 else [pytest.mark.stress])
        for both in product(ACTIONS, ACTIONS)
    ]
    + [("obey", "observe", AsyncSpider)],
)
@pytest_twisted.ensureDeferred
async def test_items_and_links_are_kept_marked_or_dropped(
    sites: Sites, nofollow: str, noindex: str, spider: type[TakingSpider]
) -> None:
    host = serve(sites)
    settings = {"ROBOTS_NOFOLLOW": nofollow, "ROBOTS_NOINDEX": noindex}
    crawler = await crawl(*(host.url(f"/{path}") for path in PAGES), spider=spider, **settings)
    taken = crawler.spider
    assert sorted(taken.pages) == sorted(PAGES)
    no_links = SAYING["nofollow"] if nofollow == "obey" else []
    no_items = SAYING["noindex"] if noindex == "obey" else []
    assert sorted(taken.links) == sorted(set(PAGES) - set(no_links))
    assert sorted(taken.not_followed) == sorted(no_links)
    assert sorted(taken.marked) == sorted(SAYING["nofollow"] if nofollow == "observe" else [])
    assert sorted(taken.items) == sorted(set(PAGES) - set(no_items))
    assert sorted(name for name, _ in taken.dropped) == sorted(no_items)
    assert all(type(exception) is RobotsNoindex for _, exception in taken.dropped)
    assert stat(crawler, "robotstxt/nofollow/dropped") == len(no_links)
    assert stat(crawler, "robotstxt/nofollow/marked") == len(taken.marked)
    assert stat(crawler, "robotstxt/noindex/dropped") == len(no_items)
    assert stat(crawler, "robotstxt/noindex/marked") == (
        len(SAYING["noindex"]) if noindex == "observe" else 0
    )
    assert stat(crawler, "item_dropped_count") == len(no_items)
    assert stat(crawler, "item_dropped_reasons_count/RobotsNoindex") == len(no_items)
    assert stat(crawler, "item_scraped_count") == len(taken.items)
    assert stat(crawler, "spider_exceptions/count") == 0
    assert stat(crawler, "robotstxt/page_errors") == 0


async def taken(*urls: str | scrapy.Request, **settings: Any) -> tuple[TakingSpider, Crawler]:
    crawler = await crawl(*urls, **{"spider": TakingSpider, **settings})
    assert isinstance(crawler.spider, TakingSpider)
    return crawler.spider, crawler


def site_with(sites: Sites, **pages: Reply) -> Host:
    host = sites.host("User-agent: *\nDisallow: /closed\n")
    host.pages |= {f"/{path}": reply for path, reply in pages.items()}
    return host


class TestWhatIsTold:
    @pytest_twisted.ensureDeferred
    async def test_the_stamp_says_what_decides(self, sites: Sites) -> None:
        host = site_with(
            sites, a=page(says("noai, max-snippet:20"), x_robots_tag="foobot: noindex, noarchive")
        )
        spider, crawler = await taken(host.url("/a"), **MARK)
        header = {"source": "X-Robots-Tag", "text": "foobot: noindex"}
        assert spider.pages["a"] == {
            "noindex": {"value": "", **header},
            "noarchive": {"value": "", "source": "X-Robots-Tag", "text": "noarchive"},
            "noai": {"value": "", "source": "meta", "text": "noai"},
        }
        for directive in spider.pages["a"]:
            assert stat(crawler, f"robotstxt/page_directives/{directive}") == 1

    @pytest_twisted.ensureDeferred
    async def test_items_carry_it(self, sites: Sites) -> None:
        class Keeping(TakingSpider):
            def item_scraped(self, item: Any) -> None:
                super().item_scraped(item)
                self.pages["item"] = item["robots"]["page"]

        host = site_with(sites, a=page(says("noindex")))
        spider, _ = await taken(host.url("/a"), **MARK, ROBOTS_ITEM_FIELD="robots", spider=Keeping)
        assert list(spider.pages["item"]) == ["noindex"]

    @pytest_twisted.ensureDeferred
    async def test_handlers_of_dropped_items_may_be_asynchronous(self, sites: Sites) -> None:
        class Asynchronous(TakingSpider):
            async def item_dropped(self, item: Any, exception: Exception) -> Any:
                super().item_dropped(item, exception)

        host = site_with(sites, a=page(says("noindex")))
        spider, _ = await taken(host.url("/a"), **OBEY, spider=Asynchronous)
        assert [name for name, _ in spider.dropped] == ["a"]

    @pytest_twisted.ensureDeferred
    async def test_pages_that_nobody_asks_have_none(self, sites: Sites) -> None:
        host = site_with(sites, a=page(says("none")))
        spider, crawler = await taken(host.url("/a"))
        assert spider.pages["a"] is None
        assert not [key for key in crawler.stats.get_stats() if "page_directives" in key]

    @pytest_twisted.ensureDeferred
    async def test_log_and_table(self, sites: Sites, caplog: pytest.LogCaptureFixture) -> None:
        host = site_with(sites, a=page(says("none")), b=page(x_robots_tag="foobot: nofollow"))
        with caplog.at_level(logging.DEBUG):
            await taken(host.url("/a"), host.url("/b"), **OBEY)
        linked = host.url("/linked/b")
        assert (
            f"Not followed: <GET {linked}>, because <200 {host.url('/b')}> says X-Robots-Tag: "
            "foobot: nofollow"
        ) in caplog.text
        because = f"because <200 {host.url('/a')}> says meta robots: none"
        assert f"Not kept: {{'page': 'a'}}, {because}" in caplog.text
        assert (
            "2 requests allowed, 0 denied, 2 links dropped (nofollow), 1 item dropped (noindex)"
            in (caplog.text)
        )

    @pytest_twisted.ensureDeferred
    async def test_what_no_handler_writes_is_not_printed(
        self, sites: Sites, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Item(dict[str, Any]):
            printed = 0

            def __str__(self) -> str:
                Item.printed += 1
                return ""

        class Large(TakingSpider):
            def parse(self, response: Any) -> Any:
                yield Item()

            def item_dropped(self, item: Any, exception: Exception) -> None:
                pass

        # Scrapy's loggers take all lines, and leave it to handlers which to write.
        caplog.set_level(logging.DEBUG, "scrapy_robots_plus")
        monkeypatch.setattr(logging.getLogger("scrapy_robots_plus"), "propagate", False)
        host = site_with(sites, a=page(says("noindex")))
        _, crawler = await taken(host.url("/a"), **OBEY, spider=Large)
        assert stat(crawler, "robotstxt/noindex/dropped") == 1
        assert Item.printed == 0

    @pytest_twisted.ensureDeferred
    async def test_in_audit_mode_nothing_is_dropped_and_all_is_counted(
        self, sites: Sites, caplog: pytest.LogCaptureFixture
    ) -> None:
        host = site_with(sites, a=page(says("none")))
        with caplog.at_level(logging.DEBUG):
            spider, crawler = await taken(host.url("/a"), **OBEY, ROBOTS_MODE="observe")
        assert (spider.items, spider.links) == (["a"], ["a"])
        assert (spider.dropped, spider.not_followed) == ([], [])
        assert stat(crawler, "robotstxt/nofollow/dropped") == 1
        assert stat(crawler, "robotstxt/noindex/dropped") == 1
        assert "Would not be followed: <GET" in caplog.text
        assert "Would not be kept: {'page': 'a'}" in caplog.text
        assert (
            "1 link would be dropped (nofollow), 1 item would be dropped (noindex)" in caplog.text
        )


class TestWhoseDirectivesCount:
    @pytest.mark.parametrize(
        ("agent", "counts"),
        [
            ("Barbot", {"bar"}),
            pytest.param(["Barbot", "Quxbot"], {"bar", "qux"}, marks=takes_names),
            (None, {"foo"}),
        ],
    )
    @pytest_twisted.ensureDeferred
    async def test_those_for_any_of_its_names(
        self, sites: Sites, agent: Any, counts: set[str]
    ) -> None:
        names = ("foo", "bar", "qux")
        pages = {name: page(says("none", f"{name}bot")) for name in names}
        headers = {f"h-{name}": page(x_robots_tag=f"{name}bot: none") for name in names}
        host = site_with(sites, **pages, **headers)
        urls = [host.url(f"/{path}") for path in (*pages, *headers)]
        spider, _ = await taken(*urls, **OBEY, ROBOTSTXT_USER_AGENT=agent)
        dropped = {name for name, _ in spider.dropped}
        assert dropped == counts | {f"h-{name}" for name in counts}
        assert set(spider.not_followed) == dropped

    @pytest_twisted.ensureDeferred
    async def test_the_header_of_one_request_counts(self, sites: Sites) -> None:
        host = site_with(sites, a=page(says("none", "quxbot")), b=page(says("none", "quxbot")))
        as_qux = scrapy.Request(host.url("/a"), headers={"User-Agent": "Quxbot/2"})
        spider, _ = await taken(as_qux, host.url("/b"), **OBEY)
        assert [name for name, _ in spider.dropped] == spider.not_followed == ["a"]

    @pytest.mark.parametrize(
        ("override", "dropped"),
        [
            ({"obey": False, "reason": "ours"}, (0, 0)),
            ({"obey": False, "reason": "ours", "noindex": "obey"}, (0, 1)),
            ({"obey": True, "reason": "x"}, (1, 1)),
            ({"nofollow": "ignore"}, (0, 1)),
            ({"nofollow": "observe", "noindex": "observe"}, (0, 0)),
            ({"user_agent": "Barbot"}, (0, 0)),
        ],
    )
    @pytest_twisted.ensureDeferred
    async def test_an_override_decides_for_its_host(
        self, sites: Sites, override: dict[str, Any], dropped: tuple[int, int]
    ) -> None:
        host, other = (site_with(sites, a=page(says("none", "foobot"))) for _ in range(2))
        overrides = {host.origin: override}
        spider, _crawler = await taken(host.url("/a"), **OBEY, ROBOTS_OVERRIDES=overrides)
        assert (len(spider.not_followed), len(spider.dropped)) == dropped
        spider, _ = await taken(other.url("/a"), **OBEY, ROBOTS_OVERRIDES=overrides)
        assert (len(spider.not_followed), len(spider.dropped)) == (1, 1)

    @pytest_twisted.ensureDeferred
    async def test_an_override_alone_turns_it_on(self, sites: Sites) -> None:
        host, other = (site_with(sites, a=page(says("none"))) for _ in range(2))
        one = {"robots_override": {"noindex": "obey"}}
        spider, _ = await taken(
            host.url("/a"),
            scrapy.Request(other.url("/a"), meta=one),
            ROBOTS_OVERRIDES={host.origin: {"nofollow": "obey"}},
        )
        assert (len(spider.not_followed), len(spider.dropped)) == (1, 1)

    @pytest_twisted.ensureDeferred
    async def test_that_of_a_request_is_wrong_in_a_crawl_that_reads_no_pages(
        self, sites: Sites
    ) -> None:
        host = site_with(sites, a=page(says("none")), b=page(says("none")))
        one = scrapy.Request(host.url("/a"), meta={"robots_override": {"noindex": "obey"}})
        spider, crawler = await taken(host.url("/b"), one)
        assert (list(spider.pages), stat(crawler, "robotstxt/override_errors")) == (["b"], 1)
        manager = crawler.engine.scraper.spidermw
        names = [type(each).__name__ for each in manager.middlewares]
        assert "RobotsPagesMiddleware" not in names

    @pytest.mark.parametrize("off", [{"ROBOTS_MODE": "observe"}, {"ROBOTSTXT_OBEY": False}])
    @pytest_twisted.ensureDeferred
    async def test_a_wrong_one_of_a_request_that_is_sent_counts_for_nothing(
        self, sites: Sites, off: dict[str, Any]
    ) -> None:
        host = site_with(sites, a=page(says("noindex")))
        request = scrapy.Request(host.url("/a"), meta={"robots_override": {"nosuch": 1}})
        spider, crawler = await taken(request, **OBEY, **off)
        assert list(spider.pages["a"]) == ["noindex"]
        assert stat(crawler, "robotstxt/noindex/dropped") == 1
        assert stat(crawler, "robotstxt/page_errors") == 0

    @pytest_twisted.ensureDeferred
    async def test_a_page_of_an_exempt_request_is_not_asked(self, sites: Sites) -> None:
        host = site_with(sites, a=page(says("none")))
        exempt = scrapy.Request(host.url("/a"), meta={"dont_obey_robotstxt": True})
        spider, _ = await taken(exempt, **OBEY)
        assert (spider.items, spider.pages) == (["a"], {"a": None})

    @pytest_twisted.ensureDeferred
    async def test_without_robots_txt_they_count_all_the_same(self, sites: Sites) -> None:
        host = site_with(sites, a=page(says("none")))
        spider, _ = await taken(host.url("/a"), **OBEY, ROBOTSTXT_OBEY=False)
        assert (spider.items, spider.links, host.robots_hits) == ([], [], 0)
        assert set(spider.pages["a"]) == {"nofollow", "noindex"}


class TestWhichPageCounts:
    @pytest_twisted.ensureDeferred
    async def test_of_a_redirect_the_last(self, sites: Sites) -> None:
        host = site_with(sites, b=page(), c=page(says("none")))
        host.pages["/a"] = answer(status=302, location=host.url("/b"), x_robots_tag="none")
        host.pages["/d"] = redirect(host.url("/c"))
        spider, _ = await taken(host.url("/a"), host.url("/d"), **OBEY)
        assert (spider.items, [name for name, _ in spider.dropped]) == (["b"], ["c"])

    @pytest_twisted.ensureDeferred
    async def test_a_cached_page_says_the_same(self, sites: Sites, tmp_path: Path) -> None:
        host = site_with(sites, a=page(says("nofollow"), x_robots_tag="noindex"))
        cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
        for _ in range(2):
            spider, _ = await taken(host.url("/a"), **OBEY, **cache)
            assert (spider.items, spider.links) == ([], [])
        assert host.fetched == ["/a"]

    @pytest_twisted.ensureDeferred
    async def test_an_error_page_that_is_handled_counts(self, sites: Sites) -> None:
        host = site_with(sites, a=answer("gone", 404, x_robots_tag="none"))
        handled = scrapy.Request(host.url("/a"), meta={"handle_httpstatus_all": True})
        spider, _ = await taken(handled, **OBEY)
        assert (spider.items, spider.links, spider.got) == ([], [], [host.url("/a")])

    @pytest_twisted.ensureDeferred
    async def test_what_the_errback_of_an_error_page_makes_counts(self, sites: Sites) -> None:
        class Errback(TakingSpider):
            def failed(self, failure: Any) -> Any:
                super().failed(failure)
                yield from super().parse(failure.value.response)

        host = site_with(sites, a=answer("gone", 404, x_robots_tag="none"))
        spider, _ = await taken(host.url("/a"), **OBEY, spider=Errback)
        assert list(spider.failures) == [host.url("/a")]
        assert (spider.items, spider.links, len(spider.dropped)) == ([], [], 1)

    @pytest_twisted.ensureDeferred
    async def test_a_stamp_of_another_page_is_not_passed_on(self, sites: Sites) -> None:
        class Copying(TakingSpider):
            def links_of(self, response: Any) -> Any:
                if response.url.endswith("a"):
                    yield response.follow("/b", meta=response.meta, callback=self.parse)

        host = site_with(sites, a=page(says("none")), b=page())
        spider, _ = await taken(host.url("/a"), **MARK, spider=Copying)
        assert set(spider.pages["a"]) == {"nofollow", "noindex"}
        assert spider.pages["b"] == {}

    @pytest_twisted.ensureDeferred
    async def test_nor_is_it_if_robots_txt_is_off(self, sites: Sites) -> None:
        class Copying(TakingSpider):
            def links_of(self, response: Any) -> Any:
                if response.url.endswith("a"):
                    meta = {**response.meta, "dont_obey_robotstxt": True}
                    yield response.follow("/b", meta=meta, callback=self.parse)

        host = site_with(sites, a=page(says("none")), b=page())
        spider, _ = await taken(host.url("/a"), **MARK, ROBOTSTXT_OBEY=False, spider=Copying)
        assert set(spider.pages["a"]) == {"nofollow", "noindex"}
        assert spider.pages["b"] is None

    @pytest.mark.parametrize("own", [True, "text", {}, {"page": 1}])
    @pytest_twisted.ensureDeferred
    async def test_what_others_have_put_in_its_place_counts_for_nothing(
        self, sites: Sites, own: Any
    ) -> None:
        host = site_with(sites, a=page(says("noindex")))
        request = scrapy.Request(host.url("/a"), meta={"robots": own})
        spider, crawler = await taken(request, **OBEY, ROBOTSTXT_OBEY=False)
        assert len(spider.dropped) == 1
        assert set(request.meta["robots"]) == set(NOT_CHECKED)  # the keys are always the same
        assert stat(crawler, "robotstxt/page_errors") == 0


class HandingOn(TakingSpider):
    """Hands the meta of the first linked page on to another one."""

    def linked(self, response: Any) -> Any:
        super().linked(response)
        if len(self.links) == 1:
            yield response.follow("/c", self.linked, meta={**response.meta, "from": "c"})


class TestWhichRequestsAreLinks:
    @pytest_twisted.ensureDeferred
    async def test_one_for_the_same_page_is_not(self, sites: Sites) -> None:
        class Again(TakingSpider):
            def links_of(self, response: Any) -> Any:
                if len(self.got) == 1:
                    yield response.request.replace(dont_filter=True)
                elif len(self.got) == 2:
                    yield scrapy.Request(self.urls[0], dont_filter=True)  # before its redirect
                elif len(self.got) == 3:
                    yield response.follow("#part", dont_filter=True, callback=self.parse)

        host = site_with(sites, b=page(says("nofollow")))
        host.pages["/a"] = redirect(host.url("/b"))
        spider, _ = await taken(host.url("/a"), **OBEY, spider=Again)
        assert len(spider.got) == 4
        assert spider.not_followed == []

    @pytest_twisted.ensureDeferred
    async def test_an_exempt_one_is_not(self, sites: Sites) -> None:
        class Exempt(TakingSpider):
            def links_of(self, response: Any) -> Any:
                for request in super().links_of(response):
                    request.meta["dont_obey_robotstxt"] = True
                    yield request

        host = site_with(sites, a=page(says("nofollow")))
        spider, _ = await taken(host.url("/a"), **OBEY, spider=Exempt)
        assert spider.links == ["a"]

    @pytest_twisted.ensureDeferred
    async def test_a_mark_is_not_passed_on(self, sites: Sites) -> None:
        host = site_with(sites, a=page(says("nofollow")))
        spider, _ = await taken(host.url("/a"), **MARK, spider=HandingOn)
        assert (spider.links, spider.marked) == (["a", "c"], ["a"])

    @pytest_twisted.ensureDeferred
    async def test_nor_by_a_page_that_is_not_asked(self, sites: Sites) -> None:
        host, other = site_with(sites, a=page(says("nofollow"))), site_with(sites)
        host.pages["/linked/a"] = redirect(other.url("/b"))
        ignored = {other.origin: {"nofollow": "ignore", "noindex": "ignore"}}
        spider, _ = await taken(host.url("/a"), **MARK, ROBOTS_OVERRIDES=ignored, spider=HandingOn)
        assert (spider.links, spider.marked) == (["a", "c"], ["a"])


class TestCallbacks:
    @pytest.mark.parametrize("is_async", [False, True])
    @pytest_twisted.ensureDeferred
    async def test_one_that_fails_fails_as_ever(self, sites: Sites, is_async: bool) -> None:
        class Failing(TakingSpider):
            def parse(self, response: Any) -> Any:
                yield from super().parse(response)
                yield None
                raise KeyError("mine")

        class FailingAsync(Failing):
            async def parse(self, response: Any) -> Any:
                for output in super().parse(response):
                    yield output

        host = site_with(sites, a=page(says("none")), b=page())
        failing = FailingAsync if is_async else Failing
        spider, crawler = await taken(host.url("/a"), host.url("/b"), **OBEY, spider=failing)
        assert stat(crawler, "spider_exceptions/KeyError") == 2
        assert (spider.items, spider.links) == (["b"], ["b"])

    @pytest.mark.parametrize("kind", [list, tuple, iter])
    @pytest_twisted.ensureDeferred
    async def test_they_may_return_anything(self, sites: Sites, kind: Any) -> None:
        class Returning(TakingSpider):
            def parse(self, response: Any) -> Any:
                return kind(list(super().parse(response)))

        host = site_with(sites, a=page(says("noindex")))
        spider, _ = await taken(host.url("/a"), **OBEY, spider=Returning)
        assert (spider.items, spider.links) == ([], ["a"])

    @pytest_twisted.ensureDeferred
    async def test_one_that_returns_an_item_or_nothing(self, sites: Sites) -> None:
        class Single(TakingSpider):
            async def parse(self, response: Any) -> Any:
                self.got.append(response.url)
                return {"page": "a"} if response.url.endswith("a") else None

        host = site_with(sites, a=page(says("noindex")), b=page(says("noindex")))
        spider, crawler = await taken(host.url("/a"), host.url("/b"), **OBEY, spider=Single)
        assert (spider.items, len(spider.dropped)) == ([], 1)
        assert stat(crawler, "robotstxt/noindex/dropped") == 1
