"""Properties that `make test` tries with few examples, and `make stress` with many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

if TYPE_CHECKING:
    from collections.abc import Callable


def seeds(few: int, many: int) -> pytest.MarkDecorator:
    """The parameter ``seeds``: *few* in `make test`, *many* in `make stress`."""
    both = [
        pytest.param(range(few), id="few"),
        pytest.param(range(many), id="many", marks=pytest.mark.stress),
    ]
    return pytest.mark.parametrize("seeds", both)


def tried(
    many: int, *strategies: Any, **named: Any
) -> Callable[[Callable[..., None]], Callable[[int | None], None]]:
    """Makes a test of a property of what the strategies draw; it takes no fixtures.

    As few examples as ``tests/conftest.py`` says, and *many*.
    """

    def test_of(holds: Callable[..., None]) -> Callable[[int | None], None]:
        def test(examples: int | None) -> None:
            drawn: Any = given(*strategies, **named)
            chosen = settings(max_examples=examples) if examples else settings()
            chosen(drawn(holds))()

        test.__name__, test.__doc__ = holds.__name__, holds.__doc__
        both = [
            pytest.param(None, id="few"),
            pytest.param(many, id="many", marks=pytest.mark.stress),
        ]
        return pytest.mark.parametrize("examples", both)(test)

    return test_of
