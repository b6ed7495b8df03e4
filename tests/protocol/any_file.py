"""What properties are tried with: any file, URL and agent, and those that are likely to matter."""

from __future__ import annotations

from hypothesis import strategies as st

from scrapy_robots_plus.protocol import DIALECTS

dialects = st.sampled_from(list(DIALECTS.values()))
charsets = st.sampled_from(
    [None, "utf-8", "iso-8859-1", "shift_jis", "utf-16", "utf-7", "nonsense"]
)
agents = st.one_of(
    st.text(max_size=40),
    st.binary(max_size=40),
    st.lists(st.text(max_size=20), max_size=3),
    st.sampled_from(["bot", "*", "Mozilla/5.0 (compatible; Bot/1.0; +https://b.example)"]),
)
urls = st.one_of(st.text(max_size=60), st.text("/ab?;#%*$:.", max_size=30), st.binary(max_size=60))

PIECES = [
    *(b"User-agent: *", b"User-agent: bot", b"useragent bot", b"Disallow: /", b"Disallow:"),
    *(b"Allow: /a", b"Disallow: /*a*$", b"Disallow /%41%2f", b"dissallow: *", b"Allow:"),
    *(b"Allow: /index.html", b"Crawl-delay: 1", b"Request-rate: 1/5s", b"Visit-time: 0600-0700"),
    *(b"Sitemap: /s", b"Host: h", b"Clean-param: a&b /c", b"#", b":", b"\n", b"\r\n", b"\r"),
    *(b"\n\n", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe9", b" ", b"<html>"),
]
mutated = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=8)), max_size=40).map(
    b"\n".join
)
loose = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=4)), max_size=60).map(
    b"".join
)
bodies = st.one_of(st.binary(max_size=300), mutated, loose, st.text(max_size=200))

# Rules and paths over few octets, so that most rules nearly match.
octets = st.sampled_from(["a", "b", "/", "*", "$", "%41", "%2f", "é", "?", ".", "~", "%7e"])
patterns = st.lists(octets, max_size=7).map(lambda parts: "/" + "".join(parts))
rules = st.lists(st.tuples(st.booleans(), patterns), max_size=12)
paths = st.lists(st.sampled_from("ab/?.~*$"), max_size=12).map(lambda parts: "/" + "".join(parts))
