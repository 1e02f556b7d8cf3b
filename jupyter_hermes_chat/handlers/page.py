"""The front end's files (``hermes/static/…``) and the page (``hermes/chat[/{session}]``), design §7.

Both need a login like everything else: a browser without one is sent to the login page and comes back. Names with a hash
never change their content, so they are kept by the browser for good; Jupyter compresses nothing, so what the build has
compressed is sent where the client takes it. The page runs under a policy that allows scripts and styles of this server
only. Knows nothing of sessions and runs: the page asks the REST interface like every other view.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

STATIC = Path(__file__).parent.parent / "static"
HASHED = re.compile(r"\.[A-Z0-9]{8}\.(?:js|css)(?:\.gz)?$")

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
    )
)


def manifest() -> dict[str, str] | None:
    """File names of ``core``, ``page``, ``pageCss`` and ``widget`` in the static folder; None where nothing was built."""
    try:
        text = (STATIC / "manifest.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    found: dict[str, str] = json.loads(text)
    return found


def language(accept: str) -> str:
    """The first of our languages that an ``Accept-Language`` header names, ``en`` where it names none."""
    ranked: list[tuple[float, str]] = []
    for item in accept.split(","):
        tag, _, quality = item.partition(";q=")
        try:
            ranked.append((-float(quality or 1), tag.strip().lower()))
        except ValueError:
            continue
    for _, tag in sorted(ranked, key=lambda pair: pair[0]):
        if tag.split("-")[0] in ("en", "zh"):
            return "zh-CN" if tag.startswith("zh") else "en"
    return "en"


class StaticHandler(JupyterHandler, web.StaticFileHandler):
    auth_resource = "hermes"
    compressed = False

    @property
    def content_security_policy(self) -> str:
        return "default-src 'none'; sandbox"

    @web.authenticated
    @authorized
    def get(self, path: str, include_body: bool = True) -> Awaitable[None]:  # type: ignore[override]
        if "gzip" in self.request.headers.get("Accept-Encoding", "") and (STATIC / f"{path}.gz").is_file():
            self.compressed = True
            path = f"{path}.gz"
        return web.StaticFileHandler.get(self, path, include_body)

    @web.authenticated
    @authorized
    def head(self, path: str) -> Awaitable[None]:  # type: ignore[override]
        return web.StaticFileHandler.get(self, path, include_body=False)

    def compute_etag(self) -> str | None:
        return web.StaticFileHandler.compute_etag(self)

    def get_content_type(self) -> str:
        name = str(self.absolute_path).removesuffix(".gz")
        kinds = {".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".txt": "text/plain"}
        return f"{kinds.get(Path(name).suffix, 'application/octet-stream')}; charset=utf-8"

    def set_extra_headers(self, path: str) -> None:
        self.set_header("Cache-Control", "private, max-age=31536000, immutable" if HASHED.search(path) else "no-cache")
        self.set_header("Vary", "Accept-Encoding")
        self.set_header("X-Content-Type-Options", "nosniff")
        if self.compressed:
            self.set_header("Content-Encoding", "gzip")


class PageHandler(JupyterHandler):
    auth_resource = "hermes"

    @property
    def content_security_policy(self) -> str:
        return POLICY

    @web.authenticated
    @authorized
    def get(self, session: str | None = None) -> None:
        files = manifest()
        if files is None:
            raise web.HTTPError(503, "The front end of Hermes Chat was not built: run `npm ci` and `npm run build` in js/.")
        base = self.base_url
        static = url_path_join(base, "hermes/static")
        config = json.dumps({"baseUrl": base, "core": files["core"]}).replace("<", "\\u003c")
        _ = self.xsrf_token  # reading it sets the cookie, without which the page could not send anything
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "same-origin")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.finish(
            f"""<!doctype html>
<html lang="{language(self.request.headers.get("Accept-Language", ""))}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Hermes</title>
<link rel="stylesheet" href="{html.escape(url_path_join(static, files["pageCss"]))}">
<script id="jupyter-config-data" type="application/json">{config}</script>
<main id="hermes"></main>
<script type="module" src="{html.escape(url_path_join(static, files["page"]))}"></script>
</html>
"""
        )


def page_handlers(base_url: str) -> list[tuple[Any, ...]]:
    """Rules for ``hermes/static/…`` and ``hermes/chat[/{session}]`` below *base_url*."""
    return [
        (url_path_join(base_url, r"hermes/static/(.*)"), StaticHandler, {"path": str(STATIC)}),
        (url_path_join(base_url, r"hermes/chat(?:/([0-9a-f-]*))?"), PageHandler),
    ]
