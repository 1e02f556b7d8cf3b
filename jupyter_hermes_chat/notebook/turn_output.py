"""A turn in a cell's output: one bundle from the first moment to the last (design §7).

The bundle holds ``application/vnd.hermes-chat.turn+json`` for the renderer, ``text/markdown`` and ``text/plain`` for everybody
else. While the run goes on the JSON stays the same and names the run only, so that a renderer, which streams by itself, has
nothing to draw anew; the Markdown is brought up to date when something new happens, for mere text once a second at most. At
the end of a blocking cell the bundle holds the whole turn. A terminal has no outputs that change: there the answer is written
as it grows.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from IPython.display import DisplayHandle, display

from ..export.markdown import to_markdown, to_text
from ..protocol.records import split_message_id
from ..reduce import TurnState, initial, to_json

MIME = "application/vnd.hermes-chat.turn+json"
TEXT_SECONDS = 1.0


def bundle(state: TurnState, note: str = "") -> dict[str, Any]:
    """The three forms of a turn. *note* is a sentence of the cell's own, such as how to answer."""
    session_id, _ = split_message_id(state.run_id)
    turn: dict[str, Any] = {"version": 1, "run": state.run_id, "session": session_id, "live": not state.ended}
    if state.ended:
        turn["state"] = to_json(state)
    return {MIME: turn, "text/markdown": _with(to_markdown(state), note), "text/plain": _with(to_text(state), note)}


class TurnOutput:
    """The output of one cell that shows run *run_id*; in a terminal the text goes to standard output."""

    def __init__(self, run_id: str, *, terminal: bool = False) -> None:
        self._state = initial(run_id)
        self._shown_at = 0.0
        self._written = ""
        self._handle: DisplayHandle | None = None
        if not terminal:
            self._handle = display(bundle(self._state), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def update(self, state: TurnState) -> None:
        if self._handle is None:
            self._write(state.text)
        elif not state.ended and (self._is_news(state) or time.monotonic() - self._shown_at >= TEXT_SECONDS):
            self._handle.update(bundle(state), raw=True)  # type: ignore[no-untyped-call]
            self._shown_at = time.monotonic()
        self._state = state

    def finish(self, state: TurnState, note: str = "") -> None:
        """The last word of this cell: the whole turn where the run has ended, else what it waits for."""
        if self._handle is not None:
            self._handle.update(bundle(state, note), raw=True)  # type: ignore[no-untyped-call]
            return
        self._write(state.text)
        rest = _with(to_text(state), note).removeprefix(state.text).strip()
        sys.stdout.write("\n" + (rest + "\n" if rest else ""))

    def _is_news(self, state: TurnState) -> bool:
        old = self._state
        shape = [(type(p), getattr(p, "status", None)) for p in state.parts]
        return shape != [(type(p), getattr(p, "status", None)) for p in old.parts] or state.todos != old.todos

    def _write(self, text: str) -> None:
        if not text.startswith(self._written):
            sys.stdout.write("\n\n")
            self._written = ""
        sys.stdout.write(text[len(self._written) :])
        sys.stdout.flush()
        self._written = text


def _with(text: str, note: str) -> str:
    return f"{text}\n\n{note}".strip() if note else text
