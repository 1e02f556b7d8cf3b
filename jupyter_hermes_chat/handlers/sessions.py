"""``sessions``: make, list, open, delete (R41)."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from ..protocol.records import CreateSession, SessionCreated
from ..runs import views
from .base import HermesHandler

SESSION = r"sessions/([^/]+)"


class SessionsHandler(HermesHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        offset = self.whole_number("offset", 0, 0, 10_000_000)
        limit = self.whole_number("limit", views.PAGE, 1, 200)
        self.answer(await views.session_list(self.service, self.owner, offset, limit))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        session = await self.service.create_session(self.owner, self.body(CreateSession))
        self.answer(SessionCreated(session_id=session.id), 201)


class SessionHandler(HermesHandler):
    @web.authenticated
    @authorized
    async def get(self, session_id: str) -> None:
        self.answer(await views.session_view(self.service, session_id, self.owner))

    @web.authenticated
    @authorized
    async def delete(self, session_id: str) -> None:
        await self.service.delete_session(session_id, self.owner)
        self.set_status(204)
        self.finish()


class MessagesHandler(HermesHandler):
    @web.authenticated
    @authorized
    async def get(self, session_id: str) -> None:
        limit = self.whole_number("limit", views.PAGE, 1, 200)
        before = self.get_query_argument("before", "") or None
        self.answer(await views.message_page(self.service, session_id, self.owner, before, limit))


ROUTES = [
    (r"sessions", SessionsHandler),
    (SESSION, SessionHandler),
    (SESSION + "/messages", MessagesHandler),
]
