"""What each worker of the cluster is started with."""

import os
import socket

ADDONS = {"scrapy_robots_plus.Addon": 300}

SCHEDULER = "scrapy_redis.scheduler.Scheduler"
SCHEDULER_PERSIST = True
REDIS_URL = os.environ.get("REDIS_URL", "redis://localhost:6379")
SCHEDULER_QUEUE_CLASS = "scrapy_robots_plus.redis.RobotsQueue"
DUPEFILTER_CLASS = "scrapy_robots_plus.redis.RobotsDupeFilter"
ROBOTS_WORKERS = 4  # they share the pace of each host while the server is away

BOT_NAME = "robots_sample"
SPIDER_MODULES = ["robots_sample.cluster.spider"]
USER_AGENT = "Samplebot/1.0 (+https://samplebot.example/)"

# Tells the picture which worker sent a request.
DEFAULT_REQUEST_HEADERS = {"X-Worker": os.environ.get("WORKER", socket.gethostname())}

CONCURRENT_REQUESTS = 4
LOG_LEVEL = "WARNING"
TELNETCONSOLE_ENABLED = False
RETRY_ENABLED = False
