"""Model messages as values: what a turn added to its context, and how a context is recognized (R14, design §6).

A turn is told as ``add`` (the given history came back untouched, here is the rest) or as ``replace`` (Hermes compacted or
repaired it, here is all). Lengths and identity mislead, so messages are compared as canonical JSON without the marks that
Hermes puts on them (keys that begin with ``_``). Pure functions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from .words import mend

Message = dict[str, Any]
NO_ANSWER = "[no answer: {why}]"
STOPPED = "[stopped before an answer]"
_IDENTITY = ("role", "content", "tool_calls", "tool_call_id")


def plain(messages: Sequence[Message]) -> list[Message]:
    """Copies that are pure JSON in pure Unicode, without Hermes' marks."""
    kept = [{k: v for k, v in m.items() if not k.startswith("_")} for m in messages]
    found: list[Message] = json.loads(mend(json.dumps(kept, ensure_ascii=False, default=str)))
    return found


def canonical(message: Message) -> str:
    return json.dumps(message, sort_keys=True, ensure_ascii=False)


def digest(messages: Sequence[Message]) -> str:
    """What two contexts have in common exactly when a model could not tell them apart."""
    heads = ({k: m[k] for k in _IDENTITY if m.get(k)} for m in messages)
    return hashlib.sha256("\n".join(map(canonical, heads)).encode()).hexdigest()


def turn(history: Sequence[Message], result: Sequence[Message]) -> tuple[str, list[Message]]:
    """(mode, messages). Both lists must be :func:`plain`."""
    n = len(history)
    if len(result) >= n and all(map(_same, result[:n], history)):
        return "add", list(result[n:])
    return "replace", list(result)


def _same(one: Message, other: Message) -> bool:
    return canonical(one) == canonical(other)


def seen_as(messages: list[Message], said: str, seen: str) -> None:
    """Marks the last row of the person with what the model saw instead of *said*.

    Hermes keeps the clean text; the next request must repeat the notebook context as it was, or the model forgets it and the
    provider's prompt cache breaks. ``api_content`` is Hermes' own field for that. Turns that end early keep the seen text.
    """
    for message in reversed(messages):
        if message.get("role") == "user" and message.get("content") in (said, seen):
            message["content"] = said
            message.setdefault("api_content", seen)
            return


def closed(messages: list[Message], said: str, ending: str) -> list[Message]:
    """A turn that Hermes left open, ended by an assistant row, so that the next message is not glued to this one.

    A turn without any row (stopped before Hermes began) gets the person's row as well.
    """
    rows = list(messages) or [{"role": "user", "content": said}]
    last = rows[-1]
    if last.get("role") != "assistant" or last.get("tool_calls"):
        answered = {m.get("tool_call_id") for m in rows if m.get("role") == "tool"}
        for call in last.get("tool_calls") or []:
            if call.get("id") not in answered:
                rows.append({"role": "tool", "tool_call_id": call.get("id"), "content": ending})
        rows.append({"role": "assistant", "content": ending})
    return rows


def stopped_at(rows: list[Message], told: str) -> None:
    """A stop inside an answer: the last row holds what the person saw, which may be a word more or less than Hermes kept."""
    if told.strip():
        rows[-1]["content"] = told.rstrip()
