"""Turns as text, with times that count from the moment at which they are written."""

from __future__ import annotations

import json
from typing import Any

from .turns import Departure, Turns, Waiting


def saved(turns: Turns) -> str:
    """*turns*, at the time 0."""
    waiting = [
        (each.ticket, each.delay, each.due, each.comes, each.passed) for each in turns.waiting
    ]
    return json.dumps([turns.departures, waiting, turns.paused_until])


def restored(text: str, ago: float) -> Turns:
    """What was saved *ago* seconds ago, at the time 0; new ones if it cannot be read."""
    turns = Turns()
    try:
        _restore(turns, json.loads(text), ago)
    except (ValueError, TypeError, AttributeError):
        return Turns()
    return turns


def _restore(turns: Turns, read: Any, ago: float) -> None:
    departures, waiting, paused_until = read
    for ticket, (at, until, delay) in departures.items():
        turns.departures[ticket] = Departure(at - ago, until - ago, float(delay))
    for ticket, delay, due, comes, passed in waiting:
        due -= ago
        turns.waiting.append(Waiting(str(ticket), float(delay), due, bool(comes), int(passed)))
    turns.paused_until = paused_until - ago
