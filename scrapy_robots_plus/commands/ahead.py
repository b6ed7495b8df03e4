"""Asks for the robots.txt of many URLs side by side, although they are answered one by one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from scrapy_robots_plus import compat

from .answers import origin_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy_robots_plus.origins.policies import Policies

WINDOW = 5_000
"""URLs that are looked at ahead of the one to answer."""

TURN = 100
"""URLs that are answered before everything else gets a turn."""


async def asked_ahead(urls: AsyncIterator[str], policies: Policies) -> AsyncIterator[str]:
    """*urls*, each returned when the robots.txt of those that follow are being fetched."""
    window: deque[str] = deque()
    answered = 0
    async for url in urls:
        _ask(url, policies)
        window.append(url)
        if len(window) > WINDOW:
            answered += 1
            yield window.popleft()
            if answered % TURN == 0:
                await compat.sleep(0)
    while window:
        yield window.popleft()


def _ask(url: str, policies: Policies) -> None:
    """Starts the fetch that the answer needs, if no other URL has started it."""
    try:
        _, origin = origin_of(url)
    except ValueError:
        return
    if origin is not None and policies.usable(origin) is None and not policies.is_fetching(origin):
        compat.run_in_background(policies.obtain(origin))
