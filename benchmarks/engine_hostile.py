"""Files of 500 KiB and URLs of 2,000 octets that were made to hurt.

Each of :func:`hostile` is a name, a body, and the URLs to be asked about. They aim at what
matchers are known to do badly: agents x rules, backtracking over wildcards, trying every rule,
nested prefixes, needles that nearly fit, escapes.
"""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 512_000
URL_SIZE = 2000
LETTERS = string.ascii_lowercase


def _fill(rule: Callable[[int], str], head: str = "User-agent: *\n") -> bytes:
    """Lines made by ``rule`` of 0, 1, 2 ... until the file is full."""
    lines, left, number = [head], SIZE - len(head), 0
    while True:
        line = rule(number) + "\n"
        if len(line) > left:
            return "".join(lines).encode()
        lines.append(line)
        left -= len(line)
        number += 1


def _url(text: str) -> str:
    return ("/" + text * URL_SIZE)[:URL_SIZE]


def _word(random_: random.Random, size: int, letters: str = LETTERS) -> str:
    return "".join(random_.choices(letters, k=size))


def _agents_times_rules() -> bytes:
    agents = "".join(f"User-agent: bot{LETTERS[n % 26]}{'x' * (n % 40)}\n" for n in range(9000))
    return _fill(lambda n: f"Disallow: /{n}", agents + "User-agent: *\n")


def _triples(random_: random.Random) -> str:
    a, b, c = random_.sample(string.ascii_letters + string.digits, 3)
    return f"allow:*{a}*{b}*{c}"


def _wrong_in_the_middle(random_: random.Random) -> str:
    """Three letters that a URL of all letters in order holds, but not in this order."""
    a, c, b = sorted(random_.sample(string.ascii_lowercase + string.ascii_uppercase, 3))
    return f"allow:*{a}*{b}*{c}"


def _odd_one_inside(number: int) -> str:
    run = "a" * (40 + number % 460)
    return f"Disallow: /*{run}b{run}{number}"


def hostile() -> Iterator[tuple[str, bytes, list[str]]]:
    """Name, body and URLs of each."""
    random_ = random.Random(9309)
    same = _url("a")
    anything = "/" + _word(random_, URL_SIZE - 1)
    runs = "/" + "".join(letter * 32 for letter in string.ascii_letters + string.digits)
    deep = "*a" * 8000
    pairs = "/" + "".join(a + b for a in LETTERS for b in LETTERS)[: URL_SIZE - 1]
    yield "agents x rules", _agents_times_rules(), [same, "/1", anything]
    yield "one rule per agent", _fill(lambda n: f"User-agent: a{n}\nDisallow: /{n}", ""), [same]
    yield "agents only", _fill(lambda _: "User-agent: a", ""), [same]
    yield "literal rules", _fill(lambda n: f"Disallow: /{n}"), [same, "/" + "9" * 1999]
    yield "nested literals", _fill(lambda n: "Disallow: /" + "a" * (n % 1000)), [same]
    yield "*a*a*a...b", _fill(lambda n: f"Disallow: /{'*a' * (n % 300 + 1)}*b"), [same]
    yield "*a*a*a... and an end", _fill(lambda n: f"Disallow: /{'*a' * (n % 300 + 1)}b$"), [same]
    yield "16 KiB of *a", _fill(lambda n: f"Disallow: /{n}{deep}"), [same, anything, "/1" + same]
    yield (
        "*a*b*a*b...*c",
        _fill(lambda n: f"Disallow: /*{n}{'*a*b' * (400 + n % 90)}*c*{n}"),
        [("/" + "0123456789" * 10 + "ab" * 450 + "c" + "ab" * 500)[:URL_SIZE]],
    )
    yield "*ab*ab*ab...", _fill(lambda n: f"Disallow: /*{'ab*' * (n % 500)}c{n}"), [_url("ab")]
    yield (
        "random words",
        _fill(lambda _: f"Disallow: /*{_word(random_, 4)}*{_word(random_, 4)}"),
        [anything],
    )
    yield (
        "pairs, all there",
        _fill(lambda _: f"allow:*{_word(random_, 2)}*{_word(random_, 2)}*{_word(random_, 2)}!"),
        [pairs, anything],
    )
    yield (
        "letters, all but in order",
        _fill(lambda _: _wrong_in_the_middle(random_)),
        ["/" + "".join(sorted(runs[1:])), anything],
    )
    yield (
        "pairs, in any order",
        _fill(lambda _: f"allow:*{_word(random_, 2)}*{_word(random_, 2)}*{_word(random_, 2)}"),
        [pairs, anything],
    )
    yield "letters in any order", _fill(lambda _: _triples(random_)), [runs, runs[::-1], anything]
    yield "many ends", _fill(lambda n: f"Disallow: /*{n}$"), [same, _url("1")]
    yield (
        "two letters",
        _fill(lambda _: f"Disallow: /*{_word(random_, 16, 'ab')}*c"),
        ["/" + _word(random_, URL_SIZE - 1, "ab")],
    )
    yield "an odd one at the end", _fill(lambda n: f"Disallow: /*{'a' * (n % 900 + 1)}b{n}"), [same]
    yield "an odd one inside", _fill(_odd_one_inside), [same]
    yield (
        "an odd one inside, its ends in the URL",
        _fill(lambda n: f"allow:*{'a' * (100 + n % 600)}b{'a' * (40 + n % 159)}"),
        ["/" + "a" * 90 + "b" + "a" * 939 + "b" + "a" * 39 + "c" + "a" * 900],
    )
    yield (
        "chains that miss their end",
        _fill(lambda _: "allow:*q" + "*".join(["", *random_.choices(("ab", "ba"), k=48)]) + "*zy"),
        ["/qzy" + "ab" * 998],
    )
    yield "escapes", _fill(lambda n: f"Disallow: /%{n % 256:02x}%61*%7e"), ["/" + "%7E%2f%61" * 222]
    yield "$ and *", _fill(lambda n: "Disallow: /" + "*$" * (n % 40) + "$" * (n % 7)), [same]
    yield "one long line", b"User-agent: *\nDisallow: /" + b"*a" * 255_000, [same]
    yield "no line at all", b"\n" * SIZE, [same]
    yield "octets", bytes(random_.randrange(256) for _ in range(SIZE)), [same, anything]
