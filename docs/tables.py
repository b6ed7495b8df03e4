"""What the README and the docs have from the code: settings, meta keys, stats, presets, rooms.

``python -m docs.tables`` writes them; a test compares them with the code.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.entries import ENTRIES, fields_of
from scrapy_robots_plus.crawl import requests, stats
from scrapy_robots_plus.protocol.access import PRESETS, Access
from scrapy_robots_plus.protocol.lint import Code
from scrapy_robots_plus.settings.all_settings import DECLARED, NEEDS, Declared
from scrapy_robots_plus.settings.robots_settings import PRESETS as POLITENESS

from . import rooms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

    from scrapy_robots_plus.audit.entries import Entry
    from scrapy_robots_plus.settings.all_settings import Setting

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
SETTINGS = ROOT / "docs" / "settings.md"
META_KEYS = ROOT / "docs" / "meta-keys.md"
FAILURES = ROOT / "docs" / "failures.md"
STATS = ROOT / "docs" / "stats.md"
LINTER = ROOT / "docs" / "linter.md"
AUDIT_LOG_LINES = ROOT / "docs" / "audit-log-lines.md"
CRAWL_DELAY = ROOT / "docs" / "crawl-delay.md"
ROOMS = ROOT / "docs" / "internals" / "rooms.md"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def docs_of(declaring: type) -> dict[str, str]:
    """The docstrings below the attributes of a class and those that it is derived from."""
    found: dict[str, str] = {}
    ours = (each for each in declaring.__mro__ if each.__module__.startswith("scrapy_robots_plus."))
    for each in reversed(tuple(ours)):
        (declared,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(declared, ast.ClassDef)
        found.update(_docs_below(declared.body))
    return found


def _docs_below(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The names that are assigned to, each with the docstring below it."""
    for attribute, below in pairwise(body):
        match attribute, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.split())


def described_in(module: ModuleType) -> dict[str, dict[str, str]]:
    """The constants of a module that are text, with the docstrings below them, under the comments
    that begin its sections."""
    _, *parts = re.split(r"^# (.+)\n$", inspect.getsource(module), flags=re.MULTILINE)
    return {
        title: {
            getattr(module, name): doc
            for name, doc in _docs_below(ast.parse(text).body)
            if isinstance(getattr(module, name), str)
        }
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


def between(page: Path, name: str) -> str:
    """What stands between ``<!-- name -->`` and ``<!-- end name -->`` on *page*."""
    start, end = _markers(name)
    return page.read_text().partition(start)[2].partition(end)[0].strip()


def put_between(page: Path, name: str, text: str) -> None:
    start, end = _markers(name)
    before, found, rest = page.read_text().partition(start)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise ValueError(f"{page.name} has no {start} and {end}")
    page.write_text(f"{before}{start}\n{text}\n{end}{after}")


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- {name} -->", f"<!-- end {name} -->"


MATTER_MOST = (
    "obey",
    "user_agent",
    "status_policy",
    "defer",
    "crawl_delay_obey",
    "crawl_delay_max",
    "crawl_delay_too_long",
    "ttl",
    "fetch_meta",
    "store",
)
"""The settings that the README has, by their fields."""


def docs_of_settings() -> dict[str, tuple[str, str]]:
    """What each setting does, and an example: the last words of its docstring."""
    parts = {field: doc.rpartition(" Example: ") for field, doc in docs_of(Declared).items()}
    return {
        field: (text, example.removeprefix("`").removesuffix("`."))
        for field, (text, _, example) in parts.items()
    }


def settings_table() -> str:
    chosen = [DECLARED[field] for field in MATTER_MOST]
    docs = docs_of_settings()
    summaries = [docs[field][0].partition(". ")[0].rstrip(".") + "." for field in MATTER_MOST]
    rows = [
        (f"`{each.name}`", f"`{shown(each.default)}`", summary)
        for each, summary in zip(chosen, summaries, strict=True)
    ]
    page = f"[All {len(DECLARED)} settings][settings], with types and examples."
    return table(("setting", "default", "what it does"), rows) + f"\n\n{page}"


def settings_page() -> str:
    """The sections are those that comments of the declaration begin."""
    docs = docs_of_settings()
    source = inspect.getsource(Declared)
    _, *parts = re.split(r"^    # (.+)$", source, flags=re.MULTILINE)
    sections = {
        title: re.findall(r"^    (\w+): .+ = setting\(", text, re.MULTILINE)
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }
    rows = [
        (title, ", ".join(f"[`{name}`](#{name.lower()})" for name in map(_name_of, fields)))
        for title, fields in sections.items()
    ]
    details = [
        text
        for title, fields in sections.items()
        for text in (f"## {title}", *(_described(DECLARED[each], *docs[each]) for each in fields))
    ]
    return "\n\n".join([table(("what for", "settings"), rows), *details])


def _name_of(field: str) -> str:
    return DECLARED[field].name


def _described(declared: Setting, doc: str, example: str) -> str:
    return f"""\
### {declared.name}

{doc}{_needs(declared)}\\
Type: {declared.check.type}. Default: `{shown(declared.default)}`. Example: `{example}`"""


def _needs(declared: Setting) -> str:
    """What another setting must be, which a crawl warns of."""
    if declared.need is None:
        return ""
    needed = re.sub(r"ROBOTS\w+", r"`\g<0>`", NEEDS[declared.need])
    return f" It has no effect without {needed}; a crawl warns of that."


def shown(value: object) -> str:
    """A value as it is written in settings.py, with the quotes that Scrapy's docs use."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{shown(key)}: {shown(each)}' for key, each in value.items())}}}"
    return json.dumps(value) if isinstance(value, str) else repr(value)


_FIXED = re.findall(r"^    (\w+|\"\w+\"): \w+,  # (.+)$", inspect.getsource(requests), re.MULTILINE)
PAGE_META, FETCH_META, _ = described_in(requests).values()
for (_, _does), (_key, _value) in zip(_FIXED, requests.FIXED_FETCH_META.items(), strict=True):
    FETCH_META[_key] = f"`{_value}`: {_does}"


def page_meta_table() -> str:
    return _meta_table(PAGE_META)


def fetch_meta_table() -> str:
    return _meta_table(FETCH_META)


def _meta_table(keys: dict[str, str]) -> str:
    return table(("key", "what it does"), [(f"`{key}`", does) for key, does in keys.items()])


MEANINGS = {
    "1xx": "a status from 100 to 199",
    "2xx": "success",
    "3xx": "a 3xx that does not redirect, such as 304",
    "4xx": "a client error",
    "407": "the proxy wants a password",
    "429": "too many requests",
    "5xx": "a server error",
    "other": "any other status, 600 for example",
    "timeout": "not complete within `ROBOTS_FETCH_TIMEOUT`",
    "dns": "the host name has no address",
    "connection": "refused, reset, TLS failure, closed before an answer; the proxy opens no tunnel",
    "cut": "the body ended before its time",
    "undecodable": "the body is not what its Content-Encoding says",
    "challenge": "a 2xx whose body is HTML, with the header `cf-mitigated: challenge`",
    "redirects": "more than five redirects in a row",
    "bad_redirect": "a redirect to nowhere, or to something that is not http or https",
    "error": "anything else: refused by another component, a failing parser",
}
_WORDS = {Access.RULES: "rules", Access.UNAVAILABLE: "allow", Access.UNREACHABLE: "disallow"}


def presets_table() -> str:
    keys = sorted({key for preset in PRESETS.values() for key in preset}, key=_order)
    rows = []
    for key in keys:
        words = [_WORDS[preset.get(key) or preset[f"{key[0]}xx"]] for preset in PRESETS.values()]
        rows.append((f"`{key}`", MEANINGS.get(key, ""), *words))
    return table(("key", "meaning", *(f"`{name}`" for name in PRESETS)), rows)


def _order(key: str) -> tuple[int, str]:
    """Statuses by number, each after its class; then what is no status."""
    if key[0].isdigit():
        return 0, key.replace("xx", "")
    return 1 + list(MEANINGS).index(key), key


def politeness_table() -> str:
    """The settings that any preset changes, in the order of their page."""
    changed = {name for preset in POLITENESS.values() for name in preset}
    rows = []
    for declared in (each for each in DECLARED.values() if each.name in changed):
        values = [preset.get(declared.name, declared.default) for preset in POLITENESS.values()]
        rows.append((f"`{declared.name}`", *(f"`{shown(value)}`" for value in values)))
    return table(("setting", *(f"`{name}`" for name in POLITENESS)), rows)


STATS_BY_SECTION = described_in(stats)


def stats_tables() -> str:
    return "\n\n".join(
        f"## {heading}\n\n{_of_keys(keys)}" for heading, keys in STATS_BY_SECTION.items()
    )


def _of_keys(keys: dict[str, str]) -> str:
    return table(("key", "counts"), [(f"`{key}`", counts) for key, counts in keys.items()])


def codes_table() -> str:
    docs = docs_of(Code)
    return table(("code", "means"), [(f"`{code}`", docs[code.name]) for code in Code])


def entries_tables() -> str:
    return "\n\n".join(_entry(entry) for entry in ENTRIES)


def _entry(entry: type[Entry]) -> str:
    docs = docs_of(entry)
    rows = [
        (f"`{name}`", f"{kind.type}{', or null' if nullable else ''}", docs[name])
        for name, kind, nullable in fields_of(entry)
    ]
    return f"## `{entry.type}`\n\n{entry.__doc__}.\n\n{table(('field', 'type', 'meaning'), rows)}"


TABLES = [
    (README, "settings", settings_table),
    (SETTINGS, "settings", settings_page),
    (META_KEYS, "of pages", page_meta_table),
    (META_KEYS, "of robots.txt", fetch_meta_table),
    (FAILURES, "presets", presets_table),
    (CRAWL_DELAY, "politeness", politeness_table),
    (STATS, "stats", stats_tables),
    (LINTER, "codes", codes_table),
    (AUDIT_LOG_LINES, "entries", entries_tables),
    (ROOMS, "arrows", rooms.picture),
]

if __name__ == "__main__":
    for page, name, make in TABLES:
        put_between(page, name, make())
