"""The files and the questions that the parsers are measured with.

Real files where there are some: a folder or a ``.tar.gz`` of robots.txt files, and beside it
``truth_dev.jsonl.gz`` with agents and URLs for each. Otherwise files are made up, with as many
rules, groups and wildcards as real ones tend to have.
"""

from __future__ import annotations

import gzip
import json
import random
import tarfile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORDS = (
    *("admin", "api", "cart", "search", "login", "user", "tmp", "private", "static", "images"),
    *("blog", "tag", "feed", "print", "wp-admin", "node", "comment", "reply", "account"),
    *("checkout", "order", "help", "data", "export", "includes", "modules"),
)
BOTS = (
    *("Googlebot", "Bingbot", "GPTBot", "CCBot", "AhrefsBot"),
    *("SemrushBot", "Baiduspider", "Yandex"),
)
STRANGER = "ExampleCrawler"


class Site(NamedTuple):
    """A file and what is asked about it."""

    name: str
    body: bytes
    agents: list[str]
    urls: list[str]


def load(path: Path | None, count: int) -> tuple[str, list[Site]]:
    """What the corpus is, and its sites; ``count`` is how many are made up if there is none."""
    if path is None or not path.exists():
        return f"{count} made-up files", [_made_up(number) for number in range(count)]
    bodies = dict(_bodies(path))
    asked = dict(_asked(path.parent / "truth_dev.jsonl.gz")) if path.is_file() else {}
    sites = [
        Site(name, body, *asked.get(name, ([STRANGER, "Googlebot"], _urls(body, name))))
        for name, body in sorted(bodies.items())
    ]
    return f"{len(sites)} files of {path.name}", sites


def _bodies(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in path.rglob("*"):
            if file.is_file():
                yield str(file.relative_to(path)), file.read_bytes()
        return
    with tarfile.open(path) as archive:
        for member in archive:
            body = archive.extractfile(member) if member.isfile() else None
            if body is not None:
                yield member.name, body.read()


def _asked(path: Path) -> Iterator[tuple[str, tuple[list[str], list[str]]]]:
    """Bare tokens only: not every parser finds the token in a header."""
    if not path.is_file():
        return
    with gzip.open(path, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            agents = [each["agent"] for each in row["agents"] if each["kind"] != "ua-header"]
            yield row["name"], (agents, [each["url"] for each in row["urls"]])


def _made_up(number: int) -> Site:
    random_ = random.Random(number)
    lines: list[str] = []
    for agent in ["*", *random_.sample(BOTS, random_.choice([0, 0, 0, 1, 2, 6]))]:
        lines.append(f"User-agent: {agent}")
        rules = min(2000, int(random_.lognormvariate(2.6, 1.3)))
        keys = random_.choices(["Disallow", "Disallow", "Allow"], k=rules)
        lines.extend(f"{key}: {_path(random_)}" for key in keys)
        lines.append("")
    body = "\n".join(lines).encode()
    return Site(f"made-up-{number}", body, ["*", "Googlebot", STRANGER], _urls(body, str(number)))


def _path(random_: random.Random) -> str:
    path = "/" + "/".join(random_.choices(WORDS, k=random_.randrange(1, 4)))
    return path + random_.choice(["", "/", "/", "*", "/*.php$", "?*id=", ".html"])


def _urls(body: bytes, seed: str) -> list[str]:
    """URLs half of which are near the file's own patterns."""
    random_ = random.Random(seed)
    patterns = [
        line.partition(b":")[2].strip().decode("utf-8", "ignore")
        for line in body.splitlines()
        if line[:5].lower() in (b"disal", b"allow")
    ]
    near = random_.choices(patterns or ["/"], k=15)
    paths = [path.replace("*", "x").rstrip("$") for path in near]
    paths += [_path(random_).replace("*", "") for _ in range(15)]
    return ["https://www.example.com/" + path.lstrip("/") for path in paths]
