"""Findings about Content-Usage, Content-Signal and License: each, and what is much like it."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import GOOGLE, RFC9309, Dialect
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
        ("Content-Usage: bots=n", "unknown-use", "'bots' is unknown and ignored."),
        (
            "Content-Usage: ai-train=n",
            "unknown-use",
            "'ai-train' is unknown and ignored. train-ai may be meant.",
        ),
        (
            f"Content-Usage: {'x' * 41}=n",
            "unknown-use",
            f"'{'x' * 40}...' is unknown and ignored.",
        ),
        (f"Content-Usage: {'x' * 40}=n", "unknown-use", f"'{'x' * 40}' is unknown and ignored."),
        (
            "Content-Usage: search=y, train-ai=no, ai-use",
            "unclear-preference",
            "'train-ai' says neither y nor n: it is unknown.",
        ),
        (
            "Content-Usage: search",
            "unclear-preference",
            "'search' says neither y nor n: it is unknown.",
        ),
        ("Content-Usage: /a", "empty-value", "There is no preference after the path."),
        ("Content-Usage:", "empty-value", "Content-usage has no value."),
        ("Content-Signal: ai=no, b=no", "unknown-use", "'ai' is unknown and ignored."),
        (
            "Content-Signal: ai-use=no",
            "unknown-use",
            "'ai-use' is unknown and ignored. ai-input may be meant.",
        ),
        (
            "Content-Signal: search=yes, ai-train=n, ai-input=maybe",
            "unclear-preference",
            "'ai-train' says neither yes nor no: it is unknown.",
        ),
        (
            "Content-Signal: use=everything, ai-input=n",
            "unclear-preference",
            "'use' says none of immediate, reference, full: it is unknown.",
        ),
        ("Content-Signal:", "empty-value", "Content-signal has no value."),
        (
            "License: /license.xml",
            "relative-license",
            "A license needs a whole URL, with https:// and the host.",
        ),
        (
            "License: https:///x",
            "relative-license",
            "A license needs a whole URL, with https:// and the host.",
        ),
        ("License:", "empty-value", "License has no value."),
    ],
)
def test_what_is_found(line: str, code: str, words: str) -> None:
    assert found(line) == [(1, code, words)]


def test_a_line_may_have_one_of_each() -> None:
    assert codes("Content-Usage: a=1, b=2, train-ai=x, search") == [
        (1, "unclear-preference"),
        (1, "unknown-use"),
    ]
    assert codes("Content-Signal: a=yes, search, use, b") == [
        (1, "unclear-preference"),
        (1, "unknown-use"),
    ]


def test_a_line_outside_all_groups_is_ignored() -> None:
    for line in ("Content-Usage: train-ai=n", "Content-Signal: ai-train=no"):
        (finding,) = lint(f"{line}\nUser-agent: *\n{RULE}").findings
        assert (finding.line, str(finding.code)) == (1, "outside-group")
    assert not lint(f"License: https://x.example/l\nUser-agent: *\n{RULE}").findings


class TestOpposites:
    def test_two_signals(self) -> None:
        assert found("Content-Signal: search=yes, ai-train=no", "Content-Signal: ai-train=yes") == [
            (
                2,
                "opposite-preferences",
                "It says allow to train-ai, and line 3 says disallow. Disallow counts.",
            )
        ]

    def test_one_line(self) -> None:
        assert found("Content-Signal: search=yes, search=no") == [
            (
                1,
                "opposite-preferences",
                "It says disallow to search, and the same line says allow. Disallow counts.",
            )
        ]

    def test_a_line_may_say_it_often(self) -> None:
        assert codes("Content-Signal: " + "search=yes, search=no, " * 9) == [
            (1, "opposite-preferences")
        ]

    def test_a_signal_and_a_usage_wherever_they_stand(self) -> None:
        usage, signal = "Content-Usage: /ok/ train-ai=y, search=y", "Content-Signal: ai-train=no"
        assert found(signal, usage) == [
            (
                2,
                "opposite-preferences",
                "It says allow to train-ai, and line 3 says disallow. Disallow counts.",
            )
        ]
        assert codes(usage, signal) == [(1, "opposite-preferences")]

    def test_equal_paths(self) -> None:
        assert codes("Content-Usage: /a~ search=y", "Content-Usage: /a%7e search=n") == [
            (2, "opposite-preferences")
        ]
        assert codes("Content-Usage: search=n", "Content-Usage: search=y") == [
            (2, "opposite-preferences")
        ]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Content-Usage: search=y", "Content-Usage: / search=n"),
            ("Content-Usage: /a search=y", "Content-Usage: /a/ search=n"),
            ("Content-Usage: search=y", "Content-Usage: ai-use=n"),
            ("Content-Usage: search=y", "Content-Signal: search=yes"),
            ("Content-Usage: search=n", "Content-Usage: search=n"),
            ("Content-Signal: search=yes", "Content-Signal: ai-input=no"),
        ],
    )
    def test_lines_that_go_together(self, first: str, second: str) -> None:
        assert found(first, second) == []
        assert found(second, first) == []

    def test_of_two_levels_of_use_one_denies_what_the_other_allows(self) -> None:
        lines = ("Content-Signal: use=full", "Content-Signal: use=reference")
        assert codes(*lines) == [(2, "opposite-preferences")]

    def test_what_is_unknown_is_not_the_opposite(self) -> None:
        lines = ("Content-Usage: search=n", "Content-Usage: search=x")
        assert codes(*lines) == [(2, "unclear-preference")]
        assert codes(*lines[1:], *lines[1:]) == [(n, "unclear-preference") for n in (1, 2)]
        mixed = ("Content-Signal: search=x, ai-train=no", "Content-Usage: search=x, train-ai=y")
        assert codes(*mixed)[1:] == [(2, "opposite-preferences"), (2, "unclear-preference")]

    def test_other_groups_may_say_otherwise(self) -> None:
        text = "User-agent: a\nContent-Signal: search=no\nDisallow: /x\n"
        other = text.replace(": a", ": b").replace("=no", "=yes")
        assert not lint(text + other).findings

    def test_so_may_other_crawlers_of_the_group(self) -> None:
        text = "User-agent: a\nContent-Usage: search=n\nUser-agent: b\nContent-Usage: search=y\n"
        assert [str(each.code) for each in lint(text + RULE).findings] == ["joined-group"]

    def test_each_line_is_compared_with_the_first(self) -> None:
        lines = ["Content-Signal: search=yes", *["Content-Signal: search=no"] * 3]
        assert [text for *_, text in found(*lines)] == [
            "It says disallow to search, and line 3 says allow. Disallow counts."
        ] * 3

    def test_paths_are_those_of_the_dialect(self) -> None:
        lines = ("Content-Usage: /%7E search=n", "Content-Usage: /~ search=y")
        assert codes(*lines) == [(2, "opposite-preferences")]
        assert codes(*lines, dialect=GOOGLE) == []
