"""The errors that end a command with a message."""


class WrongUsageError(ValueError):
    """Raised for wrong arguments that argparse cannot detect; the text says what is expected."""


class UnreadableError(OSError):
    """Raised if what a command needs is missing or unusable; the text names it and says why."""
