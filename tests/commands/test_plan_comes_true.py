"""What ``scrapy robots plan`` predicts is what a crawl of the sample site takes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..crawl_process import crawl_in_process
from ..sending import TimedSpider
from .running import Robots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

SAMPLE = Path(__file__).parent.parent.parent / "sample_project"
LOOKUPS = """
import socket
from robots_sample.site import on_this_machine
socket.getaddrinfo = on_this_machine(socket.getaddrinfo)
socket.gethostbyname = on_this_machine(socket.gethostbyname)
"""


class OnThisMachine(TimedSpider):
    """Has a process of its own, where all names lead to this machine."""

    @classmethod
    def from_crawler(cls, *arguments: Any, **named: Any) -> Self:
        sys.path.insert(0, str(SAMPLE))
        exec(LOOKUPS, {})
        return super().from_crawler(*arguments, **named)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The sample site, served by this process."""
    monkeypatch.syspath_prepend(str(SAMPLE))
    module = __import__("robots_sample.site").site
    site = module.Site(0)
    site.hosts = module.HOSTS
    yield site
    site.stop()


@pytest.mark.stress
@pytest.mark.parametrize(
    ("requests", "settings"),
    [
        (13, {}),
        (13, {"ROBOTS_CRAWL_DELAY_MAX": 0.7}),
        (20, {"DOWNLOAD_DELAY": 0.5}),  # with jitter: from 0.25 to 0.75 s
        (20, {"DOWNLOAD_SLOTS": {"open.example": {"delay": 0.8, "concurrency": 1}}}),
    ],
    ids=["Crawl-delay", "clamped", "DOWNLOAD_DELAY", "a slot"],
)
def test_a_plan_of_the_sample_site_comes_true(
    site: Any,
    tmp_path: Path,
    requests: int,
    settings: dict[str, Any],
) -> None:
    """Predicted and measured time agree within 20 %."""
    urls = [
        f"{site.url(host, path)}?{number}"
        for number in range(requests)
        for host, pages in site.hosts.items()
        for path in sorted(pages)
        if path == "/"
    ]
    settings = {"ROBOTS_FETCH_RETRIES": 0, "DOWNLOAD_DELAY": 0, **settings}
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(LOOKUPS)
    planned = Robots.in_project(tmp_path, **settings)(
        "plan",
        "--json",
        "--input",
        "-",
        stdin="\n".join(urls),
        environment={"PYTHONPATH": f"{hook}:{SAMPLE}"},
    )
    total = planned.json[-1]
    assert (planned.status, total["undecided_urls"]) == (1, 2 * requests)  # broken and silent
    crawled = crawl_in_process("asyncio", *urls, spider=f"{__name__}.OnThisMachine", **settings)
    pages = [at for at, url in crawled["sent"] if not url.endswith(".txt")]
    assert len(pages) == total["allowed_urls"]
    assert total["denied_urls"] == requests  # closed
    refused = [kind for kind in crawled["failures"].values() if kind.startswith("Robots")]
    assert len(refused) == total["denied_urls"] + total["undecided_urls"]
    assert total["seconds"] == pytest.approx(max(pages) - min(pages), rel=0.2)
