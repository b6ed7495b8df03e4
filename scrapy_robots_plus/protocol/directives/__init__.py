"""What a page says of itself: by X-Robots-Tag headers and by robots meta tags."""

from .page_statements import (
    PageDirectives,
    PageSource,
    PageStatement,
    header_statements,
    meta_statements,
)

__all__ = [
    "PageDirectives",
    "PageSource",
    "PageStatement",
    "header_statements",
    "meta_statements",
]
