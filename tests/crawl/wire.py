"""Rules for single characters and for sequences, and URLs that they are to catch, or not to."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ASCII = range(128)
SHORT = [*b"\t !\"#$%&'*-./:;<>?@Aa[\\]^`{|}"]
"""Letters, digits, control characters, and punctuation that means nothing anywhere, have one
representative each, or one of each kind.
"""

FORMS = {"l": "{:c}", "u": "%{:02X}", "d": "%{:02x}"}
"""Ways to write a character: literal, and escaped with capital and small digits."""

ENDS_A_RULE = frozenset(b"#\n\r\0")
PLAIN = [octet for octet in range(0x21, 0x7F) if octet not in b"#\\"]
"""What a rule and a URL may hold as it is; in a path Scrapy makes a slash of a backslash."""

SEQUENCES = {
    "/s1/x": [
        "/s1/./x", "/s1/a/../x", "/s1/a/%2e%2e/x", "/s1/a/.%2E/x", "/s1/a/b/../../x", "/s1/%2e/x",
        "/../s1/x", "//../s1/x", "/s1//../x", "/a/..//../s1/x", "/s1/a/../%2e/x", "/s1\\x",
        "/s1/a\\..\\x", "/%73%31/x", "/s1/x/.", "/s1/x;y", "/s1/\tx",
    ],
    "/s2$": ["/s2", "/s2?", "/s2;", "/s2;a", "/s2;a;b", "/s2;?", "/s2/..;/../s2", "/s2/a/.."],
    "/s3/$": ["/s3/", "/s3/.", "/s3/a/..", "/s3/;", "/s3/;a", "/s3/./.", "/s3/a/%2e%2e"],
    "/s4?a": ["/s4?a", "/s4;b?a", "/s4;?a", "/s4?%61"],
    "/s5/%25": ["/s5/%", "/s5/%zz", "/s5/%25", "/s5/%2", "/s5/%%34"],
    "/s6/@": ["/s6/@", "/s6/%40", "/s6/a/%2e%2e/%40", "/s6/./%40"],
    "/s7?q=@": ["/s7?q=@", "/s7?q=%40", "/a/../s7?q=%40"],
    "//s8": ["//s8", "//a/../s8", "/.//s8"],
    "/s9?g[0]=o'b": ["/s9?g[0]=o'b", "/s9?g%5B0%5D=o%27b", "/s9?g%5b0%5d=o'b"],
    "/sa/b%2520c": ["/sa/b%20c?x=%u00e9", "/sa/b%20c?%zz", "/sa/./b%20c?1%x1", "/sa/b%2520c"],
}  # fmt: skip
"""Rules, and what comes to the same with at least one download handler or by RFC 9309 2.2.2."""

NOT_THE_SAME = [
    "/s1/..%2Fx", "/s1/.../x", "/s1/..;/x", "/s1?/../x", "/a?/../s1/x", "/s1/.x", "/s2;a/b",
    "/s2/a", "/s3/a;b", "/s4;b", "/s6/%2540", "/s7?q=%2540",
    "/s9?g[1]=o'b", "/s1%2Fx", "/s6/..%40/x", "/sa/b%20c", "/sa/b%20c?100%", "/sa/b%20c?x=%E9",
]  # fmt: skip
"""URLs that no handler makes into a disallowed one."""


@dataclass
class Wire:
    """A robots.txt, and targets of requests: path and query, as a spider would give them."""

    rules: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    """The character of a rule, however it is written: escapes of reserved ones are others."""
    open: list[str] = field(default_factory=list)

    @property
    def robots_txt(self) -> str:
        return "User-agent: *\n" + "".join(f"Disallow: {rule}\n" for rule in self.rules)


def wire_of(octets: Iterable[int]) -> Wire:
    """Every one of *octets*, in path and in query, by a rule in each form.

    Of a few octets, no rule has an escape with small digits: URLs have.
    """
    wire = Wire(list(SEQUENCES), [*chain(*SEQUENCES.values())], list(NOT_THE_SAME))
    for octet, (name, rule_form), place in product(octets, FORMS.items(), ["/p{}/", "/q{}?k="]):
        prefix = place.format(f"{name}{octet:02x}")
        written = rule_form.format(octet)
        if name == "d" and (octets is not ASCII or written == FORMS["u"].format(octet)):
            continue  # without letters: the same escape
        wire.rules.append(f"{prefix}{written}x")
        wire.closed += [f"{prefix}{form.format(octet)}x" for form in FORMS.values()]
        if not (name == "l" and octet in ENDS_A_RULE):
            wire.open.append(f"{prefix}{written}y")
    return wire
