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

ADAPTER = """
from functools import lru_cache
from scrapy_robots_plus.protocol import DIALECTS, RobotsTxt

@lru_cache(4)
def parse(body, name):
    # The reference parser reads files of any size.
    return RobotsTxt.parse(body, DIALECTS[name], max_bytes=None)

def rfc9309(body, agent, url):
    return parse(body, "RFC9309").allowed(url, agent)

def google(body, agent, url):
    return parse(body, "GOOGLE").allowed(url, agent)
"""

pytestmark = [
    pytest.mark.stress,
    pytest.mark.skipif(
        not (FOLDER / "run_differential.py").is_file(),
        reason=f"no conformance data at {FOLDER} (set ROBOTS_CONFORMANCE)",
    ),
]


def run(script: str, name: str, folder: Path, *options: str) -> str:
    (folder / "engine_adapter.py").write_text(ADAPTER)
    command = [sys.executable, str(FOLDER / script), f"engine_adapter:{name}", *options]
    paths = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [*command, "--path", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
        cwd=folder,
    ).stdout


@pytest.mark.parametrize(("name", "truth"), [("rfc9309", "rfc"), ("google", "plain")])
def test_no_decision_differs(name, truth, tmp_path):
    told = run("run_differential.py", name, tmp_path, "--truth", truth)
    assert re.search(r"^0 of \d+ decisions differ", told, re.MULTILINE), told


def test_google_has_all_of_googles_cases(tmp_path):
    told = run("run_cases.py", "google", tmp_path)
    scores = re.findall(r"^google\b.*: (\d+)/(\d+)$", told, re.MULTILINE)
    assert scores
    assert all(good == total for good, total in scores), told
