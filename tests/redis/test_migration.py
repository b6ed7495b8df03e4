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


@pytest.mark.parametrize("kind", ["list", "zset"])
def test_they_are_moved_in_order(crew: Crew, kind: str) -> None:
    worker = crew.worker("1")
    make_known(worker, A)
    fill(crew, kind)
    for expected in ([b"a", b"b"], [b"c"], []):
        found = worker.unmoved(2)
        assert [data for data, _ in found] == expected
        requests = [Stored(A, -score, data) for data, score in found]
        assert worker.move(requests) == len(expected)
    assert names(take(worker)) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["list", "zset"])
def test_what_another_has_taken_is_not_moved_again(crew: Crew, kind: str) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    make_known(one, A)
    fill(crew, kind)
    assert one.move(stored(A, "a")) == 1
    assert two.move(stored(A, "a")) == 0
    assert names(take(two)) == ["a"]
    assert len(one.unmoved(10)) == 2


def test_anything_else_at_the_key_is_left_alone(crew: Crew) -> None:
    worker = crew.worker("1")
    assert worker.unmoved(10) == []
    crew.client.set(crew.key, "x")
    assert worker.unmoved(10) == []
