"""The policies in memory: those of the most recently used origins."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_robots_plus.policy.origin import Origin

    from .policy import Policy


class RecentPolicies:
    """At most *size* of them; *evicted* is called for each that had to go."""

    def __init__(self, size: int, evicted: Callable[[], None]) -> None:
        self._size = size
        self._evicted = evicted
        self._policies: OrderedDict[Origin, Policy] = OrderedDict()
        self._unused: set[Origin] = set()
        """Origins that no request has used yet: the first one will have waited."""

    def __iter__(self) -> Iterator[Policy]:
        return iter(list(self._policies.values()))

    def __len__(self) -> int:
        return len(self._policies)

    def get(self, origin: Origin) -> Policy | None:
        return self._policies.get(origin)

    def put(self, policy: Policy) -> None:
        """Keeps *policy* as one that no request has used."""
        self._policies[policy.origin] = policy
        self._policies.move_to_end(policy.origin)
        self._unused.add(policy.origin)
        while len(self._policies) > self._size:
            evicted, _ = self._policies.popitem(last=False)
            self._unused.discard(evicted)
            self._evicted()

    def touch(self, origin: Origin) -> None:
        """The policy of *origin*, which is kept, is needed now."""
        self._policies.move_to_end(origin)

    def was_used(self, origin: Origin) -> bool:
        """Whether a request has used the policy of *origin*."""
        return origin in self._policies and origin not in self._unused

    def mark_used(self, origin: Origin) -> None:
        """A request has used the policy of *origin*."""
        self._unused.discard(origin)
