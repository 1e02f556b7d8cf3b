"""How a kernel finds its Jupyter server: ``<jupyter runtime dir>/hermes-chat-server-<pid>.json``, mode 0600 (design §7).

The extension writes it once it listens and removes it when it stops; a file whose process is gone is left over and means
nothing. The token is valid for this product's routes only, and is sent as ``Authorization: Bearer <token>``.
"""

from __future__ import annotations

from msgspec import Struct

GLOB = "hermes-chat-server-*.json"


def file_name(pid: int) -> str:
    return f"hermes-chat-server-{pid}.json"


class ServerFile(Struct, rename="camel", kw_only=True, frozen=True):
    """``url`` is the server's base URL with its prefix and a slash at the end; with a Unix ``socket`` its host says nothing.
    ``root`` is the folder that the server shows."""

    url: str
    token: str
    data_folder: str
    pid: int
    version: str
    root: str
    socket: str | None = None
