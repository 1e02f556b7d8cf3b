"""The tour over HTTP: ``/v1/models`` and ``/v1/chat/completions`` on loopback, and 404 for everything else.

Another 200 would make Hermes take it for a different kind of server (design §6). A reply is streamed in words at a pace that
a person can follow; *pace* multiplies every wait, 0 streams as fast as it can. A ``slow`` reply keeps its length at any pace.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from .script import CONTEXT_LENGTH, MODELS, Reply, reply

WORD_SECONDS = 0.03
FIRST_WORD_SECONDS = 0.3
SLOW_PIECE_SECONDS = 0.05

_MESSAGES = {
    401: "the key was not accepted (scripted by the tour)",
    402: "no credit is left (scripted by the tour)",
    404: "no such model (scripted by the tour)",
    429: "too many requests (scripted by the tour)",
    500: "something broke (scripted by the tour)",
    503: "too busy (scripted by the tour)",
}


def pieces(text: str) -> list[str]:
    """*text* cut into words with the space behind them; scripts without spaces are cut every two characters."""
    return re.findall(r"[\u3000-\u9fff\uff00-\uffef]{1,2}\s*|[^\s\u3000-\u9fff\uff00-\uffef]+\s*|\s+", text)


def evenly(text: str, count: int) -> list[str]:
    """*text* in at most *count* pieces of about the same length."""
    size = max(1, -(-len(text) // count))
    return [text[i : i + size] for i in range(0, len(text), size)]


class Models(RequestHandler):
    def get(self) -> None:
        row = {"object": "model", "owned_by": "tour", "context_length": CONTEXT_LENGTH, "max_model_len": CONTEXT_LENGTH}
        self.finish({"object": "list", "data": [{"id": name, **row} for name in MODELS]})


class Completions(RequestHandler):
    def initialize(self, pace: float, record: Path | None) -> None:
        self.pace = pace
        self.record = record

    async def post(self) -> None:
        body = json.loads(self.request.body)
        if self.record is not None:
            with self.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(body) + "\n")
        said = reply(body["messages"], body.get("tools"))
        if said.dead:
            self.detach().close()
            return
        if said.http is not None:
            self.set_status(said.http)
            self.finish({"error": {"message": _MESSAGES[said.http], "type": "tour", "code": said.http}})
            return
        self.envelope = {"id": f"chatcmpl-{len(body['messages'])}", "created": 0, "model": body.get("model") or MODELS[0]}
        calls = [
            {
                "index": k,
                "id": f"call_{len(body['messages'])}_{k}",
                "type": "function",
                "function": {"name": call.tool, "arguments": json.dumps(call.args, ensure_ascii=False)},
            }
            for k, call in enumerate(said.calls)
        ]
        usage = self.usage(said)
        if body.get("stream"):
            try:
                await self.stream(said, calls, usage)
            except StreamClosedError:
                return  # stopped by the person
        else:
            message = {"role": "assistant", "content": said.text, **({"tool_calls": calls} if calls else {})}
            choice = {"index": 0, "message": message, "finish_reason": said.finish}
            self.finish({**self.envelope, "object": "chat.completion", "choices": [choice], "usage": usage})

    def usage(self, said: Reply) -> dict[str, int]:
        prompt = len(self.request.body) // 4 if said.prompt_tokens is None else said.prompt_tokens
        written = (len(said.text) + len(said.reasoning)) // 4 + 20 * len(said.calls)
        return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}

    async def stream(self, said: Reply, calls: list[dict[str, Any]], usage: dict[str, int]) -> None:
        self.set_header("Content-Type", "text/event-stream")
        await self.delta({"role": "assistant"})
        await asyncio.sleep(FIRST_WORD_SECONDS * self.pace)
        for word in pieces(said.reasoning):
            await self.delta({"reasoning_content": word})
            await asyncio.sleep(WORD_SECONDS * self.pace)
        if said.seconds is None:
            words, wait = pieces(said.text), WORD_SECONDS * self.pace
        else:
            words = evenly(said.text, max(1, round(said.seconds / SLOW_PIECE_SECONDS)))
            wait = said.seconds / len(words)
        for word in words:
            await self.delta({"content": word})
            await asyncio.sleep(wait)
        for call in calls:
            await self.delta({"tool_calls": [call]})
        await self.delta({}, finish=said.finish)
        await self.chunk({"choices": [], "usage": usage})
        self.write("data: [DONE]\n\n")

    async def delta(self, delta: dict[str, Any], finish: str | None = None) -> None:
        await self.chunk({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    async def chunk(self, fields: dict[str, Any]) -> None:
        body = {**self.envelope, "object": "chat.completion.chunk", **fields}
        self.write("data: " + json.dumps(body, ensure_ascii=False) + "\n\n")
        await self.flush()


def serve(port: int, *, pace: float = 1.0, record: Path | None = None) -> int:
    """Listens on 127.0.0.1 inside the running event loop. *port* 0 takes a free one. Returns the port."""
    application = Application(
        [(r"/v1/models", Models), (r"/v1/chat/completions", Completions, {"pace": pace, "record": record})],
        log_function=lambda handler: None,
    )
    sockets = bind_sockets(port, "127.0.0.1")
    HTTPServer(application, max_buffer_size=256 * 1024 * 1024).add_sockets(sockets)
    return int(sockets[0].getsockname()[1])
