"""A heap from which nothing is taken out: what has another ticket is out of date."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.hosts.host import TicketHeap


@dataclass(eq=False)
class Item:
    name: str
    ticket: int = 0


def heap_of(*entries: tuple[int, Item]) -> TicketHeap:
    heap: TicketHeap = TicketHeap()
    for order, item in entries:
        heap.push((order,), item)
    return heap


def test_the_least_order_comes_first() -> None:
    a, b, c = Item("a", 1), Item("b", 2), Item("c", 3)
    heap = heap_of((2, b), (1, a), (3, c))
    assert heap.first() == (1, a.ticket, a)
    assert [heap.pop() for _ in range(4)] == [a, b, c, None]
    assert heap.first() is None


def test_of_the_same_order_the_first_ticket_comes_first() -> None:
    late, early = Item("late", 9), Item("early", 3)
    heap = heap_of((0, late), (0, early))
    assert [heap.pop(), heap.pop()] == [early, late]


def test_an_item_with_another_ticket_is_found_neither_by_pop_nor_by_first() -> None:
    moved, stays = Item("moved", 1), Item("stays", 2)
    heap = heap_of((1, moved), (2, stays))
    moved.ticket = 3
    assert heap.first() == (2, stays.ticket, stays)
    heap = heap_of((1, moved), (2, stays))
    moved.ticket = 4
    assert heap.pop() is stays
    assert heap.pop() is None


def test_an_item_may_be_there_with_several_orders() -> None:
    item = Item("twice", 1)
    heap = heap_of((5, item), (3, item))
    assert heap.pop() is item
    assert heap.first() == (5, item.ticket, item)


def test_what_is_cleared_is_empty() -> None:
    heap = heap_of((1, Item("a", 1)))
    heap.clear()
    assert len(heap) == 0
    assert heap.pop() is None


def test_what_is_out_of_date_is_dropped_when_the_heap_has_doubled() -> None:
    heap: TicketHeap = TicketHeap()
    tickets = count(1)
    stays = [Item(str(number), next(tickets)) for number in range(100)]
    for order, item in enumerate(stays):
        heap.push((order,), item)
    moves = Item("moves")
    for order in range(10_000):
        moves.ticket = next(tickets)
        heap.push((order,), moves)
        assert len(heap) <= 2 * (len(stays) + 1)
    assert sum(heap.pop() is not None for _ in range(200)) == len(stays) + 1


def test_while_it_is_small_nothing_is_looked_through() -> None:
    heap: TicketHeap = TicketHeap()
    moves = Item("moves")
    for number in range(TicketHeap.LEAST):
        moves.ticket = number
        heap.push((0,), moves)
    assert len(heap) == TicketHeap.LEAST
    moves.ticket += 1
    heap.push((0,), moves)
    assert len(heap) == 1


class Watched(Item):
    """Counts how often its ticket is looked at."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "ticket":
            Watched.looks += 1
        return super().__getattribute__(name)


def test_each_push_looks_at_few_entries_however_many_there_are() -> None:
    pushes = 5_000
    heap: TicketHeap = TicketHeap()
    for number in range(pushes):
        heap.push((number,), Watched(str(number), number))
    assert pushes <= Watched.looks < 4 * pushes


@given(
    st.lists(st.tuples(st.sampled_from(["push", "pop", "move"]), st.integers(0, 9)), max_size=90)
)
def test_it_answers_as_a_list_that_is_looked_through(steps: list[tuple[str, int]]) -> None:
    tickets = count(1)
    items = [Item(str(number), next(tickets)) for number in range(10)]
    heap: TicketHeap = TicketHeap()
    plain: list[Any] = []
    for step, number in steps:
        item = items[number]
        if step == "push":
            item.ticket = next(tickets)
            heap.push((number % 3,), item)
            plain.append((number % 3, item.ticket, item))
        elif step == "move":
            item.ticket = next(tickets)
        else:
            valid = sorted(entry for entry in plain if entry[2].ticket == entry[1])
            assert heap.pop() is (valid[0][2] if valid else None)
            plain = valid[1:]
