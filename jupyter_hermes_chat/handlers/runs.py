"""``sessions/{id}/runs`` and ``runs/{id}/…``: start, state, answer, approve, stop (R42). Streams are in :mod:`.streams`."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from ..protocol.records import ApproveRun, ResumeRun, StartRun, StopRun
from ..runs import views
from .base import HermesHandler, authorized_to_execute
from .sessions import SESSION

RUN = r"runs/([^/]+)"


class StartHandler(HermesHandler):
    @web.authenticated
    @authorized_to_execute
    async def post(self, session_id: str) -> None:
        self.answer(await self.service.start_run(session_id, self.owner, self.body(StartRun)), 202)


class StateHandler(HermesHandler):
    _track_activity = False

    @web.authenticated
    @authorized
    async def get(self, run_id: str) -> None:
        self.answer(await views.run_state(self.service, run_id, self.owner))


class ResumeHandler(HermesHandler):
    @web.authenticated
    @authorized_to_execute
    async def post(self, run_id: str) -> None:
        body = self.body(ResumeRun)
        await self.service.answer(run_id, self.owner, body.clarify_id, body.answer)
        self.answer(await views.run_state(self.service, run_id, self.owner))


class ApproveHandler(HermesHandler):
    @web.authenticated
    @authorized_to_execute
    async def post(self, run_id: str) -> None:
        body = self.body(ApproveRun)
        await self.service.approve(run_id, self.owner, body.approval_id, body.choice)
        self.answer(await views.run_state(self.service, run_id, self.owner))


class StopHandler(HermesHandler):
    @web.authenticated
    @authorized_to_execute
    async def post(self, run_id: str) -> None:
        self.answer(await self.service.stop(run_id, self.owner, force=self.body(StopRun).force))


ROUTES = [
    (SESSION + "/runs", StartHandler),
    (RUN + "/state", StateHandler),
    (RUN + "/resume", ResumeHandler),
    (RUN + "/approve", ApproveHandler),
    (RUN + "/stop", StopHandler),
]
