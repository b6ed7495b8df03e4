"""The turns of many hosts: those that nobody asks any more are forgotten."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.cluster.pace import hosts as module
from scrapy_robots_plus.cluster.pace.hosts import Hosts

NOW = 1000.0


def test_a_host_keeps_its_turns() -> None:
    hosts = Hosts()
    assert hosts.of("a.example", NOW) is hosts.of("a.example", NOW + 1)
    assert hosts.of("b.example", NOW) is not hosts.of("a.example", NOW)


def test_what_is_of_no_use_any_more_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST", 4)
    hosts = Hosts()
    for number in range(100):
        hosts.of(f"{number}.example", NOW + 100 * number).ask("a/0", 1.0, 0.0, NOW + 100 * number)
    assert len(hosts) <= 4


def test_what_is_of_use_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST", 4)
    hosts = Hosts()
    for number in range(100):
        hosts.of(f"{number}.example", NOW).ask("a/0", 1.0, 0.0, NOW)
    assert len(hosts) == 100
    assert hosts.of("0.example", NOW).ask("b/0", 1.0, 0.0, NOW) == 1.0
