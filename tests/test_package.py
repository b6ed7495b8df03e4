"""The package, as others import it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scrapy_robots_plus
from scrapy_robots_plus.crawl import events

from .programs import run_text

ROOT = Path(__file__).parent.parent
OURS = ("scrapy_robots_plus", "benchmarks", "docs", "sample_project", "tests", ".ci")
FILES = [*ROOT.glob("*"), *(path for folder in OURS for path in ROOT.glob(f"{folder}/**/*"))]
TEXTS = [
    path
    for path in FILES
    if path.is_file()
    and path.suffix in ("", ".py", ".md", ".cfg", ".toml")
    and path.name not in (".git", ".coverage")  # of a worktree; of `make coverage`
]


def test_every_public_name_can_be_imported() -> None:
    for name in scrapy_robots_plus.__all__:
        assert getattr(scrapy_robots_plus, name) is not None
    assert set(dir(scrapy_robots_plus)) == set(scrapy_robots_plus.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        scrapy_robots_plus.Nothing  # noqa: B018


def test_all_events_are_public() -> None:
    """Type checkers are told so: ``__init__.py`` imports all of the module."""
    own = {
        name
        for name, value in vars(events).items()
        if type(value) is object or getattr(value, "__module__", "") == events.__name__
    }
    assert len(own) == 13
    assert own <= set(scrapy_robots_plus.__all__)


def test_no_file_names_a_folder_of_a_machine_or_leaves_something_undone() -> None:
    folders = [f"/{each}/" for each in ("root", "Users", "home/user", "work", "opt")]
    marks = ["TO" + "DO", "FIX" + "ME", "X" * 3]
    forbidden = re.compile(rf"(?<![\w.])({'|'.join(folders)})\w|\b({'|'.join(marks)})\b")
    assert len(TEXTS) > 50
    found = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in TEXTS
        for text in [path.read_text()]
        if any(each in text for each in (*folders, *marks))  # takes a tenth of the search
        for found in forbidden.finditer(text)
    ]
    assert found == []


FOR_OTHERS = (
    "scrapy_robots_plus.redis",
    "scrapy_robots_plus.redis.dupefilter",
    "scrapy_robots_plus.redis.queue",
)


def test_all_of_it_can_be_imported_without_what_only_some_need() -> None:
    code = f"""
import importlib, pkgutil, sys
from tests.programs import forget
forget("scrapy_robots_plus", "redis", "scrapy_redis")
sys.modules["redis"] = sys.modules["scrapy_redis"] = None
import scrapy_robots_plus
for each in pkgutil.walk_packages(scrapy_robots_plus.__path__, "scrapy_robots_plus."):
    if each.name not in {FOR_OTHERS!r}:
        importlib.import_module(each.name)
"""
    assert run_text(code) == (0, "")
