"""A project like any other: the first line is all that scrapy-robots-plus needs."""

ADDONS = {"scrapy_robots_plus.Addon": 300}

BOT_NAME = "robots_sample"
SPIDER_MODULES = ["robots_sample.spiders"]
USER_AGENT = "Samplebot/1.0 (+https://samplebot.example/)"

# The rest makes the sample run offline, and keeps its output short.
EXTENSIONS = {
    "robots_sample.site.Site": 0,
    "robots_sample.quiet.Quiet": 0,
}
SITE_PORT = 0  # 0: a free one
QUIET = True
LOG_LEVEL = "INFO"
LOG_FORMAT = "%(levelname)s: %(message)s"
LOG_VERSIONS = []
LOGSTATS_INTERVAL = 0
TELNETCONSOLE_ENABLED = False
RETRY_ENABLED = False
