"""Hermes' callbacks → events of the run (design §3).

What this keeps true: text events carry the offset in code points inside their segment; an answer segment ends where tools
begin, a thinking segment where anything else begins; reasoning comes from ``reasoning_callback`` alone; the to-do list from
the result of the todo tool; an endpoint that stays silent is told by a status of our own. Callbacks come from several threads
of Hermes, and an exception in one would be swallowed there, so everything happens under one lock.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from .words import mend, plain_status, preview

SILENCE_SECONDS = 3.0
"""Then the status says so, and again after twice as long: Hermes itself is silent for 9 to 24 s while an endpoint is dead."""

TODO_STATUSES = ("pending", "in_progress", "completed", "cancelled")


class Narrator:
    """Of one run. *send* takes an event as a mapping; *summarize* and *failed* are Hermes' own, where it has them."""

    def __init__(
        self,
        send: Callable[[dict[str, Any]], None],
        *,
        waiting: Callable[[], bool],
        summarize: Callable[[str, Mapping[str, Any]], str | None] | None = None,
        failed: Callable[[str, str], tuple[bool, str]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._waiting = waiting
        self._summarize = summarize
        self._failed = failed
        self._clock = clock
        self._lock = threading.RLock()
        self._thinking_segments = 0
        self._thinking_length = 0
        self._thinking_open = False
        self._answers: list[str] = []
        self._answer_open = False
        self._tools: dict[str, float] = {}
        self._heard = clock()
        self._patience = SILENCE_SECONDS

    # ---- what a turn ends with

    @property
    def segments(self) -> int:
        """Answer segments so far."""
        return len(self._answers)

    def text(self) -> str:
        """The last answer segment that says something."""
        with self._lock:
            return next((text for text in reversed(self._answers) if text.strip()), "")

    def unfinished(self) -> str:
        """The answer segment that is being told, empty where tools or nothing came last."""
        with self._lock:
            return self._answers[-1] if self._answers and self._answer_open else ""

    # ---- events that the run itself tells

    def event(self, kind: str, **fields: Any) -> None:
        with self._lock:
            self._thinking_open = False
            self._hear()
            self._send({"kind": kind, **fields})

    def notice(self, text: str, level: str = "info", code: str | None = None) -> None:
        self.event("notice", text=text, level=level, **({"code": code} if code else {}))

    def close_with(self, final: str) -> str:
        """The final answer of a complete turn. What was not streamed (an endpoint without streaming, a footer) is told now."""
        with self._lock:
            final = mend(final)
            told = self.unfinished()
            if not told.strip():
                self._answer_open = False
                self.answer(final)
            elif final.startswith(told.rstrip()) and len(final) > len(told):
                self.answer(final[len(told) :] if final.startswith(told) else final[len(told.rstrip()) :])
            return final or self.text()

    # ---- Hermes' callbacks

    def thinking(self, text: str) -> None:
        text = mend(text or "")
        if not text:
            return
        with self._lock:
            if not self._thinking_open:
                self._thinking_segments += 1
                self._thinking_length = 0
            self._emit_text("thinking", self._thinking_segments - 1, self._thinking_length, text)
            self._thinking_length += len(text)
            self._thinking_open = True

    def answer(self, text: str | None) -> None:
        """``None`` ends a segment: tools follow (Hermes' ``stream_delta_callback``). Hermes begins the next with blank lines."""
        with self._lock:
            if text is None:
                self._answer_open = False
                return
            text = mend(text)
            if not self._answer_open:
                text = text.lstrip("\n")
            if not text:
                return
            if not self._answer_open:
                self._answers.append("")
                self._answer_open = True
            self._emit_text("answer", len(self._answers) - 1, len(self._answers[-1]), text)
            self._answers[-1] += text
            self._thinking_open = False

    def commentary(self, text: str, *, already_streamed: bool = False) -> None:
        """Hermes' ``interim_assistant_callback``: text beside tool calls, streamed already by most endpoints."""
        if already_streamed or not text:
            return
        with self._lock:
            self.answer(text)
            self.answer(None)

    def tool_started(self, call_id: str, tool: str, args: Mapping[str, Any]) -> None:
        with self._lock:
            self._answer_open = False
            self._tools[call_id] = self._clock()
            summary = (self._summarize(tool, args) if self._summarize else None) or ""
            self.event("tool_call", callId=call_id, tool=tool, args=args, summary=" ".join(summary.split())[:200])

    def tool_finished(self, call_id: str, tool: str, args: Mapping[str, Any], result: Any) -> None:
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        text = mend(text)
        with self._lock:
            began = self._tools.pop(call_id, None)
            shown, truncated = preview(text)
            fields: dict[str, Any] = {"callId": call_id, "result": shown}
            if self._failed is not None and self._failed(tool, text)[0]:
                fields["isError"] = True
            if began is not None:
                fields["durationMs"] = round((self._clock() - began) * 1000)
            if truncated:
                fields["truncated"] = True
            self.event("tool_result", **fields)
            if tool == "todo" and (todos := _todos(text)) is not None:
                self.event("todo_update", todos=todos)

    def progress(self, event: str, name: str | None = None, text: str | None = None, args: Any = None, **more: Any) -> None:
        """Hermes' ``tool_progress_callback``; of it only what a subagent does, the rest comes better from elsewhere."""
        state = {"start": "started", "tool": "progress", "progress": "progress", "complete": "finished"}.get(
            event.removeprefix("subagent.") if event.startswith("subagent.") else ""
        )
        if state is None:
            return
        if state == "finished" and more.get("status") not in (None, "completed", "success", "ok"):
            state = "failed"
        told = mend(" ".join(part for part in (name, text) if part))
        self.event(
            "subagent",
            subagentId=str(more.get("subagent_id") or f"task-{more.get('task_index', 0)}"),
            state=state,
            goal=mend(str(more.get("goal") or "")),
            text=plain_status(told)[:500],
        )

    def status(self, text: str, level: str = "info") -> None:
        if line := plain_status(mend(text or "")):
            self.event("status", text=line, level=level)

    def lifecycle(self, kind: str, text: str | None = None) -> None:
        """Hermes' ``status_callback``."""
        self.status(text or "", "warning" if kind == "warn" or "⚠" in (text or "") else "error" if "❌" in (text or "") else "info")

    def banner(self, notice: Any) -> None:
        """Hermes' ``notice_callback``: a value with ``text`` and ``level``."""
        level = str(getattr(notice, "level", "info"))
        if line := plain_status(mend(str(getattr(notice, "text", "") or ""))):
            self.notice(line, level if level in ("info", "warning", "error") else "warning" if level == "warn" else "info")

    # ---- silence

    def tick(self) -> None:
        """Called now and then by a thread of the run: speaks where nothing was heard while only the model can be meant."""
        with self._lock:
            if self._tools or self._waiting():
                self._hear()
                return
            quiet = self._clock() - self._heard
            if quiet >= self._patience:
                self._patience *= 2
                self._send({"kind": "status", "text": f"The model has been silent for {quiet:.0f} s", "level": "info"})

    # ----

    def _hear(self) -> None:
        self._heard = self._clock()
        self._patience = SILENCE_SECONDS

    def _emit_text(self, kind: str, segment: int, offset: int, text: str) -> None:
        self._hear()
        self._send({"kind": kind, "segment": segment, "offset": offset, "text": text})


def _todos(result: str) -> list[dict[str, str]] | None:
    """The whole list in the todo tool's result, or ``None`` where that was an error."""
    try:
        rows = json.loads(result)["todos"]
        return [
            {
                "id": str(row["id"]),
                "content": str(row["content"]),
                "status": row["status"] if row["status"] in TODO_STATUSES else "pending",
            }
            for row in rows
        ]
    except (ValueError, KeyError, TypeError):
        return None
