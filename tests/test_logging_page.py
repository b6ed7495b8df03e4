"""docs/logging*.md: every message is there, and the log can be turned down and up."""

from __future__ import annotations

import ast
import logging
import re
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.core.downloader import Downloader
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.pqueues import ScrapyPriorityQueue

from .crawling import IN_FILES, crawl
from .samples import ROOT, block_with, run_as_it_is

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .sites import Sites

CLOSED = "User-agent: *\nDisallow: /private/\n"
PAGE = "".join(path.read_text() for path in (ROOT / "docs").glob("logging*.md"))
MESSAGES = {"info", "warning", "error", "log", "_log", "_tell"}
"""Methods that write to the log, here or in a class of the package."""


@pytest.fixture
def levels() -> Iterator[None]:
    """Levels of loggers as they were before."""
    loggers = [logging.getLogger(name) for name in ("scrapy", "scrapy_robots_plus")]
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


@pytest.mark.usefixtures("levels")
@pytest_twisted.ensureDeferred
async def test_the_log_can_be_silenced(sites: Sites, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    block_with("setLevel(logging.WARNING)", "docs/logging.md")
    await crawl(sites.host(CLOSED).url("/private/"))
    ours = [record for record in caplog.records if record.name.startswith("scrapy_robots_plus")]
    assert ours == []
    assert "Spider opened" in caplog.text


@pytest.mark.usefixtures("levels")
@pytest_twisted.ensureDeferred
async def test_denials_can_be_seen_alone(sites: Sites, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    host = sites.host(CLOSED)
    silent = block_with("setLevel(logging.INFO)", "docs/logging.md")["MySpider"]
    urls = [host.url("/"), host.url("/private/")]
    own = {"start_urls": urls, "parse": lambda self, response: None}
    spider = type("Spider", (silent,), own)
    await run_as_it_is(spider)
    debug = [record for record in caplog.records if record.levelno == logging.DEBUG]
    found = [record.getMessage() for record in debug if record.name.startswith("scrapy")]
    (line,) = (text for text in found if "Spider closed" not in text)
    assert line.startswith("Forbidden by robots.txt")


class OwnMiddleware(RobotsTxtMiddleware):
    """One of a project."""


class OwnDownloader(Downloader):
    """One of a project."""


@pytest.mark.parametrize(
    "settings",
    [
        {"DOWNLOADER_MIDDLEWARES": {"scrapy_robots_plus.RobotsMiddleware": None}},
        {"DOWNLOADER_MIDDLEWARES": {OwnMiddleware: 100}},
        {"SCHEDULER_PRIORITY_QUEUE": ScrapyPriorityQueue},
        {"DOWNLOADER": OwnDownloader},
        {"JOBDIR": "", **IN_FILES},
        {"JOBDIR": "", "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter"},
        {
            "ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser",
            "ROBOTS_OVERRIDES": {"a.example": {"dialect": "GOOGLE"}},
            "ROBOTS_CLEAN_PARAM": True,
        },
    ],
    ids=["no middleware", "two middlewares", "queue", "downloader", "files", "seen", "parser"],
)
@pytest_twisted.ensureDeferred
async def test_what_is_said_at_the_start_is_in_the_docs(
    sites: Sites, caplog: pytest.LogCaptureFixture, tmp_path: Path, settings: dict[str, Any]
) -> None:
    if "JOBDIR" in settings:
        settings = {**settings, "JOBDIR": str(tmp_path)}
    with caplog.at_level(logging.INFO, "scrapy_robots_plus"):
        await crawl(sites.host(CLOSED).url(), **settings)
    records = [record for record in caplog.records if record.funcName == "_report_wiring"]
    said = [record.getMessage() for record in records]
    page = PAGE.replace("project.middlewares.", f"{__name__}.").replace("project.", f"{__name__}.")
    assert said
    assert [message for message in said if message not in page] == []


def literal_messages() -> list[str]:
    """The longest piece that is always the same of each message that the code writes out."""
    found = []
    package = ROOT / "scrapy_robots_plus"
    # Commands write to standard error, not to the log.
    for path in {*package.rglob("*.py")} - {*package.glob("commands/**/*.py")}:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in MESSAGES:
                texts = [text for each in node.args[:2] for text in literals(each)]
                pieces = [
                    piece for text in texts for piece in re.split(r"%\(\w+\)[sd]|%[srd]", text)
                ]
                found.append(max(pieces, key=len, default="").strip(" :.;\n"))
    return [piece for piece in found if len(piece) > 5]


def literals(node: ast.expr) -> list[str]:
    constants = [each for each in ast.walk(node) if isinstance(each, ast.Constant)]
    return [each.value for each in constants if isinstance(each.value, str)]


@pytest.mark.parametrize("message", literal_messages())
def test_every_message_is_in_the_docs(message: str) -> None:
    assert message in PAGE.replace("\n", " ")
