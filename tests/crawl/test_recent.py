"""What is remembered in bounded memory."""

from __future__ import annotations

from scrapy_robots_plus.crawl.recent import Recent


def test_what_was_put_first_is_forgotten_first() -> None:
    recent: Recent[str, int] = Recent(2)
    for number, key in enumerate("abc"):
        recent.put(key, number)
    assert list(recent.items()) == [("b", 1), ("c", 2)]


def test_what_is_put_again_is_kept_longer() -> None:
    recent: Recent[str, int] = Recent(2)
    for number, key in enumerate("abac"):
        recent.put(key, number)
    assert list(recent.items()) == [("a", 2), ("c", 3)]


def test_as_many_are_kept_as_said() -> None:
    recent: Recent[int, None] = Recent(3)
    for number in range(10):
        recent.put(number, None)
        assert len(recent) == min(number + 1, 3)


def test_news_are_what_differs_from_the_last_time() -> None:
    recent: Recent[str, int] = Recent(2)
    said = [("a", 1), ("a", 1), ("b", 1), ("a", 2), ("a", 1), ("b", 1), ("c", 1), ("b", 1)]
    assert [recent.put_if_new(*each) for each in said] == [1, 0, 1, 1, 1, 0, 1, 0]
    assert recent.put_if_new("a", 1)  # forgotten: b and c were looked at since
