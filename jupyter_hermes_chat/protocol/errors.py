"""Errors of the product, drawn as a tree::

    HermesChatError
    ├── BadRequest (400)            the request itself is wrong; ``details`` names the field
    │   ├── NotSupported            a valid wish that this runtime or version does not offer
    │   └── MessageTooLarge (413)
    ├── Forbidden (403)
    ├── NotFound (404)
    │   ├── SessionNotFound
    │   ├── MessageNotFound
    │   ├── RunNotFound
    │   └── PauseNotFound           no clarify or approval of that id
    ├── Conflict (409)
    │   ├── SessionBusy             one run per session (R16)
    │   ├── AlreadyAnswered         a second answer changes nothing (R37)
    │   ├── RunEnded                the run is over
    │   └── RecordedElsewhere       another server records this run
    ├── TooManyRuns (429)
    ├── StoreError (500)
    │   ├── StoreDamaged            names file and line; never an empty session instead
    │   ├── StoreGone               the session was deleted under us
    │   ├── StoreNewer              written by a newer version
    │   ├── StorageFull (507)
    │   └── LocksUnsupported        the file system has no locks
    ├── BridgeError (502)
    │   ├── BridgeUnavailable (503) could not be started or reached
    │   └── BridgeLost              it died in the middle of a run
    ├── AgentError (502)            what ends a run as ``run_error``
    │   ├── HermesNotFound (503)    how to install it
    │   ├── HermesIncompatible (503)
    │   ├── NotConfigured           no model, and the tour is switched off
    │   ├── ModelRefused            no key, no credit, unknown model
    │   ├── ContextTooSmall         below Hermes' 64,000 tokens
    │   ├── ModelUnreachable        dead or silent endpoint
    │   ├── Guardrail               refused by a guardrail, with its reason
    │   └── WorkerLost              the agent's process ended
    └── ClientError                 on the kernel's side of the wire; never an answer of a route
        ├── ServerNotFound          no server with this extension in reach, and none could be started
        ├── ServerUnreachable       it was found and does not answer
        ├── UnexpectedAnswer        something else answers there
        └── TurnFailed              what a failed turn is in a notebook; ``details["code"]`` says why

Each has a stable ``code`` (what programs look at), an HTTP ``status`` and a sentence that says what to do (what people
read). No message ever holds a token, a key, a header or a body.
"""

from __future__ import annotations

from typing import Any, ClassVar


class HermesChatError(Exception):
    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def body(self) -> dict[str, Any]:
        """What a route answers: ``{"error": {"code", "message", "details"}}``."""
        return {"error": {"code": self.code, "message": self.message, "details": self.details}}


class BadRequest(HermesChatError):
    code = "bad_request"
    status = 400


class NotSupported(BadRequest):
    code = "not_supported"


class MessageTooLarge(BadRequest):
    code = "message_too_large"
    status = 413


class Forbidden(HermesChatError):
    code = "forbidden"
    status = 403


class NotFound(HermesChatError):
    code = "not_found"
    status = 404


class SessionNotFound(NotFound):
    code = "session_not_found"


class MessageNotFound(NotFound):
    code = "message_not_found"


class RunNotFound(NotFound):
    code = "run_not_found"


class PauseNotFound(NotFound):
    code = "pause_not_found"


class Conflict(HermesChatError):
    code = "conflict"
    status = 409


class SessionBusy(Conflict):
    code = "session_busy"


class AlreadyAnswered(Conflict):
    code = "already_answered"


class RunEnded(Conflict):
    code = "run_ended"


class RecordedElsewhere(Conflict):
    code = "recorded_elsewhere"


class TooManyRuns(HermesChatError):
    code = "too_many_runs"
    status = 429


class StoreError(HermesChatError):
    code = "store_error"


class StoreDamaged(StoreError):
    code = "store_damaged"


class StoreGone(StoreError):
    code = "store_gone"


class StoreNewer(StoreError):
    code = "store_newer"


class StorageFull(StoreError):
    code = "storage_full"
    status = 507


class LocksUnsupported(StoreError):
    code = "locks_unsupported"


class BridgeError(HermesChatError):
    code = "bridge_error"
    status = 502


class BridgeUnavailable(BridgeError):
    code = "bridge_unavailable"
    status = 503


class BridgeLost(BridgeError):
    code = "bridge_lost"


class AgentError(HermesChatError):
    code = "agent_error"
    status = 502


class HermesNotFound(AgentError):
    code = "hermes_not_found"
    status = 503


class HermesIncompatible(AgentError):
    code = "hermes_incompatible"
    status = 503


class NotConfigured(AgentError):
    code = "not_configured"


class ModelRefused(AgentError):
    code = "model_refused"


class ContextTooSmall(AgentError):
    code = "context_too_small"


class ModelUnreachable(AgentError):
    code = "model_unreachable"


class Guardrail(AgentError):
    code = "guardrail"


class WorkerLost(AgentError):
    code = "worker_lost"


class ClientError(HermesChatError):
    code = "client_error"


class ServerNotFound(ClientError):
    code = "server_not_found"


class ServerUnreachable(ClientError):
    code = "server_unreachable"


class UnexpectedAnswer(ClientError):
    code = "unexpected_answer"


class TurnFailed(ClientError):
    code = "turn_failed"


def error_types() -> dict[str, type[HermesChatError]]:
    """Every error by its code, so that a client raises the type that the server meant."""
    found: dict[str, type[HermesChatError]] = {}
    todo: list[type[HermesChatError]] = [HermesChatError]
    while todo:
        kind = todo.pop()
        found[kind.code] = kind
        todo.extend(kind.__subclasses__())
    return found
