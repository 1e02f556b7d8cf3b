"""The scripted model as a subprocess of the Bridge: started on first need, again when it died, ended with the Bridge.

It ends by itself when its parent is gone, so nothing is left behind a Bridge that was killed.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from ..protocol.errors import ModelUnreachable

START_SECONDS = 20.0


class TourEndpoint:
    """*folder* is for its port file, *output* takes what it prints, *record* makes it write down every request."""

    def __init__(self, folder: Path, output: int, record: Path | None = None) -> None:
        self._port_file = folder / "tour.port"
        self._output = output
        self._record = record
        self._process: subprocess.Popen[bytes] | None = None
        self._url: str | None = None
        self._lock = asyncio.Lock()

    async def url(self) -> str:
        """The base address that Hermes takes (``http://127.0.0.1:<port>/v1``). :class:`ModelUnreachable` if it won't start."""
        async with self._lock:
            if self._url is None or self._process is None or self._process.poll() is not None:
                self._url = await self._start()
            return self._url

    async def _start(self) -> str:
        self._port_file.unlink(missing_ok=True)
        argv = [sys.executable, "-P", "-m", "jupyter_hermes_chat.tour", "--port", "0", "--port-file", os.fspath(self._port_file)]
        if self._record is not None:
            argv += ["--record", os.fspath(self._record)]
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output)  # noqa: ASYNC220
        deadline = time.monotonic() + START_SECONDS
        while not self._port_file.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise ModelUnreachable("The tour (scripted replies) did not start. Look into worker.log, or choose a model.")
            await asyncio.sleep(0.02)
        return f"http://127.0.0.1:{int(self._port_file.read_text(encoding='ascii'))}/v1"

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
