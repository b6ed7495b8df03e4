"""The docs site: `make docs` builds it, with every warning an error."""

from __future__ import annotations

import dataclasses
import enum
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))  # Read the Docs builds from this folder

from sphinx.util import logging  # noqa: E402

import scrapy_robots_plus  # noqa: E402
from docs import annotations, docstrings, public_names, references  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "scrapy-robots-plus"
author = "The scrapy-robots-plus developers"
project_copyright = author
release = version = scrapy_robots_plus.__version__
repository = "https://github.com/scrapy-robots-plus/scrapy-robots-plus"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.intersphinx"]
exclude_patterns = ["inventories/README.md"]
highlight_language = "none"
smartquotes = False  # it would make one dash of the two of an option
nitpicky = True
nitpick_ignore = [
    # Python's documentation describes it without giving it a name to link to.
    ("py:class", "urllib.robotparser.RequestRate"),
]

myst_heading_anchors = 3
myst_links_external_new_tab = False

# From files of this folder: a build asks no network.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", "inventories/python.inv"),
    "scrapy": ("https://docs.scrapy.org/en/latest", "inventories/scrapy.inv"),
}

autodoc_member_order = "bysource"
autodoc_inherit_docstrings = True
autodoc_preserve_defaults = True
autodoc_type_aliases = {
    "Agent": "scrapy_robots_plus.protocol.Agent",
    "Outcome": "scrapy_robots_plus.protocol.access.Outcome",
}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 120
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
html_title = "scrapy-robots-plus"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "source_repository": repository,
    "source_branch": "main",
    "source_directory": "docs/",
}

NOT_MADE_BY_HAND = ("Policies", "Policy", "RobotsDownloader", "RobotsTxt")
"""Classes that nobody calls: how they are made is no part of the reference."""


def without_clutter(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, None] | None:
    """Hides signatures that say nothing: of what Scrapy makes, of what is never made by hand, and
    of values, whose fields are all listed with their defaults.
    """
    if what not in ("class", "exception") or not signature:
        return None
    is_value = dataclasses.is_dataclass(obj) or issubclass(obj, (tuple, enum.Enum))
    is_made = hasattr(obj, "from_crawler") or obj.__name__ in NOT_MADE_BY_HAND
    return ("", None) if is_value or is_made or what == "exception" else None


def with_plain_aliases(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: Any
) -> tuple[str | None, Any] | None:
    """Sphinx 9 writes the name of its own class where an alias is part of a union."""
    return signature and (_OWN_CLASS.sub(r"\1", signature), returns)


_OWN_CLASS = re.compile(r"TypeAliasForwardRef\('([\w.]+)'\)")


def complete(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Gives a value that a package takes from one of its modules the docstring it has there, and a
    field of a value its default.
    """
    if what == "data":
        lines[:] = docstrings.of(*public_names.home_of(name, obj)).splitlines()
    if what == "attribute":
        owner, _, field = name.rpartition(".")
        default = docstrings.default_of(public_names.find(owner), field)
        if default is not None:
            lines += [f"Default: ``{default}``.", ""]


def check_public_names(app: Sphinx) -> None:
    for problem in public_names.problems():
        logging.getLogger(__name__).warning(problem)


def setup(app: Sphinx) -> None:
    annotations.make_resolvable()
    app.connect("autodoc-process-signature", without_clutter)
    app.connect("autodoc-process-signature", with_plain_aliases)
    app.connect("autodoc-process-docstring", complete)
    app.connect("missing-reference", references.resolve, references.BEFORE_INTERSPHINX)
    app.connect("builder-inited", check_public_names)
