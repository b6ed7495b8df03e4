"""Directives for robots that are about uses: noai, noimageai."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol.preferences import Preference, Source, Statement
from scrapy_robots_plus.protocol.preferences.values import directive_statements

DISALLOW, UNKNOWN = Preference.DISALLOW, Preference.UNKNOWN


@pytest.mark.parametrize("served", ["noai", "NOAI", " NoAI "])
@pytest.mark.parametrize("is_image", [True, False])
def test_noai_is_about_training(served: str, is_image: bool) -> None:
    assert directive_statements([served], is_image=is_image) == (
        Statement("train-ai", DISALLOW, Source.X_ROBOTS_TAG, served),
    )


@pytest.mark.parametrize(("is_image", "preference"), [(True, DISALLOW), (False, UNKNOWN)])
def test_noimageai_is_about_training_with_images(is_image: bool, preference: Preference) -> None:
    said = directive_statements(["NoImageAI"], Source.META_ROBOTS, is_image)
    assert said == (Statement("train-ai", preference, Source.META_ROBOTS, "NoImageAI"),)


@pytest.mark.parametrize("served", ["noindex", "", "no ai", "noai: x", "noaï", "none", "all"])
def test_other_directives_say_nothing_about_uses(served: str) -> None:
    assert directive_statements([served], is_image=True) == ()


def test_all_of_a_page_are_read_and_each_is_said_once() -> None:
    served = ["nofollow", "noimageai", "noai", "NOAI", "noimageai"]
    said = directive_statements(iter(served))
    assert [(each.preference, each.text) for each in said] == [
        (UNKNOWN, "noimageai"),
        (DISALLOW, "noai"),
    ]
    assert directive_statements([]) == ()
