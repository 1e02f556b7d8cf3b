"""What waits for a person: questions (clarify) and approvals of dangerous commands (R37, R38).

Each pause blocks a thread of Hermes until it is answered or the run is stopped, however long that takes. Nothing fails open:
an approval that is not given is a denial, a choice that is none is refused, and each answer reaches the very command that was
shown, also where several wait.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from typing import Any

Emit = Callable[..., None]
CHOICES = ("once", "session", "deny")
"""What an approval offers. Hermes' "always" would write the person's configuration (design §6)."""

_NO_ANSWER = "[no answer: the person stopped this run]"


class _Question:
    def __init__(self) -> None:
        self.ready = threading.Event()
        self.answer: str | None = None


class Pauses:
    """Of one run. *resolve* is told (Hermes' own data of an approval, choice) and says whether that one still waited."""

    def __init__(self, run_id: str, emit: Emit, resolve: Callable[[Mapping[str, Any], str], bool]) -> None:
        self._run_id = run_id
        self._emit = emit
        self._resolve = resolve
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._questions: dict[str, _Question] = {}
        self._approvals: dict[str, Mapping[str, Any]] = {}
        self._cancelled = False

    @property
    def waiting(self) -> bool:
        with self._lock:
            return bool(self._questions or self._approvals)

    def ask(self, question: str, choices: list[str] | None) -> str:
        """Hermes' ``clarify_callback``: blocks its thread until there is an answer."""
        waiting = _Question()
        with self._lock:
            clarify_id = f"{self._run_id}-clarify-{next(self._numbers)}"
            if self._cancelled:
                return _NO_ANSWER
            self._questions[clarify_id] = waiting
        self._emit("clarify_request", clarifyId=clarify_id, question=question, choices=list(choices or []), allowOther=True)
        waiting.ready.wait()
        return _NO_ANSWER if waiting.answer is None else waiting.answer

    def answer(self, clarify_id: str, answer: str) -> bool:
        with self._lock:
            waiting = self._questions.pop(clarify_id, None)
        if waiting is None:
            return False
        waiting.answer = answer
        waiting.ready.set()
        return True

    def request_approval(self, data: Mapping[str, Any]) -> None:
        """Hermes' notify callback: returns at once, Hermes itself waits. An exception here blocks the command (0.19)."""
        with self._lock:
            approval_id = f"{self._run_id}-approval-{next(self._numbers)}"
            cancelled = self._cancelled
            if not cancelled:
                self._approvals[approval_id] = data
        if cancelled:
            self._resolve(data, "deny")
            return
        self._emit(
            "approval_request",
            approvalId=approval_id,
            command=str(data.get("command", "")),
            description=str(data.get("description", "")),
            choices=list(CHOICES),
        )

    def approve(self, approval_id: str, choice: str) -> bool:
        """``always`` is a session's yes here: what it means beyond that is remembered by others."""
        with self._lock:
            data = self._approvals.pop(approval_id, None)
        if data is None:
            return False
        granted = {"once": "once", "session": "session", "always": "session"}.get(choice, "deny")
        return self._resolve(data, granted)

    def cancel(self) -> None:
        """Wakes everything that waits: questions without an answer, approvals denied. What comes later is not asked."""
        with self._lock:
            self._cancelled = True
            questions, self._questions = list(self._questions.values()), {}
            approvals, self._approvals = list(self._approvals.values()), {}
        for waiting in questions:
            waiting.ready.set()
        for data in approvals:
            self._resolve(data, "deny")
