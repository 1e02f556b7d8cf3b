"""Fan-out of runs: one list of events a run, any number of readers that each remember how far they are.

What is kept true:

* a channel holds the events ``first …`` of its run without a hole; older numbers are in the journal;
* a reader holds numbers only, never events, so a slow one costs nothing and simply reads later;
* adjacent text that waits leaves as one event; a row that was merged meanwhile replaces its parts, and a reader in the
  middle of it gets it whole (its offsets absorb the part that is known);
* a finished run stays readable for five minutes (R21).

Everything happens on the event loop's thread. Nothing here knows the store, the runtime or HTTP.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from ..protocol.events import KnownEvent, Unknown, is_terminal, merge

RunEvent: TypeAlias = KnownEvent | Unknown

KEEP_SECONDS = 300.0
"""How long a finished run stays in memory (R21)."""

TAKE_LIMIT = 500
"""Events that a reader takes at once, so that a long replay never blocks the event loop."""


def _number(event: RunEvent) -> int:
    return event.last_seq


class Channel:
    """The events of one run. ``waiting`` is true while it waits for a person; ``ended_at`` is the clock's time of its end."""

    def __init__(self, run_id: str, session_id: str, owner: str, first: int) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self.owner = owner
        self.first = first
        self.waiting = False
        self.ended_at: float | None = None
        self._events: list[RunEvent] = []
        self._readers: set[Reader] = set()

    @property
    def last_seq(self) -> int:
        return self._events[-1].last_seq if self._events else self.first - 1

    @property
    def events(self) -> Sequence[RunEvent]:
        return tuple(self._events)

    def publish(self, event: RunEvent) -> None:
        """The next event, in order (the recorder sees to that)."""
        self._events.append(event)
        for reader in self._readers:
            reader._hear(self)

    def settle(self, rows: Sequence[RunEvent]) -> None:
        """*rows*, merged for the journal, take the place of the events that they cover."""
        if rows:
            start = bisect_right(self._events, rows[0].seq - 1, key=_number)
            end = bisect_right(self._events, rows[-1].last_seq, key=_number)
            self._events[start:end] = rows

    def behind(self, after: int, limit: int = TAKE_LIMIT) -> list[RunEvent]:
        """At most *limit* events behind number *after*, oldest first; a row that covers *after* is included whole."""
        start = bisect_right(self._events, after, key=_number)
        return self._events[start : start + limit]


class Taken(Struct, frozen=True):
    """What a reader sends next: events by run, merged, and the sessions that changed, by revision."""

    events: list[RunEvent]
    changed: dict[str, int]


class Reader:
    """One stream's side: how far it is in each run, and what it has not told yet. Left with :meth:`Channels.leave`."""

    def __init__(self) -> None:
        self.closed = False
        self._after: dict[Channel, int] = {}
        self._fresh: dict[Channel, None] = {}
        self._changed: dict[str, int] = {}
        self._wake = asyncio.Event()

    def join(self, channel: Channel, after: int) -> None:
        """From now on also the events of *channel* behind number *after*, and behind its last one where a client knows more than
        that: the rows of a run's last moments go down with their machine, and its end is told with a number that was used."""
        channel._readers.add(self)
        self._after[channel] = min(after, channel.last_seq)
        self._hear(channel)

    def close(self) -> None:
        """The client is gone: whoever waits wakes up."""
        self.closed = True
        self._wake.set()

    async def wait(self, seconds: float) -> bool:
        """Until there is something to take or the reader is closed; false after *seconds* without either. Others get their turn
        in any case, so that a long replay does not block the event loop."""
        if self._wake.is_set():
            await asyncio.sleep(0)
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return False
        return True

    def take(self) -> Taken:
        """Everything that waits, up to :data:`TAKE_LIMIT` events a run; more stays for the next time."""
        self._wake.clear()
        events: list[RunEvent] = []
        for channel in list(self._fresh):
            batch = channel.behind(self._after[channel])
            if len(batch) < TAKE_LIMIT:
                del self._fresh[channel]
            else:
                self._wake.set()
            if not batch:
                continue
            events += merge(batch)
            self._after[channel] = batch[-1].last_seq
            if is_terminal(batch[-1]):
                self._leave(channel)
        changed, self._changed = self._changed, {}
        return Taken(events, changed)

    def _hear(self, channel: Channel) -> None:
        self._fresh[channel] = None
        self._wake.set()

    def _hear_change(self, session_id: str, revision: int) -> None:
        self._changed[session_id] = revision
        self._wake.set()

    def _leave(self, channel: Channel) -> None:
        channel._readers.discard(self)
        self._after.pop(channel, None)
        self._fresh.pop(channel, None)


class Channels:
    """All runs that this server has in memory, and the streams that follow everything of one owner."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._channels: dict[str, Channel] = {}
        self._followers: dict[Reader, str] = {}

    def open(self, run_id: str, session_id: str, owner: str, first: int = 1) -> Channel:
        """A channel for a run that begins, or goes on, with number *first*. Its owner's followers join it."""
        self._prune()
        channel = Channel(run_id, session_id, owner, first)
        self._channels[run_id] = channel
        for reader, whose in self._followers.items():
            if whose == owner:
                reader.join(channel, first - 1)
        return channel

    def end(self, channel: Channel) -> None:
        """No event follows; the five minutes begin."""
        channel.ended_at = self._clock()
        channel.waiting = False

    def get(self, run_id: str) -> Channel | None:
        self._prune()
        return self._channels.get(run_id)

    def active(self, owner: str | None = None) -> list[Channel]:
        """Runs that go on, of one owner or of all."""
        return [c for c in self._channels.values() if c.ended_at is None and owner in (None, c.owner)]

    def follow(self, owner: str, after: Mapping[str, int]) -> Reader:
        """Everything of *owner* from now on; runs named in *after* from that number, as far as memory goes back."""
        reader = Reader()
        self._followers[reader] = owner
        self._prune()
        for channel in self._channels.values():
            if channel.owner != owner:
                continue
            known = max(after.get(channel.run_id, channel.last_seq), channel.first - 1)
            if channel.ended_at is None or known < channel.last_seq:
                reader.join(channel, known)
        return reader

    def followers(self, owner: str) -> int:
        """How many page streams of *owner* are open."""
        return sum(whose == owner for whose in self._followers.values())

    def leave(self, reader: Reader) -> None:
        self._followers.pop(reader, None)
        for channel in list(reader._after):
            reader._leave(channel)

    def session_changed(self, owner: str, session_id: str, revision: int) -> None:
        """Tells the owner's followers; of several changes that wait only the last is told."""
        for reader, whose in self._followers.items():
            if whose == owner:
                reader._hear_change(session_id, revision)

    def close(self) -> None:
        """Every stream ends; runs are none of ours (R24)."""
        for reader in list(self._followers):
            reader.close()
        for channel in self._channels.values():
            for reader in list(channel._readers):
                reader.close()

    def _prune(self) -> None:
        now = self._clock()
        old = [c.run_id for c in self._channels.values() if c.ended_at is not None and now - c.ended_at >= KEEP_SECONDS]
        for run_id in old:
            del self._channels[run_id]
