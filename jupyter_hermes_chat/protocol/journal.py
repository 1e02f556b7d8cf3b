"""The lines of a run's journal (design §4): one header, then one event a line, as JSON that a person can read.

Rows are in order of ``seq``; rows that the recorder merged cover ``seq … seqEnd``, so there is no hole between them (R9). The
last line may be unfinished, because somebody is writing it or died while writing; whatever else cannot be read is damage.
Bytes come in and bytes go out: files, locks and repair are the store's.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from .events import KnownEvent, Unknown, decode, encode

VERSION = 1


class Damage(ValueError):
    """Line *line* (counted from 1) cannot be read, and it is not just an unfinished end."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line
        self.why = why


class Header(Struct, frozen=True):
    """The first line. A higher ``journal`` was written by a newer version."""

    journal: int
    run: str


def encode_header(run_id: str) -> bytes:
    return msgspec.json.encode(Header(journal=VERSION, run=run_id)) + b"\n"


def encode_events(events: Iterable[KnownEvent | Unknown]) -> bytes:
    return b"".join([encode(event) + b"\n" for event in events])


class Lines:
    """A journal's bytes, cut into lines. ``whole`` counts the bytes before an unfinished or unreadable last line."""

    def __init__(self, raw: bytes) -> None:
        self._lines = raw.split(b"\n")
        rest = len(self._lines.pop())
        if self._lines and not _readable(self._lines[-1]):
            rest += len(self._lines.pop()) + 1
        self.whole = len(raw) - rest

    def header(self) -> Header | None:
        """``None`` where not even the first line is whole. Raises :class:`Damage`."""
        if not self._lines:
            return None
        try:
            return msgspec.json.decode(self._lines[0], type=Header)
        except msgspec.DecodeError as error:
            raise Damage(1, f"not the header of a journal ({error})") from error

    def events(self, after: int = 0) -> list[KnownEvent | Unknown]:
        """Those that reach behind number *after*, in order; reads from the end, so the cost is that of the answer.

        Raises :class:`Damage` for a line that is no event, and for a hole between two rows.
        """
        found: list[KnownEvent | Unknown] = []
        following: int | None = None
        for index in range(len(self._lines) - 1, 0, -1):
            try:
                event = decode(self._lines[index])
            except msgspec.DecodeError as error:
                raise Damage(index + 1, f"not an event ({error})") from error
            if following is not None and event.last_seq + 1 < following:
                raise Damage(index + 2, f"the event numbers jump from {event.last_seq} to {following}")
            if event.last_seq <= after:
                break
            found.append(event)
            following = event.seq
        found.reverse()
        return found

    def last(self) -> KnownEvent | Unknown | None:
        """The newest event. Raises :class:`Damage`."""
        if len(self._lines) < 2:
            return None
        try:
            return decode(self._lines[-1])
        except msgspec.DecodeError as error:
            raise Damage(len(self._lines), f"not an event ({error})") from error


def _readable(line: bytes) -> bool:
    """Whether *line* is JSON at all: a last line that is not was torn when the machine went down."""
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True
