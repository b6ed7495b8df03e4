"""README and docs/commands.md: each command there prints what the page shows."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from ..samples import blocks
from .running import Robots
from .sessions import Session, sessions

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

SESSIONS = sessions("docs/commands.md")


def test_there_are_sessions() -> None:
    assert {shlex.split(session.command)[2] for session in SESSIONS} == {"check", "explain"}


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.command)
def test_each_prints_what_the_page_shows(session: Session, sites: Sites, tmp_path: Path) -> None:
    rules = blocks("text", "docs/commands.md")[0]
    (tmp_path / "robots.txt").write_text(rules)
    shown, _ = session.run(Robots(tmp_path), site=sites.host(rules).origin)
    assert shown == session.output


@pytest.mark.parametrize("session", sessions("README.md"), ids=lambda session: session.command)
def test_the_readme_shows_what_is_printed(session: Session, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(blocks("text", "README.md")[0])
    shown, _ = session.run(Robots(tmp_path))
    assert shown == session.output
