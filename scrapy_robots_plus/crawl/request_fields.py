"""What is written of a request where it waits: in the file of a job, on a server."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any

from scrapy import Request

if TYPE_CHECKING:
    from scrapy import Spider

_USUAL = Request("data:,").to_dict()
"""What a plain request has unless it was given another value."""
del _USUAL["url"]


def priority_of(request: Request) -> int:
    """``Request()`` takes whole numbers only, but code may set the attribute to any number.

    No request could be made of such a number again, so the whole number below counts.
    """
    priority = request.priority
    return priority if type(priority) is int else floor(priority)


def fields_of(request: Request, spider: Spider) -> dict[str, Any]:
    """Raises ValueError for a request that cannot be written, such as one whose callback is a
    lambda.
    """
    fields = request.to_dict(spider=spider)
    fields["priority"] = priority_of(request)
    return fields


def unusual_fields_of(request: Request, spider: Spider) -> dict[str, Any]:
    """Those that make an equal request. Raises ValueError like :func:`fields_of`."""
    fields = fields_of(request, spider)
    if type(request) is not Request:  # other classes may have other values unless given one
        return fields
    return {name: value for name, value in fields.items() if value != _USUAL.get(name)}
