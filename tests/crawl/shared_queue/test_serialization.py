"""What is written of a request that other workers may take."""

from __future__ import annotations

from typing import Any

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict
from scrapy_redis import picklecompat

from scrapy_robots_plus.redis.pushing import Serialization

from . import as_json


class Pages(Spider):
    name = "pages"

    def parse_page(self, response: Any) -> None:
        pass


SPIDER = Pages()


def request() -> Request:
    return Request("http://a.example/1", SPIDER.parse_page, meta={"depth": 1}, priority=2)


def test_what_every_request_has_takes_no_space() -> None:
    fields = picklecompat.loads(Serialization(SPIDER, picklecompat).written(request()))
    assert fields == {
        "url": "http://a.example/1",
        "callback": "parse_page",
        "meta": {"depth": 1},
        "priority": 2,
    }
    scrapy_rediss = request_from_dict(fields, spider=SPIDER)
    assert scrapy_rediss.to_dict(spider=SPIDER) == request().to_dict(spider=SPIDER)


def test_a_serializer_of_the_project_gets_all_that_a_request_has() -> None:
    """It may look for it."""
    written: list[Any] = []

    class Looking:
        loads = staticmethod(as_json.loads)

        @staticmethod
        def dumps(fields: Any) -> str:
            written.append(fields)
            return ""

    Serialization(SPIDER, Looking).written(request())
    assert written == [request().to_dict(spider=SPIDER)]


def test_what_scrapy_redis_has_written_can_be_read() -> None:
    data = picklecompat.dumps(request().to_dict(spider=SPIDER))
    again = Serialization(SPIDER, picklecompat).read(data)
    assert again.to_dict(spider=SPIDER) == request().to_dict(spider=SPIDER)


def test_a_priority_that_was_set_to_another_number_can_be_read_again() -> None:
    scored = request()
    scored.priority = 1.5  # type: ignore[assignment]
    for serializer in (picklecompat, as_json):
        ours = Serialization(SPIDER, serializer)
        assert ours.read(ours.written(scored)).priority == 1


def test_a_url_that_another_program_has_written_is_cleaned() -> None:
    data = picklecompat.dumps({"url": "http://a.example/\u00e9 b"})
    assert Serialization(SPIDER, picklecompat).read(data).url == "http://a.example/%C3%A9%20b"
