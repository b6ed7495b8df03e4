"""The names of Scrapy that this package needs and that may change: all of them, in one place.

They are looked at when a crawl starts, so that a Scrapy without one of them ends it with a message
that says so. What is only looked up where it is there, such as the pools of download handlers, is
not among them: without it, a part does nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scrapy
import scrapy.core.downloader as downloader_module

from .slots import throttler_of

if TYPE_CHECKING:
    from scrapy.core.downloader import Downloader

NEEDED: dict[str, tuple[str, ...]] = {
    "Downloader": (
        "active",
        "total_concurrency",
        "handlers._get_handler",
        "handlers._handlers",
        "handlers.download_request_async",
        "middleware.methods",
    ),
    "Throttler": ("crawler", "get_scope_load", "get_scope_manager", "get_scopes_key", "release"),
    "Downloader with a throttler": ("_in_download_handler",),
    "Downloader without a throttler": (
        "get_slot_key",
        "slots",
        "per_slot_settings",
        "domain_concurrency",
        "ip_concurrency",
        "_process_queue",
    ),
    "Slot": (
        "concurrency",
        "delay",
        "lastseen",
        "queue",
        "transferring",
        "free_transfer_slots",
        "close",
    ),
    "ExecutionEngine": (
        "spider",
        "paused",
        "downloader",
        "scraper.enqueue_scrape",
        "scraper.slot",
        "download_async",
        "close_spider_async",
        "_slot.closing",
        "_slot.inprogress",
        "_slot.scheduler",
        "_slot.nextcall.schedule",
    ),
    "ScrapyPriorityQueue": ("_start_queues", "curprio", "queues"),
    "SitemapSpider": ("_parse_sitemap",),
}
"""Names of objects of a running crawl. Those of modules are imported, and missed at once. A crawl
has a throttler, or slots; few have one of the last two."""


class MissingNamesError(Exception):
    """This version of Scrapy lacks names that this package needs."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"Scrapy {scrapy.__version__} lacks what this version of scrapy-robots-plus needs: "
            f"{', '.join(names)}. Install a version of Scrapy that it supports, or a newer "
            "scrapy-robots-plus"
        )


def check_names(owner: str, instance: object) -> None:
    """Raises MissingNamesError if *instance*, in a crawl that starts, lacks a name of *owner*."""
    missing = [name for name in NEEDED[owner] if not _has(instance, name)]
    if missing:
        raise MissingNamesError([f"{owner.split()[0]}.{name}" for name in missing])


def check_downloader(downloader: Downloader) -> None:
    """Likewise for a downloader, and for the slots that it will have."""
    check_names("Downloader", downloader)
    throttler = throttler_of(downloader)
    if throttler is not None:
        check_names("Throttler", throttler)
        check_names("Downloader with a throttler", downloader)
        return
    check_names("Downloader without a throttler", downloader)
    try:
        slot = downloader_module.Slot(1, 0.0, 0.0)
    except (AttributeError, TypeError):
        raise MissingNamesError(["Slot"]) from None
    check_names("Slot", slot)


def _has(instance: Any, path: str) -> bool:
    for name in path.split("."):
        if not hasattr(instance, name):
            return False
        instance = getattr(instance, name)
    return True
