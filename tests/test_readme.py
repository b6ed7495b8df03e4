"""The README and the docs say what the code does."""

from __future__ import annotations

import ast
import configparser
import re
from typing import TYPE_CHECKING

import pytest

from benchmarks import comparison
from docs import tables
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.protocol.access import Failure
from scrapy_robots_plus.settings.all_settings import DECLARED, names

from .samples import PAGES, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_robots_plus.settings.all_settings import Setting

PACKAGE = ROOT / "scrapy_robots_plus"
README = (ROOT / "README.md").read_text()
BENCHMARKS_ALONE = {"ROBOTS_CONFORMANCE", "ROBOTS_CORPUS"}
"""Variables of the environment."""
COUNTING = ("inc_value", "set_value", "max_value", "min_value")
STATS = (ROOT / "docs" / "stats.md").read_text()
SETUP = configparser.ConfigParser(interpolation=None)
SETUP.read(ROOT / "setup.cfg")
HOME = SETUP["metadata"]["url"]
PLACES = (f"{HOME}/blob/main/", HOME.replace("//github.", "//raw.githubusercontent.") + "/main/")
"""Where a published page finds the files of the repository."""
DOCS = "https://scrapy-robots-plus.readthedocs.io/en/stable/"
"""Where the pages of docs are published."""
ELSEWHERE = {
    "github.com",
    "img.shields.io",
    "pypi.org",
    "readthedocs.org",
    "scrapy.org",
    "www.rfc-editor.org",
}


@pytest.mark.parametrize(
    ("page", "name", "make"),
    tables.TABLES,
    ids=[f"{page.stem}-{name}" for page, name, _ in tables.TABLES],
)
def test_a_table_from_the_code_is_up_to_date(
    page: Path, name: str, make: Callable[[], str]
) -> None:
    assert tables.between(page, name) == make(), "run `make tables`"


def test_the_settings_page_describes_every_setting_and_no_other() -> None:
    page = tables.between(tables.SETTINGS, "settings")
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == names()


def test_the_readme_has_the_ten_settings_that_matter_most() -> None:
    table = tables.between(tables.README, "settings")
    named = re.findall(r"^\| `(\w+)`", table, re.MULTILINE)
    assert len(set(named)) == 10
    assert set(named) < set(names())


@pytest.mark.parametrize("declared", DECLARED.values(), ids=names())
def test_defaults_of_settings_are_shown_as_python(declared: Setting) -> None:
    assert ast.literal_eval(tables.shown(declared.default)) == declared.default


def test_the_comparison_is_that_of_the_script() -> None:
    assert comparison.is_current(), "run `make comparison`"
    assert "Measured by `make comparison` with Scrapy " in README


def test_the_comparison_shows_no_leak_of_ours() -> None:
    for line in tables.between(tables.README, "comparison").splitlines()[2:]:
        if not line.startswith("|"):
            continue
        _, should_be, _, ours = line.strip("| ").split(" | ")
        if should_be == comparison.KEPT_APART:
            assert float(ours.split()[2]) >= 0.98
        else:
            assert ours == should_be


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_headings(page: Path) -> None:
    links = re.findall(r"\]\((?!http)([^)#]*)#([^)]+)\)", page.read_text())
    pages = [(page.parent / path if path else page, heading) for path, heading in links]
    assert [link for link in pages if link[1] not in headings(link[0])] == []


def headings(page: Path) -> list[str]:
    """As GitHub and MyST name them in links."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]


def test_links_of_the_readme_lead_somewhere_on_a_package_index_too() -> None:
    defined = dict(re.findall(r"^\[(\S+)\]: (\S+)$", README, re.MULTILINE))
    assert set(re.findall(r"\]\[([^\]]+)\]", README)) == set(defined)
    links = [*defined.values(), *re.findall(r"\]\(([^)]+)\)", README)]
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    inside = [link.removeprefix(at) for link in links for at in PLACES if link.startswith(at)]
    assert [path for path in inside if not (ROOT / path).exists()] == []
    outside = [link for link in links if not link.startswith((*PLACES, DOCS))]
    assert {link.split("/")[2] for link in outside} <= ELSEWHERE


def test_the_readme_links_to_pages_of_the_docs() -> None:
    linked = re.findall(rf"^\[\S+\]: {DOCS}(\S+)\.html$", README, re.MULTILINE)
    assert set(linked) <= {page.stem for page in ROOT.glob("docs/*.md")}


def test_the_first_page_of_the_docs_lists_every_other() -> None:
    listed = re.findall(r"\]\((\S+)\.md\)", (ROOT / "docs" / "index.md").read_text())
    pages = {page.stem for page in ROOT.glob("docs/*.md")} - {"index"}
    assert pages <= set(listed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_named_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([a-z-]+)`", page.read_text())) <= set(targets)


def stats_in_the_code() -> set[str]:
    """Every key that is counted."""
    keys = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        nodes = ast.walk(ast.parse(text)) if any(each in text for each in COUNTING) else ()
        for node in nodes:
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in COUNTING:
                keys.add(_key(node.args[0], path))
    return keys


def _key(argument: ast.expr, path: Path) -> str:
    if isinstance(argument, ast.Call):  # stats.filled(stats.KEY, part)
        argument = argument.args[0]
    is_constant = isinstance(argument, ast.Attribute) and hasattr(stats, argument.attr)
    written = ast.unparse(argument)
    assert is_constant, f"{written} in {path}: count a constant of crawl/stats.py"
    return str(getattr(stats, written.rpartition(".")[2]))


def test_what_is_counted_is_what_is_documented() -> None:
    counted = stats_in_the_code()
    described = {key for keys in tables.STATS_BY_SECTION.values() for key in keys}
    assert counted == described, "a constant of crawl/stats.py that nothing counts"


def test_settings_that_are_named_exist() -> None:
    existing = {*names(), "ROBOTSTXT_PARSER", *BENCHMARKS_ALONE}
    for path in (*PAGES, *PACKAGE.rglob("*.py")):
        if path.name != "CHANGELOG.md":
            named = set(re.findall(r"\bROBOTS(?:TXT)?_[A-Z_]+(?<!_TXT)\b", path.read_text()))
            assert named <= existing, path


def test_the_docs_name_every_failure() -> None:
    (failures,) = re.findall(r"by failure: (.*) \|$", STATS, re.MULTILINE)
    assert re.findall(r"`(\w+)`", failures) == [str(failure) for failure in Failure]
