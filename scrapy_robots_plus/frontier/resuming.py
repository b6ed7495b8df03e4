"""What was under way when the last run ended waits again.

A request that was under way at two kills may be their cause. It waits until nothing else is left,
and is then under way alone. If the process is killed once more, it was the cause, and is set aside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rows import AsideRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .transaction import Transaction

SUSPECT_AFTER = 2
"""Kills at which a request was under way, until it has to wait for the end."""


def resume(
    transaction: Transaction, put_in_place: Callable[[int], None], *, was_killed: bool
) -> list[AsideRequest]:
    """Returns those that are set aside now. *put_in_place*: makes a request wait in its lane."""
    run, aside = transaction.run, list[AsideRequest]()
    if was_killed:
        run("UPDATE requests SET hard_ends = hard_ends + 1 WHERE id IN (SELECT id FROM under_way)")
    rows = run(
        "SELECT id, lane, data, hard_ends, alone FROM under_way JOIN requests USING (id) "
        "ORDER BY id"
    ).fetchall()
    for *fields, alone in rows:
        request = AsideRequest(*fields)
        if alone and was_killed:
            run("INSERT OR IGNORE INTO set_aside VALUES (?)", (request.id,))
            aside.append(request)
        elif request.hard_ends >= SUSPECT_AFTER:
            run("INSERT OR IGNORE INTO last VALUES (?)", (request.id,))
        else:
            put_in_place(request.id)
    run("DELETE FROM under_way")
    return aside
