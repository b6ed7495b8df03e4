"""A replay decides as the crawl did, and as another crawl would have."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scrapy_robots_plus.audit.bodies import Bodies, BodyError
from scrapy_robots_plus.audit.entries import (
    CrawlEntry,
    VerdictEntry,
    dialect_from_json,
)
from scrapy_robots_plus.audit.replay import (
    EXAMPLES,
    UNDECIDED,
    Decided,
    Differences,
    decided_again,
)
from scrapy_robots_plus.protocol.dialect import DIALECTS, GOOGLE, RFC9309, dialect_named
from tests.audit.logs import begin, verdict

TEXT = "User-agent: *\nDisallow: /closed\n\nUser-agent: barbot\nDisallow: /\nCrawl-delay: 100\n"
DIGEST = sha256(TEXT.encode()).hexdigest()
URL = "http://x.example/closed"


@pytest.fixture
def bodies(tmp_path: Path) -> Bodies:
    folder = Bodies(tmp_path)
    folder.put(DIGEST, TEXT.encode())
    return folder


def crawl_entry(**others: Any) -> CrawlEntry:
    entry = begin()
    for name, value in others.items():
        setattr(entry, name, value)
    return entry


def logged(**others: Any) -> VerdictEntry:
    about: dict[str, Any] = {"status": "200", "access": "rules", "sha256": DIGEST, "age": 1.0}
    return verdict(**{"url": URL, **about, **others})


def replayed(
    bodies: Bodies | None,
    entry: VerdictEntry,
    changes: dict[str, Any] | None = None,
    **crawl: Any,
) -> Decided:
    return decided_again(entry, crawl_entry(**crawl), bodies, **(changes or {}))


def test_the_rule_and_its_line_come_out_again(bodies: Bodies) -> None:
    denied = Decided(False, "rule", "Disallow: /closed", 2, ("*",))
    assert replayed(bodies, logged()) == denied
    form = replayed(bodies, logged(url="http://x.example/a/../closed"))
    assert form == denied._replace(form="/closed")
    assert replayed(bodies, logged(url="http://x.example/open")) == Decided(True, "no_rule")
    assert replayed(bodies, logged(url="http://x.example/robots.txt")).reason == "robots_txt"


def test_what_was_logged_is_compared_with_what_comes_out(bodies: Bodies) -> None:
    entry = logged(url="http://x.example/a/../closed", form="/closed")
    entry.rule, entry.line, entry.group = "Disallow: /closed", 2, ("*",)
    assert Decided.of(entry) == replayed(bodies, entry)
    assert str(Decided.of(entry)) == "denied (Disallow: /closed, line 2, as /closed)"
    assert str(Decided(True, "no_rule")) == "allowed (no_rule)"


def test_what_another_parser_decided_is_undecided(bodies: Bodies) -> None:
    with pytest.raises(ValueError, match="its crawl used x"):
        replayed(bodies, logged(), parser="x.Parser")


def test_another_agent(bodies: Bodies) -> None:
    changes = {"agent": "Barbot/1.0"}
    decided = replayed(bodies, logged(url="http://x.example/open"), changes)
    assert decided == Decided(False, "rule", "Disallow: /", 5, ("barbot",))
    overridden = logged(url="http://x.example/open", override={"user_agent": "Foobot"})
    assert replayed(bodies, overridden, changes).allowed


def test_another_dialect(bodies: Bodies) -> None:
    entry = logged(url="http://x.example/robots.txt", agent="barbot")
    assert replayed(bodies, entry).allowed
    assert not replayed(bodies, entry, {"dialect": GOOGLE}).allowed
    assert not replayed(bodies, entry, dialect=GOOGLE._asdict()).allowed
    overridden = logged(url=entry.url, agent="barbot", override={"dialect": "GOOGLE"})
    assert not replayed(bodies, overridden).allowed


@pytest.mark.parametrize(("access", "allowed"), [("unavailable", True), ("unreachable", False)])
def test_what_a_failure_meant_is_taken_as_it_was_logged(access: str, allowed: bool) -> None:
    entry = logged(status="403", access=access, sha256=None)
    assert replayed(None, entry) == Decided(allowed, access)


def test_the_last_copy_is_obeyed_in_an_outage_until_it_is_too_old(bodies: Bodies) -> None:
    assert replayed(bodies, logged(failure="503", url="http://x.example/open")).allowed
    old = logged(failure="503", url="http://x.example/open", access="unreachable")
    assert replayed(bodies, old) == Decided(False, "unreachable")


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({"crawl_delay_too_long": "skip"}, False),
        ({"crawl_delay_too_long": "clamp"}, True),
        ({"crawl_delay_too_long": "skip", "crawl_delay_max": 0.0}, True),
        ({"crawl_delay_too_long": "skip", "crawl_delay_max": 100.0}, True),
        ({"crawl_delay_too_long": "skip", "crawl_delay_obey": False}, True),
    ],
)
def test_a_delay_that_is_too_long(tmp_path: Path, settings: dict[str, Any], allowed: bool) -> None:
    for text in ("Crawl-delay: 100", "Request-rate: 1/100"):
        body = f"User-agent: *\n{text}\n".encode()
        digest = sha256(body).hexdigest()
        Bodies(tmp_path).put(digest, body)
        decided = replayed(Bodies(tmp_path), logged(sha256=digest), **settings)
        assert decided == Decided(allowed, "no_rule" if allowed else "crawl_delay")


def test_what_is_not_obeyed_is_allowed(bodies: Bodies) -> None:
    assert replayed(bodies, logged(), obey=False) == Decided(True, "not_obeyed")
    for override in ({"obey": False}, {"dont_obey_robotstxt": True}):
        assert replayed(bodies, logged(override=override)) == Decided(True, "not_obeyed")
    assert not replayed(bodies, logged(override={"obey": True}), obey=False).allowed


USES = "User-agent: *\nDisallow:\nContent-Usage: train-ai=n\n\nUser-agent: Token\nDisallow: /\n"
TOKEN = "User-agent: Token\nDisallow: /\n"
REFERENCE = "User-agent: *\nContent-Signal: use=reference\n"
SKIPS: dict[str, Any] = {"ai_uses": ("train-ai",), "ai_policy": "skip"}


@pytest.mark.parametrize(
    ("text", "crawl", "override", "allowed"),
    [
        (USES, SKIPS, {}, False),
        (USES, {**SKIPS, "ai_policy": "observe"}, {}, True),
        (USES, {**SKIPS, "ai_uses": ("search",)}, {}, True),
        (USES, {**SKIPS, "ai_uses": None}, {"ai_uses": ["train-ai"]}, False),
        (USES, SKIPS, {"ai_policy": "observe"}, True),
        (USES, SKIPS, {"ai_uses": []}, True),
        (TOKEN, {**SKIPS, "use_tokens": ("token",)}, {}, False),
        (TOKEN, {**SKIPS, "use_tokens": ("other",)}, {}, True),
        (TOKEN, SKIPS, {"ai_tokens": ["token"]}, False),
        (REFERENCE, {"content_use": "full", "ai_policy": "skip"}, {}, False),
        (REFERENCE, {"content_use": "full", **SKIPS}, {"content_use": "reference"}, True),
    ],
)
def test_what_a_site_objects_to_in_its_file_is_decided_again(
    tmp_path: Path, text: str, crawl: dict[str, Any], override: dict[str, Any], allowed: bool
) -> None:
    digest = sha256(text.encode()).hexdigest()
    Bodies(tmp_path).put(digest, text.encode())
    entry = logged(sha256=digest, override=override or None)
    decided = replayed(Bodies(tmp_path), entry, **crawl)
    assert decided.allowed is allowed
    assert (decided.reason == "ai_preference") is not allowed


@pytest.mark.parametrize("source", ["tdmrep.json", "X-Robots-Tag"])
def test_an_objection_that_is_in_no_file_beside_the_log_is_as_it_was(
    bodies: Bodies, source: str
) -> None:
    said = {"use": "train-ai", "source": source, "rule": "noai"}
    entry = logged(url="http://x.example/open", reason="ai_preference", **said)
    assert replayed(bodies, entry, **SKIPS) == Decided.of(entry)
    # Unless the file denies it now.
    assert replayed(bodies, entry, {"agent": "Barbot"}, **SKIPS).rule == "Disallow: /"


def test_a_text_of_ones_own_is_read_whatever_the_site_says(bodies: Bodies) -> None:
    override = {"robots_txt": DIGEST, "crawl_delay": 5}
    assert not replayed(bodies, logged(override=override, status="404")).allowed


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"access": None}, "None is not a valid Access"),
        ({"sha256": "a" * 64}, "is missing"),
        ({"sha256": "../x"}, "is not a hash"),
        ({"override": {"dialect": "NOBODYS"}}, "'NOBODYS' is not a dialect"),
        ({"override": {"dialect": 5}}, "'int' object is not iterable"),
    ],
)
def test_what_cannot_be_recomputed_is_told(bodies: Bodies, about: dict[str, Any], why: str) -> None:
    with pytest.raises(UNDECIDED, match=why):
        replayed(bodies, logged(**about))


def test_without_texts_only_verdicts_without_rules_are_recomputed() -> None:
    with pytest.raises(BodyError, match=r"^no robots\.txt files were kept beside the log$"):
        replayed(None, logged())
    assert replayed(None, logged(status="404", access="unavailable", sha256=None)).allowed


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
def test_a_dialect_is_read_as_it_was_written(dialect: Any) -> None:
    assert dialect_from_json(dialect._asdict()) == dialect
    assert dialect_from_json(dialect.name) == dialect == dialect_named(dialect.name)


def test_a_field_that_an_older_version_did_not_have_is_as_in_rfc_9309() -> None:
    fields = RFC9309._asdict()
    del fields["normal_escapes"]
    assert dialect_from_json({**fields, "of a newer version": 1}) == RFC9309


def place(line: int) -> str:
    return f"line {line}: http://x.example/{line}"


def test_differences_are_grouped_and_counted() -> None:
    differences = Differences()
    denied, allowed = Decided(False, "rule", "Disallow: /", 2), Decided(True, "no_rule")
    for line in range(10):
        differences.add(place(line), "http://x.example", denied, allowed)
    other = place(10)
    differences.add(other, "http://x.example", denied, denied)
    differences.add(other, "http://y.example", allowed, denied)
    differences.add(other, "http://y.example", denied, denied._replace(line=3))
    assert differences.verdicts == 13
    assert differences.kinds == {
        "denied instead of allowed": 1,
        "allowed instead of denied": 10,
        "for another reason": 1,
    }
    (first, count), (second, one), ((_, _, after), _) = differences.groups()
    assert (first, count) == (("http://x.example", denied, allowed), 10)
    assert differences.examples[first] == list(map(place, range(EXAMPLES)))
    assert (second[0], one) == ("http://y.example", 1)
    assert after.line == 3


def test_each_logged_verdict_is_decided_again_or_counted_as_undecided(bodies: Bodies) -> None:
    differences = Differences(("barbot",))
    whole, entry = crawl_entry(), logged(url="http://x.example/open")
    differences.replay("line 2", entry, whole, bodies)
    differences.replay("line 3", logged(rule="Disallow: /closed", line=2), None, bodies)
    differences.replay("line 4", logged(reason="given_up"), whole, bodies)
    assert differences.verdicts == 1
    assert differences.undecided == {"the log does not say how its crawl began": 1}
    (((_, before, after), _),) = differences.groups()
    assert before == Decided.of(entry)
    assert (after.allowed, after.rule) == (False, "Disallow: /")
    assert differences.examples.popitem()[1] == ["line 2: http://x.example/open"]


def test_groups_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_robots_plus.audit.replay.MOST_GROUPS", 5)
    differences = Differences()
    for number in range(8):
        before, after = Decided(True, "no_rule"), Decided(False, "rule", line=number)
        differences.add(place(number), "o", before, after)
    assert differences.kinds.total() == 8
    assert [count for _, count in differences.groups()] == [1] * 5
