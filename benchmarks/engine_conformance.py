"""The engine as the conformance runners want it: ``allowed(body, agent, url) -> bool``.

    run_differential.py engine_conformance:rfc9309 --path . --path benchmarks
    run_cases.py engine_conformance:google --path . --path benchmarks

The reference parser reads files of any size, so these read whole files as well.
"""

from __future__ import annotations

from functools import lru_cache

from scrapy_robots_plus.protocol import DIALECTS, RobotsTxt


@lru_cache(maxsize=4)
def _parse(body: bytes, dialect: str) -> RobotsTxt:
    return RobotsTxt.parse(body, DIALECTS[dialect], max_bytes=None)


def rfc9309(body: bytes, agent: str, url: str) -> bool:
    """For truth "rfc"."""
    return _parse(body, "RFC9309").allowed(url, agent)


def google(body: bytes, agent: str, url: str) -> bool:
    """For truth "plain" and google's cases."""
    return _parse(body, "GOOGLE").allowed(url, agent)


def gym2008(body: bytes, agent: str, url: str) -> bool:
    """robotexclusionrulesparser's default syntax."""
    return _parse(body, "GYM2008").allowed(url, agent)
