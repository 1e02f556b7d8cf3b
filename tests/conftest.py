"""What all tests share: where the real Hermes Agent is, and a home of one's own for everything that a test starts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("suite", deadline=None, max_examples=50)
settings.register_profile("fuzz", deadline=None, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


def missing(what: str) -> None:
    """A part that this machine lacks fails under ``CI=true`` and is a named skip elsewhere."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def hermes_python() -> Path:
    """The interpreter of the real Hermes Agent (``make env`` builds its environment and sets ``HERMES_PYTHON``)."""
    from jupyter_hermes_chat.bridge.locate import find_interpreter
    from jupyter_hermes_chat.protocol.errors import HermesNotFound

    try:
        return Path(find_interpreter())
    except HermesNotFound as error:
        missing(f"the real Hermes Agent is needed: {error.message}")
        raise


@pytest.fixture(scope="session")
def chromium() -> str:
    """Debian's Chromium, or another that is on PATH."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    missing("a Chromium is needed: install Debian's package `chromium`")
    raise AssertionError


def private_environment(folder: Path, **more: str) -> dict[str, str]:
    """An environment whose home, Jupyter folders and Hermes home all lie in *folder*, so that tests never meet."""
    keep = {
        k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER_", "HERMES_", "JPY_", "IPYTHON", "OPENAI_", "ANTHROPIC_"))
    }
    own = {
        "HOME": folder / "home",
        "HERMES_HOME": folder / "hermes-home",
        "JUPYTER_CONFIG_DIR": folder / "jupyter-config",
        "JUPYTER_DATA_DIR": folder / "jupyter-data",
        "JUPYTER_RUNTIME_DIR": folder / "jupyter-runtime",
        "IPYTHONDIR": folder / "ipython",
    }
    for path in own.values():
        path.mkdir(parents=True, exist_ok=True)
    if python := os.environ.get("HERMES_PYTHON"):
        more.setdefault("HERMES_PYTHON", python)
    return {**keep, **{k: str(v) for k, v in own.items()}, "HERMES_CHAT_TOUR_PACE": "0.1", **more}
