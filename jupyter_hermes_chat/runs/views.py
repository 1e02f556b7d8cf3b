"""What is read: a session's branch with its logs, a run's state, the list (R4, R22, R41).

A run that goes on is read as its journal on disk up to where memory begins, then memory: so whoever loads history after
``sync`` finds everything that the stream does not repeat. Memory is looked at on the event loop, before the files are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, cast

from ..protocol.errors import MessageNotFound
from ..protocol.events import Unknown, kind_of
from ..protocol.records import (
    ActiveRun,
    LogPage,
    MessagePage,
    MessageView,
    RunState,
    SessionItem,
    SessionList,
    SessionView,
    SyncBody,
)
from ..store.base import SessionHandle
from .channel import Channel, RunEvent
from .recorder import text_so_far
from .service import Service

PAGE = 50


async def events_of(service: Service, handle: SessionHandle, run_id: str, after: int = 0) -> list[RunEvent]:
    """Every event of a run behind *after*, merged as the journal has them; a row that covers *after* is included whole."""
    memory = _memory(service.channels.get(run_id))
    return await asyncio.to_thread(_join, handle, run_id, memory, after)


async def logs(service: Service, message_id: str, owner: str, kinds: Sequence[str] | None) -> LogPage:
    handle, message = await service.find(message_id, owner)
    events = [] if message.run_id is None else await events_of(service, handle, message.run_id)
    last = events[-1].last_seq if events else 0
    return LogPage(events=_plain(e for e in events if kinds is None or kind_of(e) in kinds), last_seq=last)


async def run_state(service: Service, run_id: str, owner: str) -> RunState:
    handle, message = await service.find_run(run_id, owner)
    events = await events_of(service, handle, run_id)
    viewers = service.channels.followers(owner)

    def read() -> RunState:
        pauses = handle.pauses(run_id)
        running = message.status == "RUNNING"
        return RunState(
            run_id=run_id,
            session_id=message.session_id,
            status=message.status,
            last_seq=events[-1].last_seq if events else 0,
            text=text_so_far(run_id, events) if running else message.content,
            pending=[pause for pause in pauses if pause.status == "PENDING"],
            error=message.error,
            viewers=viewers,
        )

    return await asyncio.to_thread(read)


async def session_view(service: Service, session_id: str, owner: str) -> SessionView:
    handle = await service.open(session_id, owner)
    messages, more, active = await asyncio.to_thread(_read_page, handle, _memories(service, session_id), None, PAGE)
    return SessionView(session=handle.session(), messages=messages, has_more=more, active_run_id=active)


async def message_page(service: Service, session_id: str, owner: str, before: str | None, limit: int) -> MessagePage:
    handle = await service.open(session_id, owner)
    messages, more, _ = await asyncio.to_thread(_read_page, handle, _memories(service, session_id), before, limit)
    return MessagePage(messages=messages, has_more=more)


async def session_list(service: Service, owner: str, offset: int, limit: int) -> SessionList:
    rows, total = await asyncio.to_thread(service.store.list_sessions, owner, offset=offset, limit=limit)
    items = [
        SessionItem(
            session=row.session,
            last_message_preview=row.last_message_preview,
            has_active_run=row.active_run_id is not None,
            waiting_for_input=row.waiting,
            active_run_id=row.active_run_id,
        )
        for row in rows
    ]
    return SessionList(items=items, total=total, has_more=offset + len(items) < total)


async def sync_body(service: Service, owner: str) -> SyncBody:
    """For a reader that follows already: what runs, and the revisions of the sessions that moved last."""
    rows, _ = await asyncio.to_thread(service.store.list_sessions, owner, offset=0, limit=PAGE)
    runs = [
        ActiveRun(run_id=c.run_id, session_id=c.session_id, last_seq=c.last_seq, waiting=c.waiting)
        for c in service.channels.active(owner)
    ]
    return SyncBody(runs=runs, revisions={row.session.id: row.session.revision for row in rows})


_Memory = tuple[int, Sequence[RunEvent]]


def _memory(channel: Channel | None) -> _Memory | None:
    return None if channel is None else (channel.first, channel.events)


def _memories(service: Service, session_id: str) -> dict[str, _Memory]:
    """Runs of one session that are not whole on disk yet."""
    return {c.run_id: (c.first, c.events) for c in service.channels.active() if c.session_id == session_id}


def _join(handle: SessionHandle, run_id: str, memory: _Memory | None, after: int) -> list[RunEvent]:
    if memory is None:
        return list(handle.events(run_id, after))
    first, events = memory
    older = [e for e in handle.events(run_id, after) if e.last_seq < first] if after + 1 < first else []
    return older + [e for e in events if e.last_seq > after]


def _read_page(
    handle: SessionHandle, memories: dict[str, _Memory], before: str | None, limit: int
) -> tuple[list[MessageView], bool, str | None]:
    """Messages of the active branch above *before* (else its end), with logs; whether there are more; the run that goes on."""
    tree = handle.tree()
    path = tree.active_path()
    end = len(path)
    if before is not None:
        end = next((at for at, node in enumerate(path) if node.id == before), -1)
        if end < 0:
            raise MessageNotFound("`before` names no message of the branch that is shown.")
    start = max(0, end - limit)
    views = []
    for node in path[start:end]:
        message = handle.message(node.id)
        version, versions = tree.version(message.id)
        run_id = message.run_id
        log = None if run_id is None else _plain(_join(handle, run_id, memories.get(run_id), 0))
        views.append(MessageView(message=message, logs=log, version=version, versions=versions))
    return views, start > 0, handle.running()


def _plain(events: Iterable[RunEvent]) -> list[dict[str, Any]]:
    """Events as the encoder writes them: the structures themselves, since they *are* their JSON."""
    return cast("list[dict[str, Any]]", [e.fields if isinstance(e, Unknown) else e for e in events])
