"""From the octets of a body to its lines, and from lines to keys and values."""

from .lines import Kind, Line

__all__ = ["Kind", "Line"]
