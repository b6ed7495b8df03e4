"""What a worker tells the server of requests and hosts."""

from __future__ import annotations

from typing import NamedTuple

_LONGEST = 3.2e9
"""Seconds: a hundred years."""


class Report(NamedTuple):
    """Written as the arguments of ``exchange.lua``, which says what each does.

    Times are seconds.
    """

    arguments: tuple[bytes | str | int, ...]

    @classmethod
    def ended(cls, id_: bytes) -> Report:
        """The request was dealt with. It does not hold its host."""
        return cls(("ended", id_))

    @classmethod
    def freed(cls, id_: bytes, host: str) -> Report:
        """The request was dealt with, and was not sent. If it holds its host, that is free."""
        return cls(("freed", id_, encoded(host)))

    @classmethod
    def back(cls, id_: bytes) -> Report:
        """The request is given back: it was not sent."""
        return cls(("back", id_))

    @classmethod
    def aside(cls, id_: bytes) -> Report:
        """The request cannot be read."""
        return cls(("aside", id_))

    @classmethod
    def pace(cls, id_: bytes, host: str, delay: float) -> Report:
        """*delay* seconds are to be kept between requests to *host*.

        If that is none, the request no longer holds the host.
        """
        return cls(("pace", id_, encoded(host), _milliseconds(delay)))

    @classmethod
    def left(cls, id_: bytes, host: str, ago: float, delay: float) -> Report:
        """The request was sent *ago* seconds ago, and the next may be *delay* seconds after it.

        If *ago* is below 0, it may be under way for that many more seconds.
        """
        passed = int(min(max(ago, -_LONGEST), _LONGEST) * 1000 // 1)
        return cls(("left", id_, encoded(host), passed, _milliseconds(delay)))

    @classmethod
    def pause(cls, host: str, seconds: float) -> Report:
        """Nothing is to be sent to *host* for *seconds* from now."""
        return cls(("pause", encoded(host), _milliseconds(seconds)))


def encoded(host: str) -> bytes:
    """*host* in UTF-8. It may be the name of a slot, which may hold any characters."""
    return host.encode("utf-8", "surrogatepass")


def _milliseconds(seconds: float) -> int:
    """Rounded up, so that no delay is too short."""
    return -int(-min(max(seconds, 0.0), _LONGEST) * 1000 // 1)
