"""A duplicate filter for ``DUPEFILTER_CLASS``, with its fingerprints in the file of a job."""

from __future__ import annotations

from .job.queues import JobDupeFilter

__all__ = ["JobDupeFilter"]
