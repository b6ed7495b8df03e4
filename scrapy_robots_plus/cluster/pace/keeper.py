"""What a pace is kept in that processes share: a file, or a server."""

from __future__ import annotations

from typing import Protocol


class PaceError(Exception):
    """The shared pace cannot be asked now. The message says why, without a password."""


class PaceKeeper(Protocol):
    """Keeps the :class:`.Turns` of hosts. Each method may wait, and may raise :exc:`PaceError`."""

    def ask(self, host: str, ticket: str, delay: float, patience: float | None) -> float:
        """See :meth:`.Turns.ask`."""

    def left(self, host: str, ticket: str, ago: float, delay: float) -> None:
        """See :meth:`.Turns.left`."""

    def unused(self, host: str, ticket: str, ago: float) -> None:
        """See :meth:`.Turns.unused`."""

    def leave_alone(self, host: str, seconds: float) -> None:
        """See :meth:`.Turns.leave_alone`."""

    def close(self) -> None:
        """Never raises."""
