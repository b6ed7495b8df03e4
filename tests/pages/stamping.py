"""Spiders that keep the stamp of each response, and what else a test asks of it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from tests.crawling import ProbeSpider, StepSpider

if TYPE_CHECKING:
    import scrapy
    from scrapy.http import Response


class StampSpider(ProbeSpider):
    """Keeps a copy of each stamp, as it is when the page is there."""

    name = "stamps"

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.stamps: dict[str, Any] = {}
        self.denied: dict[str, Any] = {}
        """Those of requests that were denied."""

    def parse(self, response: Response) -> Any:
        self.stamps[response.url] = copy.deepcopy(response.meta.get("robots"))
        return super().parse(response)

    def failed(self, failure: Any) -> Any:
        self.denied[failure.request.url] = failure.request.meta.get("robots")
        return super().failed(failure)


class FollowingSpider(StampSpider):
    """Follows *then* from its first page, with all the meta of that response."""

    then: tuple[tuple[str, dict[str, Any]], ...] = ()
    """URLs, each with what its meta has besides."""

    def parse(self, response: Response) -> Any:
        is_first = not self.stamps
        super().parse(response)
        return self.followed(response) if is_first else None

    def followed(self, response: Response) -> list[scrapy.Request]:
        return [
            response.follow(
                url, meta={**response.meta, **more}, errback=self.failed, dont_filter=True
            )
            for url, more in self.then
        ]


class StampStepSpider(StampSpider, StepSpider):
    """One request after the other."""
