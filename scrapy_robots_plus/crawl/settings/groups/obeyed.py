"""What is obeyed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.settings.checks.kinds import boolean
from scrapy_robots_plus.crawl.settings.checks.reading_rules import dialect, user_agent
from scrapy_robots_plus.crawl.settings.setting import setting
from scrapy_robots_plus.protocol.dialect import DIALECTS

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.dialect import Dialect


@dataclass(frozen=True, eq=False)
class Obeyed:
    """What is obeyed"""

    obey: bool = setting(
        "ROBOTSTXT_OBEY",
        boolean,
        default=True,
        example=False,
        doc="Drop requests that robots.txt disallows. Scrapy's own default is `False`; the add-on "
        "sets it to `True` unless your project sets it. With `False` nothing is fetched and "
        "nothing dropped; delays are still honoured if `ROBOTS_CRAWL_DELAY` is `True`.",
    )
    user_agent: str | tuple[str, ...] | None = setting(
        "ROBOTSTXT_USER_AGENT",
        user_agent,
        default=None,
        example="Foobot",
        doc="The name of your crawler in robots.txt: a product token, a whole User-Agent header, "
        "or a list of names in order of preference. `Foobot,Barbot` is a list too. If unset, the "
        "User-Agent header of each request is used.",
    )
    dialect: Dialect = setting(
        "ROBOTS_DIALECT",
        dialect,
        default="RFC9309",
        example="GOOGLE",
        doc=f"How a file is read: {', '.join(f'`{name}`' for name in DIALECTS)}, or a "
        "`scrapy_robots_plus.protocol.Dialect`. See [dialects](dialects.md).",
    )
