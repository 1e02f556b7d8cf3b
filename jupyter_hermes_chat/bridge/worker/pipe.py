"""The two pipes to the Bridge: lines of JSON, taken away from file descriptors 0 and 1 before anything else can use them.

Hermes prints, and so do tools and libraries; a child process inherits both descriptors. So the pipes move to descriptors of
their own that no child inherits; 1 becomes 2 (the Bridge's log) and 0 becomes ``/dev/null``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO

from .words import mend


class Pipe:
    """Lines go out whole and in the order of the calls, from any thread."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._lock = threading.Lock()

    @classmethod
    def take(cls) -> Pipe:
        incoming, outgoing = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        return cls(os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb", buffering=0))

    def send(self, type_: str, **fields: Any) -> None:
        """A pipe that the Bridge has closed ends the worker through the reading side, so it is no error here."""
        line = mend(json.dumps({"type": type_, **fields}, ensure_ascii=False, default=str)) + "\n"
        data = memoryview(line.encode())
        with self._lock:
            try:
                while data:
                    data = data[self._outgoing.write(data) :]
            except BrokenPipeError:
                return

    def lines(self) -> Iterator[dict[str, Any]]:
        """Until the Bridge closes its end, or dies."""
        for line in self._incoming:
            if line.strip():
                yield json.loads(line)
