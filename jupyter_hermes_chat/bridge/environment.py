"""What surrounds a process that runs Hermes: its command line, its environment and the configuration that we lay over the user's.

What this keeps true:

* the user's own Hermes configuration is read, never written (design §6): single keys are overridden through a *managed*
  folder, Hermes' own mechanism, for the processes that get ``HERMES_MANAGED_DIR`` from us and for nobody else;
* approvals never fail open (R38): every switch that would make Hermes run a dangerous command unasked is taken out of the
  environment, and emptied once more in the managed ``.env``, which Hermes applies over the user's own;
* nothing of Jupyter reaches the agent's shell: neither its tokens nor its Python paths;
* the tour's Hermes gets no key, no proxy and a home of its own, so a scripted reply cannot cost anything.

It starts nothing, and it knows nothing of pools or runs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..protocol.errors import AgentError

WORKER = Path(__file__).with_name("worker") / "__main__.py"
PROBE = Path(__file__).with_name("probe.py")

ADMINISTRATOR = Path("/etc/hermes")
"""Where Hermes looks for an administrator's managed configuration when nobody says otherwise."""

TOUR_PROVIDER = "tour"
TOUR_MODELS = ("hermes-tour", "hermes-tour-mini")

WEEK = 7 * 24 * 3600

MANAGED_CONFIG: dict[str, Any] = {
    # `smart`, Hermes' default, lets a second model approve commands; a week, since a person may be away for hours.
    "approvals": {"mode": "manual", "timeout": WEEK},
    # Both would fetch programs from the network in the middle of a turn.
    "security": {"tirith_enabled": False, "allow_lazy_installs": False},
    # Measured: the first turn takes 0.93 s instead of 1.95 s.
    "agent": {"environment_probe": False},
    "model_catalog": {"enabled": False},
}

FAIL_OPEN = (
    "HERMES_YOLO_MODE",
    "HERMES_CRON_SESSION",
    "HERMES_EXEC_ASK",
    "HERMES_INTERACTIVE",
    "HERMES_GATEWAY_SESSION",
    "HERMES_ACCEPT_HOOKS",
)
"""Switches that skip an approval or take it from another door than ours (``tools/approval.py`` of Hermes 0.19)."""

_DROPPED = frozenset({*FAIL_OPEN, "VIRTUAL_ENV", "TERMINAL_CWD", "HERMES_WRITE_SAFE_ROOT", "HERMES_MANAGED_DIR"})
_DROPPED_PREFIXES = ("PYTHON", "JPY_", "JUPYTERHUB_", "HERMES_SESSION_", "HERMES_CHAT_")
_JUPYTER_SECRET = re.compile(r"JUPYTER.*(TOKEN|PASSWORD)")
_TOUR_KEPT = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "TMP", "TEMP"})
_TOUR_KEPT_PREFIXES = ("LC_", "LD_LIBRARY", "DYLD_", "SSL_")

_FLAGS = ("-P", "-B", "-X", "utf8")
"""Our folder never comes before Hermes' modules, which have names such as ``agent`` and ``tools``; no cache of a foreign
Python version is left in our package; UTF-8 whatever the locale. Flags, since an environment would reach the agent's shell."""


def worker_command(interpreter: str | os.PathLike[str], *, warm: bool = False) -> list[str]:
    return [os.fspath(interpreter), *_FLAGS, os.fspath(WORKER), *(["--warm"] if warm else [])]


def probe_command(interpreter: str | os.PathLike[str]) -> list[str]:
    return [os.fspath(interpreter), *_FLAGS, os.fspath(PROBE)]


def worker_environment(
    base_env: Mapping[str, str],
    *,
    hermes_home: str | os.PathLike[str] | None,
    managed_dir: str | os.PathLike[str],
    working_dir: str | os.PathLike[str] | None,
    tour: bool,
) -> dict[str, str]:
    """The whole environment of a worker or a probe.

    *hermes_home* ``None`` leaves the choice to Hermes (``HERMES_HOME``, else ``~/.hermes``). *working_dir* ``None`` is for a
    spare, which does not know its session yet: the worker sets the directory of each run itself. *tour* keeps only what a
    shell needs, so no key and no proxy of the person reaches the scripted model.
    """
    if tour:
        env = {k: v for k, v in base_env.items() if k in _TOUR_KEPT or k.startswith(_TOUR_KEPT_PREFIXES)}
        env |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "HERMES_STREAM_RETRIES": "0"}
    else:
        env = {k: v for k, v in base_env.items() if not _withheld(k)}
    env |= {"HERMES_MANAGED_DIR": os.fspath(managed_dir), "AWS_EC2_METADATA_DISABLED": "true"}
    if hermes_home is not None:
        env["HERMES_HOME"] = os.fspath(hermes_home)
    if working_dir is not None:
        env |= {"TERMINAL_CWD": os.fspath(working_dir), "HERMES_WRITE_SAFE_ROOT": os.fspath(working_dir)}
    return env


def _withheld(name: str) -> bool:
    return name in _DROPPED or name.startswith(_DROPPED_PREFIXES) or _JUPYTER_SECRET.match(name) is not None


def administrator_folder(base_env: Mapping[str, str]) -> Path:
    """Whose managed configuration is laid over ours: ``HERMES_MANAGED_DIR`` as Hermes reads it, else ``/etc/hermes``."""
    return Path(base_env.get("HERMES_MANAGED_DIR", "").strip() or ADMINISTRATOR)


def write_managed_config(folder: Path, administrator: Path = ADMINISTRATOR) -> Path:
    """Writes ``config.yaml`` and ``.env`` into *folder* (mode 0700) and returns it, for ``HERMES_MANAGED_DIR``.

    What an administrator manages wins over ours, key by key, as it would without us. Raises :class:`AgentError` where the
    administrator's file cannot be read: to run without a policy that exists would be wrong.
    """
    config = merged(MANAGED_CONFIG, _administrators_config(administrator / "config.yaml"))
    switches = "".join(f"{name}=\n" for name in FAIL_OPEN)
    try:
        switches += (administrator / ".env").read_text(encoding="utf-8")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise AgentError(f"{administrator / '.env'} cannot be read. Ask your administrator to make it readable.") from error
    _write(folder / "config.yaml", json.dumps(config, indent=1))
    _write(folder / ".env", switches)
    return folder


def write_tour_home(folder: Path, base_url: str) -> Path:
    """The tour's own ``HERMES_HOME``: its one provider is the scripted endpoint at *base_url* (``http://127.0.0.1:<port>/v1``).

    One attempt a call: a failure that the tour plays is not worth nine seconds of retries.
    """
    models = {name: {"context_length": 128_000} for name in TOUR_MODELS}
    config = {
        "model": {"default": TOUR_MODELS[0], "provider": TOUR_PROVIDER},
        "providers": {
            TOUR_PROVIDER: {"name": "Tour", "base_url": base_url, "api_key": "tour", "discover_models": False, "models": models}
        },
        "agent": {"api_max_retries": 1},
        "compression": {"protect_first_n": 1, "protect_last_n": 2},
    }
    _write(folder / "config.yaml", json.dumps(config, indent=1))
    return folder


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """*above* laid over *below*: mappings meet key by key, anything else is replaced."""
    out = dict(below)
    for key, value in above.items():
        old = out.get(key)
        out[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return out


def _administrators_config(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise AgentError(f"{path} cannot be read. Ask your administrator to make it readable.") from error
    import yaml  # type: ignore[import-untyped]  # comes with jupyter_server; needed on managed machines only

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise AgentError(f"{path} is not valid YAML. Ask your administrator to mend it.") from error
    return found if isinstance(found, Mapping) else {}


def _write(path: Path, text: str) -> None:
    """Whole or not at all, readable by its owner only; JSON is YAML, so Hermes reads it. A file that says so already is left
    alone: what the probe found is kept until one of Hermes' files changes, and a new time of change would mean just that."""
    with suppress(FileNotFoundError):
        if path.read_text(encoding="utf-8") == text:
            return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(path.name + ".new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)
