"""Properties that `make test` tries with few examples, and `make stress` with many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

if TYPE_CHECKING:
    from collections.abc import Callable


def tried(
    few: int, many: int, *strategies: Any, **named: Any
) -> Callable[[Callable[..., None]], Callable[[int], None]]:
    """Makes a test of a property of what the strategies draw; it takes no fixtures."""

    def test_of(holds: Callable[..., None]) -> Callable[[int], None]:
        def test(examples: int) -> None:
            drawn: Any = given(*strategies, **named)
            settings(max_examples=examples, deadline=None)(drawn(holds))()

        test.__name__, test.__doc__ = holds.__name__, holds.__doc__
        both = [few, pytest.param(many, marks=pytest.mark.stress)]
        return pytest.mark.parametrize("examples", both)(test)

    return test_of
