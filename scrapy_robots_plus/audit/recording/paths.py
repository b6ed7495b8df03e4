"""Where the audit log of a crawl is, and what lies beside it."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from scrapy_robots_plus.audit.bodies import folder_beside


def filled_in(setting: str, name: str, began: float) -> Path:
    """The absolute path that *setting* names for a spider *name* and a crawl that *began*."""
    time = datetime.fromtimestamp(int(began), timezone.utc).isoformat().replace(":", "-")
    return Path(setting % {"name": name, "time": time}).absolute()


def bodies_folder(setting: bool | str, log: Path) -> Path | None:
    """Where ``ROBOTS_AUDIT_BODIES`` puts the texts; None for nowhere."""
    if isinstance(setting, str):
        return Path(setting).absolute()
    return folder_beside(log) if setting else None


def as_seen_from(log: Path, folder: Path | None) -> str | None:
    """How the log names *folder*: relative to its own folder, if it lies below that."""
    if folder is None:
        return None
    try:
        return folder.relative_to(log.parent).as_posix()
    except ValueError:
        return str(folder)
