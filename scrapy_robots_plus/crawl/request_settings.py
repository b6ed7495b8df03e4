"""The settings that apply to one request: those of its origin, under an override of its own."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings.checks import WrongPartsError
from scrapy_robots_plus.settings.declared import request_override

from .exceptions import RobotsOverrideError
from .recent import Recent
from .requests import MEANT_FOR_META_KEY, OVERRIDE_META_KEY

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

logger = logging.getLogger(__name__)

_REMEMBERED = 256
"""Overrides of requests whose settings are kept."""


class RequestSettings:
    """Finds the settings of each request.

    The override of a request belongs to the origin of its URL. Redirects copy the meta, and so do
    spiders: at another origin the copy counts for nothing, and is removed.
    """

    def __init__(self, settings: RobotsSettings) -> None:
        self._settings = settings
        self._made: Recent[tuple[RobotsSettings, str], RobotsSettings] = Recent(_REMEMBERED)
        """By the settings that an override was laid over, and its digest."""

    def of(self, request: Request, origin: Origin) -> RobotsSettings:
        """The settings of *request* to *origin*; the same object for the same override.

        Raises RobotsOverrideError, naming key and value, if its own override is wrong.
        """
        settings = self._settings.for_origin(origin)
        if OVERRIDE_META_KEY in request.meta:
            return self._under_its_own(request, origin, settings)
        return settings

    def of_origin(self, origin: Origin) -> RobotsSettings:
        """The settings of requests to *origin* without an override of their own."""
        return self._settings.for_origin(origin)

    def needs_no_file(self, request: Request, origin: Origin) -> bool:
        """Whether an override of its own lets *request* go without the file of *origin*."""
        return OVERRIDE_META_KEY in request.meta and not self.of(request, origin).needs_file

    def _under_its_own(
        self, request: Request, origin: Origin, settings: RobotsSettings
    ) -> RobotsSettings:
        value = request.meta[OVERRIDE_META_KEY]
        if value is None:
            return settings
        digest = _digest(value)
        if not _belongs(request, origin, digest):
            return settings
        key = settings, digest
        made = self._made.get(key) or self._laid_over(settings, value)
        self._made.put(key, made)
        has_ended = made.override is not None and self._settings.has_ended(made.override, origin)
        return settings if has_ended else made

    def _laid_over(self, settings: RobotsSettings, value: object) -> RobotsSettings:
        try:
            return settings.under(request_override(value))
        except WrongPartsError as error:
            problems = (str(each._replace(name=OVERRIDE_META_KEY)) for each in error.parts)
            raise RobotsOverrideError("; ".join(problems)) from error


def _digest(value: object) -> str:
    try:
        return hashlib.sha256(repr(value).encode("utf-8", "backslashreplace")).hexdigest()[:16]
    except Exception as error:  # whatever somebody has put there
        raise RobotsOverrideError(f"{OVERRIDE_META_KEY} cannot be read: {error!r}") from error


def _belongs(request: Request, origin: Origin, digest: str) -> bool:
    """Whether the override was made for *origin*. The first origin it is seen with owns it."""
    here = f"{origin} {digest}"
    meant_for = request.meta.get(MEANT_FOR_META_KEY)
    if meant_for == here:
        return True
    if not isinstance(meant_for, str) or not meant_for.endswith(f" {digest}"):
        request.meta[MEANT_FOR_META_KEY] = here  # a new one, or one in the place of a copy
        return True
    del request.meta[OVERRIDE_META_KEY], request.meta[MEANT_FOR_META_KEY]
    logger.info(
        "The robots_override of a request for %s does not apply to %s, where it came with the meta",
        printable(meant_for.partition(" ")[0]),
        printable(request),
    )
    return False
