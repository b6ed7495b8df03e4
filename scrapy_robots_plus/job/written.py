"""The form in which a request is written to the file of a job."""

from __future__ import annotations

import marshal
import pickle
from typing import Any

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from scrapy_robots_plus.crawl.requests import unusual_fields_of

_PICKLED = b"\x80"
"""The first byte of every pickle. Marshalled data is a dict, which begins differently."""

_VERBATIM = "verbatim_url"
"""The key of ``Request.meta`` that keeps a URL as it is. Older versions of Scrapy ignore it."""

_FIELDS = frozenset(Request.attributes)


def written(request: Request, spider: Spider) -> bytes:
    """Returns *request* as it is written to the file.

    Raises ValueError if it cannot be written, as when its callback is a lambda, and anything that
    an object in its meta raises.
    """
    fields = unusual_fields_of(request, spider)
    try:
        return pickle.dumps(fields, protocol=4)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(str(error)) from error


def read(data: bytes, spider: Spider) -> Request:
    """Returns the request written as *data*, here or by one of Scrapy's queues.

    May raise anything: its callback may have been renamed, its class may be gone.
    """
    fields: dict[str, Any] = _fields_in(data)
    meta = fields.get("meta") or {}
    if _VERBATIM in meta or not fields.keys() <= _FIELDS:
        return request_from_dict(fields, spider=spider)
    for each in ("callback", "errback"):
        if fields.get(each):
            fields[each] = getattr(spider, fields[each])
    # Its URL is safe already. To make it so again would take as long as all the rest.
    fields["meta"] = {**meta, _VERBATIM: True}
    request = Request(**fields)
    del request.meta[_VERBATIM]
    return request


def url_in(data: bytes) -> str:
    """Returns the URL of the request written as *data*, for a message."""
    page = page_of(data)
    return str(page[0]) if page else "a request that cannot be read"


def page_of(data: bytes) -> tuple[str, str, bytes] | None:
    """Returns URL, method and body of the request written as *data*; None if it cannot be read."""
    try:
        fields = _fields_in(data)
        return fields["url"], fields.get("method", "GET"), fields.get("body", b"")
    except Exception:  # noqa: BLE001 - its meta may hold objects of classes that are gone
        return None


def _fields_in(data: bytes) -> Any:
    return pickle.loads(data) if data.startswith(_PICKLED) else marshal.loads(data)  # noqa: S301, S302
