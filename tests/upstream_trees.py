"""Copies of Scrapy's sdist, without and with the add-on, and a Python to run its tests."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from . import only_this_machine

ROOT = Path(__file__).resolve().parent.parent
SCRAPY = version("scrapy")
VENV = f".venv-upstream-{SCRAPY}"
PYTHON = str(ROOT / VENV / "bin" / "python")
# A later pytest warns of what these tests do, and they take warnings for errors.
TOOLS = ("pytest>=8.4,<9", "pytest-asyncio", "pytest-timeout", "pytest-xdist", "setuptools>=77")
EXTRAS = ("robotexclusionrulesparser", "Twisted[http2]")
RUN_SECONDS = 900

OBEYING = """
from pathlib import Path

from scrapy_robots_plus import Addon


class Default(Addon):
    def update_settings(self, settings):
        Path(__file__).with_name("addon-was-used").touch()
        super().update_settings(settings)
        settings.set("ROBOTS_STATUS_POLICY", "fail-open", "addon")
        settings.set("ROBOTS_BACKOFF_MAX", 0, "addon")
"""
QUIET = """
from scrapy_robots_plus import Addon


class Default(Addon):
    def update_settings(self, settings):
        obey = settings["ROBOTSTXT_OBEY"]
        super().update_settings(settings)
        settings.set("ROBOTSTXT_OBEY", obey, "addon")
        settings.set("ROBOTS_BACKOFF_MAX", 0, "addon")
"""


class Trees(NamedTuple):
    """Three copies of Scrapy's sdist."""

    without: Path
    obeying: Path
    """With the add-on."""
    quiet: Path
    """With the add-on, ``ROBOTSTXT_OBEY`` as the test says."""


def make_trees(folder: Path) -> Trees:
    sdist = fetch_sdist(folder)
    trees = Trees(*(unpack(sdist, folder / name) for name in Trees._fields))
    for tree in trees:
        shutil.copy(only_this_machine.__file__, tree / "sitecustomize.py")
    make_default(trees.obeying, OBEYING)
    make_default(trees.quiet, QUIET)
    return trees


def fetch_sdist(folder: Path) -> Path:
    """What pip prints is shown only if it fails."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
    options = ["--no-deps", "--no-binary=scrapy", f"--dest={folder}", f"scrapy=={SCRAPY}"]
    done = subprocess.run(
        [*pip, *options], capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}pip could not fetch the sdist of Scrapy.")
    (path,) = folder.glob("*.tar.gz")
    return path


def unpack(sdist: Path, folder: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    return tree


def make_default(tree: Path, addon: str) -> None:
    """Puts *addon* into the defaults of the Scrapy in *tree*, which its tests import, in
    subprocesses too.
    """
    (tree / "default_addon.py").write_text(addon)
    with (tree / "scrapy" / "settings" / "default_settings.py").open("a") as defaults:
        defaults.write('\nADDONS = {"default_addon.Default": 300}\n')


def make_venv(tree: Path) -> None:
    """A virtual environment with this package, the same Scrapy, and what its tests need."""
    packages = (f"scrapy=={SCRAPY}", *wanted_by_tox(tree), *TOOLS, *EXTRAS)
    subprocess.run(
        [ROOT / ".ci" / "venv", VENV, "--editable", ".", *packages],
        cwd=ROOT,
        env={**os.environ, "PYTHON": sys.executable},
        timeout=RUN_SECONDS,
        check=True,
    )


def wanted_by_tox(tree: Path) -> list[str]:
    tox = configparser.ConfigParser(inline_comment_prefixes=("#",), interpolation=None)
    tox.read(tree / "tox.ini")
    return tox["test-requirements"]["deps"].split("\n")[1:]
