"""Sync and async client of one server. Every request is listed once, in `calls`; the two classes only carry them out.

Errors of the server are raised as the type that the server meant (`protocol/errors.py`); a server that does not answer is
:class:`ServerUnreachable`. On loopback no proxy is used and a certificate is not checked, since nobody signs ``localhost``.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx
from httpx_sse import aconnect_sse, connect_sse

from ..protocol.errors import ServerUnreachable, UnexpectedAnswer
from ..protocol.events import KnownEvent, Unknown
from ..protocol.server_file import ServerFile
from ..reduce import GapError, TurnState, apply, initial
from . import calls
from .discovery import find_server
from .stream import SILENCE, Reader

P = ParamSpec("P")
T = TypeVar("T")

TIMEOUT = httpx.Timeout(60.0, connect=10.0)
"""A first run starts the Bridge, and ``stop`` waits 3 s, before they answer."""


def _sync(build: Callable[P, calls.Call[T]]) -> Callable[Concatenate[HermesClient, P], T]:
    @wraps(build)
    def method(client: HermesClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client.send(build(*args, **kwargs))

    return method


def _async(build: Callable[P, calls.Call[T]]) -> Callable[Concatenate[AsyncHermesClient, P], Awaitable[T]]:
    @wraps(build)
    async def method(client: AsyncHermesClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await client.send(build(*args, **kwargs))

    return method


class HermesClient:
    """Routes of *server* (default: the one of this kernel, see `discovery`). Use it in ``with``, or ``close()`` it."""

    def __init__(self, server: ServerFile | None = None) -> None:
        self.server = server or find_server()
        uds = self.server.socket
        self._http = httpx.Client(transport=httpx.HTTPTransport(uds=uds) if uds else None, **_options(self.server))

    create_session = _sync(calls.create_session)
    sessions = _sync(calls.sessions)
    session = _sync(calls.session)
    delete_session = _sync(calls.delete_session)
    messages = _sync(calls.messages)
    start = _sync(calls.start)
    state = _sync(calls.state)
    answer = _sync(calls.answer)
    approve = _sync(calls.approve)
    stop = _sync(calls.stop)
    logs = _sync(calls.logs)
    models = _sync(calls.models)
    skills = _sync(calls.skills)
    health = _sync(calls.health)

    def send(self, call: calls.Call[T]) -> T:
        try:
            return call.result(self._http.request(**call.arguments()))
        except httpx.TransportError as error:
            raise _unreachable(self.server) from error

    def stream(self, run_id: str, after: int = 0) -> Iterator[KnownEvent | Unknown]:
        """Events behind number *after* until the run's end. A broken connection is made again, without a hole or a double."""
        reader = Reader(run_id, after)
        while not reader.ended:
            reason: Exception | None = None
            try:
                with connect_sse(self._http, **reader.request, timeout=_STREAM) as source:  # type: ignore[arg-type]
                    if not source.response.is_success:
                        source.response.read()
                    calls.check(source.response)
                    for frame in source.iter_sse():
                        if (event := reader.take(frame)) is not None:
                            yield event
            except httpx.TransportError as error:
                reason = error
            if not reader.ended:
                time.sleep(reader.lost(reason))

    def follow(self, run_id: str, state: TurnState | None = None) -> Iterator[TurnState]:
        """What is shown of a run, after each event, until its end; *state* is where an earlier reader was."""
        state = state or initial(run_id)
        while not state.ended:
            begun = state.seq
            try:
                for event in self.stream(run_id, state.seq):
                    state = apply(state, event)
                    yield state
            except GapError as gap:
                state = _again(run_id, begun, gap)
            else:
                state = state if state.ended else initial(run_id)  # it ended before what was shown: that was never stored

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncHermesClient:
    """The same routes for ``await``. Use it in ``async with``, or ``await close()`` it."""

    def __init__(self, server: ServerFile | None = None) -> None:
        self.server = server or find_server()
        uds = self.server.socket
        self._http = httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=uds) if uds else None, **_options(self.server))

    create_session = _async(calls.create_session)
    sessions = _async(calls.sessions)
    session = _async(calls.session)
    delete_session = _async(calls.delete_session)
    messages = _async(calls.messages)
    start = _async(calls.start)
    state = _async(calls.state)
    answer = _async(calls.answer)
    approve = _async(calls.approve)
    stop = _async(calls.stop)
    logs = _async(calls.logs)
    models = _async(calls.models)
    skills = _async(calls.skills)
    health = _async(calls.health)

    async def send(self, call: calls.Call[T]) -> T:
        try:
            return call.result(await self._http.request(**call.arguments()))
        except httpx.TransportError as error:
            raise _unreachable(self.server) from error

    async def stream(self, run_id: str, after: int = 0) -> AsyncIterator[KnownEvent | Unknown]:
        """See :meth:`HermesClient.stream`."""
        reader = Reader(run_id, after)
        while not reader.ended:
            reason: Exception | None = None
            try:
                async with aconnect_sse(self._http, **reader.request, timeout=_STREAM) as source:  # type: ignore[arg-type]
                    if not source.response.is_success:
                        await source.response.aread()
                    calls.check(source.response)
                    async for frame in source.aiter_sse():
                        if (event := reader.take(frame)) is not None:
                            yield event
            except httpx.TransportError as error:
                reason = error
            if not reader.ended:
                await asyncio.sleep(reader.lost(reason))

    async def follow(self, run_id: str, state: TurnState | None = None) -> AsyncIterator[TurnState]:
        """See :meth:`HermesClient.follow`."""
        state = state or initial(run_id)
        while not state.ended:
            begun = state.seq
            try:
                async for event in self.stream(run_id, state.seq):
                    state = apply(state, event)
                    yield state
            except GapError as gap:
                state = _again(run_id, begun, gap)
            else:
                state = state if state.ended else initial(run_id)  # it ended before what was shown: that was never stored

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


_STREAM = httpx.Timeout(60.0, connect=10.0, read=SILENCE)


def _options(server: ServerFile) -> dict[str, Any]:
    url = httpx.URL(server.url)
    remote = server.socket is None and not _is_loopback(url.host)
    return {
        "base_url": url.join("hermes/api/chat/"),
        "headers": {"Authorization": f"Bearer {server.token}"} if server.token else {},
        "timeout": TIMEOUT,
        "trust_env": remote,
        "verify": remote,
    }


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _unreachable(server: ServerFile) -> ServerUnreachable:
    host = httpx.URL(server.url).netloc.decode() if server.socket is None else server.socket
    return ServerUnreachable(f"The Jupyter server at {host} does not answer. Start it again, then repeat the cell.")


def _again(run_id: str, begun: int, gap: GapError) -> TurnState:
    """A gap is mended by reading the log from its start; a gap right there is a fault of the log itself."""
    if begun == 0:
        raise UnexpectedAnswer(f"The log of run {run_id} has a hole ({gap}). Report this with the run's journal file.") from gap
    return initial(run_id)
