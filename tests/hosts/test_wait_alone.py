"""How long a crawl waits that cannot ask others for its turn."""

from __future__ import annotations

from math import inf

import pytest
from scrapy import Request

from scrapy_robots_plus.hosts.shared_pace import Ask


@pytest.mark.parametrize(
    ("since", "wait"),
    [(inf, 0.0), (5.0, 0.0), (1.5, 0.5), (0.0, 2.0), (-15.0, 2.0)],
)
def test_as_if_two_crawls_took_turns(since: float, wait: float) -> None:
    """Also while the answer to the last request has not come: it will, long before 15 seconds."""
    asked = Ask("a.example", 1.0, 15.0, since, Request("http://a.example/"))
    assert asked.wait_alone(2) == wait
