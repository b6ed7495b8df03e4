"""Times as users write them."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from scrapy_robots_plus.commands.errors import WrongUsageError

_AGE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(s|min|h|d|w)")
_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}


def moment_in(text: str, now: float) -> float:
    """Seconds since the epoch of ``2026-11-20``, ``2026-11-20T18:00`` (UTC unless it says
    otherwise), or ``30d``, which is 30 days before *now*.

    Raises WrongUsageError.
    """
    age = _AGE.fullmatch(text)
    if age:
        return now - float(age[1]) * _SECONDS[age[2]]
    try:
        moment = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))
    except ValueError:
        raise WrongUsageError(
            f"{text!r}: expected a date (2026-11-20), a time (2026-11-20T18:00), or an age (30d, "
            "12h, 90min, 10s)"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return moment.timestamp()
