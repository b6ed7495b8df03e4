"""robots.txt exchanges as WARC records, read by warcio as an archive would."""

from __future__ import annotations

import gzip
import zlib
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import Request
from scrapy.http import Response
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from scrapy_robots_plus.audit.warc import Warc
from scrapy_robots_plus.origins.fetcher import Exchange
from scrapy_robots_plus.settings import checks
from scrapy_robots_plus.settings.robots_settings import RobotsSettingsError
from tests.audit.logs import Warned
from tests.crawling import crawl, stat
from tests.programs import run_text
from tests.sites import Sites, answer, gzipped, hang_up, in_turn, redirect

if TYPE_CHECKING:
    from collections.abc import Mapping

RULES = "User-agent: *\nDisallow: /closed\n"


def exchanged(
    url: str = "http://x.example/robots.txt",
    *,
    status: int = 200,
    headers: Mapping[str, str] = MappingProxyType(
        {"Content-Type": "text/plain", "Transfer-Encoding": "chunked"}
    ),
    body: bytes = RULES.encode(),
    address: str | None = None,
    is_cut: bool = False,
    protocol: str | None = None,
) -> Exchange:
    request = Request(url, headers={"User-Agent": "Foobot"})
    response = Response(
        url,
        status,
        dict(headers),
        body,
        flags=["download_stopped"] if is_cut else [],
        ip_address=None if address is None else ip_address(address),
        protocol=protocol,
    )
    return Exchange(1_795_201_080.5, request, response)


def records_in(path: Path) -> list[tuple[str, Any, bytes]]:
    with path.open("rb") as file:
        return [
            (record.rec_type, record, record.content_stream().read())
            for record in ArchiveIterator(file, check_digests="raise")
        ]


@pytest.mark.parametrize("name", ["robots.warc", "robots.warc.gz"])
def test_a_pair_of_records_for_each_exchange(tmp_path: Path, name: str) -> None:
    path, warned = tmp_path / "new" / name, Warned()
    warc = Warc(path, warned)
    assert warc.flush() is True
    warc.add(exchanged(address="127.0.0.1"))
    assert not path.exists()
    assert warc.flush()
    warc.add(exchanged(status=404, body=b"", is_cut=True))
    assert warc.flush()
    warc.close()
    assert path.read_bytes().startswith(b"\x1f\x8b") is name.endswith(".gz")
    assert {record.rec_headers.protocol for _, record, _ in records_in(path)} == {"WARC/1.1"}
    kinds = [kind for kind, _, _ in records_in(path)]
    assert kinds == ["warcinfo", "response", "request", "response", "request"]
    _, response, body = records_in(path)[1]
    assert body == RULES.encode()
    assert response.rec_headers["WARC-Target-URI"] == "http://x.example/robots.txt"
    assert response.rec_headers["WARC-Date"] == "2026-11-20T18:58:00.500000Z"
    names = [name for name, _ in response.rec_headers.headers]
    assert "WARC-IP-Address" in names  # as in WARC 1.1, 5.11, though readers take any case
    assert response.rec_headers["WARC-IP-Address"] == "127.0.0.1"
    assert response.http_headers.get_statuscode() == "200"
    assert "Transfer-Encoding" not in dict(response.http_headers.headers)
    _, request, _ = records_in(path)[2]
    assert request.http_headers.protocol == "GET"
    assert request.http_headers.statusline == "/robots.txt HTTP/1.1"
    assert request.rec_headers["WARC-Date"] == response.rec_headers["WARC-Date"]
    assert request.rec_headers["WARC-Concurrent-To"] == response.rec_headers["WARC-Record-ID"]
    cut = records_in(path)[3][1].rec_headers.headers
    assert [pair for pair in cut if "trunc" in pair[0].lower()] == [("WARC-Truncated", "length")]
    assert "WARC-Truncated" not in dict(response.rec_headers.headers)
    assert (warned, warc.errors, warc.lost) == ([], 0, 0)


@pytest.mark.parametrize(
    ("protocol", "written"), [("HTTP/1.0", "HTTP/1.0"), ("h2", "HTTP/1.1"), (None, "HTTP/1.1")]
)
def test_messages_are_those_of_http_1(tmp_path: Path, protocol: str | None, written: str) -> None:
    warc = Warc(tmp_path / "robots.warc", Warned())
    warc.add(exchanged(protocol=protocol))
    assert warc.flush()
    _, (_, response, _), (_, request, _) = records_in(tmp_path / "robots.warc")
    assert response.http_headers.protocol == written
    assert request.http_headers.statusline == f"/robots.txt {written}"


OCTETS = [
    ("Server", "Serveur \xe9; v=1"),
    ("Content-Type", "text/plain; charset=utf-8; \xe9"),
    ("X-\xe9", "1"),
    ("Location", "/\xc3\xa9"),
    ("Set-Cookie", "a=\xe9; path=/"),
]


@pytest.mark.parametrize(("name", "value"), OCTETS, ids=[name for name, _ in OCTETS])
def test_octets_of_headers_are_written_as_they_came(tmp_path: Path, name: str, value: str) -> None:
    path = tmp_path / "robots.warc"
    warc = Warc(path, Warned())
    exchange = exchanged()
    exchange.response.headers[name.encode("latin-1")] = value.encode("latin-1")
    warc.add(exchange)
    assert warc.flush()
    assert f"\r\n{name}: {value}\r\n".encode("latin-1").lower() in path.read_bytes().lower()
    assert len(records_in(path)) == 3


def test_warcios_own_check_finds_nothing_wrong(tmp_path: Path) -> None:
    path = tmp_path / "robots.warc.gz"
    for _ in range(2):
        warc = Warc(path, Warned())
        warc.add(exchanged())
        assert warc.flush()
        warc.close()

    class Options:
        inputs = [str(path)]  # noqa: RUF012
        verbose = True

    assert Checker(Options()).process_all() == 0


def test_a_coding_that_the_handler_has_undone_is_not_claimed(tmp_path: Path) -> None:
    path = tmp_path / "robots.warc"
    warc = Warc(path, Warned())
    coded = {"Content-Encoding": "gzip", "Content-Length": "5"}
    warc.add(exchanged(headers=coded))
    warc.add(exchanged(headers=coded, body=gzip.compress(RULES.encode())))
    for level in range(10):
        body = zlib.compress(RULES.encode(), level)
        warc.add(exchanged(headers={**coded, "Content-Encoding": "deflate"}, body=body))
    assert warc.flush()
    warc.close()
    undone, *kept = (record for kind, record, _ in records_in(path) if kind == "response")
    assert undone.http_headers.get_header("Content-Encoding") is None
    assert {each.http_headers.get_header("Content-Encoding") for each in kept} == {
        "gzip",
        "deflate",
    }
    assert undone.http_headers.get_header("Content-Length") == str(len(RULES))
    bodies = [body for kind, _, body in records_in(path) if kind == "response"]
    assert bodies == [RULES.encode()] * 12


def test_what_cannot_be_written_waits_and_is_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Warc, "room", 50)
    path, warned = tmp_path / "folder" / "robots.warc", Warned()
    path.parent.touch()
    warc = Warc(path, warned)
    for _ in range(Warc.room + 5):
        warc.add(exchanged(body=b""))
    assert not warc.flush()
    assert not warc.flush()
    assert (warc.errors, warc.lost, len(warned)) == (2, 5, 1)
    path.parent.unlink()
    assert warc.flush()
    warc.close()
    assert len(records_in(path)) == 1 + 2 * Warc.room


def test_what_still_waits_in_the_end_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Warc, "room", 50)
    warc = Warc(tmp_path, Warned())
    for _ in range(Warc.room + 5):
        warc.add(exchanged(body=b""))
    warc.close()
    assert warc.lost == Warc.room + 5
    warc.close()
    assert warc.lost == Warc.room + 5


@pytest_twisted.ensureDeferred
async def test_a_crawl_keeps_each_exchange(sites: Sites, tmp_path: Path) -> None:
    path = tmp_path / "%(name)s.warc.gz"
    target = sites.host(gzipped(RULES.encode()))
    moved, missing = sites.host(redirect(target.url("/robots.txt"))), sites.host()
    again = sites.host(in_turn(answer("", 503), answer(RULES)))
    urls = [host.url("/a") for host in (moved, missing, again)]
    await crawl(sites.host(hang_up).url("/a"), ROBOTS_AUDIT_WARC=path)
    crawler = await crawl(*urls, ROBOTS_AUDIT_WARC=path, ROBOTS_FETCH_RETRIES=1)
    records = records_in(tmp_path / "probe.warc.gz")
    responses = [
        (record.rec_headers["WARC-Target-URI"], record.http_headers.get_statuscode(), body)
        for kind, record, body in records
        if kind == "response"
    ]
    assert sorted(responses) == sorted(
        [
            (moved.url("/robots.txt"), "301", b""),
            (target.url("/robots.txt"), "200", RULES.encode()),
            (missing.url("/robots.txt"), "404", b""),
            (again.url("/robots.txt"), "503", b""),
            (again.url("/robots.txt"), "200", RULES.encode()),
        ]
    )
    requests = [
        record for kind, record, _ in records_in(tmp_path / "probe.warc.gz") if kind == "request"
    ]
    assert all("Foobot" in record.http_headers.get_header("User-Agent") for record in requests)
    assert all(
        record.rec_headers["WARC-Target-URI"]
        == f"http://{record.http_headers.get_header('Host')}/robots.txt"
        for record in requests
    )
    assert stat(crawler, "robotstxt/audit/errors") == 0


@pytest_twisted.ensureDeferred
async def test_a_large_file_is_marked_as_cut(sites: Sites, tmp_path: Path) -> None:
    path = tmp_path / "robots.warc"
    host = sites.host(RULES + "# filler\n" * 200_000)
    await crawl(host.url("/a"), ROBOTS_AUDIT_WARC=path, ROBOTS_FETCH_MAX_BYTES=524_288)
    (response,) = (record for kind, record, _ in records_in(path) if kind == "response")
    assert response.rec_headers["WARC-Truncated"] == "length"


@pytest_twisted.ensureDeferred
async def test_exchanges_that_could_never_be_written_are_counted(
    sites: Sites, tmp_path: Path
) -> None:
    path = tmp_path / "folder" / "robots.warc"
    path.parent.touch()
    crawler = await crawl(sites.host(answer(RULES)).url("/a"), ROBOTS_AUDIT_WARC=path)
    assert stat(crawler, "robotstxt/audit/lost") == 1
    assert stat(crawler, "robotstxt/audit/errors") > 0


def test_without_warcio_the_setting_is_wrong_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'scrapy-robots-plus\[warc\]'"):
        checks.warc_file.read("robots.warc")


@pytest_twisted.ensureDeferred
async def test_without_warcio_the_crawl_does_not_start(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    host = sites.host()
    with pytest.raises(RobotsSettingsError, match="ROBOTS_AUDIT_WARC"):
        await crawl(host.url("/a"), ROBOTS_AUDIT_WARC=tmp_path / "robots.warc")
    assert host.hits == []


@pytest.mark.parametrize("name", ["robots.warc", "robots.warc.gz"])
@pytest.mark.parametrize("cut", [1, 4, 20, 100, 300, 420])
def test_a_torn_record_is_in_no_other_crawls_way(tmp_path: Path, name: str, cut: int) -> None:
    path = tmp_path / name
    write_one(path, "http://1.example/robots.txt")
    torn = path.read_bytes()[:-cut]
    path.write_bytes(torn)
    for number in (2, 3):
        write_one(path, f"http://{number}.example/robots.txt")
        other = path.with_name(name.replace("robots", f"robots-{number}"))
        urls = [record.rec_headers["WARC-Target-URI"] for _, record, _ in records_in(other)]
        assert urls == [None, *[f"http://{number}.example/robots.txt"] * 2]
        assert records_in(other)[0][1].rec_headers["WARC-Filename"] == other.name
    assert path.read_bytes() == torn


def write_one(path: Path, url: str) -> None:
    warc = Warc(path, Warned())
    warc.add(exchanged(url))
    assert warc.flush()
    warc.close()


def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    path, warned = tmp_path / "robots.warc", Warned()
    path.write_bytes(b"name,price\n")
    warc = Warc(path, warned)
    warc.add(exchanged())
    assert warc.flush()
    warc.close()
    assert path.read_bytes() == b"name,price\n"
    assert len(records_in(tmp_path / "robots-2.warc")) == 3
    assert warned == []


def test_a_file_that_is_moved_away_is_made_anew(tmp_path: Path) -> None:
    path, aside = tmp_path / "robots.warc", tmp_path / "aside"
    warc = Warc(path, Warned())
    for _ in range(2):
        warc.add(exchanged())
        assert warc.flush()
        path.rename(aside)
        assert len(records_in(aside)) == 3
    warc.close()


def test_two_crawls_at_the_same_time_have_a_file_each(tmp_path: Path) -> None:
    path = tmp_path / "robots.warc"
    warcs = [Warc(path, Warned()) for _ in range(2)]
    for _ in range(2):
        for warc in warcs:
            warc.add(exchanged())
            assert warc.flush()
    for warc in warcs:
        warc.close()
    assert len(records_in(path)) == len(records_in(tmp_path / "robots-2.warc")) == 5


def test_a_name_that_another_crawl_takes_in_the_same_moment_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, warned = tmp_path / "robots.warc", Warned()
    path.write_bytes(b"of another crawl")
    monkeypatch.setattr(Path, "exists", lambda _: False)  # it was not there a moment ago
    warc = Warc(path, warned)
    warc.add(exchanged())
    assert warc.flush()
    warc.close()
    assert (warned, warc.errors, warc.lost) == ([], 0, 0)
    assert path.read_bytes() == b"of another crawl"
    assert len(records_in(tmp_path / "robots-2.warc")) == 3


def test_a_link_to_nowhere_is_a_name_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "robots.warc").symlink_to(tmp_path / "gone")
    write_one(tmp_path / "robots.warc", "http://x.example/robots.txt")
    assert len(records_in(tmp_path / "robots-2.warc")) == 3


FULL_DISK = """
import resource, sys
from pathlib import Path
from scrapy_robots_plus.audit.warc import Warc
from tests.audit.logs import Warned
from tests.audit.test_warc import exchanged, records_in
path, warned = Path(sys.argv[1]), Warned()
warc = Warc(path, warned)
warc.add(exchanged())
assert warc.flush()
size = path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 300, resource.RLIM_INFINITY))
warc.add(exchanged())
assert not warc.flush()
assert path.stat().st_size == size
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert warc.flush()
assert len(records_in(path)) == 5
assert "File too large" in warned[0], warned
assert "up to 1,000 exchanges wait" in warned[0], warned
"""


def test_a_full_disk_leaves_no_half_record(tmp_path: Path) -> None:
    assert run_text(FULL_DISK, tmp_path / "robots.warc") == (0, "")
