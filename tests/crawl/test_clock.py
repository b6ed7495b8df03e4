"""An alarm rings once, at the earliest moment that it was set to. Nothing waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.crawl.clock import Alarm

if TYPE_CHECKING:
    from collections.abc import Callable


class Call:
    def __init__(self, at: float, function: Callable[[], object]) -> None:
        self.at = at
        self.function: Callable[[], object] | None = function

    def cancel(self) -> None:
        self.function = None


class World:
    """A moment that the test sets, and the alarm under test."""

    def __init__(self) -> None:
        self.now = 100.0
        self.calls: list[Call] = []
        self.rings: list[float] = []
        self.alarm = Alarm(lambda: self.rings.append(self.now), lambda: self.now, self._call_later)

    def _call_later(self, delay: float, function: Callable[[], object]) -> Call:
        self.calls.append(Call(self.now + delay, function))
        return self.calls[-1]

    def run(self) -> None:
        """Calls all that is to be called, in order."""
        for call in sorted(self.calls, key=lambda call: call.at):
            if call.function is not None:
                self.now = call.at
                call.function()
        self.calls.clear()


def test_it_rings_at_the_moment_it_was_set_to() -> None:
    world = World()
    assert world.alarm.at is None
    world.alarm.set(103.0)
    assert world.alarm.at == 103.0
    world.run()
    assert world.rings == [103.0]
    assert world.alarm.at is None


@pytest.mark.parametrize("moments", [(103.0, 107.0), (107.0, 103.0), (103.0, 103.0)])
def test_the_earliest_of_several_moments_counts(moments: tuple[float, ...]) -> None:
    world = World()
    for moment in moments:
        world.alarm.set(moment)
    world.run()
    assert world.rings == [103.0]


def test_it_can_be_set_again_after_it_has_rung() -> None:
    world = World()
    for moment in (103.0, 105.0):
        world.alarm.set(moment)
        world.run()
    assert world.rings == [103.0, 105.0]


def test_it_does_not_ring_once_it_is_cancelled() -> None:
    world = World()
    world.alarm.set(103.0)
    world.alarm.cancel()
    world.alarm.cancel()
    world.run()
    assert world.rings == []
    assert world.alarm.at is None


@pytest.mark.parametrize("moment", [99.0, 100.0, 100.0 + Alarm.LEAST / 2])
def test_what_is_due_already_comes_in_another_turn_of_the_loop(moment: float) -> None:
    world = World()
    world.alarm.set(moment)
    assert world.rings == []
    world.run()
    assert world.rings == [100.0 + Alarm.LEAST]
