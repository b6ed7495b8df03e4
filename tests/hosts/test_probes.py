"""Tests for the probes of hosts that go on refusing."""

from __future__ import annotations

from scrapy_robots_plus.hosts.probes import Probes


def probes(*, refused: int, served: int) -> Probes:
    """The host has refused and served so many requests at its pace."""
    probes = Probes()
    for number in range(refused + served):
        probes.at_the_pace(refused=number < refused)
    return probes


def probe(of: Probes, *, refused: int, served: int) -> list[bool | None]:
    """A probe of which so many requests are refused first. What each answer says."""
    of.probe(1)
    said = []
    for number in range(refused + served):
        said.append(of.at_full_speed(refused=number < refused))
        if said[-1] is not None:
            break
    return said


def test_a_host_is_probed_once_its_pace_has_cost_enough_while_it_goes_on_refusing() -> None:
    host = probes(refused=Probes.REFUSED, served=10)
    assert not host.is_due
    host.cost(Probes.AFTER)
    assert host.is_due


def test_a_host_whose_limit_is_found_is_not_probed() -> None:
    host = probes(refused=Probes.REFUSED, served=Probes.LATEST - Probes.REFUSED + 1)
    host.cost(3600.0)
    assert not host.is_due  # the first refusal is too long ago


def test_a_host_that_refuses_much_more_of_a_probe_needs_its_pace() -> None:
    host = probes(refused=5, served=43)
    assert probe(host, refused=16, served=0) == [*[None] * 5, True]
    assert host.phase == -1
    assert not host.passed


def test_a_host_that_refuses_hardly_more_of_a_probe_does_not() -> None:
    host = probes(refused=5, served=43)
    for number in (1, 2):
        assert probe(host, refused=5, served=11) == [*[None] * 15, False]
        assert host.phase == -1
        assert host.passed == number


def test_each_probe_that_was_for_nothing_makes_the_next_one_later() -> None:
    host = Probes()
    for number in (1, 2, 3):
        for answer in range(20):
            host.at_the_pace(refused=answer < Probes.REFUSED)
        host.cost(number * Probes.AFTER - 0.1)
        assert not host.is_due
        host.cost(0.1)
        assert host.is_due
        assert probe(host, refused=20, served=0)[-1]
        assert not host.is_due
