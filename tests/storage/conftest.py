from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store may be made."""
    return tmp_path / "robots.db"


@pytest.fixture
def path_of_nobody() -> Iterator[Path]:
    """A path to use as a user who is not root: to root, nothing is read-only."""
    if not hasattr(os, "geteuid"):
        pytest.skip("no user ids")
    user = os.geteuid()
    with TemporaryDirectory() as made:
        if not user:
            os.chown(made, 65_534, -1)
            os.seteuid(65_534)
        try:
            if not os.path.isdir(f"{made}/."):
                pytest.skip("temporary folders are root's alone")
            yield Path(made) / "robots.db"
        finally:
            if not user:
                os.seteuid(user)
