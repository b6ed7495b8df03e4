"""Host names: those that Scrapy's default resolver has found, and those that it finds now."""

from __future__ import annotations

from math import inf
from typing import Any

from scrapy.resolver import CachingThreadedResolver, dnscache
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.base import ThreadedResolver
from twisted.internet.error import DNSLookupError

from .loops import wait_for


def last_name_found() -> str | None:
    """Returns the host name that was resolved last; None if not known, as with other resolvers.

    Needed for Scrapy 2.14 to 2.19. Remove when a resolver can be asked past its cache.
    """
    found = reversed(dnscache.items())
    return next((name for name, address in found if name != address), None)


def is_name_found(name: str) -> bool:
    """Returns whether *name* was resolved. Needed as long as :func:`last_name_found`."""
    return name in dnscache


def most_look_ups() -> float:
    """Returns how many names can be looked up at a time; infinity if not known.

    It is not known with other resolvers. Needed as long as :func:`last_name_found`.
    """
    if not is_reactor_installed():
        return inf
    from twisted.internet import reactor

    reactor_: Any = reactor
    is_known = type(getattr(reactor_, "resolver", None)) is CachingThreadedResolver
    return reactor_.getThreadPool().max if is_known else inf


async def resolves_again(name: str, seconds: float) -> bool:
    """Returns whether *name*, of :func:`last_name_found`, is found again within *seconds*.

    The resolver's cache is not asked. Needed as long as that function.
    """
    from twisted.internet import reactor  # the one that found *name*

    resolver = getattr(reactor, "resolver", None)
    if type(resolver) is not CachingThreadedResolver:
        return True
    try:
        # Fractions of a second are fine, although the annotation says int.
        limit: Any = (seconds,)
        await wait_for(ThreadedResolver.getHostByName(resolver, name, limit))
    except DNSLookupError:
        return False
    return True
