"""Projects that are broken, or do without something that this package is made of."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.cmdline import execute

from ..crawling import ADDON
from .running import LONGEST, Robots

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

RULES = "User-agent: *\nDisallow: /closed\n"
NO_ADDON = dict.fromkeys(ADDON)
LEFT_OPEN = f"{__name__}:leaving_files_open"


def leaving_files_open() -> None:
    """Runs ``scrapy``: version 2.14 does not close a log file, an error where warnings are."""
    warnings.simplefilter("ignore", ResourceWarning)
    execute()


@pytest.mark.parametrize(
    "settings",
    [
        {"ADDONS": {"no.such.Addon": None}},
        {"ADDONS": NO_ADDON},
        {"SPIDER_LOADER_CLASS": "no.such.Loader"},
        {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "REDIS_URL": "redis://127.0.0.1:1/",
        },
        {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
        {"LOG_STDOUT": True, "LOG_LEVEL": "DEBUG"},
    ],
    ids=["no add-on", "switched off", "loader", "redis", "select", "log"],
)
def test_the_rule_is_named_whatever_else_the_project_has(
    sites: Sites, tmp_path: Path, settings: dict[str, Any]
) -> None:
    host = sites.host(RULES)
    done = Robots.in_project(tmp_path, **settings)("check", host.url("/closed"))
    assert (done.status, done.errors) == (1, "")
    assert "Disallow: /closed, line 2" in done.output


def test_the_log_of_a_crawl_of_the_project_stays_as_it_is(sites: Sites, tmp_path: Path) -> None:
    """And what goes wrong is told to the user, in the place and as much as the user wants."""
    robots = Robots.in_project(tmp_path, LOG_FILE="crawl.log", LOG_FILE_APPEND=False)
    (tmp_path / "crawl.log").write_text("of a crawl")
    url = sites.host(RULES).url("/closed")
    assert robots("check", url).errors == ""
    assert "Spider opened" in robots("check", url, "-L", "INFO").errors
    assert "Spider opened" in robots("check", url, "-s", "LOG_LEVEL=INFO").errors
    asked = robots("check", url, "-L", "INFO", "--logfile", "asked.log", main=LEFT_OPEN)
    assert asked.errors == ""
    assert "Spider closed" in (tmp_path / "asked.log").read_text()
    assert robots("check", url, "-s", "LOG_LEVEL=INFO", "--nolog").errors == ""
    assert (tmp_path / "crawl.log").read_text() == "of a crawl"


def test_the_help_names_the_level_of_the_log_that_holds(tmp_path: Path) -> None:
    robots = Robots.in_project(tmp_path, LOG_LEVEL="INFO", LOG_FILE="crawl.log")
    said = " ".join(robots("check", "--help").output.split())
    assert "log level (default: WARNING)" in said
    assert "stderr will be used" in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("-L", "FOO"), "Unknown level: 'FOO'"),
        (("-s", "CONCURRENT_REQUESTS=abc"), "CONCURRENT_REQUESTS: invalid literal for int()"),
        (("-s", "COOKIES_ENABLED=maybe"), "COOKIES_ENABLED: Supported values for boolean"),
        (("-s", "DNS_TIMEOUT=abc"), "DNS_TIMEOUT: could not convert string to float: 'abc'"),
    ],
)
def test_a_wrong_setting_of_scrapy_itself_is_told_in_one_line(
    sites: Sites, tmp_path: Path, arguments: tuple[str, str], why: str
) -> None:
    done = Robots(tmp_path)("check", sites.host(RULES).url(), *arguments)
    assert (done.status, done.output) == (2, "")
    (line,) = done.errors.splitlines()
    assert line.startswith(f"scrapy robots check: {why}")


def test_a_pid_file_that_cannot_be_written_is_told(sites: Sites, tmp_path: Path) -> None:
    path = tmp_path / "none" / "pid"
    done = Robots(tmp_path)("check", sites.host(RULES).url(), "--pidfile", path)
    assert (done.status, done.output) == (2, "")
    assert f"No such file or directory: '{path}'" in done.errors


def test_an_addon_that_is_missing_is_named_where_it_is_needed(sites: Sites, tmp_path: Path) -> None:
    robots = Robots.in_project(tmp_path, ADDONS={**ADDON, "no.such.Addon": 1})
    (tmp_path / "r.txt").write_text(RULES)
    url = sites.host(RULES).url("/closed")
    done = robots("check", url)
    assert (done.status, done.output) == (2, "")
    told = "scrapy robots check: ADDONS = 'no.such.Addon': No module named 'no'\n"
    assert done.errors == told
    done = robots("check", "--file", "r.txt", url)
    assert (done.status, done.errors) == (1, "")


SELECT = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}


@pytest.mark.parametrize("mode", [{}, SELECT], ids=["asyncio", "select"])
@pytest.mark.parametrize(
    ("name", "path", "reason"),
    [
        ("TWISTED_REACTOR", "no.such.Reactor", "No module named 'no'"),
        ("DOWNLOADER_MIDDLEWARES", "no.such.Middleware", "No module named 'no'"),
        ("DOWNLOADER", "scrapy.core.Gone", "Module 'scrapy.core' doesn't define any object named"),
        ("STATS_CLASS", "no.such.Stats", "No module named 'no'"),
        ("ROBOTSTXT_PARSER", "no.such.Parser", "No module named 'no'"),
        ("SCHEDULER_PRIORITY_QUEUE", "no.such.Queue", "No module named 'no'"),
    ],
    ids=["reactor", "middleware", "downloader", "stats", "parser", "queue"],
)
def test_a_setting_that_names_what_cannot_be_imported_is_told(
    tmp_path: Path, mode: dict[str, Any], name: str, path: str, reason: str
) -> None:
    value: Any = {path: 5} if name == "DOWNLOADER_MIDDLEWARES" else path
    status, errors = _ended(tmp_path, {**mode, name: value})
    assert status == 2
    assert errors.startswith(f"scrapy robots check: {name} = {path!r}: {reason}")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("mode", [{}, SELECT], ids=["asyncio", "select"])
def test_an_error_in_a_class_of_the_project_is_told_with_its_place(
    tmp_path: Path, mode: dict[str, Any]
) -> None:
    (tmp_path / "faulty.py").write_text("import no.such.module\n")
    settings = {**mode, "DOWNLOADER_MIDDLEWARES": {"faulty.Middleware": 5}}
    status, errors = _ended(tmp_path, settings)
    assert status == 2
    assert "faulty.py" in errors
    assert "No module named 'no'" in errors


def test_so_it_is_if_the_class_says_in_its_own_words_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "own_words.py").write_text(
        "from scrapy.utils.misc import load_object\n"
        "class Middleware:\n"
        "    @classmethod\n"
        "    def from_crawler(cls, crawler):\n"
        "        try:\n"
        "            return load_object(crawler.settings['MY_CACHE'])()\n"
        "        except ImportError:\n"
        "            raise ImportError(\"the extra 'cache' is not installed\")\n"
    )
    settings = {"DOWNLOADER_MIDDLEWARES": {"own_words.Middleware": 5}, "MY_CACHE": "nope.Cache"}
    status, errors = _ended(tmp_path, settings)
    told = "scrapy robots check: MY_CACHE = 'nope.Cache': No module named 'nope'\n"
    assert (status, errors) == (2, told)


@pytest.mark.parametrize("kind", ["RuntimeError", "ValueError"])
def test_a_fault_is_not_taken_for_a_denial(tmp_path: Path, kind: str) -> None:
    """Python's own status for an exception is 1."""
    (tmp_path / "faulty.py").write_text(
        "class Addon:\n"
        "    @classmethod\n"
        "    def update_pre_crawler_settings(cls, settings):\n"
        f"        raise {kind}('a fault')\n"
    )
    status, errors = _ended(tmp_path, {"ADDONS": {"faulty.Addon": 1}})
    assert status == 2
    assert "Traceback" in errors
    assert f"{kind}: a fault" in errors


def _ended(folder: Path, settings: dict[str, Any]) -> tuple[int, str]:
    """The status of a command in a project, and what it prints on standard error."""
    process = Robots.in_project(folder, **settings).started("check", "http://127.0.0.1:1/")
    _, errors = process.communicate(timeout=LONGEST)
    return process.wait(), errors.decode()
