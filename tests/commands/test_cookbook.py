"""The commands of the cookbook print what it shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from .sessions import Session, sessions

if TYPE_CHECKING:
    from .running import Robots


@pytest.mark.parametrize("session", sessions("docs/cookbook.md"), ids=lambda each: each.command)
def test_a_command_prints_what_is_shown(session: Session, reporter: Robots) -> None:
    log = reporter.folder / "audit.jsonl"
    log.with_name("november.jsonl").write_bytes(log.read_bytes())
    shown, done = session.run(reporter)
    assert done.errors == ""
    assert re.sub(r"hash is [0-9a-f]{64}", "hash is HASH", shown) == session.output
