"""The words by which a project says what its crawl is for."""

from __future__ import annotations

from scrapy_robots_plus.settings.all_settings import uses_of


def test_uses_are_named_as_statements_name_them() -> None:
    assert uses_of(("train-ai",), None) == ("train-ai",)
    assert uses_of((), "full") == ("use=full",)
    assert uses_of(("train-ai", "search"), "reference") == ("train-ai", "search", "use=reference")
