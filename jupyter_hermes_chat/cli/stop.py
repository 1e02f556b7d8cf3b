"""``jupyter hermes-chat stop``: ends the Bridge of the data folder, and with it the runs that go on in it."""

from __future__ import annotations

import argparse
import asyncio

import httpx

from ..protocol.bridge import BridgeFile
from ..protocol.errors import BridgeUnavailable
from ..runtimes.launch import LocalBridges
from .settings import data_folder, load_settings

SECONDS = 10.0


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "stop",
        help="end the Bridge",
        description="Ends the Bridge, the process that keeps replies going while Jupyter is gone. Replies that run are stopped.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    return asyncio.run(stop(LocalBridges(data_folder(load_settings()))))


async def stop(bridges: LocalBridges) -> int:
    """Asks each Bridge to end and waits for its lock. Raises :class:`BridgeUnavailable` where one does not end."""
    found = bridges.known()
    for file in found:
        await _shut_down(file)
    deadline = asyncio.get_running_loop().time() + SECONDS
    while await bridges.alive():
        if asyncio.get_running_loop().time() > deadline:
            pids = ", ".join(str(file.pid) for file in found)
            raise BridgeUnavailable(f"The Bridge did not end within {SECONDS:.0f} s. End it by hand: kill {pids}".rstrip())
        await asyncio.sleep(0.05)
    print("The Bridge has ended." if found else "No Bridge is running.")
    return 0


async def _shut_down(file: BridgeFile) -> None:
    headers = {"Authorization": f"Bearer {file.token}"}
    try:
        async with httpx.AsyncClient(base_url=file.url, headers=headers, trust_env=False, timeout=SECONDS) as client:
            response = await client.post("/hermes/shutdown")
    except httpx.TransportError:
        return  # it went away meanwhile; its lock will tell
    if response.status_code >= 400:
        raise BridgeUnavailable(f"The Bridge refused to end (HTTP {response.status_code}). End it by hand: kill {file.pid}")
