"""What the README and the docs have from the code: settings, meta keys, stats, presets, rooms.

``python -m docs.tables`` writes them; a test compares them with the code.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.entries import ENTRIES
from scrapy_robots_plus.audit.fields import fields_of
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.requests import FETCH_META, PAGE_META
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.lint import Code
from scrapy_robots_plus.protocol.status_policy import PRESETS
from scrapy_robots_plus.settings.declared import DECLARED, Declared
from scrapy_robots_plus.settings.presets import PRESETS as POLITENESS

from . import rooms

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from scrapy_robots_plus.audit.entries import Entry
    from scrapy_robots_plus.settings.setting import Setting

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


def settings_table() -> str:
    chosen = [DECLARED[field] for field in MATTER_MOST]
    rows = [(f"`{each.name}`", f"`{shown(each.default)}`", each.summary) for each in chosen]
    page = f"[All {len(DECLARED)} settings][settings], with types and examples."
    return table(("setting", "default", "what it does"), rows) + f"\n\n{page}"


def settings_page() -> str:
    """The sections are those that comments of the declaration begin."""
    by_name = {declared.name: declared for declared in DECLARED.values()}
    source = inspect.getsource(Declared)
    _, *parts = re.split(r"^    # (.+)$", source, flags=re.MULTILINE)
    sections = {
        title: [by_name[name] for name in re.findall(r'^ {8}"(ROBOTS\w+)",$', text, re.MULTILINE)]
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }
    rows = [
        (title, ", ".join(f"[`{each.name}`](#{each.name.lower()})" for each in members))
        for title, members in sections.items()
    ]
    details = [
        text
        for title, members in sections.items()
        for text in (f"## {title}", *map(_described, members))
    ]
    return "\n\n".join([table(("what for", "settings"), rows), *details])


def _described(declared: Setting[Any, Any]) -> str:
    default, example = shown(declared.default), shown(declared.example)
    return f"""\
### {declared.name}

{declared.doc}{_needs(declared)}\\
Type: {declared.check.type}. Default: `{default}`. Example: `{example}`"""


def _needs(declared: Setting[Any, Any]) -> str:
    """What other settings must be, which a crawl warns of."""
    if not declared.needs:
        return ""
    others = " and ".join(f"`{need.name}`" for need in declared.needs)
    return f" It has no effect without {others}; a crawl warns of that."


def shown(value: object) -> str:
    """A value as it is written in settings.py, with the quotes that Scrapy's docs use."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{shown(key)}: {shown(each)}' for key, each in value.items())}}}"
    return json.dumps(value) if isinstance(value, str) else repr(value)


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
    "5xx": "a server error",
    "other": "any other status, 600 for example",
    "timeout": "not complete within `ROBOTS_FETCH_TIMEOUT`",
    "dns": "the host name has no address",
    "connection": "refused, reset, TLS failure, closed before an answer",
    "cut": "the body ended before its time",
    "undecodable": "the body is not what its Content-Encoding says",
    "challenge": "HTML with the header `cf-mitigated: challenge` came in its place",
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
    return table(("setting", *(f"`{name.value}`" for name in POLITENESS)), rows)


def stats_tables() -> str:
    return "\n\n".join(
        f"## {heading}\n\n{_of_keys(keys)}" for heading, keys in stats.SECTIONS.items()
    )


def _of_keys(keys: list[str]) -> str:
    return table(("key", "counts"), [(f"`{key}`", stats.MEANINGS[key]) for key in keys])


def codes_table() -> str:
    return table(("code", "means"), [(f"`{code}`", code.means) for code in Code])


def entries_tables() -> str:
    return "\n\n".join(_entry(entry) for entry in ENTRIES)


def _entry(entry: type[Entry]) -> str:
    rows = [
        (f"`{name}`", f"{each.kind.type}{', or null' if each.nullable else ''}", each.doc)
        for name, each in fields_of(entry)
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
