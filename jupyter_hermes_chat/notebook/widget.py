"""The whole chat inside a notebook: ``HermesChat()``, in any front end that runs widgets (R34, design §7).

The widget carries a loader of about a kilobyte. It imports the one core of the page from the Jupyter server; only where
none answers, it asks the kernel, once a page, and :class:`HermesChat` sends it. What is shown goes over HTTP between page
and server; the kernel's one part in it is the name of the session.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anywidget
import traitlets

STATIC = Path(__file__).parent.parent / "static"


class HermesChat(anywidget.AnyWidget):
    """The chat in a cell's output.

    ``session`` is the id of the session that is shown: the one given, a new chat for ``None``. It follows what a person
    opens in the view, and setting it opens that session in all views of this widget.
    """

    _esm = STATIC / "widget.js"
    session = traitlets.Unicode(None, allow_none=True).tag(sync=True)

    def __init__(self, session: str | None = None) -> None:
        super().__init__(session=session)
        self.on_msg(self._send_core)

    def _send_core(self, _widget: Any, content: dict[str, Any], _buffers: list[bytes]) -> None:
        if content.get("ask") == "core":
            files = json.loads((STATIC / "manifest.json").read_text(encoding="utf-8"))
            self.send({"core": (STATIC / files["core"]).read_text(encoding="utf-8")})
