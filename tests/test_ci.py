"""What tox, the workflow and pre-commit name is there, and is named nowhere twice."""

from __future__ import annotations

import ast
import configparser
import re
from itertools import product
from pathlib import Path

from . import next_scrapy

ROOT = Path(__file__).parent.parent
TOX = configparser.ConfigParser(interpolation=None)
TOX.read(ROOT / "tox.ini")
SETUP = configparser.ConfigParser(interpolation=None)
SETUP.read(ROOT / "setup.cfg")
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
PRE_COMMIT = (ROOT / ".pre-commit-config.yaml").read_text()


def environments() -> set[str]:
    """Those of tox, where ``py3{10, 11}`` is two."""
    lists = re.findall(r"(?:[^,{]|\{[^}]*\})+", TOX["tox"]["env_list"])
    found: set[str] = set()
    for name in lists:
        parts = [re.split(r",\s*", part) for part in re.split(r"[{}]", name.strip())]
        found |= {"".join(choice) for choice in product(*parts)}
    return found


def values(option: str) -> set[str]:
    """Of an option of tox, without the conditions."""
    lines = TOX["testenv"][option].strip().splitlines()
    return {line.partition(": ")[2] for line in lines}


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_workflow_runs_all_environments_of_tox() -> None:
    assert len(environments()) > 10
    assert set(re.findall(r"environment: ([\w-]+)", WORKFLOW)) == environments()


def test_every_condition_of_tox_is_part_of_an_environment() -> None:
    conditions = {
        factor.lstrip("!")
        for option in ("description", "extras", "deps", "ignore_outcome", "commands")
        for line in TOX["testenv"][option].strip().splitlines()
        for factor in line.partition(":")[0].split("-")
    }
    assert conditions <= {factor for name in environments() for factor in name.split("-")}


def test_commands_are_those_of_the_makefile() -> None:
    named = values("commands") | set(re.findall(r"entry: (.*)", PRE_COMMIT))
    assert {command.partition(" ")[0] for command in named} == {"make"}
    assert {command.partition(" ")[2] for command in named} <= targets()


def test_what_runs_on_the_next_scrapy_is_there() -> None:
    assert [path for path in next_scrapy.TESTS if not (ROOT / path).exists()] == []


def test_what_tox_installs_is_named_in_one_place() -> None:
    assert values("extras") <= set(SETUP["options.extras_require"])
    required = [value.removeprefix("-r ") for value in values("deps") if value.startswith("-r ")]
    assert required == [".ci/oldest.txt"]
    oldest = (ROOT / ".ci" / "oldest.txt").read_text()
    (least,) = re.findall(r"^scrapy>=([\d.]+)$", SETUP["options"]["install_requires"], re.MULTILINE)
    assert f"Scrapy=={least}." in oldest


def packages(requirements: str) -> set[str]:
    """The names in a list of requirements."""
    return set(re.findall(r"^[\w-]+", requirements, re.MULTILINE))


def test_the_docs_site_installs_every_optional_package_that_a_documented_module_imports() -> None:
    extras = SETUP["options.extras_require"]
    optional = set.union(*(packages(extras[name]) for name in extras))
    imported: set[str] = set()
    for path in (ROOT / "scrapy_robots_plus").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:  # not what is imported later, or for types
            if isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module or "")
    needed = {name.partition(".")[0].replace("_", "-") for name in imported} & optional
    assert needed
    assert needed <= packages(extras["docs"]) | packages(SETUP["options"]["install_requires"])


def test_each_python_that_is_promised_is_tried() -> None:
    promised = set(re.findall(r"Python :: (3\.\d+)", SETUP["metadata"]["classifiers"]))
    assert set(re.findall(r'python: "([\d.]+)"', WORKFLOW)) == promised
    units = {f"py{version.replace('.', '')}-units" for version in promised}
    assert units <= environments()
