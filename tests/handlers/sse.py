"""Reading a stream while it runs: frames as they arrive, through the server's own socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.runs.scripted import until


@dataclass(frozen=True)
class Frame:
    event: str
    id: str | None
    data: Any


class Stream:
    """``raw`` is every byte of the body so far; ``ended`` is true when the server ended it."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.raw = b""
        self.ended = False

    @property
    def frames(self) -> list[Frame]:
        found = []
        for block in self.raw.decode(errors="replace").split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
            if fields:
                found.append(Frame(fields.get("event", "message"), fields.get("id"), json.loads(fields["data"])))
        return found

    @property
    def events(self) -> list[dict[str, Any]]:
        return [f.data for f in self.frames if f.event == "message"]

    def named(self, event: str) -> list[Any]:
        return [f.data for f in self.frames if f.event == event]

    async def until(self, condition: Callable[[], bool]) -> None:
        await until(condition)

    async def end(self) -> None:
        await until(lambda: self.ended, seconds=20)


class Streams:
    """``async with streams("stream") as stream``: an HTTP connection of its own that closes when it is left."""

    def __init__(self, host: str, port: int, base_path: str, headers: dict[str, str]) -> None:
        self.host, self.port, self.base_path, self.headers = host, port, base_path, headers

    @asynccontextmanager
    async def __call__(self, path: str, headers: dict[str, str] | None = None, **query: Any) -> AsyncIterator[Stream]:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        lines = [f"GET {self.base_path}hermes/api/chat/{path}?{urlencode(query)} HTTP/1.1", f"Host: {self.host}:{self.port}"]
        lines += [f"{name}: {value}" for name, value in {**self.headers, **(headers or {})}.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        stream = Stream()
        reading = asyncio.create_task(_read(reader, stream))
        try:
            await until(lambda: bool(stream.raw) or reading.done())
            yield stream
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            writer.close()


async def _read(reader: asyncio.StreamReader, stream: Stream) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    stream.headers = dict(line.split(": ", 1) for line in head[1:] if line)
    stream.status = int(head[0].split()[1])
    while size := int(await reader.readline(), 16):
        stream.raw += (await reader.readexactly(size + 2))[:-2]
    stream.ended = True
