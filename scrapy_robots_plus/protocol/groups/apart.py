"""Which lines about uses stand apart from the groups, and are meant for everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lines.kinds import ABOUT_USES, FILE_WIDE, Kind
from scrapy_robots_plus.protocol.lines.lines import Line, read_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.dialect import Dialect


def lines_apart(lines: list[bytes], dialect: Dialect) -> Iterator[Line]:
    """The Content-Usage and Content-Signal lines above the first user-agent line, or behind a blank
    line that ends a group for whoever reads the file.

    RFC 9309 has them in no group, or in the group above (2.1, 2.2.4).
    """
    apart, has_group, has_only_agents = True, False, False
    for number, text in enumerate(lines, 1):
        line = read_line(number, text, dialect)
        if line is None or line.kind is Kind.NOTHING:
            # A blank line between user-agent lines and the rest of their group does not end it.
            apart = apart or not (text.strip() or has_only_agents)
        elif line.kind is Kind.USER_AGENT:
            apart, has_group, has_only_agents = False, True, True
        elif line.kind in ABOUT_USES and apart:
            yield line
        elif line.kind not in FILE_WIDE:
            apart, has_only_agents = apart and not has_group, False
