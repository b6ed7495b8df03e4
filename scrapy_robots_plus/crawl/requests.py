"""What a request says: its meta keys, its origin, its downloader slot, and its fields.

The tables of docs/meta-keys.md are made from the docstrings below the keys and their comments.
"""

from __future__ import annotations

import hashlib
import logging
import re
from functools import lru_cache
from inspect import ismethod
from math import floor
from typing import Any

from scrapy import Request, Spider
from scrapy.utils.httpobj import urlparse_cached

from scrapy_robots_plus import compat
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt

logger = logging.getLogger(__name__)

# Keys of spiders' requests

DONT_OBEY_META_KEY = "dont_obey_robotstxt"
"""Read. `True` sends the request without asking robots.txt for its rules. If the host's Crawl-delay
is known, the request still waits for it."""
SLOT_META_KEY = compat.SLOT_META_KEY
"""Read, and set by Scrapy: the downloader slot. One that you set is kept; one that a redirect, or
the meta of a response, took along from another host is removed."""
HOST_META_KEY = "robots_host"
"""Set: the host that the request goes to. Tells whether `download_slot` is left over from the page
whose meta a request has, or from a host that redirected to this one. Leave it alone."""
REDIRECT_META_KEY = "redirect_urls"
"""Read; set by Scrapy. Tells that a request is neither a link of a page nor a duplicate of the one
that was redirected to it."""
START_META_KEY = "is_start_request"
"""Read; set by Scrapy. If all start requests are denied, the crawl closes with the reason
`robotstxt_denied`."""
OVERRIDE_META_KEY = "robots_override"
"""Read. What is different for this request, with the keys of `ROBOTS_OVERRIDES`. See
[overrides](overrides.md#one-request)."""
MEANT_FOR_META_KEY = "robots_override_for"
"""Set beside `robots_override`: the origin that it is for. Leave it alone."""
PUT_BACK_META_KEY = "robots_put_back"
"""Set on requests that go back to the scheduler, and removed when they come again: the
`dont_filter` that they had before. Leave it alone."""
STAMP_META_KEY = "robots"
"""Set: what robots.txt said of the request when it was sent, and what the site wants done with the
page. See [preferences](preferences.md#the-stamp)."""
SITEMAPS_META_KEY = "robots_sitemaps"
"""Read, on requests for a robots.txt; set by `RobotsSitemapSpider`. `True` sends nothing: the
response has the Sitemap lines of the file that the crawl has read anyway. See
[sitemaps](sitemaps.md)."""
SCHEDULED_META_KEY = "robots_scheduled"
"""Set with `ROBOTS_CLEAN_PARAM` on requests that go to the scheduler, and removed before they are
sent. Leave it alone."""
NOFOLLOW_META_KEY = "robots_nofollow"
"""Set: `True` on requests that a callback makes of a page with `nofollow`, if `ROBOTS_NOFOLLOW` is
`observe`. See [page-level directives](page-directives.md)."""
REFUSED_META_KEY = "robots_refused"
"""Set on requests that were answered 429 or 503: the URL, and how many times. Leave it alone."""
MAX_RETRIES_META_KEY = "max_retry_times"
"""Set beside `robots_refused`: Scrapy's limit of retries, which goes up by one with each refusal of
the host, up to five."""

# Keys of robots.txt requests

TAP_META_KEY = "robots_fetch"
"""Marks a request for robots.txt, and holds the state of its download. Your own middlewares can
look for it. A request in its place, which one of them has made, gets it too."""
FETCH_SLOT_META_KEY = compat.SLOT_META_KEY
"""A slot for each robots.txt, so that it does not wait behind pages. `ROBOTS_FETCH_META` can name
another. Not in a Scrapy with throttling scopes, which has `dont_throttle`."""
IMPERSONATE_META_KEY = "impersonate_curl_options"
"""What scrapy-impersonate has for `download_maxsize`. `ROBOTS_FETCH_META` can replace it."""
TIMEOUT_META_KEY = "download_timeout"
"""What is left of `ROBOTS_FETCH_TIMEOUT`."""
MAXSIZE_META_KEY = "download_maxsize"
"""Twice `ROBOTS_FETCH_MAX_BYTES`. It is 0 for handlers that can be stopped while they download;
these are stopped at the limit itself."""

# Keys of robots.txt requests with a fixed value

FIXED_FETCH_META: dict[str, Any] = {
    DONT_OBEY_META_KEY: True,  # a robots.txt is not subject to itself.
    "is_robotstxt_request": True,  # the mark of newer versions of Scrapy for these requests.
    "dont_throttle": True,  # its own limits hold, not those of pages, in a Scrapy with scopes.
    "allow_offsite": True,  # robots.txt may be outside `allowed_domains`.
    "dont_redirect": True,  # redirects are followed by this package, at most five.
    "handle_httpstatus_all": True,  # any status is an answer.
    "dont_retry": True,  # retries are left to `ROBOTS_FETCH_RETRIES`.
    "dont_cache": True,  # a new rule is seen at once, whatever Scrapy's HTTP cache holds.
    "dont_merge_cookies": True,  # the cookies of pages are not sent, and none is kept for them.
    "autothrottle_dont_adjust_delay": True,  # AutoThrottle learns from pages alone.
    "download_fail_on_dataloss": True,  # a file that is cut off is a failure.
    "download_warnsize": 0,  # no warning about large files.
}

OWN_FETCH_META = (*FIXED_FETCH_META, TAP_META_KEY, TIMEOUT_META_KEY, MAXSIZE_META_KEY)
"""The keys that make a request one for a robots.txt."""

_NOT_HTTP = r"(?i)(?!https?:)[a-z][a-z0-9+-]*:(?!\d+(?:[/?#]|$))"
"""A pattern that matches ``mailto:someone``, but not ``localhost:8080/``, which lacks a scheme."""

_EXPECTED = "expected an absolute URL with a host, such as https://site.example/page"


def as_requested(url: str) -> str:
    """Returns *url* as it is in a request: escaped, without surrounding blanks.

    A URL that is not http or https stays unchanged. Raises ValueError, saying what is expected, if
    no request can be sent, for lack of a scheme or host, or because of an impossible port.
    """
    if re.match(_NOT_HTTP, url):
        return url
    try:
        requested = Request(url).url
        origin = Origin.of(requested)
    except ValueError as error:
        raise ValueError(f"{_EXPECTED}, not {url!r}: {error}") from error
    if origin is None:
        raise ValueError(f"{_EXPECTED}, not {url!r}")
    return requested


_WHERE_PATHS_BEGIN = len("https://"), len("https://:65535/") + 253
"""Where in a URL the path can begin, as host names have a maximum length (RFC 1035 2.3.4). So the
keys of the cache are no longer than that."""


_plain = lru_cache(maxsize=16_384)(Origin.plain)  # many URLs are the same up to the path


def origin_to_ask(request: Request) -> Origin | None:
    """Returns the origin whose robots.txt applies to *request*; None if it needs no check.

    Raises ValueError as :func:`origin_of` does.
    """
    if request.meta.get(DONT_OBEY_META_KEY):
        return None
    return origin_of(request)


def origin_of(request: Request) -> Origin | None:
    """Returns the origin of *request*; None if it is not http or https.

    Raises ValueError if the port in its URL is invalid, or no host is there: some download handlers
    send ``http:///name/path`` to the host ``name``, as browsers do.
    """
    url = request.url
    path = url.find("/", *_WHERE_PATHS_BEGIN)
    plain = Origin.plain(url) if path < 0 else _plain(url[:path])
    if plain is not None:
        return plain
    parts = urlparse_cached(request)
    origin = Origin.of(parts)
    if origin is None and parts.scheme in {"http", "https"}:
        raise ValueError(f"no host in {url}")
    return origin


def valid_origin_of(request: Request) -> Origin | None:
    """Returns the :func:`origin_of` *request*; None also if there is no valid one: it will fail."""
    try:
        return origin_of(request)
    except ValueError:
        return None


def says_not_to_ask(request: Request) -> bool:
    """Returns whether ``dont_obey_robotstxt`` exempts *request* from a robots.txt that applies."""
    return bool(request.meta.get(DONT_OBEY_META_KEY)) and valid_origin_of(request) is not None


def asks_for_sitemaps(request: Request) -> bool:
    """Returns whether *request* is for the Sitemap lines of a robots.txt, and must not be sent."""
    return bool(request.meta.get(SITEMAPS_META_KEY)) and asks_for_robots_txt(request.url)


def slot_is_left_over(request: Request) -> bool:
    """Returns whether the slot in the meta is left over from another host: the one that redirected
    to this one, or that of the page whose meta a callback has handed on.

    The downloader writes the slot into the meta. One with the name of the host that the meta was
    for is left over; any other was chosen.
    """
    key = request.meta.get(SLOT_META_KEY)
    is_of_host = key is not None and key == request.meta.get(HOST_META_KEY)
    return is_of_host and key != urlparse_cached(request).hostname


def chosen_slot(request: Request) -> str | None:
    """Returns the slot in the meta of *request*; None if there is none, or it is left over.

    Also None if it cannot be the key of a slot: the downloader fails such a request.
    """
    key: str | None = request.meta.get(SLOT_META_KEY)
    if key is None or slot_is_left_over(request):
        return None
    try:
        hash(key)
    except TypeError:
        return None
    return key


_USUAL = Request("data:,").to_dict()
"""The fields of a request that was given nothing but a URL."""
del _USUAL["url"]


_MOST = 2**53
"""The number up to which a float can tell all whole numbers apart."""


def priority_of(request: Request) -> int:
    """Returns the priority of *request* as a whole number, rounded down.

    ``Request()`` takes whole numbers only, but code may set the attribute to anything, of which no
    request could be made again. What is not a number becomes the least urgent priority.
    """
    priority = request.priority
    if type(priority) is int:
        return priority
    try:
        return floor(min(max(-_MOST, priority), _MOST))
    except (TypeError, ValueError, ArithmeticError):  # Decimal: an order of NaN is an error
        return -_MOST


def fields_of(request: Request, spider: Spider) -> dict[str, Any]:
    """Returns the fields from which *request* can be made again, without the stamp of its page.

    Raises ValueError if it cannot be written, for example because its callback is a lambda.
    """
    names = _method_of(spider, request.callback), _method_of(spider, request.errback)
    if type(request) is not Request or names[0] is None or names[1] is None:
        fields = request.to_dict(spider=spider)
    else:  # what to_dict() returns, without a search of all members of the spider
        fields = {name: getattr(request, name) for name in Request.attributes}
        fields.update(headers=dict(request.headers), callback=names[0] or None)
        fields["errback"] = names[1] or None
    fields["priority"] = priority_of(request)
    if STAMP_META_KEY in request.meta:  # that of the page which the request comes from
        meta = fields["meta"] = {**request.meta}
        if slot_is_left_over(request):
            del meta[SLOT_META_KEY]
        meta.pop(HOST_META_KEY, None)
        del meta[STAMP_META_KEY]
    return fields


def _method_of(spider: Spider, function: Any) -> str | None:
    """Returns the name of *function* if it is a method of *spider*; "" if it is None, else None."""
    if function is None:
        return ""
    name = getattr(function, "__name__", "")
    own = getattr(spider, name, None)
    is_own = ismethod(own) and own.__func__ is getattr(function, "__func__", None)
    return name if is_own else None


def unusual_fields_of(request: Request, spider: Spider) -> dict[str, Any]:
    """Returns the fields that an equal request must be given.

    Raises ValueError like :func:`fields_of`.
    """
    fields = fields_of(request, spider)
    if type(request) is not Request:  # other classes may have other defaults
        return fields
    return {name: value for name, value in fields.items() if value != _USUAL.get(name)}


def override_belongs(request: Request, origin: Origin, override: str) -> bool:
    """Returns whether *override*, the text of that of *request*, belongs to *origin*.

    It belongs to the first one that it is seen with. Redirects and spiders copy the meta: at
    another origin, the copy has no effect and is removed.
    """
    digest = hashlib.sha256(override.encode("utf-8", "backslashreplace")).hexdigest()[:16]
    here = f"{origin} {digest}"
    meant_for = request.meta.get(MEANT_FOR_META_KEY)
    if meant_for == here:
        return True
    if not isinstance(meant_for, str) or not meant_for.endswith(f" {digest}"):
        request.meta[MEANT_FOR_META_KEY] = here  # a new override, or one in the place of a copy
        return True
    del request.meta[OVERRIDE_META_KEY], request.meta[MEANT_FOR_META_KEY]
    logger.debug(
        "The robots_override for %s does not apply to %s, to which it was copied with the meta",
        printable(meant_for.partition(" ")[0]),
        printable(request),
    )
    return False
