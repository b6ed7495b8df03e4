"""What `make mutants` reads names files and lines that are there."""

from __future__ import annotations

from tests.mutants.equivalent import stale
from tests.mutants.parts import PACKAGE, PARTS, found


def test_each_part_has_the_files_and_tests_that_it_names() -> None:
    gone = [
        (part.name, glob)
        for part in PARTS
        for folder, globs in ((PACKAGE, part.sources), ("tests", part.tests))
        for glob in globs
        if not found(folder, (glob.removeprefix("!"),))
    ]
    assert gone == []


def test_each_mutant_that_no_test_can_tell_is_of_lines_that_are_there() -> None:
    assert stale() == []
