"""The examples of the engine's pages run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize("page", ["dialects.md", "engine.md"])
def test_examples(page):
    failed, tried = doctest.testfile(str(DOCS / page), module_relative=False)
    assert tried
    assert not failed
