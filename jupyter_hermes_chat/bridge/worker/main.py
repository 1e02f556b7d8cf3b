"""Reads the Bridge's lines until it closes the pipe (``docs/protocol.md``)."""

from __future__ import annotations

import os
import platform
import sys
import traceback
from typing import Any

from .hermes import Incompatible, capabilities, load
from .pipe import Pipe
from .session import Session, warm

CLOSE_SECONDS = 3.0


def main(arguments: list[str]) -> int:
    pipe = Pipe.take()
    try:
        hermes = load()
        if hermes.sync_skills is not None and hermes.skills_manifest is not None and not hermes.skills_manifest.exists():
            hermes.sync_skills(quiet=True)  # a home that Hermes never ran in has no skills yet
        if "--warm" in arguments:
            warm(hermes)
        session = Session(hermes, pipe)
    except Incompatible as error:
        pipe.send("fatal", code="hermes_incompatible", message=str(error))
        return 1
    except ImportError as error:
        traceback.print_exc()
        pipe.send(
            "fatal",
            code="hermes_incompatible",
            message=f"Hermes Agent cannot be started by {sys.executable}: {error}. Install it with `jupyter hermes-chat setup`.",
        )
        return 1
    pipe.send("ready", hermes=hermes.version, python=platform.python_version(), capabilities=capabilities(hermes), pid=os.getpid())
    for line in pipe.lines():
        if line.get("op") == "quit":
            break
        obey(session, line)
    session.close(CLOSE_SECONDS)
    os._exit(0)  # Hermes leaves threads that would keep the process


def obey(session: Session, line: dict[str, Any]) -> None:
    """One line of the Bridge. A kind of a newer Bridge is told in the log and passed over."""
    match line:
        case {"op": "run"}:
            session.start(line)
        case {"op": "interrupt", "runId": str(run)}:
            session.interrupt(run)
        case {"op": "steer", "runId": str(run), "text": str(text)}:
            session.steer(run, text)
        case {"op": "clarify", "runId": str(run), "clarifyId": str(clarify), "answer": str(answer)}:
            session.answer(run, clarify, answer)
        case {"op": "approve", "runId": str(run), "approvalId": str(approval), "choice": str(choice)}:
            session.approve(run, approval, choice)
        case _:
            sys.stderr.write(f"unknown line: op={line.get('op')!r}\n")
