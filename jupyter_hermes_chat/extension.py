"""The Jupyter server extension: configuration, routes, start and stop.

Life: Jupyter links and initializes it (store and runtime are made, nothing is started), then starts it (the server file for
kernels is written, unfinished runs are taken up in the background), and stops it (what waits is written; runs go on in the
Bridge). Whatever fails here is a sentence in the log, in ``health`` and on every route: the Jupyter server itself always starts.
"""

from __future__ import annotations

import getpass
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from jupyter_core.paths import jupyter_data_dir, secure_write
from jupyter_server.extension.application import ExtensionApp
from jupyter_server.serverapp import ServerApp
from traitlets import Int, Unicode, default

from ._version import __version__
from .handlers import handlers
from .handlers.access import Access
from .handlers.base import Hermes
from .protocol.errors import HermesChatError
from .protocol.server_file import ServerFile, file_name
from .runs.service import Service

WILDCARD_IPS = ("", "0.0.0.0", "::")


class HermesChatApp(ExtensionApp):
    name = "jupyter_hermes_chat"
    extension_url = "/hermes/chat"
    load_other_extensions = True

    data_dir = Unicode(help="Where sessions, journals and results are kept.", config=True)
    hermes_home = Unicode("", help="Hermes' home; empty means Hermes' own default (HERMES_HOME, else ~/.hermes).", config=True)
    hermes_python = Unicode("", help="The interpreter of Hermes' environment; empty means that it is looked for.", config=True)
    bridge_url = Unicode("", help="A Hermes Bridge that somebody else runs; empty means that one is started here.", config=True)
    bridge_token = Unicode("", help="The token of that Bridge.", config=True)
    max_active_runs = Int(5, min=1, help="Runs of one owner that may be active at once; waiting ones count apart.", config=True)
    max_waiting_runs = Int(20, min=1, help="Runs of one owner that may wait for a person at once.", config=True)
    owner = Unicode(
        help="Whose sessions the server's own user sees: whoever enters by Jupyter's token or password, and this server's "
        "kernels. Under JupyterHub, and with any identity provider that names its users, rows belong to those names.",
        config=True,
    )

    @default("data_dir")
    def _data_dir_default(self) -> str:
        return os.environ.get("HERMES_CHAT_DATA_DIR") or str(Path(jupyter_data_dir()) / "hermes-chat")

    @default("owner")
    def _owner_default(self) -> str:
        try:
            return os.environ.get("JUPYTERHUB_USER") or getpass.getuser()
        except (KeyError, OSError):  # a container's user without a name
            return str(os.getuid())

    # ---- Jupyter's hooks --------------------------------------------------------------------------------------------

    def initialize_settings(self) -> None:
        self._service: Service | None = None
        self._server_file: Path | None = None
        problem: HermesChatError | None = None
        try:
            self._service = self._make_service()
        except HermesChatError as error:
            problem = error
            self.log.error("Hermes chat cannot be used: %s", error.message)
        self.settings["hermes_chat"] = self._hermes = Hermes(Access(self.owner), self._service, problem)

    def initialize_handlers(self) -> None:
        assert self.serverapp is not None
        self.serverapp.web_app.add_handlers(".*$", handlers(self.serverapp.base_url))  # type: ignore[no-untyped-call]

    async def _start_jupyter_server_extension(self, serverapp: ServerApp) -> None:
        if self._service is None:
            return
        self._service.start()
        try:
            self._write_server_file(serverapp)
        except OSError as error:
            self.log.error("Kernels cannot find this server: its file in %s was not written: %s", serverapp.runtime_dir, error)

    async def stop_extension(self) -> None:
        if self._server_file is not None:
            self._server_file.unlink(missing_ok=True)
        if self._service is not None:
            await self._service.close()

    def current_activity(self) -> list[str]:
        """The runs that go on: Jupyter does not shut down while an agent works or waits for an answer (design §9)."""
        return [] if self._service is None else [channel.run_id for channel in self._service.channels.active()]

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _make_service(self) -> Service:
        # Not before a server really has this extension: httpx and TinyDB are half of the import's cost.
        from .runtimes.bridge import BridgeRuntime
        from .store.tinydb_store import TinyDBStore

        data_folder = Path(self.data_dir).expanduser()
        store = TinyDBStore(data_folder)
        runtime = BridgeRuntime(
            data_folder,
            bridge_url=self.bridge_url or None,
            bridge_token=self.bridge_token or None,
            hermes_python=self.hermes_python or None,
            hermes_home=self.hermes_home or None,
        )
        return Service(
            store,
            runtime,
            self.log,
            max_active_runs=self.max_active_runs,
            max_waiting_runs=self.max_waiting_runs,
            hermes_home=self.hermes_home or None,
            on_activity=self._note_activity,
        )

    def _note_activity(self) -> None:
        """A Hub's culler looks at this time: an agent at work is activity, an open tab is not."""
        assert self.serverapp is not None
        times: dict[str, Any] = self.serverapp.web_app.settings["last_activity_times"]
        times["hermes_chat"] = datetime.now(UTC)

    def _write_server_file(self, serverapp: ServerApp) -> None:
        path = Path(serverapp.runtime_dir) / file_name(os.getpid())
        content = ServerFile(
            url=_own_url(serverapp),
            token=self._hermes.access.token,
            data_folder=str(Path(self.data_dir).expanduser()),
            pid=os.getpid(),
            version=__version__,
            root=str(Path(serverapp.root_dir).absolute()),
            socket=serverapp.sock or None,
        )
        with secure_write(str(path)) as file:
            file.write(msgspec.json.encode(content).decode())
        self._server_file = path


def _own_url(serverapp: ServerApp) -> str:
    """The server's base URL as a process on this machine reaches it. With a Unix socket the host says nothing."""
    if serverapp.sock:
        return f"http://localhost{serverapp.base_url}"
    url = urlsplit(serverapp.connection_url)
    if serverapp.ip in WILDCARD_IPS:
        url = url._replace(netloc=f"127.0.0.1:{serverapp.port}")
    return url.geturl()
