"""The lanes of a job get other names when it is resumed with another priority queue."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider

from scrapy_robots_plus.job import FILE_NAME, JobFile, renaming
from tests.job.jobs import kill_copy

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = 4
REQUESTS = 10
"""Of each host."""


class Killed(BaseException):
    """Where the process is killed."""


def job_in(file: JobFile) -> Any:
    spider = Spider(name="job")
    return SimpleNamespace(file=file, names=file.names, contents=file.contents, spider=spider)


def by_host(request: Request) -> str:
    return request.url.split("/")[2]


def filled(path: Path) -> JobFile:
    """Of each host half of the requests wait in one lane, the others in another."""
    file = JobFile(path)
    for number in range(REQUESTS):
        for host in range(HOSTS):
            request = Request(f"http://{host}.example/{number}")
            lane = f"{host}.example" if number < REQUESTS // 2 else f"second {host}"
            file.add(lane, 0, pickle.dumps(request.to_dict(), protocol=4))
    file.set_note(renaming.NAMED_BY, "slots")
    file.commit()
    return file


def paths(file: JobFile, lane: str) -> list[str]:
    """In the order in which they came."""
    found = []
    while (taken := file.take(lane, 0, starts=False, newest=False)) is not None:
        found.append(pickle.loads(taken.data)["url"].rpartition("/")[2])
    return found


def assert_named_by_host(file: JobFile) -> None:
    for host in range(HOSTS):
        assert paths(file, f"{host}.example") == [str(number) for number in range(REQUESTS)]
    assert file.held == 0


def test_requests_stay_in_order(tmp_path: Path) -> None:
    with filled(tmp_path / FILE_NAME) as file:
        renaming.name_lanes(job_in(file), "hosts", by_host)
        assert file.note(renaming.NAMED_BY) == "hosts"
        assert_named_by_host(file)


@pytest.mark.parametrize("moment", range(6, HOSTS * REQUESTS, 3))
def test_a_kill_meanwhile_leaves_what_any_queue_can_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """That with the old names, too: it has to give them again."""
    monkeypatch.setattr(renaming, "AT_ONCE", 3)
    moved = 0

    def by_host_until_then(request: Request) -> str:
        nonlocal moved
        moved += 1
        if moved > moment:
            raise Killed
        return by_host(request)

    path = tmp_path / FILE_NAME
    file = filled(path)
    with pytest.raises(Killed):
        renaming.name_lanes(job_in(file), "hosts", by_host_until_then)
    killed = kill_copy(path, tmp_path / "killed")
    file.close()
    with JobFile(killed) as file:
        assert file.held == HOSTS * REQUESTS
        renaming.name_lanes(job_in(file), "slots", by_host)
        assert_named_by_host(file)
