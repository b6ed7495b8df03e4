"""The turns of many hosts, in memory."""

from __future__ import annotations

from .turns import Turns

LEAST = 1_000
"""Up to this many hosts are kept without checking whether they are still of use."""


class Hosts:
    """Forgets hosts that nobody has asked lately: what is kept is at most twice what is of use."""

    def __init__(self) -> None:
        self._turns: dict[str, Turns] = {}
        self._most = LEAST

    def __len__(self) -> int:
        return len(self._turns)

    def of(self, host: str, now: float) -> Turns:
        """The turns of *host*, new ones if there are none."""
        turns = self._turns.get(host)
        if turns is None:
            if len(self._turns) >= self._most:
                self._forget(now)
            turns = self._turns[host] = Turns()
        return turns

    def _forget(self, now: float) -> None:
        self._turns = {
            host: turns for host, turns in self._turns.items() if now < turns.useful_until
        }
        self._most = max(LEAST, 2 * len(self._turns))
