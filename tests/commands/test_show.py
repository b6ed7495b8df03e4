"""``scrapy robots show``."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.audit.bodies import Bodies

from ..sites import after, answer, redirect
from .running import Robots

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

RULES = """\
# Hello
User-agent: *
Crawl-delay: 2
Disallow: /private/
Allow: /private/

User-agent: foobot
Disalow: /
Foo: bar
"""
CLEAN = "User-agent: *\nDisallow: /private/\n"
LISTED = """\
  1  # Hello
> 2  User-agent: *        group 1: for all crawlers
> 3  Crawl-delay: 2       group 1: 2 s between requests
> 4  Disallow: /private/  group 1: denies what begins with /private/
     ^ shadowed-rule: Line 5 is about the same paths and wins.
> 5  Allow: /private/     group 1: allows what begins with /private/
  6
  7  User-agent: foobot   group 2: for foobot
  8  Disalow: /           group 2: denies everything
     ^ misspelt-key: 'Disalow' is read as Disallow, but others may ignore it.
  9  Foo: bar             ignored
     ^ unknown-key: 'Foo' is unknown and ignored.
3 findings
"""


def listed(output: str) -> str:
    """What is printed below the heading."""
    lines = output.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("agent: "))
    return "\n".join(lines[start + 1 :]) + "\n"


def test_a_file_line_by_line(robots: Robots) -> None:
    (robots.folder / "r.txt").write_text(RULES)
    done = robots("show", "r.txt", "--agent", "Barbot/1.0")
    assert done.lines[:3] == [
        "r.txt",
        f"size: {len(RULES)} bytes",
        "agent: Barbot/1.0: group 1, marked with >",
    ]
    assert listed(done.output) == LISTED
    assert (done.status, done.errors) == (1, "")


def test_the_file_of_a_site(sites: Sites, robots: Robots) -> None:
    host = sites.host()
    host.robots(answer(RULES, content_type="text/plain", cache_control="max-age=600"))
    for url in (host.origin, host.url("/robots.txt"), host.url("/some/page?a=b")):
        done = robots("show", url)
        assert done.lines[0] == f"{host.url('/robots.txt')}  (200, rules)"
        assert "content-type: text/plain" in done.lines
        assert "cache-control: max-age=600" in done.lines
        assert listed(done.output) == LISTED
        assert done.status == 1
    assert host.fetched == []


def test_the_same_as_json(sites: Sites, alone: Robots) -> None:
    host = sites.host(RULES)
    done = alone("show", "--json", "--agent", "foobot", host.origin)
    (found,) = done.json
    assert found["robots_url"] == host.url("/robots.txt")
    assert (found["status"], found["in_words"], found["size"], found["dialect"]) == (
        "200",
        "200, rules",
        len(RULES),
        "RFC9309",
    )
    assert (found["agent"], found["group_numbers"]) == ("foobot", [2])
    assert [line["role"] for line in found["lines"]] == [
        *("comment", "user-agent", "crawl-delay", "disallow", "allow", "blank"),
        *("user-agent", "disallow", "unknown"),
    ]
    assert found["lines"][1] == {
        "line": 2,
        "text": "User-agent: *",
        "role": "user-agent",
        "group_number": 1,
        "means": "for all crawlers",
    }
    assert [(each["line"], each["code"]) for each in found["findings"]] == [
        (4, "shadowed-rule"),
        (8, "misspelt-key"),
        (9, "unknown-key"),
    ]
    assert done.status == 1


def test_nothing_wrong(alone: Robots) -> None:
    (alone.folder / "r.txt").write_text(CLEAN)
    done = alone("show", "r.txt")
    assert done.lines[-1] == "0 findings"
    assert done.status == 0


def test_several_files_and_sites_in_the_order_of_the_arguments(sites: Sites, alone: Robots) -> None:
    (alone.folder / "r.txt").write_text(CLEAN)
    slow = sites.host()
    slow.robots(after(1, answer(CLEAN)))
    fast = sites.host(RULES)
    done = alone("show", slow.origin, "r.txt", fast.origin, "--json")
    assert [found["robots_url"] for found in done.json] == [
        slow.url("/robots.txt"),
        "r.txt",
        fast.url("/robots.txt"),
    ]
    assert done.status == 1


def test_a_text_beside_an_audit_log_is_read_as_it_is(alone: Robots) -> None:
    files: list[Path] = []
    for body in (RULES.encode(), CLEAN.encode(), b"#" * 600_000):
        digest = sha256(body).hexdigest()
        Bodies(alone.folder).put(digest, body)
        files += alone.folder.rglob(f"{digest}.txt.gz")
    rules, clean, long = files
    assert listed(alone("show", rules).output) == LISTED
    assert listed(alone("show", "-", stdin=rules.read_bytes()).output) == LISTED
    assert "The copy ends at ROBOTS_FETCH_MAX_BYTES" in alone("show", long).output
    done = alone("check", "--file", clean, "http://site.example/private/")
    assert (done.status, done.output.split()[0]) == (1, "denied")
    done = alone("diff", rules, clean)
    assert (done.status, done.lines[-1]) == (1, "crawl-delay  2 s -> none")
    for broken, why in (
        (clean.read_bytes()[:-9], "the compressed body is cut off"),
        (clean.read_bytes()[:10] + b"\xff" * 9, "gzip: "),
    ):
        clean.write_bytes(broken)
        done = alone("diff", rules, clean)
        assert (done.status, done.output) == (2, "")
        assert f"{clean}: {why}" in done.errors


def test_standard_input(alone: Robots) -> None:
    done = alone("show", "-", stdin=RULES)
    assert listed(done.output) == LISTED


def test_a_redirect_is_named(sites: Sites, alone: Robots) -> None:
    target = sites.host(CLEAN)
    host = sites.host()
    host.robots(redirect(target.url("/robots.txt")))
    done = alone("show", host.origin)
    assert done.lines[0] == f"{target.url('/robots.txt')}  (200, rules)"
    assert f"redirected from: {host.url('/robots.txt')}" in done.lines
    assert done.status == 0


def test_a_dialect_reads_it_in_its_own_way(alone: Robots) -> None:
    (alone.folder / "r.txt").write_text("User-agent: *\nDisallow: /a b\n")
    by_default = alone("show", "r.txt", "--json").json[0]
    assert by_default["findings"] == []
    google = alone("show", "r.txt", "--json", "--dialect", "google").json[0]
    assert [each["code"] for each in google["findings"]] == ["never-matches"]
    assert google["dialect"] == "GOOGLE"
    older = alone("show", "r.txt", "--json", "--dialect", "MK1996").json[0]
    assert (older["dialect"], older["findings"]) == ("RFC9309", [])


def test_no_file_is_nothing_wrong(sites: Sites, alone: Robots) -> None:
    host = sites.host()
    done = alone("show", host.origin)
    assert done.lines[0] == f"{host.url('/robots.txt')}  (404, all allowed)"
    assert done.status == 0
    assert alone("show", host.origin, "--json").json[0]["lines"] == []


def test_a_file_that_cannot_be_fetched(sites: Sites, robots: Robots) -> None:
    broken, closed = sites.host(), sites.closed_host()
    broken.robots(answer("broken", 503))
    (robots.folder / "r.txt").write_text(RULES)
    done = robots("show", broken.origin, closed, "r.txt")
    assert done.lines[0] == f"{broken.url('/robots.txt')}  (503, all denied)"
    assert f"{closed}/robots.txt  (connection, all denied)" in done.lines
    assert LISTED in listed(done.output)
    assert done.status == 2


def test_a_file_that_cannot_be_read(alone: Robots) -> None:
    (alone.folder / "r.txt").write_text(CLEAN)
    no_file = "No such file or directory (a site begins with https:// or http://)"
    for name, why in (("site.example", no_file), (".", "Is a directory")):
        done = alone("show", "r.txt", name)
        assert (done.status, done.output) == (2, "")
        assert done.errors == f"scrapy robots show: {name}: {why}\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "required: ORIGIN|FILE"),
        (("http://",), ""),
        (("ftp://x.example",), "ftp://x.example is not an http or https URL"),
        (("--json=x", "r.txt"), "ignored explicit argument 'x'"),
        (("--dialect", "none", "r.txt"), "'none' is not a dialect"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], says: str, alone: Robots) -> None:
    (alone.folder / "r.txt").write_text(CLEAN)
    done = alone("show", *arguments)
    assert done.status == 2
    assert says in done.errors
    assert done.output == ""


def test_control_characters_are_escaped_and_long_lines_are_cut(alone: Robots) -> None:
    rule = "Disallow: /\x1b[31m" + "a" * 300
    (alone.folder / "r.txt").write_text(f"User-agent: *\n{rule}\n")
    done = alone("show", "r.txt")
    assert "\x1b" not in done.output
    assert "Disallow: /\\x1b[31maaa" in done.output
    assert max(map(len, done.lines)) < 500
    (found,) = alone("show", "r.txt", "--json").json
    assert found["lines"][1]["text"] == rule


def test_a_copy_that_is_cut_off_is_told(sites: Sites, alone: Robots) -> None:
    host = sites.host()
    host.robots(answer(CLEAN + f"{'#' * 99}\n" * 6_000))
    done = alone("show", host.origin, "--json")
    assert done.json[0]["findings"] == [
        {
            "line": None,
            "code": "file-too-long",
            "message": "The copy ends at ROBOTS_FETCH_MAX_BYTES. What comes after it was not read.",
        }
    ]


def test_a_copy_is_told_to_be_cut_off_only_if_it_is(sites: Sites, alone: Robots) -> None:
    whole, cut = sites.host(), sites.host()
    almost = CLEAN + f"{'#' * 99}\n" * 5_000
    whole.robots(answer(almost + "#" * (512_000 - len(almost))))
    cut.robots(answer(almost + "#" * 20_000))
    done = alone("show", whole.origin, cut.origin, "--json")
    codes = [[each["code"] for each in site["findings"]] for site in done.json]
    assert codes == [[], ["file-too-long"]]


def test_a_closed_pipe_ends_it_silently(alone: Robots) -> None:
    (alone.folder / "r.txt").write_text(RULES * 1_000)
    done = alone.into_closed_pipe("show", "r.txt")
    assert (done.status, done.errors) == (141, "")


def test_ctrl_c_ends_it(sites: Sites, alone: Robots) -> None:
    host = sites.host()
    host.robots(after(60, answer(CLEAN)))
    done = alone.interrupted("show", host.origin, when=lambda: bool(host.robots_hits))
    assert done.status == 130
    assert done.output == ""


def test_a_charset_of_the_header_counts(sites: Sites, tmp_path: Path) -> None:
    host = sites.host()
    host.robots(
        answer(b"User-agent: *\nDisallow: /\xe9\n", content_type="text/plain; charset=iso-8859-1")
    )
    (found,) = Robots(tmp_path)("show", host.origin, "--json").json
    assert found["lines"][1]["text"] == "Disallow: /\u00e9"
    assert found["findings"] == []
