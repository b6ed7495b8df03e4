"""Findings about Content-Usage, Content-Signal and License: each, and what is much like it."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import RFC9309, Dialect
from scrapy_robots_plus.protocol.lint import lint

RULE = "Disallow: /private/\n"


def found(*lines: str, dialect: Dialect = RFC9309) -> list[tuple[int, str, str]]:
    """The findings of a group with these lines, the first of which is line 1."""
    text = "\n".join(["User-agent: *", RULE.rstrip(), *lines])
    return [
        ((each.line or 0) - 2, each.code.value, each.text) for each in lint(text, dialect).findings
    ]


def codes(*lines: str, dialect: Dialect = RFC9309) -> list[tuple[int, str]]:
    return [finding[:2] for finding in found(*lines, dialect=dialect)]


@pytest.mark.parametrize(
    "line",
    [
        "Content-Usage: train-ai=n",
        "Content-Usage: train-ai=y;x=1, search=n, ai-use=y",
        "Content-Usage: /a/*.pdf$ train-ai=n",
        "Content-Signal: search=yes, ai-input=no, ai-train=no",
        "Content-Signal: search=yes,ai-train=no,use=reference",
        "Content-Signal: use=immediate",
        "Content-Signal: USE=Full,",
        "License: https://rsl.example/license.xml",
        "License: HTTP://rsl.example",
        "Content-Usage: bots=n, search=y",  # what nobody knows yet is passed over
    ],
)
def test_usual_lines_have_none(line: str) -> None:
    assert found(line) == []


USES = "uses with y or n, such as train-ai=n, search=y"
SIGNALS = "uses with yes or no, such as ai-train=no, search=yes"
URL = "a whole URL, with https:// and the host"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Content-Usage: Train-AI=n", USES),
        ("Content-Usage: /a train-ai:n", USES),
        ("Content-Usage: bots=n", USES),
        ("Content-Usage: search=y, train-ai=no, ai-use", USES),
        ("Content-Usage: search", USES),
        ("Content-Usage: /a", USES),
        ("Content-Usage:", USES),
        ("Content-Signal: ai=no, b=no", SIGNALS),
        ("Content-Signal: ai-use=no", SIGNALS),
        ("Content-Signal: search=yes, ai-train=n, ai-input=maybe", SIGNALS),
        ("Content-Signal: use=everything, ai-input=no", SIGNALS),
        ("Content-Signal:", SIGNALS),
        ("License: /license.xml", URL),
        ("License: https:///x", URL),
        ("License:", URL),
    ],
)
def test_what_is_found(line: str, expected: str) -> None:
    value = repr(line.partition(":")[2].strip())
    shown = value if len(value) <= 42 else f"{value[:41]}...'"
    words = f"{shown} is not understood: write {expected}."
    assert found(line) == [(1, "unreadable-value", words)]


def test_a_line_outside_all_groups_is_ignored() -> None:
    for line in ("Content-Usage: train-ai=n", "Content-Signal: ai-train=no"):
        (finding,) = lint(f"{line}\nUser-agent: *\n{RULE}").findings
        assert (finding.line, str(finding.code)) == (1, "outside-group")
    assert not lint(f"License: https://x.example/l\nUser-agent: *\n{RULE}").findings
