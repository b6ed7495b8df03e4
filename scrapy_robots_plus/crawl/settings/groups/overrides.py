"""What is different for some hosts, and whether anything is enforced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.settings.checks.kinds import one_of
from scrapy_robots_plus.crawl.settings.overrides import overrides
from scrapy_robots_plus.crawl.settings.setting import setting
from scrapy_robots_plus.policy.options import Mode

if TYPE_CHECKING:
    from scrapy_robots_plus.policy.host_patterns import HostPatterns
    from scrapy_robots_plus.policy.override import Override


@dataclass(frozen=True, eq=False)
class Overriding:
    """Overrides"""

    overrides: HostPatterns[Override] = setting(
        "ROBOTS_OVERRIDES",
        overrides,
        default={},
        example={"intranet.example": {"obey": False, "reason": "our own site"}},
        doc="What is different for some hosts: a dict for each, with `obey` and its `reason`, "
        "`user_agent`, `dialect`, `status_policy`, `crawl_delay`, `default_delay`, `robots_txt`, "
        "`ai_uses`, `ai_policy`, `use_tokens`, "
        "`nofollow`, `noindex`. See [overrides](overrides.md).",
    )
    mode: Mode = setting(
        "ROBOTS_MODE",
        one_of(Mode),
        default="obey",
        example="audit",
        doc="Whether robots.txt is enforced. `obey` does so. `audit` sends every request at once, "
        "and only counts and logs what would have been denied. See "
        "[audit mode](overrides.md#audit-mode).",
    )
