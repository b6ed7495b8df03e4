"""ROBOTS_SUMMARY_FILE: what the table says, as JSON, however the crawl ends."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.exceptions import CloseSpider

from scrapy_robots_plus import RobotsMiddleware, __version__
from scrapy_robots_plus.crawl.clock import timestamp
from scrapy_robots_plus.whole_file import whole_file
from tests.crawling import ProbeSpider, crawl, make_crawler, parts_of_seconds, run
from tests.programs import run_text, scrapy_in
from tests.samples import blocks
from tests.sites import Sites, answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

CLOSED = "User-agent: *\nDisallow: /private/\n"
SLOW = CLOSED + "Crawl-delay: 0.5\n"
LOGGER = "scrapy_robots_plus.report.summary"
ROOT = Path(__file__).parent.parent.parent


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record for record in caplog.records if record.name == LOGGER]
    assert {record.levelname for record in found} <= {"ERROR"}
    return [record.getMessage() for record in found]


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_it_says_what_became_of_each_origin(sites: Sites, tmp_path: Path) -> None:
    slow, dead, unasked = sites.host(SLOW), sites.host(answer("", 503)), sites.host(answer("", 404))
    path = tmp_path / "robots.json"
    before = datetime.now(timezone.utc)
    await crawl(
        slow.url("/private/"),
        slow.url("/"),
        slow.url("/more"),
        dead.url(),
        unasked.url(),
        ROBOTS_SUMMARY_FILE=path,
        ROBOTS_FETCH_RETRIES=0,
    )
    found = read(path)
    sites_found = {site["origin"]: site for site in found.pop("sites")}
    gaps = [site.pop("shortest_gap") for site in sites_found.values()]
    assert gaps[0] >= 0.499
    assert gaps[1:] == [None, None]
    times = [datetime.fromisoformat(found.pop(key)[:-1]) for key in ("started", "finished")]
    margin = timedelta(seconds=1)
    assert before - margin < times[0].replace(tzinfo=timezone.utc) < before + timedelta(minutes=2)
    assert times[0] <= times[1]
    assert found == {
        "schema": 1,
        "version": __version__,
        "spider": "probe",
        "finish_reason": "finished",
        "mode": "obey",
        "obey": True,
        "delays": True,
        "origins": 3,
        "allowed": 3,
        "denied": 2,
        "dont_obey": 0,
        "not_followed": 0,
        "not_indexed": 0,
        "denied_by_reason": {"rule": 1, "unreachable": 1},
        "uses": {
            "ai_uses": [],
            "content_use": None,
            "ai_policy": "observe",
            "preferences": {},
            "contradictions": 0,
            "objections": 0,
            "skipped_requests": 0,
            "skipped_pages": 0,
        },
        "forgotten": {"origins": 0, "allowed": 0, "denied": 0},
    }
    assert list(sites_found) == [slow.origin, dead.origin, unasked.origin]  # as in the table
    hashes = [site.pop("sha256") for site in sites_found.values()]
    assert [hash_ is not None and len(hash_) == 64 for hash_ in hashes] == [True, False, False]
    assert all(site.pop("fetched_at").endswith("Z") for site in sites_found.values())
    nothing = {
        "delay_asked": None,
        "delay": None,
        "skipped": False,
        "given_up": False,
        "override": None,
    }
    assert list(sites_found.values()) == [
        {
            "origin": slow.origin,
            "robots_url": slow.url("/robots.txt"),
            "status": "200",
            "failure": None,
            "access": "rules",
            "delay_asked": 0.5,
            "delay": 0.5,
            "skipped": False,
            "given_up": False,
            "standing": "open",
            "allowed": 2,
            "denied": 1,
            "override": None,
        },
        {
            "origin": dead.origin,
            "robots_url": dead.url("/robots.txt"),
            "status": "503",
            "failure": "503",
            "access": "unreachable",
            **nothing,
            "standing": "broken",
            "allowed": 0,
            "denied": 1,
        },
        {
            "origin": unasked.origin,
            "robots_url": unasked.url("/robots.txt"),
            "status": "404",
            "failure": None,
            "access": "unavailable",
            **nothing,
            "standing": "open",
            "allowed": 1,
            "denied": 0,
        },
    ]


@pytest_twisted.ensureDeferred
async def test_the_docs_have_every_key(sites: Sites, tmp_path: Path) -> None:
    path = tmp_path / "robots.json"
    hosts = sites.host(CLOSED), sites.host(CLOSED)
    await crawl(hosts[0].url(), hosts[1].url("/private/"), ROBOTS_SUMMARY_FILE=path)
    page = (ROOT / "docs" / "end-of-crawl.md").read_text()
    (sample,) = (block for block in blocks("text", "docs/end-of-crawl.md") if "schema" in block)
    found, shown = read(path), json.loads(sample)
    assert list(found) == list(shown)
    assert [list(site) for site in found["sites"]] == [list(site) for site in shown["sites"]]
    in_tables = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    documented = [key for cell in in_tables for key in re.findall(r"`(\w+)`", cell)]
    assert documented == [*found, *found["sites"][0]]
    assert len(path.read_text().splitlines()) == len(sample.splitlines())


@pytest_twisted.ensureDeferred
async def test_a_delay_that_is_too_long_is_told(sites: Sites, tmp_path: Path) -> None:
    clamped, skipped = (sites.host(CLOSED + f"Crawl-delay: {seconds}\n") for seconds in (100, 200))
    path = tmp_path / "robots.json"
    await crawl(clamped.url(), ROBOTS_SUMMARY_FILE=path)
    (site,) = read(path)["sites"]
    assert (site["delay_asked"], site["delay"], site["skipped"]) == (100, 60, False)
    await crawl(skipped.url(), ROBOTS_SUMMARY_FILE=path, ROBOTS_CRAWL_DELAY_TOO_LONG="skip")
    (site,) = read(path)["sites"]
    assert (site["delay_asked"], site["delay"], site["skipped"]) == (200, None, True)
    assert read(path)["denied_by_reason"] == {"crawl_delay": 1}


@pytest_twisted.ensureDeferred
async def test_all_requests_are_in_it_even_those_of_forgotten_origins(
    sites: Sites, tmp_path: Path
) -> None:
    hosts = [sites.host(CLOSED) for _ in range(6)]
    urls = [host.url(path) for host in hosts for path in ("/", "/private/")]
    path = tmp_path / "robots.json"
    await crawl(*urls, ROBOTS_SUMMARY_FILE=path, ROBOTS_CACHE_SIZE=2)
    found = read(path)
    assert len(found["sites"]) == 2
    assert found["forgotten"]["origins"] == found["origins"] - 2
    for key in ("allowed", "denied"):
        assert found[key] == 6
        assert found["forgotten"][key] + sum(site[key] for site in found["sites"]) == 6


@pytest_twisted.ensureDeferred
async def test_a_crawl_of_nothing_has_a_summary_too(tmp_path: Path) -> None:
    path = tmp_path / "robots.json"
    await crawl(ROBOTS_SUMMARY_FILE=path)
    found = read(path)
    assert (found["origins"], found["sites"], found["finish_reason"]) == (0, [], "finished")


@pytest_twisted.ensureDeferred
async def test_without_the_setting_there_is_no_file(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await crawl(sites.host(CLOSED).url(), ROBOTS_SUMMARY_FILE="")
    assert list(tmp_path.iterdir()) == []


# Where it is


@pytest_twisted.ensureDeferred
async def test_name_and_time_stand_for_what_they_do_in_feeds(tmp_path: Path) -> None:
    feed = f"{tmp_path}/feeds/%(name)s-%(time)s.json"
    await crawl(
        ROBOTS_SUMMARY_FILE=f"{tmp_path}/new/folder/%(name)s 100%% %(time)s.json",
        FEEDS={feed: {"format": "json", "store_empty": True}},
    )
    (path,) = (tmp_path / "new" / "folder").iterdir()
    name, percent, time = path.stem.split(" ")
    assert (name, percent) == ("probe", "100%")
    (exported,) = (tmp_path / "feeds").iterdir()
    times = (each.replace("+00-00", "Z") for each in (exported.stem.removeprefix("probe-"), time))
    ours, theirs = (datetime.strptime(each, "%Y-%m-%dT%H-%M-%S%z") for each in times)
    assert abs(ours - theirs) < timedelta(minutes=1)


@pytest_twisted.ensureDeferred
async def test_crawls_with_other_names_have_other_files(sites: Sites, tmp_path: Path) -> None:
    class Other(ProbeSpider):
        name = "other"

    host = sites.host(CLOSED)
    settings: dict[str, Any] = {"ROBOTS_SUMMARY_FILE": f"{tmp_path}/%(name)s.json"}
    one, two = make_crawler(**settings), make_crawler(Other, **settings)
    first, second = one.crawl(urls=[host.url()]), two.crawl(urls=[host.url("/private/")])
    await first
    await second
    assert {path.name for path in tmp_path.iterdir()} == {"probe.json", "other.json"}
    for name, allowed, denied in (("probe", 1, 0), ("other", 0, 1)):
        found = read(tmp_path / f"{name}.json")
        assert (found["spider"], found["allowed"], found["denied"]) == (name, allowed, denied)


@pytest_twisted.ensureDeferred
async def test_a_relative_path_is_that_of_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)

    class Spider(ProbeSpider):
        async def start(self) -> AsyncIterator[Any]:
            os.chdir("elsewhere")
            async for request in super().start():
                yield request

    await crawl(spider=Spider, ROBOTS_SUMMARY_FILE="robots.json")
    assert {path.name for path in tmp_path.iterdir()} == {"elsewhere", "robots.json"}


@pytest_twisted.ensureDeferred
async def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "target.json")
    await crawl(ROBOTS_SUMMARY_FILE=tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert read(tmp_path / "target.json")["origins"] == 0


@pytest_twisted.ensureDeferred
async def test_the_old_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "robots.json"
    path.write_text("of the crawl before, and much longer than a new one is" * 1_000)
    await crawl(ROBOTS_SUMMARY_FILE=path)
    assert read(path)["origins"] == 0
    assert list(tmp_path.iterdir()) == [path]


# How the crawl ends


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_fails_has_a_summary(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(CLOSED)

    class Failing(ProbeSpider):
        async def start(self) -> AsyncIterator[Any]:
            yield self.request(host.url("/private/"))
            raise RuntimeError("of the project")

    path = tmp_path / "robots.json"
    await crawl(spider=Failing, ROBOTS_SUMMARY_FILE=path)
    assert read(path)["denied"] == 1


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_is_closed_early_says_why(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(CLOSED)

    class Closing(ProbeSpider):
        def parse(self, response: Any) -> None:
            raise CloseSpider("enough of it")

    path = tmp_path / "robots.json"
    await crawl(host.url(), spider=Closing, ROBOTS_SUMMARY_FILE=path)
    found = read(path)
    assert (found["finish_reason"], found["allowed"]) == ("enough of it", 1)
    await crawl(host.url("/private/"), ROBOTS_SUMMARY_FILE=path)
    assert read(path)["finish_reason"] == "robotstxt_denied"


SPIDER = """
import os
import re
import signal
import scrapy


class Spider(scrapy.Spider):
    name = "probe"
    custom_settings = {settings!r}
    start_urls = [{url!r}]

    def parse(self, response):
        os.kill(os.getpid(), {signal!r})
        yield response.follow("/{{}}".format(len(response.url)))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_crawl_that_is_stopped_by_a_signal_has_a_summary(
    sites: Sites, tmp_path: Path, how: signal.Signals
) -> None:
    path = tmp_path / "robots.json"
    settings = {
        "ADDONS": {"scrapy_robots_plus.Addon": 300},
        "ROBOTS_SUMMARY_FILE": str(path),
        "TELNETCONSOLE_ENABLED": False,
    }
    url = sites.host(CLOSED).url()
    file = tmp_path / "spider.py"
    file.write_text(SPIDER.format(settings=settings, url=url, signal=int(how)))
    scrapy_in(tmp_path, "runspider", file.name)
    assert read(path)["finish_reason"] == "shutdown"
    assert read(path)["allowed"] >= 1  # the page may link on before the signal is seen


# When it cannot be written


@pytest.mark.parametrize("kind", ["folder", "pipe", "below a file", "too long"])
@pytest_twisted.ensureDeferred
async def test_where_no_file_can_be_the_log_says_so_and_the_crawl_goes_on(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    path, why = tmp_path / "x", "it is not a regular file"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "below a file":
            path.write_text("")
            path, why = path / "robots.json", f"File exists: '{path}'"
        case "too long":
            path, why = path / ("x" * 300) / "x", "File name too long"
    host = sites.host(CLOSED)
    await crawl(host.url(), ROBOTS_SUMMARY_FILE=path)
    assert host.fetched == ["/"]
    found = errors(caplog)
    assert len(found) == 2  # at the start and at the end
    for told in found:
        assert told.startswith(f"ROBOTS_SUMMARY_FILE: {path} cannot be written (")
    assert why in found[0]
    assert [each for each in caplog.records if each.name == "scrapy.utils.signal"] == []
    assert [each for each in tmp_path.iterdir() if each.name != "x"] == []


@pytest_twisted.ensureDeferred
async def test_a_folder_that_somebody_took_away_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "folder" / "robots.json"

    class Removing(ProbeSpider):
        async def start(self) -> AsyncIterator[Any]:
            path.parent.rmdir()
            async for request in super().start():
                yield request

    await crawl(spider=Removing, ROBOTS_SUMMARY_FILE=path)
    assert errors(caplog) == []
    assert read(path)["origins"] == 0


@pytest.mark.parametrize("name", ["a\0b", "\udcff\ud800", "\x1b[31m\n"])
@pytest_twisted.ensureDeferred
async def test_no_name_of_a_spider_ends_the_crawl_or_reaches_the_terminal(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    host = sites.host(CLOSED)
    crawler = make_crawler(type("Spider", (ProbeSpider,), {"name": name}))
    crawler.settings.set("ROBOTS_SUMMARY_FILE", f"{tmp_path}/%(name)s.json", "cmdline")
    await run(crawler, urls=[host.url()])
    assert host.fetched == ["/"]
    assert all(message.isprintable() for message in errors(caplog))
    found = [read(path)["spider"] for path in tmp_path.iterdir()]
    assert found == ([] if errors(caplog) else [name])


FULL = """
import resource, sys
from pathlib import Path
from scrapy_robots_plus.whole_file import whole_file
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    with whole_file(Path(sys.argv[1])) as file:
        file.writelines("x" * 999 for _ in range(1_000))
except OSError as error:
    print(error.strerror)
"""


def test_on_a_full_disk_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "robots.json"
    path.write_text("old")
    assert run_text(FULL, path) == (0, "File too large\n")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


KILLED = """
import os, signal, sys
from pathlib import Path
from scrapy_robots_plus.whole_file import whole_file

def text():
    yield "x" * 100_000
    os.kill(os.getpid(), signal.SIGKILL)

with whole_file(Path(sys.argv[1])) as file:
    file.writelines(text())
"""


def test_a_kill_in_the_middle_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "robots.json"
    path.write_text("old")
    assert run_text(KILLED, path) == (-signal.SIGKILL, "")
    assert path.read_text() == "old"


def test_an_error_of_our_own_leaves_the_old_file(tmp_path: Path) -> None:
    def text() -> Iterator[str]:
        yield "x"
        raise RuntimeError("of our own")

    path = tmp_path / "robots.json"
    path.write_text("old")
    with pytest.raises(RuntimeError), whole_file(path) as file:
        file.writelines(text())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), 1e300, -1e300])
def test_what_is_no_date_is_not_shown_as_one(moment: float) -> None:
    assert timestamp(moment) is None


@pytest_twisted.ensureDeferred
async def test_without_the_middleware_there_is_nothing_to_sum_up(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        crawler = await crawl(
            sites.host(CLOSED).url(),
            ROBOTS_SUMMARY_FILE=tmp_path / "robots.json",
            DOWNLOADER_MIDDLEWARES={"scrapy_robots_plus.RobotsMiddleware": None},
        )
    assert crawler.get_downloader_middleware(RobotsMiddleware) is None
    assert "so this package checks no request" in caplog.text
    assert list(tmp_path.iterdir()) == []
