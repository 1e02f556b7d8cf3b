"""``make lab``: JupyterLab on the quickstart, also as root, without a display, or with the usual port taken."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def has_display() -> bool:
    return sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")
    )


def main() -> None:
    command = [
        sys.executable,
        "-m",
        "jupyter",
        "lab",
        "--LabApp.default_url=/lab/tree/quickstart.ipynb",
        f"--ServerApp.root_dir={ROOT / 'notebooks'}",
    ]
    if os.geteuid() == 0:
        command.append("--allow-root")
    if not has_display():
        command.append("--no-browser")
        print("No display here: open the address that JupyterLab prints below in a browser.", flush=True)
    os.chdir(ROOT / "notebooks")
    os.execv(command[0], [*command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
