"""What is installed is the package, whole and nothing else."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import scrapy_robots_plus

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "scrapy_robots_plus").rglob("*.py"))
OURS = ("scrapy_robots_plus", "benchmarks", "docs", "sample_project", "tests", ".ci")
FILES = [*ROOT.glob("*"), *(path for folder in OURS for path in ROOT.glob(f"{folder}/**/*"))]
TEXTS = [
    path for path in FILES if path.is_file() and path.suffix in ("", ".py", ".md", ".cfg", ".toml")
]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built from a copy, so that nothing is left behind in the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in OURS[:5]:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    if _setuptools() >= 77:  # else pip gets one that is new enough
        command.append("--no-build-isolation")
    subprocess.run([*command, str(source)], check=True, timeout=120)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def _setuptools() -> int:
    try:
        return int(version("setuptools").split(".")[0])
    except PackageNotFoundError:
        return 0


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    sources = {str(path.relative_to(ROOT)) for path in SOURCES}
    assert names == sources | {"scrapy_robots_plus/py.typed"}


def test_the_wheel_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = wheel.read(name).decode()
    head, _, description = metadata.partition("\n\n")
    assert "Name: scrapy-robots-plus\n" in head
    assert f"Version: {scrapy_robots_plus.__version__}\n" in head
    assert "Requires-Python: >=3.10\n" in head
    assert "Requires-Dist: scrapy>=2.14\n" in head
    assert re.search(r"^License(-Expression)?: BSD-3-Clause$", head, re.MULTILINE)
    assert description.startswith("# scrapy-robots-plus")


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
