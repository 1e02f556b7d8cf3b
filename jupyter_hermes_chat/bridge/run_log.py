"""The numbered events of one run, from the worker's lines to what readers get (design §3).

Kept true here: numbers start at 1 and have no hole; exactly one terminal event comes last, whatever the worker does; every
question of the run is resolved before that; an answer to a question is accepted once; an event of a known kind has the shape
that :mod:`~..protocol.events` gives it. Events stay until they were confirmed; the turn's model messages go out right before
the terminal event, as often as that does.

A log knows neither HTTP nor processes. It is used from one event loop only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from ..protocol.errors import AlreadyAnswered, BadRequest, PauseNotFound, RunEnded
from ..protocol.events import KINDS, TERMINAL_KINDS, TEXT_KINDS, Choice, KnownEvent, encode
from ..protocol.records import Turn
from ..protocol.sse import frame

KEEP_SECONDS = 3600.0
"""How long the events of an ended run wait for somebody to confirm them."""

log = logging.getLogger(__name__)


class _Question(msgspec.Struct):
    kind: Literal["clarify", "approval"]
    choices: list[str]
    open: bool = True
    answered: bool = False


class RunLog:
    def __init__(self, run_id: str, session_id: str, user_message: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self._user_message = user_message
        self._clock = clock
        self._start = clock()
        self._events: list[bytes] = []
        self._first = 1
        self._acked = 0
        self._ended_at: float | None = None
        self._turn: bytes | None = None
        self._segment: int | None = None
        self._segments = 0
        self._text: list[str] = []
        self._questions: dict[str, _Question] = {}
        self._complained = False
        self._readers: set[asyncio.Future[None]] = set()

    # ---- what is known -------------------------------------------------------------------------------------------------

    @property
    def last_seq(self) -> int:
        return self._first + len(self._events) - 1

    @property
    def first_seq(self) -> int:
        """The lowest number that can still be read."""
        return self._first

    @property
    def ended(self) -> bool:
        return self._ended_at is not None

    @property
    def waiting(self) -> bool:
        """Somebody has to answer a question before the run goes on."""
        return any(q.open for q in self._questions.values())

    @property
    def confirmed(self) -> bool:
        return self.ended and self._acked >= self.last_seq

    @property
    def text(self) -> str:
        """The last answer segment so far: what is kept of a run that breaks off."""
        return "".join(self._text)

    def forgettable(self) -> bool:
        """Ended, and confirmed or an hour old."""
        return self._ended_at is not None and (self.confirmed or self._clock() - self._ended_at > KEEP_SECONDS)

    # ---- reading -------------------------------------------------------------------------------------------------------

    def frames_after(self, seq: int) -> tuple[bytes, int]:
        """SSE frames of everything behind *seq*, ready for one write, and the number that they reach.

        A ``gap`` frame comes first where *seq* lies before what is still kept.
        """
        out: list[bytes] = []
        if seq + 1 < self._first:
            out.append(frame(msgspec.json.encode({"first": self._first}), event="gap"))
            seq = self._first - 1
        for raw in self._events[max(0, seq + 1 - self._first) :]:
            seq += 1
            if self.ended and seq == self.last_seq and self._turn is not None:
                out.append(frame(self._turn, event="turn"))
            out.append(frame(raw, id=seq))
        return b"".join(out), seq

    def changed(self) -> asyncio.Future[None]:
        """Done at the next event. The caller may set it or cancel it when it goes away."""
        future = asyncio.get_running_loop().create_future()
        self._readers.add(future)
        future.add_done_callback(self._readers.discard)
        return future

    def confirm(self, seq: int) -> None:
        """Everything up to *seq* is on disk elsewhere: it is dropped here, and the turn with the terminal event."""
        seq = min(seq, self.last_seq)
        if (count := seq - self._first + 1) > 0:
            del self._events[:count]
            self._first += count
        self._acked = max(self._acked, seq)
        if self.confirmed:
            self._turn = None

    # ---- writing -------------------------------------------------------------------------------------------------------

    def add(self, fields: dict[str, Any]) -> None:
        """An event as the worker wrote it: ``kind`` and its own fields. After the end nothing is added."""
        kind = fields.get("kind")
        if self.ended:
            log.warning("run %s: %s after the end, left out", self.run_id, kind)
            return
        if not isinstance(kind, str) or kind in TERMINAL_KINDS:
            self.complain(f"an event of kind {kind!r}")
            return
        if kind in ("clarify_resolved", "approval_resolved") and not self._close_question(fields):
            return
        if not self._append(kind, fields):
            self.complain(f"a malformed event of kind {kind!r}")
            return
        if kind == "answer":
            if fields["segment"] != self._segment:
                self._segment, self._text = fields["segment"], []
                self._segments += 1
            self._text.append(fields["text"])
        elif kind == "clarify_request":
            self._questions[fields["clarifyId"]] = _Question("clarify", list(fields.get("choices") or []))
        elif kind == "approval_request":
            self._questions[fields["approvalId"]] = _Question("approval", list(fields.get("choices") or []))

    def complain(self, what: str) -> None:
        """The worker wrote *what*, which is no use to anybody: a log line each time, one notice in the run."""
        log.warning("run %s: the worker wrote %s; left out", self.run_id, what)
        if not self._complained and not self.ended:
            self._complained = True
            text = f"The agent process wrote {what}. It was left out; the rest of the run is complete."
            self._append("notice", {"text": text, "level": "warning", "code": "malformed_event"})

    def answer(self, clarify_id: str, answer: str, by: str | None) -> None:
        """Accepts the answer to a question. ``PauseNotFound``, ``AlreadyAnswered``, ``RunEnded``; nothing changes then."""
        self._take("clarify", clarify_id)
        self._append("clarify_resolved", {"clarifyId": clarify_id, "status": "answered", "answer": answer, "by": by})

    def approve(self, approval_id: str, choice: Choice, by: str | None) -> None:
        """Accepts a decision; ``BadRequest`` where it was not offered, else as :meth:`answer`."""
        question = self._questions.get(approval_id)
        if question is not None and question.open and question.choices and choice not in question.choices:
            offered = ", ".join(question.choices)
            raise BadRequest(f"The choice {choice!r} is not offered here. Choose one of: {offered}.", field="choice")
        self._take("approval", approval_id)
        self._append("approval_resolved", {"approvalId": approval_id, "choice": choice, "by": by})

    def end_turn(self, line: dict[str, Any]) -> None:
        """The worker's ``turn_end`` line: its turn and the terminal event. A line that makes no sense ends the run as well."""
        try:
            turn = msgspec.convert(line.get("turn"), Turn)
        except msgspec.ValidationError as error:
            log.warning("run %s: the turn's messages are unusable (%s)", self.run_id, error)
            turn = None
        status, text, usage = line.get("status"), line.get("text"), line.get("usage") or {}
        text = text if isinstance(text, str) and text else self.text
        if status == "complete":
            segments = line.get("segments", self._segments)
            self._end("run_complete", {"text": text, "usage": usage, "segments": segments}, turn)
        elif status == "stopped":
            self._end("run_stopped", {"text": text, "usage": usage, "cleaned": True}, turn)
        else:
            given = line.get("error")
            error_: dict[str, Any] = given if isinstance(given, dict) else {}
            code, message = error_.get("code") or "agent_error", error_.get("message") or "The agent gave up without a reason."
            reason = error_.get("guardrailsFailureReason")
            self._end("run_error", {"code": code, "message": message, "text": text, "guardrailsFailureReason": reason}, turn)

    def fail(self, code: str, message: str) -> None:
        """Ends the run for a worker that cannot: it did not start, or it is lost."""
        self._end("run_error", {"code": code, "message": message, "text": self.text}, self._own_turn(message))

    def stopped(self, *, cleaned: bool) -> None:
        """Ends the run for a worker that was killed on purpose, or that had not begun."""
        self._end("run_stopped", {"text": self.text, "cleaned": cleaned}, self._own_turn("stopped before an answer"))

    # ---- inside --------------------------------------------------------------------------------------------------------

    def _own_turn(self, reason: str) -> Turn:
        """What the next turn shall know of a turn whose worker left nothing: the message, and as much answer as there was."""
        answer = self.text or f"[no answer: {reason}]"
        messages = [{"role": "user", "content": self._user_message}, {"role": "assistant", "content": answer}]
        return Turn(mode="add", messages=messages)

    def _take(self, kind: str, question_id: str) -> None:
        question = self._questions.get(question_id)
        if question is None or question.kind != kind:
            raise PauseNotFound("This run has no such open question.", id=question_id)
        if question.answered:
            raise AlreadyAnswered("This question has been answered already; nothing was changed.", id=question_id)
        if not question.open or self.ended:
            raise RunEnded("This question is no longer open: the run went on or ended without an answer.", id=question_id)
        question.open, question.answered = False, True

    def _close_question(self, fields: dict[str, Any]) -> bool:
        """The worker gave a question up (its time was over). False where the Bridge has said how it ended already."""
        question = self._questions.get(str(fields.get("clarifyId") or fields.get("approvalId")))
        if question is None or not question.open:
            return False
        question.open = False
        return True

    def _end(self, kind: str, fields: dict[str, Any], turn: Turn | None) -> None:
        if self.ended:
            return
        for question_id, question in self._questions.items():
            if question.open:
                question.open = False
                if question.kind == "clarify":
                    self._append("clarify_resolved", {"clarifyId": question_id, "status": "interrupted"})
                else:
                    self._append("approval_resolved", {"approvalId": question_id, "choice": "deny"})
        self._turn = msgspec.json.encode(turn or self._own_turn("the agent left no record of this turn"))
        fields["durationMs"] = self._elapsed()
        self._ended_at = self._clock()
        if not self._append(kind, fields):
            log.warning("run %s: a malformed end", self.run_id)
            message = "The agent ended its turn with something that this version does not understand. Try again."
            self._append("run_error", {"code": "agent_error", "message": message, "text": self.text})

    def _elapsed(self) -> int:
        return int((self._clock() - self._start) * 1000)

    def _append(self, kind: str, fields: dict[str, Any]) -> bool:
        """Numbers an event and tells the readers. False where a known kind lacks a field or has a wrong one."""
        whole = {**fields, "kind": kind, "seq": self.last_seq + 1, "runId": self.run_id, "t": self._elapsed()}
        if kind not in TEXT_KINDS:
            whole |= {"sessionId": self.session_id, "messageId": self.run_id}
        if kind in KINDS:
            try:
                raw = encode(msgspec.convert(whole, KnownEvent))
            except msgspec.ValidationError as error:
                log.warning("run %s: %s: %s", self.run_id, kind, error)
                return False
        else:
            raw = msgspec.json.encode(whole)
        self._events.append(raw)
        for future in list(self._readers):
            if not future.done():
                future.set_result(None)
        return True
