"""Numbers with what they count."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 request``, ``1,200 requests``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
