"""What changed between two files."""

from .comparison import Difference, PathChange, Terms, difference

__all__ = ["Difference", "PathChange", "Terms", "difference"]
