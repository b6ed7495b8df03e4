"""How a request is written in the file of a job."""

from __future__ import annotations

import marshal
import pickle
from typing import Any

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from scrapy_robots_plus.crawl.requests import unusual_fields_of

_PICKLED = b"\x80"
"""How every pickle begins. What is marshalled is a dict, which begins otherwise."""

_VERBATIM = "verbatim_url"
"""The key of ``Request.meta`` that keeps a URL as it is. Older versions of Scrapy ignore it."""

_FIELDS = frozenset(Request.attributes)


def written(request: Request, spider: Spider) -> bytes:
    """Raises ValueError for a request that cannot be written, such as one whose callback is a
    lambda, and anything that an object in its meta raises.
    """
    fields = unusual_fields_of(request, spider)
    try:
        return pickle.dumps(fields, protocol=4)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(str(error)) from error


def read(data: bytes, spider: Spider) -> Request:
    """The request written as *data*, here or by one of Scrapy's queues.

    Raises anything: its callback may have been renamed, its class may be gone.
    """
    fields = _fields_in(data)
    meta = fields.get("meta") or {}
    if _VERBATIM in meta or not fields.keys() <= _FIELDS:
        return request_from_dict(fields, spider=spider)
    for each in ("callback", "errback"):
        if fields.get(each):
            fields[each] = getattr(spider, fields[each])
    # Its URL was made safe when it was made. To do so again would take as long as all the rest.
    fields["meta"] = {**meta, _VERBATIM: True}
    request = Request(**fields)
    del request.meta[_VERBATIM]
    return request


def url_in(data: bytes) -> str:
    """The URL of the request written as *data*, for a message."""
    try:
        return str(_fields_in(data)["url"])
    except Exception:  # noqa: BLE001 - its meta may hold objects of classes that are gone
        return "a request that cannot be read"


def _fields_in(data: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = (
        pickle.loads(data) if data.startswith(_PICKLED) else marshal.loads(data)  # noqa: S301, S302
    )
    return fields
