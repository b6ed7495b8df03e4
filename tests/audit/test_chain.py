"""The chain of lines: whatever is done to a log is found, and named by its line."""

from __future__ import annotations

import json
from hashlib import sha256
from io import BytesIO
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit.chain import Link, LogReader, LogState, parse, seal
from scrapy_robots_plus.audit.entries import from_fields

from .entries import some_entries
from .logs import begin, end, sealed, verdict

if TYPE_CHECKING:
    from scrapy_robots_plus.audit.entries import Entry


def some_lines(count: int) -> list[bytes]:
    return list(sealed(verdict(f"http://x.example/é{number}") for number in range(count)))


def found_in(lines: list[bytes]) -> list[str]:
    reader = LogReader([])
    for raw in lines:
        reader.take(raw)
    return reader.damages


FORGED = {"type": "forged", "time": "2026-11-20T18:58:00Z", "crawl": "a"}


def link_of(line: bytes) -> Link:
    fields, digest = parse(line)
    assert fields["hash"] == digest
    return Link(fields["n"], digest)


@given(some_entries)
def test_what_is_sealed_is_whole_and_read_again(entries: list[Entry]) -> None:
    lines = list(sealed(entries))
    assert found_in(lines) == []
    assert [from_fields(parse(line)[0]) for line in lines] == entries


def test_a_line_is_ascii_json_with_its_hash_at_the_end() -> None:
    first, second = some_lines(2)
    fields = json.loads(first)
    assert list(fields)[:3] == ["v", "n", "type"]
    assert list(fields)[-2:] == ["prev", "hash"]
    assert (fields["v"], fields["n"], fields["prev"]) == (1, 0, "0" * 64)
    assert json.loads(second)["prev"] == fields["hash"]
    without = first[: first.index(b',"hash"')] + b"}"
    assert sha256(without).hexdigest() == fields["hash"]
    assert b" " not in first
    assert first.isascii()
    assert first.endswith(b"\n")


def test_the_worse_a_log_is_the_greater_is_its_state() -> None:
    words = ["WHOLE", "UNFINISHED", "CUT", "DAMAGED"]
    assert [state.name for state in sorted(LogState)] == words


@given(st.data())
def test_one_changed_byte_is_found_in_its_line(data: st.DataObject) -> None:
    lines = some_lines(4)
    number = data.draw(st.integers(0, 3))
    line = bytearray(lines[number])
    position = data.draw(st.integers(0, len(line) - 2))  # a newline is another line
    line[position] = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[position]))
    lines[number] = bytes(line)
    damages = found_in(b"".join(lines).splitlines(keepends=True) if 10 in line[:-1] else lines)
    assert damages
    place = number + 1 + (number > 0 and line.startswith(b"\n"))  # an empty line is none there
    assert damages[0].startswith(f"line {place}: ")
    assert len(damages) <= 3  # changed, so that it cannot be read, so that a line is missing


@given(st.data())
def test_a_removed_line_is_found(data: st.DataObject) -> None:
    lines = some_lines(5)
    number = data.draw(st.integers(0, 3))  # the last is told by the missing end of the crawl
    del lines[number]
    (damage,) = found_in(lines)
    assert damage.startswith(f"line {number + 1}: 1 line of its crawl missing before it")


@given(st.data())
def test_two_exchanged_lines_are_found(data: st.DataObject) -> None:
    lines = some_lines(6)
    one, other = sorted(data.draw(st.sets(st.integers(0, 5), min_size=2, max_size=2)))
    lines[one], lines[other] = lines[other], lines[one]
    damages = found_in(lines)
    assert damages[0].startswith(
        f"line {one + 1}: {other - one} line{'' if other == one + 1 else 's'} of its crawl"
    )
    assert any(damage.startswith(f"line {other + 1}: out of order") for damage in damages)


@given(st.integers(0, 4))
def test_a_line_that_stands_twice_is_found(number: int) -> None:
    lines = some_lines(5)
    lines.insert(number, lines[number])
    assert found_in(lines) == [
        f"line {number + 2}: out of order: its number in its crawl is {number}, not {number + 1}"
    ]


@given(st.integers(0, 4), st.binary(max_size=30))
def test_an_inserted_text_is_found(number: int, text: bytes) -> None:
    lines = some_lines(5)
    lines.insert(number, b"x" + text.replace(b"\n", b"") + b"\n")
    (damage,) = found_in(lines)
    assert damage.startswith(f"line {number + 1}: not a line of a log: ")


def test_a_changed_hash_is_damage_and_no_kill() -> None:
    for number, lines in enumerate([some_lines(3) for _ in range(3)]):
        lines[number] = lines[number].replace(b'"hash":"', b'"hash":"G', 1)
        reader = LogReader([])
        for raw in lines:
            reader.take(raw)
        assert reader.state is LogState.DAMAGED
        assert reader.damages[0].startswith(f"line {number + 1}: not a line of a log")


def test_a_line_after_the_end_of_its_crawl_is_found() -> None:
    entries = [begin(), end(), verdict("http://x.example/")]
    (damage,) = found_in(list(sealed(entries)))
    assert damage == "line 3: comes after the end of its crawl"


@given(st.integers(1, 4))
def test_an_inserted_line_with_a_right_hash_is_found(number: int) -> None:
    lines = some_lines(5)
    before = link_of(lines[number - 1])
    forged, _ = seal(FORGED, before)
    lines.insert(number, forged)
    damages = found_in(lines)
    assert damages[0].startswith(f"line {number + 2}: out of order")


@given(st.integers(1, 4))
def test_a_line_replaced_by_one_with_a_right_hash_is_found(number: int) -> None:
    lines = some_lines(6)
    before = link_of(lines[number - 1])
    lines[number], _ = seal(FORGED, before)
    assert found_in(lines) == [
        f"line {number + 2}: does not follow the crawl's line before it, which was inserted later"
    ]


def test_a_log_whose_first_lines_are_gone_is_found() -> None:
    assert found_in(some_lines(5)[2:]) == ["line 1: 2 lines of its crawl missing before it"]


@given(st.binary(max_size=200))
def test_no_line_makes_it_fail(raw: bytes) -> None:
    assert len(found_in([raw])) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"n": -1},
        {"n": 10**4299},  # one more has too many digits to be printed
        {"n": True},
        {"n": 1.0},
        {"n": None},
        {"prev": 1},
        {"prev": "0"},
    ],
)
def test_a_line_without_its_place_in_the_chain_is_refused(changed: dict[str, object]) -> None:
    text = json.dumps({"v": 1, "n": 0, "prev": "0" * 64, **changed}, separators=(",", ":"))
    digest = sha256(text.encode()).hexdigest()
    with pytest.raises(ValueError, match=r"it has no number|it does not name the line before it"):
        parse(f'{text[:-1]},"hash":"{digest}"}}\n'.encode())


def test_numbers_go_on_from_any_line() -> None:
    line, link = seal({"type": "end"}, Link(41, "a" * 64))
    assert link.number == 42
    assert link_of(line) == link
    assert parse(line)[0]["prev"] == "a" * 64


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.stress)])
def test_any_changed_byte_is_found(every: int) -> None:
    """At each place: each bit turned, and what stands for something in a line or ends one."""
    whole = b"".join(some_lines(2))
    unfound = [
        (place, byte)
        for place, right in list(enumerate(whole))[::every]
        for byte in {*(right ^ 1 << bit for bit in range(8)), *b'\n\r\0 0aA"{},:'} - {right}
        if not found_in(BytesIO(whole[:place] + bytes([byte]) + whole[place + 1 :]).readlines())
    ]
    assert unfound == []


def test_any_lines_removed_exchanged_or_repeated_are_found() -> None:
    lines, places = some_lines(6), range(6)
    removed = [lines[:a] + lines[b:] for a in places for b in range(a + 1, 6)]
    repeated = [[*lines[:a], lines[b], *lines[a:]] for a in range(7) for b in places]
    orders = [list(order) for order in permutations(lines) if list(order) != lines]
    assert all(found_in(changed) for changed in (*removed, *repeated, *orders))
