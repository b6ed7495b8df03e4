"""What the libraries behind download handlers make of a URL is among the forms that are judged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

import pytest
from hypothesis import example
from hypothesis import strategies as st
from scrapy import Request
from twisted.web.client import URI

from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt, sent_forms, target_of
from tests.examples import tried

if TYPE_CHECKING:
    from collections.abc import Callable

HOST = "http://x.example"
ASCII = [chr(octet) for octet in range(128)]
ESCAPED = [template % octet for octet in range(256) for template in ("%%%02X", "%%%02x")]
PIECES = ["/", "//", "..", "/.", "/..", "/../", "/./", "%2e", "%2E", ";", "?", "%", "%%", "%2", "a"]
targets = st.lists(st.sampled_from(PIECES) | st.sampled_from(ASCII + ESCAPED), max_size=12)


def sent_by_http11(request: Request) -> str:
    url = urldefrag(request.url)[0]  # as Scrapy's handler does
    return str(URI.fromBytes(url.encode("ascii")).originForm.decode())  # type: ignore[no-untyped-call]


def sent_by_http2(request: Request) -> str:
    stream = pytest.importorskip("scrapy.core._http2.stream")
    metadata = {"uri": SimpleNamespace(scheme="https")}
    told = SimpleNamespace(_request=request, _protocol=SimpleNamespace(metadata=metadata))
    return str(dict(stream.Stream._get_request_headers(told))[":path"])


def sent_by_aiohttp(request: Request) -> str:
    return str(pytest.importorskip("yarl").URL(request.url).raw_path_qs)


def sent_by_httpx(request: Request) -> str:
    raw: bytes = pytest.importorskip("httpx2").URL(request.url).raw_path
    return raw.decode()


SENDERS = [sent_by_http11, sent_by_http2, sent_by_aiohttp, sent_by_httpx]


def judged(url: str) -> list[str]:
    return [target_of(form) for form in (url, *sent_forms(url))]


def test_half_of_a_character_is_escaped_like_others() -> None:
    assert f"{HOST}/%ED%A0%80%20b" in sent_forms(f"{HOST}/\ud800 b")


@tried(1_000, pieces=targets)
@example(pieces=["/a/b/.."])
@example(pieces=["/a/..//../b"])
@example(pieces=["//a;"])
@example(pieces=["/a;?"])
@example(pieces=["/%zz%"])
@example(pieces=["?"])
def test_what_is_sent_is_among_what_is_judged(pieces: list[str]) -> None:
    target = "".join(pieces)
    request = Request(HOST + target if target[:1] in ("/", "?") else f"{HOST}/{target}")
    sent = {sent_by(request) for sent_by in SENDERS}
    assert sent <= {*judged(request.url)}


@tried(1_000, pieces=st.lists(st.sampled_from(PIECES) | st.sampled_from(ASCII), max_size=12))
@example(pieces=["/a/", "\t", "b"])
@example(pieces=["/a", "\n"])
@example(pieces=["/a "])
def test_so_is_what_is_sent_if_scrapy_leaves_the_url_as_it_is(pieces: list[str]) -> None:
    url = HOST + "/" + "".join(pieces)
    request = Request(url, meta={"verbatim_url": True})
    for sent_by in (sent_by_http11, sent_by_http2):
        try:
            sent = sent_by(request)
        except ValueError:  # nothing is sent
            continue
        assert sent in judged(request.url)


def test_browsers_make_slashes_of_backslashes() -> None:
    assert "/a/b?c\\d" in judged(f"{HOST}/a\\b?c\\d")
    assert "/b" in judged(f"{HOST}/a\\..\\b")


@pytest.mark.parametrize(
    ("sent_by", "prefix"),
    [
        # Each of them once in `make test`.
        pytest.param(sent_by, prefix, marks=[pytest.mark.stress] * ((turn + place) % 4 > 0))
        for turn, sent_by in enumerate(SENDERS)
        for place, prefix in enumerate(["/x", "/x?a", "/x/", "/"])
    ],
)
def test_every_octet_literal_and_escaped(sent_by: Callable[[Request], str], prefix: str) -> None:
    for piece in ASCII + ESCAPED:
        request = Request(f"{HOST}{prefix}{piece}y")
        assert sent_by(request) in judged(request.url), piece


@pytest.mark.parametrize(
    ("target", "forms"),
    [
        ("/u%40x", ["/u@x"]),
        ("/u%2fx%2F", ["/u%2Fx%2F"]),
        ("/%C3%A9?a=%20+%2B", []),
        ("/a/../b", ["/b"]),
        ("/a/%2e%2E/b", ["/b"]),
        ("/a/%2E%2E/%c3%a9", ["/%c3%a9", "/%C3%A9"]),
        ("/a/%2E%2E/%41", ["/%41", "/A"]),
        ("/a/%2e./%c3%a9", ["/%c3%a9", "/%C3%A9"]),
        ("/a//../b", ["/a/b"]),
        ("/a/%2e/../b%41", ["/bA", "/a/b%41", "/b%41"]),
        ("/a/%2e%2e%40/b", ["/a/..@/b", "/a/..%40/b"]),
        ("/a/b/..", ["/a/", "/a"]),
        ("/../../", ["/"]),
        ("/a?../b&/../c", []),
        ("/a/..;/b", []),
        ("/a...", []),
        ("/a;", ["/a"]),
        ("/a;b?c", ["/a?c"]),
        ("/a;b/c", []),
        ("/a?", ["/a"]),
        ("/a;b;c", ["/a"]),
        ("/100%", ["/100%25"]),
        ("/%0X", ["/%250X"]),
        ("/a%20b?x=%u00e9", ["/a%20b?x=%25u00e9", "/a%2520b?x=%25u00e9"]),
        ("/%61/%2e%2e/%zz", ["/%zz", "/%25zz", "/%2561/%252e%252e/%25zz"]),
        ("/%2540", []),
        ("/?n=o%27b", ["/?n=o'b"]),
        ("/ordinary/page.html?a=b&c[]=d/e", []),
    ],
)
def test_the_forms_of(target: str, forms: list[str]) -> None:
    own, *others = judged(HOST + target)
    assert own == target
    assert sorted(others) == sorted(forms)


@tried(1_000, pieces=targets)
@example(pieces=["/a%20b?x=%u00e9"])
@example(pieces=["/a%20b#%zz"])
@example(pieces=["/%61%"])
def test_what_curl_cffi_sends_is_among_what_is_judged(pieces: list[str]) -> None:
    utils = pytest.importorskip("curl_cffi.requests.utils")
    url = Request(f"{HOST}/{''.join(pieces)}").url
    if "/." not in utils.requote_uri(url):  # libcurl resolves dot segments afterwards
        assert target_of(utils.requote_uri(url)) in judged(url)


def test_scheme_host_and_fragment_are_no_part_of_a_form() -> None:
    assert sent_forms("https://u%40:p@x.example:8443/%40#%40") == (
        "https://u%40:p@x.example:8443/@",
    )
    assert target_of("https://x.example?a#b") == "/?a"
    assert sent_forms("https://x.example/a?#b") == ("https://x.example/a",)


@pytest.mark.parametrize(
    ("target", "is_it"),
    [
        ("/robots.txt", True),
        ("/robots.txt#x", True),
        ("/robots.txt?x", False),
        ("/robots.txt;x", False),
        ("/a/robots.txt", False),
        ("", False),
    ],
)
def test_robots_txt_itself_has_no_query(target: str, *, is_it: bool) -> None:
    assert asks_for_robots_txt(HOST + target) is is_it


@pytest.mark.parametrize("url", ["data:text/plain;base64,YQ==", "mailto:x@x.example;y", "x;y", ";"])
def test_what_is_no_absolute_url_is_sent_in_no_form(url: str) -> None:
    assert sent_forms(url) == ()
    assert target_of(url) == url
