"""A site whose pages speak of themselves in many ways, and a spider that takes all it can."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import signals

from scrapy_robots_plus import request_not_followed
from tests.crawling import ProbeSpider
from tests.sites import Reply, answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites import Sites

HTML = "text/html"
XHTML = "application/xhtml+xml"


def page(head: str | bytes = "", *, kind: str = HTML, **headers: str) -> Reply:
    """A page with *head* in its head."""
    raw = head.encode() if isinstance(head, str) else head
    body = b"<!DOCTYPE html><html><head>" + raw + b"</head><body>A page</body></html>"
    return answer(body, 200, content_type=kind, **headers)


def says(content: str, name: str = "robots") -> str:
    return f'<meta name="{name}" content="{content}">'


PAST, FUTURE = "Fri, 25 Jun 2010 15:00:00 PST", "25 Jun 2999 15:00:00 GMT"

BOTH, NOFOLLOW, NOINDEX = {"nofollow", "noindex"}, {"nofollow"}, {"noindex"}

PAGES: dict[str, tuple[Reply, set[str]]] = {
    "plain": (page(), set()),
    "header-none": (page(x_robots_tag="none"), BOTH),
    "header-case": (page(X_ROBOTS_TAG="NoFollow"), NOFOLLOW),
    "header-ours": (page(x_robots_tag="otherbot: nofollow, foobot: noindex"), NOINDEX),
    "header-others": (page(x_robots_tag="googlebot: none"), set()),
    "header-over": (page(x_robots_tag=f"unavailable_after: {PAST}"), NOINDEX),
    "header-not-over": (page(x_robots_tag=f"unavailable_after: {FUTURE}"), set()),
    "header-broken": (page(x_robots_tag=",;: unavailable_after: x, max-snippet:"), set()),
    "pdf": (answer(b"%PDF-1.7\0\xff", content_type="application/pdf", x_robots_tag="none"), BOTH),
    "meta": (page(says("noindex, nofollow")), BOTH),
    "meta-ours": (page(says("nofollow", "FooBot") + says("noindex", "googlebot")), NOFOLLOW),
    "meta-case": (page("<META CONTENT='NOINDEX' NAME=ROBOTS>"), NOINDEX),
    "meta-bare": (page("<meta name=robots content=nofollow />"), NOFOLLOW),
    "meta-twice": (page(says("noindex") + says("index, nofollow")), BOTH),
    "meta-entity": (page(says("no&#102;ollow")), NOFOLLOW),
    "meta-comment": (page(f"<!-- {says('none')} -->"), set()),
    "meta-script": (page(f"<script>'{says('none')}'</script>"), set()),
    "meta-http-equiv": (page('<meta http-equiv="X-Robots-Tag" content="none">'), set()),
    "meta-body": (page(f"</head><body>{says('none')}"), set()),
    "meta-text": (page(says("none"), kind="text/plain"), set()),
    "meta-xhtml": (page(f"<title/>{says('noindex')}", kind=XHTML), NOINDEX),
    "header-and-meta": (page(says("noindex"), x_robots_tag="nofollow"), BOTH),
    "charset": (page("<title>ä</title>".encode() + says("noindex").encode(), kind=HTML), NOINDEX),
    "wrong-charset": (page(says("nofollow"), kind="text/html; charset=nosuch"), NOFOLLOW),
    "utf-16": (
        answer(f"<html><head>{says('none')}".encode("utf-16"), content_type="text/html"),
        BOTH,
    ),
    "gzip": (
        answer(
            gzip.compress(f"<html><head>{says('none')}".encode()),
            content_type=HTML,
            content_encoding="gzip",
        ),
        BOTH,
    ),
    "not-html": (answer(bytes(range(256)) * 40, content_type=HTML), set()),
    "empty": (answer("", content_type=HTML), set()),
}
"""Each page, with what it says that has a consequence."""

SAYING = {
    name: [path for path, (_, said) in PAGES.items() if name in said]
    for name in ("nofollow", "noindex")
}


def serve(sites: Sites) -> Any:
    host = sites.host("User-agent: *\nDisallow: /closed\n")
    host.pages |= {f"/{path}": reply for path, (reply, _) in PAGES.items()}
    return host


class TakingSpider(ProbeSpider):
    """Makes an item and a request of each page, and keeps what becomes of them."""

    name = "taking"

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.items: list[str] = []
        self.dropped: list[tuple[str, Exception]] = []
        self.links: list[str] = []
        self.marked: list[str] = []
        self.not_followed: list[str] = []
        self.pages: dict[str, Any] = {}

    @classmethod
    def from_crawler(cls, crawler: Any, *arguments: Any, **named: Any) -> Any:
        spider = super().from_crawler(crawler, *arguments, **named)
        crawler.signals.connect(spider.item_scraped, signals.item_scraped)
        crawler.signals.connect(spider.item_dropped, signals.item_dropped)
        crawler.signals.connect(spider.was_not_followed, request_not_followed)
        return spider

    def parse(self, response: scrapy.http.Response) -> Any:
        super().parse(response)
        name = response.url.rpartition("/")[2]
        self.pages[name] = response.meta.get("robots", {}).get("page")
        yield {"page": name}
        yield from self.links_of(response)

    def links_of(self, response: scrapy.http.Response) -> Iterator[scrapy.Request]:
        name = response.url.rpartition("/")[2]
        yield scrapy.Request(
            response.urljoin(f"/linked/{name}"), self.linked, meta={"from": name}, dont_filter=True
        )

    def linked(self, response: scrapy.http.Response) -> None:
        self.links.append(response.meta["from"])
        if response.meta.get("robots_nofollow"):
            self.marked.append(response.meta["from"])

    def item_scraped(self, item: Any) -> None:
        self.items.append(item["page"])

    def item_dropped(self, item: Any, exception: Exception) -> Any:
        self.dropped.append((item["page"], exception))

    def was_not_followed(self, request: scrapy.Request, response: Any, statement: Any) -> None:
        assert statement.directive == "nofollow"
        assert request.url.endswith(response.url.rpartition("/")[2])
        self.not_followed.append(request.meta["from"])
