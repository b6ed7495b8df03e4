"""The pytest plugin for a project's own tests, in a project that ``scrapy startproject`` made."""

from __future__ import annotations

import pickle
import re
import shutil
import signal
import subprocess
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import scrapy

from scrapy_robots_plus import testing

from .forks import ROOT, Forks
from .programs import CODE, scrapy_in
from .samples import block_with, blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_robots_plus.testing import RobotsSite

    MakeSite = Callable[..., RobotsSite]

ROBOTS = "User-agent: *\nDisallow: /private/\n"


class LinksSpider(scrapy.Spider):
    name = "links"

    def __init__(self, site: str, paths: str = "/ /private/diary", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [site + path for path in paths.split()]

    def parse(self, response: scrapy.http.Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "status": response.status, "by": self.settings["USER_AGENT"]}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    status, printed = scrapy_in(folder, "startproject", "shop", ".")
    assert status == 0, printed
    with (folder / "shop" / "settings.py").open("a") as settings:
        settings.write('ADDONS = {"scrapy_robots_plus.Addon": 300}\n')
    return folder


RUN_TESTS = f"""
import os, sys, pytest

sys.path.append({str(ROOT)!r})
for name in [each for each in os.environ if each.startswith("PYTEST")]:
    del os.environ[name]
options = "-rA -q -p tests.test_testing -o usefixtures=forked test_shop.py"
sys.exit(pytest.main(options.split()))
"""


def run_tests(folder: Path, text: str) -> tuple[dict[str, str], str]:
    """What became of each test in *text*, and what pytest printed."""
    (folder / "test_shop.py").write_text(text)
    _, output = scrapy_in(folder, RUN_TESTS, main=CODE)
    found = re.findall(r"^(PASSED|FAILED|ERROR) test_shop.py::(\w+)", output, re.MULTILINE)
    return {name: outcome for outcome, name in found}, output


WRONG = {"Disallow: /private/\n": "Disallow: /a\n", "0.5": "0", "503": "ROBOTS"}
"""With these in place of those, each of the tests fails."""


@pytest.mark.parametrize(
    ("instead", "outcome"),
    [({}, "PASSED"), pytest.param(WRONG, "FAILED", marks=pytest.mark.stress)],
    ids=["pass", "fail"],
)
def test_the_tests_of_the_page_pass_and_fail_where_they_should(
    project: Path, instead: dict[str, str], outcome: str
) -> None:
    (text,) = (block for block in blocks("python", "docs/testing.md") if "def test_" in block)
    names = re.findall(r"def (test_\w+)", text)
    assert len(names) == 4
    assert block_with("def test_private", "docs/testing.md")["ROBOTS"].endswith("0.5\n")
    for part, other in instead.items():
        assert part in text
        text = text.replace(part, other)
    outcomes, output = run_tests(project, text)
    assert outcomes == dict.fromkeys(names, outcome), output


@pytest.mark.usefixtures("forked")
def test_a_crawl_is_told_as_the_site_saw_it(robots_site: MakeSite) -> None:
    site = robots_site(ROBOTS, {"/": (418, {"X-Tea": "yes"}, "short and stout")})
    crawl = site.crawl(
        LinksSpider,
        site=site.url(""),
        settings={"HTTPERROR_ALLOW_ALL": True, "USER_AGENT": "Foobot"},
    )
    assert crawl.paths == ["/"]
    assert crawl.items == [{"url": site.url("/"), "status": 418, "by": "Foobot"}]
    verdict = crawl.denied[site.url("/private/diary")]
    assert len(crawl.denied) == 1
    assert (verdict.rule, verdict.line, verdict.reason) == ("Disallow: /private/", 2, "rule")
    assert crawl.stats["finish_reason"] == "finished"
    assert "Spider closed (finished)" in crawl.log
    assert [each.path for each in site.requests] == ["/robots.txt", "/"]
    assert site.requests[0].headers["user-agent"] == "Foobot"


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_site_sees_every_method(robots_site: MakeSite, method: str) -> None:
    site = robots_site(ROBOTS)
    asked = urllib.request.Request(site.url("/private"), method=method)
    urllib.request.urlopen(asked, timeout=30).close()
    assert [(each.method, each.path) for each in site.requests] == [(method, "/private")]


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Crawls run in forks that have imported what they need, not in new interpreters."""

    def run(command: list[str], *, input: bytes, timeout: float, **_: Any) -> Any:  # noqa: A002
        forks, text = Forks.running(), command[-1]
        status, output, errors = forks.run(CODE, [text], input, round(timeout), Path.cwd())
        if status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(command, timeout, output, errors)
        return subprocess.CompletedProcess(command, status, output, errors)

    monkeypatch.setattr(testing, "subprocess", SimpleNamespace(**{**vars(subprocess), "run": run}))


FILES = {
    "FEEDS": {"items.json": {"format": "json"}},
    "HTTPCACHE_ENABLED": True,
    "JOBDIR": "job",
    "ROBOTS_AUDIT_LOG": "audit.jsonl",
    "ROBOTS_AUDIT_WARC": "robots.warc",
    "ROBOTS_SHARED_PACE": "sqlite:pace.db",
    "ROBOTS_STORE": "sqlite:robots.db",
    "ROBOTS_SUMMARY_FILE": "summary.json",
}


def test_a_crawl_leaves_nothing_in_the_files_of_the_project(
    robots_site: MakeSite, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "shop" / "settings.py").open("a") as settings:
        settings.write('USER_AGENT = "Shopbot"\n')
        settings.writelines(f"{name} = {value!r}\n" for name, value in FILES.items())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    before = set(tmp_path.rglob("*"))
    site = robots_site(ROBOTS)
    crawl = site.crawl(LinksSpider, site=site.url(""))
    assert crawl.items == [{"url": site.url("/"), "status": 200, "by": "Shopbot"}]
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("forked")
def test_each_site_has_a_robots_txt_of_its_own(robots_site: MakeSite) -> None:
    closed, site = robots_site("User-agent: *\nDisallow: /\n"), robots_site()
    crawl = site.crawl(LinksSpider, site="", paths=f"{closed.url()} {site.url()}")
    assert crawl.paths == ["/"]
    assert [each.path for each in closed.requests] == ["/robots.txt"]
    assert [each.path for each in site.requests] == ["/robots.txt", "/"]


@pytest.mark.usefixtures("forked")
def test_what_is_not_there_is_not_found(robots_site: MakeSite) -> None:
    site = robots_site(404, {"/gone": 410})
    paths = "/gone /none"
    crawl = site.crawl(
        LinksSpider, site=site.url(""), paths=paths, settings={"HTTPERROR_ALLOW_ALL": True}
    )
    assert {each["url"]: each["status"] for each in crawl.items} == {
        site.url("/gone"): 410,
        site.url("/none"): 404,
    }


@pytest.mark.usefixtures("forked")
def test_a_crawl_that_cannot_start_says_why(robots_site: MakeSite) -> None:
    site = robots_site()
    with pytest.raises(RuntimeError, match="ROBOTS_MODE = 'both'"):
        site.crawl(LinksSpider, site=site.url(""), settings={"ROBOTS_MODE": "both"})
    assert site.requests == []


class SelectorSpider(scrapy.Spider):
    name = "selector"

    def parse(self, response: scrapy.http.Response) -> Iterator[dict[str, Any]]:
        yield {"links": response.css("a")}


@pytest.mark.usefixtures("forked")
def test_an_item_that_cannot_be_handed_over_is_told(robots_site: MakeSite) -> None:
    site = robots_site()
    with pytest.raises(RuntimeError, match=r"no result; its log:\n(?s:.*)pickle SelectorList"):
        site.crawl(SelectorSpider, start_urls=[site.url()])


@pytest.mark.usefixtures("forked")
def test_a_crawl_that_takes_too_long_is_ended(robots_site: MakeSite) -> None:
    site = robots_site(f"{ROBOTS}Crawl-delay: 50\n")
    with pytest.raises(RuntimeError, match=r"did not end within 5 s; its log:\n.*Scrapy"):
        site.crawl(LinksSpider, site=site.url(""), paths="/1 /2", timeout=5)


def test_a_spider_in_a_function_is_refused(robots_site: MakeSite) -> None:
    class Inside(LinksSpider):
        pass

    with pytest.raises((AttributeError, pickle.PicklingError), match="Inside"):
        robots_site().crawl(Inside)
