"""The Bridge over HTTP on loopback: routes, bearer token, Server-Sent Events (R45; ``docs/protocol.md`` lists the routes).

Every route wants the token, unknown ones too. A broken connection touches no run. No header or body is ever logged.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from tornado.iostream import StreamClosedError
from tornado.web import Application, HTTPError, RequestHandler

from ..protocol.bridge import PROTOCOL, Ack, Approve, BridgeHealth, BridgeRuns, Clarify, Interrupt, RunRequest, Steer
from ..protocol.errors import BadRequest, Forbidden, HermesChatError, NotFound
from ..protocol.records import StopResult
from ..protocol.sse import HEADERS, HEARTBEAT, HEARTBEAT_SECONDS, PADDING, parse_last_event_id
from .broker import Broker
from .inventory import InventoryReader
from .run_log import RunLog

T = TypeVar("T")
log = logging.getLogger(__name__)


class _Handler(RequestHandler):
    def initialize(self, bridge: BridgeApplication) -> None:
        self.bridge = bridge
        self.broker = bridge.broker
        self._left = asyncio.Event()

    def prepare(self) -> None:
        given = self.request.headers.get("Authorization", "")
        if not secrets.compare_digest(given.encode(), b"Bearer " + self.bridge.token.encode()):
            raise HTTPError(401)

    def body(self, type_: type[T]) -> T:
        """The request's JSON. ``BadRequest`` names the field that does not fit."""
        try:
            return msgspec.json.decode(self.request.body or b"{}", type=type_)
        except msgspec.DecodeError as error:
            text = str(error)
            at = text.rpartition("`$.")[2].rstrip("`") if "`$." in text else ""
            field = at or (text.split("`")[1] if text.count("`") >= 2 and "missing required" in text else "")
            raise BadRequest(f"The request does not fit: {text}.", field=field) from error

    def answer(self, value: Any = None) -> None:
        self.set_header("Content-Type", "application/json")
        self.finish(msgspec.json.encode({} if value is None else value))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        if isinstance(error, HermesChatError):
            body = error.body()
        elif status_code == 401:
            body = Forbidden("This needs the Bridge's token.").body()
        elif status_code == 405:
            body = BadRequest("This route does not know that method.").body()
        else:
            body = HermesChatError("The Bridge made a mistake; its log has the details.").body()
        self.answer(body)

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        if not isinstance(value, HermesChatError | HTTPError):
            log.error("%s %s", self.request.method, self.request.path, exc_info=(typ, value, tb))

    def send_error(self, status_code: int = 500, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        super().send_error(error.status if isinstance(error, HermesChatError) else status_code, **kwargs)

    def on_connection_close(self) -> None:
        self._left.set()

    async def stream(self, run: RunLog, after: int) -> None:
        """The run's frames behind *after*, then what comes, to the end. Whatever waits goes out as one write."""
        for name, value in HEADERS.items():
            self.set_header(name, value)
        connection: Any = self.request.connection
        connection.stream.set_nodelay(True)
        self.write(PADDING)
        reader = asyncio.current_task()
        assert reader is not None
        self.bridge.readers.add(reader)
        reader.add_done_callback(self.bridge.readers.discard)
        left = asyncio.ensure_future(self._left.wait())
        try:
            await self.flush()
            while not self._left.is_set():
                changed = run.changed()
                frames, reached = run.frames_after(after)
                if frames:
                    changed.cancel()
                    self.write(frames)
                    await self.flush()  # waits for this reader only, never the run for it
                    after = reached
                elif run.ended:
                    changed.cancel()
                    return
                else:
                    await asyncio.wait((changed, left), timeout=HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                    if not changed.done():
                        changed.cancel()
                        self.write(HEARTBEAT)
                        await self.flush()
        except StreamClosedError:
            return
        finally:
            left.cancel()


class _Run(_Handler):
    async def post(self) -> None:
        await self.stream(self.broker.start(self.body(RunRequest)), 0)


class _Runs(_Handler):
    def get(self) -> None:
        self.answer(BridgeRuns(runs=self.broker.runs()))


class _Events(_Handler):
    async def get(self, run_id: str) -> None:
        try:
            after = parse_last_event_id(self.get_query_argument("after", "0"))
        except ValueError as error:
            raise BadRequest("`after` must be a whole number from 0.", field="after") from error
        await self.stream(self.broker.log(run_id), after)


class _Wish(_Handler):
    """``POST /hermes/runs/{id}/{wish}``."""

    async def post(self, run_id: str, wish: str) -> None:
        result: Any = None
        match wish:
            case "ack":
                self.broker.confirm(run_id, self.body(Ack).seq)
            case "interrupt":
                ended = await self.broker.interrupt(run_id, force=self.body(Interrupt).force)
                result = StopResult(success=True, cleaned=ended)
            case "clarify":
                self.broker.clarify(run_id, self.body(Clarify))
            case "approve":
                self.broker.approve(run_id, self.body(Approve))
            case _:
                self.broker.steer(run_id, self.body(Steer).text)
        self.answer(result)


class _Reset(_Handler):
    def post(self, session_id: str) -> None:
        self.broker.reset(session_id)
        self.answer()


class _Inventory(_Handler):
    async def get(self) -> None:
        self.broker.touch()
        self.answer(await self.bridge.inventory.read())


class _Health(_Handler):
    async def get(self) -> None:
        self.answer(await self.bridge.health())


class _Drain(_Handler):
    def post(self) -> None:
        self.bridge.drain()
        self.answer()


class _Shutdown(_Handler):
    def post(self) -> None:
        self.answer()
        self.bridge.stop.set()


class _Unknown(_Handler):
    def prepare(self) -> None:
        super().prepare()
        raise NotFound("The Bridge has no such route.")


class BridgeApplication(Application):
    """The routes, and what they need. *give_up_place* makes room for a newer Bridge; ``stop`` ends this one.

    ``readers`` are the open streams: a Bridge that ends lets them have their last frames.
    """

    def __init__(
        self, broker: Broker, inventory: InventoryReader, token: str, version: str, give_up_place: Callable[[], None]
    ) -> None:
        self.broker = broker
        self.inventory = inventory
        self.token = token
        self.stop = asyncio.Event()
        self.readers: set[asyncio.Task[Any]] = set()
        self._version = version
        self._give_up_place = give_up_place
        known = {"bridge": self}
        wishes = "ack|interrupt|clarify|approve|steer"
        routes: list[tuple[str, type[RequestHandler]]] = [
            (r"/hermes/run", _Run),
            (r"/hermes/runs", _Runs),
            (r"/hermes/runs/([\w.-]+)/events", _Events),
            (rf"/hermes/runs/([\w.-]+)/({wishes})", _Wish),
            (r"/hermes/sessions/([\w-]+)/reset", _Reset),
            (r"/hermes/(?:models|skills)", _Inventory),
            (r"/hermes/health", _Health),
            (r"/hermes/drain", _Drain),
            (r"/hermes/shutdown", _Shutdown),
        ]
        super().__init__(
            [(path, handler, known) for path, handler in routes],
            default_handler_class=_Unknown,
            default_handler_args=known,
            log_function=lambda handler: None,
        )

    async def health(self) -> BridgeHealth:
        found = await self.inventory.read()
        return BridgeHealth(
            version=self._version,
            protocol=PROTOCOL,
            pid=os.getpid(),
            interpreter=self.inventory.interpreter,
            hermes=found.hermes,
            tour=found.tour,
            workers=self.broker.pool.workers,
            spares=self.broker.pool.spares,
            runs=len(self.broker.runs()),
            problem=found.problem,
        )

    def drain(self) -> None:
        """No new runs from now on; the place is free at once, the process ends when its runs are over and confirmed."""
        if not self.broker.draining:
            self.broker.draining = True
            self._give_up_place()
