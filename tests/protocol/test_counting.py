from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol.counting import counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (1_200, "1,200 lines")]
)
def test_a_number_with_what_it_counts(number: int, text: str) -> None:
    assert counted(number, "line") == text
