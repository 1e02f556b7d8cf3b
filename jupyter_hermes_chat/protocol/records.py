"""Records that are stored, and the bodies of the REST interface (R7, R8, R41–R44).

Ids (design §4): a session is a uuid4; message *n* of a session is ``<session>.<n>``, and the run that fills an assistant
message has that message's id (R17), so an id alone finds its folder. Ids from outside are matched against
:data:`SESSION_ID` and :data:`MESSAGE_ID` before they touch a path. Times are whole milliseconds since the Unix epoch, UTC.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from .events import Usage

SESSION_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
MESSAGE_ID = re.compile(SESSION_ID.pattern + r"\.[1-9][0-9]{0,8}", re.ASCII)

SessionStatus: TypeAlias = Literal["ACTIVE", "ARCHIVED"]
Role: TypeAlias = Literal["USER", "ASSISTANT", "SYSTEM"]
MessageStatus: TypeAlias = Literal["SENT", "RUNNING", "SUCCESS", "FAILED", "STOPPED", "SUMMARY", "MARKER"]
PauseKind: TypeAlias = Literal["clarify", "approval"]
PauseStatus: TypeAlias = Literal["PENDING", "ANSWERED", "INTERRUPTED", "EXPIRED"]


def split_message_id(message_id: str) -> tuple[str, int]:
    """``<session>.<n>`` → (session id, n). Raises ``ValueError`` where the id is not one."""
    if not MESSAGE_ID.fullmatch(message_id):
        raise ValueError("not a message id")
    session_id, _, n = message_id.rpartition(".")
    return session_id, int(n)


class Record(Struct, rename="camel", kw_only=True):
    """Base of what is stored: every field is written, so that a file says what it means without this code."""


class Session(Record, kw_only=True):
    id: str
    owner: str
    hermes_session: str
    title: str = ""
    title_by_person: bool = False
    model_id: str | None = None
    skill_folder: str | None = None
    status: SessionStatus = "ACTIVE"
    working_dir: str | None = None
    created_at: int
    updated_at: int
    last_message_at: int | None = None
    last_summarized_at: int | None = None
    revision: int = 1


class ErrorBody(Struct, rename="camel", frozen=True):
    code: str
    message: str
    details: dict[str, Any] = {}


class Message(Record, kw_only=True):
    id: str
    session_id: str
    parent_id: str | None
    role: Role
    status: MessageStatus
    content: str = ""
    is_active: bool = True
    branch_order: int = 1
    deleted_at: int | None = None
    run_id: str | None = None
    model_id: str | None = None
    skill_folder: str | None = None
    error: ErrorBody | None = None
    usage: Usage | None = None
    author: str | None = None
    attachment_ids: list[str] = []
    created_at: int
    completed_at: int | None = None


class Pause(Record, kw_only=True):
    """A question or an approval that waits for a person (R37, R38). ``payload`` is the request event's own fields."""

    id: str
    run_id: str
    kind: PauseKind
    status: PauseStatus = "PENDING"
    payload: dict[str, Any] = {}
    answer: str | None = None
    by: str | None = None
    created_at: int
    resolved_at: int | None = None


class Turn(Record, kw_only=True):
    """The model messages that one turn added to the context, or all of them after a compaction (design §6, R14)."""

    mode: Literal["add", "replace"]
    messages: list[dict[str, Any]]


# ---- bodies of requests ---------------------------------------------------------------------------------------------


class Body(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Base of request bodies: a misspelt field is an error that names it, not a silent default."""


class CreateSession(Body, kw_only=True):
    title: str | None = None
    model_id: str | None = None
    skill_folder: str | None = None
    working_dir: str | None = None


class ContextItem(Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A piece of the notebook that goes along with a message (R51). ``kind`` is cell, selection, variable, error, file or tag."""

    kind: str
    label: str
    text: str


class StartRun(Body, kw_only=True):
    message: str | None = None
    model_id: str | UnsetType | None = UNSET
    skill_folder: str | UnsetType | None = UNSET
    max_iterations: int = 100
    parent_message_id: str | None = None
    context: list[ContextItem] = []
    mode: Literal["send"] = "send"


class ResumeRun(Body, kw_only=True):
    clarify_id: str
    answer: str


class ApproveRun(Body, kw_only=True):
    approval_id: str
    choice: Literal["once", "session", "always", "deny"]


class StopRun(Body, kw_only=True):
    force: bool = False


# ---- bodies of answers ----------------------------------------------------------------------------------------------


class Answered(Struct, rename="camel", kw_only=True):
    """Base of answers; a newer server may add fields."""


class SessionCreated(Answered, kw_only=True):
    session_id: str


class RunStartedBody(Answered, kw_only=True):
    run_id: str
    message_id: str
    user_message_id: str


class SessionItem(Answered, kw_only=True):
    """A row of the list (R41)."""

    session: Session
    last_message_preview: str
    has_active_run: bool
    waiting_for_input: bool
    active_run_id: str | None = None


class SessionList(Answered, kw_only=True):
    items: list[SessionItem]
    total: int
    has_more: bool


class MessageView(Answered, kw_only=True):
    """A message as it is shown: ``logs`` are the events of its run, ``versions`` counts undeleted siblings (R12)."""

    message: Message
    logs: list[dict[str, Any]] | None = None
    version: int = 1
    versions: int = 1


class SessionView(Answered, kw_only=True):
    session: Session
    messages: list[MessageView]
    has_more: bool
    active_run_id: str | None = None


class MessagePage(Answered, kw_only=True):
    messages: list[MessageView]
    has_more: bool


class LogPage(Answered, kw_only=True):
    events: list[dict[str, Any]]
    last_seq: int


class RunState(Answered, kw_only=True):
    """R22: enough to show a run without its stream. ``viewers`` counts the open page streams of the run's owner: where it is
    0, nobody sees a question in the page (R56)."""

    run_id: str
    session_id: str
    status: MessageStatus
    last_seq: int
    text: str
    pending: list[Pause]
    error: ErrorBody | None = None
    viewers: int = 0


class StopResult(Answered, kw_only=True):
    success: bool
    cleaned: bool


class ModelItem(Answered, kw_only=True):
    """``id`` is ``<provider>/<model>``, split at the first slash; it is what ``modelId`` names everywhere."""

    id: str
    provider: str
    model: str
    name: str
    context_length: int | None = None


class ModelList(Answered, kw_only=True):
    """``default_id`` is what an empty ``modelId`` means. ``tour`` is true while scripted replies stand in for a model."""

    models: list[ModelItem]
    default_id: str | None
    configured: bool
    tour: bool


class SkillItem(Answered, kw_only=True):
    """``folder`` is the skill's name as ``skill_view`` takes it, and what ``skillFolder`` names everywhere."""

    folder: str
    name: str
    description: str = ""
    category: str = ""


class SkillList(Answered, kw_only=True):
    skills: list[SkillItem]


class Health(Answered, kw_only=True):
    """``core`` is the file name of the front end's core under ``hermes/static/``."""

    version: str
    core: str | None
    bridge: Literal["running", "stopped", "unavailable"]
    tour: bool | None
    hermes: str | None
    capabilities: list[str]
    data_folder: str | None = None
    problem: ErrorBody | None = None


class ActiveRun(Answered, kw_only=True):
    run_id: str
    session_id: str
    last_seq: int
    waiting: bool


class SyncBody(Answered, kw_only=True):
    """First event of the page's stream (``event: sync``): what runs, and which revision each recent session has."""

    runs: list[ActiveRun]
    revisions: dict[str, int]


class SessionChanged(Answered, kw_only=True):
    """``event: session_changed``: a client that shows this session loads it again. ``revision`` 0 means that it is gone."""

    session_id: str
    revision: int
