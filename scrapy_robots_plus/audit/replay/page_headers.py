"""What a header of a page said about its use, read again from the line of an audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.preferences import (
    Source,
    directive_statements,
    signal_header,
    usage_header,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.audit.entries import VerdictEntry
    from scrapy_robots_plus.protocol.preferences import Statement


def _value(rule: str) -> list[bytes]:
    """The value of a header, without its name."""
    return [rule.partition(": ")[2].encode("utf-8", "surrogatepass")]


_READERS: dict[str, Callable[[str], tuple[Statement, ...]]] = {
    Source.CONTENT_USAGE_HEADER.value: lambda rule: usage_header(_value(rule)),
    Source.CONTENT_SIGNAL_HEADER.value: lambda rule: signal_header(_value(rule)),
    # Of noimageai it is not logged whether the page is an image.
    Source.X_ROBOTS_TAG.value: lambda rule: directive_statements([rule], is_image=True),
}


def header_statements_of(entry: VerdictEntry) -> tuple[Statement, ...]:
    """What the header said because of which the page was skipped; none if no header decided."""
    read = _READERS.get(entry.source or "")
    return () if read is None or entry.rule is None else read(entry.rule)
