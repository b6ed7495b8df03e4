"""The parsers that are measured, behind one face."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.robotparser import RobotFileParser

from scrapy_robots_plus.protocol import RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = "scrapy-robots-plus"


class Peer(NamedTuple):
    """A parser: ``parse(body)``, then ``allowed(parsed, url, agent)``."""

    name: str
    parse: Callable[[bytes], Any]
    allowed: Callable[[Any, str, str], bool]


def _text(body: bytes) -> str:
    return body.decode("utf-8", "ignore")


def _standard(body: bytes) -> RobotFileParser:
    parser = RobotFileParser()
    parser.parse(_text(body).splitlines())
    return parser


def _protego() -> Peer:
    from protego import Protego

    return Peer(
        "Protego",
        lambda body: Protego.parse(_text(body)),
        lambda parsed, url, agent: parsed.can_fetch(url, agent),
    )


def _rerp() -> Peer:
    from robotexclusionrulesparser import RobotExclusionRulesParser

    def parse(body: bytes) -> RobotExclusionRulesParser:
        parser = RobotExclusionRulesParser()
        parser.parse(_text(body))
        return parser

    return Peer(
        "robotexclusionrulesparser",
        parse,
        lambda parsed, url, agent: parsed.is_allowed(agent, url),
    )


def _robotspy() -> Peer:
    from robots import RobotsParser

    return Peer(
        "robotspy",
        lambda body: RobotsParser.from_string(_text(body)),
        lambda parsed, url, agent: parsed.can_fetch(agent, url),
    )


def _ours() -> Peer:
    return Peer(OURS, RobotsTxt.parse, lambda parsed, url, agent: parsed.allowed(url, agent))


def _urllib() -> Peer:
    return Peer(
        "urllib.robotparser",
        _standard,
        lambda parsed, url, agent: parsed.can_fetch(agent, url),
    )


def peers() -> tuple[list[Peer], list[str]]:
    """Those that are installed, ours first, and what was said of those that are not."""
    found, missing = [], []
    for make in (_ours, _protego, _rerp, _robotspy, _urllib):
        try:
            found.append(make())
        except ImportError as error:  # noqa: PERF203 - five times
            missing.append(str(error))
    return found, missing
