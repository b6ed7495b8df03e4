"""Where parts occur in a path: what searching for them finds."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from scrapy_robots_plus.protocol import matcher as module
from scrapy_robots_plus.protocol.matcher import Places, matches, take_apart

SIZES = (1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 97, 130)
LENGTHS = (0, 1, 40, 256, 257, 400)


def random_path(length: int, letters: str = "ab") -> bytes:
    return "".join(random.Random(length).choices(letters, k=length)).encode()


def parts_of(path: bytes) -> list[bytes]:
    """Those at some places, and the same with another last octet, which nearly occur."""
    found = [path[at : at + size] for size in SIZES for at in range(0, len(path) - size + 1, 29)]
    return [*found, *(part[:-1] + b"c" for part in found), b"c" * 40]


def ends_of(path: bytes, parts: list[bytes], at: int) -> int:
    for part in parts:
        found = path.find(part, at)
        if found < 0:
            return -1
        at = found + len(part)
    return at


@pytest.fixture(params=[0, 10_000_000], ids=["looked up", "searched for"])
def searched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(module, "_SEARCHED", request.param)
    assert isinstance(request.param, int)
    return request.param


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize("length", LENGTHS)
def test_a_part_ends_where_searching_for_it_says(length: int) -> None:
    path = random_path(length)
    places = Places(path)
    for part in parts_of(path):
        for at in (0, 1, length // 2, length):
            assert places.walk([part], at) == ends_of(path, [part], at), (part, at)


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize("length", LENGTHS)
def test_parts_follow_each_other(length: int) -> None:
    path = random_path(length)
    places, random_ = Places(path), random.Random(length)
    everything = parts_of(path)
    for _ in range(400):
        parts = random_.choices(everything, k=random_.randrange(5))
        at = random_.randrange(length // 3 + 1)
        assert places.walk(parts, at) == ends_of(path, parts, at), (parts, at)


@pytest.mark.parametrize("last", [b"a", b"\xff"])
def test_octets_of_any_value_are_looked_up(last: bytes) -> None:
    path = (b"/" + b"\xff\x00" * 20 + b"\xff" * 40 + b"\x00\xff" * 100)[:-1] + last
    places = Places(path)
    for at in range(len(path)):
        for size in (1, 2, 31, 32, 33, 50):
            part = path[at : at + size]
            for start in (0, at, at + 1):
                assert places.walk([part], start) == ends_of(path, [part], start)
                places._left = 0


def test_a_long_path_is_sorted_once_many_octets_were_searched_for() -> None:
    path = b"/" + b"ab" * 200
    places = Places(path)
    for _ in range(64):
        assert places.walk([b"ab" * 16], 0) == 33
        assert not places._sorted
    assert places.walk([b"ab"], 0) == 3
    assert len(places._sorted) == len(path)


def test_a_short_path_is_never_sorted() -> None:
    places = Places(b"/" + b"a" * 255)
    for _ in range(100):
        assert places.walk([b"a" * 40, b"b"], 0) == -1
    assert not places._sorted


def test_few_sets_of_places_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SEARCHED", 0)
    monkeypatch.setattr(module, "_MOST_BITS", 10 * 400)
    path = random_path(400)
    places = Places(path)
    for part in parts_of(path):
        assert places.walk([part], 3) == ends_of(path, [part], 3)
        assert len(places._masks) <= 12


@pytest.mark.parametrize("letters", ["a", "ab", "abcdefghijklmnopqrstuvwxyz0123456789"])
def test_a_path_takes_memory_in_proportion_to_it_whatever_is_looked_up(letters: str) -> None:
    path = random_path(16_000, letters)
    parts = [path[at : at + 2 + at % 31] for at in range(0, 16_000, 3)]
    tracemalloc.start()
    try:
        places = Places(path)
        for part in parts:
            assert places.walk([part], 0) >= 0
        assert tracemalloc.get_traced_memory()[1] < 600 * len(path)
    finally:
        tracemalloc.stop()


def test_a_pattern_matches_as_it_does_by_itself() -> None:
    path = b"/" + random_path(300)
    whole = (path + b"$", path[:-1] + b"$", b"/*" + path[-9:] + b"$", b"/*" + path[-9:-1] + b"$")
    for pattern in (b"*", b"/", b"/*", b"/b$", *whole):
        assert matches(take_apart(pattern), path, Places(path)) is matches(
            take_apart(pattern), path
        )
    overlapping = take_apart(b"/*" + path[-70:-2] + b"*" + path[-4:] + b"$")
    assert not matches(overlapping, path, Places(path))
    assert not matches(overlapping, path)


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("", ("", (), None)),
        ("$", ("", (), "")),
        ("/a", ("/a", (), None)),
        ("/a$", ("/a", (), "")),
        ("/a*", ("/a", (), None)),
        ("/a*$", ("/a", (), None)),
        ("*a", ("", ("a",), None)),
        ("/a*b", ("/a", ("b",), None)),
        ("/a**b", ("/a", ("b",), None)),
        ("/a*b$", ("/a", (), "b")),
        ("/a*b*$", ("/a", ("b",), None)),
        ("/*$b", ("/", ("$b",), None)),
        ("/a$*b", ("/a$", ("b",), None)),
        ("/a*b*cd$", ("/a", ("b",), "cd")),
        ("/a$$", ("/a$", (), "")),
    ],
)
def test_a_pattern_is_split_at_its_wildcards(
    pattern: str, parts: tuple[str, tuple[str, ...], str | None]
) -> None:
    prefix, between, tail = parts
    expected = (
        prefix.encode(),
        tuple(map(str.encode, between)),
        tail if tail is None else tail.encode(),
    )
    assert take_apart(pattern.encode()) == expected
    assert take_apart(pattern.encode(), wildcards=False) == (pattern.encode(), (), None)
