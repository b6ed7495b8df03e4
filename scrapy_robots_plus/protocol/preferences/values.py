"""The values of Content-Usage, Content-Signal and directives, as preferences for uses.

Content-Usage needs a part of structured fields (RFC 9651), whose grammar has no recursion, so a
member is one regular expression. Each piece of it can end in only one place, so time grows with the
length of the value. It is as strict as section 4.2, except for escapes in a Display String, however
the process is set up: the library ``http-sf`` accepts upper-case keys wherever another package has
set its ``COMPAT``, and refuses whole fields over a date that Python cannot represent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from scrapy_robots_plus.protocol.fields import Field, Line
from scrapy_robots_plus.protocol.octets import text

from . import LABELS, LEVELS, SIGNALS, TRAINING, Preference, Source, Statement, first_of_each

_KEY = rb"[a-z*][a-z0-9_.*-]*"
_TOKEN = rb"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*"
_CHARACTER = rb'(?: [^\x00-\x1f\x7f-\xff"%] | %[0-9a-f]{2} )'
"""A character of a Display String (4.2.10): ASCII, or an escape, whether or not it is UTF-8."""
_ITEM = rb"""(?:
    %b
    | -?(?: [0-9]{1,12}\.[0-9]{1,3} | [0-9]{1,15} )
    | "[^\x00-\x1f\x7f-\xff"\\]*(?: \\["\\][^\x00-\x1f\x7f-\xff"\\]* )*"
    | :(?: (?:[A-Za-z0-9+/]{4})* [A-Za-z0-9+/]{2,4} ={0,2} )?:
    | \?[01]
    | @-?[0-9]{1,15}
    | %%"%b*"
)""" % (_TOKEN, _CHARACTER)
"""A bare item (4.2.3.1) of any type. In a Byte Sequence, padding may be missing, and the bits that
do not fill an octet may be anything (4.2.7)."""
_PARAMETERS = rb"(?: ;[ ]* %b (?: = %b )? )*" % (_KEY, _ITEM)
_VALUE = rb"(?: %b | \( [ ]* (?: %b %b (?: [ ]+ | (?=\)) ) )* \) )" % (_ITEM, _ITEM, _PARAMETERS)
"""An item or an inner list (4.2.1.2)."""

# Compiled when it is first needed, and cached by ``re``: most crawls never need it.
_MEMBER = rb"""
    (?P<key> %b ) (?: = (?: (?P<token> %b ) | %b ) )? %b
    [ \t]* (?P<comma> , [ \t]* )?
""" % (_KEY, _TOKEN, _VALUE, _PARAMETERS)

USAGE_TOKENS = {"y": Preference.ALLOW, "n": Preference.DISALLOW}
SIGNAL_WORDS = {"yes": Preference.ALLOW, "no": Preference.DISALLOW}


def usage_rule(value: bytes) -> tuple[bytes, bytes]:
    """Returns the path and the Dictionary in the value of a Content-Usage line.

    A path, if there is one, begins with ``/`` and ends before the first space or tab
    (draft-ietf-aipref-attach-05, "Processing Content-Usage Rules"). Without one, the line is for
    all paths.
    """
    if not value.startswith(b"/"):
        return b"", value
    path = value.replace(b"\t", b" ").partition(b" ")[0]
    return path, value[len(path) :].lstrip(b" \t")


def tokens_in(value: bytes) -> dict[str, str | None]:
    """Returns the keys of a Dictionary, each with its value if that is a Token (RFC 9651 3.3.4).

    A value of any other type is None. Parameters are left out; the last of equal keys counts
    (4.2.2). Raises ValueError for what is not a Dictionary: all of it is to be ignored (4.2).
    """
    found: dict[str, str | None] = {}
    match = re.compile(_MEMBER, re.VERBOSE).match
    at = len(value) - len(value.lstrip(b" "))
    while at < len(value):
        member = match(value, at)
        # A comma stands between two members, and not behind the last one.
        if member is None or bool(member["comma"]) is not (member.end() < len(value)):
            raise ValueError(f"no Dictionary: unexpected octet behind {at}")
        key, token = member.group("key", "token")
        found[key.decode()] = token.decode() if token else None
        at = member.end()
    return found


def usage(value: bytes) -> Iterator[tuple[str, Preference]]:
    """Yields what a Dictionary states (draft-ietf-aipref-vocab-08, "Processing Algorithm").

    The Token ``y`` allows, ``n`` disallows; a key with another value is unknown, and keys that are
    not in the vocabulary are ignored. If the value cannot be parsed, all is unknown.
    """
    try:
        found = tokens_in(value)
    except ValueError:
        found = dict.fromkeys(LABELS)
    for label in LABELS:
        if label in found:
            yield label, USAGE_TOKENS.get(found[label] or "", Preference.UNKNOWN)


def signals(value: bytes) -> Iterator[tuple[str, Preference]]:
    """Yields what a Content-Signal states (contentsignals.org).

    ``yes`` allows, ``no`` disallows, a key with another value is unknown, and keys that nobody has
    defined are ignored. ``use=reference`` allows ``use=immediate`` and ``use=reference``, and
    disallows ``use=full``.
    """
    for part in text(value).lower().split(","):
        key, _, said = (each.strip() for each in part.partition("="))
        if key in SIGNALS:
            yield SIGNALS[key], SIGNAL_WORDS.get(said, Preference.UNKNOWN)
        elif said in LEVELS.get(key, ()):
            most = LEVELS[key].index(said)
            for at, level in enumerate(LEVELS[key]):
                yield f"{key}={level}", Preference.ALLOW if at <= most else Preference.DISALLOW
        elif key in LEVELS:
            yield key, Preference.UNKNOWN


def statements_in(line: Line) -> tuple[bytes, list[Statement]]:
    """Returns the path of a Content-Usage or Content-Signal line, and what it states.

    The path is empty if the line is for all paths, as each Content-Signal is.
    """
    if line.field is Field.CONTENT_SIGNAL:
        source, path, stated = Source.CONTENT_SIGNAL, b"", signals(line.value)
    else:
        path, value = usage_rule(line.value)
        source, stated = Source.CONTENT_USAGE, usage(value)
    served = f"{text(line.key)}: {text(line.value)}"
    return path, [Statement(use, said, source, served, line.number) for use, said in stated]


def usage_header(values: Iterable[bytes]) -> tuple[Statement, ...]:
    """Returns what Content-Usage headers state (Internet-Draft draft-ietf-aipref-attach).

    Several headers are one value (RFC 9110 5.2), so that a broken one makes all unknown. Never
    raises.
    """
    return _header(Source.CONTENT_USAGE_HEADER, b", ".join(values), usage)


def signal_header(values: Iterable[bytes]) -> tuple[Statement, ...]:
    """Returns what Content-Signal headers state (contentsignals.org; RFC 9110 5.2).

    Cloudflare sends them with some pages. Never raises.
    """
    return _header(Source.CONTENT_SIGNAL_HEADER, b", ".join(values), signals)


def _header(
    source: Source, value: bytes, read: Callable[[bytes], Iterator[tuple[str, Preference]]]
) -> tuple[Statement, ...]:
    served = f"{source.value.removesuffix(' header')}: {text(value)}"
    stated = (Statement(category, said, source, served) for category, said in read(value))
    return first_of_each(stated)


def directive_statements(
    directives: Iterable[str], source: Source = Source.X_ROBOTS_TAG, is_image: bool = False
) -> tuple[Statement, ...]:
    """Returns what directives for robots say about uses: ``noai``, and ``noimageai`` for an image.

    On a page that is not an image, ``noimageai`` is about the images in it: it leaves the
    preference for the page unknown. Other directives say nothing about uses. *directives* are names
    in any case, only those that are meant for this crawler; *source* is X-Robots-Tag or meta
    robots. Both directives are DeviantArt's; no RFC or Internet-Draft defines them.
    """
    about_image = Preference.DISALLOW if is_image else Preference.UNKNOWN
    about = {"noai": Preference.DISALLOW, "noimageai": about_image}
    return first_of_each(
        Statement(TRAINING, about[name], source, served)
        for served in directives
        if (name := served.strip().lower()) in about
    )
