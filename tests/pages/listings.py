"""Sitemaps as sites serve them."""

from __future__ import annotations

from typing import Any

from tests.sites import answer


def listing(kind: str, *urls: str) -> Any:
    entry = {"urlset": "url", "sitemapindex": "sitemap"}[kind]
    entries = "".join(f"<{entry}><loc>{url}</loc></{entry}>" for url in urls)
    text = f'<?xml version="1.0"?><{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return answer(f"{text}{entries}</{kind}>", content_type="application/xml")
