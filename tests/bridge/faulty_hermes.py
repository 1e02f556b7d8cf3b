"""Stands in for Hermes' interpreter where a test needs a worker that misbehaves: a script that is run as ``<it> … worker``.

It answers the probe, and as a worker does what the user's message says. ``FAULTY_START`` makes it fail before it is ready.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def send(type_: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"type": type_, **fields}) + "\n")
    sys.stdout.flush()


def event(run: str, kind: str, **fields: Any) -> None:
    send("event", runId=run, event={"kind": kind, **fields})


def end(run: str, text: str, said: str, status: str = "complete") -> None:
    rows = [{"role": "user", "content": said}, {"role": "assistant", "content": text}]
    send("turn_end", runId=run, status=status, text=text, segments=1, usage={"input": 3}, turn={"mode": "add", "messages": rows})


def run(line: dict[str, Any]) -> None:
    run_id, said = line["runId"], line["userMessage"]
    event(run_id, "run_started", model="m", provider="p", userMessageId=line.get("userMessageId"))
    event(run_id, "answer", segment=0, offset=0, text="begun")
    word, _, argument = said.partition(" ")
    if word == "count":
        for n in range(int(argument)):
            event(run_id, "thinking", segment=0, offset=n, text="x")
        end(run_id, "begun", said)
    elif word == "die":
        os._exit(9)
    elif word == "garbage":
        sys.stdout.write("Traceback (most recent call last):\n")
        event(run_id, "answer", segment=0, text="no offset")
        event(run_id, "run_complete", text="not mine to say", durationMs=0)
        event(run_id, "hologram", depth=3)
        end(run_id, "begun", said)
    elif word == "flood":
        sys.stdout.write("x" * (65 * 1024 * 1024) + "\n")
        sys.stdout.flush()
    elif word == "nonsense":
        send("turn_end", runId=run_id, status="complete", text=7, usage="much", turn="none")
    elif word == "ask":
        event(run_id, "clarify_request", clarifyId="q1", question="Which?", choices=["a", "b"])
    elif word == "approve":
        event(run_id, "approval_request", approvalId="a1", command="rm -rf x", choices=["once", "session", "deny"])
    elif word == "spawn":
        child = subprocess.Popen(["sleep", "300"], start_new_session=True)
        event(run_id, "status", text=str(child.pid))
    elif word == "where":
        end(run_id, json.dumps({"cwd": line["workingDir"], "umask": os.umask(0)}), said)


def worker() -> None:
    match os.environ.get("FAULTY_START"):
        case "fatal":
            send("fatal", code="hermes_incompatible", message="This Hermes lacks AIAgent. Install another.")
            return
        case "exit":
            sys.exit(3)
    send("ready", hermes="0", python="3", capabilities=[], pid=os.getpid())
    asked = ("", "")
    for raw in sys.stdin:
        line = json.loads(raw)
        match line["op"]:
            case "run":
                asked = line["runId"], line["userMessage"]
                run(line)
            case "interrupt" if asked[1] != "deaf":
                end(asked[0], "begun", asked[1], "stopped")
            case "clarify":
                end(asked[0], line["answer"], asked[1])
            case "approve":
                end(asked[0], line["choice"], asked[1])
            case "quit":
                return


def probe() -> None:
    found = {"hermes": "0", "configured": True, "default": {"provider": "p", "model": "m"}, "skills": [{"name": "s"}]}
    providers = [{"slug": "p", "name": "P", "models": ["m"], "contextLengths": {"m": 64000}}]
    sys.stdout.write(json.dumps({**found, "providers": providers}) + "\n")


if __name__ == "__main__":
    probe() if sys.argv[-1].endswith("probe.py") else worker()
