"""The rows of a turn, written before its run begins, and how they end when the server died in between (R5, R12, R17).

Everything here blocks and belongs into a thread.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

from ..protocol.errors import BadRequest, MessageNotFound, SessionBusy
from ..protocol.events import RunComplete, RunError, RunStopped
from ..protocol.records import Message, Role, Session, StartRun
from ..store.base import SessionHandle, SessionWriter
from ..tree import Node, Tree
from .recorder import finish, run_started
from .title import title_of


class TurnRows(Struct):
    """``earlier`` are the runs on the path above the user message, root first: the turn's context (R14)."""

    session: Session
    user: Message
    reply: Message
    earlier: list[str]


def write_rows(handle: SessionHandle, owner: str, body: StartRun) -> TurnRows:
    """The user's row (unless the run answers one that is there), the reply's placeholder, the session's defaults: one transaction.

    Raises :class:`SessionBusy`, :class:`MessageNotFound`, :class:`BadRequest`; then nothing was written.
    """
    with handle.transaction() as writer:
        if (busy := writer.running()) is not None:
            raise session_busy(busy)
        tree = writer.tree()
        parent_id = _parent(tree, body)
        session = handle.session()
        model_id = session.model_id if body.model_id is UNSET else body.model_id
        skill = session.skill_folder if body.skill_folder is UNSET else body.skill_folder
        used = {"model_id": model_id, "skill_folder": skill}
        _show(writer, parent_id)
        if body.message is not None:
            user = _add(writer, parent_id, "USER", status="SENT", content=body.message, author=owner, **used)
        elif parent_id is not None and tree[parent_id].role == "USER":
            user = handle.message(parent_id)
        else:
            raise BadRequest("Without a message, parentMessageId names the user message to answer.", field="$.parentMessageId")
        reply = _add(writer, user.id, "ASSISTANT", status="RUNNING", **used)
        titled = {} if session.title else {"title": title_of(user.content)}
        session = writer.update_session(**used, **titled)
        earlier = [node.id for node in tree.path_to(user.parent_id) if node.role == "ASSISTANT"]
    return TurnRows(session, user, reply, earlier)


def session_busy(run_id: str) -> SessionBusy:
    return SessionBusy("A reply is being written in this session already. Wait for its end, or stop it.", runId=run_id)


def end_from_journal(handle: SessionHandle, run_id: str) -> bool:
    """Ends a run whose end is on disk while its message's row does not say so yet: the server died between the two."""
    events = handle.events(run_id)
    last = events[-1] if events else None
    if not isinstance(last, RunComplete | RunStopped | RunError):
        return False
    finish(handle, run_id, last, run_started(events))
    return True


def _parent(tree: Tree[Node], body: StartRun) -> str | None:
    """The message that the turn is written below: the named one, else the end of the branch that is shown."""
    named = body.parent_message_id
    if named is None:
        path = tree.active_path()
        return path[-1].id if path else None
    if named not in tree or tree[named].deleted_at is not None:
        raise MessageNotFound("parentMessageId names no message of this session.", field="$.parentMessageId")
    return named


def _show(writer: SessionWriter, message_id: str | None) -> None:
    """Makes the branch down to *message_id* the one that is shown."""
    tree = writer.tree()
    for node in tree.path_to(message_id):
        if not node.is_active:
            for sibling in tree.group(node.parent_id, node.role):
                if sibling.is_active:
                    writer.update_message(sibling.id, is_active=False)
            writer.update_message(node.id, is_active=True)


def _add(writer: SessionWriter, parent_id: str | None, role: Role, **fields: Any) -> Message:
    placement = writer.tree().place(parent_id, role)
    for sibling_id in placement.deactivate:
        writer.update_message(sibling_id, is_active=False)
    return writer.add_message(parent_id=parent_id, role=role, branch_order=placement.branch_order, **fields)
