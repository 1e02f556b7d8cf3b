"""``messages/{id}/logs``: the events of the run that filled a message (R9, R43)."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from ..runs import views
from .base import HermesHandler


class LogsHandler(HermesHandler):
    @web.authenticated
    @authorized
    async def get(self, message_id: str) -> None:
        kinds = [kind for kind in self.get_query_argument("kind", "").split(",") if kind]
        self.answer(await views.logs(self.service, message_id, self.owner, kinds or None))


ROUTES = [(r"messages/([^/]+)/logs", LogsHandler)]
