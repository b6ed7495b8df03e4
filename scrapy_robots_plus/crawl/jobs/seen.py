"""Which requests a job has seen: their fingerprints, in its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.job import JobFileError

if TYPE_CHECKING:
    from scrapy import Request

    from .lanes_in_file import LanesInFile


class SeenRequests:
    """A fingerprint is in the file together with its request, or not at all."""

    def __init__(self, lanes: LanesInFile) -> None:
        self._lanes = lanes
        self._last: tuple[Request, bytes] | None = None
        """The last request that was new, and its fingerprint."""
        self._not_in_file: set[bytes] = set()
        """Fingerprints of requests that only memory holds."""

    def add(self, request: Request, fingerprint: bytes) -> bool:
        """Whether *fingerprint* is new."""
        if fingerprint in self._not_in_file:
            return False
        try:
            is_new = self._lanes.file.see(fingerprint)
        except JobFileError as error:
            self._lanes.fail(error)
            return True
        if is_new:
            self._last = (request, fingerprint)
        return is_new

    def stays_in_memory(self, request: Request) -> None:
        """*request* could not be written: nor is its fingerprint, so that it can come again."""
        if self._last is None or request is not self._last[0]:
            return
        fingerprint = self._last[1]
        self._not_in_file.add(fingerprint)
        self._lanes.ask(lambda: self._lanes.file.forget(fingerprint), otherwise=None)
