"""The frames of one run over broken connections: the Bridge goes on by itself, so whoever asks again loses nothing (R23).

What comes out is in order and without a hole behind the number that the caller has. Where the run cannot go on, the error
says why, in a sentence that a person can act on; it becomes the run's ``run_error``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from ..protocol.bridge import RunRequest
from ..protocol.errors import BridgeError, BridgeLost, BridgeUnavailable, RunNotFound
from ..protocol.events import is_terminal
from ..runtimes.base import EventFrame, GapFrame, Runtime, TurnFrame

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
"""Seconds between attempts to reach a Bridge that is alive but does not answer; doubled each time."""

LOST = "Hermes Bridge ended in the middle of this reply. What was answered so far is kept; send the message again to go on."
NOT_BEGUN = "This reply never began, since the server or Hermes Bridge ended first. Send the message again."


async def frames(
    runtime: Runtime, run_id: str, request: RunRequest | None, last_seq: Callable[[], int]
) -> AsyncGenerator[EventFrame | TurnFrame, None]:
    """Frames behind ``last_seq()``, up to and including the terminal event.

    With *request* the run is started, without one it is taken up again. Raises :class:`BridgeLost` where the run is gone, and
    what :meth:`Runtime.generate` raises where it could not be started.
    """
    source = runtime.resume(run_id, last_seq()) if request is None else runtime.generate(request)
    begun = request is None
    pause = FIRST_PAUSE
    while True:
        try:
            async with aclosing(source):
                async for frame in source:
                    begun, pause = True, FIRST_PAUSE
                    if isinstance(frame, TurnFrame):
                        yield frame
                    elif isinstance(frame, GapFrame):
                        if frame.first > last_seq() + 1:
                            raise RunNotFound(f"events {last_seq() + 1} to {frame.first - 1} are gone")
                    elif frame.event.seq > last_seq() + 1:
                        break
                    elif frame.event.last_seq > last_seq():
                        yield frame
                        if is_terminal(frame.event):
                            return
        except RunNotFound as error:
            raise _lost(last_seq()) from error
        except BridgeUnavailable:
            if not begun:
                raise
        except BridgeLost:
            begun = True
        if not await _alive(runtime):
            raise _lost(last_seq())
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
        source = runtime.resume(run_id, last_seq())


def _lost(last_seq: int) -> BridgeLost:
    return BridgeLost(LOST if last_seq else NOT_BEGUN)


async def _alive(runtime: Runtime) -> bool:
    try:
        return await runtime.alive()
    except BridgeError:
        return True
