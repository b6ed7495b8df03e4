"""Scrapy's HTTP cache: a replay comes to what the crawl came to, and no crawl trusts it online."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from tests.crawling import crawl
from tests.sites import Host, Reply, Sites, answer, hang_up, in_turn, redirect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy import Request
    from scrapy.http import Response

RULES = "User-agent: *\nDisallow: /closed\n"
TIGHTER = "User-agent: *\nDisallow: /\n"
POLICIES = ["DummyPolicy", "RFC2616Policy"]
STORAGES = ["FilesystemCacheStorage", "DbmCacheStorage"]
PATHS = ("/closed", "/open")


def cache(folder: Path, policy: str = "DummyPolicy", **more: Any) -> dict[str, Any]:
    return {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(folder),
        "HTTPCACHE_POLICY": f"scrapy.extensions.httpcache.{policy}",
        "ROBOTS_FETCH_RETRIES": 0,
        **more,
    }


def keeps_pages(host: Host) -> Host:
    """What RFC2616Policy stores."""
    for path in PATHS:
        host.pages[path] = answer("A page", cache_control="max-age=86400")
    return host


ROBOTS: dict[str, Callable[[Sites], Reply]] = {
    "rules": lambda _: answer(RULES),
    "rules, compressed": lambda _: answer(gzip.compress(RULES.encode()), content_encoding="gzip"),
    "rules, compressed, cut off": lambda _: answer(
        gzip.compress(RULES.encode())[:-12], content_encoding="gzip"
    ),
    "moved": lambda sites: redirect(sites.host(RULES).url("/robots.txt")),
    "too long": lambda _: answer(RULES + ("# filler" * 100 + "\n") * 900),
    "404": lambda _: answer(TIGHTER, 404),
    "404, said to be compressed": lambda _: answer(TIGHTER, 404, content_encoding="gzip"),
    "403": lambda _: answer("", 403),
    "429": lambda _: answer("", 429),
    "503": lambda _: answer("", 503),
    "hang-up": lambda _: hang_up,
    "endless redirect": lambda _: redirect("/robots.txt"),
    "everything closed": lambda _: answer(TIGHTER),
}


@pytest.mark.parametrize(
    ("storage", "presets"),
    [
        (STORAGES[0], "rfc9309"),
        (STORAGES[1], "mk1996"),
        pytest.param(STORAGES[0], "mk1996", marks=pytest.mark.stress),
        pytest.param(STORAGES[1], "rfc9309", marks=pytest.mark.stress),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_replay_without_a_network_comes_to_what_the_crawl_came_to(
    tmp_path: Path, storage: str, presets: str
) -> None:
    settings = cache(
        tmp_path,
        HTTPCACHE_STORAGE=f"scrapy.extensions.httpcache.{storage}",
        ROBOTS_STATUS_POLICY=presets,
    )
    with Sites() as sites:
        hosts = {name: keeps_pages(sites.host(make(sites))) for name, make in ROBOTS.items()}
        urls = [host.url(path) for host in hosts.values() for path in PATHS]
        online = await crawl(*urls, **settings)
        assert hosts["rules"].fetched == ["/open"]
    replay = await crawl(*urls, **settings, HTTPCACHE_IGNORE_MISSING=True)
    assert sorted(replay.spider.got) == sorted(online.spider.got)
    assert set(replay.spider.failures) == set(online.spider.failures)


@pytest.mark.parametrize("policy", POLICIES)
@pytest_twisted.ensureDeferred
async def test_a_file_that_was_tightened_is_seen_whatever_the_cache_holds(
    sites: Sites, tmp_path: Path, policy: str
) -> None:
    robots = in_turn(
        answer(RULES, cache_control="max-age=86400"), answer(TIGHTER, cache_control="max-age=86400")
    )
    host = keeps_pages(sites.host(robots))
    before = await crawl(host.url("/open"), **cache(tmp_path, policy))
    after = await crawl(host.url("/open"), **cache(tmp_path, policy))
    replay = await crawl(
        host.url("/open"), **cache(tmp_path, policy), HTTPCACHE_IGNORE_MISSING=True
    )
    assert [len(one.spider.got) for one in (before, after, replay)] == [1, 0, 0]
    assert host.robots_hits == 2


@pytest_twisted.ensureDeferred
async def test_a_site_that_answers_with_an_error_is_not_crawled_by_the_cached_file(
    sites: Sites, tmp_path: Path
) -> None:
    host = keeps_pages(sites.host(in_turn(answer(RULES), answer("", 503))))
    await crawl(host.url("/open"), **cache(tmp_path))
    again = await crawl(host.url("/open"), **cache(tmp_path))
    assert again.spider.got == []


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest_twisted.ensureDeferred
async def test_an_outage_does_not_replace_the_cached_file(tmp_path: Path, status: int) -> None:
    """It did: from then on, everything was denied without a network, and in each replay."""
    with Sites() as sites:
        host = keeps_pages(sites.host(in_turn(answer(RULES), answer("", status))))
        urls = [host.url(path) for path in PATHS]
        await crawl(*urls, **cache(tmp_path))
        outage = await crawl(*urls, **cache(tmp_path))
        assert outage.spider.got == []
    for replays in (False, True):
        later = await crawl(*urls, **cache(tmp_path), HTTPCACHE_IGNORE_MISSING=replays)
        assert later.spider.got == [host.url("/open")]


@pytest_twisted.ensureDeferred
async def test_a_server_error_leaves_an_expired_file_of_a_replay_in_force(
    sites: Sites, tmp_path: Path
) -> None:
    """As RFC2616Policy says: the error hints at nothing new about the file."""
    host = keeps_pages(sites.host(in_turn(answer(RULES, etag='"1"'), answer("", 503))))
    urls = [host.url(path) for path in PATHS]
    settings = cache(tmp_path, "RFC2616Policy")
    await crawl(*urls, **settings)
    replay = await crawl(*urls, **settings, HTTPCACHE_IGNORE_MISSING=True)
    assert host.robots_hits == 2
    assert replay.spider.got == [host.url("/open")]


@pytest_twisted.ensureDeferred
async def test_without_a_network_the_cached_file_holds_as_the_last_good_copy(
    tmp_path: Path,
) -> None:
    with Sites() as sites:
        host = keeps_pages(sites.host(RULES))
        missing = keeps_pages(sites.host(answer(RULES, 404)))
        failing = keeps_pages(sites.host(answer(RULES, 503)))
        hosts = (host, missing, failing)
        urls = [one.url(path) for one in hosts for path in PATHS]
        await crawl(*urls, **cache(tmp_path))
    offline = await crawl(*urls, **cache(tmp_path))
    expected = [host.url("/open"), missing.url("/closed"), missing.url("/open")]
    assert sorted(offline.spider.got) == sorted(expected)
    too_old = await crawl(*urls, **cache(tmp_path), ROBOTS_STALE_MAX=0)
    assert too_old.spider.got == []


@pytest.mark.parametrize("policy", POLICIES)
@pytest_twisted.ensureDeferred
async def test_a_compressed_file_holds_without_a_network_too(tmp_path: Path, policy: str) -> None:
    with Sites() as sites:
        packed = gzip.compress(RULES.encode())
        robots = answer(packed, content_encoding="gzip", cache_control="max-age=86400")
        host = keeps_pages(sites.host(robots))
        urls = [host.url(path) for path in PATHS]
        await crawl(*urls, **cache(tmp_path, policy))
    offline = await crawl(*urls, **cache(tmp_path, policy))
    assert offline.spider.got == [host.url("/open")]


@pytest_twisted.ensureDeferred
async def test_what_the_cache_lacks_is_not_asked_for_in_an_outage(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(hang_up)
    url = host.url("/open")
    outage = await crawl(url, **cache(tmp_path))
    assert set(outage.spider.failures) == {url}
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_a_replay_leaves_nothing_in_the_store(tmp_path: Path) -> None:
    """What it has read may be years old, and would be taken for an answer of today."""
    store: dict[str, Any] = {"ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.sqlite'}"}
    with Sites() as sites:
        host = keeps_pages(sites.host(in_turn(answer(RULES), answer(TIGHTER))))
        await crawl(host.url("/open"), **cache(tmp_path))
        replay = cache(tmp_path, HTTPCACHE_IGNORE_MISSING=True)
        replayed = await crawl(host.url("/open"), **replay, **store)
        online = await crawl(host.url("/open"), **store)
        assert replayed.spider.got == [host.url("/open")]
        assert online.spider.got == []


@pytest_twisted.ensureDeferred
async def test_a_cache_that_scrapys_own_middleware_has_filled_can_be_replayed(
    tmp_path: Path,
) -> None:
    with Sites() as sites:
        target = sites.host(answer(gzip.compress(RULES.encode()), content_encoding="gzip"))
        host = keeps_pages(sites.host(redirect(target.url("/robots.txt"))))
        urls = [host.url(path) for path in PATHS]
        await crawl(*urls, **cache(tmp_path), ADDONS={}, ROBOTSTXT_OBEY=True)
        assert host.fetched == ["/open"]
    replay = await crawl(*urls, **cache(tmp_path, HTTPCACHE_IGNORE_MISSING=True))
    assert replay.spider.got == [host.url("/open")]


@pytest_twisted.ensureDeferred
async def test_what_is_not_in_the_cache_is_denied_in_a_replay(sites: Sites, tmp_path: Path) -> None:
    host = keeps_pages(sites.host(RULES))
    await crawl(host.url("/open"), **cache(tmp_path), ROBOTSTXT_OBEY=False)
    replay = await crawl(host.url("/open"), **cache(tmp_path, HTTPCACHE_IGNORE_MISSING=True))
    assert replay.spider.got == []
    assert host.robots_hits == 0


class AsksAgain:
    """A middleware that has the same robots.txt asked for a second time."""

    def __init__(self) -> None:
        self.asked = 0

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if request.url.endswith("/robots.txt"):
            self.asked += 1
            if self.asked == 1:
                return request.copy()
        return response


@pytest_twisted.ensureDeferred
async def test_what_a_middleware_asks_for_again_comes_from_the_site(
    tmp_path: Path, sites: Sites
) -> None:
    """And not from the cache, which has just stored the first answer."""
    host = keeps_pages(sites.host(in_turn(answer(RULES), answer(TIGHTER))))
    await crawl(host.url("/open"), DOWNLOADER_MIDDLEWARES={AsksAgain: 550}, **cache(tmp_path))
    assert host.robots_hits == 2
    assert host.fetched == []


@pytest_twisted.ensureDeferred
async def test_a_damaged_entry_is_none_and_the_failure_of_the_site_counts(
    sites: Sites, tmp_path: Path
) -> None:
    settings = {**cache(tmp_path), "ROBOTS_STATUS_POLICY": "fail-open"}
    host = keeps_pages(sites.host(in_turn(answer(RULES), hang_up)))
    await crawl(host.url("/open"), **settings)
    (body,) = (each for each in tmp_path.rglob("response_body") if each.read_text() == RULES)
    (body.parent / "pickled_meta").write_bytes(b"\x80\x04")

    later = await crawl(host.url("/closed"), **settings)

    assert later.spider.got == [host.url("/closed")]
