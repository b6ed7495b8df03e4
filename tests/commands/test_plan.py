"""``scrapy robots plan``: the counts, the delays, the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ..crawl_process import MODES
from ..sites import answer, hang, hang_up
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
        "seconds": 30.0,
    }
    assert found["total"] == {
        "v": 1,
        "hosts": 1,
        **counts,
        "not_http": 1,
        "invalid": 1,
        "seconds": 30.0,
        "because": slow.address,
    }


@pytest.mark.parametrize("mode", MODES)
def test_in_every_reactor_mode(sites: Sites, tmp_path: Path, mode: str) -> None:
    settings = [f"-s{name}={value}" for name, value in MODES[mode].items()]
    slow = sites.host(SLOW)
    done = plan(Robots(tmp_path), *settings, urls=pages(slow, 3))
    assert done.lines[-1] == f"At least 6 s: 3 requests to {slow.address}, 3 s apart"


@pytest.mark.parametrize(
    ("settings", "delay", "seconds"),
    [
        ({}, 3, 30),
        ({"DOWNLOAD_DELAY": 5}, 5, 50),
        pytest.param({"DOWNLOAD_DELAY": 1}, 3, 30, marks=pytest.mark.stress),
        ({"ROBOTS_CRAWL_DELAY_MAX": 2}, 2, 20),
        pytest.param({"ROBOTS_CRAWL_DELAY_MAX": 0}, 3, 30, marks=pytest.mark.stress),
        pytest.param({"ROBOTS_CRAWL_DELAY_OBEY": False}, 0, 0, marks=pytest.mark.stress),
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
    slow = sites.host(SLOW)
    robots = Robots.in_project(tmp_path, ROBOTS_CRAWL_DELAY_MAX=2)
    done = plan(robots, urls=pages(slow, 2))
    assert done.lines[1].endswith(f"{slow.address}  (asks for 3 s)")


def test_visiting_hours_that_are_obeyed_take_their_time(sites: Sites, tmp_path: Path) -> None:
    robots = Robots.in_project(tmp_path, ROBOTS_VISIT_TIME="obey", ROBOTS_CRAWL_DELAY_MAX=3_600)
    slow = sites.host("User-agent: *\nCrawl-delay: 3600\nVisit-time: 0600-0659\n")
    host = in_json(robots, urls=pages(slow, 11))[slow.address]
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


def test_only_the_longest_hosts_are_shown(sites: Sites, tmp_path: Path) -> None:
    hosts = [sites.host(SLOW) for _ in range(25)]
    urls = [url for number, host in enumerate(hosts) for url in pages(host, 2 + number)]
    rows = plan(Robots(tmp_path), urls=urls).lines[1:-3]
    assert len(rows) == 21
    assert hosts[24].address in rows[0]
    assert rows[-1] == "          15 s         20          0          0           5 more"
    assert len(in_json(Robots(tmp_path), urls=urls)) == 26


def test_unreadable_hosts_are_undecided(sites: Sites, robots: Robots) -> None:
    host, broken, dead = sites.host(SLOW), sites.host(answer(status=503)), sites.host(hang_up)
    missing = sites.host(answer(status=404))
    urls = [host.url("/1"), host.url("/2"), broken.url(), dead.url(), dead.url("/x"), missing.url()]
    done = plan(robots, "-sROBOTS_FETCH_RETRIES=0", urls=urls)
    assert done.status == 1
    assert done.lines[-2:] == [
        "4 hosts: 3 URLs allowed, 0 denied, 3 undecided",
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


# As a user runs it


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "expected either URLs or --input FILE"),
        (("http://site.example/", "--input", "-"), "expected either URLs or"),
        (("--input", "missing.txt"), "missing.txt: No such file"),
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
    ("number", "most"),
    [(1_000, 3_600_000), pytest.param(30_000, 7_200_000, marks=pytest.mark.stress)],
)
def test_memory_is_bounded_by_hosts(sites: Sites, tmp_path: Path, number: int, most: int) -> None:
    """Three times as many URLs of the same hosts take hardly more of it, once caches are full."""
    hosts = [sites.host(RULES) for _ in range(3)]
    urls = [f"{hosts[each % 3].url('/page')}/{each}" for each in range(3 * number)]
    (_, few), (_, many) = (
        Robots(tmp_path).growing("plan", "--input", "-", stdin="\n".join(each))
        for each in (urls[:number], urls)
    )
    assert many < few + most
