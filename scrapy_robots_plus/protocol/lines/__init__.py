"""From the octets of a body to its lines, and from lines to keys and values."""

from .kinds import Kind
from .lines import Line

__all__ = ["Kind", "Line"]
