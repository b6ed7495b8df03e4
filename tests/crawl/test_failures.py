"""Whatever a site answers for its robots.txt, what is fetched is what the preset says."""

from __future__ import annotations

import gzip
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import pytest_twisted
import scrapy

from scrapy_robots_plus import RobotsMiddleware, RobotsUnreachable
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.store_or_site import Retrieval
from scrapy_robots_plus.protocol.origin import Origin
from tests.certificates import self_signed
from tests.crawling import crawl, make_crawler, run, stat
from tests.sites import (
    Reply,
    Sites,
    after,
    answer,
    drip,
    gzipped,
    half,
    hang,
    hang_up,
    in_turn,
    redirect,
)

if TYPE_CHECKING:
    from asyncio import StreamWriter
    from collections.abc import Callable

    from tests.sites import Hit, Host

PRESETS = ("rfc9309", "mk1996", "fail-open", "fail-closed")
RULES = "User-agent: *\nDisallow: /closed\n"
LATIN_1 = b"# d\xe9fendu\n" + RULES.encode()
UNSAID_GZIP = gzip.compress(RULES.encode())
FILLER = ("# filler" * 100 + "\n") * 900
CLOSES_ALL = "User-agent: *\nDisallow: /\n"
CHALLENGE = "<!DOCTYPE html><html><body><script>challenge()</script>Checking.</body></html>"

# What happens under each preset, in their order: the rules of the file hold (R), everything may be
# fetched (A), nothing may (-).
FAILED = "-AA-"


class Case(NamedTuple):
    name: str
    robots: Callable[[Sites], Reply]
    expected: str


def case(name: str, reply: Reply, expected: str) -> Case:
    return Case(name, lambda _: reply, expected)


def endless(sites: Sites) -> Reply:
    return lambda hit, writer: redirect(f"http://{hit.host}:{sites.port}/robots.txt")(hit, writer)


def moved(robots: Reply | str) -> Callable[[Sites], Reply]:
    return lambda sites: redirect(sites.host(robots).url("/robots.txt"))


CASES = [
    case("404 with rules in its body", answer(CLOSES_ALL, 404), "AAAA"),
    case("401", answer(CLOSES_ALL, 401), "A-A-"),
    case("403", answer(CLOSES_ALL, 403), "A-A-"),
    case("407", answer("", 407), FAILED),
    case("410", answer(CLOSES_ALL, 410), "AAAA"),
    case("429", answer("", 429), FAILED),
    case("500", answer("", 500), FAILED),
    case("503", answer("", 503), FAILED),
    case("999", answer("", 999), FAILED),
    case("204", answer("", 204), "AAAA"),
    case("304 that nobody asked for", answer("", 304), FAILED),
    case("hang-up", hang_up, FAILED),
    case("half a body", half(RULES), FAILED),
    case("dripping body", drip(RULES, 0.2), FAILED),
    case("no answer", hang, FAILED),
    Case("endless redirect", endless, "AAA-"),
    Case("moved", moved(RULES), "RRRR"),
    Case("moved to a file that closes all", moved(CLOSES_ALL), "----"),
    Case("redirect to a closed port", lambda sites: redirect(sites.closed_host() + "/r"), FAILED),
    Case(
        "https", lambda sites: redirect(sites.host(RULES, self_signed()).url("/robots.txt")), "RRRR"
    ),
    case("redirect to another scheme", redirect("ftp://127.0.0.1/robots.txt"), FAILED),
    case("redirect to a data URL", redirect("data:text/plain,"), FAILED),
    case("redirect to no URL", redirect("http://[:80/"), FAILED),
    case("redirect without a target", answer("", 302), FAILED),
    case("DNS failure", redirect("http://no-such-host.invalid/robots.txt"), FAILED),
    case("700 kB, rules at the top", answer(RULES + FILLER), "RRRR"),
    case("700 kB, rules at the end", answer(FILLER + CLOSES_ALL), "AAAA"),
    case("BOM", answer(b"\xef\xbb\xbf" + RULES.encode()), "RRRR"),
    case("gzip", gzipped(RULES.encode()), "RRRR"),
    case("gzip cut short", gzipped(RULES.encode() * 50, keep=30), FAILED),
    case("not gzip", answer(RULES, content_encoding="gzip"), FAILED),
    case("gzip that does not say so", answer(UNSAID_GZIP), "RRRR"),
    case("gzip that says identity", answer(UNSAID_GZIP, content_encoding="identity"), "RRRR"),
    case("gzip that does not say so, cut short", answer(UNSAID_GZIP[:-30]), FAILED),
    case("gzip of gzip", gzipped(UNSAID_GZIP), FAILED),
    case("404, gzip that does not say so", answer(UNSAID_GZIP, 404), "AAAA"),
    case("nothing, as gzip", answer("", content_encoding="gzip"), "AAAA"),
    case("404, nothing, as gzip", answer("", 404, content_encoding="gzip"), "AAAA"),
    Case(
        "moved, nothing, as gzip",
        lambda sites: answer(
            "", 301, content_encoding="gzip", location=sites.host(RULES).url("/robots.txt")
        ),
        "RRRR",
    ),
    case("404, not gzip", answer("gone", 404, content_encoding="gzip"), "AAAA"),
    case("404, unknown encoding", answer("gone", 404, content_encoding="rot13"), "AAAA"),
    *(
        case(f"{name} as encoding", answer(RULES, content_encoding=name), "RRRR")
        for name in (
            *("UTF-8", "none", "chunked", "aws-chunked", "", "identity;q=1"),
            *("us-ascii", "windows-1252", "utf-16", "text/plain", "8bit", "binary", "rot13"),
        )
    ),
    case("a charset, not UTF-8", answer(LATIN_1, content_encoding="ISO-8859-15"), "RRRR"),
    case("8bit, not UTF-8", answer(LATIN_1, content_encoding="8bit"), FAILED),
    case(
        "8bit, cut in a character", answer(RULES + "€" * 600_000, content_encoding="8bit"), "RRRR"
    ),
    case("gzip and a charset", answer(UNSAID_GZIP, content_encoding="gzip, latin1"), "RRRR"),
    case(
        "cut gzip and a charset", answer(UNSAID_GZIP[:-30], content_encoding="utf-8,gzip"), FAILED
    ),
    case("unknown encoding", answer(UNSAID_GZIP, content_encoding="xz"), FAILED),
    case("unknown encoding, UTF-8 with NUL", answer(RULES + "\0", content_encoding="xz"), FAILED),
    case("gzip bomb, rules at the top", gzipped(RULES.encode() + b"#" * 5_000_000), "RRRR"),
    case("HTML challenge page", answer(CHALLENGE, content_type="text/html"), "AAAA"),
    case("slow but in time", after(0.3, answer(RULES)), "RRRR"),
]

TOO_LATE = {"dripping body", "no answer"}
PAGES = {"R": ["/open"], "A": ["/closed", "/open"], "-": []}


@pytest_twisted.ensureDeferred
async def test_a_tunnel_that_the_proxy_refuses_is_a_connection_that_failed(sites: Sites) -> None:
    """It was another error, which is not retried: one refusal denied the whole site."""
    host, proxy = sites.host(RULES, self_signed()), sites.host()
    target = host.origin.removeprefix("https://")
    proxy.pages[target] = answer("", 502)
    crawler = await crawl(
        host.url("/open"),
        ROBOTS_FETCH_META={"proxy": proxy.origin},
        ROBOTS_FETCH_RETRIES=1,
        ROBOTS_STATUS_POLICY={"connection": "allow"},
    )
    assert proxy.fetched == [target, target]
    assert crawler.spider.got == [host.url("/open")]


def some_cases(turn: int) -> list[Case]:
    """Returns a half for `make test`; where all presets agree, only of those for a strict one."""
    cases = CASES[turn % 2 :: 2]
    return [case for case in cases if turn in (0, 3) or len(set(case.expected)) > 1]


@pytest.mark.parametrize(
    ("preset", "cases"),
    [
        *(
            pytest.param(preset, some_cases(turn), id=f"{preset}-half")
            for turn, preset in enumerate(PRESETS)
        ),
        *(
            pytest.param(preset, CASES, id=f"{preset}-all", marks=pytest.mark.stress)
            for preset in PRESETS
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_is_fetched_is_what_the_preset_says(
    sites: Sites, preset: str, cases: list[Case]
) -> None:
    hosts = {case.name: sites.host(case.robots(sites)) for case in cases}
    for seconds in (1, 60):  # those that do not come in time, and those that shall on any machine
        await crawl(
            *(
                host.url(path)
                for name, host in hosts.items()
                for path in ("/open", "/closed")
                if (name in TOO_LATE) == (seconds == 1)
            ),
            ROBOTS_STATUS_POLICY=preset,
            ROBOTS_FETCH_TIMEOUT=seconds,
            ROBOTS_FETCH_RETRIES=0,
            CONCURRENT_REQUESTS=200,
        )
    column = PRESETS.index(preset)
    fetched = {name: sorted(host.fetched) for name, host in hosts.items()}
    assert fetched == {case.name: PAGES[case.expected[column]] for case in cases}


@pytest_twisted.ensureDeferred
async def test_a_preset_can_be_changed_by_status_class_and_failure(sites: Sites) -> None:
    hosts = {
        "403": sites.host(answer("", 403)),
        "404": sites.host(answer("", 404)),
        "500": sites.host(answer("", 500)),
        "503": sites.host(answer("", 503)),
        "hang-up": sites.host(hang_up),
    }
    silent = sites.host(hang)
    changed = {"403": "disallow", "5xx": "allow", 503: "disallow", "timeout": "allow"}
    settings: dict[str, Any] = {"ROBOTS_STATUS_POLICY": changed, "ROBOTS_FETCH_RETRIES": 0}
    await crawl(*(host.url("/page") for host in hosts.values()), **settings)
    await crawl(silent.url("/page"), **settings, ROBOTS_FETCH_TIMEOUT=0.5)
    assert [name for name, host in hosts.items() if host.fetched] == ["404", "500"]
    assert silent.fetched == ["/page"]


@pytest.mark.parametrize("settings", [{}, {"ROBOTS_FETCH_RETRIES": 2}])
@pytest_twisted.ensureDeferred
async def test_a_failure_is_retried_at_once_as_often_as_the_setting_says(
    sites: Sites, settings: dict[str, Any]
) -> None:
    """By default as often as Scrapy retries a page."""
    host = sites.host(in_turn(answer("", 500), hang_up, answer(RULES)))
    await crawl(host.url("/open"), host.url("/closed"), **settings)
    assert host.robots_hits == 3
    assert host.fetched == ["/open"]


@pytest_twisted.ensureDeferred
async def test_no_retry_where_the_server_asks_for_patience(sites: Sites) -> None:
    busy = sites.host(answer("", 429))
    later = sites.host(answer("", 503, retry_after="120"))
    await crawl(busy.url(), later.url(), ROBOTS_FETCH_RETRIES=3)
    assert (busy.robots_hits, later.robots_hits) == (1, 1)


@pytest.mark.parametrize("value", ["soon", "", "-5", "Wed, 21 Oct 99999 07:28:00 GMT"])
@pytest_twisted.ensureDeferred
async def test_a_retry_after_that_says_nothing_counts_as_none(sites: Sites, value: str) -> None:
    host = sites.host(in_turn(answer("", 503, retry_after=value), answer(RULES)))
    await crawl(host.url("/open"))
    assert host.fetched == ["/open"]


@pytest.mark.parametrize("status", [429, 503])
@pytest_twisted.ensureDeferred
async def test_a_retry_after_that_ends_in_time_is_waited_for(sites: Sites, status: int) -> None:
    host = sites.host(in_turn(answer("", status, retry_after="1"), answer(RULES)))
    crawler = await crawl(host.url("/open"), host.url("/closed"))
    assert host.robots_hits == 2
    assert host.fetched == ["/open"]
    first, second = (hit.at for hit in host.hits[:2])
    assert second - first >= 1
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 0


@pytest.mark.parametrize("error", [RuntimeError("unknown"), CancelledError()], ids=repr)
@pytest_twisted.ensureDeferred
async def test_a_fetch_that_an_unknown_error_ends_is_a_failed_one(
    sites: Sites,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: BaseException,
) -> None:
    """Its requests fail like those of any site whose robots.txt cannot be read; it is told why."""
    tries = 0

    async def retrieve(*_: object) -> None:
        nonlocal tries
        tries += 1
        raise error

    monkeypatch.setattr(Retrieval, "retrieve", retrieve)
    host = sites.host(RULES)
    crawler = await crawl(host.url("/1"), host.url("/2"), host.url("/3"), CLOSESPIDER_TIMEOUT=5)
    assert {type(error) for error in crawler.spider.failures.values()} == {RobotsUnreachable}
    assert len(crawler.spider.failures) == 3
    assert tries == 1
    told = [each.message for each in caplog.records if "was interrupted" in each.message]
    assert told == [f"Fetching the robots.txt of {host.origin} was interrupted: {error!r}"]


@pytest_twisted.ensureDeferred
async def test_failures_are_counted_by_kind(sites: Sites) -> None:
    hosts = [
        sites.host(hang_up),
        sites.host(half(RULES)),
        sites.host(redirect("http://no-such-host.invalid/")),
        sites.host(answer(RULES, content_encoding="gzip")),
    ]
    crawler = await crawl(*(host.url() for host in hosts), ROBOTS_FETCH_RETRIES=0)
    counted = {
        kind: stat(crawler, f"robotstxt/failure_count/{kind}")
        for kind in ("connection", "cut", "timeout", "dns", "undecodable", "error")
    }
    assert counted == {
        "connection": 1, "cut": 1, "timeout": 0, "dns": 1, "undecodable": 1, "error": 0,
    }  # fmt: skip
    assert {type(error) for error in crawler.spider.failures.values()} == {RobotsUnreachable}


@pytest_twisted.ensureDeferred
async def test_five_redirects_are_followed_and_the_rules_apply_to_the_first(sites: Sites) -> None:
    last = sites.host(RULES)
    url = last.url("/robots.txt")
    for _ in range(4):
        url = sites.host(redirect(url)).url("/robots.txt")
    first = sites.host(redirect(url))
    too_far = sites.host(redirect(first.url("/robots.txt")))
    await crawl(*(host.url(path) for host in (first, too_far) for path in ("/open", "/closed")))
    assert first.fetched == ["/open"]
    assert sorted(too_far.fetched) == ["/closed", "/open"]
    assert last.robots_hits == 1  # the sixth redirect is not followed


def gate(*then: Reply) -> Reply:
    """Sends clients without its cookie to the same URL again, with one; *then* come the others."""
    closed = answer("", 302, location="/robots.txt", set_cookie="seen=1; Path=/")
    opened = in_turn(*then)

    async def reply(hit: Hit, writer: StreamWriter) -> None:
        await (opened if hit.headers.get("cookie") == "seen=1" else closed)(hit, writer)

    return reply


def cookies_sent(host: Host) -> list[tuple[str, str]]:
    return [(hit.path, hit.headers.get("cookie", "")) for hit in host.hits]


@pytest_twisted.ensureDeferred
async def test_a_cookie_that_comes_with_a_redirect_is_sent_for_the_rest_of_the_fetch(
    sites: Sites,
) -> None:
    host = sites.host(gate(answer("", 503), answer(RULES)))
    pages = [scrapy.Request(host.url(path), cookies={"mine": "1"}) for path in ("/open", "/closed")]
    await crawl(*pages)
    fetch = [("/robots.txt", ""), ("/robots.txt", "seen=1")]
    assert cookies_sent(host) == [*fetch, *fetch, ("/open", "mine=1")]  # a retry begins anew


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"COOKIES_ENABLED": False}, ""),
        ({"ROBOTS_FETCH_META": {"headers": {"Cookie": "mine=1"}}}, "mine=1"),
    ],
    ids=["no cookies", "one of the project"],
)
@pytest_twisted.ensureDeferred
async def test_the_project_says_which_cookies_are_sent(
    sites: Sites, settings: dict[str, Any], sent: str
) -> None:
    host = sites.host(gate(answer(RULES)))
    await crawl(host.url("/open"), **settings)
    assert cookies_sent(host) == [("/robots.txt", sent)] * 6 + [("/open", "")]


@pytest.mark.parametrize(
    "location",
    ["http://", "https://", "HTTP://", "//", "http:///r.txt", "//?x", "http://#x", "http://:80/",
     "", " ", "ftp://x.example/r.txt", "mailto:a@x.example", "http://[/", "http://x.example:0x/",
     "http://a..example/r.txt", "http://user@127.0.0.1/r.txt", "//user:secret@127.0.0.1/r.txt",
     "/" + "a" * 8_000],
)  # fmt: skip
@pytest_twisted.ensureDeferred
async def test_a_redirect_to_nowhere_is_not_followed_and_closes_the_site(
    sites: Sites, location: str
) -> None:
    host = sites.host(redirect(location))
    crawler = await crawl(host.url("/open"))
    assert host.fetched == []
    assert host.robots_hits == 1
    assert stat(crawler, "robotstxt/failure_count/bad_redirect") == 1


@pytest_twisted.ensureDeferred
async def test_little_is_remembered_of_a_long_header_that_is_told(sites: Sites) -> None:
    host = sites.host(answer(UNSAID_GZIP, content_encoding="x" * 5_000))
    crawler = await crawl(host.url("/open"))
    origin = Origin.of(host.url("/"))
    assert origin is not None
    policy = Crawl.of(crawler).get(Policies).usable(origin)
    assert policy is not None
    assert policy.detail.startswith("Content-Encoding: xxx")
    assert len(policy.detail) < 600


def twice(name: str, first: str, second: str, status: int = 200, body: str | bytes = "") -> Reply:
    return answer(body, status, **{name: f"{first}\r\n{name.replace('_', '-')}: {second}"})


@pytest_twisted.ensureDeferred
async def test_of_two_locations_the_last_is_followed_as_for_pages(sites: Sites) -> None:
    for first, second in (("/other.txt", "/rules.txt"), ("/rules.txt", "/rules.txt")):
        host = sites.host(twice("location", first, second, 302))
        host.pages |= {"/rules.txt": answer(RULES), "/other.txt": answer("")}
        host.pages["/page"] = twice("location", "/other", "/open", 302)
        await crawl(host.url("/page"), host.url("/closed"))
        assert host.fetched == ["/rules.txt", "/page", "/open"]


@pytest_twisted.ensureDeferred
async def test_a_location_may_hold_a_comma(sites: Sites) -> None:
    host = sites.host(redirect("/a, b.txt"))
    host.pages["/a,%20b.txt"] = answer(RULES)
    await crawl(host.url("/closed"))
    assert host.fetched == ["/a,%20b.txt"]


@pytest_twisted.ensureDeferred
async def test_what_a_robots_txt_says_twice_in_its_headers(sites: Sites) -> None:
    """RFC 9110 5.3: lists are joined; of the others the last counts, or none where it is doubt."""
    caching = sites.host(twice("cache_control", "public", "max-age=7200", body=RULES))
    body = RULES.encode("utf-16")
    types = ("text/plain; charset=utf-8", "text/plain; charset=utf-16")
    charset = sites.host(twice("content_type", *types, body=body))
    length = sites.host(twice("content_length", str(len(RULES)), "500", body=RULES))
    later = sites.host(twice("retry_after", "700", "900", 503))
    crawler = await crawl(
        *(
            host.url(path)
            for host in (caching, charset, length, later)
            for path in ("/open", "/closed")
        ),
        ROBOTS_FETCH_RETRIES=0,
    )
    assert caching.fetched == charset.fetched == ["/open"]
    assert length.fetched == later.fetched == []
    policies = crawler.get_downloader_middleware(RobotsMiddleware).policies
    fresh_for = {str(policy.origin): policy.fresh_for for policy in policies}
    assert 7_000 < fresh_for[caching.origin] <= 7_200
    assert 700 < fresh_for[later.origin] <= 900


@pytest.mark.parametrize(
    ("location", "path"),
    [(b"/r\xc3\xb6bots.txt", "/r%C3%B6bots.txt"), (b"/r\xf6bots.txt", "/r%F6bots.txt")],
    ids=["UTF-8", "other octets"],
)
@pytest_twisted.ensureDeferred
async def test_a_redirect_may_name_a_path_that_is_not_ascii(
    sites: Sites, location: bytes, path: str
) -> None:
    async def leads_there(hit: Hit, writer: StreamWriter) -> None:
        head = b"HTTP/1.1 301 Moved\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n"
        writer.write(head % location)

    host = sites.host(leads_there)
    host.pages[path] = answer(RULES)
    await crawl(host.url("/open"), host.url("/closed"))
    assert host.fetched == [path, "/open"]


@pytest_twisted.ensureDeferred
async def test_the_settings_for_pages_neither_hinder_nor_learn_from_the_fetch(
    sites: Sites, tmp_path: object
) -> None:
    """1.10 and 1.11 of what is known of Scrapy's settings: each of these once opened a host."""
    target = sites.host(CLOSES_ALL)
    host = sites.host(redirect(target.url("/robots.txt")))
    flaky = sites.host(in_turn(answer("", 503, retry_after="1"), answer(CLOSES_ALL)))
    crawler = await crawl(
        host.url("/a"),
        flaky.url("/a"),
        spider_attributes={
            "allowed_domains": ["unrelated.example"],
            "handle_httpstatus_list": [301],
        },
        REDIRECT_ENABLED=False,
        HTTPCACHE_ENABLED=True,
        HTTPCACHE_DIR=str(tmp_path),
        DOWNLOAD_MAXSIZE=10,
        DOWNLOAD_TIMEOUT=1,
        DOWNLOAD_FAIL_ON_DATALOSS=False,
        COOKIES_ENABLED=True,
    )
    assert host.fetched == flaky.fetched == []
    assert stat(crawler, "httpcache/hit") == 0


@pytest_twisted.ensureDeferred
async def test_a_listener_that_fails_keeps_the_news_of_a_robots_txt_from_no_other(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(RULES)
    crawler = make_crawler(CLOSESPIDER_TIMEOUT=20)

    def fails(*_: object) -> None:
        raise ValueError("a fault of the project")

    def listen() -> None:
        Crawl.of(crawler).get(Policies).listeners.insert(0, fails)

    crawler.signals.connect(listen, scrapy.signals.spider_opened)
    await run(crawler, urls=[host.url("/page"), host.url("/closed")])
    assert host.fetched == ["/page"]
    assert stat(crawler, "finish_reason") == "finished"
    assert "a fault of the project" in caplog.text
