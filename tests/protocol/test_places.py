"""Where parts occur in a path: what searching for them finds."""

from __future__ import annotations

import random

import pytest

from scrapy_robots_plus.protocol.rules.pattern import matches, take_apart
from scrapy_robots_plus.protocol.rules.places import LONGEST, Places, usual_size

SIZES = (1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 97, 130)
LENGTHS = (0, 1, 40, 256, 257, 400)


def random_path(length: int, letters: str = "ab") -> bytes:
    return "".join(random.Random(length).choices(letters, k=length)).encode()


def parts_of(path: bytes) -> list[bytes]:
    """Those at some places, and the same with another last octet, which nearly occur."""
    found = [path[at : at + size] for size in SIZES for at in range(0, len(path) - size + 1, 29)]
    return [*found, *(part[:-1] + b"c" for part in found), b"c" * 40]


def end_of(path: bytes, part: bytes, at: int) -> int:
    found = path.find(part, at)
    return found + len(part) if found >= 0 else -1


def ends_of(path: bytes, parts: list[bytes], at: int) -> int:
    for part in parts:
        if at >= 0:
            at = end_of(path, part, at)
    return at


@pytest.mark.parametrize("length", LENGTHS)
def test_a_part_ends_where_searching_for_it_says(length: int) -> None:
    path = random_path(length)
    places = Places(path)
    for part in parts_of(path):
        for at in (0, 1, length // 2, length):
            assert places.behind(part, at) == end_of(path, part, at), (part, at)


@pytest.mark.parametrize("length", LENGTHS)
def test_parts_follow_each_other(length: int) -> None:
    path = random_path(length)
    places, random_ = Places(path), random.Random(length)
    everything = parts_of(path)
    for _ in range(400):
        parts = random_.choices(everything, k=random_.randrange(5))
        at = random_.randrange(length // 3 + 1)
        assert places.walk(parts, at) == ends_of(path, parts, at), (parts, at)


@pytest.mark.parametrize("length", [40, 400])
@pytest.mark.parametrize("size", [2, 32])
def test_a_table_holds_each_sequence_of_its_size_with_all_its_places(
    length: int, size: int
) -> None:
    path = random_path(length)
    table = Places(path).table(size)
    starts = range(length - size + 1)
    assert {(sequence, at) for sequence, found in table.items() for at in found} == {
        (path[at : at + size], at) for at in starts
    }
    assert all(found == sorted(found) for found in table.values())


def test_a_path_that_is_shorter_than_a_sequence_has_none() -> None:
    assert Places(b"/a").table(4) == {}


def test_a_pattern_matches_as_it_does_by_itself() -> None:
    path = b"/" + random_path(300)
    whole = (path + b"$", path[:-1] + b"$", b"/*" + path[-9:] + b"$")
    for pattern in (b"*", b"/", b"/*", b"/b$", *whole):
        assert Places(path).match(take_apart(pattern)) is matches(take_apart(pattern), path)
    overlapping = take_apart(b"/*" + path[-70:-2] + b"*" + path[-4:] + b"$")
    assert not Places(path).match(overlapping)
    assert not matches(overlapping, path)


@pytest.mark.parametrize(
    ("length", "size"),
    [(0, 0), (1, 1), (2, 2), (3, 2), (4, 4), (31, 16), (32, 32), (33, LONGEST), (99, LONGEST)],
)
def test_parts_are_indexed_by_a_power_of_two(length: int, size: int) -> None:
    assert usual_size(b"x" * length) == size
