"""What ends a command with status 2 and a message."""

from __future__ import annotations


class WrongUsageError(ValueError):
    """The arguments are wrong in a way that argparse cannot see; the text says what is expected."""


class UnreadableError(OSError):
    """A file that the command needs cannot be read or written; the text names it and says why."""
