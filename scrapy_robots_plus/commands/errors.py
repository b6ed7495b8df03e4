"""What ends a command with status 2 and a message."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class WrongUsageError(ValueError):
    """The arguments are wrong in a way that argparse cannot see; the text says what is expected."""


class UnreadableError(OSError):
    """A file that the command needs cannot be read or written; the text names it and says why."""


@contextmanager
def reading(name: object) -> Iterator[None]:
    """Raises UnreadableError for an OSError while the file *name* is read.

    Not for a pipe that nobody reads any more: that is the output of the command.
    """
    try:
        yield
    except (UnreadableError, BrokenPipeError):
        raise
    except OSError as error:
        raise UnreadableError(f"{name} cannot be read: {error.strerror}") from error
