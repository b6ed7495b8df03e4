"""What is obeyed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.settings.checks import boolean, dialect, user_agent
from scrapy_robots_plus.crawl.settings.setting import setting

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.dialect import Dialect


@dataclass(frozen=True)
class Obeyed:
    """What is obeyed"""

    obey: bool = setting(
        "ROBOTSTXT_OBEY",
        boolean,
        default=True,
        example=False,
        doc="Drop what robots.txt disallows. The add-on turns it on where the project does not "
        "say.",
    )
    user_agent: str | tuple[str, ...] | None = setting(
        "ROBOTSTXT_USER_AGENT",
        user_agent,
        default=None,
        example="Foobot",
        doc="The product token to look for, or a whole User-Agent header, or a list of them in "
        "order of preference (`Foobot,Barbot` is a list too). Unset: the header that each "
        "request is sent with.",
    )
    dialect: Dialect = setting(
        "ROBOTS_DIALECT",
        dialect,
        default="RFC9309",
        example="GOOGLE",
        doc="How a file is read: `RFC9309`, `GOOGLE`, `GYM2008`, `MK1996`, `FIRST_MATCH`, or a "
        "`scrapy_robots_plus.protocol.Dialect`.",
    )
