"""The server side of ``stream.py``: a real Jupyter server with the real extension, over a runtime that talks by the clock.

``python -m tests.bench._stream_server FOLDER LAGS``: a message ``<events> <per second, 0 for as fast as it goes> <characters>``
is answered by that many text events. Each carries the time of its birth on the system's monotonic clock, ``@<ns>;``, so that a
client in another process can tell its age. At the end the loop's lags are written to LAGS as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from jupyter_server.serverapp import ServerApp

from jupyter_hermes_chat.handlers.base import Hermes
from jupyter_hermes_chat.protocol.bridge import RunRequest
from jupyter_hermes_chat.protocol.events import Answer, RunComplete, RunStarted
from jupyter_hermes_chat.runtimes.base import EventFrame, Frame
from tests.runs.scripted import ScriptedRuntime

LAG_SECONDS = 0.002


class ClockRuntime(ScriptedRuntime):
    async def generate(self, request: RunRequest) -> AsyncGenerator[Frame, None]:
        count, rate, size = map(int, request.user_message.split())
        yield EventFrame(RunStarted(seq=1, run_id=request.run_id, t=0))
        await asyncio.sleep(0.5)  # the readers come
        began, offset = time.monotonic(), 0
        for n in range(count):
            if rate and (wait := began + n / rate - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            elif not rate and n % 20 == 0:
                await asyncio.sleep(0)  # a socket's worth
            text = f"@{time.monotonic_ns()};".ljust(size, ".")
            yield EventFrame(Answer(seq=n + 2, run_id=request.run_id, t=n, segment=0, offset=offset, text=text))
            offset += len(text)
        yield EventFrame(RunComplete(seq=count + 2, run_id=request.run_id, t=count, text="", duration_ms=1))

    async def confirm(self, run_id: str, seq: int) -> None:
        return


async def watch(lags: list[tuple[float, float]]) -> None:
    """(when, how much later than asked the loop came back): the time that something blocked it, in seconds."""
    while True:
        began = time.monotonic()
        await asyncio.sleep(LAG_SECONDS)
        lags.append((began, time.monotonic() - began - LAG_SECONDS))


def main(folder: Path, lags_file: Path) -> None:
    app = ServerApp.instance(
        jpserver_extensions={"jupyter_hermes_chat": True},
        allow_root=True,
        open_browser=False,
        port=0,
        root_dir=str(folder),
        log_level=40,
    )
    app.initialize(argv=[f"--HermesChatApp.data_dir={folder / 'data'}"], find_extensions=False)
    hermes: Hermes = app.web_app.settings["hermes_chat"]
    hermes.service.runtime = ClockRuntime()
    lags: list[tuple[float, float]] = []
    app.io_loop.add_callback(lambda: setattr(app, "_watching", asyncio.create_task(watch(lags))))
    try:
        app.start()
    finally:
        lags_file.write_text(json.dumps(lags))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
