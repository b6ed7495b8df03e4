"""What a user has decided about some hosts, or one request, instead of what the settings say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.protocol.dialect import DIALECTS, Dialect

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.status_policy import StatusTable

    from .options import AiPolicy, ContentUse, PageAction


ABOUT = ("reason", "by", "evidence", "until")
"""Keys that say something about an override, and change nothing by themselves."""
_NO_SETTINGS = (*ABOUT, "crawl_delay", "robots_txt", "given")
"""Fields that are no settings of a whole crawl, under the same names."""


@dataclass(frozen=True, eq=False)
class Override:
    """The keys of one override, checked. None where a key is not given.

    Two overrides are equal only if they are the same object: what is derived from one is kept for
    it.
    """

    obey: bool | None = None
    """Whether the rules are obeyed."""
    reason: str | None = None
    """Why, in the user's words."""
    by: str | None = None
    """Who has decided it."""
    evidence: str | None = None
    """Where that is written down."""
    until: float | None = None
    """When it ends, in seconds since the epoch: from then on it does not apply."""
    user_agent: str | tuple[str, ...] | None = None
    """The agent, as in ``ROBOTSTXT_USER_AGENT``."""
    dialect: Dialect | None = None
    """How the file is read."""
    status_policy: StatusTable | None = None
    """What a status means."""
    crawl_delay: float | None = None
    """The delay in seconds that is kept whatever the file asks for; 0 for none."""
    default_delay: float | None = None
    """The delay in seconds that is kept where the file asks for none."""
    robots_txt: str | None = None
    """The text that is read in place of the site's, which is not fetched."""
    ai_uses: tuple[str, ...] | None = None
    """What its pages are for."""
    content_use: ContentUse | None = None
    """How far its pages are used."""
    ai_policy: AiPolicy | None = None
    """What happens to pages whose site objects to that."""
    ai_tokens: tuple[str, ...] | None = None
    """Tokens whose groups are about training."""
    nofollow: PageAction | None = None
    """What is done about pages with ``nofollow``."""
    noindex: PageAction | None = None
    """What is done about pages with ``noindex``."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The keys as the user wrote them."""

    @property
    def label(self) -> str:
        """The reason; without one, the keys: ``crawl_delay, user_agent``."""
        return self.reason or ", ".join(sorted(set(self.given).difference(ABOUT)))

    @property
    def settings(self) -> dict[str, Any]:
        """What it changes in the settings of a crawl, by their fields."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: value
            for name, value in values.items()
            if value is not None and name not in _NO_SETTINGS
        }

    def with_changes(self, other: Override) -> Override:
        """This override with the keys of *other* laid over it."""
        changed = {key: getattr(other, key) for key in other.given}
        return replace(self, **changed, given={**self.given, **other.given})

    def as_json(self) -> dict[str, Any]:
        """The keys as configured, for JSON; lists and options as they are read, a text of one's
        own as its SHA-256."""
        shown = {key: _plain(value) for key, value in self.given.items()}
        if self.ai_uses is not None:
            shown["ai_uses"] = list(self.ai_uses)
        if self.content_use is not None:
            shown["content_use"] = self.content_use.value
        if self.ai_policy is not None:
            shown["ai_policy"] = self.ai_policy.value
        if self.ai_tokens is not None:
            shown["ai_tokens"] = list(self.ai_tokens)
        if self.robots_txt is not None:
            shown["robots_txt"] = hashlib.sha256(
                self.robots_txt.encode("utf-8", "replace")
            ).hexdigest()
        return shown


def _plain(value: object) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Dialect):
        return value.name if DIALECTS.get(value.name) == value else _plain(_fields(value))
    return str(value)


def _fields(dialect: Dialect) -> dict[str, object]:
    names = [each.name for each in fields(dialect)]
    values = {name: getattr(dialect, name) for name in names}
    return {name: each.value if isinstance(each, Enum) else each for name, each in values.items()}
