"""A request that ends the process is found, and innocent ones are not lost."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError, StoredRequest, overview
from scrapy_robots_plus.job import file as job_file

from .jobs import kill_copy, last, under_way

if TYPE_CHECKING:
    from pathlib import Path


def take(file: JobFile) -> StoredRequest | None:
    """The next, as a crawl takes it: those for the end when nothing else is left."""
    if not file.held and not under_way(file):
        file.recall()
    return file.take("host", 0, newest=False)


def killed(file: JobFile) -> JobFile:
    """The next run after a kill."""
    file.commit()
    path = kill_copy(file.path, file.path.parent / "killed")
    file.close()
    shutil.move(path.parent, file.path.parent.with_name(f"{file.path.parent.name}+"))
    return JobFile(file.path.parent.with_name(f"{file.path.parent.name}+") / file.path.name)


def filled(path: Path, *data: bytes) -> JobFile:
    file = JobFile(path)
    for each in data:
        file.add("host", 0, each)
    return file


def test_the_one_that_kills_is_set_aside_and_all_others_are_sent(path: Path) -> None:
    """Four are under way at once; one of them kills."""
    file = filled(path, b"1", b"2", b"killer", b"4", b"5", b"6")
    done, aside = set[bytes](), list[bytes]()
    for _ in range(50):
        under_way = list[StoredRequest]()
        while len(under_way) < 4 and (taken := take(file)) is not None:
            under_way.append(taken)
            if taken.hard_ends >= 2:
                assert under_way == [taken], "it must be alone"
                break
        if any(taken.data == b"killer" for taken in under_way):
            file = killed(file)
            aside += [each.data for each in file.newly_aside]
            continue
        for taken in under_way:
            done.add(taken.data)
            file.end(taken.id)
        if not under_way:
            break
    assert done == {b"1", b"2", b"4", b"5", b"6"}
    assert aside == [b"killer"]
    assert (file.held, last(file), file.stored) == (0, 0, 1)
    assert [each.data for each in file.retry()] == [b"killer"]
    taken = take(file)
    assert taken is not None
    assert taken.hard_ends == 0
    file.close()


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_spider_that_must_not_use_the_job_leaves_it_as_it_is(
    path: Path, *, is_damaged: bool
) -> None:
    """What the last run has left is told to the one whose job it is."""
    file = JobFile(path, spider="links")
    for data in (b"1", b"2"):
        file.add("host", 0, data)
    take(file)
    file.commit()
    left = kill_copy(path, path.parent / "killed")
    if is_damaged:
        left = path
        with pytest.raises(JobFileError, match="requests are missing"):
            file.fail_as_damaged()
    file.close()
    for _ in range(2):
        with pytest.raises(JobFileError, match='is the job of the spider "links"'):
            JobFile(left, spider="other")
    with JobFile(left, spider="links") as file:
        if is_damaged:
            assert "was damaged (requests are missing). 2 requests can be read" in file.troubles[0]
        assert (file.was_killed, file.recovered) == (not is_damaged, int(not is_damaged))
        found = [taken for _ in range(2) if (taken := take(file))]
        assert sorted(taken.hard_ends for taken in found) == [0, int(not is_damaged)]


def test_a_job_is_one_spiders_even_when_it_is_done(path: Path) -> None:
    JobFile(path, spider="links").close()
    with JobFile(path, spider="other") as file:  # nothing was done before
        file.see(b"a page")
    with pytest.raises(JobFileError, match='is the job of the spider "other"'):
        JobFile(path, spider="links")


def test_how_many_were_under_way_at_a_kill_is_told(path: Path) -> None:
    file = filled(path, b"1", b"2", b"3")
    take(file)
    take(file)
    file = killed(file)
    assert (file.was_killed, file.recovered, file.held, under_way(file)) == (True, 2, 3, 0)
    file.close()
    with JobFile(file.path) as file:
        assert (file.was_killed, file.recovered, file.held) == (False, 0, 3)


def test_one_that_was_under_way_alone_at_a_kill_is_counted(path: Path) -> None:
    file = filled(path, b"1")
    for _ in range(2):
        take(file)
        file = killed(file)
    taken = take(file)
    assert taken is not None
    assert taken.is_suspect
    file.commit()
    copy = kill_copy(file.path, file.path.parent / "copy")
    assert overview(copy, 1).under_way == 1
    file = killed(file)
    assert (file.recovered, under_way(file), len(file.newly_aside)) == (1, 0, 1)
    file.close()


def test_one_whose_group_was_done_before_is_alone_too(path: Path) -> None:
    file = filled(path, b"1", b"killer")
    for _ in range(2):
        while take(file) is not None:
            pass
        file = killed(file)
    first, killer = take(file), take(file)
    assert first is not None
    assert killer is not None
    file.end(first.id)
    file = killed(file)
    assert [(each.data, each.hard_ends) for each in file.newly_aside] == [(b"killer", 3)]
    assert file.stored == 1
    file.close()


def test_many_suspects_are_under_way_together_and_the_one_that_kills_is_found(path: Path) -> None:
    file = filled(path, *(b"%d" % number for number in range(30)))
    for _ in range(2):
        while take(file) is not None:
            pass
        file = killed(file)
    assert last(file) == 30
    done, aside, groups = set[bytes](), list[bytes](), list[int]()
    while not groups or groups[-1]:
        group = list[StoredRequest]()
        while (taken := take(file)) is not None:
            group.append(taken)
        groups.append(len(group))
        if any(taken.data == b"20" for taken in group):
            file = killed(file)
            aside += [each.data for each in file.newly_aside]
            continue
        for taken in group:
            done.add(taken.data)
            file.end(taken.id)
    assert aside == [b"20"]
    assert len(done) == 29
    assert groups[0] == 16
    assert len(groups) < 16, groups
    file.close()


def test_after_a_stop_a_request_is_no_suspect_any_more(path: Path) -> None:
    """The process has lived on with it."""
    file = filled(path, b"1")
    for _ in range(4):
        assert take(file) is not None
        file = killed(file)
        taken = take(file)
        assert taken is not None
        assert taken.hard_ends == 1
        file.close()
        file = JobFile(file.path)
    file.close()


def test_a_kill_before_the_machine_was_started_again_is_no_fault_of_a_request(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = filled(path, b"1")
    for number in range(4):
        taken = take(file)
        assert taken is not None
        assert taken.hard_ends == 0
        monkeypatch.setattr(job_file, "_boot_id", lambda number=number: f"start {number}")
        file = killed(file)
        assert (file.was_killed, file.recovered) == (True, 1)
    file.close()


def test_a_stop_is_not_a_kill(path: Path) -> None:
    file = filled(path, b"1")
    for _ in range(5):
        assert take(file) is not None
        file.close()
        file = JobFile(path)
    taken = take(file)
    assert taken is not None
    assert taken.hard_ends == 0
    file.close()


def test_a_suspect_whose_turn_had_come_waits_for_the_end_again(path: Path) -> None:
    """The run was stopped after it was added to its lane."""
    file = filled(path, b"1")
    for _ in range(2):
        take(file)
        file = killed(file)
    assert (file.held, last(file)) == (0, 1)
    for _ in range(3):
        file.add("other", 0, b"dealt with")
        other = file.take("other", 0, newest=True)
        assert other is not None
        file.end(other.id)
    assert file.recall()
    assert (file.held, last(file)) == (1, 0)
    file.close()
    with JobFile(file.path) as file:
        assert (file.held, last(file), file.stored) == (0, 1, 1)


def test_one_that_the_spider_cannot_send_is_set_aside(path: Path) -> None:
    file = filled(path, b"1", b"2")
    taken = take(file)
    assert taken is not None
    file.set_aside(taken.id)
    file.set_aside(taken.id)
    assert (under_way(file), file.stored) == (0, 2)
    file = killed(file)
    assert (file.held, file.stored, file.newly_aside) == (1, 2, [])
    assert [each.data for each in file.retry()] == [b"1"]
    assert (file.held, file.stored) == (2, 2)
    file.close()


def test_notes_are_kept(path: Path) -> None:
    file = filled(path)
    assert file.note("key") is None
    file.set_note("key", "one")
    file.set_note("key", "two")
    file = killed(file)
    assert file.note("key") == "two"
    file.close()
