"""A benchmark that reaches into the package goes on to measure what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_the_benchmark_of_queues_hands_out_requests(kind: str, tmp_path: Path) -> None:
    script = [sys.executable, "-m", "benchmarks.frontier_queue", kind, "100", "3", str(tmp_path)]
    run = subprocess.run(script, cwd=ROOT, capture_output=True, check=True, text=True)
    result = json.loads(run.stdout)
    assert result.get("failed") is None
    assert result["pops"] > 100
