"""The same workers without this package: scrapy-redis and Scrapy's own robots.txt middleware."""

from .settings import *  # noqa: F403

ADDONS = {}
ROBOTSTXT_OBEY = True
SCHEDULER_QUEUE_CLASS = "scrapy_redis.queue.PriorityQueue"
DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"
