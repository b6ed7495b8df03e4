"""Files of a replay are read once, as long as they are used."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.bodies import Bodies
from scrapy_robots_plus.audit.replay import MOST_FILES, parsed
from scrapy_robots_plus.protocol import GOOGLE, RFC9309

if TYPE_CHECKING:
    from pathlib import Path


def kept(bodies: Bodies, text: str) -> str:
    body = text.encode()
    digest = sha256(body).hexdigest()
    bodies.put(digest, body)
    return digest


def test_a_file_is_read_once_for_each_way_to_read_it(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    digest = kept(bodies, "User-agent: *\nDisallow: /é")
    file = parsed(bodies, digest, None, RFC9309)
    assert parsed(Bodies(tmp_path), digest, None, RFC9309) is file
    assert parsed(bodies, digest, None, GOOGLE).dialect is GOOGLE
    assert not file.allowed("/é", "bot")
    assert parsed(bodies, digest, "latin-1", RFC9309).allowed("/é", "bot")


def test_of_too_many_the_least_recently_used_goes(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    digests = [kept(bodies, f"User-agent: *\nDisallow: /{each}") for each in range(MOST_FILES + 1)]
    one, other, *_ = (parsed(bodies, digest, None, RFC9309) for digest in digests[:-1])
    assert parsed(bodies, digests[0], None, RFC9309) is one
    assert parsed(bodies, digests[-1], None, RFC9309).allowed("/", "bot")
    assert parsed(bodies, digests[0], None, RFC9309) is one
    assert parsed(bodies, digests[1], None, RFC9309) is not other
