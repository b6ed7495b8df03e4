"""Which lanes a job's file holds, as long as the file can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from . import Contents, JobFile, JobFileError, LaneRow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


_Result = TypeVar("_Result")


class LanesInFile:
    """Asks the file about lanes. Once it has failed, it holds nothing more."""

    def __init__(self, file: JobFile, failed: Callable[[JobFileError], None]) -> None:
        """*failed* is called once, when the file cannot be used any longer."""
        self.file = file
        self._failed = failed
        self.has_failed = False

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def held(self) -> int:
        """How many requests wait."""
        return self.file.held

    @property
    def asleep(self) -> int:
        """How many lanes only the file knows; 0 once it has failed."""
        return 0 if self.has_failed else self.file.asleep

    def holds(self, lane: str) -> bool:
        """Whether a request waits in *lane*."""
        return bool(self.ask(lambda: self.file.holds(lane), otherwise=False))

    def contents(self, lane: str) -> Contents:
        """What waits in *lane*."""
        return self.ask(lambda: self.file.contents(lane), otherwise={})

    def names(self) -> list[str]:
        """Of all lanes. They are asleep afterwards."""
        names: list[str] = []
        while rows := self.wake(1_000):
            names += (row.name for row in rows)
        for name in names:
            self.sleep(name)
        return names

    def wake(self, most: int) -> list[LaneRow]:
        """The next lanes that are asleep."""
        return self.ask(lambda: self.file.wake(most), otherwise=[])

    def wake_one(self, lane: str) -> None:
        """*lane* is awake from now on."""
        self.ask(lambda: self.file.wake_one(lane), otherwise=None)

    def sleep(self, lane: str) -> None:
        """*lane* sleeps, behind all of its priority that are asleep now."""
        self.ask(lambda: self.file.sleep(lane), otherwise=None)

    def search(self) -> None:
        """Call it when requests are held, and no lane holds them: the file must be damaged."""
        self.ask(self.file.search, otherwise=None)

    def ask(self, use: Callable[[], _Result], *, otherwise: _Result) -> _Result:
        """What *use* of the file returns, or *otherwise* if the file has failed."""
        if not self.has_failed:
            try:
                return use()
            except JobFileError as error:
                self.fail(error)
        return otherwise

    def fail(self, error: JobFileError) -> None:
        """The file cannot be used any longer."""
        if not self.has_failed:
            self.has_failed = True
            self._failed(error)
