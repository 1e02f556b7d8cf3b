"""Where Hermes Agent is: the interpreter of its own environment, found in a fixed order (design §2).

1. configuration (``c.HermesChatApp.hermes_python``, the Bridge's ``--hermes-python``)
2. the environment variable ``HERMES_PYTHON``
3. the interpreter behind the command ``hermes`` on PATH
4. where Hermes' own installer puts it
5. the newest environment that ``jupyter hermes-chat setup`` has made
6. the current interpreter, if Hermes can be imported there

What a person named (1 and 2) is used or reported, never passed over in silence. Nothing is started here: whether the
interpreter really has a Hermes that works with us is said by the probe and by the worker.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from jupyter_core.paths import jupyter_data_dir

from ..protocol.errors import HermesNotFound

HERMES_VERSION = "0.19.0"
"""What ``jupyter hermes-chat setup`` installs unless it is told otherwise: the version that this release was tested with."""

INSTALL_HINT = "Install it with `jupyter hermes-chat setup`, or point HERMES_PYTHON to the Python that has it."

_SCRIPT_HEAD = 4096
_ABSOLUTE_COMMAND = re.compile(r"""(?<![\w$}])(/[^\s"'$]+/(?:python[\d.]*|hermes))(?=["'\s]|$)""")


def managed_root() -> Path:
    """The folder in which managed environments lie, whatever data folder the chats are in."""
    return Path(jupyter_data_dir()) / "hermes-chat"


def managed_folder(version: str = HERMES_VERSION, root: Path | None = None) -> Path:
    """Where the managed environment of *version* is once it is finished; it is built elsewhere and renamed."""
    return (root or managed_root()) / f"hermes-{version}"


def interpreter_in(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def find_interpreter(
    configured: str | os.PathLike[str] | None = None, environ: Mapping[str, str] = os.environ, root: Path | None = None
) -> Path:
    """The interpreter to run Hermes with. Raises :class:`HermesNotFound`, whose message says how to install it."""
    if configured:
        return _named(os.fspath(configured), "the configured hermes_python")
    if named := environ.get("HERMES_PYTHON"):
        return _named(named, "HERMES_PYTHON")
    home = Path(environ.get("HOME") or Path.home())
    for candidate in (
        _behind_command(environ.get("PATH", os.defpath)),
        interpreter_in(home / ".hermes" / "hermes-agent" / "venv"),
        _newest_managed(root or managed_root()),
    ):
        if candidate is not None and _executable(candidate):
            return candidate
    if importlib.util.find_spec("run_agent") and importlib.util.find_spec("hermes_cli"):
        return Path(sys.executable)
    raise HermesNotFound(f"Hermes Agent was not found. {INSTALL_HINT}")


def _named(text: str, source: str) -> Path:
    found = shutil.which(Path(text).expanduser())
    if found is None:
        raise HermesNotFound(f"{source} names {text}, which is not a program that can be run. {INSTALL_HINT}", path=text)
    return Path(found).absolute()


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _behind_command(path: str) -> Path | None:
    """The Python that runs ``hermes``: beside it in its environment, in its first line, or named in a wrapper script."""
    command = shutil.which("hermes", path=path)
    if command is None:
        return None
    real = Path(command).resolve()
    beside = real.parent / "python"
    if (real.parent.parent / "pyvenv.cfg").is_file() and _executable(beside):
        return beside
    try:
        with real.open("rb") as file:
            head = file.read(_SCRIPT_HEAD).decode("utf-8", "replace")
    except OSError:
        return None
    if not head.startswith("#!"):
        return None
    program = next((w for w in head[2:].splitlines()[0].split() if not w.startswith("-") and not w.endswith("/env")), "")
    if Path(program).name.startswith("python"):
        found = shutil.which(program, path=path)
        return Path(found) if found else None
    for match in _ABSOLUTE_COMMAND.finditer("\n".join(head.splitlines()[1:])):
        target = Path(match[1])
        interpreter = target if target.name.startswith("python") else target.resolve().parent / "python"
        if _executable(interpreter):
            return interpreter
    return None


def _newest_managed(root: Path) -> Path | None:
    """Finished environments only: one that is being built, or was left by an interrupted build, has another name."""
    if not root.is_dir():
        return None
    found = [f for f in root.iterdir() if re.fullmatch(r"hermes-\d+(\.\d+)*\w*", f.name) and _executable(interpreter_in(f))]
    newest = max(found, key=lambda f: [int(n) for n in re.findall(r"\d+", f.name)], default=None)
    return interpreter_in(newest) if newest else None
