"""The Bridge as a runtime: its routes over httpx, its streams over httpx-sse (R23, R45).

Starting and finding is ``launch``'s. A run lives in the Bridge that accepted it, which may be an older one that drains, so a
question about a run goes to each known Bridge until one knows it. Where a connection fails before anything was sent, that is
``BridgeUnavailable``; where it breaks later, ``BridgeLost``: the run itself may go on, and ``alive`` and ``resume`` tell.
Proxy settings are ignored on loopback.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx
import msgspec
from httpx_sse import SSEError, aconnect_sse

from ..protocol.bridge import PROTOCOL, Ack, Approve, BridgeFile, Clarify, Interrupt, Inventory, RunRequest
from ..protocol.errors import BridgeError, BridgeLost, BridgeUnavailable, HermesChatError, RunNotFound, error_types
from ..protocol.events import Choice, decode, is_terminal
from ..protocol.records import StopResult, Turn
from .base import EventFrame, Frame, GapFrame, TurnFrame
from .launch import LocalBridges

T = TypeVar("T")

READ_SECONDS = 90.0
"""Longer than two heartbeats, and than the first look into a cold Hermes."""

_LOST = "The connection to the Hermes Bridge broke."


class Bridges(Protocol):
    """Where Bridges are: :class:`~.launch.LocalBridges`, or one that somebody else runs (:class:`ExternalBridge`)."""

    def known(self) -> list[BridgeFile]: ...

    async def alive(self) -> bool: ...

    async def ensure(self) -> BridgeFile: ...


class ExternalBridge:
    """One that somebody else runs (``c.HermesChatApp.bridge_url`` and ``bridge_token``). There is no lock to look at."""

    def __init__(self, url: str, token: str) -> None:
        self._file = BridgeFile(url=url.rstrip("/"), token=token, pid=0, protocol=PROTOCOL, version="")

    def known(self) -> list[BridgeFile]:
        return [self._file]

    async def alive(self) -> bool:
        """False when nothing listens there any more."""
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
                await client.get(self._file.url + "/hermes/runs")
        except httpx.ConnectError:
            return False
        except httpx.TransportError:
            return True
        return True

    async def ensure(self) -> BridgeFile:
        return self._file


class BridgeRuntime:
    """A :class:`~.base.Runtime`. *bridge_url* and *bridge_token* point to a Bridge that somebody else runs."""

    def __init__(
        self,
        data_folder: Path,
        *,
        hermes_python: str | None = None,
        hermes_home: str | None = None,
        bridge_url: str | None = None,
        bridge_token: str | None = None,
    ) -> None:
        self.bridges: Bridges = (
            ExternalBridge(bridge_url, bridge_token or "")
            if bridge_url
            else LocalBridges(data_folder, hermes_python=hermes_python, hermes_home=hermes_home)
        )
        self._clients: dict[tuple[str, str], httpx.AsyncClient] = {}

    # ---- runs ----------------------------------------------------------------------------------------------------------

    async def generate(self, request: RunRequest) -> AsyncGenerator[Frame, None]:
        body = msgspec.json.encode(request)
        for last in (False, True):
            file = await self.bridges.ensure()
            try:
                async with aclosing(self._frames(file, "POST", "/hermes/run", body)) as frames:
                    async for frame in frames:
                        yield frame
                return
            except BridgeUnavailable:  # it ended, or began to drain, since it was found; nothing was started there
                if last:
                    raise

    async def resume(self, run_id: str, after: int) -> AsyncGenerator[Frame, None]:
        """Starts no Bridge: ``BridgeLost`` where none is to be reached."""
        path = f"/hermes/runs/{run_id}/events?after={after}"
        missing: HermesChatError = BridgeLost("The Hermes Bridge has ended.")
        for file in self.bridges.known():
            try:
                async with aclosing(self._frames(file, "GET", path)) as frames:
                    async for frame in frames:
                        yield frame
                return
            except RunNotFound as error:
                missing = error
            except BridgeUnavailable as error:
                raise BridgeLost(error.message) from error
        raise missing

    async def confirm(self, run_id: str, seq: int) -> None:
        await self._tell_run(run_id, "ack", Ack(seq=seq))

    async def stop(self, run_id: str, *, force: bool = False) -> bool:
        result = await self._tell_run(run_id, "interrupt", Interrupt(force=force))
        return msgspec.json.decode(result, type=StopResult).cleaned

    async def answer(self, run_id: str, clarify_id: str, answer: str, by: str) -> None:
        await self._tell_run(run_id, "clarify", Clarify(clarify_id=clarify_id, answer=answer, by=by))

    async def approve(self, run_id: str, approval_id: str, choice: Choice, by: str) -> None:
        await self._tell_run(run_id, "approve", Approve(approval_id=approval_id, choice=choice, by=by))

    # ---- the rest ------------------------------------------------------------------------------------------------------

    async def inventory(self) -> Inventory:
        file = await self.bridges.ensure()
        return msgspec.json.decode(await self._ask(file, "GET", "/hermes/models"), type=Inventory)

    async def alive(self) -> bool:
        return await self.bridges.alive()

    async def health(self) -> dict[str, object]:
        """``BridgeHealth`` as JSON. Starts no Bridge: ``BridgeUnavailable`` where none runs."""
        for file in self.bridges.known():
            found: dict[str, object] = msgspec.json.decode(await self._ask(file, "GET", "/hermes/health"))
            return found
        raise BridgeUnavailable("The Hermes Bridge is not running. It starts with the first message.")

    async def shutdown(self) -> None:
        """Ends every known Bridge with its workers. Runs that go on end as stopped."""
        for file in self.bridges.known():
            await self._ask(file, "POST", "/hermes/shutdown")

    async def close(self) -> None:
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.aclose()

    # ---- inside --------------------------------------------------------------------------------------------------------

    def _client(self, file: BridgeFile) -> httpx.AsyncClient:
        key = (file.url, file.token)
        if key not in self._clients:
            self._clients[key] = httpx.AsyncClient(
                base_url=file.url,
                headers={"Authorization": f"Bearer {file.token}"} if file.token else None,
                timeout=httpx.Timeout(10, read=READ_SECONDS, pool=None),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=10),
                trust_env=False,
            )
        return self._clients[key]

    async def _tell_run(self, run_id: str, wish: str, body: msgspec.Struct) -> bytes:
        missing: HermesChatError = BridgeLost("The Hermes Bridge has ended.")
        for file in self.bridges.known():
            try:
                return await self._ask(file, "POST", f"/hermes/runs/{run_id}/{wish}", msgspec.json.encode(body))
            except RunNotFound as error:
                missing = error
        raise missing

    async def _ask(self, file: BridgeFile, method: str, path: str, body: bytes | None = None) -> bytes:
        try:
            response = await self._client(file).request(method, path, content=body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise BridgeUnavailable("The Hermes Bridge cannot be reached.") from error
        except httpx.TransportError as error:
            raise BridgeLost(_LOST) from error
        if response.status_code != 200:
            raise _error_of(response.status_code, response.content)
        return response.content

    async def _frames(self, file: BridgeFile, method: str, path: str, body: bytes | None = None) -> AsyncGenerator[Frame, None]:
        try:
            async with aconnect_sse(self._client(file), method, path, content=body) as source:
                if source.response.status_code != 200:
                    raise _error_of(source.response.status_code, await source.response.aread())
                async for sse in source.aiter_sse():
                    if sse.event == "turn":
                        yield TurnFrame(msgspec.json.decode(sse.data, type=Turn))
                    elif sse.event == "gap":
                        yield GapFrame(msgspec.json.decode(sse.data)["first"])
                    else:
                        event = decode(sse.data)
                        yield EventFrame(event)
                        if is_terminal(event):
                            return
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise BridgeUnavailable("The Hermes Bridge cannot be reached.") from error
        except httpx.TransportError as error:
            raise BridgeLost(_LOST) from error
        except (SSEError, msgspec.DecodeError) as error:
            raise BridgeError("The Hermes Bridge speaks another protocol than this version. Upgrade the older one.") from error
        raise BridgeLost(_LOST)


def _error_of(status: int, content: bytes) -> HermesChatError:
    """The typed error that a Bridge answered; its message never holds what was sent."""
    if status == 401:
        return BridgeUnavailable("The Hermes Bridge refuses the token. Check c.HermesChatApp.bridge_token.")
    try:
        body: dict[str, Any] = msgspec.json.decode(content)["error"]
        kind, message, details = error_types().get(body["code"], BridgeError), str(body["message"]), dict(body.get("details") or {})
    except (msgspec.DecodeError, KeyError, TypeError):
        return BridgeError(f"The Hermes Bridge answered {status} without a reason.")
    details.pop("message", None)
    return (BridgeError if kind is HermesChatError else kind)(message, **details)
