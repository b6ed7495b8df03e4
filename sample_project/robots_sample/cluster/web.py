"""The web that the workers crawl: eight hosts behind one small server, which is their HTTP proxy.

``python -m robots_sample.cluster.web`` serves it to workers on other machines or in containers, and
prints what it saw when all pages were fetched.
"""

import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple
from urllib.parse import urlsplit

from .picture import table

HOSTS = {
    "slow1.example": 1.0,
    "slow2.example": 1.0,
    "slow3.example": 1.0,
    "half1.example": 0.5,
    "half2.example": 0.5,
    "fast1.example": 0.0,
    "fast2.example": 0.0,
    "fast3.example": 0.0,
}
"""The Crawl-delay of each, in seconds."""
PORT = 8000
PAGES = 8
LATENCY = 0.25
"""Seconds that a page takes, so that no worker is done before the others have started."""


class Visit(NamedTuple):
    at: float
    host: str
    path: str
    worker: str


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        at, url = time.monotonic(), urlsplit(self.path)
        web = self.server.web
        if url.hostname not in HOSTS:
            self.send_error(404)
            return
        web.visits.append(Visit(at, url.hostname, url.path, self.headers.get("X-Worker", "")))
        kind, body = web.answer(url.hostname, url.path)
        time.sleep(LATENCY if kind == "text/html" else 0)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing of the requests that are served."""


class Web:
    """Serves each host *pages* pages, as long as it is used as a context manager."""

    def __init__(self, pages=PAGES, address="127.0.0.1", port=0):
        self.pages = pages
        self.visits = []
        self.server = ThreadingHTTPServer((address, port), Handler)
        self.server.web = self
        self.server.daemon_threads = True

    def __enter__(self):
        Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def is_done(self):
        """Whether each page was fetched."""
        pages = {visit[1:3] for visit in self.visits if visit.path != "/robots.txt"}
        return len(pages) == len(HOSTS) * self.pages

    def answer(self, host, path):
        """Content type and body."""
        if path == "/robots.txt":
            delay = f"Crawl-delay: {HOSTS[host]:g}\n" if HOSTS[host] else ""
            return "text/plain", f"User-agent: *\nDisallow: /private/\n{delay}".encode()
        numbers = range(1, self.pages) if path == "/" else ()
        links = "".join(f'<li><a href="/{number}">{number}</a></li>' for number in numbers)
        return "text/html", f"<title>A page</title><ul>{links}</ul>".encode()


def main():
    with Web(address="0.0.0.0", port=PORT) as web:
        while not web.is_done:
            time.sleep(0.1)
        time.sleep(1)
        print(table(HOSTS, web.visits), flush=True)


if __name__ == "__main__":
    main()
