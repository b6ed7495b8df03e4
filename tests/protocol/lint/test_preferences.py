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
    ],
)
def test_usual_lines_have_none(line: str) -> None:
    assert found(line) == []


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (
            "Content-Usage: Train-AI=n",
            "broken-preference",
            "It does not look like train-ai=n, search=y (unexpected octet at 0): all is unknown.",
        ),
        (
            "Content-Usage: /a train-ai:n",
            "broken-preference",
            "It does not look like train-ai=n, search=y (no comma at octet 8): all is unknown.",
        ),
        (
            "Content-Usage: bots=n",
            "unknown-use",
            "'bots' is unknown and ignored. There are train-ai, ai-use, search.",
        ),
        (
            "Content-Usage: ai-train=n",
            "unknown-use",
            "'ai-train' is unknown and ignored. There are train-ai, ai-use, search.",
        ),
        (
            f"Content-Usage: {'x' * 41}=n",
            "unknown-use",
            f"'{'x' * 40}...' is unknown and ignored. There are train-ai, ai-use, search.",
        ),
        (
            f"Content-Usage: {'x' * 40}=n",
            "unknown-use",
            f"'{'x' * 40}' is unknown and ignored. There are train-ai, ai-use, search.",
        ),
        (
            "Content-Usage: search=y, train-ai=no, ai-use",
            "unclear-preference",
            "'train-ai' is unknown: its value is none of y, n.",
        ),
        (
            "Content-Usage: search",
            "unclear-preference",
            "'search' is unknown: its value is none of y, n.",
        ),
        ("Content-Usage: /a", "empty-value", "There is no preference after the path."),
        ("Content-Usage:", "empty-value", "Content-usage has no value."),
        (
            "Content-Signal: ai=no, b=no",
            "unknown-use",
            "'ai' is unknown and ignored. There are ai-train, ai-input, search, use.",
        ),
        (
            "Content-Signal: ai-use=no",
            "unknown-use",
            "'ai-use' is unknown and ignored. There are ai-train, ai-input, search, use.",
        ),
        (
            "Content-Signal: search=yes, ai-train=n, ai-input=maybe",
            "unclear-preference",
            "'ai-train' is unknown: its value is none of yes, no.",
        ),
        (
            "Content-Signal: use=everything, ai-input=n",
            "unclear-preference",
            "'use' is unknown: its value is none of immediate, reference, full.",
        ),
        ("Content-Signal:", "empty-value", "Content-signal has no value."),
        (
            "License: /license.xml",
            "relative-url",
            "A license needs a whole URL, with https:// and the host.",
        ),
        (
            "License: https:///x",
            "relative-url",
            "A license needs a whole URL, with https:// and the host.",
        ),
        ("License:", "empty-value", "License has no value."),
    ],
)
def test_what_is_found(line: str, code: str, words: str) -> None:
    assert found(line) == [(1, code, words)]


def test_the_first_fault_of_a_line_is_told() -> None:
    assert codes("Content-Usage: a=1, b=2, train-ai=x, search") == [(1, "unknown-use")]
    assert codes("Content-Signal: search, use, b") == [(1, "unclear-preference")]


def test_a_line_outside_all_groups_is_ignored() -> None:
    for line in ("Content-Usage: train-ai=n", "Content-Signal: ai-train=no"):
        (finding,) = lint(f"{line}\nUser-agent: *\n{RULE}").findings
        assert (finding.line, str(finding.code)) == (1, "outside-group")
    assert not lint(f"License: https://x.example/l\nUser-agent: *\n{RULE}").findings
