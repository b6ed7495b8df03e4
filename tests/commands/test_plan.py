"""``scrapy robots plan``: the counts, the delays, the time."""

from __future__ import annotations

import gzip
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ..crawl_process import MODES
from ..peak_memory import measured, peak
from ..sites import answer, hang, hang_up, redirect
from .running import Robots

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Host, Sites
    from .running import Done

RULES = "User-agent: *\nDisallow: /closed\n"
SLOW = "User-agent: *\nCrawl-delay: 3\n"


def pages(host: Host, number: int, path: str = "/page") -> list[str]:
    return [host.url(f"{path}/{each}") for each in range(number)]


def plan(robots: Robots, *arguments: object, urls: list[str] | None = None) -> Done:
    if urls is None:
        return robots("plan", *arguments)
    return robots("plan", "--input", "-", *arguments, stdin="\n".join(urls))


def in_json(robots: Robots, *arguments: object, urls: list[str]) -> dict[str, dict[str, Any]]:
    """The hosts by name, in their order, and ``total``."""
    done = plan(robots, "--json", *arguments, urls=urls)
    *hosts, total = done.json
    assert total.pop("type") == "total"
    assert {host.pop("type") for host in hosts} <= {"host"}
    return {**{host["host"]: host for host in hosts}, "total": total}


def test_a_line_for_each_host_longest_first(sites: Sites, robots: Robots) -> None:
    fast, slow = sites.host(RULES), sites.host(SLOW)
    urls = [*pages(fast, 5), *pages(fast, 2, "/closed"), *pages(slow, 21)]
    done = plan(robots, urls=urls)
    assert done.lines == [
        "         TAKES    ALLOWED     DENIED  UNDECIDED    DELAY  HOST",
        f"         1 min         21          0          0      3 s  {slow.address}",
        f"             -          5          2          0      0 s  {fast.address}",
        "",
        "2 hosts: 26 URLs allowed, 2 denied, 0 undecided",
        f"At least 1 min: 21 requests to {slow.address}, 3 s apart",
    ]
    assert (done.status, done.errors) == (0, "")
    assert fast.fetched == slow.fetched == []
    assert fast.robots_hits == slow.robots_hits == 1


def test_for_machines(sites: Sites, tmp_path: Path) -> None:
    slow = sites.host(f"{SLOW}Disallow: /closed\nVisit-time: 0600-0845\n")
    found = in_json(
        Robots(tmp_path), urls=[*pages(slow, 11), slow.url("/closed"), "mailto:x@y", "no url"]
    )
    counts = {"allowed_urls": 11, "denied_urls": 1, "undecided_urls": 0}
    assert found[slow.address] == {
        "v": 1,
        "host": slow.address,
        **counts,
        "origins": [slow.origin],
        "delay_asked": 3.0,
        "delay": 3.0,
        "hourly": [],
        "visit_time": "06:00-08:45 UTC",
        "visit_time_obeyed": False,
        "seconds": 30.0,
    }
    assert found["total"] == {
        "v": 1,
        "hosts": 1,
        **counts,
        "not_http": 1,
        "invalid": 1,
        "sitemaps_unread": 0,
        "seconds": 30.0,
        "because": slow.address,
    }


@pytest.mark.parametrize("mode", MODES)
def test_in_every_reactor_mode(sites: Sites, tmp_path: Path, mode: str) -> None:
    settings = [f"-s{name}={value}" for name, value in MODES[mode].items()]
    slow = sites.host(SLOW)
    slow.pages["/sitemap.xml"] = sitemap(*pages(slow, 3))
    done = plan(Robots(tmp_path), "--sitemap", slow.url("/sitemap.xml"), *settings)
    assert done.lines[-1] == f"At least 6 s: 3 requests to {slow.address}, 3 s apart"


@pytest.mark.parametrize(
    ("settings", "delay", "seconds"),
    [
        ({}, 3, 30),
        ({"DOWNLOAD_DELAY": 5}, 5, 50),
        ({"DOWNLOAD_DELAY": 1}, 3, 30),
        ({"ROBOTS_CRAWL_DELAY_MAX": 2}, 2, 20),
        ({"ROBOTS_CRAWL_DELAY_MAX": 0}, 3, 30),
        ({"ROBOTS_CRAWL_DELAY_OBEY": False}, 0, 0),
        ({"ROBOTS_CRAWL_DELAY_OBEY": False, "DOWNLOAD_DELAY": 0.25}, 0.25, 2.5),
        ({"DOWNLOAD_SLOTS": {"ADDRESS": {"delay": 4, "concurrency": 1}}}, 4, 40),
        ({"DOWNLOAD_SLOTS": {"elsewhere.example": {"delay": 4}}}, 3, 30),
        ({"AUTOTHROTTLE_ENABLED": True}, 3, 30),
    ],
)
def test_the_delay_is_the_one_that_a_crawl_keeps(
    sites: Sites, tmp_path: Path, settings: dict[str, Any], delay: float, seconds: float
) -> None:
    slow = sites.host(SLOW)
    slots = settings.get("DOWNLOAD_SLOTS", {})
    slots = {name.replace("ADDRESS", slow.address): slot for name, slot in slots.items()}
    robots = Robots.in_project(
        tmp_path, **{"DOWNLOAD_DELAY": 0, **settings, "DOWNLOAD_SLOTS": slots}
    )
    found = in_json(robots, urls=pages(slow, 11))
    assert found[slow.address]["delay"] == delay
    assert found["total"]["seconds"] == seconds


def test_a_delay_that_is_too_long_to_be_kept_denies_the_host(sites: Sites, tmp_path: Path) -> None:
    robots = Robots.in_project(
        tmp_path,
        DOWNLOAD_DELAY=0,
        ROBOTS_CRAWL_DELAY_MAX=2,
        ROBOTS_CRAWL_DELAY_TOO_LONG="skip",
    )
    slow = sites.host(SLOW)
    host = in_json(robots, urls=pages(slow, 4))[slow.address]
    assert (host["denied_urls"], host["delay_asked"], host["delay"]) == (4, 3, 0)


def test_what_a_host_asks_for_is_said(sites: Sites, tmp_path: Path) -> None:
    slow = sites.host(f"{SLOW}Visit-time: 0600-0845\nRequest-rate: 1/9s 0000-2359\n")
    robots = Robots.in_project(tmp_path, ROBOTS_CRAWL_DELAY_MAX=2)
    assert (
        plan(robots, urls=pages(slow, 2))
        .lines[1]
        .endswith(
            f"{slow.address}  (asks for 3 s; 2 s during 00:00-23:59 UTC; "
            "Visit-time 06:00-08:45 UTC, ignored (ROBOTS_VISIT_TIME))"
        )
    )


def test_visiting_hours_that_are_obeyed_take_their_time(sites: Sites, tmp_path: Path) -> None:
    robots = Robots.in_project(tmp_path, ROBOTS_VISIT_TIME="obey", ROBOTS_CRAWL_DELAY_MAX=3_600)
    slow = sites.host("User-agent: *\nCrawl-delay: 3600\nVisit-time: 0600-0659\n")
    host = in_json(robots, urls=pages(slow, 11))[slow.address]
    assert host["visit_time_obeyed"]
    # One or two a day: the first within a day, ten more in the days that follow.
    assert 4 * 86_400 < host["seconds"] <= 11 * 86_400


def test_both_schemes_and_all_ports_of_a_host_share_its_slot(tmp_path: Path) -> None:
    from ..sites import Sites

    with Sites() as one, Sites() as other:
        first, second = one.host(SLOW), other.host(RULES)
        assert first.address == second.address
        urls = [*pages(first, 2), *pages(second, 2), second.url("/closed")]
        found = in_json(Robots(tmp_path), urls=urls)
    assert found["total"]["hosts"] == 1
    assert found[first.address]["origins"] == [first.origin, second.origin]
    assert found[first.address]["denied_urls"] == 1
    assert found["total"]["seconds"] == 9


def test_hosts_go_side_by_side(sites: Sites, tmp_path: Path) -> None:
    hosts = [sites.host(SLOW) for _ in range(20)]
    urls = [url for host in hosts for url in pages(host, 4)]
    found = in_json(Robots(tmp_path), "-sCONCURRENT_REQUESTS=2", urls=urls)
    assert found["total"]["seconds"] == 9


def test_what_nobody_can_foresee_is_said(sites: Sites, tmp_path: Path) -> None:
    robots = Robots.in_project(
        tmp_path,
        AUTOTHROTTLE_ENABLED=True,
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.DownloaderAwarePriorityQueue",
    )
    hosts = [sites.host(SLOW) for _ in range(2)]
    done = plan(robots, urls=[url for host in hosts for url in pages(host, 4)])
    assert done.lines[-3].startswith("At least 9 s: ")
    assert done.lines[-2:] == [
        "More with this SCHEDULER_PRIORITY_QUEUE, in which hosts wait for each other.",
        "More with AUTOTHROTTLE_ENABLED, which adds to the delays.",
    ]


def test_the_time_of_responses_can_be_counted(sites: Sites, tmp_path: Path) -> None:
    robots = Robots.in_project(tmp_path, CONCURRENT_REQUESTS=4, CONCURRENT_REQUESTS_PER_DOMAIN=2)
    fast, slow = sites.host(RULES), sites.host(SLOW)
    found = in_json(robots, "--response-time", 2, urls=pages(fast, 10) + pages(slow, 3))
    assert found[fast.address]["seconds"] == 10
    assert found[slow.address]["seconds"] == 8
    assert found["total"]["because"] == fast.address
    urls = [url for _ in range(10) for url in pages(sites.host(RULES), 2)]
    done = plan(robots, "--response-time", 2, urls=urls)
    assert done.lines[-1] == "At least 10 s: responses of 2 s, 4 at a time (CONCURRENT_REQUESTS)"


def test_only_the_longest_hosts_are_shown(sites: Sites, tmp_path: Path) -> None:
    hosts = [sites.host(SLOW) for _ in range(25)]
    urls = [url for number, host in enumerate(hosts) for url in pages(host, 2 + number)]
    rows = plan(Robots(tmp_path), urls=urls).lines[1:-3]
    assert len(rows) == 21
    assert hosts[24].address in rows[0]
    assert rows[-1] == "          15 s         20          0          0           5 more"
    assert len(plan(Robots(tmp_path), "--top", 0, urls=urls).lines[1:-3]) == 25
    assert len(plan(Robots(tmp_path), "--top", 1, urls=urls).lines[1:-3]) == 2


def test_unreadable_hosts_are_undecided(sites: Sites, robots: Robots) -> None:
    host, broken, dead = sites.host(SLOW), sites.host(answer(status=503)), sites.host(hang_up)
    missing = sites.host(answer(status=404))
    urls = [host.url("/1"), host.url("/2"), broken.url(), dead.url(), dead.url("/x"), missing.url()]
    done = plan(robots, "-sROBOTS_FETCH_RETRIES=0", urls=urls)
    assert done.status == 1
    assert done.lines[-3:] == [
        "4 hosts: 3 URLs allowed, 0 denied, 3 undecided",
        "Undecided, because robots.txt cannot be read: 2 hosts",
        f"At least 3 s: 2 requests to {host.address}, 3 s apart",
    ]


def test_nothing_to_plan_with_is_status_2(sites: Sites, tmp_path: Path) -> None:
    dead = sites.host(hang_up)
    assert plan(Robots(tmp_path), dead.url(), "-sROBOTS_FETCH_RETRIES=0").status == 2
    for urls in ([], ["no url"], ["mailto:x@site.example"], ["# nothing"]):
        done = plan(Robots(tmp_path), urls=urls)
        assert done.status == 2
        assert done.lines[-1] == "Politeness takes no time."


def test_a_host_that_is_denied_as_a_whole_is_a_plan(sites: Sites, tmp_path: Path) -> None:
    done = plan(Robots(tmp_path), sites.host("User-agent: *\nDisallow: /\n").url())
    assert done.status == 0
    assert done.lines[-2:] == [
        "1 host: 0 URLs allowed, 1 denied, 0 undecided",
        "Politeness takes no time.",
    ]


# Sitemaps


def sitemap(*urls: str, compressed: bool = False, index: bool = False) -> Any:
    one, all_ = ("sitemap", "sitemapindex") if index else ("url", "urlset")
    entries = "".join(f"<{one}><loc>{url}</loc></{one}>" for url in urls)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    text = f'<?xml version="1.0"?><{all_} xmlns="{space}">{entries}</{all_}>'.encode()
    if compressed:
        return answer(gzip.compress(text), content_type="application/gzip")
    return answer(text, content_type="application/xml")


@pytest.fixture
def mapped(sites: Sites) -> Host:
    host = sites.host()
    host.robots(f"{RULES}Sitemap: /index.xml\n")
    index = sitemap(host.url("/1.xml"), host.url("/2.xml.gz"), host.url("/1.xml"), index=True)
    host.pages["/index.xml"] = index
    host.pages["/1.xml"] = sitemap(*pages(host, 5))
    host.pages["/2.xml.gz"] = sitemap(*pages(host, 6, "/other"), compressed=True)
    return host


@pytest.mark.parametrize(
    ("path", "requests"),
    [("/robots.txt", 11), ("/index.xml", 11), ("/1.xml", 5), ("/2.xml.gz", 6)],
)
def test_the_urls_of_a_sitemap(mapped: Host, tmp_path: Path, path: str, requests: int) -> None:
    done = plan(Robots(tmp_path), "--sitemap", mapped.url(path))
    assert (done.status, done.errors) == (0, "")
    assert f"1 host: {requests} URLs allowed" in done.output
    assert len(mapped.fetched) == len(set(mapped.fetched))


def test_a_sitemap_of_a_file(mapped: Host, tmp_path: Path) -> None:
    text = f"<urlset><url><loc> {mapped.url('/a')} </loc></url><url/></urlset>"
    (tmp_path / "map.xml").write_text(text)
    (tmp_path / "map.gz").write_bytes(gzip.compress(text.encode()))
    index = f"<sitemapindex><sitemap><loc>{mapped.url('/index.xml')}</loc></sitemap></sitemapindex>"
    (tmp_path / "index.xml").write_text(index)
    for name, requests in (("map.xml", 1), ("map.gz", 1), ("index.xml", 11)):
        assert f"{requests} URL" in plan(Robots(tmp_path), "--sitemap", name).lines[-2]


@pytest.mark.parametrize("path", ["/robots.txt", "/map.xml", "/index.xml"])
def test_a_sitemap_that_leads_nowhere_is_told(sites: Sites, tmp_path: Path, path: str) -> None:
    host = sites.host("User-agent: *\nDisallow:\n")
    host.pages["/map.xml"] = sitemap()
    host.pages["/index.xml"] = sitemap(host.url("/map.xml"), index=True)
    done = plan(Robots(tmp_path), "--sitemap", host.url(path))
    assert (done.status, done.errors) == (2, f"{host.url(path)} leads to no URL\n")


@pytest.mark.parametrize(("name", "told"), [("-", "standard input"), ("urls.txt", "urls.txt")])
def test_an_input_without_urls_is_told(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "urls.txt").write_text("# none\n")
    done = plan(Robots(tmp_path), "--input", name)
    assert (done.status, done.errors) == (2, f"{told} leads to no URL\n")


def test_a_sitemap_that_cannot_be_read_is_named(mapped: Host, tmp_path: Path) -> None:
    mapped.pages["/1.xml"] = answer("<html>Not found</html>", 404)
    done = plan(Robots(tmp_path), "--sitemap", mapped.url("/index.xml"))
    assert done.status == 1
    assert "Left out: 1 sitemap" in done.lines
    assert f"left out: {mapped.url('/1.xml')} cannot be read: status 404" in done.errors


@pytest.mark.parametrize(
    "body",
    [
        "",
        "nothing",
        "<html><body>",
        "\x00",
        "<a/>",
        b"\x1f\x8b\x08broken",
        gzip.compress(b" " * 2_000_000) * 100,
    ],
    ids=["empty", "text", "html", "nul", "xml", "gzip", "bomb"],
)
def test_what_is_not_a_sitemap_is_refused(sites: Sites, tmp_path: Path, body: str | bytes) -> None:
    host = sites.host(RULES)
    host.pages["/map.xml"] = answer(body)
    done = plan(Robots(tmp_path), "--sitemap", host.url("/map.xml"))
    assert (done.status, done.output) == (2, "")
    assert done.errors.startswith(f"scrapy robots plan: {host.url('/map.xml')} ")
    assert "raised" not in done.errors  # that is about our code


@pytest.mark.parametrize(
    "end", ["", "<url><loc>http://x", "<url></b>", "\x00", "\xff\xfe", "&nothing;</urlset>"]
)
def test_what_a_broken_sitemap_has_is_used_or_it_is_named(
    sites: Sites, tmp_path: Path, end: str
) -> None:
    host = sites.host(RULES)
    body = f"<urlset><url><loc>{host.url('/a')}</loc></url>{end}"
    host.pages["/map.xml"] = answer(body.encode("latin-1"))
    done = plan(Robots(tmp_path), "--sitemap", host.url("/map.xml"))
    assert "1 URL allowed" in done.output or "is not a sitemap" in done.errors


def test_the_sitemaps_of_an_unreadable_robots_txt_are_unknown(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(answer(status=503))
    done = plan(Robots(tmp_path), "--sitemap", host.url("/robots.txt"), "-sROBOTS_FETCH_RETRIES=0")
    assert (done.status, done.output) == (2, "")
    assert f"{host.url('/robots.txt')} cannot be read" in done.errors


def test_sitemaps_that_name_each_other_come_to_an_end(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(RULES)
    for number in range(20):
        named = [host.url(f"/{number + 1}.xml"), host.url("/0.xml")]
        host.pages[f"/{number}.xml"] = sitemap(*named, index=True)
    host.pages["/2.xml"] = sitemap(host.url("/3.xml"), index=True)
    done = plan(Robots(tmp_path), "--sitemap", host.url("/0.xml"))
    assert host.fetched == [f"/{number}.xml" for number in range(5)]
    assert done.errors == f"left out: {host.url('/5.xml')}: too many sitemaps\n"
    assert done.status == 2


def test_a_sitemap_that_robots_txt_denies_is_not_fetched(sites: Sites, tmp_path: Path) -> None:
    host = sites.host("User-agent: *\nDisallow: /map\n")
    done = plan(Robots(tmp_path), "--sitemap", host.url("/map.xml"))
    assert done.status == 2
    assert "Disallow: /map" in done.errors
    assert host.fetched == []


def test_a_sitemap_may_move(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(RULES)
    host.pages["/map.xml"] = redirect(host.url("/new.xml"))
    host.pages["/new.xml"] = sitemap(host.url("/a"))
    assert plan(Robots(tmp_path), "--sitemap", host.url("/map.xml")).status == 0


# As a user runs it


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "expected either URLs or --input FILE or --sitemap URL|FILE"),
        (("http://site.example/", "--input", "-"), "expected either URLs or"),
        (("http://site.example/", "--sitemap", "x"), "expected either URLs or"),
        (("--input", "missing.txt"), "missing.txt cannot be read"),
        (("--sitemap", "missing.xml"), "missing.xml cannot be read"),
        (("--sitemap", "."), ". cannot be read"),
        (("--input", "-", "--response-time", "-1"), "between 0 and 86,400"),
        (("--input", "-", "--response-time", "nan"), "between 0 and 86,400"),
        (("--input", "-", "--response-time", "soon"), "expected a number of seconds"),
        (("--input", "-", "--top", "-1"), "argument --top: expected a whole number of hosts"),
        (("--input", "-", "--dialect", "KLINGON"), "KLINGON"),
        (("--input", "-", "--unknown"), "unrecognized arguments"),
    ],
)
def test_wrong_usage_says_what_is_expected(
    tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    done = Robots(tmp_path)("plan", *arguments)
    assert (done.status, done.output) == (2, "")
    assert why in " ".join(done.errors.split())


def test_ctrl_c_ends_it(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(hang)
    done = Robots(tmp_path).interrupted(
        "plan", host.url(), "-sROBOTS_FETCH_TIMEOUT=60", when=lambda: host.robots_hits > 0
    )
    assert (done.status, done.output) == (130, "")


def test_a_closed_pipe_ends_it_silently(sites: Sites, tmp_path: Path) -> None:
    done = Robots(tmp_path).into_closed_pipe("plan", sites.host(RULES).url())
    assert (done.status, done.errors) == (141, "")


@pytest.mark.parametrize(
    "numbers", [(4_000, 12_000), pytest.param((30_000, 90_000), marks=pytest.mark.stress)]
)
def test_memory_is_bounded_by_hosts(sites: Sites, tmp_path: Path, numbers: tuple[int, int]) -> None:
    """Three times as many URLs of the same hosts take hardly more of it, once caches are full."""
    hosts = [sites.host(RULES) for _ in range(3)]
    plan = [sys.executable, "-m", "scrapy", "robots", "plan", "--input", "-"]
    peaks = []
    for number in numbers:
        urls = "\n".join(f"{hosts[each % 3].url('/page')}/{each}" for each in range(number))
        used = tmp_path / f"{number}.octets"
        subprocess.run(
            measured(plan, used),
            input=urls.encode(),
            stdout=subprocess.DEVNULL,
            cwd=tmp_path,
            timeout=120,
            check=True,
        )
        peaks.append(peak(used))
    assert peaks[1] < 1.15 * peaks[0]
