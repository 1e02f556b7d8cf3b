"""A real kernel, and what a notebook would keep of what it says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.servers import Running

SECONDS = 60.0


@dataclass
class Cell:
    """What a cell's execution left. ``outputs`` are as a notebook stores them; ``displays`` is every bundle that was sent,
    updates included, in order."""

    outputs: list[dict[str, Any]] = field(default_factory=list)
    displays: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    status: str = ""

    @property
    def text(self) -> str:
        """What was printed."""
        return "".join(o["text"] for o in self.outputs if o["output_type"] == "stream")

    @property
    def data(self) -> dict[str, Any]:
        """The bundle of the one output that is displayed."""
        (shown,) = [o for o in self.outputs if o["output_type"] in ("display_data", "execute_result")]
        data: dict[str, Any] = shown["data"]
        return data

    @property
    def error(self) -> dict[str, Any]:
        (error,) = [o for o in self.outputs if o["output_type"] == "error"]
        return error


class Kernel:
    """Runs code cell by cell, as a notebook does."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager, self.client = manager, client
        self._shown: dict[str, dict[str, Any]] = {}

    def run(
        self,
        code: str,
        *,
        stdin: Callable[[str], str] | None = None,
        on_display: Callable[[dict[str, Any]], None] | None = None,
        seconds: float = SECONDS,
    ) -> Cell:
        """*stdin* answers ``input()``; without it, this front end allows none. *on_display* sees each bundle when it comes."""
        cell, deadline = Cell(), time.monotonic() + seconds
        request = self.client.execute(code, allow_stdin=stdin is not None)
        while True:
            if stdin is not None and self.client.stdin_channel.msg_ready():
                question = self.client.get_stdin_msg(timeout=1)["content"]["prompt"]
                cell.asked.append(question)
                self.client.input(stdin(question))
            try:
                message = self.client.get_iopub_msg(timeout=0.2)
            except Empty:
                assert time.monotonic() < deadline, f"the cell hangs; it shows {cell.outputs}"
                continue
            kind, content = message["msg_type"], message["content"]
            if kind in ("display_data", "update_display_data"):
                self._show(cell, kind, content)
                if on_display is not None:
                    on_display(content["data"])
            elif message["parent_header"].get("msg_id") != request:
                continue
            elif kind in ("execute_result", "error"):
                cell.outputs.append({"output_type": kind, **content})
            elif kind == "stream":
                cell.outputs.append({"output_type": "stream", **content})
            elif kind == "status" and content["execution_state"] == "idle":
                break
        cell.status = self._reply(request)["content"]["status"]
        return cell

    def settled(self, display: dict[str, Any], done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The bundle of an output once *done*, though no cell runs: a background turn goes on being shown."""
        while not done(display["data"]):
            message = self.client.get_iopub_msg(timeout=SECONDS)
            if message["msg_type"] == "update_display_data":
                self._show(Cell(), message["msg_type"], message["content"])
        data: dict[str, Any] = display["data"]
        return data

    def value(self, expression: str) -> Any:
        """What a cell prints of an expression's ``repr``, evaluated here."""
        cell = self.run(f"print(repr({expression}))")
        assert cell.status == "ok", cell.outputs
        return eval(cell.text, {})

    def _show(self, cell: Cell, kind: str, content: dict[str, Any]) -> None:
        cell.displays.append(content["data"])
        key = content.get("transient", {}).get("display_id")
        if kind == "display_data":
            output = {"output_type": kind, "data": content["data"]}
            cell.outputs.append(output)
            if key is not None:
                self._shown[key] = output
        else:
            self._shown[key]["data"] = content["data"]

    def _reply(self, request: str) -> dict[str, Any]:
        while True:
            reply: dict[str, Any] = self.client.get_shell_msg(timeout=SECONDS)
            if reply["parent_header"].get("msg_id") == request:
                return reply


@contextmanager
def kernel_of(server: Running) -> Iterator[Kernel]:
    """A kernel in the server's folder, with the magics loaded."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env=server.environment, cwd=str(server.root))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=SECONDS)
        kernel = Kernel(manager, client)
        kernel.run("%load_ext jupyter_hermes_chat")
        yield kernel
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
