"""Framing of Server-Sent Events (WHATWG HTML §9.2), the part that this product sends.

A frame is an optional ``id``, an optional ``event`` name and one ``data`` line; JSON never holds a raw line break, so one
line is enough. Reading is left to ``httpx-sse`` in Python and to ``stream.ts`` in the page.
"""

from __future__ import annotations

PADDING = b":" + b" " * 2048 + b"\n\n"
"""First bytes of a stream, so that no proxy holds the head back while it waits for a body."""

HEARTBEAT = b": hb\n"
"""A comment line alone. With a blank line behind it, httpx-sse (0.4.3) hands out an empty event wherever an id came before."""

HEARTBEAT_SECONDS = 15.0

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}


def frame(data: bytes, *, id: int | str | None = None, event: str | None = None) -> bytes:
    """One SSE frame around a JSON line. Raises ``ValueError`` where *data* has a line break."""
    if b"\n" in data or b"\r" in data:
        raise ValueError("an SSE data line may not hold a line break")
    head = b"" if id is None else b"id: %s\n" % str(id).encode()
    name = b"" if event is None else b"event: %s\n" % event.encode()
    return head + name + b"data: " + data + b"\n\n"


def parse_last_event_id(value: str | None) -> int:
    """``Last-Event-ID`` header or ``lastEventId`` argument: a number from 0, 0 where it is absent. ``ValueError`` otherwise."""
    if value is None or value == "":
        return 0
    if not value.isascii() or not value.isdigit() or len(value) > 15:
        raise ValueError("lastEventId must be a whole number from 0")
    return int(value)
