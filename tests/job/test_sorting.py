"""The requests of a job that was converted are sorted into the lanes of a crawl."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest
from scrapy import Request

from scrapy_robots_plus.job import FILE_NAME, UNSORTED, JobFile

from .jobs import kill_copy

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = 4
REQUESTS = 10
"""Of each host."""


class Killed(BaseException):
    """Where the process is killed."""


def by_host(data: bytes) -> str:
    url: str = pickle.loads(data)["url"]
    return url.split("/")[2]


def filled(path: Path) -> JobFile:
    """Of each host half of the requests wait in one lane, the others in another."""
    file = JobFile(path)
    for number in range(REQUESTS):
        for host in range(HOSTS):
            request = Request(f"http://{host}.example/{number}")
            lane = f"{host}.example" if number < REQUESTS // 2 else f"second {host}"
            file.add(lane, 0, pickle.dumps(request.to_dict(), protocol=4))
    file.set_note(UNSORTED, "yes")
    file.commit()
    return file


def paths(file: JobFile, lane: str) -> list[str]:
    """In the order in which they came."""
    found = []
    while (taken := file.take(lane, 0, newest=False)) is not None:
        found.append(pickle.loads(taken.data)["url"].rpartition("/")[2])
    return found


def assert_named_by_host(file: JobFile) -> None:
    for host in range(HOSTS):
        assert paths(file, f"{host}.example") == [str(number) for number in range(REQUESTS)]
    assert file.held == 0


def test_a_request_that_has_no_other_name_stays(tmp_path: Path) -> None:
    with filled(tmp_path / FILE_NAME) as file:
        names = sorted(file.wake(-1))
        file.sort(dict[bytes, str]().__getitem__)
        assert (file.held, sorted(file.wake(-1))) == (HOSTS * REQUESTS, names)


def test_requests_stay_in_order(tmp_path: Path) -> None:
    with filled(tmp_path / FILE_NAME) as file:
        file.sort(by_host)
        assert file.note(UNSORTED) == ""
        assert_named_by_host(file)


@pytest.mark.parametrize("moment", range(0, HOSTS * REQUESTS, 3))
def test_a_kill_meanwhile_leaves_all_where_they_were(tmp_path: Path, moment: int) -> None:
    moved = 0

    def by_host_until_then(data: bytes) -> str:
        nonlocal moved
        moved += 1
        if moved > moment:
            raise Killed
        return by_host(data)

    path = tmp_path / FILE_NAME
    file = filled(path)
    names = sorted(file.wake(-1))
    with pytest.raises(Killed):
        file.sort(by_host_until_then)
    killed = kill_copy(path, tmp_path / "killed")
    file.close()
    with JobFile(killed) as file:
        assert (file.held, file.note(UNSORTED)) == (HOSTS * REQUESTS, "yes")
        assert sorted(file.wake(-1)) == names
        file.sort(by_host)
        assert_named_by_host(file)
