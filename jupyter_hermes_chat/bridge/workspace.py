"""The private working folder of a session that named none (R48): below the system's folder for temporary files.

It keeps its name as long as the machine's temporary files live, so an evicted worker or a new Bridge finds what the agent has
written before. The system's folder is shared with other users, so one that somebody else has put there is refused.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from ..protocol.errors import AgentError


def private_folder(session_id: str, parent: Path | None = None) -> Path:
    """Makes (mode 0700) or finds the folder of *session_id*. Raises :class:`AgentError` where it is not ours."""
    top = (parent or Path(tempfile.gettempdir())) / f"hermes-chat-{os.getuid()}"
    _own(top)
    folder = top / session_id
    _own(folder)
    return folder


def _own(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise AgentError(
            f"{folder} is open to others or belongs to them, so the agent cannot work in it. Remove it, or set TMPDIR."
        )
