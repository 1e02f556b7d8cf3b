"""Server-Sent Events: one run with resume, and everything of a user (R18; design §3).

What a stream keeps true: it subscribes before it says anything; whatever waits when a write returns goes out as one write;
a client that is slow is read later and costs nothing; a client that is gone ends the stream and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec
from jupyter_server.auth.decorator import authorized
from tornado import web
from tornado.iostream import StreamClosedError

from ..protocol.errors import BadRequest
from ..protocol.events import encode, is_terminal
from ..protocol.records import MESSAGE_ID, SessionChanged
from ..protocol.sse import HEADERS, HEARTBEAT, HEARTBEAT_SECONDS, PADDING, frame, parse_last_event_id
from ..runs import views
from ..runs.channel import TAKE_LIMIT, Channel, Reader, RunEvent
from ..store.base import SessionHandle
from .base import HermesHandler
from .runs import RUN

_json = msgspec.json.encode


class StreamHandler(HermesHandler):
    """Base of both streams. Heartbeats and open tabs are no activity: nobody's server lives on because of them (design §9)."""

    _track_activity = False
    _reader: Reader | None = None

    def on_connection_close(self) -> None:
        if self._reader is not None:
            self._reader.close()

    async def begin(self) -> None:
        """Head and first bytes, at once."""
        for name, value in HEADERS.items():
            self.set_header(name, value)
        if (stream := getattr(self.request.connection, "stream", None)) is not None:
            stream.set_nodelay(True)
        await self.send(PADDING)

    async def send(self, data: bytes) -> None:
        """Returns when the socket has taken it."""
        self.write(data)
        await self.flush()

    async def follow(self, reader: Reader, *, numbered: bool) -> None:
        """Until the reader is closed, or a single run has ended."""
        while not reader.closed:
            if not await reader.wait(HEARTBEAT_SECONDS):
                await self.send(HEARTBEAT)
                continue
            taken = reader.take()
            data = _frames(taken.events, numbered) + _changes(taken.changed)
            if data:
                await self.send(data)
            if numbered and taken.events and is_terminal(taken.events[-1]):
                return


class RunStreamHandler(StreamHandler):
    @web.authenticated
    @authorized
    async def get(self, run_id: str) -> None:
        service = self.service
        handle, _ = await service.find_run(run_id, self.owner)
        channel = service.channels.get(run_id)
        after = await _within(self._after(), run_id, handle, channel)
        reader = self._reader = Reader()
        try:
            await self.begin()
            if channel is None or after + 1 < channel.first:
                end = None if channel is None else channel.first
                after = await self._replay(await asyncio.to_thread(handle.events, run_id, after), after, end)
            if channel is not None and (channel.ended_at is None or after < channel.last_seq):
                reader.join(channel, after)
                await self.follow(reader, numbered=True)
            await self.finish()
        except StreamClosedError:
            return
        finally:
            service.channels.leave(reader)

    async def _replay(self, events: list[RunEvent], after: int, end: int | None) -> int:
        """What stands in the journal, up to where memory begins; the last number that was sent."""
        older = [e for e in events if end is None or e.seq < end]
        for start in range(0, len(older), TAKE_LIMIT):
            await self.send(_frames(older[start : start + TAKE_LIMIT], numbered=True))
            await asyncio.sleep(0)  # the socket may have taken it at once; others want their turn
        return older[-1].last_seq if older else after

    def _after(self) -> int:
        """The header wins: a client that reconnects by itself sends it, with the address it began with."""
        given = self.request.headers.get("Last-Event-ID") or self.get_query_argument("lastEventId", "")
        try:
            return parse_last_event_id(given)
        except ValueError as error:
            raise BadRequest("lastEventId is a whole number from 0.", field="lastEventId") from error


class PageStreamHandler(StreamHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        service, owner = self.service, self.owner
        reader = self._reader = service.channels.follow(owner, _positions(self.get_query_argument("after", "")))
        try:
            await self.begin()
            await self.send(frame(_json(await views.sync_body(service, owner)), event="sync"))
            await self.follow(reader, numbered=False)
            await self.finish()
        except StreamClosedError:
            return
        finally:
            service.channels.leave(reader)


async def _within(after: int, run_id: str, handle: SessionHandle, channel: Channel | None) -> int:
    """*after*; and where the log ends before that (what a client saw last went down with the machine) the number before the
    log's last event, so that this client, too, hears how the run ended."""
    if channel is not None:
        last = channel.last_seq
    else:
        events = await asyncio.to_thread(handle.events, run_id, max(0, after - 1))
        events = events or await asyncio.to_thread(handle.events, run_id)
        last = events[-1].last_seq if events else 0
    return after if after <= last else max(0, last - 1)


def _positions(after: str) -> dict[str, int]:
    """``<run>:<seq>,…``. Raises :class:`BadRequest`."""
    found = {}
    for item in filter(None, after.split(",")):
        run_id, _, seq = item.rpartition(":")
        if not (MESSAGE_ID.fullmatch(run_id) and seq.isascii() and seq.isdigit() and len(seq) < 16):
            raise BadRequest("`after` is a list <run>:<seq>,… of runs and the last number known of each.", field="after")
        found[run_id] = int(seq)
    return found


def _frames(events: Iterable[RunEvent], numbered: bool) -> bytes:
    return b"".join(frame(encode(event), id=event.last_seq if numbered else None) for event in events)


def _changes(changed: dict[str, int]) -> bytes:
    return b"".join(
        frame(_json(SessionChanged(session_id=session_id, revision=revision)), event="session_changed")
        for session_id, revision in changed.items()
    )


ROUTES = [(RUN + "/stream", RunStreamHandler), (r"stream", PageStreamHandler)]
