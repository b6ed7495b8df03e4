"""Requests in the queues of scrapy-redis are taken over."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.redis.host_queue import Stored

from .workers import Crew, make_known, names, stored, take

A = "a.example"


def fill(crew: Crew, kind: str) -> None:
    for number, data in enumerate("abc"):
        if kind == "list":
            crew.client.lpush(crew.key, data)
        else:
            crew.client.zadd(crew.key, {data: number})


def as_stored(data: bytes, score: float) -> Stored:
    return Stored(A, -score, data)


@pytest.mark.parametrize("kind", ["list", "zset"])
def test_they_are_moved_in_order(crew: Crew, kind: str) -> None:
    worker = crew.worker("1")
    make_known(worker, A)
    fill(crew, kind)
    worker.MOVED_AT_ONCE = 2
    assert worker.move_all(as_stored) == 3
    assert names(take(worker)) == ["a", "b", "c"]
    assert worker.move_all(as_stored) == 0


@pytest.mark.parametrize("kind", ["list", "zset"])
def test_what_another_has_taken_is_not_moved_again(crew: Crew, kind: str) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    make_known(one, A)
    fill(crew, kind)
    moved = {"moved_from": crew.key}
    assert one.push(stored(A, "a"), **moved) == [True]
    assert two.push(stored(A, "a", "b"), **moved) == [None, False]
    assert one.push(stored(A, "b", "c"), **moved) == [None, False]
    assert two.push(stored(A, "c"), **moved) == [None]  # nothing is left
    assert names(take(two)) == ["a", "b", "c"]
    assert one.state().waiting == 0


def test_anything_else_at_the_key_is_left_alone(crew: Crew) -> None:
    worker = crew.worker("1")
    assert worker.move_all(as_stored) == 0
    crew.client.set(crew.key, "x")
    assert worker.move_all(as_stored) == 0
    assert crew.client.get(crew.key) == b"x"
