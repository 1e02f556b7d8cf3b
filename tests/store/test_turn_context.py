"""The context of a path: exactly what its turns added, from the last replacement on (R14)."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from jupyter_hermes_chat.protocol.errors import StorageFull, StoreDamaged, StoreError
from jupyter_hermes_chat.protocol.records import Turn
from jupyter_hermes_chat.store import durable
from jupyter_hermes_chat.store.context import read_context, write_turn


def message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "tool_calls": [{"id": "c", "function": {"arguments": '{"a": "\u2028"}'}}], "_n": 1.5}


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return [tmp_path / "context" / f"{n}.json" for n in (2, 4, 6)]


@pytest.mark.requirement("R14")
def test_turns_that_add_are_strung_together_as_they_were(paths: list[Path]) -> None:
    for n, path in enumerate(paths):
        write_turn(path, Turn(mode="add", messages=[message(f"{n}a"), message(f"{n}b")]))
    assert read_context(paths) == [message(text) for text in ("0a", "0b", "1a", "1b", "2a", "2b")]
    assert read_context(paths[:2]) == [message(text) for text in ("0a", "0b", "1a", "1b")]
    assert read_context([]) == []


@pytest.mark.requirement("R14")
def test_a_turn_that_replaces_forgets_what_was_before_it(paths: list[Path]) -> None:
    write_turn(paths[0], Turn(mode="add", messages=[message("old")]))
    write_turn(paths[1], Turn(mode="replace", messages=[message("summary")]))
    write_turn(paths[2], Turn(mode="add", messages=[message("new")]))
    assert read_context(paths) == [message("summary"), message("new")]
    assert read_context([paths[0], paths[2]]) == [message("old"), message("new")]


def test_a_turn_that_left_nothing_adds_nothing(paths: list[Path]) -> None:
    write_turn(paths[2], Turn(mode="add", messages=[message("x")]))
    assert read_context(paths) == [message("x")]


def test_a_turn_written_again_replaces_the_file_as_a_whole(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    write_turn(paths[0], Turn(mode="add", messages=[message("first")]))

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable.os, "write", full)
    with pytest.raises(StorageFull):
        write_turn(paths[0], Turn(mode="add", messages=[message("second")]))
    monkeypatch.undo()
    assert read_context(paths[:1]) == [message("first")]
    write_turn(paths[0], Turn(mode="add", messages=[message("second")]))
    assert read_context(paths[:1]) == [message("second")]
    assert [path.name for path in paths[0].parent.iterdir()] == ["2.json"]
    assert stat.S_IMODE(paths[0].stat().st_mode) == 0o600


def test_a_damaged_turn_names_its_file(paths: list[Path]) -> None:
    write_turn(paths[0], Turn(mode="add", messages=[message("x")]))
    paths[0].write_bytes(paths[0].read_bytes()[:-5])
    with pytest.raises(StoreDamaged, match=r"2\.json"):
        read_context(paths)


def test_a_turn_that_the_system_does_not_give_out_is_named(paths: list[Path]) -> None:
    paths[0].mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be used"):
        read_context(paths)
