"""The time that all processes of one machine agree on."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Moment(NamedTuple):
    """A time that another process can compare with its own."""

    boot: str
    """Which start of which machine ``monotonic`` counts from; empty if that is not known."""
    monotonic: float
    wall: float
    """Seconds since the epoch."""

    def since(self, boot: str, monotonic: float, wall: float) -> float:
        """Seconds from an earlier moment to this one, at least 0.

        Whoever sets the clock of the machine does not change how long ago something was. Where the
        system does not say which start of the machine it is, or it is another one, the wall clock
        has to do; if it was set back, no time seems to have passed, and nothing is in the future.
        """
        if boot and boot == self.boot:
            return max(0.0, self.monotonic - monotonic)
        return max(0.0, self.wall - wall)


def _boot_id() -> str:
    with suppress(OSError, UnicodeError):
        return _BOOT_ID.read_text().strip()
    return ""


class MachineClock:
    """Tells the moment."""

    def __init__(
        self,
        boot: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """*boot*: as in :class:`Moment`; None: what Linux says."""
        self._boot = _boot_id() if boot is None else boot
        self._monotonic = monotonic
        self._wall = wall

    def now(self) -> Moment:
        return Moment(self._boot, self._monotonic(), self._wall())


THIS_MACHINE = MachineClock()
