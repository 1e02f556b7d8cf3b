"""``jupyter hermes-chat doctor``: checks hop by hop, from the extension to a round trip through worker and model.

A hop that fails says what to do about it, and hops that need it are named as not checked: a list of errors that all have one
cause helps nobody. Nothing is changed, but the Bridge is started where there is none, and the round trip asks the model for
one word (``--no-round-trip`` leaves that out).
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import json
import os
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import psutil
from jupyter_core.paths import jupyter_config_path, jupyter_path
from jupyter_server.extension.config import ExtensionConfigManager
from msgspec import Struct

from .._version import __version__
from ..bridge.locate import find_interpreter
from ..extension import HermesChatApp
from ..protocol.bridge import Inventory, RunRequest
from ..protocol.errors import HermesChatError
from ..protocol.events import RunComplete, RunError, is_terminal
from ..runtimes.base import EventFrame
from ..runtimes.bridge import BridgeRuntime
from .settings import data_folder, load_settings, make_runtime

ROUND_TRIP_SECONDS = 120.0
NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smbfs", "smb3", "afs", "lustre", "beegfs", "fuse.sshfs", "9p"})
PACKAGE = "jupyter_hermes_chat"
LABEXTENSION = "jupyter-hermes-chat"


class Check(Struct, rename="camel"):
    """One hop. ``ok`` is ``None`` where it could not be checked because an earlier hop failed, or was not asked for.

    ``value`` is the fact that was found (a path, a version, a model); ``message`` is a sentence, and says what to do where
    something is wrong or worth knowing.
    """

    key: str
    ok: bool | None
    value: str | None = None
    message: str = ""


class Failed(Exception):
    """A hop that does not work; the message says what to do."""


Found: TypeAlias = tuple[str | None, str]
"""What a hop found: its value, and a remark."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "doctor",
        help="check every hop and say what to do about what fails",
        description="Checks the extension, Hermes, the data folder, the Bridge, the model, and one round trip through all of them.",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--no-round-trip", action="store_true", help="do not ask the model for a word")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    report = None if args.json else _say
    checks = asyncio.run(examine(load_settings(), round_trip=not args.no_round_trip, report=report))
    healthy = all(check.ok is not False for check in checks)
    if args.json:
        print(json.dumps(as_json(checks, healthy), indent=2, ensure_ascii=False))
    else:
        print("\nEverything works." if healthy else "\nSomething needs your attention: see the lines marked with ✗.")
    return 0 if healthy else 1


def as_json(checks: list[Check], healthy: bool) -> dict[str, Any]:
    """``ok``, ``version``, each hop's value by its key, and ``checks`` with the whole findings."""
    rows = [{"key": c.key, "ok": c.ok, "value": c.value, "message": c.message} for c in checks]
    return {"ok": healthy, "version": __version__, **{c.key: c.value for c in checks}, "checks": rows}


def _say(check: Check) -> None:
    mark = {True: "✓", False: "✗", None: "–"}[check.ok]
    print(f"{mark} {check.key:12} {check.value or ''}".rstrip(), flush=True)
    if check.message:
        print(f"  {'':12} {check.message}", flush=True)


async def examine(
    settings: HermesChatApp, *, round_trip: bool = True, report: Callable[[Check], None] | None = None
) -> list[Check]:
    """All hops in order; *report* hears of each as soon as it is known."""
    runtime = make_runtime(settings)
    checks: list[Check] = []
    inventory: list[Inventory] = []

    async def models() -> Found:
        inventory.append(await runtime.inventory())
        return _model(inventory[0])

    async def version() -> Found:
        return _hermes(inventory[0])

    async def ask() -> Found:
        return await _round_trip(runtime, inventory[0], Path(folder))

    async def hop(key: str, look: Callable[[], Awaitable[Found]], *needs: str) -> None:
        broken = next((c.key for c in checks if c.key in needs and c.ok is not True), None)
        if broken is not None:
            check = Check(key, None, None, f"Not checked: {broken} comes first.")
        else:
            try:
                value, remark = await look()
                check = Check(key, True, value, remark)
            except HermesChatError as error:
                check = Check(key, False, None, error.message)
            except Failed as error:
                check = Check(key, False, None, str(error))
        checks.append(check)
        if report is not None:
            report(check)

    external = bool(settings.bridge_url)
    try:
        with tempfile.TemporaryDirectory(prefix="hermes-doctor-") as folder:
            await hop("extension", partial(asyncio.to_thread, _extension))
            await hop("dataFolder", partial(asyncio.to_thread, _data_folder, data_folder(settings)))
            if external:
                checks.append(Check("interpreter", None, None, "Hermes is where the configured Bridge is."))
            else:
                await hop("interpreter", partial(asyncio.to_thread, _interpreter, settings))
            needs = () if external else ("interpreter",)
            await hop("bridge", partial(_bridge, runtime), "dataFolder")
            await hop("model", models, "bridge", *needs)
            await hop("hermes", version, "model")
            if round_trip:
                await hop("roundTrip", ask, "model", "hermes")
    finally:
        await runtime.close()
    return checks


def _extension() -> Found:
    configured = ExtensionConfigManager(read_config_path=jupyter_config_path())
    if not configured.get_jpserver_extensions().get(PACKAGE):  # type: ignore[no-untyped-call]
        raise Failed(f"The server extension is not enabled. Enable it with `jupyter server extension enable {PACKAGE}`.")
    if not any((Path(folder) / LABEXTENSION / "package.json").exists() for folder in jupyter_path("labextensions")):
        raise Failed(f"JupyterLab's half is missing. Install again: pip install --force-reinstall --no-deps {PACKAGE}")
    return importlib.metadata.version(PACKAGE), ""


def _data_folder(folder: Path) -> Found:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Failed(f"{folder} cannot be written: {error.strerror}. Set c.HermesChatApp.data_dir to a folder of yours.") from error
    remark = ""
    kind = _file_system(folder)
    if kind in NETWORK_FILE_SYSTEMS:
        remark = f"A network file system ({kind}): if locks fail or it is slow, set c.HermesChatApp.data_dir to a local folder."
    return str(folder), remark


def _file_system(folder: Path) -> str:
    """Type of the file system that *folder* lies on, as the machine's mount table names it; empty when it is not listed."""
    mounts = {Path(p.mountpoint): p.fstype for p in psutil.disk_partitions(all=True)}
    return next((mounts[parent] for parent in [folder.resolve(), *folder.resolve().parents] if parent in mounts), "")


def _interpreter(settings: HermesChatApp) -> Found:
    return str(find_interpreter(settings.hermes_python or None)), ""


async def _bridge(runtime: BridgeRuntime) -> Found:
    file = await runtime.bridges.ensure()
    health = await runtime.health()
    return f"{file.url} (pid {health['pid']}, version {health['version']})", ""


def _hermes(inventory: Inventory) -> Found:
    if inventory.hermes is None:
        raise Failed("Hermes' version could not be read. Install it with `jupyter hermes-chat setup`.")
    return inventory.hermes, f"{len(inventory.skills)} skills" if inventory.skills else "No skills were found."


def _model(inventory: Inventory) -> Found:
    if inventory.problem is not None:
        raise Failed(inventory.problem.message)
    chosen = "/".join(filter(None, (inventory.default.provider, inventory.default.model)))
    if inventory.tour:
        return chosen, "No model is configured, so the tour answers with scripted replies. Choose one with `hermes model`."
    if not inventory.configured:
        raise Failed("No model is configured. Choose one with `hermes model`, or put a provider's key into the environment.")
    return chosen, ""


async def _round_trip(runtime: BridgeRuntime, inventory: Inventory, folder: Path) -> Found:
    session_id = str(uuid.uuid4())
    request = RunRequest(
        run_id=f"{session_id}.2",
        session_id=session_id,
        hermes_session=f"chat-{session_id}",
        user_message="hello" if inventory.tour else "Reply with the single word: ready",
        working_dir=str(folder),
        max_iterations=3,
    )
    started = time.monotonic()
    try:
        async with asyncio.timeout(ROUND_TRIP_SECONDS):
            async for frame in runtime.generate(request):
                if not isinstance(frame, EventFrame) or not is_terminal(frame.event):
                    continue
                await runtime.confirm(request.run_id, frame.event.last_seq)
                if isinstance(frame.event, RunComplete):
                    return f"{time.monotonic() - started:.1f} s", ""
                raise Failed(frame.event.message if isinstance(frame.event, RunError) else "The reply was stopped by somebody.")
    except TimeoutError as error:
        await runtime.stop(request.run_id, force=True)
        raise Failed(
            f"The model did not finish within {ROUND_TRIP_SECONDS:.0f} s. Look at the provider's status, or choose another model."
        ) from error
    raise Failed("The Bridge ended the reply without saying how. Its log is beside bridge.json in the runtime folder.")
