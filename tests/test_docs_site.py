"""The docs site: every public name is in its reference, every link has an address that can be one.

`make docs` checks links inside of the site, and to the documentation of Python and Scrapy.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from docs import docstrings, public_names

from .programs import CODE, Program

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sample_project/*.md")]
LINKED = {
    "contentsignals.org",
    "datatracker.ietf.org",
    "devguide.python.org",
    "developers.google.com",
    "docs.pytest.org",
    "docs.python.org",
    "docs.scrapy.org",
    "github.com",
    "img.shields.io",
    "keepachangelog.com",
    "pypi.org",
    "raw.githubusercontent.com",
    "readthedocs.org",
    "redis.io",
    "scrapy-robots-plus.readthedocs.io",
    "scrapy.org",
    "semver.org",
    "publicsuffix.org",
    "rslstandard.org",
    "www.rfc-editor.org",
    "www.sitemaps.org",
    "www.w3.org",
    "yandex.com",
}
"""Hosts that pages link to. One more is put in by somebody who has looked at it."""
URL = re.compile(r"https?://[^\s<>\"'`)\]},]+")


class Undescribed:
    """Says nothing of what it goes by."""

    def __init__(self) -> None:
        self.untyped = 1
        """Of which type is not said."""

    silent = 1
    delay: float = 1.0
    """How long."""

    def raising(self, untyped) -> float:  # type: ignore[no-untyped-def]
        """What it may raise is not said."""
        raise ValueError(untyped)


def test_every_public_name_is_in_the_reference_and_says_what_a_user_needs() -> None:
    assert public_names.problems() == []


def test_what_has_all_is_public() -> None:
    assert {"scrapy_robots_plus.Addon", "scrapy_robots_plus.protocol.Agent"} <= set(
        public_names.public()
    )


def test_a_name_that_the_reference_leaves_out_is_told() -> None:
    reference = list(public_names.entries(".. autoclass:: scrapy_robots_plus.Verdict\n"))
    names = ["scrapy_robots_plus.protocol.Verdict", "scrapy_robots_plus.protocol.VisitTime"]
    assert public_names.undocumented(names, reference) == names[1:]


def test_what_a_docstring_leaves_out_is_told() -> None:
    members = ("untyped", "silent", "delay", "raising")
    name = f"{__name__}.Undescribed"
    entry = public_names.Entry("class", name, members)
    assert set(public_names.problems_of(entry)) == {
        f"{name}.untyped does not say its type",
        f"{name}.silent has no docstring",
        f"{name}.delay has no unit",
        f"{name}.raising has no unit",
        f"{name}.raising raises ValueError and does not say so",
        f"{name}.raising does not say the type of untyped",
        f"{name} does not say what it goes by: an RFC, a setting, Scrapy, ...",
    }


def test_the_docstring_that_python_makes_for_a_dataclass_is_none() -> None:
    assert dataclasses.make_dataclass("Empty", ["field"]).__doc__
    assert docstrings.of_class(dataclasses.make_dataclass("Empty", ["field"])) == ""


def test_a_docstring_below_an_assignment_and_an_inherited_one_count() -> None:
    assert docstrings.of(public_names.find("scrapy_robots_plus.Origin"), "scheme")
    memory = public_names.find("scrapy_robots_plus.storage.store.MemoryStore")
    assert docstrings.of(memory, "put").startswith("Stores *record*")


def links_out(page: Path) -> list[str]:
    """What a page links to elsewhere: not the addresses in its samples and words in code."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [url.rstrip(".;:") for url in URL.findall(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_elsewhere_can_be_followed(page: Path) -> None:
    for url in links_out(page):
        parts = urlsplit(url)
        assert parts.scheme == "https", url
        assert parts.hostname in LINKED, url
        assert parts.port is None, url
        assert not parts.username, url


def test_links_to_elsewhere_are_found() -> None:
    assert "https://scrapy.org" in links_out(ROOT / "README.md")


RESOLVED = """
from docs import annotations
annotations.make_resolvable()
found = annotations.unresolved()
assert not found, found
"""


def test_annotations_can_be_resolved_as_the_docs_do_it() -> None:
    """In a fork: it fills the modules of the package with names."""
    Program(CODE, RESOLVED).succeed(60)
