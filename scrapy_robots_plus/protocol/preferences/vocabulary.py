"""What content may be used for, and which words say so: data that changes with its drafts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Category:
    """A use of content (Internet-Draft draft-ietf-aipref-vocab, "Vocabulary Definition")."""

    label: str
    """Its name in Content-Usage and in settings, such as ``train-ai``."""
    means: str
    """What it is, in words."""


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
    signals: Mapping[str, str]
    """Keys of Content-Signal, each with the category that it is about."""
    levels: Mapping[str, tuple[str, ...]]
    """Keys of Content-Signal whose values are not ``yes`` or ``no``, each with the values there
    are, from the least use to the most. Each value is a category of its own, ``use=full``: a site
    that names one allows it and those before it, and disallows those behind it."""
    directives: Mapping[str, str]
    """Directives of X-Robots-Tag and ``<meta name="robots">`` that disallow a use, each with its
    category."""
    image_directives: Mapping[str, str]
    """Those that disallow a use of images only."""
    mining: tuple[str, ...]
    """The categories that a reservation of mining is about (TDM Reservation Protocol)."""
    use_token: str
    """The category that a group for a usage-control token is about."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its categories."""
        return tuple(category.label for category in self.categories)


CURRENT = Vocabulary(
    "draft-ietf-aipref-vocab-08",
    date(2026, 9, 13),
    (
        Category("train-ai", "training of generative AI models"),
        Category("ai-use", "input of generative AI models, other than what their user gives them"),
        Category("search", "search that leads its users to the content"),
    ),
    signals={"ai-train": "train-ai", "ai-input": "ai-use", "search": "search"},
    # https://contentsignals.org, 2025-09-24; ``use`` was added in 2026.
    levels={"use": ("immediate", "reference", "full")},
    # DeviantArt, 2022.
    directives={"noai": "train-ai"},
    image_directives={"noimageai": "train-ai"},
    mining=("train-ai",),
    use_token="train-ai",  # noqa: S106 - a product token is no secret
)
"""Version 08 of the Internet-Draft draft-ietf-aipref-vocab."""
