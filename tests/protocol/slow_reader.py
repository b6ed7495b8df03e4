"""What google/robotstxt does with a file, told octet by octet: slow, and without our engine.

It follows the reference parser's documented steps one after the other for one crawler and one path,
keeping no groups: a file is read anew for each question.
"""

from __future__ import annotations

import re

from tests.protocol.slow_matcher import matches

WHITE = b" \t\n\v\f\r"
LONGEST_LINE = 2083 * 8 - 1
KEYS = [
    ("agent", [b"user-agent", b"useragent", b"user agent"]),
    ("allow", [b"allow"]),
    (
        "disallow",
        [b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"],
    ),
]


def lines(body: bytes) -> list[bytes]:
    """Without byte order mark; a line feed right behind a carriage return ends no line."""
    for length in (3, 2, 1):
        if body[:length] == b"\xef\xbb\xbf"[:length]:
            body = body[length:]
            break
    found, line, after_return = [], b"", False
    for octet in body:
        if octet not in (0x0A, 0x0D):
            line += bytes([octet])
            continue
        if not (octet == 0x0A and after_return and not line):
            found.append(line)
        line, after_return = b"", octet == 0x0D
    return [
        each[:LONGEST_LINE].split(b"\0")[0].split(b"#")[0].strip(WHITE) for each in [*found, line]
    ]


def key_and_value(line: bytes) -> tuple[bytes, bytes] | None:
    if b":" in line:
        at = line.index(b":")
    else:
        gap = re.search(rb"[ \t]", line)
        if not gap or re.search(rb"[ \t]", line[gap.start() :].lstrip(b" \t")):
            return None
        at = gap.start()
    key, value = line[:at].strip(WHITE), line[at + 1 :].strip(WHITE)
    return (key, value) if key else None


def kind(key: bytes) -> str:
    for name, beginnings in KEYS:
        if any(key.lower().startswith(each) for each in beginnings):
            return name
    return "other"


def escaped(pattern: bytes) -> bytes:
    found = re.sub(rb"%[0-9a-fA-F]{2}", lambda match: match.group().upper(), pattern)
    return b"".join(b"%%%02X" % each if each > 0x7F else bytes([each]) for each in found)


def priorities(allow: bool, pattern: bytes, path: bytes) -> int:
    if matches(pattern, path):
        return len(pattern)
    slash = pattern.rfind(b"/")
    if allow and slash >= 0 and pattern[slash:].startswith(b"/index.htm"):
        return priorities(True, pattern[: slash + 1] + b"$", path)
    return -1


def allowed(body: bytes, agent: bytes, path: bytes) -> bool:
    best = {(whose, what): -1 for whose in ("own", "all") for what in ("allow", "disallow")}
    for_me = for_all = rules_seen = ever_mine = False
    for line in lines(body):
        pair = key_and_value(line)
        if pair is None:
            continue
        key, value = pair
        what = kind(key)
        if what == "agent":
            if rules_seen:
                for_me = for_all = rules_seen = False
            if value == b"*" or (value[:1] == b"*" and value[1:2] in list(map(bytes, zip(WHITE)))):
                for_all = True
            elif re.match(rb"[A-Za-z_-]*", value).group().lower() == agent.lower():
                for_me = ever_mine = True
        elif what != "other" and (for_me or for_all):
            rules_seen = True
            priority = priorities(what == "allow", escaped(value), path)
            slot = "own" if for_me else "all", what
            best[slot] = max(best[slot], priority)
    whose = "own" if ever_mine else "all"
    return best[whose, "disallow"] <= max(best[whose, "allow"], 0)
