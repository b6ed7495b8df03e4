"""Where something may be kept: files, folders, servers."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec

from scrapy_robots_plus.cluster.pace.opening import check_pace
from scrapy_robots_plus.crawl.settings.setting import Check
from scrapy_robots_plus.storage import check_store_uri

from .kinds import boolean, or_unset

shared_pace: Check[str, str] = Check(
    "`process`, `off`, `sqlite:PATH`, or the URL of a Redis server", check_pace
)
store_uri: Check[str | None, str | None] = or_unset(
    Check("`memory`, `sqlite:PATH` or the URL of a Redis server", check_store_uri)
)


def _file_name(value: object) -> str:
    expected = "expected the path of a file; %(name)s and %(time)s may be in it, and %% for a %"
    name = os.fspath(value) if isinstance(value, (str, os.PathLike)) else ""
    if not isinstance(name, str) or not name or "\0" in name or name.endswith(("/", os.sep)):
        raise ValueError(expected)
    if "://" in name:
        raise ValueError(f"{expected}; a URL is not a path")
    if "%" in _STANDS_FOR.sub("", name):
        raise ValueError(expected)
    return name


_STANDS_FOR = re.compile(r"%%|%\((?:name|time)\)s")
"""What Python's ``%`` puts something else for; it would take more, ``%s`` for example."""

file_name: Check[str, str] = Check("the path of a file, with `%(name)s` and `%(time)s`", _file_name)


def _boolean_or_path(value: object) -> bool | str:
    try:
        return boolean.read(value)
    except ValueError:
        return _file_name(value)


boolean_or_path: Check[bool | str, bool | str] = Check(
    "`True`, `False`, or the path of a folder", _boolean_or_path
)


def _warc_file(value: object) -> str:
    name = _file_name(value)
    if find_spec("warcio") is None:
        raise ValueError("warcio is not installed: pip install 'scrapy-robots-plus[warc]'")
    return name


warc_file: Check[str, str] = Check(file_name.type, _warc_file)
