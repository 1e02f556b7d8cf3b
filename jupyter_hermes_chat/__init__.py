"""Hermes Agent inside Jupyter: extension points and public names.

Nothing heavy is imported here, so that a Jupyter server or a kernel pays for what it uses only. The extension points are
functions that import their module when they are called; the public names of :data:`__all__` resolve on first access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .client import AsyncHermesClient, HermesClient
    from .notebook.reply import Reply
    from .notebook.widget import HermesChat

__all__ = ["AsyncHermesClient", "HermesChat", "HermesClient", "Reply", "__version__"]

_LAZY = {
    "AsyncHermesClient": "client",
    "HermesClient": "client",
    "HermesChat": "notebook.widget",
    "Reply": "notebook.reply",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LAZY[name]}", __name__), name)


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from .extension import HermesChatApp

    return [{"module": "jupyter_hermes_chat.extension", "app": HermesChatApp}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "jupyter-hermes-chat"}]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """``%load_ext jupyter_hermes_chat``: registers ``%hermes`` and ``%%hermes`` (R55)."""
    from .notebook.magics import load

    load(shell)
