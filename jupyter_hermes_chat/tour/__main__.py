"""``python -m jupyter_hermes_chat.tour --port 0 --port-file F [--record F]``: the tour as a process of its own.

The port is written to the port file once the tour listens. It ends with the process that started it, so that nothing is left
behind when that one is killed. ``HERMES_CHAT_TOUR_PACE`` multiplies its waits (0: none).
"""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from .server import serve

LOOK_FOR_PARENT_SECONDS = 1.0


async def run(port: int, port_file: Path | None, pace: float, record: Path | None) -> None:
    parent = os.getppid()
    taken = serve(port, pace=pace, record=record)
    if port_file is not None:
        beside = port_file.with_name(port_file.name + ".new")
        beside.write_text(f"{taken}\n", encoding="ascii")
        beside.replace(port_file)
    while os.getppid() == parent:  # noqa: ASYNC110 - a process that was orphaned is told nothing
        await asyncio.sleep(LOOK_FOR_PARENT_SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m jupyter_hermes_chat.tour", description="A scripted model on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="where to write the port")
    parser.add_argument("--record", type=Path, help="append every request as a line of JSON")
    options = parser.parse_args()
    pace = max(0.0, float(os.environ.get("HERMES_CHAT_TOUR_PACE", "1")))
    asyncio.run(run(options.port, options.port_file, pace, options.record))


if __name__ == "__main__":
    main()
