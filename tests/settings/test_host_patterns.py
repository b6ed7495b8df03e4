"""The most specific pattern that names an origin decides."""

from __future__ import annotations

import tracemalloc
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.settings.host_patterns import HostPatterns, plain_pattern


def chosen(url: str, *patterns: str) -> str | None:
    origin = Origin.of(url)
    assert origin is not None
    return HostPatterns((plain_pattern(each), each) for each in patterns).of(origin)


ALL = (
    "*.com",
    "*.example.com",
    "*.b.example.com",
    "example.com",
    "a.b.example.com",
    "https://a.b.example.com",
    "https://a.b.example.com:8443/",
)


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("https://a.b.example.com:8443/x", "https://a.b.example.com:8443/"),
        ("https://a.b.example.com/x", "https://a.b.example.com"),
        ("https://a.b.example.com:443/x", "https://a.b.example.com"),
        ("http://a.b.example.com/", "a.b.example.com"),
        ("https://a.b.example.com:444/", "a.b.example.com"),
        ("http://c.b.example.com/", "*.b.example.com"),
        ("http://d.c.b.example.com/", "*.b.example.com"),
        ("http://b.example.com/", "*.example.com"),
        ("http://example.com/", "example.com"),
        ("http://example.com:8080/", "example.com"),
        ("http://other.com/", "*.com"),
        ("http://notexample.com/", "*.com"),
        ("http://com/", None),
        ("http://example.org/", None),
    ],
)
def test_an_origin_goes_before_its_host_and_that_before_wildcards(
    url: str, pattern: str | None
) -> None:
    assert chosen(url, *ALL) == pattern
    assert chosen(url, *reversed(ALL)) == pattern


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("Example.COM", "http://example.com/"),
        ("example.com.", "http://example.com/"),
        ("example.com", "http://EXAMPLE.com./"),
        (" example.com ", "http://example.com/"),
        ("*.Example.com.", "http://a.example.com./"),
        ("bücher.example", "http://xn--bcher-kva.example/"),
        ("xn--bcher-kva.example", "http://bücher.example/"),
        ("XN--BCHER-KVA.example", "http://BÜCHER.example/"),
        ("*.bücher.example", "http://a.xn--bcher-kva.example/"),
        ("http://bücher.example:80", "http://xn--bcher-kva.example/"),
        ("HTTP://Example.com", "http://example.com:80/"),
        ("127.0.0.1", "http://127.0.0.1:8000/"),
        ("my_host", "http://my_host/"),
        ("localhost", "http://localhost:6800/"),
        ("::1", "http://[::1]/"),
        ("[::1]", "https://[::1]:8443/"),
        ("0:0:0:0:0:0:0:1", "http://[::1]/"),
        ("::1", "http://[0:0:0:0:0:0:0:1]/"),
        ("2001:DB8::A", "http://[2001:db8::a]/"),
        ("https://[::1]:8443", "https://[::1]:8443/"),
    ],
)
def test_a_host_is_the_same_however_it_is_written(pattern: str, url: str) -> None:
    assert chosen(url, pattern) == pattern


@pytest.mark.parametrize("url", ["http://[::1]:8443/", "https://[::1]/"])
def test_an_origin_names_one_scheme_and_one_port(url: str) -> None:
    assert chosen(url, "https://[::1]:8443") is None


@pytest.mark.parametrize(
    "text",
    [
        "", " ", ".", "*", "*.", "*.*.example.com", "a.*.example.com", "exa mple.com", "a..b",
        "example.com/path", "http://", "http://example.com/path", "http://example.com?x",
        "http://user@example.com", "http://*.example.com", "http://example.com://example.org", "ftp://example.com",
        "http://example.com:99999", "http://example.com:port", "example.com:8080",
        "a" * 64 + ".example", "[::1", "1::2::3", "[::1]:80", "\0", "\ud800", "mailto:x@y.example",
        "*.[::1]", "*.::1", "*.2.3.4", "*.127.0.0.1",
        None, 5, b"example.com", ("example.com",),
    ],
)  # fmt: skip
def test_what_is_not_a_pattern_is_told_what_would_be(text: object) -> None:
    with pytest.raises(ValueError, match=r"^expected a host \(example\.com\), its subdomains"):
        plain_pattern(text)


LABELS = st.text("ab-1", min_size=1, max_size=3)
HOSTS = st.lists(LABELS, min_size=1, max_size=5).map(".".join)
ORIGINS = st.builds(
    partial(Origin, path="/robots.txt"),
    st.sampled_from(["http", "https"]),
    HOSTS,
    st.sampled_from([80, 443, 8080]),
)
DOMAINS = HOSTS.filter(lambda host: not host.rpartition(".")[2].isdigit())
PATTERNS = HOSTS | DOMAINS.map("*.{}".format) | ORIGINS.map(str)


def names(pattern: str, origin: Origin) -> bool:
    """Whether a pattern names an origin: by its meaning, without the code under test."""
    if "://" in pattern:
        return Origin.of(pattern) == origin
    if pattern.startswith("*."):
        return origin.host.endswith(pattern[1:])
    return origin.host == pattern


def precision(pattern: str) -> tuple[bool, bool, int]:
    return "://" in pattern, not pattern.startswith("*."), len(pattern)


@settings(suppress_health_check=[HealthCheck.too_slow])  # so is a machine with much else to do
@given(patterns=st.lists(PATTERNS, max_size=12), origin=ORIGINS)
def test_no_pattern_that_names_the_origin_is_more_specific_than_the_one_chosen(
    patterns: list[str], origin: Origin
) -> None:
    fitting = [each for each in patterns if names(each, origin)]
    best = max(fitting, key=precision, default=None)
    found = HostPatterns((plain_pattern(each), each) for each in patterns)
    chosen = found.of(origin)
    assert (chosen and plain_pattern(chosen)) == (best and plain_pattern(best))
    assert found.of(origin) == chosen  # asked again, from memory


@given(st.text(max_size=20))
def test_any_text_is_a_pattern_or_a_value_error(text: str) -> None:
    try:
        plain = plain_pattern(text)
    except ValueError:
        return
    assert plain_pattern(plain) == plain


@given(st.text(max_size=20))
def test_a_host_that_no_pattern_can_name_has_no_override(host: str) -> None:
    found = HostPatterns([("example.com", 1), ("*.com", 2)])
    assert found.of(Origin("http", host, 80)) in (1, 2, None)


def test_what_is_remembered_of_long_names_is_bounded() -> None:
    """A site may have any number of subdomains, each with as many labels as fit."""
    found = HostPatterns([("example.com", 1)])
    tracemalloc.start()
    try:
        for number in range(1_400):
            found.of(Origin("http", f"{'a.' * 115}{number:04}.example.com", 80))
        assert 5 << 20 < tracemalloc.get_traced_memory()[0] < 25 << 20
    finally:
        tracemalloc.stop()


def test_a_name_has_at_most_253_characters() -> None:
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    assert plain_pattern(longest) == longest
    with pytest.raises(ValueError, match="expected a host"):
        plain_pattern(f"{longest}d")
