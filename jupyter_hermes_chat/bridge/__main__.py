"""``python -m jupyter_hermes_chat.bridge --runtime-dir DIR --data-dir DIR [--hermes-python P] [--hermes-home H]``.

Life: take the place (status 3 where another Bridge has it), listen on a free loopback port, announce it in ``bridge.json``,
warm up, serve; end on SIGTERM, on ``POST /hermes/shutdown``, when drained, or after ``HERMES_CHAT_IDLE_SECONDS`` without
anything to do (30 minutes; a run, also one that waits for an answer or to be confirmed, is something to do).
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import cast

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from .._version import __version__
from ..protocol.bridge import PROTOCOL, WORKER_LINE_LIMIT, BridgeFile
from .broker import Broker
from .inventory import InventoryReader, TourMode
from .place import Place
from .process import WorkerLog
from .server import BridgeApplication
from .tour_endpoint import TourEndpoint

IDLE_SECONDS = 1800.0
SWEEP_SECONDS = 2.0
CLOSE_SECONDS = 2.0
"""How long the last frames of a stopping Bridge may take to reach their readers."""
PLACE_TAKEN = 3

log = logging.getLogger("jupyter_hermes_chat.bridge")


def tour_mode(value: str) -> TourMode:
    if value not in ("auto", "always", "never"):
        raise SystemExit(f"HERMES_CHAT_TOUR is {value!r}; it must be auto, always or never.")
    return cast(TourMode, value)


async def serve(place: Place, options: argparse.Namespace) -> None:
    worker_log = WorkerLog(place.folder / "worker.log")
    record = os.environ.get("HERMES_CHAT_TOUR_RECORD")
    tour = TourEndpoint(place.folder, worker_log.fd, Path(record) if record else None)
    managed_dir = place.folder / "hermes-managed"
    inventory = InventoryReader(
        configured_python=options.hermes_python,
        hermes_home=options.hermes_home,
        managed_dir=managed_dir,
        tour=tour,
        tour_folder=options.data_dir / "tour",
        mode=tour_mode(os.environ.get("HERMES_CHAT_TOUR", "auto")),
    )
    broker = Broker(inventory, managed_dir, worker_log)
    application = BridgeApplication(broker, inventory, secrets.token_urlsafe(32), __version__, place.give_up)
    server = HTTPServer(application, max_buffer_size=4 * WORKER_LINE_LIMIT, max_body_size=4 * WORKER_LINE_LIMIT)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    place.announce(BridgeFile(url=url, token=application.token, pid=os.getpid(), protocol=PROTOCOL, version=__version__))
    log.info("Bridge %s, process %d, serves %s", __version__, os.getpid(), url)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, application.stop.set)
    warm_up = asyncio.create_task(broker.warm_up())
    idle_limit = float(os.environ.get("HERMES_CHAT_IDLE_SECONDS", IDLE_SECONDS))
    try:
        while not application.stop.is_set():
            if broker.sweep() > idle_limit or broker.drained:
                break
            try:
                await asyncio.wait_for(application.stop.wait(), min(SWEEP_SECONDS, idle_limit))
            except TimeoutError:
                continue
    finally:
        log.info("Bridge, process %d, ends", os.getpid())
        server.stop()
        place.leave()
        warm_up.cancel()
        await broker.close()
        if application.readers:
            await asyncio.wait(application.readers, timeout=CLOSE_SECONDS)
        tour.close()
        worker_log.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m jupyter_hermes_chat.bridge", description="The Hermes Bridge.")
    parser.add_argument("--runtime-dir", type=Path, required=True, help="its place: bridge.json, lock and logs")
    parser.add_argument("--data-dir", type=Path, required=True, help="the data folder of the chats")
    parser.add_argument("--hermes-python", help="the interpreter that has Hermes Agent")
    parser.add_argument("--hermes-home", help="Hermes' own home, where it is not the usual one")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    place = Place.take(options.runtime_dir)
    if place is None:
        parser.exit(PLACE_TAKEN, "Another Bridge serves this folder already.\n")
    asyncio.run(serve(place, options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
