"""The tour over HTTP, as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from jupyter_hermes_chat.tour.server import evenly, pieces
from jupyter_hermes_chat.tour.texts import HELLO, UNICODE, long_answer

TOOLS = [{"function": {"name": "todo"}}, {"function": {"name": "search_files"}}]


class Endpoint:
    def __init__(self, folder: Path) -> None:
        self.record = folder / "requests.jsonl"
        port_file = folder / "port"
        command = [sys.executable, "-m", "jupyter_hermes_chat.tour", "--port-file", str(port_file), "--record", str(self.record)]
        self.process = subprocess.Popen(command, env={**os.environ, "HERMES_CHAT_TOUR_PACE": "0"})
        wait_for(port_file.exists)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{int(port_file.read_text())}", trust_env=False, timeout=30)

    def ask(self, said: str, *, stream: bool = True, tools: Any = TOOLS) -> httpx.Response:
        body = {"model": "hermes-tour-mini", "stream": stream, "messages": [{"role": "user", "content": said}], "tools": tools}
        return self.client.post("/v1/chat/completions", json=body)


def wait_for(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def chunks(response: httpx.Response) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in response.text.split("\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def text(found: list[dict[str, Any]], key: str = "content") -> str:
    return "".join(c["choices"][0]["delta"].get(key) or "" for c in found if c["choices"])


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    found = Endpoint(tmp_path_factory.mktemp("tour"))
    yield found
    found.client.close()
    found.process.terminate()
    found.process.wait(10)


def test_it_has_two_models_with_a_window_that_hermes_accepts(endpoint: Endpoint) -> None:
    rows = endpoint.client.get("/v1/models").json()["data"]
    assert [r["id"] for r in rows] == ["hermes-tour", "hermes-tour-mini"]
    assert {r["context_length"] for r in rows} == {128_000}


@pytest.mark.parametrize("path", ["/", "/v1", "/api/tags", "/api/v1/models", "/api/show", "/v1/props"])
def test_everything_else_is_not_found(endpoint: Endpoint, path: str) -> None:
    assert endpoint.client.get(path).status_code == 404


def test_a_streamed_answer_arrives_in_pieces_and_whole(endpoint: Endpoint) -> None:
    found = chunks(endpoint.ask("long"))
    assert text(found) == long_answer("en")
    assert len(found) > 100
    assert found[-2]["choices"][0]["finish_reason"] == "stop"
    assert found[-1]["usage"]["total_tokens"] > 0
    assert {c["model"] for c in found} == {"hermes-tour-mini"}


def test_every_script_of_the_world_is_sent_as_it_is(endpoint: Endpoint) -> None:
    assert text(chunks(endpoint.ask("unicode"))) == UNICODE


def test_reasoning_and_calls_are_streamed(endpoint: Endpoint) -> None:
    found = chunks(endpoint.ask("parallel"))
    assert text(found, "reasoning_content").startswith("Two questions")
    calls = [call for c in found if c["choices"] for call in c["choices"][0]["delta"].get("tool_calls") or []]
    assert [call["index"] for call in calls] == [0, 1]
    assert len({call["id"] for call in calls}) == 2
    assert json.loads(calls[0]["function"]["arguments"])["target"] == "files"
    assert found[-2]["choices"][0]["finish_reason"] == "tool_calls"


def test_an_answer_that_is_not_streamed_is_one_body(endpoint: Endpoint) -> None:
    body = endpoint.ask("hello", stream=False).json()
    assert body["choices"][0]["message"]["content"] == HELLO["en"]
    assert endpoint.ask("todo", stream=False).json()["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "todo"


def test_the_same_request_has_the_same_bytes(endpoint: Endpoint) -> None:
    assert endpoint.ask("tour").content == endpoint.ask("tour").content


@pytest.mark.parametrize("status", [401, 402, 404, 429, 500, 503])
def test_failures_are_http_failures(endpoint: Endpoint, status: int) -> None:
    answer = endpoint.ask(f"error {status}")
    assert answer.status_code == status
    assert "scripted by the tour" in answer.json()["error"]["message"]


def test_a_dead_endpoint_breaks_off_without_an_answer(endpoint: Endpoint) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        endpoint.ask("error dead")


def test_slow_keeps_its_length_at_any_pace(endpoint: Endpoint) -> None:
    began = time.monotonic()
    chunks(endpoint.ask("slow 1"))
    assert 0.9 < time.monotonic() - began < 5


def test_every_request_is_recorded(endpoint: Endpoint) -> None:
    endpoint.ask("hello ✓")
    assert json.loads(endpoint.record.read_text().splitlines()[-1])["messages"] == [{"role": "user", "content": "hello ✓"}]


def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """The Bridge may be killed, and then nobody else would end the tour."""
    starter = (
        "import subprocess, sys, time\n"
        f"p = subprocess.Popen([sys.executable, '-m', 'jupyter_hermes_chat.tour', '--port-file', {str(tmp_path / 'port')!r}])\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", starter])
    wait_for((tmp_path / "port").exists)
    parent.kill()
    parent.wait(10)
    port = int((tmp_path / "port").read_text())
    wait_for(lambda: not answers(port))


def answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/v1/models", trust_env=False).is_success
    except httpx.TransportError:
        return False


def test_pieces_are_words_and_two_characters_of_a_script_without_spaces() -> None:
    assert pieces("Hello, big  world") == ["Hello, ", "big  ", "world"]
    assert "".join(pieces("你好，世界 ok")) == "你好，世界 ok"
    assert max(map(len, pieces("你好，世界"))) == 2
    assert "".join(pieces("  \n" + UNICODE)) == "  \n" + UNICODE


def test_even_pieces_make_the_whole() -> None:
    assert "".join(evenly("abcdefghij", 3)) == "abcdefghij"
    assert len(evenly("abcdefghij", 3)) == 3
