"""What a response says about the use of its page: headers, and directives for robots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.octets import text

from .statements import Preference, Source, Statement, first_of_each
from .values import signals, usage
from .vocabulary import CURRENT, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def usage_header(
    values: Iterable[bytes], vocabulary: Vocabulary = CURRENT
) -> tuple[Statement, ...]:
    """What the Content-Usage headers of a response state (Internet-Draft
    draft-ietf-aipref-attach). Never raises.

    Several headers are one value (RFC 9110 5.2), so that a broken one makes all unknown.
    """
    value = b", ".join(values)
    served = f"Content-Usage: {text(value)}"
    return tuple(
        Statement(category, preference, Source.CONTENT_USAGE_HEADER, served)
        for category, preference in usage(value, vocabulary).items()
    )


def signal_header(
    values: Iterable[bytes], vocabulary: Vocabulary = CURRENT
) -> tuple[Statement, ...]:
    """What the Content-Signal headers of a response state (contentsignals.org; RFC 9110 5.2):
    Cloudflare sends them with some pages. Never raises."""
    value = b", ".join(values)
    served = f"Content-Signal: {text(value)}"
    return first_of_each(
        Statement(category, preference, Source.CONTENT_SIGNAL_HEADER, served)
        for category, preference in signals(value, vocabulary)
    )


def directive_statements(
    directives: Iterable[str],
    source: Source = Source.X_ROBOTS_TAG,
    is_image: bool = False,
    vocabulary: Vocabulary = CURRENT,
) -> tuple[Statement, ...]:
    """What directives for robots say about uses: ``noai``, and ``noimageai`` for an image.

    On a page that is not an image, ``noimageai`` is about the images in it: it leaves the
    preference for the page unknown. Other directives say nothing about uses. *directives* are
    names in any case, only those that are meant for this crawler; *source* is X-Robots-Tag or meta
    robots. They are DeviantArt's; no RFC or Internet-Draft defines them.
    """
    return first_of_each(_said_by(directives, source, is_image, vocabulary))


def _said_by(
    directives: Iterable[str], source: Source, is_image: bool, vocabulary: Vocabulary
) -> Iterator[Statement]:
    for served in directives:
        name = served.strip().lower()
        if name in vocabulary.directives:
            yield Statement(vocabulary.directives[name], Preference.DISALLOW, source, served)
        elif name in vocabulary.image_directives:
            preference = Preference.DISALLOW if is_image else Preference.UNKNOWN
            yield Statement(vocabulary.image_directives[name], preference, source, served)
