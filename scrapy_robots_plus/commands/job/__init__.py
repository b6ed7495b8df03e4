"""``scrapy robots job``: the requests that a job keeps, for people."""

from __future__ import annotations

from scrapy_robots_plus.commands.subcommand import Group

from .actions import Accept, Retry, Show, Shrink
from .convert import Convert

JOB = Group(
    "job",
    help="Inspect and maintain the requests that a job keeps in its folder",
    details="No crawl may use the job meanwhile.",
    subcommands=(Show(), Retry(), Accept(), Convert(), Shrink()),
)
