"""The names of the keys."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Keys:
    """All begin with the *key* of scrapy-redis's queue, and lie in its hash slot.

    So a script may touch all of them in a Redis Cluster, too
    (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
    """

    key: str

    @property
    def base(self) -> str:
        return self.key if _has_hash_tag(self.key) else f"{{{self.key}}}"

    @property
    def due(self) -> str:
        """Sorted set: the hosts whose pace is known, by when they may be asked next."""
        return f"{self.base}:due"

    @property
    def new(self) -> str:
        """The same of the hosts whose pace is unknown."""
        return f"{self.base}:new"

    @property
    def pace(self) -> str:
        """Hash: of each host its delay, when it may be asked next, and what holds it."""
        return f"{self.base}:pace"

    @property
    def workers(self) -> str:
        """Sorted set: the workers, by how long each is taken to be alive."""
        return f"{self.base}:workers"

    @property
    def aside(self) -> str:
        """List: requests that no worker could read."""
        return f"{self.base}:aside"

    @property
    def lost(self) -> str:
        """String: how many requests were lost with their keys."""
        return f"{self.base}:lost"

    @property
    def terms(self) -> str:
        """Hash: settings that must be equal in all workers, as the first of them has them."""
        return f"{self.base}:terms"

    @property
    def clock(self) -> str:
        """String: when the time was last written, and how far ahead of the server's it is."""
        return f"{self.base}:clock"

    def out(self, worker: str) -> str:
        """Hash: the requests that a worker has."""
        return f"{self.base}:out:{worker}"


def _has_hash_tag(key: str) -> bool:
    opening = key.find("{")
    return opening >= 0 and key.find("}", opening) > opening + 1
