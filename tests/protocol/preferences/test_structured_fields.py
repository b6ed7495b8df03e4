"""Dictionaries of RFC 9651: its own examples, each type at its limits, and the RFC's own steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.preferences.values import tokens_in
from tests.protocol.preferences import slow_structured_fields as slow
from tests.protocol.worst_cases import seconds

# RFC 9651, sections 3.1 to 3.3.
EXAMPLES = {
    'en="Applepie", da=:w4ZibGV0w6ZydGU=:': {"en": None, "da": None},
    "a=?0, b, c; foo=bar": {"a": None, "b": None, "c": None},
    "rating=1.5, feelings=(joy sadness)": {"rating": None, "feelings": None},
    "a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid": {"a": None, "b": None, "c": None, "d": None},
    "foo=1, bar=2": {"foo": None, "bar": None},
    "a=foo123/456": {"a": "foo123/456"},
    'a=%"This is intended for display to %c3%bcsers."': {"a": None},
    "a=:cHJldGVuZCB0aGlzIGlzIGJpbmFyeSBjb250ZW50Lg==:": {"a": None},
    "a=@1659578233": {"a": None},
}

ACCEPTED = {
    "": {},
    "   ": {},
    "a=y": {"a": "y"},
    "  a=y  ": {"a": "y"},
    "a=y\t": {"a": "y"},
    "a=y,b=n": {"a": "y", "b": "n"},
    "a=y \t, \tb=n": {"a": "y", "b": "n"},
    "a": {"a": None},
    "a, b=y": {"a": None, "b": "y"},
    "a;x": {"a": None},
    "a;x=1;y;  z=tok": {"a": None},
    "a=y;x;x=2": {"a": "y"},
    "a=y, a=n": {"a": "n"},
    "a=y, a": {"a": None},
    "*a_b-c.d9*=y": {"*a_b-c.d9*": "y"},
    "a=*": {"a": "*"},
    "a=*/:!#$%&'*+-.^_`|~": {"a": "*/:!#$%&'*+-.^_`|~"},
    "a=0": {"a": None},
    "a=-0": {"a": None},
    "a=-042": {"a": None},
    "a=999999999999999": {"a": None},
    "a=-999999999999999": {"a": None},
    "a=123456789012.1": {"a": None},
    "a=-1.123": {"a": None},
    'a=""': {"a": None},
    r'a="x\"y\\z, b=n"': {"a": None},
    "a=::": {"a": None},
    "a=:aGVsbG8=:": {"a": None},
    "a=:aGVsbG8:": {"a": None},
    "a=:iZ==:": {"a": None},
    "a=:/+Ah:": {"a": None},
    "a=?1": {"a": None},
    "a=?0;b=?1": {"a": None},
    "a=@0": {"a": None},
    "a=@-999999999999999": {"a": None},
    'a=%""': {"a": None},
    'a=%"%22%ef%bb%bf ~\'\\"': {"a": None},
    "a=()": {"a": None},
    "a=(  )": {"a": None},
    "a=(  1  y  )": {"a": None},
    'a=(1;x "s";y=2 :YQ==:);z, b=y': {"a": None, "b": "y"},
}

REFUSED = (
    *("a=", "a= y", "a =y", "=y", "a==y", "a=y=n", "a=y;", "a=y;=1", "a=y; ", "a=y;b=", "a=y ;b"),
    *("a=y,", "a=y, ", ",a=y", "a=y,,b=n", "a=y b=n", "a=y;b c", "a=y; b=(1)", "\ta=y", "a=y\x00"),
    *("A=y", "aB=y", "a=y, B=n", "1a=y", "-a=y", "_a=y", "a!=y", "é=y", "a=é", "a=yé"),
    *("a=--0", "a=-", "a=- 1", "a=-a", "a=1.", "a=.1", "a=1..4", "a=1.5.4", "a=1.1234"),
    *("a=1234567890123456", "a=-1234567890123456", "a=1234567890123.0", "a=1234567890123."),
    *('a="', 'a="x', 'a="x\\"', 'a="x\\', 'a="\\n"', 'a="\t"', 'a="\x7f"', 'a="é"', "a='y'"),
    *('a=""x', 'a="x"y"'),
    *("a=:", "a=:YQ==", "a=:Y Q:", "a=:Y!:", "a=:YQ=!:", "a=:_-Ah:", "a=:Y:", "a=:=:", "a=:==:"),
    *("a=:YQ===:", "a=:Y=Q=:", "a=:YQ==YQ==:"),
    *("a=?", "a=?2", "a=?01", "a=?true", "a=@", "a=@1.5", "a=@1.", "a=@x", "a=@1234567890123456"),
    *("a=%", "a=%x", "a=%'x'", 'a=%"', 'a=%"x', 'a=%"%"', 'a=%"%4"', 'a=%"%zz"', 'a=%"%C3%BC"'),
    *('a=%"\t"', 'a=%"\x7f"', 'a=%"é"'),
    *("a=(", "a=(1", "a=(1 ", "a=(1 2", "a=(1\t2)", "a=(1,2)", "a=(1)2", "a=((1))", 'a=("x"y)'),
    *("a=)", "a=(1;)", "a=(1);", "a=~", "a=(~)", "a=1a"),
)


@pytest.mark.parametrize(("value", "found"), [*EXAMPLES.items(), *ACCEPTED.items()])
def test_tokens_of_a_dictionary(value: str, found: dict[str, str | None]) -> None:
    assert tokens_in(value.encode()) == found
    assert slow.tokens_in(value.encode()) == found


@pytest.mark.parametrize("value", REFUSED)
def test_what_is_not_a_dictionary_is_refused_as_a_whole(value: str) -> None:
    with pytest.raises(ValueError, match="no Dictionary"):
        tokens_in(value.encode())
    with pytest.raises(slow.FailedError):
        slow.tokens_in(value.encode())


PIECES = (
    *(
        "a",
        "train-ai",
        "*",
        "B",
        "=",
        "=",
        ",",
        ", ",
        " ",
        "\t",
        ";",
        "y",
        "n",
        "1",
        "-",
        ".",
        "12",
    ),
    *('"', "\\", '"x"', ":", ":YQ==:", "=", "?", "?1", "@", "@1", "%", '%"', "%c3%bc", "(", ")"),
    *("é", "\x00", "~", "_", "/", "1.5", "(1 2)", ";q=1"),
)


def outcome(parse: object, value: bytes) -> object:
    try:
        return parse(value)  # type: ignore[operator]
    except (ValueError, slow.FailedError):
        return "refused"


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_it_reads_as_the_steps_of_the_rfc_do(value: str) -> None:
    assert outcome(tokens_in, value.encode()) == outcome(slow.tokens_in, value.encode())


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_it_reads_a_value_as_the_steps_of_the_rfc_do(value: str) -> None:
    octets = b"a=" + value.encode()
    assert outcome(tokens_in, octets) == outcome(slow.tokens_in, octets)


@given(st.binary(max_size=60))
def test_any_octets_are_read_or_refused(value: bytes) -> None:
    assert outcome(tokens_in, value) == outcome(slow.tokens_in, value)


HOSTILE = {
    "spaces": (b" ", b"a=y", b""),
    "blanks behind a comma": (b"\t", b"a=y,", b""),
    "a string without an end": (b"x", b'a="', b""),
    "quotes in a string": (b'\\"', b'a="', b""),
    "a display string without an end": (b"%c3", b'a=%"', b""),
    "octets without an end": (b"A", b"a=:", b""),
    "padding": (b"=", b"a=:A", b":"),
    "spaces in a list": (b" ", b"a=(1", b"x"),
    "items of a list": (b"1 ", b"a=(", b"x"),
    "members": (b"a=y, ", b"", b"!"),
    "keys": (b"a", b"", b"!"),
    "parameters": (b";a=b", b"a=y", b"!"),
    "a token": (b"x", b"a=", b"\x00"),
    "digits": (b"1", b"a=", b""),
    "brackets": (b"(", b"a=", b""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_length(name: str) -> None:
    """Four times as long a value takes some four times as long; squares would take 16 times."""
    repeated, before, after = HOSTILE[name]
    short, long = (before + repeated * (size // len(repeated)) + after for size in (5_000, 20_000))
    assert outcome(tokens_in, short) == outcome(tokens_in, long)
    unit = seconds(lambda: outcome(tokens_in, short), 5)
    assert seconds(lambda: outcome(tokens_in, long), 5) < 10 * unit + 0.001
