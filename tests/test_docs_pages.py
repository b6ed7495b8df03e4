"""What the pages of the docs name is there: files, commands, options, kinds of samples."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from .crawling import crawl
from .samples import FOLLOWED

if TYPE_CHECKING:
    from .sites import Sites

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted({*DOCS.glob("**/*.md")} - {*DOCS.glob("inventories/*")})
LANGUAGES = {"python", "console", "text", "sql", "html"}
"""What a sample may be; of these the last three are output, a description and a page."""
CANNOT_RUN = {
    "pip install": "it would change this environment; `.ci/run` makes one",
}
"""Why a command is not run, by words of it."""
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))


def fences(page: Path) -> list[tuple[str, str]]:
    """Language and text of each sample; not of those that say something to Sphinx."""
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [(language, text) for language, text in found if not language.startswith("{")]


_RUN = re.compile(r'\bsessions\("([^"]+)"\)')
"""How a test of ``tests/commands`` names the page whose commands it runs."""
RUN = {
    ROOT / name
    for source in (ROOT / "tests" / "commands").glob("test_*.py")
    for name in _RUN.findall(source.read_text())
}
COMMANDS = [
    command
    for page in PAGES
    if page not in FOLLOWED
    for language, text in fences(page)
    if language == "console"
    for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    if not (page in RUN and command.startswith("scrapy robots "))
    and "redis-cli" not in command  # tests/crawl/test_cluster_page.py runs these
]
OPTIONS = sorted(
    option
    for page in PAGES
    for option in re.findall(r"`[^`\n]*?(-s [A-Z]\w+=[^`\n]*)`", page.read_text())
)


@each_page
def test_every_sample_says_what_it_is(page: Path) -> None:
    # Tests run those of the pages that lie in docs itself.
    python = {"python"} if page.parent != DOCS else set()
    assert {language for language, _ in fences(page)} <= LANGUAGES - python


def test_each_command_that_is_not_run_has_a_reason() -> None:
    reasons = [[words for words in CANNOT_RUN if words in command] for command in COMMANDS]
    assert all(reasons), COMMANDS
    assert {words for each in reasons for words in each} == set(CANNOT_RUN)


@pytest.mark.parametrize("option", sorted(set(OPTIONS)))
@pytest_twisted.ensureDeferred
async def test_options_of_the_command_line_can_be_given(
    option: str,
    sites: Sites,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # of a job, too
    host = sites.host("User-agent: *\nDisallow: /private/\n")
    words = shlex.split(option)
    assert words[::2] == ["-s"] * (len(words) // 2)
    settings: dict[str, Any] = dict(word.split("=", 1) for word in words[1::2])
    await crawl(host.url("/private/"), host.url("/"), **settings)
    obeys = settings.get("ROBOTSTXT_OBEY") != "False"
    assert set(host.fetched) == ({"/"} if obeys else {"/", "/private/"})
    assert "There is no setting" not in caplog.text


@each_page
def test_files_that_a_page_names_are_there(page: Path) -> None:
    if page in FOLLOWED:  # it names those of a project that it makes
        return
    named = re.findall(r"[`\s]((?:[\w.-]+/)+[\w-]+\.(?:py|md|inv))\b", page.read_text())
    places = (ROOT, ROOT / "scrapy_robots_plus", page.parent)
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
