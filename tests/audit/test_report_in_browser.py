"""The report in a real browser: nothing goes wrong there, and people can read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from docs import report_picture

from ..chromium import CHROMIUM, Tab, chromium
from . import sample_log
from .pages import text_of
from .sample_log import HOSTILE, begin, denied, end, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.stress,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]

CONTRAST = """
(() => {
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = numbers(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const element = nodes.currentNode.parentElement;
    if (!nodes.currentNode.data.trim()) continue;
    const [a, b] = [numbers(getComputedStyle(element).color), behind(element)].map(light);
    found.push((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return Math.min(...found);
})()
"""
"""The lowest contrast of any text with what is behind it (WCAG 2.1, 1.4.3)."""

OVERHANGING = """
[...document.body.querySelectorAll('*')]
  .filter(each => each.getBoundingClientRect().right > document.documentElement.clientWidth)
  .map(each => `${each.tagName} ${each.className} ${each.textContent.slice(0, 60)}`)
"""

COUNTS = """
[...document.querySelectorAll('#hosts tbody tr')].map(row => [...row.cells].map(c => c.innerText))
"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(text_of(sample_log.entries(), "line 3: changed"))
    return path


@pytest.fixture(autouse=True)
def fresh(tab: Tab) -> None:
    tab.problems.clear()
    tab.requested.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_it_fits_can_be_read_and_shows_the_figures(
    tab: Tab, page: Path, width: int, scheme: str
) -> None:
    tab.looks(width, scheme)
    tab.open(page)
    assert tab.evaluate(OVERHANGING) == []
    rows: list[list[str]] = tab.evaluate(COUNTS)
    assert sum(int(row[2]) for row in rows) == sample_log.FIGURES["denied"]
    assert sum(int(row[3]) for row in rows) == sample_log.FIGURES["allowed"]
    assert tab.evaluate(CONTRAST) >= 4.5
    assert tab.problems == []
    assert tab.requested == [page.as_uri()]


def test_fifty_sites_make_five_screens(tab: Tab, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    hosts = [f"https://site{number}.example" for number in range(50)]
    failed = [read(host, access="unreachable", failure="503") for host in hosts[:9]]
    page.write_text(text_of([begin(), *(denied(host, "/") for host in hosts), *failed, end()]))
    tab.looks(1280)
    tab.open(page)
    assert tab.evaluate("document.documentElement.scrollHeight") < 5 * 800


def test_text_from_a_site_runs_nothing(tab: Tab, page: Path) -> None:
    tab.looks(1280)
    tab.open(page)
    assert tab.evaluate("document.scripts.length") == 0
    tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    shown = tab.evaluate("document.getElementById('reasons').innerText")
    assert "Disallow: /<script>alert('x')</script>?a=\\u202egnp.exe\\x00" in shown
    assert HOSTILE in tab.evaluate("document.getElementById('hosts').innerText")


def test_printed_it_is_dark_on_light_and_has_no_links(tab: Tab, page: Path) -> None:
    tab.looks(1280, "dark")
    tab.open(page)
    assert tab.printed().startswith(b"%PDF")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    tab("Emulation.setEmulatedMedia", media="print", features=features)
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    tab("Emulation.setEmulatedMedia", media="")


def test_a_long_word_does_not_push_anything_off_a_phone(tab: Tab, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    long = "x" * 250
    entries = [
        begin(spider=long, agent=long),
        denied(
            f"https://{long}.example", f"/{long}", reason=long, rule=long, override={long: long}
        ),
    ]
    page.write_text(text_of(entries, long))
    tab.looks(390)
    tab.open(page)
    assert tab.evaluate(OVERHANGING) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "<script>throw new Error('x')</script>",
        "<script>console.log('x')</script>",
        """<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
        <b style="color: red">x</b>""",
    ],
)
def test_what_goes_wrong_in_a_page_would_be_seen(tab: Tab, tmp_path: Path, wrong: str) -> None:
    page = tmp_path / "wrong.html"
    page.write_text(f"<!DOCTYPE html>{wrong}")
    tab.open(page)
    assert tab.problems


def test_what_a_page_asks_for_would_be_seen(tab: Tab, tmp_path: Path) -> None:
    page = tmp_path / "asking.html"
    page.write_text("<!DOCTYPE html><img src='missing.png'>")
    tab.open(page)
    assert len(tab.requested) == 2


def test_the_picture_of_the_docs_can_be_made_anew(tmp_path: Path) -> None:
    made = tmp_path / "report.png"
    report_picture.main(made)
    assert made.read_bytes()[:24] == report_picture.PICTURE.read_bytes()[:24]  # of the same size
