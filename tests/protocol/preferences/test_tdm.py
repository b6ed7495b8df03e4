"""The TDM Reservation Protocol: files after the examples of its report, odd ones, broken ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.preferences import (
    Preference,
    Preferences,
    Source,
    Statement,
    combine,
)
from scrapy_robots_plus.protocol.preferences.tdm import TdmFile, tdm_statements
from scrapy_robots_plus.protocol.preferences.values import usage_header
from tests.protocol.worst_cases import seconds

ALLOW, DISALLOW, UNKNOWN = Preference.ALLOW, Preference.DISALLOW, Preference.UNKNOWN
SITE = "https://provider.example"


def rule(location: Any, reservation: Any = 1, **more: Any) -> dict[str, Any]:
    return {"location": location, "tdm-reservation": reservation, **more}


ALL = [rule("/")]
GROUPS = [
    rule("/directory-a/"),
    rule("/directory-b/html/", **{"tdm-policy": "https://provider.example/policies/policy.json"}),
    rule("/directory-b/images/*.jpg", 0),
]
NESTED = "[" * 100_000
FILES: list[tuple[Any, str, Preference | None]] = [
    # The report's examples.
    (ALL, "/", DISALLOW),
    (ALL, "/any/page?x=1", DISALLOW),
    (GROUPS, "/directory-a/a.pdf", DISALLOW),
    (GROUPS, "/directory-b/html/1.html", DISALLOW),
    (GROUPS, "/directory-b/images/1.jpg", ALLOW),
    (GROUPS, "/directory-b/images/1.png", None),
    (GROUPS, "/elsewhere", None),
    # The first that matches counts, not the longest.
    ([rule("/a/open/", 0), rule("/a/")], "/a/open/1", ALLOW),
    ([rule("/a/"), rule("/a/open/", 0)], "/a/open/1", DISALLOW),
    ([rule("/*.pdf$"), rule("/", 0)], "/x/y.pdf", DISALLOW),
    ([rule("/*.pdf$"), rule("/", 0)], "/x/y.pdf?page=2", ALLOW),
    # Wildcards, case and escapes, as in a robots.txt.
    ([rule("/this/*/then")], "/this/or/that/then/more", DISALLOW),
    ([rule("/this/path/exactly$")], "/this/path/exactly", DISALLOW),
    ([rule("/this/path/exactly$")], "/this/path/exactly/not", None),
    ([rule("*")], "/any", DISALLOW),
    ([rule("/Case")], "/case", None),
    ([rule("/path/foo-%24")], "/path/foo-$", DISALLOW),
    ([rule("/path/foo-%24")], "/path/foo-", None),
    ([rule("/a%2ab$")], "/a*b", DISALLOW),
    ([rule("/a%2ab$")], "/axb", None),
    ([rule("/a$b$")], "/a$b", DISALLOW),
    ([rule("/%7Euser/")], "/~user/a", DISALLOW),
    ([rule("/caf\xe9/")], "/caf%C3%A9/1", DISALLOW),
    ([rule("/dir")], "/directory", DISALLOW),
    # Other values are as if there were none, and the rule still is the first that matches.
    ([rule("/a", 2), rule("/")], "/a", UNKNOWN),
    ([rule("/a", "1")], "/a", UNKNOWN),
    ([rule("/a", True)], "/a", UNKNOWN),
    ([rule("/a", None)], "/a", UNKNOWN),
    ([rule("/a", [1])], "/a", UNKNOWN),
    ([rule("/a", 1.0)], "/a", DISALLOW),
    ([rule("/a", 1.5)], "/a", UNKNOWN),
    ([{"location": "/a"}], "/a", UNKNOWN),
    # Rules without a path match nothing.
    ([{"tdm-reservation": 1}], "/a", None),
    ([rule(None)], "/a", None),
    ([rule(["/a"])], "/a", None),
    ([rule("a")], "/a", None),
    ([rule("")], "/a", None),
    (["/", 1, None, [rule("/")], rule("/a")], "/a", DISALLOW),
    # What is no list of rules has none.
    ([], "/a", None),
    (rule("/"), "/a", None),
    ("/", "/a", None),
    (None, "/a", None),
    (b"", "/a", None),
    (b"<!doctype html><html><body>Not found</body></html>", "/a", None),
    (b'[{"location": "/", "tdm-reservation": 1}', "/a", None),
    (b'[{"location": "/", "tdm-reservation": 1},]', "/a", None),
    (b"\xff\xfe\x00", "/a", None),
    (NESTED.encode(), "/a", None),
    (b'[{"location": "/", "tdm-reservation": 1%s}]' % (b"0" * 100_000), "/a", UNKNOWN),
    (b'[{"location": "/", "tdm-reservation": NaN}]', "/a", UNKNOWN),
    (b'[{"location": "/", "location": "/b", "tdm-reservation": 1}]', "/a", None),
    # Octets that are in front of many files.
    (b"\xef\xbb\xbf" + json.dumps(ALL).encode(), "/a", DISALLOW),
    (b"\r\n\t " + json.dumps(ALL, indent=4).encode() + b"\n", "/a", DISALLOW),
    (json.dumps(ALL).encode("utf-16"), "/a", DISALLOW),
]


@pytest.mark.parametrize(("served", "path", "expected"), FILES, ids=range(len(FILES)))
def test_what_a_file_says(served: Any, path: str, expected: Preference | None) -> None:
    body = served if isinstance(served, bytes) else json.dumps(served).encode()
    said = TdmFile(body).statements(SITE + path)
    assert [each.preference for each in said] == ([] if expected is None else [expected])
    assert {each.category for each in said} <= {"train-ai"}
    assert {each.source for each in said} <= {Source.TDM_FILE}
    assert TdmFile(body).statements(path) == said


@pytest.mark.parametrize("octet", [b"\xe9", b"\xff", b"\xed\xa0\x80", b"\xc3"])
def test_octets_that_are_not_utf_8_open_nothing(octet: bytes) -> None:
    rules = b'[{"location": "/%s", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1'
    file = TdmFile(rules % octet + b', "tdm-policy": "/%s"}]' % octet)
    (said,) = file.statements("/a")
    assert said.preference is DISALLOW
    said.text.encode()


def test_a_statement_has_the_words_of_its_rule_and_the_policy() -> None:
    policy = "https://provider.example/policies/policy.json"
    served = [{**rule("/a"), "comment": "x" * 500, "tdm-policy": policy}]
    (said,) = TdmFile(json.dumps(served).encode()).statements(SITE + "/a/1")
    assert said == Statement(
        "train-ai",
        DISALLOW,
        Source.TDM_FILE,
        f'{{"location": "/a", "tdm-reservation": 1, "tdm-policy": "{policy}"}}',
        policy=policy,
    )
    assert said.describe().startswith('train-ai: disallow (tdmrep.json: {"location": "/a"')
    assert TdmFile(f"[{said.text}]".encode()).statements(SITE + "/a/1") == (said,)


@pytest.mark.parametrize("policy", [None, "", 1, ["https://x.example/"], {"a": 1}])
def test_a_policy_that_is_no_text_is_none(policy: Any) -> None:
    (said,) = TdmFile(json.dumps([{**rule("/"), "tdm-policy": policy}]).encode()).statements("/")
    assert (said.preference, said.policy) == (DISALLOW, None)


def test_half_a_character_can_be_written_and_is_read_again() -> None:
    """JSON can name what no encoding has: a feed that holds it would fail."""
    body = rb'[{"location": "/", "tdm-reservation": 1, "tdm-policy": "/\ud800", "x": "\udfff"}]'
    (said,) = TdmFile(body).statements("/a")
    assert said.text == body[1:-17].decode() + "}"
    assert said.policy == r"/\ud800"
    f"{said.text}{said.policy}".encode()
    assert TdmFile(f"[{said.text}]".encode()).statements("/a") == (said,)


VALUES: dict[str, Preference] = {
    "1": DISALLOW,
    "0": ALLOW,
    " 1 ": DISALLOW,
    "1, 1": DISALLOW,
    "0, 1": DISALLOW,
    "0,0": ALLOW,
    "0, 2": UNKNOWN,
    "2": UNKNOWN,
    "": UNKNOWN,
    "true": UNKNOWN,
    "1; policy=x": UNKNOWN,
    "01": UNKNOWN,
    "\uff11": UNKNOWN,
}


@pytest.mark.parametrize("source", [Source.TDM_HEADER, Source.TDM_META])
@pytest.mark.parametrize("value", VALUES)
def test_what_a_header_or_a_meta_tag_says(value: str, source: Source) -> None:
    (said,) = tdm_statements(source, [value], ["", " https://x.example/p "])
    assert (said.preference, said.source) == (VALUES[value], source)
    assert said.policy == "https://x.example/p"


def test_several_are_one_and_none_is_nothing() -> None:
    (said,) = tdm_statements(Source.TDM_HEADER, ["0", "1"], [])
    assert (said.preference, said.text) == (DISALLOW, "tdm-reservation: 0, 1")
    assert tdm_statements(Source.TDM_HEADER, [], []) == ()
    (alone,) = tdm_statements(Source.TDM_META, [], ["/policy"])
    assert (alone.preference, alone.text) == (UNKNOWN, "tdm-policy: /policy")


def together(file: int | None, header: str | None, meta: str | None) -> Preferences:
    """A digit for what each says; a letter behind it has a policy of that name."""
    said: list[Statement] = []
    if file is not None:
        body = json.dumps([rule("/", file, **{"tdm-policy": "file"})]).encode()
        said += TdmFile(body).statements("/")
    for source, value in ((Source.TDM_HEADER, header), (Source.TDM_META, meta)):
        if value is not None:
            reservation = [value] if value.isdigit() else []
            said += tdm_statements(source, reservation, [source.name.lower()])
    return combine(said)


PRIORITY: list[tuple[int | None, str | None, str | None, Preference, str | None]] = [
    (1, None, None, DISALLOW, "file"),
    (0, None, None, ALLOW, None),
    (1, "0", None, ALLOW, None),
    (0, "1", None, DISALLOW, "tdm_header"),
    (1, "0", "1", DISALLOW, "tdm_meta"),
    (0, "1", "0", ALLOW, None),
    (1, None, "0", ALLOW, None),
    (None, "1", "0", ALLOW, None),
    (None, "0", "1", DISALLOW, "tdm_meta"),
    # What has no value does not take back one.
    (1, "2", None, DISALLOW, "tdm_header"),
    (1, "policy", None, DISALLOW, "tdm_header"),
    (0, "policy", "7", ALLOW, None),
    (2, "2", "2", UNKNOWN, "tdm_meta"),
    (None, None, None, UNKNOWN, None),
]


@pytest.mark.parametrize(("file", "header", "meta", "expected", "policy"), PRIORITY)
def test_a_page_overrules_its_header_and_that_the_file(
    file: int | None, header: str | None, meta: str | None, expected: Preference, policy: str | None
) -> None:
    found = together(file, header, meta)
    assert found.of("train-ai") is expected
    assert found.tdm_policy == policy
    assert len(found.statements) == sum(each is not None for each in (file, header, meta))
    assert combine(found.statements) == found
    assert found.contradictions == ()


def test_what_others_disallow_is_disallowed_all_the_same() -> None:
    said = (*together(0, None, None).statements, *usage_header([b"train-ai=n"]))
    assert combine(said).of("train-ai") is DISALLOW
    assert len(combine(said).contradictions) == 1


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_octets_are_read(body: bytes) -> None:
    TdmFile(body).statements("/a")
    text = body.decode("latin-1")
    tdm_statements(Source.TDM_HEADER, [text], [text])


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.sampled_from(["/", "*", "x"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["location", "tdm-reservation", "tdm-policy"]), inner, max_size=3
            )
        ),
    )
)
def test_any_json_is_read(served: Any) -> None:
    for said in TdmFile(json.dumps([served]).encode()).statements("/a"):
        said.describe()


HOSTILE = [
    '{"location": "/*a*b*c$", "tdm-reservation": 1}',
    '{"location": "/", "tdm-reservation": 11111111111111111111}',
    '{"location": "/aaaaaaaaaaaaaaaaaaaaaa", "tdm-reservation": 1, "tdm-policy": "a"}',
    "[[[[[[[[",
    '{"location": {"a": ',
    "1e9999, ",
]


@pytest.mark.parametrize("repeated", HOSTILE)
def test_time_grows_with_the_length(repeated: str) -> None:
    def read(times: int) -> float:
        body = f"[{','.join([repeated] * times)}]".encode()
        return seconds(lambda: TdmFile(body).statements("/" + "a" * 500))

    assert read(2_000) < 40 * max(read(200), 0.0005)


def test_a_file_without_a_rule_is_false() -> None:
    assert not TdmFile(b"[]")
    assert TdmFile(json.dumps([rule("/a")]).encode())


def test_what_is_known_only_with_the_page() -> None:
    of_pages = {source for source in Source if source.is_of_page}
    assert Source.TDM_FILE not in of_pages
    assert {Source.TDM_HEADER, Source.TDM_META} < of_pages
