"""Which tests answer for which files, and how many mutants of those they have to notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGE = "scrapy_robots_plus"


@dataclass(frozen=True)
class Part:
    """Files of the package (globs below it), their tests (globs below ``tests``), and the least
    share of mutants that those tests notice. A glob that begins with ``!`` takes files out again.
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
    wanted, left_out = set[Path](), set[Path]()
    for glob in globs:
        paths = left_out if glob.startswith("!") else wanted
        paths.update((ROOT / folder).glob(glob.removeprefix("!")))
    return sorted(path.relative_to(ROOT) for path in wanted - left_out)


def folder(path: str) -> Part:
    """The files of a folder, named as it is, with the tests in the folder that mirrors it."""
    return Part(path.rpartition("/")[2], (f"{path}/**/*.py",), (f"{path}/test_*.py",), gate=0.95)


def files(name: str, *sources: str, tests: tuple[str, ...]) -> Part:
    """Files that need no crawl. Nor do their tests, but for two of settings."""
    return Part(name, sources, tests, gate=0.90)


OF_ORIGINS = ("access", "http_caching", "origin")
"""Files of ``protocol`` that the tests of origins answer for, or one of the same name."""
TESTS_OF_ORIGINS = ("delay", "freshness", "judging", "outcomes", "source")
PARTS = (
    Part(
        "protocol",
        sources=("protocol/*.py", *(f"!protocol/{each}.py" for each in OF_ORIGINS)),
        tests=("protocol/test_*.py",),
        gate=0.95,
    ),
    Part(
        "lint",
        sources=("protocol/lint/**/*.py",),
        # Without test_hostile.py, which takes longer than all the others together; with the one
        # that compares what each code means with the docs.
        tests=("protocol/lint/test_*.py", "!protocol/lint/test_hostile.py", "test_readme.py"),
        gate=0.95,
    ),
    folder("protocol/directives"),
    folder("protocol/preferences"),
    Part(
        "origins",
        sources=(
            *(f"origins/{each}.py" for each in ("freshness", "judging")),
            *(f"protocol/{each}.py" for each in OF_ORIGINS),
            *(f"settings/{each}.py" for each in ("host_patterns", "override")),
        ),
        tests=(
            *(f"origins/test_{each}.py" for each in TESTS_OF_ORIGINS),
            *(f"protocol/test_{each}.py" for each in OF_ORIGINS),
            "settings/test_*.py",
            "test_settings.py",
        ),
        gate=0.95,
    ),
    Part(
        "storage",
        (
            "storage/**/*.py",
            "!storage/redis_server.py",
            "!storage/redis_url.py",
        ),
        ("storage/test_*.py",),
        gate=0.95,
    ),
    Part(
        "job",
        sources=tuple(
            f"job/{each}.py"
            for each in (
                "file",
                "fingerprints",
                "mending",
                "reading",
                "recent_steps",
                "requests_in_file",
                "schema",
            )
        ),
        # Without those that start processes, which take seconds.
        tests=(
            "job/**/test_*.py",
            "!job/test_job_file_kill.py",
        ),
        gate=0.90,
    ),
    Part(
        "audit",
        sources=(  # what a crawl adds to a log, crawls prove
            *(f"audit/{each}.py" for each in ("bodies", "chain", "entries", "log")),
            *(f"audit/{each}.py" for each in ("replay", "summary", "warc")),
        ),
        tests=(
            "audit/test_bodies.py",
            "audit/test_chain.py",
            "audit/test_entries.py",
            "audit/test_log_reader.py",
            *(
                f"audit/test_{each}.py"
                for each in ("gaps", "log", "parsed_files", "parts", "replay", "report")
            ),
            *(f"audit/test_{each}.py" for each in ("selection", "summary", "uses", "warc")),
            "test_readme.py",  # compares what fields mean with the docs
        ),
        gate=0.90,
    ),
    Part(
        "redis",
        sources=(
            "redis/host_queue.py",
            "hosts/book_on_server.py",
        ),
        # Without test_redis_server.py: it tests the server that the others use.
        tests=(
            "hosts/test_kinds_of_book.py",
            "redis/test_*.py",
            "!redis/test_redis_server.py",
        ),
        gate=0.90,
    ),
    Part(
        "server",
        sources=("storage/redis_server.py", "storage/redis_url.py"),
        tests=("storage/redis/test_*.py",),
        gate=0.90,
    ),
    files(
        "refusals",
        "hosts/gap_search.py",
        "hosts/probes.py",
        "hosts/refusal_shares.py",
        "hosts/refusals.py",
        "hosts/throttle.py",
        tests=(
            "hosts/test_retry_after.py",
            "hosts/test_probes.py",
            "hosts/test_refusals.py",
            "hosts/test_throttle.py",
            "hosts/test_walls.py",
        ),
    ),
    files(
        "hosts",
        # Without known.py: it joins the queue to Scrapy's engine, and only crawls run it; without
        # test_queue_properties.py, which takes longer than all the others together.
        "hosts/*.py",
        "!hosts/known.py",
        "!hosts/gap_search.py",
        "!hosts/probes.py",
        "!hosts/refusal_shares.py",
        "!hosts/refusals.py",
        "!hosts/throttle.py",
        "!hosts/downloader.py",
        "!hosts/own_shortage.py",
        "!hosts/book_on_server.py",
        tests=(
            "crawl/test_alarm.py",
            "hosts/test_*.py",
            "test_addon.py",  # which queues it takes
            *(f"!hosts/test_{each}.py" for each in ("shared_pace", "walls")),
            "!hosts/test_refusals.py",
            "!hosts/test_throttle.py",
        ),
    ),
    files(
        "lease",
        "origins/fetch_lease.py",
        tests=(
            "crawl/test_turns_among_workers.py",
            "crawl/test_turns_in_any_order.py",
            "origins/test_fetch_lease.py",
        ),
    ),
    files(
        "settings",
        "settings/*.py",
        *(f"!settings/{each}.py" for each in ("host_patterns", "override")),
        # Without test_wrong_settings.py: it starts processes, which take seconds each.
        tests=(
            "settings/test_overrides.py",
            "test_readme.py",
            "test_scrapys_own_settings.py",
            "test_settings.py",
        ),
    ),
    files(
        "parsers",
        "origins/parsers.py",
        tests=(
            "crawl/test_failing_parser.py",
            "crawl/test_parsed_file.py",
            "test_scrapy_parser.py",
        ),
    ),
)
