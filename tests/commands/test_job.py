"""``scrapy robots job`` on real jobs."""

from __future__ import annotations

import pickle
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from queuelib import FifoDiskQueue
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue, _path_safe
from scrapy.squeues import (
    MarshalLifoDiskQueue,
    PickleFifoDiskQueue,
    PickleLifoDiskQueue,
)
from scrapy.utils.test import get_crawler

from scrapy_robots_plus.job import FILE_NAME, JobFile
from scrapy_robots_plus.job.schema import journal_of
from scrapy_robots_plus.job.written import url_in

from ..job.jobs import failed, kill_copy
from .running import Robots
from .sessions import Session, sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

ACTIONS = [("show",), ("show", "--json"), ("retry",), ("convert",)]


def data_of(url: str) -> bytes:
    return pickle.dumps(scrapy.Request(url).to_dict(), protocol=4)


def poisoned(folder: Path, url: str = "http://b.example/") -> Path:
    """A job whose only request, to *url*, has ended its process three times."""
    path = folder / "job" / FILE_NAME
    with JobFile(path) as file:
        for number in range(3):
            file.see(b"%d" % number)
        file.add("b.example", 0, data_of(url))
    for _ in range(3):
        file = JobFile(path)
        file.recall()
        assert file.take("b.example", 0, newest=True) is not None
        file.commit()
        killed = kill_copy(path, folder / "killed")
        file.close()
        shutil.rmtree(path.parent)
        killed.parent.rename(path.parent)
    JobFile(path).close()
    return path


def with_another_host(path: Path) -> Path:
    with JobFile(path) as file:
        for number in range(3):
            file.add("a.example", 0, data_of(f"http://a.example/{number}"))
    return path


def test_a_job_is_shown_by_state_and_lane(tmp_path: Path) -> None:
    path = with_another_host(poisoned(tmp_path))
    done = Robots(tmp_path)("job", "show", "job")
    assert done.status == 1
    assert done.lines[0] == str(path)
    shown = [" ".join(line.split()) for line in done.lines]
    assert "waiting 3 requests in 1 lane" in shown
    assert "set aside 1" in shown
    assert "seen 3 fingerprints" in shown
    assert "3 a.example" in shown
    assert shown[-1] == ("http://b.example/: the process was killed 3 times while it was under way")


def test_what_was_lost_is_shown(tmp_path: Path) -> None:
    path, robots = tmp_path / "job" / FILE_NAME, Robots(tmp_path)
    with JobFile(path) as file:
        for number in range(40):
            file.add("a.example", 0, data_of(f"http://a.example/{number}") + bytes(400))
    data = bytearray(path.read_bytes())
    place = data.index(b"a.example/20") // 4_096 * 4_096
    data[place : place + 4_096] = bytes(4_096)
    path.write_bytes(data)
    with failed(JobFile(path)) as file:
        lost = file.lost
    assert lost > 1
    shown = robots("job", "show", "job")
    assert f"{lost} are lost" in shown.output
    assert len(robots("job", "show", "job", "--json").json[0]["losses"]) == 1


def test_each_request_is_named_with_its_state(tmp_path: Path) -> None:
    with_another_host(poisoned(tmp_path))
    done = Robots(tmp_path)("job", "show", "job", "--urls")
    assert [line.split() for line in done.lines if line.startswith("  waiting ")][1:] == [
        ["waiting", f"http://a.example/{number}"] for number in range(3)
    ]
    assert done.lines[done.lines.index("Requests") + 1] == "  set aside  http://b.example/"
    (found,) = Robots(tmp_path)("job", "show", "job", "--urls", "--json").json
    assert found["v"] == 1
    assert {"url": "http://a.example/0", "state": "waiting", "priority": 0} in found["requests"]


def test_what_a_killed_run_has_done_is_shown(tmp_path: Path) -> None:
    with JobFile(tmp_path / FILE_NAME) as file:
        for number in range(3):
            file.add("a.example", 2 * number, data_of(f"http://a.example/{number}"))
        taken = file.take("a.example", 0, newest=True)
        assert taken is not None
        file.end(taken.id)
        assert file.take("a.example", 2, newest=True) is not None
        file.commit()
        kill_copy(file.path, tmp_path / "job")
    (found,) = Robots(tmp_path)("job", "show", "job", "--urls", "--json").json
    assert (found["was_closed"], found["waiting"], found["under_way"]) == (False, 1, 1)
    assert found["requests"] == [
        {"url": "http://a.example/1", "state": "under way", "priority": -1},
        {"url": "http://a.example/2", "state": "waiting", "priority": -2},
    ]


def test_as_json(tmp_path: Path) -> None:
    with_another_host(poisoned(tmp_path))
    (found,) = Robots(tmp_path)("job", "show", "job", "--json").json
    assert (found["waiting"], found["lanes"], found["seen"]) == (3, 1, 3)
    assert found["largest"] == {"a.example": 3}
    aside = [{"url": "http://b.example/", "lane": "b.example", "kills": 3}]
    assert found["set_aside"] == aside


def test_showing_changes_nothing_after_a_kill_either(tmp_path: Path) -> None:
    with JobFile(tmp_path / FILE_NAME) as file:
        file.add("a.example", 0, b"a")
        file.take("a.example", 0, newest=True)
        file.commit()
        path = kill_copy(file.path, tmp_path / "job")
    journal_of(path).write_bytes(b"")  # SQLite empties it anyway
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    done = Robots(tmp_path)("job", "show", "job")
    assert done.status == 0
    assert "was killed" in done.output
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before
    with JobFile(path) as file:
        assert (file.was_killed, file.recovered, file.troubles) == (True, 1, [])


def test_what_was_set_aside_is_given_back(tmp_path: Path) -> None:
    path = poisoned(tmp_path)
    done = Robots(tmp_path)("job", "retry", "job")
    assert (done.status, done.lines[-1]) == (0, "1 request will be sent again")
    assert Robots(tmp_path)("job", "show", "job").status == 0
    with JobFile(path) as file:
        taken = file.take("b.example", 0, newest=True)
        assert taken is not None
        assert (taken.data, taken.hard_ends) == (data_of("http://b.example/"), 0)


@pytest.mark.parametrize("action", ACTIONS[:3], ids=" ".join)
def test_an_emptied_job_is_no_new_one(tmp_path: Path, action: tuple[str, ...]) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / FILE_NAME).touch()
    for _ in range(2):
        assert Robots(tmp_path)("job", *action, "job").status == 2


@pytest.mark.parametrize("action", ACTIONS[:3], ids=" ".join)
def test_a_job_in_use_is_refused(tmp_path: Path, action: tuple[str, ...]) -> None:
    with JobFile(tmp_path / "job" / FILE_NAME) as file:
        file.add("a.example", 0, b"a")
        file.commit()
        done = Robots(tmp_path)("job", *action, "job")
        assert done.status == 2
        assert "is in use by another crawl or command" in done.errors


@pytest.mark.parametrize("action", ACTIONS, ids=" ".join)
def test_what_is_not_a_job_is_refused(tmp_path: Path, action: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "missing"):
        done = Robots(tmp_path)("job", *action, name)
        assert done.status == 2
        assert "expected" in done.errors
    (tmp_path / "empty" / FILE_NAME).write_bytes(b"no database")
    done = Robots(tmp_path)("job", *action, "empty")
    assert done.status == 2
    assert FILE_NAME in done.errors


# Jobs begun with Scrapy's files


class _Slots:
    """All that DownloaderAwarePriorityQueue asks of an engine."""

    def __init__(self) -> None:
        self.downloader = self
        self.slots: dict[str, Any] = {}

    def get_slot_key(self, request: scrapy.Request) -> str:
        return request.url.split("/")[2]


def requests() -> Iterator[scrapy.Request]:
    for number in range(30):
        url = f"http://host{number % 3}.example/{number}"
        meta = {"is_start_request": True} if number % 5 == 0 else {}
        yield scrapy.Request(url, priority=number % 2, meta=meta)


def begun_with_files(
    folder: Path, priority_queue: Any, downstream: Any, start: Any = PickleFifoDiskQueue
) -> list[str]:
    """A job whose requests are in *folder*; returns the URLs in the order they would be sent."""
    urls = []
    for name in (folder, folder.with_name("to be read")):
        (name / "requests.queue").mkdir(parents=True)
        crawler = get_crawler()
        crawler.engine = _Slots()  # type: ignore[assignment]
        crawler.spider = scrapy.Spider("tested")
        queue = priority_queue.from_crawler(
            crawler, downstream, str(name / "requests.queue"), start_queue_cls=start
        )
        for request in requests():
            queue.push(request)
        if name is folder:
            queue.close()
            continue
        while request := queue.pop():
            urls.append(request.url)
        queue.close()
    (folder / "requests.seen").write_bytes(b"".join(b"\0\x14" + b"%020d" % n for n in range(30)))
    return urls


QUEUES = [
    (PickleLifoDiskQueue, PickleFifoDiskQueue, True),
    (PickleFifoDiskQueue, PickleFifoDiskQueue, False),
    (MarshalLifoDiskQueue, MarshalLifoDiskQueue, True),
]


@pytest.mark.parametrize(("downstream", "start", "newest"), QUEUES)
@pytest.mark.parametrize("priority_queue", [ScrapyPriorityQueue, DownloaderAwarePriorityQueue])
def test_a_job_begun_with_files_is_converted_in_its_order(
    tmp_path: Path, priority_queue: Any, downstream: Any, start: Any, newest: bool
) -> None:
    folder = tmp_path / "job"
    urls = begun_with_files(folder, priority_queue, downstream, start)
    done = Robots(tmp_path)("job", "convert", "job")
    assert done.errors == ""
    assert done.status == 0
    assert done.output.startswith("30 requests and 30 fingerprints are in frontier.sqlite")
    assert {each.name for each in folder.iterdir()} == {FILE_NAME, "before-conversion"}
    separates = priority_queue is DownloaderAwarePriorityQueue
    hosts = [f"host{number}.example" for number in range(3)] if separates else [""]
    with JobFile(folder / FILE_NAME) as file:
        for host in hosts:
            lane = _path_safe(host) if host else ""
            expected = [url for url in urls if host in url]
            assert list(handed_out(file, lane, newest, start is MarshalLifoDiskQueue)) == expected
        assert file.held == 0
        assert not file.see(b"%020d" % 7)
        assert file.see(b"%020d" % 30)


def handed_out(file: JobFile, lane: str, newest: bool, newest_start: bool) -> Iterator[str]:
    """As Scrapy's priority queue takes them."""
    while contents := file.contents(lane):
        rank = min(contents)
        newest_first = newest_start if rank & 1 else newest
        taken = file.take(lane, rank, newest=newest_first)
        assert taken is not None
        yield url_in(taken.data)


@pytest.mark.parametrize("downstream", [PickleLifoDiskQueue, PickleFifoDiskQueue])
def test_what_cannot_be_read_is_counted(tmp_path: Path, downstream: Any) -> None:
    folder = tmp_path / "job"
    begun_with_files(folder, ScrapyPriorityQueue, downstream)
    part = folder / "requests.queue" / "0"
    path = next(part.glob("q*")) if part.is_dir() else part
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    path.write_bytes(data)
    done = Robots(tmp_path)("job", "convert", "job")
    assert done.status == 1
    found = int(done.output.split()[0])
    lost = int(done.errors.split()[0])
    assert 0 < found < 30
    assert found + lost == 30


def test_what_a_killed_run_has_left_of_a_queue_is_read_from_its_begin(tmp_path: Path) -> None:
    """Its ``info.json`` is that of the last close: the file that it names is gone."""
    part = tmp_path / "job" / "requests.queue" / "0"
    queue = FifoDiskQueue(str(part), chunksize=5)
    for number in range(12):
        queue.push(data_of(f"http://a.example/{number}" + "x" * number))
    queue.pop()
    queue.pop()
    queue.close()
    resumed = FifoDiskQueue(str(part), chunksize=5)
    for _ in range(4):
        resumed.pop()
    shutil.copytree(part.parent.parent, tmp_path / "killed")
    done = Robots(tmp_path)("job", "convert", "killed")
    assert (done.status, done.errors) == (0, "")
    with JobFile(tmp_path / "killed" / FILE_NAME) as file:
        urls = handed_out(file, "", newest=False, newest_start=False)
        assert [int(url.strip("x").rpartition("/")[2]) for url in urls] == list(range(5, 12))
    resumed.close()


def test_a_job_with_files_of_an_earlier_conversion_is_refused(tmp_path: Path) -> None:
    begun_with_files(tmp_path / "job", ScrapyPriorityQueue, PickleLifoDiskQueue)
    kept = tmp_path / "job" / "before-conversion"
    (kept / "requests.queue").mkdir(parents=True)
    (kept / "requests.queue" / "0").write_bytes(b"of the first")
    done = Robots(tmp_path)("job", "convert", "job")
    assert done.status == 2
    assert "before-conversion" in done.errors
    assert not (tmp_path / "job" / FILE_NAME).exists()
    assert (tmp_path / "job" / "requests.seen").exists()
    assert (kept / "requests.queue" / "0").read_bytes() == b"of the first"


def test_a_priority_that_the_file_cannot_hold_is_counted(tmp_path: Path) -> None:
    queue = tmp_path / "job" / "requests.queue"
    begun_with_files(tmp_path / "job", ScrapyPriorityQueue, PickleLifoDiskQueue)
    (queue / "0").rename(queue / f"-{2**64}")
    done = Robots(tmp_path)("job", "convert", "job")
    assert done.status == 1
    found, lost = int(done.output.split()[0]), int(done.errors.split()[0])
    assert found + lost == 30
    assert lost


def test_fingerprints_of_older_versions_are_text(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "requests.seen").write_text("ab" * 20 + "\n" + "cd" * 20 + "\nab")
    done = Robots(tmp_path)("job", "convert", "job")
    assert done.errors == ""
    assert (done.status, done.output.split(" are in ")[0]) == (0, "0 requests and 3 fingerprints")
    with JobFile(tmp_path / "job" / FILE_NAME) as file:
        assert not file.see(b"\xab" * 20)


def test_a_conversion_that_was_killed_begins_anew(tmp_path: Path) -> None:
    begun_with_files(tmp_path / "job", ScrapyPriorityQueue, PickleLifoDiskQueue)
    with JobFile(tmp_path / f"{FILE_NAME}.converted") as file:
        file.add("", 0, b"half")
        file.commit()
        killed = kill_copy(tmp_path / f"{FILE_NAME}.converted", tmp_path / "killed").parent
    shutil.copytree(killed, tmp_path / "job", dirs_exist_ok=True)
    done = Robots(tmp_path)("job", "convert", "job")
    assert (done.status, done.errors) == (0, "")
    assert done.output.startswith("30 requests and ")
    assert {each.name for each in (tmp_path / "job").iterdir()} == {FILE_NAME, "before-conversion"}


@pytest.mark.parametrize("session", sessions("docs/job-command.md"), ids=lambda each: each.command)
def test_a_job_is_shown_as_on_the_page(session: Session, tmp_path: Path) -> None:
    of_the_page(tmp_path / "crawls")
    shown, _ = session.run(Robots(tmp_path))
    assert masked(shown.replace(f"{tmp_path}", "/srv")) == masked(session.output)


def masked(text: str) -> str:
    """Pages of SQLite depend on its version."""
    return re.sub(r"[\d,]+ bytes", "SIZE", text)


def of_the_page(folder: Path) -> None:
    folder.mkdir()
    path = poisoned(folder, "http://books.example/huge.pdf")
    path.parent.rename(folder / "books")
    with JobFile(folder / "books" / FILE_NAME) as file:
        for lane in ("http://books.example", "http://books.example", "http://other.example"):
            file.add(lane, 0, b"")
        file.see(b"more")
    begun_with_files(folder / "old", ScrapyPriorityQueue, PickleLifoDiskQueue)
