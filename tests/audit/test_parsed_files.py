"""Files of a replay are parsed once, as long as they are used."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.audit import replay
from scrapy_robots_plus.audit.bodies import Bodies
from scrapy_robots_plus.audit.replay import ParsedFiles
from scrapy_robots_plus.protocol import GOOGLE, RFC9309

if TYPE_CHECKING:
    from pathlib import Path


def kept(bodies: Bodies, text: str) -> str:
    body = text.encode()
    digest = sha256(body).hexdigest()
    bodies.put(digest, body)
    return digest


def test_a_file_is_parsed_once_for_each_way_to_read_it(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path)
    files, digest = ParsedFiles(), kept(bodies, "User-agent: *\nDisallow: /é")
    file = files.get(bodies, digest, None, RFC9309)
    assert files.get(bodies, digest, None, RFC9309) is file
    assert files.get(bodies, digest, None, GOOGLE).dialect is GOOGLE
    assert not file.allowed("/é", "bot")
    assert files.get(bodies, digest, "latin-1", RFC9309).allowed("/é", "bot")


def test_of_too_many_the_least_recently_used_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = Bodies(tmp_path)
    digests = [kept(bodies, f"User-agent: *\nDisallow: /{name}") for name in "abc"]
    monkeypatch.setattr(replay, "OCTETS", 1_500)  # of two, with what they take besides
    files = ParsedFiles()
    one, other = (files.get(bodies, digest, None, RFC9309) for digest in digests[:2])
    assert files.get(bodies, digests[0], None, RFC9309) is one
    third = files.get(bodies, digests[2], None, RFC9309)
    assert files.get(bodies, digests[0], None, RFC9309) is one
    assert files.get(bodies, digests[2], None, RFC9309) is third
    assert files.get(bodies, digests[1], None, RFC9309) is not other


def test_the_file_in_use_is_kept_however_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = Bodies(tmp_path)
    monkeypatch.setattr(replay, "OCTETS", 10)
    files, digest = ParsedFiles(), kept(bodies, "User-agent: *\nDisallow: /")
    assert files.get(bodies, digest, None, RFC9309) is files.get(bodies, digest, None, RFC9309)
