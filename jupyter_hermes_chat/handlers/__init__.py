"""HTTP: parse, call the service, answer. Every route is authenticated and authorised; rules live elsewhere (design §8, §9)."""

from __future__ import annotations

from typing import Any

from jupyter_server.utils import url_path_join

API = "hermes/api/chat"


def handlers(base_url: str) -> list[tuple[Any, ...]]:
    """Patterns, *base_url* included, and their handlers."""
    from . import messages, resources, runs, sessions, streams
    from .page import page_handlers

    routes: list[tuple[Any, ...]] = [
        (url_path_join(base_url, API, path), handler)
        for module in (sessions, runs, streams, messages, resources)
        for path, handler in module.ROUTES
    ]
    return routes + page_handlers(base_url)
