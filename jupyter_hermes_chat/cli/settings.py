"""The extension's settings as a Jupyter server of this user would read them (``jupyter_server_config``)."""

from __future__ import annotations

from pathlib import Path

from jupyter_server.serverapp import ServerApp

from ..extension import HermesChatApp
from ..runtimes.bridge import BridgeRuntime


def load_settings() -> HermesChatApp:
    """An application with its configuration, not started. Reads the same files, in the same order, as the server does."""
    server = ServerApp()
    server.load_config_file()
    return HermesChatApp(config=server.config)


def data_folder(settings: HermesChatApp) -> Path:
    return Path(settings.data_dir).expanduser()


def make_runtime(settings: HermesChatApp) -> BridgeRuntime:
    return BridgeRuntime(
        data_folder(settings),
        hermes_python=settings.hermes_python or None,
        hermes_home=settings.hermes_home or None,
        bridge_url=settings.bridge_url or None,
        bridge_token=settings.bridge_token or None,
    )
