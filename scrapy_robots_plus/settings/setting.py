"""How a setting is declared: in one call of :func:`setting`, which says everything about it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_W = TypeVar("_W")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Check(Generic[_W, _T]):
    """What a setting may be. Users write a ``_W``, the code gets a ``_T``."""

    type: str
    """In words."""
    read: Callable[[object], _T]
    """Returns the value to use. Raises ValueError saying what is expected."""
    unit: str = ""


@dataclass(frozen=True)
class Need:
    """What another setting must be, for a setting to have an effect."""

    name: str
    """Of the other setting."""
    is_met: Callable[[Any], object]
    """Of the :class:`RobotsSettings` of a crawl, or of an override."""


@dataclass(frozen=True)
class Setting(Generic[_W, _T]):
    """The declaration of one setting."""

    name: str
    check: Check[_W, _T]
    default: _W
    """As a user would write it; it is checked like any other value."""
    example: _W
    """Another value, as a user would write it."""
    doc: str
    """A paragraph of Markdown for docs/settings.md. The README shows only its first sentence."""
    needs: tuple[Need, ...] = ()
    """Without one of these, another value than the default has no effect."""
    overridable: bool = False
    """Whether it may differ for some hosts or requests, under the name of its field."""

    @property
    def summary(self) -> str:
        """The first sentence."""
        return self.doc.partition(". ")[0].rstrip(".") + "."


def setting(
    name: str,
    check: Check[_W, _T],
    *,
    default: _W,
    example: _W,
    doc: str,
    secret: bool = False,
    needs: tuple[Need, ...] = (),
    overridable: bool = False,
) -> _T:
    """A dataclass field that declares the setting *name*, of the type that *check* returns.

    *secret*: a password may be part of it, so that its value is left out of a ``repr``. *needs*:
    what other settings must be, or it has no effect, which is warned of. *overridable*: it is a key
    of ``ROBOTS_OVERRIDES`` too.
    """
    declared = Setting(name, check, default, example, doc, needs, overridable)
    made: _T = field(metadata={"setting": declared}, repr=not secret)
    return made


def declared_in(group: type) -> Iterator[tuple[str, Setting[Any, Any]]]:
    """The settings that a dataclass declares, each with the name of its field."""
    for item in fields(group):
        yield item.name, item.metadata["setting"]
