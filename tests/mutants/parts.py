"""Which tests answer for which files, and how many mutants of those they have to notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGE = "scrapy_robots_plus"


@dataclass(frozen=True)
class Part:
    """Files of the package (globs below it), their tests (globs below ``tests``), and the least
    share of mutants that those tests notice.
    """

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    gate: float

    def source_paths(self) -> list[Path]:
        """Relative to the repository, as all paths here."""
        return found(PACKAGE, self.sources)

    def test_paths(self) -> list[Path]:
        return found("tests", self.tests)


def found(folder: str, globs: tuple[str, ...]) -> list[Path]:
    return sorted({path.relative_to(ROOT) for glob in globs for path in (ROOT / folder).glob(glob)})


def folder(name: str) -> Part:
    return Part(name, (f"{name}/*.py",), (f"{name}/test_*.py",), gate=0.95)


PARTS = (
    folder("protocol"),
    folder("policy"),
    folder("storage"),
)
