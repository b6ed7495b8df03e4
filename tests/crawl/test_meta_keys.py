"""Which meta keys are read and set: those that docs/meta-keys.md describes, and no others."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import signals

from docs.tables import FETCH_META, PAGE_META
from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import requests
from tests.crawling import make_crawler, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from tests.sites import Sites

PACKAGE = Path(requests.__file__).parents[1]
PASSING = {"cached_response", "verbatim_url"}
"""Scrapy's own, for a moment: while its HTTP cache asks a site, and while a request is made."""
SCRAPYS_OWN = {"depth", "download_latency", "is_start_request"}


def keys_in(path: Path) -> Iterator[str]:
    """Every key that a file looks up in the meta of a request, or sets there."""
    text = path.read_text()
    tree = ast.parse(text if ".meta" in text else "")
    constants = dict(_constants(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and _is_meta(node.value):
            yield _key(node.slice, constants)
        elif isinstance(node, ast.Call) and _is_meta(getattr(node.func, "value", None)):
            yield _key(node.args[0], constants)
        elif isinstance(node, ast.Compare) and _is_meta(node.comparators[0]):
            yield _key(node.left, constants)


def _is_meta(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "meta"


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Those of the file itself."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            yield ast.unparse(node.targets[0]), str(node.value.value)


def _key(node: ast.expr, constants: dict[str, str]) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    name = node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)
    return str({**vars(compat), **vars(requests), **constants}[name])


def test_every_key_in_the_code_is_described() -> None:
    used = {key for path in PACKAGE.rglob("*.py") for key in keys_in(path)}
    assert len(used) > 5
    assert used <= {*PAGE_META, *FETCH_META, *PASSING}
    assert set(PAGE_META) <= used


@pytest_twisted.ensureDeferred
async def test_requests_carry_the_keys_that_are_described(sites: Sites) -> None:
    host = sites.host("User-agent: *\nCrawl-delay: 0.1\n")
    crawler = make_crawler()
    seen: dict[str, Request] = {}

    def reached(request: Request, **_: Any) -> None:
        seen[request.url] = request

    crawler.signals.connect(reached, signals.request_reached_downloader)
    await run(crawler, urls=[host.url("/page")])
    fetch, page = (
        {key for key in seen[host.url(path)].meta if not key.startswith("_")}  # a throttler's own
        for path in ("/robots.txt", "/page")
    )
    assert fetch - SCRAPYS_OWN == set(FETCH_META)
    ours = {compat.SLOT_META_KEY, requests.HOST_META_KEY, requests.STAMP_META_KEY}
    assert page - SCRAPYS_OWN == {*ours, "download_timeout"}  # Scrapy's timeout


@pytest.mark.parametrize("key", requests.FIXED_FETCH_META)
@pytest_twisted.ensureDeferred
async def test_robots_fetch_meta_cannot_change_what_is_fixed(sites: Sites, key: str) -> None:
    host = sites.host("User-agent: *\nDisallow: /page\n")
    crawler = make_crawler(ROBOTS_FETCH_META={key: "changed"})
    values = []

    def reached(request: Request, **_: Any) -> None:
        values.append(request.meta[key])

    crawler.signals.connect(reached, signals.request_reached_downloader)
    await run(crawler, urls=[host.url("/page")])
    assert host.fetched == []
    assert values == [requests.FIXED_FETCH_META[key]]


@pytest_twisted.ensureDeferred
async def test_headers_in_robots_fetch_meta_are_headers_of_robots_txt_requests(
    sites: Sites,
) -> None:
    host = sites.host("User-agent: *\nDisallow: /denied\n")
    headers = {"Accept-Language": "en", "X-Token": ["a", "b"]}
    crawler = make_crawler(ROBOTS_FETCH_META={"headers": headers, "of_mine": 1})
    seen: dict[str, Request] = {}

    def reached(request: Request, **_: Any) -> None:
        seen[request.url] = request

    crawler.signals.connect(reached, signals.request_reached_downloader)
    await run(crawler, urls=[host.url("/page")])
    fetch, page = seen[host.url("/robots.txt")], seen[host.url("/page")]
    assert fetch.headers["Accept-Language"] == b"en"
    assert fetch.headers.getlist("X-Token") == [b"a", b"b"]
    assert ("headers" in fetch.meta, fetch.meta["of_mine"]) == (False, 1)
    assert page.headers.get("X-Token") is None
    assert "of_mine" not in page.meta
