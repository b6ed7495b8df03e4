"""What is added in one place is known in all: dialects and stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_robots_plus import protocol
from scrapy_robots_plus.protocol import DIALECTS, Dialect, dialect
from scrapy_robots_plus.storage import check_store_uri
from scrapy_robots_plus.storage.opening import _KINDS
from tests.storage import test_memory, test_redis, test_sqlite
from tests.storage.conformance import StoreConformance

DOCS = Path(__file__).parent.parent / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text()


def test_every_dialect_has_its_name() -> None:
    made = {name: value for name, value in vars(dialect).items() if isinstance(value, Dialect)}
    assert made == DIALECTS


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_is_public_and_described(name: str) -> None:
    assert getattr(protocol, name) is DIALECTS[name]
    assert name in protocol.__all__
    assert f"`{name}`" in page("dialects.md")


@pytest.mark.parametrize("scheme", _KINDS)
def test_a_store_is_named_where_another_is_refused_and_described(scheme: str) -> None:
    with pytest.raises(ValueError, match=f"'{scheme}"):
        check_store_uri("nothing")
    assert f"\n| `{scheme}" in page("storage.md")


def test_each_store_has_to_conform() -> None:
    modules = {"memory": test_memory, "sqlite": test_sqlite}
    modules |= dict.fromkeys(("redis", "rediss", "unix"), test_redis)
    assert set(modules) == set(_KINDS)
    for module in modules.values():
        kinds = [value for value in vars(module).values() if isinstance(value, type)]
        assert [k for k in kinds if issubclass(k, StoreConformance) and k is not StoreConformance]
