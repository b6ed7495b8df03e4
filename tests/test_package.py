"""The package, as others import it and as it is laid out."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import scrapy_robots_plus

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "scrapy_robots_plus").rglob("*.py"))
OURS = ("scrapy_robots_plus", "benchmarks", "docs", "sample_project", "tests", ".ci")
FILES = [*ROOT.glob("*"), *(path for folder in OURS for path in ROOT.glob(f"{folder}/**/*"))]
TEXTS = [
    path
    for path in FILES
    if path.is_file()
    and path.suffix in ("", ".py", ".md", ".cfg", ".toml")
    and path.name != ".git"  # a file in a worktree
]


def test_every_public_name_can_be_imported() -> None:
    for name in scrapy_robots_plus.__all__:
        assert getattr(scrapy_robots_plus, name) is not None
    assert set(dir(scrapy_robots_plus)) == set(scrapy_robots_plus.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        scrapy_robots_plus.Nothing  # noqa: B018


@pytest.mark.parametrize("layer", ["protocol", "policy", "storage"])
def test_the_lower_layers_import_neither_scrapy_nor_twisted(layer: str) -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in SOURCES
        if path.parent.name == layer and path.stem != "__init__"
    ]
    code = f"""
import importlib, sys
for name in {["scrapy_robots_plus." + layer, *modules]!r}:
    importlib.import_module(name)
print([name for name in ("scrapy", "twisted", "asyncio") if name in sys.modules])
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("layer", "above"),
    [
        ("protocol", ("policy", "storage", "crawl", "addon")),
        ("policy", ("storage", "crawl", "addon")),
        ("storage", ("crawl", "addon")),
    ],
)
def test_a_layer_imports_only_from_those_before_it(layer: str, above: tuple[str, ...]) -> None:
    for path in SOURCES:
        if path.parent.name != layer:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not set(above) & set((node.module or "").split(".")), path


CRAWL = "scrapy_robots_plus.crawl"
STEPS = ("reporting", "scheduling", "gate", "pacing", "policies", "fetching", "requests", "parsers")
"""The folders of crawl/, and requests.py, in the order of a request."""


def _imports(path: Path) -> set[str]:
    """What a file imports, in any form, be it for the type checker alone, by full names."""
    package = ".".join(path.relative_to(ROOT).parts[:-1]).split(".")
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found.update({module, *(f"{module}.{alias.name}" for alias in node.names)})
    return found


@pytest.mark.parametrize("step", STEPS)
def test_each_step_of_a_request_imports_only_from_the_steps_after_it(step: str) -> None:
    before = tuple(f"{CRAWL}.{each}." for each in STEPS[: STEPS.index(step)])
    files = [path for path in SOURCES if f"/crawl/{step}" in path.as_posix()]
    assert files
    for path in files:
        back = [
            name
            for name in _imports(path)
            if f"{name}.".startswith(tuple(f"{each}." for each in before))
        ]
        assert not back, f"{path} imports {back}"


def test_what_all_steps_share_imports_none_of_them() -> None:
    steps = tuple(f"{CRAWL}.{step}." for step in STEPS)
    for path in SOURCES:
        if (
            path.parent.name in ("crawl", "compat", "settings", "groups")
            and path.stem != "requests"
        ):
            assert not [name for name in _imports(path) if f"{name}.".startswith(steps)], path


def test_private_names_of_scrapy_are_used_in_compat_alone() -> None:
    files = [path for path in SOURCES if "SLF001" in path.read_text()]  # what ruff is told to pass
    assert {path.parent.name for path in files} == {"compat"}


def test_a_crawl_has_its_time_from_one_clock() -> None:
    system = {"time", "time.time", "time.monotonic", "scrapy.utils.asyncio.call_later"}
    files = [
        path
        for path in SOURCES
        if "crawl" in path.parts and path.stem != "clock" and path.parent.name != "compat"
    ]
    assert len(files) > 30
    assert [path.name for path in files if _imports(path) & system] == []


def test_no_file_names_a_folder_of_a_machine_or_leaves_something_undone() -> None:
    folders = "root|Users|home/user|work|opt"
    marks = "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3))
    forbidden = re.compile(rf"(?<![\w.])/({folders})/\w|\b({marks})\b")
    assert len(TEXTS) > 50
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in TEXTS
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if forbidden.search(line)
    ]
    assert found == []
