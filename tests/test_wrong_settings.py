"""A crawl with wrong settings ends at once: one message, no traceback, a status that is not 0."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings, default_settings

from scrapy_robots_plus import RobotsSettingsError
from scrapy_robots_plus.settings.robots_settings import RobotsSettings

from .forks import SCRAPY, Forks
from .programs import CODE, scrapy_in

ROOT = Path(__file__).parent.parent
SPIDER = """
import scrapy


class WrongSpider(scrapy.Spider):
    name = "wrong"
    start_urls = ["http://127.0.0.1:9/"]
    custom_settings = {settings!r}

    def closed(self, reason):
        print("the crawl has run")
"""
ADDON = {"ADDONS": {"scrapy_robots_plus.Addon": 300}}
BY_HAND = {
    "ROBOTSTXT_OBEY": True,
    "DOWNLOADER_MIDDLEWARES": {"scrapy_robots_plus.RobotsMiddleware": 100},
}
WRONG = {"ROBOTS_TTL": "a day", "ROBOTS_STALE_MAX": -1}
MESSAGE = """\
2 settings are wrong:
  ROBOTS_TTL = 'a day': expected two numbers of seconds between 1 and 86,400, the smaller first
  ROBOTS_STALE_MAX = -1: expected a number of seconds between 0 and 315,360,000
""".splitlines()
MODES = {
    "asyncio": {},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
}
if hasattr(default_settings, "TWISTED_REACTOR_ENABLED"):  # Scrapy 2.15 and later
    MODES["no reactor"] = {"TWISTED_REACTOR_ENABLED": "False"}


def scrapy(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What it prints, and its log after that."""
    status, output, log = Forks.running().run(SCRAPY, [*arguments], b"", 60, folder)
    return subprocess.CompletedProcess(arguments, status, (output + log).decode())


def assert_told(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode != 0
    assert "Traceback" not in done.stdout, done.stdout
    assert "the crawl has run" not in done.stdout
    lines = done.stdout.splitlines()
    first = next(number for number, line in enumerate(lines) if line.endswith(MESSAGE[0]))
    assert lines[first + 1 : first + 3] == MESSAGE[1:]
    assert done.stdout.count("ROBOTS_TTL = ") == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_crawl_ends_with_one_message_in_every_reactor_mode(mode: str, tmp_path: Path) -> None:
    spider = tmp_path / "spider.py"
    spider.write_text(SPIDER.format(settings={**ADDON, **WRONG}))
    options = [f"{name}={value}" for name, value in MODES[mode].items()]
    chosen = [argument for option in options for argument in ("-s", option)]
    assert_told(scrapy("runspider", "spider.py", "-L", "ERROR", *chosen, folder=tmp_path))


def test_the_middleware_by_hand_ends_it_the_same_way(tmp_path: Path) -> None:
    spider = tmp_path / "spider.py"
    spider.write_text(SPIDER.format(settings={**BY_HAND, **WRONG}))
    assert_told(scrapy("runspider", "spider.py", "-L", "ERROR", folder=tmp_path))


@pytest.mark.parametrize("obeys", [True, False])
def test_another_class_in_the_place_of_the_add_on_ends_it(obeys: bool, tmp_path: Path) -> None:
    """It did nothing: the crawl ran without any robots.txt."""
    named = "scrapy_robots_plus.RobotsMiddleware"
    settings = {"ADDONS": {named: 300}, "ROBOTSTXT_OBEY": obeys}
    (tmp_path / "spider.py").write_text(SPIDER.format(settings=settings))
    done = scrapy("runspider", "spider.py", "-L", "ERROR", folder=tmp_path)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout, done.stdout
    assert "the crawl has run" not in done.stdout
    assert f"ADDONS = '{named}': expected 'scrapy_robots_plus.Addon'" in done.stdout


@pytest.mark.parametrize(
    ("slot", "told"),
    [
        (None, "['site.example'] = None: expected a dict"),
        ({"delay": None}, "['site.example']['delay'] = None: expected a number"),
        ({"delay": "2"}, "['site.example']['delay'] = '2': expected a number"),
        ({"concurrency": [1]}, "['site.example']['concurrency'] = [1]: expected a number"),
        ({"jitter": "x"}, "['site.example']['jitter'] = 'x': expected a number"),
        ({"jitter": [0.1, 0.2]}, "['site.example']['jitter'] = [0.1, 0.2]: expected a number"),
        ({"delay": 2, "concurrency": 1.5, "jitter": "0.1", "ours": None}, None),
    ],
)
def test_a_wrong_slot_is_told_before_its_first_request(slot: object, told: str | None) -> None:
    settings = Settings({"DOWNLOAD_SLOTS": {"site.example": slot, "other.example": {"delay": 1}}})
    if told is None:
        RobotsSettings.from_settings(settings)
        return
    with pytest.raises(RobotsSettingsError, match=re.escape(f"DOWNLOAD_SLOTS{told}")):
        RobotsSettings.from_settings(settings)


@pytest.mark.parametrize("way", [ADDON, BY_HAND], ids=["add-on", "by hand"])
def test_a_misspelt_name_is_told_beside_a_wrong_value(way: dict[str, Any], tmp_path: Path) -> None:
    misspelt = {"ROBOTS_STATUS_POLICIES": "mk1996"}
    (tmp_path / "spider.py").write_text(SPIDER.format(settings={**way, **WRONG, **misspelt}))
    done = scrapy("runspider", "spider.py", "-L", "WARNING", folder=tmp_path)
    assert_told(done)
    hint = "There is no setting ROBOTS_STATUS_POLICIES; did you mean ROBOTS_STATUS_POLICY?"
    assert done.stdout.count(hint) == 1, done.stdout


def test_the_shell_ends_with_the_message_too(tmp_path: Path) -> None:
    values: dict[str, Any] = {**ADDON, "ROBOTS_TTL": "a day", "ROBOTS_STALE_MAX": -1}
    chosen = []
    for name, value in values.items():
        text = json.dumps(value) if isinstance(value, dict) else value
        chosen += ["-s", f"{name}={text}"]
    done = scrapy("shell", "-c", "1", *chosen, folder=tmp_path)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    assert "ROBOTS_STALE_MAX = '-1': expected a number" in done.stdout


SCRIPT = """
import scrapy
from scrapy.crawler import CrawlerProcess
from spider import WrongSpider

process = CrawlerProcess({"LOG_LEVEL": "ERROR"})
process.crawl(WrongSpider)
process.start()
raise SystemExit(process.bootstrap_failed)
"""


def test_a_script_with_a_crawler_process_gets_the_message_alone(tmp_path: Path) -> None:
    (tmp_path / "spider.py").write_text(SPIDER.format(settings={**ADDON, **WRONG}))
    assert_told(subprocess.CompletedProcess(SCRIPT, *scrapy_in(tmp_path, SCRIPT, main=CODE)))
