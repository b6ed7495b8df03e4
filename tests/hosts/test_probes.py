"""Tests for the probes of hosts that go on refusing."""

from __future__ import annotations

from scrapy_robots_plus.hosts.probes import Probes


def probes(*, refused: int, served: int) -> Probes:
    """The host has refused and served so many requests at its pace."""
    probes = Probes()
    for number in range(refused + served):
        probes.at_the_pace.append(number < refused)
    return probes


def probe(host: Probes, *, refused: int, served: int) -> int:
    """A probe of which so many requests are refused first. Returns after how many it ends."""
    host.probe(1)
    for number in range(refused + served):
        host.at_full_speed(refused=number < refused)
        if host.ends():
            assert host.phase == -1
            return number + 1
    return 0


def test_a_host_is_probed_once_its_pace_has_cost_enough_while_it_goes_on_refusing() -> None:
    host = probes(refused=Probes.REFUSED, served=10)
    assert not host.is_due
    host.cost += Probes.AFTER
    assert host.is_due


def test_a_host_whose_limit_is_found_is_not_probed() -> None:
    host = probes(refused=Probes.REFUSED, served=Probes.LATEST - Probes.REFUSED + 1)
    host.cost += 3600.0
    assert not host.is_due  # the first refusal is too long ago


def test_a_host_that_refuses_much_more_of_a_probe_needs_its_pace() -> None:
    host = probes(refused=5, served=43)
    assert probe(host, refused=16, served=0) == 7
    assert not host.is_passed


def test_a_host_that_refuses_hardly_more_of_a_probe_does_not() -> None:
    host = probes(refused=5, served=43)
    assert probe(host, refused=6, served=9) == 0
    assert probe(host, refused=6, served=10) == 16
    assert host.is_passed


def watched(refused: int, served: int) -> Probes:
    """A host that has passed a probe, after so many more requests at full speed."""
    host = probes(refused=5, served=43)
    probe(host, refused=0, served=16)
    for number in range(refused + served):
        host.at_full_speed(refused=number < refused)
    return host


def test_a_host_that_has_passed_needs_a_pace_after_all_if_it_refuses_much_more_for_long() -> None:
    assert not watched(Probes.WATCHED - 1, 0).needs_pace_after_all()
    assert not watched(51, Probes.WATCHED - 51).needs_pace_after_all()
    host = watched(52, Probes.WATCHED - 52)
    assert host.needs_pace_after_all()
    assert not host.needs_pace_after_all()


def test_a_host_that_needs_its_pace_is_not_watched() -> None:
    host = probes(refused=5, served=43)
    probe(host, refused=16, served=0)
    for _ in range(Probes.WATCHED):
        host.at_full_speed(refused=True)
    assert not host.needs_pace_after_all()


def test_each_probe_that_was_for_nothing_makes_the_next_one_later() -> None:
    host = Probes()
    for times in (1, 2, 4):
        for answer in range(20):
            host.at_the_pace.append(answer < Probes.REFUSED)
        host.cost += times * Probes.AFTER - 0.1
        assert not host.is_due
        host.cost += 0.1
        assert host.is_due
        assert probe(host, refused=20, served=0)
        assert not host.is_due
