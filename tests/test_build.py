"""What is built holds what it should, and says what it is and what it needs."""

from __future__ import annotations

import ast
import configparser
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scrapy_robots_plus

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "scrapy_robots_plus"
OTHERS = [ROOT / name for name in (PACKAGE.name, "benchmarks", "docs", "sample_project", "tests")]
MADE_BY_TOOLS = (
    ".git",
    ".tox",
    ".venv*",
    "__pycache__",
    "*_cache",
    ".hypothesis",
    "build",
    "dist",
    "*.egg-info",
)
SETUP = configparser.ConfigParser(interpolation=None)
SETUP.read(ROOT / "setup.cfg")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that is made from it, as by `make build`; built from
    a copy, so that nothing is left behind in the sources.
    """
    folder = tmp_path_factory.mktemp("built")
    source = shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*MADE_BY_TOOLS))
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run(
        [*command, str(source)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="session")
def metadata(wheel: zipfile.ZipFile) -> tuple[str, str]:
    """The fields and the long description."""
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    fields, _, description = wheel.read(name).decode().partition("\n\n")
    return fields, description


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    kinds = ("py", "lua", "css", "html", "sql")
    files = [path for kind in kinds for path in PACKAGE.rglob(f"*.{kind}")]
    sources = {path.relative_to(ROOT).as_posix() for path in files}
    assert names == sources | {"scrapy_robots_plus/py.typed"}


def test_the_wheel_says_what_it_is(metadata: tuple[str, str]) -> None:
    fields, description = metadata
    assert "Name: scrapy-robots-plus\n" in fields
    assert f"Version: {scrapy_robots_plus.__version__}\n" in fields
    assert "Requires-Python: >=3.10\n" in fields
    assert "Requires-Dist: scrapy>=2.14\n" in fields
    assert re.search(r"^License(-Expression)?: BSD-3-Clause$", fields, re.MULTILINE)
    assert description == (ROOT / "README.md").read_text()


def test_the_wheel_says_where_its_home_and_its_changelog_are(metadata: tuple[str, str]) -> None:
    urls = dict(re.findall(r"^Project-URL: (.*), (.*)$", metadata[0], re.MULTILINE))
    home = SETUP["metadata"]["url"]
    assert set(urls) >= {"Documentation", "Changelog", "Issues"}
    docs = urls.pop("Documentation")
    assert docs == "https://scrapy-robots-plus.readthedocs.io"
    assert docs in (ROOT / "README.md").read_text()
    assert all(url.startswith(f"{home}/") for name, url in urls.items() if name != "Homepage")
    assert urls["Changelog"] == f"{home}/blob/main/CHANGELOG.md"


@pytest.mark.skipif(
    not ((ROOT / ".git").exists() and shutil.which("git")), reason="no repository to compare with"
)
def test_the_sdist_holds_what_the_repository_holds(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        files = [member.name for member in archive.getmembers() if member.isfile()]
    names = {name.partition("/")[2] for name in files if ".egg-info/" not in name}
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert names - {"PKG-INFO"} == {
        name for name in listed.stdout.splitlines() if (ROOT / name).exists()
    }


def imported(*folders: Path) -> set[str]:
    """The distributions that the code in *folders* imports, by their names in lower case; a module
    that is not installed, by its own name.
    """
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    own = {part for path in paths for part in path.with_suffix("").relative_to(ROOT).parts}
    tops = {top for path in paths for top in imported_by(ast.parse(path.read_text()))}
    known = packages_distributions()
    return {known.get(top, [top])[0].lower() for top in tops - sys.stdlib_module_names - own}


def imported_by(node: ast.AST) -> Iterator[str]:
    """First names of modules that *node* imports, but for the type checker alone."""
    if isinstance(node, ast.expr):
        return
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from imported_by(child)


def named(requirements: str) -> set[str]:
    lines = requirements.strip().splitlines()
    return {re.split(r"[^\w.-]", line.strip())[0].lower() for line in lines}


EXTRAS = SETUP["options.extras_require"]
REQUIRED = named(SETUP["options"]["install_requires"])
OPTIONAL = {name for extra in ("redis", "warc") for name in named(EXTRAS[extra])}
DEV, DOCS, MUTANTS = (named(EXTRAS[extra]) for extra in ("dev", "docs", "mutants"))


THE_USERS = {"pytest", "scrapy-redis"}
"""For classes that only its settings can name, and for a plugin that only pytest loads."""


def test_what_the_package_imports_is_what_it_requires_and_protego() -> None:
    assert imported(PACKAGE) - OPTIONAL - THE_USERS | {"protego"} == REQUIRED


def test_what_tests_docs_and_benchmarks_import_is_required_for_development() -> None:
    assert imported(*OTHERS) <= REQUIRED | DEV | DOCS | MUTANTS
