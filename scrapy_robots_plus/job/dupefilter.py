"""A duplicate filter for Scrapy that keeps its fingerprints in the file of a job."""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.dupefilters import RFPDupeFilter

from scrapy_robots_plus.crawl.crawl import guarded
from scrapy_robots_plus.settings.scrapys_own import job_folder

from .job import Job


class JobDupeFilter(RFPDupeFilter):
    """``DUPEFILTER_CLASS``: Scrapy's own, but with its fingerprints in the job's file.

    A fingerprint is written together with its request, so a kill never separates them. Without
    ``JOBDIR``, or for a crawler that does not crawl yet, the filter works as Scrapy's own.
    """

    _job: Job | None = None
    crawler: Crawler | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> JobDupeFilter:
        """Raises JobFileError, which stops the crawl, if the job's file cannot be used."""
        if crawler.spider is None or job_folder(crawler.settings) is None:
            return super().from_crawler(crawler)
        debug = crawler.settings.getbool("DUPEFILTER_DEBUG")
        dupefilter = cls(debug=debug, fingerprinter=crawler.request_fingerprinter)
        dupefilter._job = Job.of(crawler)
        dupefilter.crawler = crawler
        return dupefilter

    def request_seen(self, request: Request) -> bool:
        """Returns whether the fingerprint of *request* was seen, in this or an earlier run."""
        if self._job is None:
            return super().request_seen(request)
        return self._is_seen(self.fingerprinter.fingerprint(request), self._job)

    @guarded("the duplicate filter of the job", otherwise=False)
    def _is_seen(self, fingerprint: bytes, job: Job) -> bool:
        return job.attempt(lambda: job.file.see(fingerprint)) is False
