"""What lies between a Redis client and its server: TLS, and the faults of a network.

It carries bytes in a thread of its own, whatever the client is doing.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from .certificates import self_signed
from .redis_server import ADDRESS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from typing_extensions import Self

    from .redis_server import RedisServer

FOREIGN = b"HTTP/1.1 400 Bad Request\r\n\r\n"
"""What a server of another kind answers."""


class RedisProxy:
    """A road to *server*, over TLS if asked, on which things can be changed at any time.

    ``delay`` holds each answer for so many seconds; ``rate`` is how many bytes of commands a second
    get through, without a bound if it is 0. ``lose_answers``: commands arrive and are
    carried out; their answers are lost; with ``lose_answers_to`` only those to a command that
    contains this; ``lost`` counts them. ``foreign``: every answer is that of a web server.
    """

    def __init__(self, server: RedisServer, *, tls: bool = False) -> None:
        self.server = server
        self.tls = tls
        self.delay = 0.0
        self.rate = 0
        self.lose_answers = False
        self.lose_answers_to = b""
        self.lost = 0
        self.foreign = False
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._open: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._in_loop(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._in_loop(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        who = self.server.url.partition("//")[2].rpartition("@")[0]
        road = f"{who}@{ADDRESS}:{self.port}" if who else f"{ADDRESS}:{self.port}"
        return f"rediss://{road}/0?ssl_cert_reqs=none" if self.tls else f"redis://{road}/0"

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._open) // 2

    def cut(self) -> None:
        """Closes all connections, in whatever state they are. New ones are accepted."""
        self._in_loop(self._cut())

    def _in_loop(self, coroutine: Coroutine[object, object, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _listen(self) -> None:
        tls = self_signed() if self.tls else None
        self._listening = await asyncio.start_server(self._connected, ADDRESS, 0, ssl=tls)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._listening.close()
        await self._cut()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(ADDRESS, self.server.port)
        except OSError:
            writer.transport.abort()
            return
        both, asked = {writer, back}, _Asked(self)
        self._open |= both
        try:
            await asyncio.gather(
                self._carry(reader, back, asked.command),
                self._carry(there, writer, asked.answer),
            )
        except asyncio.CancelledError:
            pass  # the road is closed; asyncio does not expect it of this task
        finally:
            self._open -= both
            for end in both:
                end.transport.abort()

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        change: Callable[[bytes], Awaitable[bytes]],
    ) -> None:
        """Hands on what comes. At its end both ways are closed."""
        try:
            while data := await reader.read(65_536):
                writer.write(await change(data))
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()


class _Asked:
    """What was last asked on one connection."""

    def __init__(self, proxy: RedisProxy) -> None:
        self._proxy = proxy
        self._last = b""

    async def command(self, data: bytes) -> bytes:
        self._last = data
        if self._proxy.rate:
            await asyncio.sleep(len(data) / self._proxy.rate)
        return data

    async def answer(self, data: bytes) -> bytes:
        proxy = self._proxy
        await asyncio.sleep(proxy.delay)
        if proxy.lose_answers or (proxy.lose_answers_to and proxy.lose_answers_to in self._last):
            proxy.lost += 1
            return b""
        return FOREIGN if proxy.foreign else data
