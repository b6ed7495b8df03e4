"""Draws docs/pictures/report.png: the beginning of the report that ``scrapy robots report`` makes
of an invented log. ``python -m docs.report_picture``, with Chromium installed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.audit import sample_log
from tests.audit.logs import write_sealed
from tests.chromium import chromium

PICTURE = Path(__file__).parent / "pictures" / "report.png"
WIDTH, HEIGHT = 860, 1100


def main(picture: Path = PICTURE) -> None:
    with TemporaryDirectory() as folder, chromium() as tab:
        write_sealed(Path(folder, "audit.jsonl"), sample_log.entries())
        command = [sys.executable, "-m", "scrapy", "robots", "report", "audit.jsonl"]
        subprocess.run(command, cwd=folder, check=True)
        tab.looks(WIDTH)
        tab.open(Path(folder, "report.html"))
        picture.write_bytes(tab.picture(x=0, y=0, width=WIDTH, height=HEIGHT))


if __name__ == "__main__":
    main()
