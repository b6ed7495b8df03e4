"""The robots.txt files of an audit log, parsed, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.bodies import BodyError
from scrapy_robots_plus.protocol import RobotsTxt
from scrapy_robots_plus.protocol.robotstxt.robotstxt import OVERHEAD

if TYPE_CHECKING:
    from scrapy_robots_plus.audit.bodies import Bodies
    from scrapy_robots_plus.protocol.dialect import Dialect

    Key = tuple[str, str | None, Dialect]

OCTETS = 1024 * 1024
"""Of files that are kept parsed, but at least one file."""


class UndecidedError(Exception):
    """A verdict cannot be recomputed: the message says why."""


class ParsedFiles:
    """Files by hash, charset and dialect; the least recently used are parsed again."""

    def __init__(self, bodies: Bodies | None) -> None:
        self._bodies = bodies
        self._parsed: OrderedDict[Key, RobotsTxt] = OrderedDict()
        self._octets = 0

    def get(self, digest: str, charset: str | None, dialect: Dialect) -> RobotsTxt:
        """The file with this hash. Raises :exc:`UndecidedError` if its text is not to be had."""
        key = (digest, charset, dialect)
        if key in self._parsed:
            self._parsed.move_to_end(key)
            return self._parsed[key]
        file = self._parsed[key] = RobotsTxt.parse(self._text(digest), dialect, charset)
        self._octets += file.size + OVERHEAD
        while self._octets > OCTETS and len(self._parsed) > 1:
            _, dropped = self._parsed.popitem(last=False)
            self._octets -= dropped.size + OVERHEAD
        return file

    def _text(self, digest: str) -> bytes:
        if self._bodies is None:
            raise UndecidedError("no robots.txt files were kept beside the log")
        try:
            return self._bodies.get(digest)
        except BodyError as error:
            raise UndecidedError(str(error)) from None
