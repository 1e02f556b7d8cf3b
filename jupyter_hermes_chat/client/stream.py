"""Reading one run's stream over connections that break: what is remembered between them.

:class:`Reader` is the part without I/O that both clients share. It hands on every event once and in order, knows when the
run is over, and says how long to wait before the next connection. It gives up after :data:`PATIENCE` seconds without a frame;
the run itself does not end by that.
"""

from __future__ import annotations

import time

from httpx_sse import ServerSentEvent

from ..protocol import events as e
from ..protocol.errors import ServerUnreachable

PATIENCE = 60.0
SILENCE = 45.0
"""Seconds without a byte (heartbeats come every 15) after which a connection counts as dead."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0


class Reader:
    def __init__(self, run_id: str, after: int) -> None:
        self.run_id = run_id
        self.seq = after
        self.ended = False
        self._pause = FIRST_PAUSE
        self._heard = time.monotonic()

    @property
    def request(self) -> dict[str, object]:
        """Arguments of the next connection."""
        return {"method": "GET", "url": f"runs/{self.run_id}/stream", "params": {"lastEventId": self.seq}}

    def take(self, frame: ServerSentEvent) -> e.KnownEvent | e.Unknown | None:
        """The event in *frame*, or ``None`` where it is known already. The run's end is always new: it has a number that was
        used where the events behind it went down with their machine before they were stored."""
        self._heard, self._pause = time.monotonic(), FIRST_PAUSE
        event = e.decode(frame.data)
        self.ended = e.is_terminal(event)
        if event.last_seq <= self.seq and not self.ended:
            return None
        self.seq = event.last_seq
        return event

    def lost(self, reason: Exception | None) -> float:
        """Seconds to wait before connecting again. Raises :class:`ServerUnreachable` once patience is over."""
        if time.monotonic() - self._heard > PATIENCE:
            raise ServerUnreachable(
                "The Jupyter server does not answer any more. The run goes on by itself: open the chat, or read its messages, once "
                "the server is back."
            ) from reason
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE)
        return pause
