"""The engine beside the reference verdicts on real files, where these are at hand.

Set ROBOTS_CONFORMANCE to the folder of ``run_differential.py`` and ``run_cases.py``, or keep it as
``shared/conformance`` beside the repository.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("ROBOTS_CONFORMANCE", ROOT.parent / "shared" / "conformance"))

pytestmark = [
    pytest.mark.stress,
    pytest.mark.skipif(
        not (FOLDER / "run_differential.py").is_file(),
        reason=f"no conformance data at {FOLDER} (set ROBOTS_CONFORMANCE)",
    ),
]


def run(script: str, name: str, *options: str) -> str:
    adapter = f"engine_conformance:{name}"
    paths = ["--path", str(ROOT), "--path", str(ROOT / "benchmarks")]
    command = [sys.executable, str(FOLDER / script), adapter, *options, *paths]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize(("name", "truth"), [("rfc9309", "rfc"), ("google", "plain")])
def test_no_decision_differs(name: str, truth: str) -> None:
    told = run("run_differential.py", name, "--truth", truth)
    assert re.search(r"^0 of \d+ decisions differ", told, re.MULTILINE), told


def test_google_has_all_of_googles_cases() -> None:
    told = run("run_cases.py", "google")
    scores = re.findall(r"^google\b.*: (\d+)/(\d+)$", told, re.MULTILINE)
    assert scores
    assert all(good == total for good, total in scores), told
