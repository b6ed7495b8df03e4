"""A request comes out of the file of a job as it was put in."""

from __future__ import annotations

import marshal
import pickle
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest

from scrapy_robots_plus.job.written import read, written


class Pages(Spider):
    name = "pages"

    def parse_page(self, response: Any) -> None:
        pass


class Unfiltered(Request):
    """Has another value than a plain request unless it is given one."""

    def __init__(self, url: str, dont_filter: bool = True, **named: Any) -> None:
        super().__init__(url, dont_filter=dont_filter, **named)


SPIDER = Pages()

FIELDS = st.fixed_dictionaries(
    {"url": st.sampled_from(["data:,", "http://a.example/1?q=%20", "https://b.example/"])},
    optional={
        "callback": st.sampled_from([None, SPIDER.parse_page]),
        "errback": st.sampled_from([None, SPIDER.parse_page]),
        "method": st.sampled_from(["GET", "POST"]),
        "headers": st.sampled_from([{}, {"A": "1"}, {"A": ["1", "2"]}]),
        "body": st.sampled_from([b"", b"x", "\xfc"]),
        "cookies": st.sampled_from([{}, [], {"a": "1"}, [{"name": "a", "value": "1"}]]),
        "meta": st.sampled_from([{}, {"depth": 1}, {"depth": None}, {"verbatim_url": True}]),
        "encoding": st.sampled_from(["utf-8", "latin-1"]),
        "priority": st.integers(-1, 1),
        "dont_filter": st.booleans(),
        "flags": st.sampled_from([[], ["a"]]),
        "cb_kwargs": st.sampled_from([{}, {"page": 1}]),
    },
)


@given(fields=FIELDS)
def test_all_that_a_request_says_comes_back(fields: dict[str, Any]) -> None:
    request = Request(**fields)
    again = read(written(request, SPIDER), SPIDER)
    assert type(again) is Request
    assert again.to_dict(spider=SPIDER) == request.to_dict(spider=SPIDER)


@pytest.mark.parametrize(
    "request_",
    [
        Unfiltered("http://a.example/"),
        Unfiltered("http://a.example/", dont_filter=False),
        FormRequest("http://a.example/", formdata={"a": "1"}),
        FormRequest("http://a.example/", method="GET"),
        JsonRequest("http://a.example/", data={"a": 1}),
        JsonRequest("http://a.example/", method="GET"),
    ],
)
def test_so_does_a_request_of_another_class(request_: Request) -> None:
    again = read(written(request_, SPIDER), SPIDER)
    assert type(again) is type(request_)
    assert again.to_dict(spider=SPIDER) == request_.to_dict(spider=SPIDER)


def test_what_every_request_has_takes_no_space() -> None:
    request = Request("http://a.example/", meta={"depth": 1})
    assert pickle.loads(written(request, SPIDER)) == {
        "url": "http://a.example/",
        "meta": {"depth": 1},
    }


@pytest.mark.parametrize("kind", [Request, JsonRequest])
def test_the_stamp_of_the_page_that_it_comes_from_is_not_written(kind: type[Request]) -> None:
    """A spider has handed on the meta: the stamp says nothing of this request."""
    request = kind("https://a.example/", meta={"depth": 1, "robots": {"allowed": True}})
    assert read(written(request, SPIDER), SPIDER).meta == {"depth": 1}
    assert "robots" in request.meta


def test_a_url_comes_out_as_it_was_written() -> None:
    request = Request("http://a.example/é b|c", meta={"verbatim_url": True})
    again = read(written(request, SPIDER), SPIDER)
    assert again.url == request.url
    assert again.meta == request.meta


def test_a_request_written_as_scrapys_queues_do_can_be_read() -> None:
    """As a job in files holds them, which can be converted."""
    request = Request("http://a.example/", SPIDER.parse_page, priority=3)
    fields = request.to_dict(spider=SPIDER)
    for data in (pickle.dumps(fields, protocol=4), marshal.dumps(fields)):
        assert read(data, SPIDER).to_dict(spider=SPIDER) == fields


PRIORITIES = [(2.0, 2), (0.5, 0), (-0.5, -1), (True, 1)]
PRIORITIES += [(inf, 2**53), (-inf, -(2**53)), (nan, -(2**53))]


@pytest.mark.parametrize(("priority", "whole"), PRIORITIES)
def test_a_priority_that_was_set_to_another_number_counts_as_the_whole_one_below(
    priority: Any, whole: int
) -> None:
    request = Request("http://a.example/")
    request.priority = priority
    again = read(written(request, SPIDER), SPIDER)
    assert again.priority == whole
    assert type(again.priority) is int
