"""What is added in one place is known in all: if a place was forgotten, a test here names it.

This is for fields of a robots.txt, dialects, stores, settings and signals. For reasons of verdicts
there is ``crawl/test_reasons.py``, for stats ``test_readme.py``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scrapy_robots_plus
from docs.tables import docs_of
from scrapy_robots_plus import protocol
from scrapy_robots_plus.crawl import events
from scrapy_robots_plus.protocol import DIALECTS, Dialect, dialect
from scrapy_robots_plus.protocol.fields import Field
from scrapy_robots_plus.protocol.lint import lint
from scrapy_robots_plus.settings.all_settings import DECLARED, Declared
from scrapy_robots_plus.storage import SCHEMES, check_store_uri
from tests.storage import test_memory, test_redis, test_sqlite
from tests.storage.conformance import StoreConformance

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "scrapy_robots_plus"
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text()


def code_of(folder: str) -> str:
    return "\n".join(path.read_text() for path in sorted((PACKAGE / folder).rglob("*.py")))


OF_THE_ENGINE = {Field.NOTHING, Field.USER_AGENT, Field.ALLOW, Field.DISALLOW}
FIELDS = [field for field in Field if field not in OF_THE_ENGINE]
each_field = pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.key)


@each_field
def test_somebody_asks_for_each_field(field: Field) -> None:
    asking = (PACKAGE / "protocol/robotstxt.py").read_text() + code_of("protocol/preferences")
    word = f"Field.{field.name}"
    assert re.search(rf"{word}\b", asking), (
        f"{word} is read by nobody: give RobotsTxt, in protocol/robotstxt.py, a method "
        "or a property for it"
    )


@each_field
def test_the_linter_knows_each_field(field: Field) -> None:
    lint_words = "protocol/lint/reading.py"
    try:
        line = lint(f"User-agent: *\n{field.key}: 1").lines[-1]
    except KeyError as error:
        pytest.fail(
            f"say in _words() of {lint_words} what a line with {field.key} means: {error!r}"
        )
    assert line.role == field.key
    assert line.words


def test_every_dialect_has_its_name() -> None:
    made = {name: value for name, value in vars(dialect).items() if isinstance(value, Dialect)}
    assert list(made) == list(DIALECTS), "add it to DIALECTS in protocol/dialect.py"
    assert made == DIALECTS


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_is_public_and_described(name: str) -> None:
    assert name in protocol.__all__, "import it in protocol/__init__.py"
    assert f"`{name}`" in docs_of(Declared)["dialect"], "name it in settings/all_settings.py"
    assert getattr(protocol, name) is DIALECTS[name]
    assert f"\n| `{name}`" in page("dialects.md"), "add a row to the table of docs/dialects.md"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_store_is_named_where_another_is_refused_and_described(scheme: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        check_store_uri("nothing")
    assert f"'{scheme}" in str(caught.value), "name it in _EXPECTED in storage/__init__.py"
    assert f"\n| `{scheme}" in page("storage.md"), "add a row to the table of docs/storage.md"


def test_each_store_has_to_conform() -> None:
    modules = {"memory": test_memory, "sqlite": test_sqlite}
    modules |= dict.fromkeys(("redis", "rediss", "unix"), test_redis)
    assert set(modules) == set(SCHEMES), (
        "make a test module with a subclass of StoreConformance, and add it above"
    )
    for module in modules.values():
        kinds = [value for value in vars(module).values() if isinstance(value, type)]
        assert [k for k in kinds if issubclass(k, StoreConformance) and k is not StoreConformance]


OTHER_CODE = [path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "all_settings.py"]


@pytest.mark.parametrize("field", DECLARED)
def test_each_setting_does_something(field: str) -> None:
    reads = re.compile(rf"\.{field}\b|DECLARED\[\"{field}\"\]")
    assert any(reads.search(code) for code in OTHER_CODE), (
        f"no code reads settings.{field}: {DECLARED[field].name} changes nothing"
    )


SIGNALS = [name for name, value in vars(events).items() if type(value) is object]


@pytest.mark.parametrize("name", SIGNALS)
def test_each_signal_is_public_sent_and_documented(name: str) -> None:
    assert name in scrapy_robots_plus.__all__, "make it public in scrapy_robots_plus/__init__.py"
    is_sent = re.search(rf"send_catch_log\w*\(\s*{name},", code_of("."))
    assert is_sent, "nothing sends it by send_catch_log() or send_catch_log_async()"
    pages = [*DOCS.glob("*.md"), ROOT / "README.md"]
    named = [path.name for path in pages if f"`{name}`" in path.read_text()]
    assert named, "say on a page of docs what it is for"


def test_signals_are_found() -> None:
    assert {"request_disallowed", "robots_changed"} <= set(SIGNALS)
