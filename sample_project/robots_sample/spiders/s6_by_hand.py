"""6. Without the add-on: what it does, by hand. And how a crawl ends that may fetch nothing."""

import scrapy

from robots_sample import site


class ByHandSpider(scrapy.Spider):
    name = "s6_by_hand"
    custom_settings = {
        "ADDONS": {},
        "ROBOTSTXT_OBEY": True,
        "ROBOTSTXT_PARSER": "scrapy_robots_plus.RobotsParser",
        "SCHEDULER_PRIORITY_QUEUE": "scrapy_robots_plus.RobotsPriorityQueue",
        "DOWNLOADER": "scrapy_robots_plus.RobotsDownloader",
        "DOWNLOADER_MIDDLEWARES": {
            "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
            "scrapy_robots_plus.RobotsMiddleware": 100,
        },
        "SPIDER_MIDDLEWARES": {
            "scrapy_robots_plus.RobotsItemMiddleware": 10,
            "scrapy_robots_plus.RobotsPagesMiddleware": 60,
        },
        "EXTENSIONS": {
            "robots_sample.site.Site": 0,
            "robots_sample.quiet.Quiet": 0,
            "scrapy_robots_plus.RobotsExtension": 0,
        },
    }

    async def start(self):
        yield scrapy.Request(site.url(self, "closed.example"))

    def closed(self, reason):
        self.logger.info("The crawl ended with the reason %s", reason)
