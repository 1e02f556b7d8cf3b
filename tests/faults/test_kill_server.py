"""``kill -9`` of the Jupyter server in the middle of an answer (R23): the Bridge goes on, the next server loses nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jupyter_hermes_chat.protocol.events import decode, encode
from jupyter_hermes_chat.reduce import reduce
from jupyter_hermes_chat.tour import texts
from tests.server_process import Server, start_server, stop_bridges

SECONDS = 3


def whole_answer() -> str:
    n = SECONDS * 2
    return "".join(texts.SLOW["en"].format(k=k, n=n) for k in range(1, n + 1)).rstrip()


def ended(server: Server, run_id: str) -> Any:
    deadline = time.monotonic() + 50
    while (state := server.call("GET", f"runs/{run_id}/state"))["status"] == "RUNNING":
        assert time.monotonic() < deadline, state
        time.sleep(0.1)
    return state


@pytest.mark.agent
@pytest.mark.requirement("R18", "R20", "R22", "R23")
def test_a_server_killed_in_the_middle_of_a_slow_answer_finds_it_whole_when_it_comes_back(
    tmp_path: Path, hermes_python: Path
) -> None:
    first = start_server(tmp_path, HERMES_PYTHON=str(hermes_python))
    try:
        session_id = first.call("POST", "sessions", {})["sessionId"]
        run_id = first.call("POST", f"sessions/{session_id}/runs", {"message": f"slow {SECONDS}"})["runId"]
        seen = ""
        with first.http.stream("GET", f"hermes/api/chat/runs/{run_id}/stream") as stream:
            for line in stream.iter_lines():
                if line.startswith("data: ") and '"kind":"answer"' in line:
                    event = decode(line.removeprefix("data: "))
                    seen += event.text  # type: ignore[union-attr]
                    if len(seen) > len(whole_answer()) // 3:
                        break
        first.kill()
        second = start_server(tmp_path, HERMES_PYTHON=str(hermes_python))
        try:
            state = ended(second, run_id)
            assert state["status"] == "SUCCESS"
            assert state["text"] == whole_answer()
            assert state["text"].startswith(seen)
            events = [decode(msgspec.json.encode(e)) for e in second.call("GET", f"messages/{run_id}/logs")["events"]]
            last = 0
            for event in events:
                assert event.seq == last + 1
                last = event.last_seq
            assert reduce(run_id, events).phase == "complete"
            assert sum(encode(e).startswith(b'{"kind":"run_complete"') for e in events) == 1
            view = second.call("GET", f"sessions/{session_id}")
            assert view["activeRunId"] is None
            assert view["messages"][1]["message"]["content"] == whole_answer()
            again = second.call("POST", f"sessions/{session_id}/runs", {"message": "do you remember?"})["runId"]
            assert "slow" in ended(second, again)["text"]
        finally:
            second.stop()
    finally:
        first.stop()
        stop_bridges(tmp_path)
