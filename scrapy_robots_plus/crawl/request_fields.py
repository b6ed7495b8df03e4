"""What is written of a request where it waits: in the file of a job, on a server."""

from __future__ import annotations

from inspect import ismethod
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
    names = _method_of(spider, request.callback), _method_of(spider, request.errback)
    if type(request) is not Request or names[0] is None or names[1] is None:
        fields = request.to_dict(spider=spider)
    else:  # the same, without looking through all members of the spider
        fields = {name: getattr(request, name) for name in Request.attributes}
        fields.update(headers=dict(request.headers), callback=names[0] or None)
        fields["errback"] = names[1] or None
    fields["priority"] = priority_of(request)
    return fields


def _method_of(spider: Spider, function: Any) -> str | None:
    """The name of a method of *spider*; "" for no function at all, None for any other."""
    if function is None:
        return ""
    name = getattr(function, "__name__", "")
    own = getattr(spider, name, None)
    is_own = ismethod(own) and own.__func__ is getattr(function, "__func__", None)
    return name if is_own else None


def unusual_fields_of(request: Request, spider: Spider) -> dict[str, Any]:
    """Those that make an equal request. Raises ValueError like :func:`fields_of`."""
    fields = fields_of(request, spider)
    if type(request) is not Request:  # other classes may have other values unless given one
        return fields
    return {name: value for name, value in fields.items() if value != _USUAL.get(name)}
