"""Robots.txt files such as sites have, and their records: each a function of its number.

Sizes are as on the web at large: most files have a few lines, some have hundreds.
"""

from __future__ import annotations

import random
from hashlib import blake2b, sha256

from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage.record import RobotsRecord

START = 1_750_000_000.0

BLOG = (
    "Disallow: /wp-admin/",
    "Allow: /wp-admin/admin-ajax.php",
)
_WORDS = """
    cart checkout account login register search compare wishlist review customer sales tag
    catalogsearch newsletter print filter sort price brand colour size stock orders returns
"""
_NAMES = """
    GPTBot ChatGPT-User CCBot Google-Extended anthropic-ai ClaudeBot Bytespider Amazonbot
    PerplexityBot Applebot-Extended FacebookBot Diffbot Omgilibot cohere-ai ImagesiftBot YouBot
    AhrefsBot SemrushBot MJ12bot DotBot PetalBot BLEXBot DataForSeoBot Scrapy
"""
SHOP = _WORDS.split()
CRAWLERS = _NAMES.split()


def host(number: int) -> str:
    """In no order, as hosts come in a crawl."""
    return f"www.{blake2b(b'%d' % number, digest_size=6).hexdigest()}.example"


def body(number: int) -> bytes:
    """The file of host *number*."""
    chance = random.Random(number)
    kind = chance.random()
    lines = ["User-agent: *"]
    if kind < 0.45:
        lines += BLOG
    elif kind < 0.60:
        lines.append("Disallow:")
    elif kind < 0.85:
        lines += _paths(chance, chance.randint(8, 40))
    else:
        lines += _paths(chance, chance.randint(80, 300))
    if chance.random() < 0.15:
        lines.append(f"Crawl-delay: {chance.choice([1, 2, 5, 10])}")
    if chance.random() < 0.25:
        refused = chance.sample(CRAWLERS, chance.randint(2, len(CRAWLERS)))
        lines += ["", *(f"User-agent: {name}\nDisallow: /\n" for name in refused)]
    lines += ["", f"Sitemap: https://{host(number)}/sitemap.xml", ""]
    return "\n".join(lines).encode()


def _paths(chance: random.Random, count: int) -> list[str]:
    forms = ("/{}/", "/{}/{}/", "/*?{}=", "/{}/*/{}$", "/{}-{}/", "/*/{}?*{}=")
    return [
        f"{chance.choice(['Disallow', 'Disallow', 'Disallow', 'Allow'])}: "
        + chance.choice(forms).format(chance.choice(SHOP), chance.choice(SHOP))
        for _ in range(count)
    ]


def record(number: int) -> RobotsRecord:
    """What is stored of host *number*: rules (85 %), no file (10 %), no answer (5 %)."""
    origin = Origin("https", host(number), 443)
    fetched_at = START + number
    if number % 20 == 0:
        return RobotsRecord(
            origin,
            Access.UNREACHABLE,
            Failure.TIMEOUT,
            origin.robots_url,
            fetched_at,
            60.0,
            failure=Failure.TIMEOUT,
            failures=1,
            failed_at=fetched_at,
        )
    headers = {
        "cache-control": "max-age=3600",
        "content-type": "text/plain; charset=utf-8",
        "date": "Sun, 15 Jun 2025 15:06:40 GMT",
    }
    if number % 20 in (1, 2):
        return RobotsRecord(
            origin, Access.UNAVAILABLE, 404, origin.robots_url, fetched_at, 3_600.0, headers
        )
    rules = body(number)
    digest = sha256(rules).hexdigest()
    headers |= {"etag": f'"{digest[:16]}"', "last-modified": "Mon, 02 Jun 2025 08:00:00 GMT"}
    return RobotsRecord(
        origin,
        Access.RULES,
        200,
        origin.robots_url,
        fetched_at,
        3_600.0,
        headers,
        sha256=digest,
        body=rules,
    )
