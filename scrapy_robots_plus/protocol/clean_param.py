"""The removal of query parameters that do not change a page: Yandex's Clean-param.

Not part of RFC 9309. Follows https://yandex.com/support/webmaster/robot-workings/clean-param.html:
names are case-sensitive, a path is a prefix in which ``*`` stands for anything, and all lines
count, whatever group they are in.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from .escapes import path_of
from .matcher import Pattern, matches, take_apart
from .robotstxt import CleanParam

MAX_PATHS = 1_000
"""The number of different paths in the rules of a file. Rules for further ones are not obeyed."""


class CleanParams:
    """The Clean-param rules of a file. No file makes it raise."""

    __slots__ = ("_names_by_path",)

    def __init__(self, rules: Iterable[CleanParam]) -> None:
        by_path: dict[Pattern, set[str]] = {}
        for rule in rules:
            path = take_apart(rule.path.encode("utf-8", "surrogatepass"))
            if rule.params and (path in by_path or len(by_path) < MAX_PATHS):
                by_path.setdefault(path, set()).update(map(unquote, rule.params))
        self._names_by_path = tuple(by_path.items())

    def __len__(self) -> int:
        """Returns the number of parameter names, counted for each path separately."""
        return sum(len(names) for _, names in self._names_by_path)

    def cleaned(self, url: str) -> str | None:
        """Returns *url* without the parameters that do not count there, and without its fragment.

        None if no rule is for its path. The other parameters stay, in their order. *url* is
        absolute, or a path and query.
        """
        url, mark, query = url.partition("#")[0].partition("?")
        path = path_of(url.encode("utf-8", "surrogatepass"))
        found = (names for pattern, names in self._names_by_path if matches(pattern, path))
        names = set[str]().union(*found)
        if not names:
            return None
        kept = [each for each in query.split("&") if unquote(each.partition("=")[0]) not in names]
        rest = "&".join(kept)
        return f"{url}{mark}{rest}" if rest else url
