"""Files of a replay are read once, as long as they are used."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.bodies import Bodies
from scrapy_robots_plus.audit.replay import MOST_FILES, policy_of
from scrapy_robots_plus.protocol import GOOGLE, RFC9309, Dialect
from scrapy_robots_plus.protocol.access import Access

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.origins.policy import Policy


def kept(bodies: Bodies, text: str) -> str:
    body = text.encode()
    digest = sha256(body).hexdigest()
    bodies.put(digest, body)
    return digest


def read(bodies: Bodies, digest: str, charset: str | None, dialect: Dialect) -> Policy:
    return policy_of(bodies, digest, charset, dialect, Access.RULES, obey=True)


def test_a_file_is_read_once_for_each_way_to_read_it(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    digest = kept(bodies, "User-agent: *\nDisallow: /é")
    policy = read(bodies, digest, None, RFC9309)
    assert read(Bodies(tmp_path), digest, None, RFC9309) is policy
    assert dialect_of(read(bodies, digest, None, GOOGLE)) is GOOGLE
    assert not policy.verdict("http://a.example/é", "bot").allowed
    assert read(bodies, digest, "latin-1", RFC9309).verdict("http://a.example/é", "bot").allowed


def dialect_of(policy: Policy) -> Dialect:
    assert policy.parsed is not None
    return policy.parsed.dialect


def test_of_too_many_the_least_recently_used_goes(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    digests = [kept(bodies, f"User-agent: *\nDisallow: /{each}") for each in range(MOST_FILES + 1)]
    one, other, *_ = (read(bodies, digest, None, RFC9309) for digest in digests[:-1])
    assert read(bodies, digests[0], None, RFC9309) is one
    assert read(bodies, digests[-1], None, RFC9309).verdict("http://a.example/", "bot").allowed
    assert read(bodies, digests[0], None, RFC9309) is one
    assert read(bodies, digests[1], None, RFC9309) is not other
