"""A host at every address of loopback, all of them one server."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter


class Everywhere:
    """A server on all addresses of loopback: pages, and no robots.txt.

    It closes each connection after one answer, or keeps it open until the client closes it.
    """

    def __init__(self, *, keep_alive: bool = False) -> None:
        self._keep_alive = keep_alive
        self.hits: Counter[tuple[str, str]] = Counter()
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Everywhere:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        self._server = await asyncio.start_server(self._connected, "0.0.0.0", 0, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection may be used for another request."""
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode()
        status = "404 Not Found" if path == "/robots.txt" else "200 OK"
        self.hits[writer.get_extra_info("sockname")[0], path] += 1
        after = "keep-alive" if self._keep_alive else "close"
        lines = f"HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: {after}\r\n\r\nok"
        writer.write(lines.encode())
        await writer.drain()
        return self._keep_alive

    @property
    def pages(self) -> Counter[tuple[str, str]]:
        return Counter({key: n for key, n in self.hits.items() if key[1] != "/robots.txt"})
