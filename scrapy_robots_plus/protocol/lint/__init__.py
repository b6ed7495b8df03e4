"""What each line of a robots.txt means to the engine, and what is wrong with it."""

from .findings import Code, Finding
from .linter import LintedFile, lint
from .meanings import Meaning, Role

__all__ = ["Code", "Finding", "LintedFile", "Meaning", "Role", "lint"]
