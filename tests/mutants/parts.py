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
    Part(
        "pacing",
        ("crawl/pacing/*.py",),
        (
            "crawl/test_backoff.py",
            "crawl/test_departures.py",
            "crawl/test_pacing.py",
            "crawl/test_slot_floor.py",
        ),
        gate=0.90,
    ),
    Part(
        "settings",
        ("crawl/settings/**/*.py",),
        ("test_readme.py", "test_settings.py"),
        gate=0.90,
    ),
    Part(
        "parsers",
        ("crawl/parsers/*.py",),
        (
            "crawl/test_failing_parser.py",
            "crawl/test_parsed_file.py",
            "test_scrapy_parser.py",
        ),
        gate=0.90,
    ),
)
