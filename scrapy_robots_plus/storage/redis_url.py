"""URLs of Redis servers. A password in one is never shown."""

from __future__ import annotations

import re
from importlib.util import find_spec
from urllib.parse import parse_qsl, unquote

PIP = 'pip install "scrapy-robots-plus[redis]"'
"""The command that installs the client for Redis."""

EXPECTED = (
    "expected redis://[USER:PASSWORD@]HOST[:PORT][/DB], the same with rediss:// for TLS, or "
    "unix://[USER:PASSWORD@]/PATH[?db=DB]; special characters in USER and PASSWORD are "
    "percent-encoded"
)

_CREDENTIALS = r"(?:(?P<credentials>[^@/?#\s]*)@)?"
_HOST = r"(?P<place>(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/\d*)?)"
_PATH = r"(?P<place>/[^?#\0]+)"
_OPTIONS = r"(?:\?(?P<options>[^@#\s]*))?"
_PLACES = {"redis": _HOST, "rediss": _HOST, "unix": _PATH}
"""What may follow the credentials, by scheme. Strict: all else could be part of a password."""


_KNOWN_OPTIONS = frozenset(
    {"client_name", "cluster", "db", "password", "protocol", "username"}
    | {"socket_connect_timeout", "socket_timeout"}
)
_TLS_OPTIONS = frozenset(
    {"ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile", "ssl_keyfile"}
    | {"ssl_check_hostname"}
)


def check_redis_url(url: str) -> str:
    """Returns *url* unchanged if it is valid for a Redis server. Connects to nothing.

    Raises ValueError otherwise, or if the package ``redis`` is missing. The message says what is
    accepted, or how to install the package, and shows no part of *url* that may be a password.
    """
    match = _match(url)
    if match is None:
        raise ValueError(f"{hidden(url)!r} is not the URL of a Redis server; {EXPECTED}")
    accepted = _KNOWN_OPTIONS | (_TLS_OPTIONS if url.startswith("rediss:") else frozenset())
    if not accepted.issuperset(_options_in(match)):
        names = ", ".join(sorted(accepted))
        raise ValueError(f"{hidden(url)!r} has an unknown option; accepted are {names}")
    if find_spec("redis") is None:
        raise ValueError(f"{hidden(url)!r} needs the package redis: {PIP}")
    return url


def hidden(url: str) -> str:
    """Returns *url* without user, password and options, for messages."""
    match = _match(url)
    scheme, _, rest = url.partition(":")
    if match is None:
        slashes = "//" if rest.startswith("//") else ""
        return f"{scheme}:{slashes}***" if scheme in _PLACES else "***"
    credentials = "***@" if match["credentials"] is not None else ""
    return f"{scheme}://{credentials}{match['place']}"


def without_password(text: str) -> str:
    """Returns *text*, perhaps meant as a URL of any kind, without a password, for messages."""
    if re.match(r"(?i)\W*(?:b\W*)?(rediss?|unix):", text):
        return hidden(text)
    return re.sub(r"//[^\s/]*@", "//***@", text)


def secrets_in(url: str) -> list[str]:
    """Returns what must not be shown of *url*, the longest first: user and password, both
    percent-encoded and decoded.
    """
    match = _match(url)
    if match is None:
        return []
    options = _options_in(match)
    written = (match["credentials"] or "").split(":", 1)
    meant = map(unquote, written)
    found = {*written, *meant, options.get("username", ""), options.get("password", "")}
    return sorted(found - {"", "default"}, key=len, reverse=True)


def is_cluster(url: str) -> bool:
    """Returns whether *url* says that its server belongs to a Redis Cluster: ``?cluster=true``."""
    match = _match(url)
    return match is not None and _options_in(match).get("cluster", "").lower() in ("true", "1")


def _match(url: str) -> re.Match[str] | None:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in _PLACES:
        return None
    return re.fullmatch(_CREDENTIALS + _PLACES[scheme] + _OPTIONS, rest, re.ASCII)


def _options_in(match: re.Match[str]) -> dict[str, str]:
    return dict(parse_qsl(match["options"] or "", keep_blank_values=True))
