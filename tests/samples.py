"""The code samples of README and docs, for the tests that run them."""

from __future__ import annotations

import ast
import linecache
import re
from pathlib import Path
from typing import Any

from .crawling import crawl

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("sample_project/*.md")]
FOLLOWED = {ROOT / "docs" / "tutorial.md"}
"""Pages whose samples build on each other: tests/test_tutorial.py does all that they say."""
_RUN = re.compile(r'\bblock_with\(\s*"([^"]+)",\s*"([^"]+)"')
"""How a test names the sample that it runs."""


def blocks(language: str, page: str | Path) -> list[str]:
    """The samples of *page*, a path below the root."""
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def block_with(words: str, page: str, **replaced: str) -> dict[str, Any]:
    """What the one Python sample of *page* that contains *words* defines.

    *replaced*: what stands for ``http://site.example`` and the like; a name is that of the host.
    """
    (block,) = (block for block in blocks("python", page) if words in block)
    return defined_by(block, **replaced)


def defined_by(block: str, **replaced: str) -> dict[str, Any]:
    for host, origin in replaced.items():
        block = re.sub(rf"https?://{host}\.example(:\d+)?", origin, block)
    defined: dict[str, Any] = {}
    name = f"<sample {hash(block)}>"
    # Scrapy reads the source of callbacks that are generators.
    linecache.cache[name] = len(block), None, block.splitlines(keepends=True), name
    exec(compile(block, name, "exec"), defined)
    return defined


def settings_of(defined: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in defined.items() if name.isupper()}


def is_session(block: str) -> bool:
    return block.startswith(">>>")


def is_settings(block: str) -> bool:
    """Whether it would do as a part of anybody's settings.py, with no class of a project."""
    return "project." not in block and all(
        isinstance(statement, ast.Assign)
        and all(isinstance(name, ast.Name) and name.id.isupper() for name in statement.targets)
        for statement in ast.parse(block).body
    )


def run_by_a_test(page: Path) -> list[str]:
    """Words of the samples of *page* that tests name."""
    sources = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    found = [match for source in sources for match in _RUN.findall(source)]
    return [words for words, name in found if ROOT / name == page]


async def run_as_it_is(spider: type) -> Any:
    """Runs a spider of the docs, which takes no URLs from a test, and whose callbacks must work."""

    class Spider(spider):
        def __init__(self, urls: object) -> None:
            super().__init__()

    crawler = await crawl(spider=Spider)
    stats = crawler.stats.get_stats()
    assert [key for key in stats if key.startswith("spider_exceptions/")] == []
    return crawler
