"""What docs/scale.md has in its samples."""

from __future__ import annotations

import gc

from .samples import block_with


def test_the_sample_raises_the_threshold_of_the_garbage_collector() -> None:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # as an interpreter starts
    try:
        block_with("set_threshold", "docs/scale.md")
        assert gc.get_threshold() == (10_000, 10, 10)
    finally:
        gc.set_threshold(*before)
