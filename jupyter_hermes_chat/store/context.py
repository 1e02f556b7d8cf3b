"""The model messages of turns: what an agent is given again is exactly what it said and saw (design §6, R14).

A file per turn, ``context/<n>.json``, appears whole or not at all. A turn that added messages has ``mode: add``; one after which
Hermes had rewritten its history (a compaction) has ``mode: replace`` and all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..protocol.errors import StoreDamaged
from ..protocol.records import Turn
from . import durable


def write_turn(path: Path, turn: Turn) -> None:
    """Durable when it returns. Raises :class:`~..protocol.errors.StorageFull`."""
    durable.private_folder(path.parent)
    durable.replace_file(path, msgspec.json.encode(turn))


def read_turn(path: Path) -> Turn | None:
    """``None`` for a turn that left nothing. Raises :class:`StoreDamaged`, :class:`~..protocol.errors.StoreError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Turn)
    except FileNotFoundError:
        return None
    except OSError as error:
        durable.raise_typed(error, str(path))
    except msgspec.DecodeError as error:
        raise StoreDamaged(f"{path}: {error}. Restore the file from a backup.", file=str(path), line=1) from error


def read_context(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Messages of the turns *paths*, root first: the last ``replace`` and every ``add`` behind it."""
    turns: list[Turn] = []
    for path in reversed(paths):
        turn = read_turn(path)
        if turn is not None:
            turns.append(turn)
            if turn.mode == "replace":
                break
    return [message for turn in reversed(turns) for message in turn.messages]
