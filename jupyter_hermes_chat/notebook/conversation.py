"""The chat that a kernel is in: its server, its current session, its last reply.

A session is made with the first message, not before. The server is looked for when it is first needed, and again when the one
that was found is gone.
"""

from __future__ import annotations

from collections.abc import Iterator

import psutil
from IPython.core.error import UsageError
from msgspec import UNSET

from ..client import HermesClient
from ..client.service import find_or_start
from ..protocol.records import SessionItem, StartRun
from .reply import Reply

PAGE = 50


class Conversation:
    def __init__(self) -> None:
        self.session_id: str | None = None
        self.last: Reply | None = None
        self._title: str | None = None
        self._listed: list[str] = []
        self._client: HermesClient | None = None

    @property
    def client(self) -> HermesClient:
        """Raises :class:`~..protocol.errors.ServerNotFound`."""
        old = self._client
        if old is not None and old.server.pid and not psutil.pid_exists(old.server.pid):
            old.close()
            self._client = None
        if self._client is None:
            self._client = HermesClient(find_or_start())
        return self._client

    def new(self, title: str = "") -> None:
        """The next message begins a new session."""
        self.session_id, self._title = None, title or None

    def use(self, reference: str) -> str:
        """Makes the session that *reference* means the current one, and gives its title."""
        item = self._find(reference)
        self.session_id = item.session.id
        return item.session.title

    def list(self) -> list[SessionItem]:
        """The latest sessions; their places, counted from 1, are what ``use`` takes from now on."""
        items = self.client.sessions(limit=PAGE).items
        self._listed = [item.session.id for item in items]
        return items

    def send(self, message: str, *, model: str | None = None, skill: str | None = None) -> str:
        """Starts a run in the current session, and gives its id. An interrupt in between stops what was started."""
        client = self.client
        if self.session_id is None:
            self.session_id = client.create_session(title=self._title).session_id
        body = StartRun(message=message, model_id=model or UNSET, skill_folder=skill or UNSET)
        try:
            return client.start(self.session_id, body).run_id
        except KeyboardInterrupt:
            run_id = self.active_run()
            if run_id is None:
                raise
            client.stop(run_id)
            return run_id

    def active_run(self) -> str | None:
        """The run that goes on in the current session, whoever started it."""
        return None if self.session_id is None else self.client.session(self.session_id).active_run_id

    def _all(self) -> Iterator[SessionItem]:
        offset, more = 0, True
        while more:
            page = self.client.sessions(offset=offset, limit=PAGE)
            yield from page.items
            offset, more = offset + len(page.items), page.has_more

    def _find(self, reference: str) -> SessionItem:
        """By number of the last list, by the beginning of an id, or by title (whole, else a part of it)."""
        if reference.isascii() and reference.isdigit() and 1 <= int(reference) <= len(self._listed):
            wanted = self._listed[int(reference) - 1]
            found = [item for item in self._all() if item.session.id == wanted]
        else:
            items, word = list(self._all()), reference.casefold()
            found = (
                [i for i in items if i.session.title.casefold() == word]
                or [i for i in items if len(word) >= 4 and i.session.id.startswith(word)]
                or [i for i in items if word in i.session.title.casefold()]
            )
        if not found:
            raise UsageError(f"No chat is called {reference!r}. %hermes list shows them.")
        if len(found) > 1:
            raise UsageError(f"{len(found)} chats match {reference!r}. %hermes list gives each a number: %hermes use NUMBER.")
        return found[0]
