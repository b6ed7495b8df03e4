"""What make says and does, where all is well and where it is not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent

FAKE_PYTHON = """#!/bin/sh
# A Python {version} that makes virtual environments at once.
case "$*" in
*realpath*) echo "$0" ;;
*print*) echo "{version} ({home})" ;;
*"(3, 10)"*) {new_enough} ;;
*ensurepip*) {has_ensurepip} ;;
"-m venv"*)
    {made}
    rm -rf "$5"; mkdir -p "$5/bin"; cp "$0" "$5/bin/python" ;;
"-m pip"*) {pip} ;;
esac
"""


def fake_python(
    folder: Path,
    version: str = "3.11",
    new_enough: bool = True,
    has_ensurepip: bool = True,
    made: str = ":",
    pip: str = "echo installed",
) -> str:
    path = folder / f"python with {version}"
    text = FAKE_PYTHON.format(
        version=version,
        home=folder / "home",
        new_enough=str(new_enough).lower(),
        has_ensurepip=str(has_ensurepip).lower(),
        made=made,
        pip=pip,
    )
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def make_venv(folder: Path, python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / ".ci" / "venv", ".venv", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHON": python},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def refusal(folder: Path, python: str, *arguments: str) -> str:
    done = make_venv(folder, python, *arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr


def test_a_python_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    told = refusal(tmp_path, "python9")
    assert re.fullmatch(r"PYTHON=python9 does not run on this machine\. .+\n", told)


def test_a_python_that_is_too_old_is_told_in_one_line(tmp_path: Path) -> None:
    python = fake_python(tmp_path, "3.9", new_enough=False)
    (line,) = refusal(tmp_path, python).splitlines()
    assert "is Python 3.9 (" in line
    assert "too old: 3.10 or later is needed." in line


def test_a_python_without_ensurepip_is_told_in_one_line_with_what_to_install(
    tmp_path: Path,
) -> None:
    python = fake_python(tmp_path, "3.12", has_ensurepip=False)
    (line,) = refusal(tmp_path, python).splitlines()
    assert line.endswith("(Debian and Ubuntu: apt install python3.12-venv).")


def test_a_complete_environment_is_left_as_it_is_without_a_word(tmp_path: Path) -> None:
    python = fake_python(tmp_path)
    assert make_venv(tmp_path, python).stdout.startswith(
        "There is no .venv: making it with Python 3.11 ("
    )
    (tmp_path / ".venv" / "kept").touch()
    again = make_venv(tmp_path, python)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert (tmp_path / ".venv" / "kept").exists()


def test_an_environment_of_another_python_is_made_anew_and_that_is_told(tmp_path: Path) -> None:
    make_venv(tmp_path, fake_python(tmp_path, "3.13"))
    (tmp_path / ".venv" / "old").touch()
    (line,) = make_venv(tmp_path, fake_python(tmp_path, "3.11")).stdout.splitlines()
    assert line.startswith(".venv was made with Python 3.13 (")
    assert "): making it with Python 3.11 (" in line
    assert not (tmp_path / ".venv" / "old").exists()


def test_an_environment_that_was_moved_is_made_anew(tmp_path: Path) -> None:
    python = fake_python(tmp_path)
    before = tmp_path / "before"
    before.mkdir()
    make_venv(before, python)
    told = make_venv(before.rename(tmp_path / "after"), python).stdout
    assert told.startswith(".venv was made in another folder: making it")


@pytest.mark.parametrize("gone", ["python", "bin/python"])
def test_a_broken_environment_is_made_anew(tmp_path: Path, gone: str) -> None:
    python = fake_python(tmp_path)
    make_venv(tmp_path, python)
    (tmp_path / ".venv" / gone).unlink()
    assert ": making it" in make_venv(tmp_path, python).stdout
    assert (tmp_path / ".venv" / gone).exists()


@pytest.mark.parametrize("step", ["made", "pip"])
def test_what_was_interrupted_is_made_anew(tmp_path: Path, step: str) -> None:
    fails = {step: "kill -9 $PPID; exit 1"}
    interrupted = fake_python(tmp_path, **fails)  # type: ignore[arg-type]
    assert make_venv(tmp_path, interrupted, "--editable", ".").returncode != 0
    (tmp_path / ".venv").mkdir(exist_ok=True)
    again = make_venv(tmp_path, fake_python(tmp_path), "--editable", ".")
    assert again.returncode == 0
    assert again.stdout.startswith(".venv is not complete: making it with Python 3.11 (")


def test_what_pip_prints_is_shown_only_if_it_fails(tmp_path: Path) -> None:
    done = make_venv(tmp_path, fake_python(tmp_path), "--editable", ".")
    assert done.stdout.splitlines()[1:] == ["Installing --editable . into .venv"]
    failing = fake_python(tmp_path, "3.12", pip="echo no network; exit 1")
    done = make_venv(tmp_path, failing, "--editable", ".")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "no network",
        "pip could not install --editable . into .venv, see above.",
    ]


@pytest.mark.parametrize(("uv", "by_pip"), [("", 1), ("exit 1", 2)])
def test_uv_installs_and_where_it_fails_pip_does(tmp_path: Path, uv: str, by_pip: int) -> None:
    pip = f"""echo "$@" >>by_pip
    printf '#!/bin/sh\\necho "$@" >>by_uv; {uv}' >.venv/bin/uv; chmod +x .venv/bin/uv"""
    done = make_venv(tmp_path, fake_python(tmp_path, pip=pip), "--editable", ".")
    assert (done.returncode, done.stderr) == (0, "")
    asked = (tmp_path / "by_uv").read_text().splitlines()
    of_uv = "pip install --python .venv/bin/python"
    assert asked == [f"{of_uv} pip setuptools", f"{of_uv} --no-build-isolation --editable ."]
    first, *more = (tmp_path / "by_pip").read_text().splitlines()
    assert first.endswith(" uv")
    assert [each.endswith(" --editable .") for each in more] == [True] * (by_pip - 1)


TARGETS = """
good:
	@echo '====== 12 passed, 1 skipped, 30 deselected in 1.50s ======'
twice:
	@echo '====== 2 passed in 61.20s (0:01:01) ======'; echo '= 3 passed, 1 xfailed in 1.0s ='
bad:
	@echo what went wrong; echo '=== 1 failed, 4 passed, 2 errors in 1.50s ==='; exit 1
broken:
	@echo nothing to count; exit 2
uncounted:
	@echo what it does; echo all 40 noticed
slow:
	@sleep 0.3; touch made
after-slow:
	@test -e made
"""
FORKS = f"""
forks-%:
	@cd {ROOT} && {sys.executable} -c 'from tests.programs import CODE; \\
		from tests.forks import Forks; forks = Forks.running(); assert not forks.process; \\
		print(forks.run(CODE, ["print($*)"], b"", 60)); Forks.end()'
pytest-%:
	@file=$$PWD/$*.py; cd {ROOT} && {sys.executable} -IS tests/in_fork.py pytest $$file
"""


def side_by_side(folder: Path, *arguments: str, makefile: str = TARGETS) -> tuple[int, list[str]]:
    (folder / "Makefile").write_text(makefile)
    done = subprocess.run(
        [sys.executable, "-m", "tests.side_by_side", "make", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, re.sub(r"in \d+ s ", "in SECONDS ", done.stdout).splitlines()


def test_parts_say_when_they_begin_and_end_and_the_last_line_counts_all(tmp_path: Path) -> None:
    status, lines = side_by_side(tmp_path, "good", "twice")
    assert status == 0
    assert {"good: started", "twice: started"} <= set(lines)
    assert "good: passed in SECONDS (12 passed, 0 failed, 1 skipped)" in lines
    assert lines[-1] == "17 passed, 0 failed, 1 skipped"
    assert len(lines) == 5


def test_a_part_that_fails_is_shown_whole(tmp_path: Path) -> None:
    status, lines = side_by_side(tmp_path, "good", "bad")
    assert status == 1
    assert "what went wrong" in lines
    assert "bad: FAILED in SECONDS (4 passed, 3 failed)" in lines
    assert lines[-1] == "16 passed, 3 failed, 1 skipped"


def test_a_part_that_fails_without_a_count_is_a_failure(tmp_path: Path) -> None:
    status, lines = side_by_side(tmp_path, "broken", "good")
    assert status == 1
    assert "nothing to count" in lines
    assert lines[-1] == "12 passed, 1 failed, 1 skipped"


def test_a_part_without_counts_tells_its_last_line(tmp_path: Path) -> None:
    status, lines = side_by_side(tmp_path, "uncounted", "good")
    assert status == 0
    assert "uncounted: passed in SECONDS (all 40 noticed)" in lines
    assert "what it does" not in lines
    assert lines[-1] == "12 passed, 0 failed, 1 skipped"


def test_parts_may_be_told_to_run_one_after_the_other(tmp_path: Path) -> None:
    status, _ = side_by_side(tmp_path, "--at-once", "1", "slow", "after-slow")
    assert status == 0


def test_one_process_may_fork_for_all_parts_and_for_pytest_itself(tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text("import sys\ndef test_it(): assert sys.argv[0] == 'tests'")
    targets = ("forks-1", "forks-2", "pytest-there", "pytest-missing")
    status, lines = side_by_side(tmp_path, "--forks", *targets, makefile=FORKS)
    assert status == 1
    for number in (1, 2):
        done = (0, b"%d\n" % number, b"")
        assert f"forks-{number}: passed in SECONDS ({done})" in lines
    assert "pytest-there: passed in SECONDS (1 passed, 0 failed)" in lines
    assert "pytest-missing: FAILED in SECONDS (0 passed, 1 failed)" in lines


PYTEST_TARGETS = f"""
test-%:
	@{sys.executable} -m pytest -o cache_dir=cache/$@ $(AGAIN) -rfE --tb=line $*.py
"""
FAILS_AT_FIRST = """
from pathlib import Path

def test_at_first():
    mark = Path("{mark}")
    mark.write_text(mark.read_text() + "." if mark.exists() else ".")
    assert len(mark.read_text()) > 1

def test_good():
    pass
"""


def test_a_test_that_failed_beside_others_is_run_once_more_alone(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(FAILS_AT_FIRST.format(mark="slow"))
    status, lines = side_by_side(tmp_path, "test-slow", makefile=PYTEST_TARGETS)
    assert "test-slow: once more, alone:" in lines
    assert "slow.py::test_at_first" in lines
    assert lines[-1] == "2 passed, 0 failed"
    assert status == 0
    assert (tmp_path / "slow").read_text() == ".."


def test_a_test_that_fails_alone_too_has_failed(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def test_bad():\n    assert not 1\ndef test_good(): pass\n")
    status, lines = side_by_side(tmp_path, "test-bad", makefile=PYTEST_TARGETS)
    assert status == 1
    assert lines[-1] == "1 passed, 1 failed"


def test_many_failures_are_not_run_again(tmp_path: Path) -> None:
    tests = "".join(f"def test_{number}():\n    assert not 1\n" for number in range(6))
    (tmp_path / "bad.py").write_text(tests)
    status, lines = side_by_side(tmp_path, "test-bad", makefile=PYTEST_TARGETS)
    assert status == 1
    assert not any("once more" in line for line in lines)
    assert lines[-1] == "0 passed, 6 failed"


def make(*arguments: str) -> str:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout


def pytest_runs(target: str) -> list[list[str]]:
    """The arguments with which *target* runs pytest."""
    told = subprocess.run(
        ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    lines = (line.split() for line in told.stdout.splitlines())
    return [line[line.index("pytest") :] for line in lines if "pytest" in line]


def files_of(arguments: list[str]) -> Iterator[Path]:
    """Those that pytest finds in *arguments*."""
    ignored = [ROOT / each.partition("=")[2] for each in arguments if each.startswith("--ignore=")]
    given = [each for each in arguments if each.startswith("tests")]
    for path in (ROOT / each for each in given or ["tests"]):
        for file in path.rglob("test_*.py") if path.is_dir() else [path]:
            if not any(file.is_relative_to(each) for each in ignored):
                yield file


def test_each_test_is_in_one_part_of_make_test_or_of_make_rest() -> None:
    command = ["make", "-n", "test", "rest"]
    all_of_it = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    parts = re.findall(r"test-(?:crawls|units|repository)\S*", all_of_it.stdout)
    run = [file for part in parts for each in pytest_runs(part) for file in files_of(each)]
    assert sorted(run) == sorted((ROOT / "tests").rglob("test_*.py"))


def test_make_alone_lists_the_commands() -> None:
    listed = set(re.findall(r"^make ([a-z-]+) ", make(), re.MULTILINE))
    assert make() == make("help")
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(targets) == listed


def test_the_page_for_contributors_has_the_commands_that_most_changes_need() -> None:
    listed = set(re.findall(r"^make ([a-z-]+) ", make(), re.MULTILINE))
    page = (ROOT / "CONTRIBUTING.md").read_text()
    table = re.findall(r"^\| `make ([a-z-]+)` \|", page, re.MULTILINE)
    assert table == ["demo", "test", "lint", "docs", "stress", "comparison"]
    assert set(re.findall(r"`make ([a-z-]+)", page)) <= listed
