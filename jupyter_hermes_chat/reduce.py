"""Events of a run → what is shown of it: the one function that live view, history, cells and exports share (R32).

:func:`reduce` is a fold of :func:`apply` over the run log, and ``js/src/protocol/reduce.ts`` is its twin: both run the cases
in ``tests/cases/reduce/``. What it keeps true:

* applying an event twice, or merged with its neighbours, changes nothing (numbers and text offsets say what is known);
* nothing is guessed over a hole: a number or an offset behind what is known is a :class:`GapError`, and the caller loads
  the run again;
* nothing follows a terminal event, and behind it nothing waits and nothing runs;
* a state belongs to one run and knows of no other (R29).

Values are never changed in place. Times are milliseconds since the start of the run, offsets count Unicode code points.
The state's JSON (:func:`to_json`) is camelCase and whole: every field is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .protocol import events as e

Phase: TypeAlias = Literal["starting", "running", "waiting", "complete", "stopped", "error"]
ENDED: frozenset[Phase] = frozenset({"complete", "stopped", "error"})


class GapError(Exception):
    """An event lies behind a hole. The state is unchanged; load the run's log and begin again."""


class StatusLine(Struct, frozen=True):
    text: str
    level: e.Level


class TurnError(Struct, rename="camel", frozen=True):
    code: str
    message: str
    guardrails_failure_reason: str | None


class _Part(Struct, rename="camel", tag_field="type", frozen=True, kw_only=True):
    """Parts stand in order of first appearance and keep their place when they change."""


class ThinkingPart(_Part, tag="thinking", frozen=True, kw_only=True):
    segment: int
    text: str
    start: int
    end: int


class AnswerPart(_Part, tag="answer", frozen=True, kw_only=True):
    segment: int
    text: str
    start: int
    end: int


class ToolPart(_Part, tag="tool", frozen=True, kw_only=True):
    call_id: str
    tool: str
    args: dict[str, Any]
    summary: str
    risk: str | None
    start: int
    status: Literal["running", "done", "error"] = "running"
    result: str | None = None
    duration_ms: int | None = None
    truncated: bool = False
    blob: e.Blob | None = None


class ClarifyPart(_Part, tag="clarify", frozen=True, kw_only=True):
    clarify_id: str
    question: str
    choices: list[str]
    allow_other: bool
    expires_at: int | None
    status: Literal["pending", "answered", "interrupted", "expired"] = "pending"
    answer: str | None = None
    by: str | None = None


class ApprovalPart(_Part, tag="approval", frozen=True, kw_only=True):
    approval_id: str
    command: str
    description: str
    choices: list[e.Choice]
    status: Literal["pending", "resolved"] = "pending"
    choice: e.Choice | None = None
    by: str | None = None


class ActionPart(_Part, tag="action", frozen=True, kw_only=True):
    execution_id: str
    action: str
    args: dict[str, Any]
    target: Literal["kernel", "page"]
    needs_consent: bool
    status: Literal["running", "done", "error"] = "running"
    result: str | None = None


class SubagentPart(_Part, tag="subagent", frozen=True, kw_only=True):
    subagent_id: str
    goal: str
    state: Literal["started", "progress", "finished", "failed"]
    text: str


class CompactedPart(_Part, tag="compacted", frozen=True, kw_only=True):
    summary: str
    compacted_until_message_id: str | None
    count: int


class NoticePart(_Part, tag="notice", frozen=True, kw_only=True):
    level: e.Level
    text: str
    code: str | None


class UnknownPart(_Part, tag="unknown", frozen=True, kw_only=True):
    """An event of a newer version, or an answer to nothing that is known: a plain row, never an error."""

    kind: str
    fields: dict[str, Any]


Part: TypeAlias = (
    ThinkingPart | AnswerPart | ToolPart | ClarifyPart | ApprovalPart | ActionPart | SubagentPart | CompactedPart
    | NoticePart | UnknownPart
)  # fmt: skip


class TurnState(Struct, rename="camel", frozen=True, kw_only=True):
    """``seq`` is the last number applied. ``text`` is the final answer; until the end, the text of the last answer part."""

    run_id: str
    seq: int = 0
    phase: Phase = "starting"
    model: str | None = None
    provider: str | None = None
    skill: str | None = None
    status: StatusLine | None = None
    parts: tuple[Part, ...] = ()
    todos: list[e.Todo] = []
    suggestions: list[str] = []
    usage: e.Usage | None = None
    text: str = ""
    error: TurnError | None = None
    cleaned: bool | None = None
    duration_ms: int | None = None
    thinking_ms: int = 0
    tool_count: int = 0

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    @property
    def pending(self) -> tuple[ClarifyPart | ApprovalPart, ...]:
        """What waits for a person, oldest first."""
        return tuple(p for p in self.parts if isinstance(p, ClarifyPart | ApprovalPart) and p.status == "pending")


def initial(run_id: str) -> TurnState:
    return TurnState(run_id=run_id)


def reduce(run_id: str, events: Iterable[e.KnownEvent | e.Unknown]) -> TurnState:
    """The state after *events*. Raises :class:`GapError` where they have a hole. Linear in the length of the log."""
    state = initial(run_id)
    for event in e.merge(list(events)):
        state = apply(state, event)
    return state


def apply(state: TurnState, event: e.KnownEvent | e.Unknown) -> TurnState:
    """The state after one more event; the same object where the event is known already. Raises :class:`GapError`."""
    if event.last_seq <= state.seq or state.ended:
        return state
    if event.seq > state.seq + 1:
        raise GapError(f"event {event.seq} came after {state.seq}")
    after = _after(state, event)
    phase: Phase = after.phase if after.ended else "waiting" if after.pending else "running"
    return replace(after, seq=event.last_seq, phase=phase)


def to_json(state: TurnState) -> dict[str, Any]:
    """The state as the plain camelCase value that stands in a cell's output and in the shared cases."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(state))
    return plain


def from_json(plain: dict[str, Any]) -> TurnState:
    """Raises ``msgspec.ValidationError`` where *plain* is no state."""
    return msgspec.convert(plain, TurnState)


def _after(state: TurnState, event: e.KnownEvent | e.Unknown) -> TurnState:
    match event:
        case e.Thinking() | e.Answer():
            return _text(state, event)
        case e.RunStarted():
            return replace(state, model=event.model, provider=event.provider, skill=event.skill)
        case e.Status():
            return replace(state, status=StatusLine(event.text, event.level))
        case e.ToolCall():
            part: Part = ToolPart(
                call_id=event.call_id, tool=event.tool, args=event.args, summary=event.summary, risk=event.risk, start=event.t
            )
            return replace(_add(state, part), tool_count=state.tool_count + 1)
        case e.ToolResult():
            return _settle(
                state, event, lambda p: isinstance(p, ToolPart) and p.call_id == event.call_id,
                status="error" if event.is_error else "done", result=event.result, duration_ms=event.duration_ms,
                truncated=event.truncated, blob=event.blob,
            )  # fmt: skip
        case e.TodoUpdate():
            return replace(state, todos=event.todos)
        case e.ClarifyRequest():
            return _add(
                state,
                ClarifyPart(
                    clarify_id=event.clarify_id, question=event.question, choices=event.choices,
                    allow_other=event.allow_other, expires_at=event.expires_at,
                ),
            )  # fmt: skip
        case e.ClarifyResolved():
            return _settle(
                state, event, lambda p: isinstance(p, ClarifyPart) and p.clarify_id == event.clarify_id,
                status=event.status, answer=event.answer, by=event.by,
            )  # fmt: skip
        case e.ApprovalRequest():
            return _add(
                state,
                ApprovalPart(
                    approval_id=event.approval_id, command=event.command, description=event.description, choices=event.choices
                ),
            )
        case e.ApprovalResolved():
            return _settle(
                state, event, lambda p: isinstance(p, ApprovalPart) and p.approval_id == event.approval_id,
                status="resolved", choice=event.choice, by=event.by,
            )  # fmt: skip
        case e.ActionRequest():
            return _add(
                state,
                ActionPart(
                    execution_id=event.execution_id, action=event.action, args=event.args, target=event.target,
                    needs_consent=event.needs_consent,
                ),
            )  # fmt: skip
        case e.ActionResult():
            return _settle(
                state, event, lambda p: isinstance(p, ActionPart) and p.execution_id == event.execution_id,
                status="error" if event.is_error else "done", result=event.result,
            )  # fmt: skip
        case e.Subagent():
            return _subagent(state, event)
        case e.ContextCompacted():
            return _add(
                state,
                CompactedPart(
                    summary=event.summary, compacted_until_message_id=event.compacted_until_message_id, count=event.count
                ),
            )
        case e.Suggestions():
            return replace(state, suggestions=event.items)
        case e.UsageUpdate():
            return replace(state, usage=event.usage)
        case e.Notice():
            return _add(state, NoticePart(level=event.level, text=event.text, code=event.code))
        case e.RunComplete():
            return replace(_closed(state, event), phase="complete", usage=_usage(state, event.usage))
        case e.RunStopped():
            return replace(_closed(state, event), phase="stopped", usage=_usage(state, event.usage), cleaned=event.cleaned)
        case e.RunError():
            error = TurnError(event.code, event.message, event.guardrails_failure_reason)
            return replace(_closed(state, event), phase="error", error=error)
        case e.Unknown():
            return _add(state, _row(event))


def _text(state: TurnState, event: e.Thinking | e.Answer) -> TurnState:
    kind: type[ThinkingPart] | type[AnswerPart] = ThinkingPart if isinstance(event, e.Thinking) else AnswerPart
    at = _newest(state, lambda p: isinstance(p, kind) and p.segment == event.segment)
    old = None if at is None else state.parts[at]
    known = old.text if isinstance(old, ThinkingPart | AnswerPart) else ""
    if event.offset > len(known):
        raise GapError(f"text at {event.offset} came after {len(known)} characters of segment {event.segment}")
    text = known + event.text[len(known) - event.offset :]
    end = event.t if event.t_end is None else event.t_end
    if at is None:
        after = _add(state, kind(segment=event.segment, text=text, start=event.t, end=end))
    else:
        after = _put(state, at, replace(state.parts[at], text=text, end=end))
    if kind is AnswerPart:
        return replace(after, text=_last_answer(after.parts))
    return replace(after, thinking_ms=sum(p.end - p.start for p in after.parts if isinstance(p, ThinkingPart)))


def _subagent(state: TurnState, event: e.Subagent) -> TurnState:
    at = _newest(state, lambda p: isinstance(p, SubagentPart) and p.subagent_id == event.subagent_id)
    if at is not None:
        told = {k: v for k, v in (("goal", event.goal), ("text", event.text)) if v}
        return _put(state, at, replace(state.parts[at], state=event.state, **told))
    return _add(state, SubagentPart(subagent_id=event.subagent_id, goal=event.goal, state=event.state, text=event.text))


def _closed(state: TurnState, event: e.Terminal) -> TurnState:
    """Nothing waits and nothing runs behind a terminal event."""
    return replace(
        state,
        parts=tuple(map(_ended, state.parts)),
        status=None,
        text=event.text or _last_answer(state.parts),
        duration_ms=event.duration_ms,
    )


def _ended(part: Part) -> Part:
    match part:
        case ToolPart(status="running") | ActionPart(status="running"):
            return replace(part, status="error")
        case ClarifyPart(status="pending"):
            return replace(part, status="interrupted")
        case ApprovalPart(status="pending"):
            return replace(part, status="resolved", choice="deny")
        case _:
            return part


def _usage(state: TurnState, usage: e.Usage) -> e.Usage | None:
    """The terminal event's own figures, or what was told before where it has none."""
    return state.usage if usage == e.Usage() else usage


def _last_answer(parts: tuple[Part, ...]) -> str:
    return next((p.text for p in reversed(parts) if isinstance(p, AnswerPart)), "")


def _add(state: TurnState, part: Part) -> TurnState:
    return replace(state, parts=(*state.parts, part))


def _put(state: TurnState, at: int, part: Part) -> TurnState:
    return replace(state, parts=(*state.parts[:at], part, *state.parts[at + 1 :]))


def _newest(state: TurnState, which: Callable[[Part], bool]) -> int | None:
    """Where the last part stands that *which* names."""
    return next((i for i in reversed(range(len(state.parts))) if which(state.parts[i])), None)


def _settle(state: TurnState, event: e.KnownEvent, which: Callable[[Part], bool], **changes: Any) -> TurnState:
    at = _newest(state, which)
    return _add(state, _row(event)) if at is None else _put(state, at, replace(state.parts[at], **changes))


def _row(event: e.KnownEvent | e.Unknown) -> UnknownPart:
    return UnknownPart(kind=e.kind_of(event), fields=msgspec.json.decode(e.encode(event)))
