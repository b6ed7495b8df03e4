"""``scrapy fetch`` and ``scrapy shell`` in a project with the add-on: as a crawl, they obey."""

from __future__ import annotations

from pathlib import Path

import pytest

from .crawl_process import LONGEST, MODES
from .crawling import ADDON
from .forks import SCRAPY, Forks
from .sites import Sites, answer

RULES = "User-agent: *\nDisallow: /closed\n"
DENIED = "Forbidden by robots.txt: <GET {}> (Disallow: /closed, line 2 of "


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
    (tmp_path / "project_settings.py").write_text(f"ADDONS = {ADDON!r}\n")
    return tmp_path


def scrapy(project: Path, mode: str, *arguments: str) -> tuple[str, str]:
    """What a command of Scrapy's prints, and its log, in which there is no traceback."""
    settings = [f"-s{name}={value}" for name, value in MODES[mode].items()]
    words = [*arguments, *settings]
    status, output, log = Forks.running().run(SCRAPY, words, b"", LONGEST, project)
    assert status == 0, log.decode()
    assert b"Traceback" not in log
    return output.decode(), log.decode()


@pytest.mark.parametrize("mode", MODES)
def test_fetch_prints_what_is_allowed(sites: Sites, project: Path, mode: str) -> None:
    host = sites.host(RULES)
    page, _ = scrapy(project, mode, "fetch", host.url("/open"))
    assert page == "<p>A page</p>\n"
    nothing, log = scrapy(project, mode, "fetch", host.url("/closed"))
    assert nothing == ""
    assert DENIED.format(host.url("/closed")) in log
    assert host.fetched == ["/open"]


@pytest.mark.parametrize("mode", MODES)
def test_the_shell_has_no_response_for_what_is_denied(
    sites: Sites, project: Path, mode: str
) -> None:
    host = sites.host(RULES)
    show = "print('got', response and response.text)"
    for page, expected in (("/open", "got <p>A page</p>"), ("/closed", "got None")):
        printed, log = scrapy(project, mode, "shell", host.url(page), "-c", show)
        assert printed.splitlines()[0] == expected
        assert (DENIED.format(host.url(page)) in log) is (page == "/closed")
    assert host.fetched == ["/open"]


@pytest.mark.parametrize("mode", MODES)
def test_the_shell_answers_in_every_order(sites: Sites, project: Path, mode: str) -> None:
    """Also where the robots.txt is known, or cannot be read, and for one page twice."""
    host, broken = sites.host(RULES), sites.host(answer(status=503))
    denied, allowed, dead = host.url("/closed"), host.url("/open"), broken.url("/")
    order = [allowed, denied, denied, allowed, dead, dead, allowed, denied]
    asked = ", ".join(f"fetch({url!r}), print(response and response.status)" for url in order)
    setting = "-sROBOTS_FETCH_RETRIES=0"
    printed, log = scrapy(project, mode, "shell", denied, setting, "-c", f"({asked})")
    expected = ["200" if url == allowed else "None" for url in order]
    assert printed.splitlines()[: len(order)] == expected
    assert log.count(DENIED.format(denied)) == 1 + order.count(denied)
    assert host.fetched == ["/open"] * order.count(allowed)


def test_switched_off_both_show_the_page(sites: Sites, project: Path) -> None:
    host = sites.host(RULES)
    off = "-sROBOTSTXT_OBEY=False"
    page, _ = scrapy(project, "asyncio", "fetch", host.url("/closed"), off)
    assert page == "<p>A page</p>\n"
    printed, log = scrapy(project, "asyncio", "shell", host.url("/closed"), "-c", "response", off)
    assert printed == f"<200 {host.url('/closed')}>\n"
    assert "Disabled" not in log
    assert host.robots_hits == 0


@pytest.mark.parametrize(
    ("command", "how"), [("fetch", []), ("shell", ["-c", "response"])], ids=["fetch", "shell"]
)
def test_a_look_at_one_page_leaves_the_job_of_the_project_alone(
    sites: Sites, project: Path, command: str, how: list[str]
) -> None:
    host, job = sites.host(RULES), project / "job"
    with (project / "project_settings.py").open("a") as settings:
        settings.write(f"JOBDIR = {str(job)!r}\n")
    scrapy(project, "asyncio", command, host.url("/open"), *how)
    assert host.fetched == ["/open"]
    assert not job.exists()


def test_a_job_that_is_asked_for_is_one(sites: Sites, project: Path) -> None:
    scrapy(project, "asyncio", "fetch", sites.host(RULES).url("/open"), f"-sJOBDIR={project}/job")
    assert (project / "job").exists()
