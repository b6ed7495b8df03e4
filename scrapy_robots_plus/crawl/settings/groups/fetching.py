"""How a robots.txt is fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.crawl.settings.checks.kinds import (
    headers,
    number,
    string_keyed,
    whole_number,
)
from scrapy_robots_plus.crawl.settings.setting import setting
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, eq=False)
class Fetching:
    """Fetching robots.txt"""

    fetch_timeout: float = setting(
        "ROBOTS_FETCH_TIMEOUT",
        number("seconds", 0.001, 86_400),
        default=15,
        example=30,
        doc="How long fetching a robots.txt may take: redirects, retries and body together.",
    )
    fetch_retries: int = setting(
        "ROBOTS_FETCH_RETRIES",
        whole_number("retries", 0, 100),
        default=1,
        example=3,
        doc="How many times a failed robots.txt request is sent again without waiting for "
        "`ROBOTS_ERROR_TTL` (`DOWNLOAD_DELAY` still applies). Server errors (5xx) and network "
        "failures are retried. A timeout is not, unless the process itself stood still.",
    )
    fetch_max_bytes: int = setting(
        "ROBOTS_FETCH_MAX_BYTES",
        whole_number("bytes", MAX_BYTES, 2**30, "RFC 9309 2.5: at least 500 KiB"),
        default=MAX_BYTES,
        example=1_048_576,
        doc="How much of a robots.txt is read. The rest is ignored.",
    )
    fetch_meta: Mapping[str, Any] = setting(
        "ROBOTS_FETCH_META",
        string_keyed,
        default={},
        example={"proxy": "http://proxy.example:3128"},
        doc="`Request.meta` of robots.txt requests, such as `proxy`, or what a download handler "
        "needs.",
    )
    fetch_headers: Mapping[str, Any] = setting(
        "ROBOTS_FETCH_HEADERS",
        headers,
        default={},
        example={"Accept-Language": "en"},
        doc="HTTP headers of robots.txt requests.",
    )
