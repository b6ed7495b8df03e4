"""Several statements about one page: what they amount to, who says so, who contradicts whom."""

from __future__ import annotations

import json
import pickle
from itertools import product

import pytest

from scrapy_robots_plus.protocol.preferences import (
    LABELS,
    LEVELS,
    SIGNALS,
    Preference,
    Preferences,
    Source,
    Statement,
    combine,
)

ALLOW, DISALLOW, UNKNOWN = Preference.ALLOW, Preference.DISALLOW, Preference.UNKNOWN


def statement(preference: Preference, category: str = "train-ai", line: int = 1) -> Statement:
    return Statement(category, preference, Source.CONTENT_USAGE, f"Content-Usage: {line}", line)


@pytest.mark.parametrize("stated", list(product(Preference, repeat=3)))
def test_the_most_restrictive_counts(stated: tuple[Preference, ...]) -> None:
    combined = combine(map(statement, stated))
    wanted = DISALLOW if DISALLOW in stated else ALLOW if ALLOW in stated else UNKNOWN
    assert combined.of("train-ai") is wanted
    assert combined.by_category() == {"train-ai": wanted, "ai-use": UNKNOWN, "search": UNKNOWN}


def test_without_statements_all_is_unknown() -> None:
    nothing = combine(())
    assert not nothing
    assert set(nothing.by_category().values()) == {UNKNOWN}
    assert nothing.contradictions == ()
    assert nothing.decisive("search") is None
    assert nothing.objection(["train-ai", "ai-use", "search"]) is None
    assert combine([statement(UNKNOWN)])


def test_a_label_that_nobody_has_defined_is_unknown() -> None:
    combined = combine([statement(DISALLOW)])
    assert combined.of("train") is UNKNOWN
    assert combined.of("") is UNKNOWN
    assert combined.objection(["train", ""]) is None


def test_the_first_statement_that_says_it_is_named() -> None:
    statements = [
        statement(ALLOW, line=1),
        statement(DISALLOW, line=2),
        statement(DISALLOW, line=3),
        statement(ALLOW, "search", 4),
        statement(ALLOW, "search", 5),
    ]
    combined = combine(statements)
    assert combined.statements == tuple(statements)
    assert combined.decisive("train-ai") is statements[1]
    assert combined.decisive("search") is statements[3]
    assert combined.decisive("ai-use") is None


def test_an_objection_is_against_a_use_of_the_crawl() -> None:
    combined = combine([statement(DISALLOW, "ai-use"), statement(ALLOW, "search")])
    assert combined.objection(["train-ai", "search"]) is None
    assert combined.objection(["search", "ai-use"]) is combined.statements[0]
    assert combined.objection(iter(["ai-use"])) is combined.statements[0]
    assert combined.objection([]) is None


class TestContradictions:
    def test_each_use_has_one(self) -> None:
        both = [statement(ALLOW, line=3), statement(DISALLOW, line=2), statement(ALLOW, line=1)]
        others = [statement(ALLOW, "search", 7), statement(UNKNOWN, "ai-use", 8)]
        assert combine([*others, *both]).contradictions == ("train-ai",)

    def test_they_come_in_the_order_of_the_vocabulary(self) -> None:
        labels = ("search", "ai-use", "train-ai")
        statements = [statement(each, label) for label in labels for each in (ALLOW, DISALLOW)]
        assert combine(statements).contradictions == ("train-ai", "ai-use", "search")

    def test_unknown_contradicts_nothing(self) -> None:
        assert combine([statement(UNKNOWN), statement(DISALLOW)]).contradictions == ()
        assert combine([statement(UNKNOWN), statement(ALLOW)]).contradictions == ()

    def test_nor_do_statements_about_other_uses(self) -> None:
        statements = [statement(ALLOW, "search"), statement(DISALLOW, "ai-use")]
        assert combine(statements).contradictions == ()
        assert combine([statement(ALLOW, "use"), statement(DISALLOW, "use")]).contradictions == ()


class TestText:
    def test_a_statement_in_words(self) -> None:
        assert statement(DISALLOW).describe() == "train-ai: disallow (line 1: Content-Usage: 1)"
        header = Statement("search", ALLOW, Source.CONTENT_USAGE_HEADER, "Content-Usage: search=y")
        assert header.describe() == (
            "search: allow (Content-Usage header: Content-Usage: search=y)"
        )

    def test_what_a_site_wrote_is_safe_to_print(self) -> None:
        said = Statement("train-ai", UNKNOWN, Source.X_ROBOTS_TAG, "a\x1b[2J\u202e\n" + "x" * 300)
        assert said.describe().isprintable()
        assert said.describe().endswith("xxx...)")
        assert len(said.describe()) < 300
        assert str(said.as_dict()["text"]).startswith("a\\x1b[2J\\u202e\\nx")
        assert len(str(said.as_dict()["text"])) < 250

    def test_a_text_of_two_hundred_characters_is_shown_whole(self) -> None:
        for length, ending in ((200, "x"), (201, "...")):
            said = Statement("train-ai", ALLOW, Source.META_ROBOTS, "x" * length)
            assert str(said.as_dict()["text"]).endswith(ending)

    def test_names_are_their_values(self) -> None:
        assert [str(each) for each in Preference] == ["allow", "disallow", "unknown"]
        assert [f"{each}" for each in Source] == [
            "robots.txt Content-Usage",
            "robots.txt Content-Signal",
            "robots.txt group",
            "Content-Usage header",
            "Content-Signal header",
            "X-Robots-Tag",
            "meta robots",
            "tdmrep.json",
            "tdm-reservation header",
            "meta tdm-reservation",
        ]


def test_it_can_be_written_as_json() -> None:
    combined = combine([statement(DISALLOW, line=3), statement(ALLOW, "search", 4)])
    assert json.loads(json.dumps(combined.as_dict())) == {
        "vocabulary": "draft-ietf-aipref-vocab-08",
        "preferences": {"train-ai": "disallow", "ai-use": "unknown", "search": "allow"},
        "statements": [
            {
                "category": "train-ai",
                "preference": "disallow",
                "source": "robots.txt Content-Usage",
                "text": "Content-Usage: 3",
                "line": 3,
            },
            {
                "category": "search",
                "preference": "allow",
                "source": "robots.txt Content-Usage",
                "text": "Content-Usage: 4",
                "line": 4,
            },
        ],
    }


def test_it_can_be_pickled_compared_and_kept_in_a_set() -> None:
    combined = combine([statement(DISALLOW)])
    again: Preferences = pickle.loads(pickle.dumps(combined))
    assert again == combined
    assert {again, combined} == {combined}
    assert combined != combine([statement(DISALLOW, line=2)])


def test_all_that_other_signals_are_about_is_in_the_vocabulary() -> None:
    assert LABELS == ("train-ai", "ai-use", "search")
    assert set(SIGNALS.values()) == set(LABELS)
    assert not LEVELS.keys() & {*LABELS, *SIGNALS}
