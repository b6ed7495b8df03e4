"""The script that runs Scrapy's own tests compares what it should."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from . import only_this_machine, upstream
from .upstream_differences import REASONS, reason
from .upstream_trees import Trees

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_crawl.TestCrawl" name="test_good"/>
<testcase classname="tests.test_crawl.TestCrawl" name="test_bad"><failure/></testcase>
<testcase classname="tests.test_crawl.TestCrawl" name="test_setup"><error/></testcase>
<testcase classname="tests.test_crawl.TestCrawl" name="test_skipped"><skipped/></testcase>
<testcase classname="tests.test_crawl.TestCrawl" name="test_twice"><failure/></testcase>
<testcase classname="tests.test_crawl.TestCrawl" name="test_twice"/>
</testsuite></testsuites>"""


def test_a_test_that_is_reported_twice_passed_only_if_it_always_did(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    outcomes = upstream.read(report)
    assert {name.rpartition("_")[2]: outcome for name, outcome in outcomes.items()} == {
        "good": "passed",
        "bad": "failed",
        "setup": "failed",
        "skipped": "skipped",
        "twice": "failed",
    }


def trees(folder: Path, *names: str) -> Trees:
    (folder / "tests").mkdir()
    for name in names:
        (folder / "tests" / f"test_{name}.py").touch()
    return Trees(folder, folder, folder)


def test_a_test_that_fails_each_time_with_the_addon_only_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    always = {"tests.test_crawl.T.slow": "passed", "tests.test_crawl.T.fails": "failed"}
    without = {**always, "tests.test_crawl.T.lost": "passed", "tests.test_crawl.T.late": "passed"}
    runs = iter(
        [without, {**always, "tests.test_crawl.T.late": "failed"}]  # all; nothing said of lost
        + [without, {**always, "tests.test_crawl.T.late": "passed"}] * 2
    )
    asked = []

    def run(*arguments: Any) -> dict[str, str]:
        asked.append(arguments[2])
        return next(runs)

    monkeypatch.setattr(upstream, "run", run)
    found = upstream.compare("asyncio", trees(tmp_path, "crawl", "crawler"), ["crawl*"])
    assert found == ["tests.test_crawl.T.lost"]
    assert capsys.readouterr().out == "  fails with the add-on only: tests.test_crawl.T.lost\n"
    both = ["tests/test_crawl.py", "tests/test_crawler.py"]
    assert asked == [both] * 2 + [["tests/test_crawl.py"]] * 4


def test_what_differs_for_a_listed_reason_has_to_pass_where_obey_is_as_the_test_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left, right = "tests.test_request_left.test_timeout", "tests.test_request_left.test_success"
    without = {left: "passed", right: "passed"}
    quiet = [without, {left: "passed", right: "failed"}]
    runs = iter([without, {left: "failed", right: "failed"}] + quiet * 3)
    monkeypatch.setattr(upstream, "run", lambda *_: next(runs))
    found = upstream.compare("asyncio", trees(tmp_path, "request_left"), ["request_*"])
    assert found == [right]
    said = capsys.readouterr().out.splitlines()
    assert said[2:4] == [f"  differs, as it has to: {left}", f"    {reason(left)}"]
    assert said[4:] == [f"  fails with the add-on only: {right}"]


def test_tests_that_need_a_reactor_run_with_one_only(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('parser.addoption("--reactor", default="none")')
    assert upstream.modes(tmp_path) == ["asyncio", "default", "none"]
    (tmp_path / "conftest.py").write_text('reactor == "asyncio"')
    assert upstream.modes(tmp_path) == ["asyncio", "default"]


def test_every_reason_is_a_sentence_and_no_other_test_has_one() -> None:
    assert all(why[0].isupper() and why.endswith(".") for why in REASONS.values())
    assert reason("tests.test_engine.TestEngine.test_crawler")
    assert reason("tests.test_engine.TestEngine.test_close_downloader") == ""


GUARDED = """
import socket
for reach in (
    lambda: socket.getaddrinfo("example.com", 80),
    lambda: socket.gethostbyname("example.com"),
    lambda: socket.socket().connect(("192.0.2.1", 80)),
    lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"", ("192.0.2.1", 53)),
):
    try:
        reach()
    except OSError as error:
        print(error.strerror)
socket.getaddrinfo("localhost", 80)
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname(), 1).close()
"""


def test_nothing_leaves_the_machine_not_even_a_question_for_a_name(tmp_path: Path) -> None:
    shutil.copy(only_this_machine.__file__, tmp_path / "sitecustomize.py")
    done = subprocess.run(
        [sys.executable, "-c", GUARDED],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert (
        done.stdout.splitlines()
        == ["only this machine may be asked for"] * 2 + ["only this machine may be reached"] * 2
    )
