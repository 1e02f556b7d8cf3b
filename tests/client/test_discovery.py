"""Which server is this kernel's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from jupyter_hermes_chat.client.discovery import choose, find_server, is_alive, living
from jupyter_hermes_chat.protocol.errors import ServerNotFound
from jupyter_hermes_chat.protocol.server_file import ServerFile, file_name


def server(pid: int, root: str = "/nowhere") -> ServerFile:
    return ServerFile(url=f"http://127.0.0.1:{pid}/", token="t", data_folder="/d", pid=pid, version="1", root=root)


def write(folder: Path, file: ServerFile, age: float = 0) -> None:
    path = folder / file_name(file.pid)
    path.write_bytes(msgspec.json.encode(file))
    os.utime(path, (time.time() - age, time.time() - age))


def test_the_server_that_started_this_kernel_comes_first() -> None:
    servers = [server(1, "/home/me/work"), server(2, "/other")]
    assert choose(servers, parents={2}, cwd=Path("/home/me/work")) == servers[1]


def test_else_the_one_with_the_deepest_root_around_the_working_directory() -> None:
    servers = [server(1, "/"), server(2, "/home/me"), server(3, "/home/you"), server(4, "/home")]
    assert choose(servers, parents={9}, cwd=Path("/home/me/work")) == servers[1]


def test_else_the_newest() -> None:
    servers = [server(1, "/a"), server(2, "/b")]
    assert choose(servers, parents=set(), cwd=Path("/c")) == servers[0]
    assert choose([], parents=set(), cwd=Path("/c")) is None


def test_files_of_dead_processes_and_torn_files_are_ignored(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    write(tmp_path, server(dead.pid))
    (tmp_path / file_name(77)).write_text('{"url": "http://')
    write(tmp_path, server(os.getpid()), age=0)
    assert [s.pid for s in living(tmp_path)] == [os.getpid()]


def test_a_process_that_is_younger_than_its_file_is_another_one() -> None:
    assert is_alive(server(os.getpid()), time.time())
    assert not is_alive(server(os.getpid()), time.time() - 10 * 24 * 3600)


def test_newest_first(tmp_path: Path) -> None:
    parent = os.getppid()
    write(tmp_path, server(parent), age=1)
    write(tmp_path, server(os.getpid()), age=0)
    assert [s.pid for s in living(tmp_path)] == [os.getpid(), parent]


def test_the_environment_overrides_everything(tmp_path: Path) -> None:
    write(tmp_path, server(os.getpid()))
    found = find_server({"HERMES_CHAT_URL": "https://hub.example/user/me", "HERMES_CHAT_TOKEN": "s"}, runtime_dir=tmp_path)
    assert (found.url, found.token) == ("https://hub.example/user/me/", "s")


def test_no_server_is_a_sentence_that_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(ServerNotFound, match="Start JupyterLab"):
        find_server({}, runtime_dir=tmp_path)
