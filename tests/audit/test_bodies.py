"""The texts of robots.txt files beside an audit log."""

from __future__ import annotations

import gzip
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit import bodies as module
from scrapy_robots_plus.audit.bodies import Bodies, BodyError
from tests.programs import run_text

TEXT = b"User-agent: *\nDisallow: /\n"
DIGEST = sha256(TEXT).hexdigest()


@given(st.binary(max_size=1000))
def test_what_is_put_is_got(tmp_path_factory: pytest.TempPathFactory, body: bytes) -> None:
    bodies = Bodies(tmp_path_factory.getbasetemp() / "bodies")
    digest = sha256(body).hexdigest()
    bodies.put(digest, body)
    bodies.put(digest, body)
    assert bodies.get(digest) == body


def test_each_is_a_gzip_file_named_by_its_hash(tmp_path: Path) -> None:
    Bodies(tmp_path).put(DIGEST, TEXT)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert path == tmp_path / DIGEST[:2] / f"{DIGEST}.txt.gz"
    assert gzip.decompress(path.read_bytes()) == TEXT


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x1f\x8b",
        gzip.compress(TEXT)[:-4],
        gzip.compress(b"other"),
        b"text",
        b"\x1f\x8b" * 50,
    ],
)
def test_a_damaged_one_is_told(tmp_path: Path, content: bytes) -> None:
    bodies = Bodies(tmp_path)
    bodies.put(DIGEST, TEXT)
    next(tmp_path.rglob("*.gz")).write_bytes(content)
    with pytest.raises(BodyError, match=r"cannot be read|was changed"):
        bodies.get(DIGEST)


def test_one_that_a_power_failure_has_emptied_is_written_again(tmp_path: Path) -> None:
    bodies, digest = Bodies(tmp_path), sha256(b"text").hexdigest()
    for _ in range(2):
        bodies.put(digest, b"text")
        assert bodies.get(digest) == b"text"
        (path,) = tmp_path.rglob("*.gz")
        path.write_bytes(b"")


def test_a_missing_one_is_told(tmp_path: Path) -> None:
    with pytest.raises(BodyError, match=r"\.txt\.gz is missing"):
        Bodies(tmp_path).get(DIGEST)


@pytest.mark.parametrize("folder", ["a\0b", "\ud800", "a" * 5_000])
def test_a_folder_that_no_disk_can_have_holds_nothing(folder: str) -> None:
    """A log names it, which may have been written by anybody."""
    with pytest.raises(BodyError, match="cannot be read"):
        Bodies(Path(folder)).get(DIGEST)


@pytest.mark.parametrize(
    "digest", ["", "../../etc/passwd", DIGEST.upper(), f"{DIGEST}\n", "x" * 64]
)
def test_what_is_no_hash_is_no_path(tmp_path: Path, digest: str) -> None:
    with pytest.raises(BodyError, match="is not a hash"):
        Bodies(tmp_path).get(digest)


def test_a_bomb_is_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_BODY", 1000)
    bodies, body = Bodies(tmp_path), b"x" * 100_000
    digest = sha256(body).hexdigest()
    bodies.put(digest, body)
    with pytest.raises(BodyError, match="was changed"):
        bodies.get(digest)


FULL_DISK = """
import resource, sys
from pathlib import Path
from scrapy_robots_plus.audit.bodies import Bodies
resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.RLIM_INFINITY))
try:
    Bodies(Path(sys.argv[1])).put(sys.argv[2], b"x" * 10_000)
except OSError:
    sys.exit(3)
"""


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    assert run_text(FULL_DISK, tmp_path, DIGEST) == (3, "")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("folder", "named"),
    [("/logs/a.bodies", "a.bodies"), ("/logs/x/y", "x/y"), ("/else/where", "/else/where")],
)
def test_a_log_names_a_folder_below_its_own_from_there(folder: str, named: str) -> None:
    seen = Bodies(Path(folder)).as_seen_from(Path("/logs/a.jsonl"))
    assert Path(seen) == Path(named)
