"""The scripts that run on the server, in the files beside this one."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redis.commands.core import Script


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath(f"{name}.lua").read_text(encoding="utf-8")


class Scripts:
    """Those of one client. Each is sent once, and named by its digest from then on."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Script:
        script: Script = self._client.register_script(f"{_text('common')}\n{_text(name)}")
        setattr(self, name, script)
        return script
