"""Encodings of what the commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .running import Robots

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("ascii", "http://x.example/\\u0416\\U0001f600"),
        pytest.param("latin-1", "http://x.example/\\u0416\\U0001f600", marks=pytest.mark.stress),
        (None, "http://x.example/\u0416\U0001f600"),
    ],
    ids=["ascii", "latin-1", "utf-8"],
)
def test_what_the_encoding_lacks_is_escaped(
    tmp_path: Path, encoding: str | None, shown: str
) -> None:
    (tmp_path / "r.txt").write_text("User-agent: *\nDisallow: /closed\n")
    (tmp_path / "urls.txt").write_text("http://x.example/\u0416\U0001f600\n", encoding="utf-8")
    arguments = "check", "--file", "r.txt", "--input", "urls.txt"
    environment = {"PYTHONIOENCODING": encoding} if encoding else None
    done = Robots(tmp_path)(*arguments, environment=environment)
    assert done.output.startswith(f"allowed   {shown}  (")
