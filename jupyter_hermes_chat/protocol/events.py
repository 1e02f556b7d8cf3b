"""Events of a run: the one list that the live stream, the stored log, the history, the exports and the tests all read.

Invariants (design §3):

* the Bridge numbers a run's events from 1, without a hole; a row that the recorder merged covers ``seq … seq_end``;
* exactly one terminal event (:data:`TERMINAL_KINDS`) ends a run, and nothing follows it;
* a text event carries the character ``offset`` inside its segment, so applying it twice, or merged with its neighbours,
  changes nothing;
* an unknown kind is data for a newer reader, never an error (:class:`Unknown`).

Times ``t`` are milliseconds since the start of the run on the Bridge's monotonic clock. Offsets and lengths count Unicode
code points (Python's ``len``); TypeScript converts where it must.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

Level: TypeAlias = Literal["info", "warning", "error"]
Choice: TypeAlias = Literal["once", "session", "always", "deny"]
AskStatus: TypeAlias = Literal["answered", "interrupted", "expired"]


class Usage(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """Tokens and cost of one turn (differences, never running totals). ``cost`` is in US dollars, absent when unknown."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None
    context_used: int | None = None
    context_max: int | None = None


class Todo(Struct, rename="camel", frozen=True):
    id: str
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"]


class Blob(Struct, rename="camel", frozen=True):
    """A result too large for the log: the full bytes lie in the session's ``blobs/<sha256>`` and are served by its route."""

    sha256: str
    size: int
    media_type: str


class Event(Struct, rename="camel", kw_only=True, omit_defaults=True, tag_field="kind", frozen=True):
    """The envelope. ``session_id`` and ``message_id`` are absent from text events: the run id says both (R17).

    A merged row covers ``seq … seq_end`` and ``t … t_end``, so that thinking is timed alike live and in history (R32).
    """

    seq: int
    run_id: str
    t: int
    seq_end: int | None = None
    t_end: int | None = None
    session_id: str | None = None
    message_id: str | None = None

    @property
    def last_seq(self) -> int:
        return self.seq if self.seq_end is None else self.seq_end

    @property
    def last_t(self) -> int:
        return self.t if self.t_end is None else self.t_end


class RunStarted(Event, tag="run_started", kw_only=True, frozen=True):
    model: str | None = None
    provider: str | None = None
    skill: str | None = None
    context_tokens: int | None = None
    user_message_id: str | None = None
    versions: dict[str, str] = {}


class Thinking(Event, tag="thinking", kw_only=True, frozen=True):
    segment: int
    offset: int
    text: str


class Answer(Event, tag="answer", kw_only=True, frozen=True):
    segment: int
    offset: int
    text: str


class Status(Event, tag="status", kw_only=True, frozen=True):
    """One live line. Decorations (kaomoji, spinner frames) are already stripped (R31)."""

    text: str
    level: Level = "info"


class ToolCall(Event, tag="tool_call", kw_only=True, frozen=True):
    call_id: str
    tool: str
    args: dict[str, Any]
    summary: str = ""
    risk: str | None = None


class ToolResult(Event, tag="tool_result", kw_only=True, frozen=True):
    """``result`` is the tool's own text; JSON stays JSON text, so that nothing is lost in a second encoding."""

    call_id: str
    result: str
    is_error: bool = False
    duration_ms: int | None = None
    truncated: bool = False
    blob: Blob | None = None


class TodoUpdate(Event, tag="todo_update", kw_only=True, frozen=True):
    """Always the whole list."""

    todos: list[Todo]


class ClarifyRequest(Event, tag="clarify_request", kw_only=True, frozen=True):
    clarify_id: str
    question: str
    choices: list[str] = []
    allow_other: bool = True
    expires_at: int | None = None


class ClarifyResolved(Event, tag="clarify_resolved", kw_only=True, frozen=True):
    clarify_id: str
    status: AskStatus
    answer: str | None = None
    by: str | None = None


class ApprovalRequest(Event, tag="approval_request", kw_only=True, frozen=True):
    """``command`` is exact; the interface makes control and bidi characters visible (R38)."""

    approval_id: str
    command: str
    description: str = ""
    choices: list[Choice] = []


class ApprovalResolved(Event, tag="approval_resolved", kw_only=True, frozen=True):
    approval_id: str
    choice: Choice
    by: str | None = None


class ActionRequest(Event, tag="action_request", kw_only=True, frozen=True):
    execution_id: str
    action: str
    args: dict[str, Any]
    target: Literal["kernel", "page"]
    needs_consent: bool = True


class ActionResult(Event, tag="action_result", kw_only=True, frozen=True):
    execution_id: str
    result: str
    is_error: bool = False


class Subagent(Event, tag="subagent", kw_only=True, frozen=True):
    subagent_id: str
    state: Literal["started", "progress", "finished", "failed"]
    goal: str = ""
    text: str = ""


class ContextCompacted(Event, tag="context_compacted", kw_only=True, frozen=True):
    """``summary`` is the text that now stands for the first ``count`` model messages."""

    summary: str
    compacted_until_message_id: str | None = None
    count: int = 0


class Suggestions(Event, tag="suggestions", kw_only=True, frozen=True):
    """Up to three follow-ups, before the terminal event (R52)."""

    items: list[str]


class UsageUpdate(Event, tag="usage", kw_only=True, frozen=True):
    usage: Usage


class Notice(Event, tag="notice", kw_only=True, frozen=True):
    text: str
    level: Level = "info"
    code: str | None = None


class RunComplete(Event, tag="run_complete", kw_only=True, frozen=True):
    """``text`` is the final answer, whole: the last answer segment. ``segments`` counts the answer segments."""

    text: str
    duration_ms: int
    usage: Usage = Usage()
    segments: int = 1


class RunStopped(Event, tag="run_stopped", kw_only=True, frozen=True):
    """``cleaned`` is false where the worker had to be killed and Hermes could not tidy up after itself."""

    text: str = ""
    cleaned: bool = True
    duration_ms: int | None = None
    usage: Usage = Usage()


class RunError(Event, tag="run_error", kw_only=True, frozen=True):
    """``message`` is a sentence that says what to do; ``code`` is stable (:mod:`.errors`); ``text`` is what was answered so far."""

    code: str
    message: str
    text: str = ""
    duration_ms: int | None = None
    guardrails_failure_reason: str | None = None


class Unknown(Struct, frozen=True):
    """An event of a kind that this version does not know; ``fields`` is the whole JSON object."""

    kind: str
    seq: int
    fields: dict[str, Any]

    @property
    def last_seq(self) -> int:
        return int(self.fields.get("seqEnd", self.seq))


KnownEvent: TypeAlias = (
    RunStarted | Thinking | Answer | Status | ToolCall | ToolResult | TodoUpdate | ClarifyRequest | ClarifyResolved
    | ApprovalRequest | ApprovalResolved | ActionRequest | ActionResult | Subagent | ContextCompacted | Suggestions
    | UsageUpdate | Notice | RunComplete | RunStopped | RunError
)  # fmt: skip
TextEvent: TypeAlias = Thinking | Answer
Terminal: TypeAlias = RunComplete | RunStopped | RunError

EVENT_TYPES: tuple[type[Event], ...] = KnownEvent.__args__
KINDS: frozenset[str] = frozenset(t.__struct_config__.tag for t in EVENT_TYPES)  # type: ignore[misc]
TERMINAL_KINDS: frozenset[str] = frozenset({"run_complete", "run_stopped", "run_error"})
TEXT_KINDS: frozenset[str] = frozenset({"thinking", "answer"})

_decoder = msgspec.json.Decoder(KnownEvent)
_encoder = msgspec.json.Encoder()


class _Peek(Struct):
    kind: str
    seq: int


_peek = msgspec.json.Decoder(_Peek)


def decode(raw: bytes | str) -> KnownEvent | Unknown:
    """The event in one JSON object. Raises ``msgspec.ValidationError`` where a known kind lacks a field or has a wrong one."""
    try:
        return _decoder.decode(raw)
    except msgspec.ValidationError:
        head = _peek.decode(raw)
        if head.kind in KINDS:
            raise
        return Unknown(kind=head.kind, seq=head.seq, fields=msgspec.json.decode(raw))


def encode(event: KnownEvent | Unknown) -> bytes:
    """JSON without line breaks, so that it is one line of a journal and one ``data:`` line of SSE."""
    return _encoder.encode(event.fields if isinstance(event, Unknown) else event)


def kind_of(event: KnownEvent | Unknown) -> str:
    return event.kind if isinstance(event, Unknown) else str(event.__struct_config__.tag)


def is_terminal(event: KnownEvent | Unknown) -> bool:
    return isinstance(event, RunComplete | RunStopped | RunError)


def merge(events: list[KnownEvent | Unknown]) -> list[KnownEvent | Unknown]:
    """Adjacent text events of one kind and segment become one event that covers ``seq … seq_end`` and ``t … t_end`` (design §3).

    Order and text are unchanged, no number is lost, everything else passes through.
    """
    out: list[KnownEvent | Unknown] = []
    first: TextEvent | None = None  # of the texts that belong together; it is written when they are known
    last: TextEvent | None = None
    texts: list[str] = []
    end = 0

    def close() -> None:
        if first is not None and last is not None:
            whole = first if first is last else replace(first, text="".join(texts), seq_end=last.last_seq, t_end=last.last_t)
            out.append(whole)

    for event in events:
        if not isinstance(event, Thinking | Answer):
            close()
            first = last = None
            out.append(event)
            continue
        if (
            first is None
            or last is None
            or type(event) is not type(first)
            or event.segment != first.segment
            or event.seq != last.last_seq + 1
            or event.offset != end
        ):
            close()
            first, texts = event, []
        last = event
        texts.append(event.text)
        end = event.offset + len(event.text)
    close()
    return out
