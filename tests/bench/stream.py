"""What a stream costs (design §10): delay, bytes, how long the event loop is blocked, and what the extension adds to a start.

Clients are raw sockets in this process: a Python SSE client alone adds up to 12 ms. The server is a process of its own.
"""

from __future__ import annotations

import json
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import msgspec

from jupyter_hermes_chat.protocol.server_file import ServerFile, file_name
from tests.conftest import private_environment

from ._figures import Figure, at_most, percentile, ratio_at_most, show

REPOSITORY = Path(__file__).parent.parent.parent
BIRTH = re.compile(rb"@(\d+);")
END = b'"kind":"run_complete"'

IMPORT = """
import time
import jupyter_server.base.handlers, jupyter_server.extension.application, jupyter_server.serverapp
import jupyter_server.services.contents.handlers
began = time.perf_counter()
import jupyter_hermes_chat.extension, jupyter_hermes_chat.handlers.page, jupyter_hermes_chat.handlers.streams
import jupyter_hermes_chat.runtimes.bridge, jupyter_hermes_chat.store.tinydb_store
print((time.perf_counter() - began) * 1000)
import sys
assert not {"run_agent", "jupyter_hermes_chat.bridge"} & set(sys.modules)
"""


class Bench:
    def __init__(self, folder: Path) -> None:
        self.environment = private_environment(folder, PYTHONPATH=str(REPOSITORY), JUPYTER_NO_CONFIG="1")
        self.lags = folder / "lags.json"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench._stream_server", str(folder), str(self.lags)],
            env=self.environment,
            cwd=REPOSITORY,
            stderr=subprocess.DEVNULL,
        )
        path = Path(self.environment["JUPYTER_RUNTIME_DIR"]) / file_name(self.process.pid)
        while not path.exists() or not path.read_bytes():
            assert self.process.poll() is None, "the server did not start"
            time.sleep(0.05)
        self.file = msgspec.json.decode(path.read_bytes(), type=ServerFile)
        self.http = httpx.Client(base_url=self.file.url, headers={"Authorization": f"Bearer {self.file.token}"}, trust_env=False)

    def start(self, message: str) -> str:
        session = self.http.post("hermes/api/chat/sessions", json={}).json()["sessionId"]
        run: str = self.http.post(f"hermes/api/chat/sessions/{session}/runs", json={"message": message}).json()["runId"]
        return run

    def connect(self, path: str) -> socket.socket:
        url = urlsplit(self.file.url)
        assert url.hostname is not None
        sock = socket.create_connection((url.hostname, url.port or 80))
        head = [f"GET {url.path}hermes/api/chat/{path} HTTP/1.1", f"Host: {url.netloc}", f"Authorization: Bearer {self.file.token}"]
        sock.sendall("\r\n".join([*head, "", ""]).encode())
        return sock

    def stop(self) -> list[tuple[float, float]]:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        return [(when, lag) for when, lag in json.loads(self.lags.read_text())]


def read(sockets: list[socket.socket]) -> tuple[list[float], list[int]]:
    """Until each has seen an end: ages of all text events in milliseconds, and bytes by socket."""
    ages: list[float] = []
    sizes = [0] * len(sockets)
    tails = [b""] * len(sockets)
    selector = selectors.DefaultSelector()
    for n, sock in enumerate(sockets):
        sock.setblocking(False)
        selector.register(sock, selectors.EVENT_READ, n)
    while selector.get_map():
        for key, _ in selector.select(30):
            n: int = key.data
            chunk = sockets[n].recv(1 << 20)
            now = time.monotonic_ns()
            sizes[n] += len(chunk)
            ages += [(now - int(birth)) / 1e6 for birth in BIRTH.findall(tails[n] + chunk)]
            # What was counted is gone; an event that is cut in two stays for the next chunk.
            tails[n] = BIRTH.sub(b"", tails[n] + chunk)[-400:]
            if END in tails[n] or not chunk:
                selector.unregister(key.fileobj)
    for sock in sockets:
        sock.close()
    return ages, sizes


def delay(bench: Bench, clients: int, rate: int, seconds: int) -> list[float]:
    run = bench.start(f"{rate * seconds} {rate} 24")
    return read([bench.connect(f"runs/{run}/stream") for _ in range(clients)])[0]


def page_bytes(bench: Bench, events: int, rate: int, characters: int) -> float:
    """Bytes on the page's stream for one answer, by bytes of text."""
    sock = bench.connect("stream")
    bench.start(f"{events} {rate} {characters}")
    return read([sock])[1][0] / (events * characters)


def main() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="hermes-chat-bench-") as folder:
        bench = Bench(Path(folder))
        try:
            delay(bench, 1, 100, 1)  # warm
            began = time.monotonic()
            alone = delay(bench, 1, 500, 2)
            ages = delay(bench, 10, 500, 4)
            chunks = page_bytes(bench, 2000, 500, 20)
            fast = page_bytes(bench, 5000, 0, 20)
        finally:
            ended = time.monotonic()
            lags = [lag * 1000 for when, lag in bench.stop() if began < when < ended]
        importing = min(float(subprocess.check_output([sys.executable, "-c", IMPORT], env=bench.environment)) for _ in range(5))
    return [
        at_most("stream: delay p99, 10 clients × 500 events/s", percentile(ages, 99), "ms", 3),
        ratio_at_most("stream: delay p50, 10 clients beside 1", percentile(ages, 50), "ms", percentile(alone, 50), 10),
        at_most("stream: bytes on the page's stream, 40 kB in 2,000 chunks", chunks, "×", 10),
        at_most("stream: bytes on the page's stream, 100 kB at full speed", fast, "×", 3),
        at_most("stream: event loop blocked p99", percentile(lags, 99), "ms", 5),
        at_most("stream: event loop blocked max", max(lags), "ms", 20),
        at_most("stream: import of the extension", importing, "ms", 150),
    ]


if __name__ == "__main__":
    show(main())
