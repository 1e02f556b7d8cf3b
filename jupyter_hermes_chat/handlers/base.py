"""What all our routes share: identity, bodies that fit their schema, errors as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

import msgspec
from jupyter_server.auth import IdentityProvider
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError

from ..protocol.errors import BadRequest, Forbidden, HermesChatError, MessageTooLarge, NotFound
from ..runs.service import Service
from .access import Access

T = TypeVar("T")
BODY_BYTES = 8_000_000

M = TypeVar("M", bound=Callable[..., Any])

_encoder = msgspec.json.Encoder()
_PATH = re.compile(r" - at `(\$[^`]*)`$")
_FIELD = re.compile(r"^Object (?:contains unknown|missing required) field `([^`]+)`")


def authorized_to_execute(method: M) -> M:
    """For every route that makes an agent act (design §9); Jupyter derives read and write from the method."""
    return cast("M", authorized("execute")(method))


class Hermes:
    """What the extension hands to its handlers. ``problem`` is why there is no service, where there is none."""

    def __init__(self, access: Access, service: Service | None, problem: HermesChatError | None = None) -> None:
        self.access = access
        self._service = service
        self.problem = problem

    @property
    def service(self) -> Service:
        if self._service is None:
            raise self.problem or HermesChatError("Hermes chat did not start; the server's log says why.")
        return self._service


class HermesHandler(APIHandler):
    auth_resource = "hermes"

    @property
    def hermes(self) -> Hermes:
        hermes: Hermes = self.settings["hermes_chat"]
        return hermes

    @property
    def service(self) -> Service:
        return self.hermes.service

    @property
    def identity_provider(self) -> IdentityProvider:
        """Jupyter's, or ours for a request that bears the server file's token."""
        if not hasattr(self, "_provider"):
            access = self.hermes.access
            self._provider: IdentityProvider = access.identity if access.bears_token(self) else super().identity_provider
        return self._provider

    @property
    def owner(self) -> str:
        return self.hermes.access.owner_of(self.identity_provider, self.current_user)

    def body(self, type_: type[T]) -> T:
        """The request's JSON as *type_*. Raises :class:`BadRequest` that names the field in ``details.field``."""
        raw = self.request.body or b"{}"
        if len(raw) > BODY_BYTES:
            raise MessageTooLarge(f"The request is larger than {BODY_BYTES // 1_000_000} MB.", field="$")
        try:
            return msgspec.json.decode(raw, type=type_)
        except msgspec.ValidationError as error:
            message = str(error)
            path, field = _PATH.search(message), _FIELD.search(message)
            where = (path[1] if path else "$") + (f".{field[1]}" if field else "")
            raise BadRequest(f"The request does not fit at `{where}`: {_PATH.sub('', message)}.", field=where) from error
        except msgspec.DecodeError as error:
            raise BadRequest(f"The request's body is not JSON: {error}.", field="$") from error

    def whole_number(self, name: str, default: int, least: int, most: int) -> int:
        """A query argument. Raises :class:`BadRequest`."""
        value = self.get_query_argument(name, "")
        if value == "":
            return default
        if not (value.isascii() and value.isdigit() and len(value) < 12 and least <= int(value) <= most):
            raise BadRequest(f"`{name}` is a whole number from {least} to {most}.", field=name)
        return int(value)

    def answer(self, body: Any, status: int = 200) -> None:
        self.set_status(status)
        self.finish(_encoder.encode(body))

    # ---- errors -----------------------------------------------------------------------------------------------------

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Every error is ``{"error": {"code", "message", "details"}}``; never a stack trace, a header or a body."""
        error = (kwargs.get("exc_info") or (None, None, None))[1]
        if not isinstance(error, HermesChatError):
            error = _own(status_code, error)
            error_status = status_code
        else:
            error_status = error.status
        self.set_status(error_status)
        self.finish(_encoder.encode(error.body()))

    def log_exception(self, typ: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        if isinstance(value, HermesChatError):
            log = self.log.warning if value.status >= 500 else self.log.debug
            log("%s %s: %s %s", self.request.method, self.request.path, value.code, value.message)
        else:
            super().log_exception(typ, value, tb)


def _own(status: int, error: BaseException | None) -> HermesChatError:
    said = error.log_message if isinstance(error, HTTPError) else None
    match status:
        case 401 | 403:
            return Forbidden(said or "You may not do this here. Log in to Jupyter again, or ask who runs this server.")
        case 404:
            return NotFound(said or "There is nothing here.")
        case _ if 400 <= status < 500:
            return BadRequest(said or "The server cannot read this request.")
        case _:
            return HermesChatError("Something went wrong in the server; its log says what.")
