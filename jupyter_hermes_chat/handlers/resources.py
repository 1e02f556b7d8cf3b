"""``models``, ``skills``, ``health`` and blobs (R44)."""

from __future__ import annotations

import asyncio
import re

import msgspec
from jupyter_server.auth.decorator import authorized
from msgspec import Struct
from tornado import web
from tornado.iostream import StreamClosedError

from .._version import __version__
from ..protocol.bridge import ModelConfig
from ..protocol.errors import BridgeError, HermesChatError, NotFound
from ..protocol.records import ErrorBody, Health, ModelList, SkillList
from .base import HermesHandler
from .page import manifest
from .sessions import SESSION

HEALTH_SECONDS = 2.0
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_CHUNK = 256 * 1024


class _Told(Struct):
    """What a runtime's health says about Hermes; each runtime says more about itself."""

    hermes: str | None = None
    tour: bool | None = None
    problem: ErrorBody | None = None


class ModelsHandler(HermesHandler):
    _track_activity = False

    @web.authenticated
    @authorized
    async def get(self) -> None:
        found = await self.service.runtime.inventory()
        self.answer(
            ModelList(models=found.models, default_id=_model_id(found.default), configured=found.configured, tour=found.tour)
        )


class SkillsHandler(HermesHandler):
    _track_activity = False

    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.answer(SkillList(skills=(await self.service.runtime.inventory()).skills))


class HealthHandler(HermesHandler):
    """Answers always and soon, and never starts anything: this is what a page asks first. What is not known yet is null."""

    _track_activity = False

    @web.authenticated
    @authorized
    async def get(self) -> None:
        core = (manifest() or {}).get("core")
        health = Health(version=__version__, core=core, bridge="stopped", tour=None, hermes=None, capabilities=[])
        try:
            service = self.service
            health.data_folder = str(service.store.data_folder)
            if await service.runtime.alive():
                health.bridge = "running"
                async with asyncio.timeout(HEALTH_SECONDS):
                    told = msgspec.convert(await service.runtime.health(), _Told)
                health.hermes, health.tour, health.problem = told.hermes, told.tour, told.problem
        except TimeoutError:
            self.log.debug("The Hermes Bridge lives, and is still looking at Hermes.")
        except HermesChatError as error:
            if isinstance(error, BridgeError):
                health.bridge = "unavailable"
            health.problem = ErrorBody(error.code, error.message, error.details)
        self.answer(health)


class BlobHandler(HermesHandler):
    """A large result as the tool gave it: never shown by the browser itself (design §9)."""

    @web.authenticated
    @authorized
    async def get(self, session_id: str, sha256: str) -> None:
        handle = await self.service.open(session_id, self.owner)
        path = handle.folder / "blobs" / sha256
        if not _SHA256.fullmatch(sha256) or not path.is_file():
            raise NotFound("There is no such result in this session.")
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header("Content-Disposition", f'attachment; filename="{sha256[:12]}.txt"')
        self.set_header("Content-Security-Policy", "sandbox; default-src 'none'")
        self.set_header("Content-Length", str(path.stat().st_size))
        with await asyncio.to_thread(path.open, "rb") as file:
            try:
                while chunk := await asyncio.to_thread(file.read, _CHUNK):
                    self.write(chunk)
                    await self.flush()
            except StreamClosedError:
                return
        self.finish(set_content_type="application/octet-stream")


def _model_id(model: ModelConfig) -> str | None:
    return None if model.model is None else f"{model.provider}/{model.model}" if model.provider else model.model


ROUTES = [
    (r"models", ModelsHandler),
    (r"skills", SkillsHandler),
    (r"health", HealthHandler),
    (SESSION + r"/blobs/([^/]+)", BlobHandler),
]
