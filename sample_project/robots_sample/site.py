"""The site that the spiders crawl: several hosts, each with a robots.txt of its own.

All are served by one small server on 127.0.0.1, on a free port; while it runs, names that end in
``.example`` are looked up on this machine. It starts and ends with the crawl.
"""

import socket
from functools import wraps
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread, Timer
from typing import NamedTuple

from scrapy import signals

LONGEST_LIFE = 300  # seconds
HANG_UP = 0  # in place of a status


class Answer(NamedTuple):
    status: int
    body: str = ""
    location: str = ""


def robots(*lines):
    return Answer(200, "\n".join([*lines, ""]))


def page(*links):
    """A page with links. PORT stands for the port, which is known when the server runs."""
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return Answer(200, f"<title>A page</title><ul>{anchors}</ul>")


HOSTS = {
    "open.example": {
        "/robots.txt": robots("User-agent: *", "Disallow:"),
        "/": page(
            "/news",
            "/about",
            "http://partly.example:PORT/",
            "http://closed.example:PORT/",
            "http://closed.example:PORT/history",
            "http://slow.example:PORT/",
            "http://broken.example:PORT/",
            "http://moved.example:PORT/",
            "http://missing.example:PORT/",
        ),
        "/news": page(),
        "/about": page(),
    },
    "partly.example": {
        "/robots.txt": robots(
            "# Letters are private, what the press may read is not.",
            "User-agent: *",
            "Disallow: /private/",
            "Allow: /private/press",
            "Disallow: /*.pdf$",
            "Sitemap: http://partly.example:PORT/sitemap.xml",
        ),
        "/": page("/private/letters", "/private/diary", "/private/press", "/report.pdf"),
        "/private/letters": page(),
        "/private/diary": page(),
        "/private/press": page(),
        "/report.pdf": page(),
    },
    "closed.example": {
        "/robots.txt": robots("User-agent: *", "Disallow: /"),
        "/": page("/history"),
        "/history": page(),
    },
    "slow.example": {
        "/robots.txt": robots("User-agent: *", "Crawl-delay: 1"),
        "/": page("/2", "/3"),
        "/2": page(),
        "/3": page(),
    },
    "broken.example": {"/robots.txt": Answer(503, "Come back later"), "/": page()},
    "moved.example": {
        "/robots.txt": Answer(301, location="http://rules.example:PORT/for-moved.txt"),
        "/": page("/drafts/1"),
        "/drafts/1": page(),
    },
    "rules.example": {"/for-moved.txt": robots("User-agent: *", "Disallow: /drafts/")},
    "missing.example": {
        # Not a robots.txt, whatever its text looks like.
        "/robots.txt": Answer(404, "User-agent: *\nDisallow: /\n"),
        "/": page("/archive"),
        "/archive": page(),
    },
    "locked.example": {"/robots.txt": Answer(403, "Who are you?"), "/": page()},
    "silent.example": {"/robots.txt": Answer(HANG_UP), "/": page()},
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        host = self.headers["Host"].partition(":")[0]
        answer = HOSTS.get(host, {}).get(self.path, Answer(404, "There is no such page"))
        if answer.status == HANG_UP:
            return
        port = str(self.server.server_port)
        body = answer.body.replace("PORT", port).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "text/plain" if "robots" in self.path else "text/html")
        self.send_header("Content-Length", str(len(body)))
        if answer.location:
            self.send_header("Location", answer.location.replace("PORT", port))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing of the requests that are served."""


class Site:
    """Scrapy extension that serves the hosts as long as the crawl lasts, and no longer than
    LONGEST_LIFE.
    """

    def __init__(self, port):
        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        self.lookups = socket.getaddrinfo, socket.gethostbyname
        socket.getaddrinfo, socket.gethostbyname = map(on_this_machine, self.lookups)
        Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.limit = Timer(LONGEST_LIFE, self.server.shutdown)
        self.limit.daemon = True
        self.limit.start()

    @classmethod
    def from_crawler(cls, crawler):
        site = cls(crawler.settings.getint("SITE_PORT"))
        crawler.signals.connect(site.stop, signals.engine_stopped)
        return site

    def url(self, host, path="/"):
        return f"http://{host}:{self.port}{path}"

    def stop(self):
        socket.getaddrinfo, socket.gethostbyname = self.lookups
        self.limit.cancel()
        self.server.shutdown()
        self.server.server_close()


def on_this_machine(lookup):
    """*lookup*, to which every name that ends in ``.example`` is a name of 127.0.0.1."""

    @wraps(lookup)
    def wrapped(host, *arguments, **options):
        local = isinstance(host, str) and host.endswith(".example")
        return lookup("127.0.0.1" if local else host, *arguments, **options)

    return wrapped


def url(spider, host, path="/"):
    """Where *path* of *host* is in the crawl of *spider*."""
    return spider.crawler.get_extension(Site).url(host, path)
