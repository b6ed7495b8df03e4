"""A policy in words, as logs and tables show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings
    from scrapy_robots_plus.storage.record import RobotsRecord

_MOST_OF_A_REASON = 60
"""Characters of the reason of an override that are shown."""


def status_of(record: RobotsRecord, settings: RobotsSettings) -> str:
    """``200``, ``timeout``, ``200, now 503``, ``own text``, ``not asked``."""
    if not settings.needs_file:
        return "not asked" if settings.robots_txt is None else "own text"
    return answer_in(record)


def answer_in(record: RobotsRecord) -> str:
    """``200``, ``timeout``, ``200, now 503``."""
    if record.failure is None or not record.readable:
        return str(record.outcome)
    return f"{record.outcome}, now {record.failure}"


def described(record: RobotsRecord, access: Access, settings: RobotsSettings) -> str:
    """The status and what follows from it, and the override that it is seen under."""
    label = settings.override.label if settings.override else None
    override = f" (override: {printable(label, _MOST_OF_A_REASON)})" if label else ""
    return _follows(record, access, settings) + override


def _follows(record: RobotsRecord, access: Access, settings: RobotsSettings) -> str:
    if not settings.needs_file:
        return "own text" if settings.obey else "not obeyed"
    if access is Access.UNREACHABLE:
        # Without ROBOTSTXT_OBEY nothing is denied.
        follows = "all denied" if settings.obey else "no rules"
        return f"{record.outcome if record.failure is None else record.failure}, {follows}"
    follows = "rules" if access is Access.RULES else "all allowed"
    is_outage = record.failure is not None and record.readable
    return f"{record.outcome}, {follows}" + (f", now {record.failure}" if is_outage else "")
