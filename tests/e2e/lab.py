"""A real JupyterLab for browser tests: its own folders, port and token, and what a person does in it.

:func:`running_lab` starts the server and ends it with everything that it started. :class:`Notebook` is one notebook in one
browser page, opened in a fresh workspace; its methods return when what they caused is done, never after a fixed time.
"""

from __future__ import annotations

import json
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import nbformat
from playwright.sync_api import BrowserContext, Locator, Page

from tests.conftest import private_environment

REPOSITORY = Path(__file__).parent.parent.parent
NAME = "jupyter-hermes-chat"
SHORT = 60_000
"""Milliseconds that a step may take before the test fails; the machine of the tests may be slow."""

BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


@dataclass(frozen=True)
class Lab:
    """``url`` ends with a slash; notebooks are opened by their path below ``root``."""

    url: str
    token: str
    root: Path
    environment: dict[str, str]

    def api(self, path: str) -> Any:
        """JSON of a GET below the base URL."""
        answer = httpx.get(self.url + path, headers={"Authorization": f"token {self.token}"}, timeout=20, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    def write_notebook(self, name: str, *cells: str) -> str:
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source) for source in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        nbformat.write(notebook, self.root / f"{name}.ipynb")
        return f"{name}.ipynb"

    def copy_notebook(self, file: Path) -> str:
        shutil.copy(file, self.root)
        return file.name

    def store_output(self, path: str, data: dict[str, Any]) -> None:
        """Gives the first cell of a notebook on disk an output, as somebody else's kernel might have: nobody trusts it."""
        notebook = nbformat.read(self.root / path, as_version=4)
        notebook.cells[0].outputs = [nbformat.v4.new_output("display_data", data=data)]
        nbformat.write(notebook, self.root / path)

    def disable_labextension(self, disabled: bool) -> None:
        """Takes effect when a page is opened the next time."""
        write_page_config(self.environment, disabled=disabled)


def write_page_config(environment: dict[str, str], *, disabled: bool) -> None:
    """Lab's look at its own build, once a page, costs seconds of Node and says nothing here, so it is off."""
    folder = Path(environment["JUPYTER_CONFIG_DIR"]) / "labconfig"
    folder.mkdir(parents=True, exist_ok=True)
    config = {"buildAvailable": False, "buildCheck": False, "disabledExtensions": {NAME: disabled}}
    (folder / "page_config.json").write_text(json.dumps(config))


@contextmanager
def running_lab(folder: Path, base_url: str = "/") -> Iterator[Lab]:
    """JupyterLab on this working tree: the extension is enabled here, whether the package is installed or not."""
    environment = private_environment(folder, PYTHONPATH=str(REPOSITORY))
    config = Path(environment["JUPYTER_CONFIG_DIR"])
    write_page_config(environment, disabled=False)
    quiet = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
    (config / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(quiet))
    (config / "jupyter_server_config.json").write_text(
        json.dumps({"ServerApp": {"jpserver_extensions": {"jupyter_hermes_chat": True}}})
    )
    extensions = folder / "labextensions"
    extensions.mkdir()
    (extensions / NAME).symlink_to(REPOSITORY / "jupyter_hermes_chat" / "labextension", target_is_directory=True)
    root = folder / "notebooks"
    root.mkdir()
    port, token = free_port(), secrets.token_hex(8)
    url = f"http://127.0.0.1:{port}{base_url}"
    command = [
        *(sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--ServerApp.base_url={base_url}"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"),
        *("--LabApp.expose_app_in_browser=True", f"--LabApp.extra_labextensions_path={extensions}"),
    ]
    log = (folder / "lab.log").open("wb")
    process = subprocess.Popen(command, env=environment, cwd=root, stdout=log, stderr=log)
    lab = Lab(url, token, root, environment)
    try:
        _until_up(lab, process, folder / "lab.log")
        yield lab
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()
        subprocess.run(
            [sys.executable, "-c", "from jupyter_hermes_chat.cli import main; main()", "stop"],
            env=environment,
            cwd=folder,
            check=False,
            timeout=30,
        )


def _until_up(lab: Lab, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 40
    while True:
        try:
            lab.api("api/status")
            return
        except httpx.HTTPError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"JupyterLab did not start: {log.read_text()[-4000:]}") from error
            time.sleep(0.1)


KERNEL_IDLE = """() => {
  const kernel = jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === "connected" && kernel.status === "idle";
}"""
THEME_SHOWN = """light => document.body.dataset.jpThemeLight === light && !document.getElementById("jupyterlab-splash")"""
STORED = """index => jupyterapp.shell.currentWidget.content.model.cells.get(index).toJSON().outputs
  .some(output => output.data?.["application/vnd.hermes-chat.turn+json"]?.live === false)"""
RUN_CELL = """async ([index, wait]) => {
  const notebook = jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = index;
  notebook.deselectAll();
  const done = jupyterapp.commands.execute("notebook:run-cell");
  if (wait) await done;
}"""


class Notebook:
    """One notebook in one page of *context*. ``errors`` collects what the page threw or logged as an error,
    ``requested`` the addresses that it asked for."""

    def __init__(self, context: BrowserContext, lab: Lab, path: str) -> None:
        self.lab = lab
        self.path = path
        self.workspace = f"test-{secrets.token_hex(4)}"
        self.errors: list[str] = []
        self.requested: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(SHORT)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.on("request", lambda request: self.requested.append(request.url))
        self._open("reset&")

    def _open(self, query: str = "") -> None:
        address = f"{self.lab.url}lab/workspaces/{self.workspace}/tree/{self.path}?{query}token={self.lab.token}"
        self.page.goto(address, wait_until="domcontentloaded")
        self.page.wait_for_function("() => !!window.jupyterapp")
        self.page.evaluate("() => jupyterapp.restored")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.until_idle()

    def until_idle(self) -> None:
        self.page.wait_for_function(KERNEL_IDLE)

    def reload(self) -> None:
        """As a person does: the saved notebook in the same workspace, with the kernel that is still there."""
        self.command("docmanager:save")
        self._open()

    def command(self, name: str, **arguments: object) -> None:
        self.page.evaluate("([name, args]) => jupyterapp.commands.execute(name, args)", [name, arguments])

    def trust(self) -> None:
        self.page.evaluate("() => void jupyterapp.commands.execute('notebook:trust')")
        self.page.get_by_role("dialog").get_by_role("button", name="Trust").click()

    def has_command(self, name: str) -> bool:
        found: bool = self.page.evaluate("name => jupyterapp.commands.hasCommand(name)", name)
        return found

    def run(self, index: int, *, wait: bool = True) -> None:
        """Runs cell *index* (from 0); with *wait*, returns when it is done."""
        self.page.evaluate(RUN_CELL, [index, wait])

    def output(self, index: int) -> Locator:
        """Scrolls to cell *index*, since Lab draws only what is in sight."""
        self.page.evaluate("index => jupyterapp.shell.currentWidget.content.scrollToItem(index)", index)
        return self.page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{index}"] .jp-Cell-outputArea')

    def stored_outputs(self, index: int) -> list[dict[str, Any]]:
        """Outputs of cell *index* as the notebook's model has them now."""
        script = "index => jupyterapp.shell.currentWidget.content.model.cells.get(index).toJSON().outputs"
        outputs: list[dict[str, Any]] = self.page.evaluate(script, index)
        return outputs

    def until_stored(self, index: int) -> None:
        """Until the notebook's model holds the finished turn of cell *index*."""
        self.page.wait_for_function(STORED, arg=index)

    def code_cells(self) -> list[int]:
        return [i for i, cell in enumerate(self._cells()) if cell["cell_type"] == "code"]

    def index_of(self, text: str) -> int:
        """Of the one code cell whose source holds *text*."""
        [index] = [i for i in self.code_cells() if text in self._cells()[i]["source"]]
        return index

    def failed_cells(self) -> list[dict[str, Any]]:
        return [cell for cell in self._cells() if any(o["output_type"] == "error" for o in cell.get("outputs", []))]

    def _cells(self) -> list[dict[str, Any]]:
        cells: list[dict[str, Any]] = self.page.evaluate("() => jupyterapp.shell.currentWidget.content.model.toJSON().cells")
        return cells

    def cell_count(self) -> int:
        count: int = self.page.evaluate("() => jupyterapp.shell.currentWidget.content.widgets.length")
        return count

    def active_cell(self) -> int:
        index: int = self.page.evaluate("() => jupyterapp.shell.currentWidget.content.activeCellIndex")
        return index

    def show_sidebar(self) -> Locator:
        self.command("hermes-chat:open")
        return self.page.locator("#hermes-chat")

    def screenshots(self, name: str) -> None:
        """``<name>-light.png`` and ``<name>-dark.png`` under ``tests/artifacts``, to be looked at."""
        for theme, light in (("JupyterLab Dark", "false"), ("JupyterLab Light", "true")):
            self.command("apputils:change-theme", theme=theme)
            self.page.wait_for_function(THEME_SHOWN, arg=light)
            screenshot(self.page, f"{name}-{'light' if light == 'true' else 'dark'}")


def screenshot(page: Page, name: str) -> None:
    folder = REPOSITORY / "tests" / "artifacts"
    folder.mkdir(exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
