"""The spider middleware that puts the stamp of a page into its items."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.python import global_object_name

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.requests import STAMP_META_KEY
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings.scrapys_own import is_replaced

from .stamp import NOT_CHECKED

logger = crawl_log(__name__)


class ItemStamp(dict[str, Any]):
    """A stamp in an item. As text, in a cell of a CSV file for example, it is JSON.

    Copied or pickled, it becomes a plain dict.
    """

    def __str__(self) -> str:
        return json.dumps(self)

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)


class RobotsItemMiddleware(BaseSpiderMiddleware):
    """Spider middleware that stores ``response.meta["robots"]`` in the items of the response.

    The field is that of ``ROBOTS_ITEM_FIELD``; if that is None,
    :exc:`~scrapy.exceptions.NotConfigured` is raised. Items may be of any kind that Scrapy takes.
    An item keeps a value that it has in the field, unless that is None or an empty dict or string.
    Items of requests that were not checked stay as they are, unless the setting ends in ``:json``.

    Raises :class:`~scrapy_robots_plus.RobotsSettingsError` if settings are wrong.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        field = Crawl.of(crawler).settings.item_field
        if field is None or is_replaced(type(self), crawler.settings, "SPIDER_MIDDLEWARES"):
            raise NotConfigured
        self._field, _, form = field.partition(":")
        self._is_text = form == "json"
        self._once = Once()

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Stores the stamp in *item*, and returns it. Called by Scrapy with each item."""
        request = None if response is None else response.request
        stamp = None if request is None else request.meta.get(STAMP_META_KEY)
        if stamp is not None or self._is_text:
            self._put(item, NOT_CHECKED if stamp is None else stamp)
        return item

    def _put(self, item: Any, stamp: dict[str, Any]) -> None:
        from itemadapter import ItemAdapter  # not needed by a crawl without items

        if not ItemAdapter.is_item(item):
            return
        try:
            adapter = ItemAdapter(item)
            with suppress(AttributeError):  # a dataclass field that has no value yet
                if adapter.get(self._field) not in (None, {}, ""):
                    return
            value = json.dumps(stamp) if self._is_text else ItemStamp(deepcopy(stamp))
            adapter[self._field] = value
        except Exception as error:  # noqa: BLE001 - any class of items may be in use
            self.crawler.stats.inc_value(stats.ITEMS_NOT_STAMPED)
            kind = global_object_name(type(item))
            if self._once.is_first(kind):
                logger(self.crawler).warning(
                    "Items of %s get no %r of ROBOTS_ITEM_FIELD: %s. Declare a field of that name "
                    "that can be assigned, or set ROBOTS_ITEM_FIELD to another one.",
                    kind,
                    self._field,
                    printable(error),
                )
