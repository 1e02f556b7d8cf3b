"""Every request of the REST interface as a value, so that the sync and the async client are two executors of one list.

A function here builds a :class:`Call` and does nothing else; its docstring is the documentation of the client's method of
the same name. Which errors a route answers stands in ``docs/protocol.md``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import httpx
import msgspec
from msgspec import Struct

from ..protocol.errors import HermesChatError, UnexpectedAnswer, error_types
from ..protocol.events import Choice
from ..protocol.records import (
    ApproveRun,
    Body,
    CreateSession,
    ErrorBody,
    Health,
    LogPage,
    MessagePage,
    ModelList,
    ResumeRun,
    RunStartedBody,
    RunState,
    SessionCreated,
    SessionList,
    SessionView,
    SkillList,
    StartRun,
    StopResult,
    StopRun,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """``path`` is relative to ``hermes/api/chat/``; ``returns`` is what the answer's JSON becomes (``NoneType``: no body)."""

    returns: type[T]
    method: Literal["GET", "POST", "DELETE"]
    path: str
    params: dict[str, Any] | None = None
    body: Body | None = None

    def arguments(self) -> dict[str, Any]:
        """For ``httpx.Client.request`` and its async twin."""
        content = None if self.body is None else _encode(self.body)
        headers = None if content is None else {"Content-Type": "application/json"}
        return {"method": self.method, "url": self.path, "params": self.params, "content": content, "headers": headers}

    def result(self, response: httpx.Response) -> T:
        """The answer's value. Raises the typed error that the server meant; the response has been read."""
        check(response)
        if self.returns is type(None):
            return None
        try:
            return msgspec.json.decode(response.content, type=self.returns)
        except msgspec.DecodeError as error:
            raise _unexpected(response) from error


def _encode(body: Body) -> bytes:
    """Half a surrogate pair (a notebook's cell may hold one, UTF-8 cannot) becomes U+FFFD, as in what an agent says."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(body), ensure_ascii=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


class _ErrorAnswer(Struct):
    error: ErrorBody


def check(response: httpx.Response) -> None:
    """Raises the error in an answer, by its code; a code of a newer server is the base of all errors."""
    if response.is_success:
        return
    try:
        told = msgspec.json.decode(response.content, type=_ErrorAnswer).error
    except msgspec.DecodeError as error:
        raise _unexpected(response) from error
    raised = error_types().get(told.code, HermesChatError)(told.message)
    raised.details = told.details
    raise raised


def _unexpected(response: httpx.Response) -> UnexpectedAnswer:
    return UnexpectedAnswer(
        f"{response.url.host} answered {response.status_code} to {response.url.path}, which is no answer of Jupyter Hermes Chat. "
        "Is the extension enabled there (jupyter server extension list)?"
    )


def create_session(
    *, title: str | None = None, model_id: str | None = None, skill_folder: str | None = None
) -> Call[SessionCreated]:
    """A new, empty session."""
    return Call(SessionCreated, "POST", "sessions", body=CreateSession(title=title, model_id=model_id, skill_folder=skill_folder))


def sessions(*, offset: int = 0, limit: int = 50) -> Call[SessionList]:
    """A page of the sessions, by latest activity."""
    return Call(SessionList, "GET", "sessions", {"offset": offset, "limit": limit})


def session(session_id: str) -> Call[SessionView]:
    """A session with the last 50 messages of its active branch, logs included."""
    return Call(SessionView, "GET", f"sessions/{session_id}")


def delete_session(session_id: str) -> Call[None]:
    return Call(type(None), "DELETE", f"sessions/{session_id}")


def messages(session_id: str, *, before: str, limit: int = 50) -> Call[MessagePage]:
    """The page of the active branch above message *before*."""
    return Call(MessagePage, "GET", f"sessions/{session_id}/messages", {"before": before, "limit": limit})


def start(session_id: str, run: StartRun) -> Call[RunStartedBody]:
    """Sends a message; the run goes on whether or not somebody reads it."""
    return Call(RunStartedBody, "POST", f"sessions/{session_id}/runs", body=run)


def state(run_id: str) -> Call[RunState]:
    """What a run does now, and what it waits for."""
    return Call(RunState, "GET", f"runs/{run_id}/state")


def answer(run_id: str, clarify_id: str, text: str) -> Call[RunState]:
    """Answers a question. ``AlreadyAnswered`` where somebody was faster."""
    return Call(RunState, "POST", f"runs/{run_id}/resume", body=ResumeRun(clarify_id=clarify_id, answer=text))


def approve(run_id: str, approval_id: str, choice: Choice) -> Call[RunState]:
    """Allows or denies a dangerous command."""
    return Call(RunState, "POST", f"runs/{run_id}/approve", body=ApproveRun(approval_id=approval_id, choice=choice))


def stop(run_id: str, *, force: bool = False) -> Call[StopResult]:
    """Stops a run; waits at most 3 s for its end. ``force`` ends the worker process."""
    return Call(StopResult, "POST", f"runs/{run_id}/stop", body=StopRun(force=force))


def logs(message_id: str) -> Call[LogPage]:
    """The events of the run that filled a message, as the journal has them."""
    return Call(LogPage, "GET", f"messages/{message_id}/logs")


def models() -> Call[ModelList]:
    return Call(ModelList, "GET", "models")


def skills() -> Call[SkillList]:
    return Call(SkillList, "GET", "skills")


def health() -> Call[Health]:
    """Version of the server, state of the Bridge, and what is wrong if something is."""
    return Call(Health, "GET", "health")
