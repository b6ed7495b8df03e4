"""A request is judged by every form its URL may be sent in, and whoever asks is told which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler

from scrapy_robots_plus import RobotsDisallowed, RobotsMiddleware
from tests.crawling import OTHER_PARSER, ProbeSpider, crawl, make_crawler, names_rules, run, stat
from tests.sites import after, answer, redirect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.sites import Sites

RULES = "User-agent: *\nDisallow: /private\nDisallow: /u@\nAllow: /page;a\nDisallow: /page\n"
AS_SENT = {
    "/a/../private/x": "/private/x",
    "/a/%2e%2e/private/x": "/private/x",
    "/u%40x": "/u@x",
    "/page;a": "/page",
}


class AskingSpider(ProbeSpider):
    """Asks about its URLs before it requests them."""

    async def start(self) -> AsyncIterator[Any]:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        self.verdicts = {url: await policies.verdict(url) for url in self.urls}
        for url in self.urls:
            yield self.request(url)


@names_rules
@pytest_twisted.ensureDeferred
async def test_the_form_and_the_rule_that_decided_are_told(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawl(*map(host.url, AS_SENT), spider=AskingSpider)
    assert host.fetched == []
    spider = crawler.spider
    assert {url: error.verdict for url, error in spider.failures.items()} == spider.verdicts
    for target, form in AS_SENT.items():
        verdict = spider.verdicts[host.url(target)]
        assert (verdict.form, verdict.reason) == (form, "rule")
        assert str(spider.failures[host.url(target)]).endswith(
            f"({verdict.rule}, line {verdict.line} of {host.origin}/robots.txt, "
            f"because it may be sent as {form})"
        )
    assert stat(crawler, "robotstxt/forbidden/rule") == len(AS_SENT)
    assert stat(crawler, "robotstxt/forbidden/no_rule") == 0


@names_rules
@pytest_twisted.ensureDeferred
async def test_where_the_url_itself_is_disallowed_no_form_is_named(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawl(host.url("/private/a%40b"), host.url("/open%40"), spider=AskingSpider)
    assert [verdict.form for verdict in crawler.spider.verdicts.values()] == [None, None]
    assert host.fetched == ["/open%40"]


class LikeBrowsers(HTTP11DownloadHandler):
    """Takes any number of slashes before the host, as curl takes three."""

    async def download_request(self, request: scrapy.Request) -> scrapy.http.Response:
        sent = request.replace(url=request.url.replace("http:///", "http://"))
        return await super().download_request(sent)


@pytest_twisted.ensureDeferred
async def test_a_url_whose_host_only_some_handlers_see_is_not_sent(sites: Sites) -> None:
    host = sites.host(RULES)
    url = host.url("/private").replace("http://", "http:///")
    crawler = await crawl(url, DOWNLOAD_HANDLERS={"http": LikeBrowsers})
    assert host.fetched == []
    assert "no host in" in str(crawler.spider.failures[url])


PARSERS = ["ProtegoRobotParser", "PythonRobotParser", "RerpRobotParser"]


@pytest.mark.skipif(OTHER_PARSER is not None, reason="sets the parser itself")
@pytest.mark.parametrize("parser", PARSERS)
@pytest_twisted.ensureDeferred
async def test_other_parsers_are_asked_about_each_form(sites: Sites, parser: str) -> None:
    host = sites.host("User-agent: *\nDisallow: /private\n")
    urls = [host.url("/a/../private/x"), host.url("/..;/../private"), host.url("/open%40")]
    crawler = await crawl(*urls, spider=AskingSpider, ROBOTSTXT_PARSER=f"scrapy.robotstxt.{parser}")
    assert host.fetched == ["/open%40"]
    verdict = crawler.spider.verdicts[urls[0]]
    assert (verdict.allowed, verdict.form, verdict.reason) == (False, "/private/x", "rule")
    assert stat(crawler, "robotstxt/forbidden/rule") == 2


@pytest.mark.skipif(
    OTHER_PARSER == "ProtegoRobotParser",
    reason="this parser allows /robots.txt?x and /robots.txt;x",
)
@pytest_twisted.ensureDeferred
async def test_only_robots_txt_itself_passes_while_it_is_fetched(sites: Sites) -> None:
    host = sites.host(after(0.3, answer("User-agent: *\nDisallow: /\n")))
    targets = ["/x", "/robots.txt?page=1", "/robots.txt;x"]
    await crawl(*map(host.url, targets))
    assert host.fetched == []


@pytest_twisted.ensureDeferred
async def test_where_a_redirect_leads_is_judged_as_it_may_be_sent(sites: Sites) -> None:
    host = sites.host(RULES)
    for number, target in enumerate(AS_SENT):
        host.pages[f"/{number}"] = redirect(target)
    crawler = await crawl(*(host.url(f"/{number}") for number in range(len(AS_SENT))))
    assert sorted(host.fetched) == ["/0", "/1", "/2", "/3"]
    assert {type(error) for error in crawler.spider.failures.values()} == {RobotsDisallowed}


class Rewriting:
    """A middleware after ours that sends requests elsewhere."""

    def process_request(self, request: scrapy.Request) -> scrapy.Request | None:
        if request.url.endswith("/rewrite"):
            return request.replace(url=request.url.replace("/rewrite", "/private"))
        return None


@pytest_twisted.ensureDeferred
async def test_what_a_later_middleware_asks_for_instead_is_judged(sites: Sites) -> None:
    host = sites.host(RULES)
    await crawl(host.url("/rewrite"), DOWNLOADER_MIDDLEWARES={Rewriting: 900})
    assert host.fetched == []


@pytest_twisted.ensureDeferred
async def test_through_a_proxy_too(sites: Sites) -> None:
    """It is sent whole there, as it stands."""
    host, proxy = sites.host(RULES), sites.host()
    meta = {"proxy": proxy.origin}
    targets = [*AS_SENT, "/open;a", "/private"]
    await crawl(*(scrapy.Request(host.url(target), meta=meta) for target in targets))
    assert [hit.path for hit in proxy.hits] == [host.url("/open;a")]


NO_URLS = {
    "/private/": "/private/",
    "site.example/x": "site.example/x",
    "localhost:8080/x": "localhost:8080/x",
    "http:///x": "http:///x",
    "http://:80/x": "http://:80/x",
    "http://site.example:99999/": "0-65535",
    "http://site.example:x/": "site.example:x",
    "http://[::1/": "IPv6",
    "": "''",
}


class CarelessSpider(ProbeSpider):
    async def start(self) -> AsyncIterator[Any]:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        self.complaints = {}
        for url in NO_URLS:
            with pytest.raises(ValueError, match="expected an absolute URL") as caught:
                await policies.allowed(url)
            self.complaints[url] = str(caught.value)
        self.complete = await policies.allowed("mailto:someone")
        yield self.request(self.urls[0])


@pytest_twisted.ensureDeferred
async def test_a_question_about_no_url_is_an_error(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = make_crawler(CarelessSpider)
    await run(crawler, urls=[host.url("/open")])
    spider = crawler.spider
    assert {url: told in spider.complaints[url] for url, told in NO_URLS.items()} == dict.fromkeys(
        NO_URLS, True
    )
    assert spider.complete is True


@pytest_twisted.ensureDeferred
async def test_a_question_is_answered_for_the_url_that_a_request_would_have(sites: Sites) -> None:
    host = sites.host("User-agent: *\nDisallow: /private\n")
    urls = [f" {host.url('/private')} ", host.url("/pri\nvate"), host.url("\\private")]
    crawler = await crawl(*urls, spider=AskingSpider)
    assert not any(crawler.spider.verdicts.values())
    assert host.fetched == []


@pytest_twisted.ensureDeferred
async def test_however_oddly_a_url_is_written_it_is_judged_as_what_arrives(sites: Sites) -> None:
    host = sites.host("User-agent: *\nDisallow: /secret\nDisallow: /?q\nDisallow: /;p\n")
    origin, bare = host.origin, host.origin.removeprefix("http://")
    disallowed = [
        f"HTTP://{bare}/secret",
        f"http://u:p@{bare}/secret",
        f"http://u@{bare}?q",
        f"{origin}?q=1",
        f"{origin}/;p",
        f"{origin}/%73ecret",
        f"{origin}/se\tcret",
        f"{origin}/secret#x",
        f"{origin}\\secret",
        f"{origin}/./secret",
    ]
    crawler = await crawl(*disallowed, f"{origin}/open#/../secret", f"{origin}/\\secret")
    assert sorted(host.fetched) == ["//secret", "/open"]
    denied = {scrapy.Request(url).url for url in disallowed}
    assert crawler.spider.failures.keys() == denied
