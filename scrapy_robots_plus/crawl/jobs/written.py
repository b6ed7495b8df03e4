"""How a request is written in the file of a job."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.crawl.request_fields import request_of, unusual_fields_of

if TYPE_CHECKING:
    from scrapy import Request, Spider

_PICKLED = b"\x80"
"""How every pickle begins. What is marshalled is a dict, which begins otherwise."""

Dumps = Callable[[Any], bytes]
"""Turns the fields of a request into bytes."""


def pickled(fields: Any) -> bytes:
    """Like Scrapy's queues; raises ValueError for what cannot be pickled."""
    try:
        return pickle.dumps(fields, protocol=4)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(str(error)) from error


def marshalled(fields: Any) -> bytes:
    """Like Scrapy's queues; raises ValueError for what cannot be marshalled."""
    return marshal.dumps(fields)


def written(request: Request, spider: Spider, dumps: Dumps) -> bytes:
    """Raises ValueError for a request that cannot be written, such as one whose callback is a
    lambda.
    """
    return dumps(unusual_fields_of(request, spider))


def read(data: bytes, spider: Spider) -> Request:
    """The request written as *data*, in either way.

    Raises anything: its callback may have been renamed, its class may be gone.
    """
    fields = pickle.loads(data) if data.startswith(_PICKLED) else marshal.loads(data)  # noqa: S301, S302
    return request_of(fields, spider)


def url_in(data: bytes) -> str:
    """The URL of the request written as *data*, for a message."""
    try:
        fields = pickle.loads(data) if data.startswith(_PICKLED) else marshal.loads(data)  # noqa: S301, S302
        return str(fields["url"])
    except Exception:  # noqa: BLE001 - its meta may hold objects of classes that are gone
        return "a request that cannot be read"
