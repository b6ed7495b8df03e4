"""docs/linter.md: the command there prints what the page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..samples import block_with, blocks
from .running import Robots
from .sessions import sessions

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

(SESSION,) = sessions("docs/linter.md")


def test_the_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(blocks("text", "docs/linter.md")[0])
    shown, done = SESSION.run(Robots(tmp_path))
    assert [line.rstrip() for line in shown.splitlines()] == SESSION.output.splitlines()
    assert done.status == 1


def test_the_sample_prints_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    block_with("import lint", "docs/linter.md")
    printed = "2 misspelt-key 'Disalow' is read as Disallow, but others may ignore it.\n"
    assert capsys.readouterr().out == printed
