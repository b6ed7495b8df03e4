"""Which hosts belong to the same site."""

from __future__ import annotations

from functools import lru_cache

from tldextract import TLDExtract

_REMEMBERED = 4_096
"""Hosts whose site is remembered."""

# The copy of the public suffix list that comes with tldextract, which would otherwise download it
# and write it to disk. A host of its own below github.io is a site of its own, as in browsers.
_extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


@lru_cache(_REMEMBERED)
def site_of(host: str) -> str | None:
    """The registrable domain of *host*; None if it has none, as IP addresses and localhost."""
    parts = _extract(host)
    return f"{parts.domain}.{parts.suffix}" if parts.domain and parts.suffix else None


def are_of_one_site(one: str, other: str) -> bool:
    """Whether two hosts are the same, or have the same registrable domain."""
    return one == other or (site_of(one) is not None and site_of(one) == site_of(other))
