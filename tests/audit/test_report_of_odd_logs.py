"""Nothing from a log is obeyed by a browser, and no log is too odd for a report."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit import report
from scrapy_robots_plus.audit.entries import Entry
from scrapy_robots_plus.protocol.printable import moment_of

from . import sample_log
from .entries import any_entry
from .pages import Page, assert_harmless, page_of, text_of
from .sample_log import BEGIN, SHOP, SLOW, allowed, begin, denied, end, read

STYLE = Path(report.__file__).with_name("style.css")


@pytest.fixture(scope="module")
def sample() -> Page:
    return page_of(sample_log.entries())


def test_text_from_a_site_is_shown_and_not_obeyed(sample: Page) -> None:
    assert_harmless(sample)
    shown = r"/<script>alert('x')</script>?a=\u202egnp.exe\x00\x1b[31m&b=" + "\"'></style></title>"
    assert f"Disallow: {shown}\\ud800" in sample.text
    assert len(max(sample.texts, key=len)) < 1_000


@given(st.lists(any_entry, max_size=20))
def test_whatever_a_log_holds_a_page_is_made_of_it_in_ascii(entries: list[Entry]) -> None:
    text = text_of(entries)
    assert text.isascii()
    assert_harmless(Page(text))


@given(st.text())
def test_any_text_is_shown_as_it_is_or_escaped(text: str) -> None:
    shown = page_of([begin(), denied(SHOP, "/", rule=text)])
    assert_harmless(shown)
    visible = "".join(each for each in text[:300] if each.isprintable()).split()
    _, words, _ = (row[0] for row in shown.tables["reasons"] if len(row) == 2)
    assert all(part in words for word in visible for part in (word[:1], word[-1:]))


def test_nothing_else_may_be_loaded_or_run(sample: Page) -> None:
    (policy,) = (each["content"] for each in sample.all("meta") if "http-equiv" in each)
    style = STYLE.read_text()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:"
    assert "url(" not in style
    assert "@import" not in style


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z"])
def test_a_time_at_the_end_of_all_times(moment: str) -> None:
    at = moment_of(moment) - BEGIN
    entries = [denied(SHOP, "/", at), allowed(SLOW, "/", sent=BEGIN), read(SHOP, at, changed=True)]
    assert moment[:10] in page_of(entries).text


def test_numbers_that_no_crawl_can_have_counted() -> None:
    huge = 10**4_299
    entries = [begin(), denied(SHOP, "/", line=huge), *(end(allowed=huge, lost=huge),) * 2, end()]
    assert len(text_of(entries)) < 100_000


def test_an_empty_log() -> None:
    found = page_of([])
    assert found.sentence.startswith("0 of 0 requests denied")
    assert "The log holds no crawl." in found.text
    assert_harmless(found)
