"""The parsed file: all that it can be asked, and its groups written anew."""

from .robotstxt import RobotsTxt

__all__ = ["RobotsTxt"]
