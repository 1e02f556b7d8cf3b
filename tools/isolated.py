"""Runs a command with a home, Jupyter folders and a Hermes home of its own: ``isolated.py COMMAND…``.

So a notebook that is run as a test neither sees nor touches the chats and settings of whoever runs it. What the command
leaves running on purpose, the Bridge, ends with it here.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.conftest import private_environment
from tests.servers import end_bridges

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="hermes-chat-") as folder:
        environment = private_environment(Path(folder))
        status = subprocess.call(sys.argv[1:], env=environment)
        end_bridges(Path(environment["JUPYTER_RUNTIME_DIR"]))
        sys.exit(status)
