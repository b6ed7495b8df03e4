"""What the sample project's README shows is what its spiders print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.programs import scrapy_in

ROOT = Path(__file__).parent.parent
PROJECT = ROOT / "sample_project"
README = (PROJECT / "README.md").read_text()
EXAMPLES = re.findall(r"^```console\n\$ (.*)\n([^`]*)```$", README, re.MULTILINE)


def run_in_project(command: str) -> str:
    """What it prints, in a fork of a process that has imported Scrapy."""
    program, *arguments = shlex.split(command)
    assert program == "scrapy"
    status, printed = scrapy_in(PROJECT, *arguments)
    assert status == 0, printed
    return printed


def masked(output: str) -> list[str]:
    """Lines without what differs from run to run: ports, times, spacing, order of arrival."""
    output = re.sub(r"(?<=\.example):\d+", ":PORT", output)
    output = re.sub(r"attempt in \d+ \w+ at", "attempt in TIME at", output)
    output = re.sub(r"came [\d.]+ s", "came SECONDS", output)
    return sorted(re.sub(r"  +", "  ", line) for line in output.splitlines())


@pytest.mark.parametrize("command", [command for command, _ in EXAMPLES])
def test_a_command_of_the_readme_prints_what_is_shown(command: str) -> None:
    shown = dict(EXAMPLES)[command]
    printed = run_in_project(command)
    started, addons, listed, *rest = printed.splitlines()
    assert re.fullmatch(r"INFO: Scrapy [\d.]+ started \(bot: robots_sample\)", started)
    assert addons == "INFO: Enabled addons:"
    assert listed.startswith("[")
    assert masked("\n".join(rest)) == masked(shown)
    # Arrivals, which a busy machine shifts; that gaps are kept is proved elsewhere.
    assert all(float(gap) >= 0.5 for gap in re.findall(r"came ([\d.]+) s", printed))


def test_every_spider_is_shown() -> None:
    spiders = {path.stem for path in PROJECT.glob("robots_sample/spiders/s*.py")}
    assert {command.split()[2] for command, _ in EXAMPLES} == spiders


def test_the_port_can_be_chosen_and_scrapys_own_lines_shown() -> None:
    printed = run_in_project("scrapy crawl s6_by_hand -s SITE_PORT=0 -s QUIET=False")
    assert "Spider closed (robotstxt_denied)" in printed
