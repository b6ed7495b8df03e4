"""Names of hosts: what Scrapy's default resolver has found, and finds now."""

from __future__ import annotations

from math import inf
from typing import Any

from scrapy.resolver import CachingThreadedResolver, dnscache
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.base import ThreadedResolver
from twisted.internet.error import DNSLookupError

from .loops import wait_for


def last_name_found() -> str | None:
    """The name whose address was found last; None if nobody knows, as with other resolvers.

    Needed by 2.14 to 2.19. Can go when a resolver can be asked past its cache.
    """
    found = reversed(dnscache.items())
    return next((name for name, address in found if name != address), None)


def is_name_found(name: str) -> bool:
    """Whether the address of *name* was found. Needed and can go as :func:`last_name_found`."""
    return name in dnscache


def most_look_ups() -> float:
    """How many names are looked up at the same time; infinity if nobody knows, as with other
    resolvers. Needed and can go as :func:`last_name_found`.
    """
    if not is_reactor_installed():
        return inf
    from twisted.internet import reactor

    reactor_: Any = reactor
    is_known = type(getattr(reactor_, "resolver", None)) is CachingThreadedResolver
    return reactor_.getThreadPool().max if is_known else inf


async def finds_again(name: str, seconds: float) -> bool:
    """Whether the address of *name*, of :func:`last_name_found`, is found within *seconds* by who
    is asked anew. Needed and can go as that.
    """
    from twisted.internet import reactor  # the one that has found it

    resolver = getattr(reactor, "resolver", None)
    if type(resolver) is not CachingThreadedResolver:
        return True
    try:
        # It takes parts of seconds, too.
        limit: Any = (seconds,)
        await wait_for(ThreadedResolver.getHostByName(resolver, name, limit))
    except DNSLookupError:
        return False
    return True
