"""A job in files that are damaged or too many: what is lost is said.

And a job in one file that was killed.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.squeues import PickleFifoDiskQueue, PickleLifoDiskQueue

from scrapy_robots_plus.hosts.queue import RobotsPriorityQueue
from tests.crawl.jobs import JobSpider, all_pages, fetched
from tests.crawl.world import Host as WorldHost
from tests.crawl.world import Stats, World
from tests.crawling import BASE_SETTINGS, IN_FILES
from tests.programs import Program
from tests.sites import Host, Sites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What queuelib opens and finds to be damaged it does not close.
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:Exception ignored.*:pytest.PytestUnraisableExceptionWarning",
        "ignore:unclosed file:ResourceWarning",
    ),
    pytest.mark.usefixtures("garbage_collected"),
]

MAIN = f"{__name__}:main"
HOSTS = 3
KEPT = pytest.mark.parametrize("kept", [{}, IN_FILES], ids=["one file", "files"])


# A queue on disk, without a crawl


class Signals:
    """Those of a crawl, of which the queue hears that it has ended."""

    def __init__(self) -> None:
        self._receivers: list[Any] = []

    def connect(self, receiver: object, signal: object) -> None:
        self._receivers.append(receiver)

    def spider_closed(self) -> None:
        for receiver in self._receivers:
            receiver()


def make_queue(
    folder: Path, state: Any = None, kind: Any = PickleLifoDiskQueue
) -> tuple[RobotsPriorityQueue, Stats]:
    """A queue on disk for hosts that are all known, without delays, and its stats."""
    world = World([WorldHost(capacity=1000, known_until=1e9) for _ in range(HOSTS)], total=1000)
    stats = Stats()
    spider = Spider("spider")
    crawler: Any = SimpleNamespace(spider=spider, signals=Signals(), stats=stats)
    queue = RobotsPriorityQueue(crawler, kind, str(folder), state, hosts=world.queue_hosts)
    return queue, stats


def page(host: int, number: int, priority: int = 0) -> Request:
    return Request(f"http://host{host}.example/{number}", priority=priority)


def fill(folder: Path, kind: Any = PickleLifoDiskQueue) -> dict[str, Any]:
    """Ten requests to each host, in two files each; the state."""
    queue, _ = make_queue(folder, kind=kind)
    for host in range(HOSTS):
        for number in range(10):
            queue.push(page(host, number, priority=number % 2))
    return close(queue)


def close(queue: RobotsPriorityQueue) -> dict[str, Any]:
    """As when a job is stopped; the state."""
    state: dict[str, Any] = json.loads(json.dumps(queue.close()))
    signals: Any = queue.crawler.signals
    signals.spider_closed()
    return state


def drain(queue: RobotsPriorityQueue) -> list[str]:
    urls = []
    while (request := queue.pop()) is not None:
        urls.append(request.url)
    assert len(queue) == 0
    return urls


def a_file(folder: Path) -> Path:
    """That of the first host's requests of priority 0: five of them."""
    return next(path for path in folder.glob("*host0*/0"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def short(path: Path) -> None:
    """All but the first records are gone, as after a kill."""
    path.write_bytes(path.read_bytes()[:400])


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 4)


def garbage_inside(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) - 8) + whole[-4:])


def removed(path: Path) -> None:
    path.unlink()


def folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link_to_itself(path: Path) -> None:
    """It cannot be opened, by whatever user."""
    path.unlink()
    path.symlink_to(path.name)


def file_in_place_of_the_folder(path: Path) -> None:
    for other in path.parent.iterdir():
        other.unlink()
    path.parent.rmdir()
    path.parent.write_text("")


DAMAGE = [
    cut,
    empty,
    short,
    garbage,
    garbage_inside,
    removed,
    folder_in_its_place,
    link_to_itself,
    file_in_place_of_the_folder,
]


@pytest.mark.parametrize("kind", [PickleLifoDiskQueue, PickleFifoDiskQueue])
@pytest.mark.parametrize("damage", DAMAGE)
def test_whatever_a_file_has_become_all_other_hosts_are_asked(
    tmp_path: Path, kind: Any, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    state = fill(tmp_path, kind)
    path = a_file(tmp_path)
    if path.is_dir():  # a queue of this kind is a folder with files
        path = path / "q00000"
    damage(path)
    queue, stats = make_queue(tmp_path, state, kind)
    urls = drain(queue)
    whole = {f"http://host{host}.example/{number}" for host in (1, 2) for number in range(10)}
    assert whole <= set(urls)
    assert len(set(urls)) == len(urls)
    if len(urls) < 30 and damage is not removed:
        assert "to http://host0.example cannot be read and are lost" in caplog.text
        assert caplog.text.count("ERROR") == 1
        assert damage is garbage or stats["robotstxt/queue/lost"] in (0, 30 - len(urls))
    assert "http://host0.example" not in close(queue)


@pytest.mark.parametrize(
    "name", [None, "host", [], 5, {"a": 1}, ["a"], [None], [1.5], [[]]], ids=repr
)
def test_a_state_that_was_damaged_costs_its_own_lane_only(tmp_path: Path, name: Any) -> None:
    state = fill(tmp_path)
    state["http://host0.example"] = name
    queue, _ = make_queue(tmp_path, {**state, "": [0], " ": [0], "::": [0]})
    assert len(drain(queue)) >= 20
    close(queue)


class FailingQueue(PickleLifoDiskQueue):  # type: ignore[misc, valid-type]
    """One that fails where a file is not what it was."""

    fails = False

    def pop(self) -> Any:
        if self.fails and "host0" in str(self.path):
            raise OSError("no pop")
        return super().pop()


def test_an_error_stays_with_its_lane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue, _ = make_queue(tmp_path, kind=FailingQueue)
    for host in range(HOSTS):
        for number in range(10):
            queue.push(page(host, number))
    monkeypatch.setattr(FailingQueue, "fails", True)
    handed_out = {queue.pop().url for _ in range(18)}
    assert sum("host0" not in url for url in handed_out) >= 12
    assert {"http://host1.example", "http://host2.example"} & set(close(queue))


# Too many open files, a full disk


class FullQueue(PickleLifoDiskQueue):  # type: ignore[misc, valid-type]
    full = False

    def push(self, request: Request) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        super().push(request)


def test_a_full_disk_is_what_scrapy_expects_it_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue, stats = make_queue(tmp_path, kind=FullQueue)
    queue.push(page(0, 0))
    monkeypatch.setattr(FullQueue, "full", True)
    for host in (0, 1):
        for number in range(3):
            with pytest.raises(ValueError, match="No space left"):
                queue.push(page(host, number, priority=number))
    assert len(queue) == 1
    assert stats["robotstxt/queue/kept_in_memory"] == 6
    assert caplog.text.count("cannot be written to disk") == 1
    assert drain(queue) == ["http://host0.example/0"]
    close(queue)


class ManyHosts(JobSpider):
    def parse(self, response: Any) -> Iterator[Request]:
        """Each page of the first host names a page of another host."""
        if response.url == self.urls[0]:
            for url in self.urls[1:]:
                yield Request(url, errback=self.count_failure)

    async def start(self) -> Any:
        yield Request(self.urls[0])


@KEPT
def test_with_few_files_to_open_every_page_is_fetched(
    sites: Sites, tmp_path: Path, kept: dict[str, Any]
) -> None:
    hosts = [sites.host("User-agent: *\nDisallow: /never\n") for _ in range(200)]
    done = crawl_job(
        tmp_path, hosts, ManyHosts, files=256, timeout=90, CONCURRENT_REQUESTS=4, **kept
    )
    assert fetched(hosts).total() == 200, done
    assert ("too many open files" in done.lower()) == (kept is IN_FILES)
    assert "Unhandled" not in done


# A job that is killed


def crawl_job(
    job: Path,
    hosts: list[Host],
    spider: type[JobSpider] = JobSpider,
    *,
    kill_at: int | None = None,
    files: int | None = None,
    timeout: float = 60,
    **settings: Any,
) -> str:
    """Runs the job in a process of its own; *kill_at*: when so many pages were fetched.

    *files*: how many it may open.
    """
    arguments = [spider.__name__, str(job), json.dumps(files), json.dumps(settings)]
    program = Program(MAIN, *arguments, *(host.url("/0") for host in hosts))
    if kill_at is not None:
        while fetched(hosts).total() < kill_at and program.poll() is None:
            time.sleep(0.005)
        program.kill()
    log = program.communicate(timeout=timeout)[1].decode()
    assert kill_at is not None or program.wait() == 0, log
    return log


def stopped_killed_and_resumed(sites: Sites, job: Path, first: int, second: int) -> None:
    """Nothing is lost, and the crawl ends by itself."""
    hosts = [sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.05\n") for _ in range(6)]
    crawl_job(job, hosts, CLOSESPIDER_PAGECOUNT=first)
    crawl_job(job, hosts, kill_at=first + second)
    before = fetched(hosts).total()
    log = crawl_job(job, hosts, timeout=40)
    missing = (all_pages(hosts) - fetched(hosts)).total()
    assert missing == 0, log
    if before < all_pages(hosts).total() - 6:
        assert "The last run of this job was killed" in log
    assert int(log.rpartition("robotstxt/queue/lost=")[2].split()[0]) == 0


def test_stopped_then_killed_then_resumed(sites: Sites, tmp_path: Path) -> None:
    stopped_killed_and_resumed(sites, tmp_path, 10, 12)


@pytest.mark.stress
def test_stopped_then_killed_then_resumed_at_20_moments(sites: Sites, tmp_path: Path) -> None:
    for turn in range(20):
        stopped_killed_and_resumed(sites, tmp_path / str(turn), 7 + turn, 2 * turn + 1)


def main() -> None:
    from scrapy.crawler import AsyncCrawlerProcess

    name, job, files, own, *urls = sys.argv[1:]
    if most := json.loads(files):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    spider = {"JobSpider": JobSpider, "ManyHosts": ManyHosts}[name]
    settings = {**BASE_SETTINGS, "JOBDIR": job, "LOG_LEVEL": "WARNING"}
    process = AsyncCrawlerProcess({**settings, **json.loads(own)})
    crawler = process.create_crawler(spider)
    process.crawl(crawler, urls=urls)
    process.start()
    lost = crawler.stats.get_value("robotstxt/queue/lost", 0)
    print(f"robotstxt/queue/lost={lost}", file=sys.stderr)
