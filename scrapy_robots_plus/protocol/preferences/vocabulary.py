"""What content may be used for, and which words say so: data that changes with its drafts.

A new version of a draft is a new :class:`Vocabulary` here, and no other code.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Category:
    """A use of content (Internet-Draft draft-ietf-aipref-vocab, "Vocabulary Definition")."""

    label: str
    """Its name in Content-Usage and in settings, such as ``train-ai``."""
    means: str
    """What it is, in words."""
    parent: str | None = None
    """The category whose preference holds for this one where its own is unknown. Up to version 05,
    the draft let a category be part of another one; none is in the versions here."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The categories of one version of a draft, and how other signals name them (Internet-Draft
    draft-ietf-aipref-vocab)."""

    name: str
    """The draft and its version."""
    published: date
    """When that version was published."""
    categories: tuple[Category, ...]
    """All uses that a preference can be stated for."""
    signals: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Keys of Content-Signal, each with the category that it is about."""
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Keys of Content-Signal whose values are not ``yes`` or ``no``, each with the values there
    are, from the least use to the most. Each value is a category of its own, ``use=full``: a site
    that names one allows it and those before it, and disallows those behind it."""
    directives: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Directives of X-Robots-Tag and ``<meta name="robots">`` that disallow a use, each with its
    category."""
    image_directives: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Those that disallow a use of images only."""
    mining: tuple[str, ...] = ("train-ai",)
    """The categories that a reservation of mining is about (TDM Reservation Protocol)."""
    use_token: str = "train-ai"  # noqa: S105 - a product token is no secret
    """The category that a group for a usage-control token is about."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its categories."""
        return tuple(category.label for category in self.categories)

    def parent(self, label: str) -> str | None:
        """The category that *label* is part of; None if there is none."""
        parents = {category.label: category.parent for category in self.categories}
        return parents.get(label)


_TRAIN_AI = Category("train-ai", "training of generative AI models")
_AI_USE = Category("ai-use", "input of generative AI models, other than what their user gives them")
_SEARCH = Category("search", "search that leads its users to the content")

AIPREF_08 = Vocabulary(
    "draft-ietf-aipref-vocab-08",
    date(2026, 9, 13),
    (_TRAIN_AI, _AI_USE, _SEARCH),
    {"ai-train": "train-ai", "ai-input": "ai-use", "search": "search"},
    # https://contentsignals.org, 2025-09-24; ``use`` was added in 2026.
    levels={"use": ("immediate", "reference", "full")},
    # DeviantArt, 2022.
    directives={"noai": "train-ai"},
    image_directives={"noimageai": "train-ai"},
)
"""Version 08 of the Internet-Draft draft-ietf-aipref-vocab."""

AIPREF_05 = replace(
    AIPREF_08,
    name="draft-ietf-aipref-vocab-05",
    published=date(2025, 12, 1),
    categories=(_TRAIN_AI, _SEARCH),
    signals={"ai-train": "train-ai", "search": "search"},
)
"""Version 05 of the Internet-Draft draft-ietf-aipref-vocab: without ``ai-use``."""

VOCABULARIES = {each.name: each for each in (AIPREF_05, AIPREF_08)}
"""All versions that are known, by name (Internet-Draft draft-ietf-aipref-vocab)."""

CURRENT = AIPREF_08
"""The version that is used if none is named (Internet-Draft draft-ietf-aipref-vocab)."""
