"""Encodings of what the commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..programs import CODE, scrapy_in

if TYPE_CHECKING:
    from pathlib import Path

PRINTS = """
import sys
from scrapy.cmdline import execute

sys.stdout = open(1, "w", encoding={!r}, closefd=False)
execute()
"""


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("ascii", "http://x.example/\\u0416\\U0001f600"),
        ("latin-1", "http://x.example/\\u0416\\U0001f600"),
        ("utf-8", "http://x.example/\u0416\U0001f600"),
    ],
)
def test_what_the_encoding_lacks_is_escaped(tmp_path: Path, encoding: str, shown: str) -> None:
    (tmp_path / "r.txt").write_text("User-agent: *\nDisallow: /closed\n")
    (tmp_path / "urls.txt").write_text("http://x.example/\u0416\U0001f600\n", encoding="utf-8")
    arguments = "robots", "check", "--file", "r.txt", "--input", "urls.txt"
    _, printed = scrapy_in(tmp_path, PRINTS.format(encoding), *arguments, main=CODE)
    assert printed.startswith(f"allowed   {shown}  (")
