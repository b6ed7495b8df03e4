"""Settings that this package reads, and that Scrapy or scrapy-redis checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode

from scrapy.http import Headers
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from scrapy_robots_plus.protocol.product_token import as_text
from scrapy_robots_plus.storage.redis_url import check_redis_url


def class_in(settings: BaseSettings, name: str) -> Any:
    """Returns the class in the setting *name*, such as ``SCHEDULER``; None if it is unset.

    ``SCHEDULER_START_DISK_QUEUE``, say, is unset if start requests are kept with the others.
    """
    return load_object(settings[name]) if settings[name] else None


def is_replaced(component: type, settings: BaseSettings, name: str) -> bool:
    """Returns whether a subclass of *component* replaces it in the setting *name*.

    *name* is ``EXTENSIONS`` or the like. To be called when Scrapy makes the components.
    """
    placed = settings.getdict(name).items()
    kinds = {load_object(each) for each, where in placed if where is not None} - {component}
    return any(isinstance(each, type) and issubclass(each, component) for each in kinds)


def has_workers(settings: BaseSettings) -> bool:
    """Returns whether ``SCHEDULER`` is that of scrapy-redis, or derived from it."""
    return _comes_from("scrapy_redis", class_in(settings, "SCHEDULER"))


def names_our_queue(settings: BaseSettings) -> bool:
    """Returns whether ``SCHEDULER_QUEUE_CLASS``, for scrapy-redis, is a queue of this package.

    A class that does not exist is left for scrapy-redis to report.
    """
    named = settings.get("SCHEDULER_QUEUE_CLASS") or ""
    try:
        queue = load_object(named)
    except ImportError:  # ours too, if scrapy-redis is not installed
        return str(named).startswith("scrapy_robots_plus.")
    except (NameError, TypeError, ValueError):
        return False
    return isinstance(queue, type) and _comes_from("scrapy_robots_plus", queue)


def has_our_priority_queue(settings: BaseSettings) -> bool:
    """Returns whether ``SCHEDULER_PRIORITY_QUEUE`` is ours, or derived from it."""
    return _comes_from("scrapy_robots_plus", class_in(settings, "SCHEDULER_PRIORITY_QUEUE"))


def _comes_from(package: str, found: type) -> bool:
    """Returns whether *found* derives from a class of *package*, without importing that."""
    return any(base.__module__.partition(".")[0] == package for base in found.__mro__)


def job_folder(settings: BaseSettings) -> str | None:
    """Returns ``JOBDIR``; None if it is unset or empty."""
    return settings.get("JOBDIR") or None


def wrong_slots(settings: BaseSettings) -> Iterator[str]:
    """Yields what is wrong in ``DOWNLOAD_SLOTS``: Scrapy finds it out with the first request."""
    for key, slot in settings.getdict("DOWNLOAD_SLOTS").items():
        if not isinstance(slot, Mapping):
            yield f"DOWNLOAD_SLOTS[{key!r}] = {slot!r}: expected a dict"
            continue
        for name in ("concurrency", "delay", "jitter"):
            value = slot.get(name, 0)
            with suppress(TypeError, ValueError):
                # Scrapy itself makes a number of a jitter only.
                if isinstance(float(value) if name == "jitter" else value, int | float):
                    continue
            yield f"DOWNLOAD_SLOTS[{key!r}][{name!r}] = {value!r}: expected a number"


def user_agent_in_headers(settings: BaseSettings) -> str | None:
    """Returns the User-Agent in ``DEFAULT_REQUEST_HEADERS``; None if there is none."""
    value = Headers(settings.getdict("DEFAULT_REQUEST_HEADERS") or {}).get("User-Agent")
    return as_text(value) if value else None


def redis_url(settings: BaseSettings) -> str | None:
    """Returns the URL of scrapy-redis's server; None if a URL is not enough, as with Sentinel.

    The URL is from ``REDIS_URL``, ``REDIS_HOST``, ``REDIS_PORT``, ``REDIS_DB`` and
    ``REDIS_PARAMS``, in the order in which scrapy-redis and redis-py read them.
    """
    from redis.connection import parse_url

    params = settings.getdict("REDIS_PARAMS")
    given = {each: settings.get(f"REDIS_{each.upper()}") for each in ("url", "host", "port", "db")}
    params |= {each: value for each, value in given.items() if value}
    client = params.get("redis_cls", "redis.Redis")
    if not isinstance(client, str):  # a class, or another callable, which lacks these names
        client = f"{client.__module__}.{getattr(client, '__qualname__', '')}"
    package, kind = client.partition(".")[0], client.rpartition(".")[2]
    if package != "redis" or kind not in _CLIENTS or _BEYOND_A_URL & params.keys():
        return None
    url = params.get("url") or ("rediss://" if params.get("ssl") else "redis://")
    try:
        params |= parse_url(url)  # type: ignore[no-untyped-call]
        params["ssl"] = url.startswith("rediss:")
        options = {"cluster": "true"} if kind == "RedisCluster" else {}
        return check_redis_url(_url_of(params, options))
    except ValueError:  # scrapy-redis may understand what a store does not
        return None


_CLIENTS = {"Redis", "StrictRedis", "RedisCluster"}
_BEYOND_A_URL = {"connection_class", "connection_pool", "credential_provider", "startup_nodes"}
_OPTIONS = ("client_name", "protocol", "socket_connect_timeout", "socket_timeout")


def _url_of(params: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Returns the URL of a server with the parameters of a client and further *options*."""
    user, password = (quote(str(params.get(each) or ""), "") for each in ("username", "password"))
    number, path = params.get("db"), params.get("path") or params.get("unix_socket_path")
    options = {**options, **{each: params[each] for each in _OPTIONS if params.get(each)}}
    if path:
        scheme, place = "unix", quote(str(path))
        options |= {} if number is None else {"db": number}
    else:
        scheme, host = "rediss" if params["ssl"] else "redis", params.get("host") or "localhost"
        place = f"[{host}]" if ":" in host else host
        place += f":{params.get('port') or 6379}" + ("" if number is None else f"/{number}")
    if scheme == "rediss":
        tls = {name: value for name, value in params.items() if name.startswith("ssl_")}
        if "ssl_cert_reqs" in tls:  # text, an ssl.VerifyMode, or None, which means none
            needed = getattr(tls["ssl_cert_reqs"], "name", tls["ssl_cert_reqs"])
            tls["ssl_cert_reqs"] = str(needed).lower().removeprefix("cert_")
        options |= {name: value for name, value in tls.items() if value is not None}
    who = f"{user}:{password}@" if user or password else ""
    query = urlencode(options, safe="/", quote_via=quote)
    return f"{scheme}://{who}{place}" + (f"?{query}" if query else "")
