"""The order in which Hermes' interpreter is looked for (design §2)."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from jupyter_hermes_chat.bridge.locate import find_interpreter, managed_folder
from jupyter_hermes_chat.protocol.errors import HermesNotFound


def environment(folder: Path) -> Path:
    """A folder that looks like an environment with Hermes; its Python."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n", encoding="utf-8")
    python.chmod(0o755)
    return python


def command(folder: Path, text: str) -> str:
    """A PATH with a command ``hermes`` of this text."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "hermes"
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    return str(folder)


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """Every place where Hermes may be, all of them filled, by the order in which they count."""
    return {
        "configured": environment(tmp_path / "configured"),
        "HERMES_PYTHON": environment(tmp_path / "named"),
        "PATH": environment(tmp_path / "on-path"),
        "installer": environment(tmp_path / "home" / ".hermes" / "hermes-agent" / "venv"),
        "managed": environment(managed_folder("0.19.0", tmp_path / "managed")),
    }


def test_the_first_place_that_has_it_counts(places: dict[str, Path], tmp_path: Path) -> None:
    environ = {
        "HERMES_PYTHON": str(places["HERMES_PYTHON"]),
        "PATH": command(tmp_path / "bin", f"#!{places['PATH']}\n"),
        "HOME": str(tmp_path / "home"),
    }
    root = tmp_path / "managed"
    assert find_interpreter(places["configured"], environ, root) == places["configured"]
    assert find_interpreter(None, environ, root) == places["HERMES_PYTHON"]
    del environ["HERMES_PYTHON"]
    assert find_interpreter(None, environ, root) == places["PATH"]
    environ["PATH"] = "/nowhere"
    assert find_interpreter(None, environ, root) == places["installer"]
    environ["HOME"] = "/nowhere"
    assert find_interpreter(None, environ, root) == places["managed"]


def test_without_any_the_error_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(HermesNotFound, match="jupyter hermes-chat setup"):
        find_interpreter(None, {"PATH": "/nowhere", "HOME": str(tmp_path)}, tmp_path)


@pytest.mark.parametrize("where", ["configured", "environ"])
def test_a_named_interpreter_that_is_missing_is_told_and_not_passed_over(
    places: dict[str, Path], tmp_path: Path, where: str
) -> None:
    environ = {"PATH": "/nowhere", "HOME": "/nowhere", **({"HERMES_PYTHON": "/missing/python"} if where == "environ" else {})}
    with pytest.raises(HermesNotFound, match="/missing/python"):
        find_interpreter("/missing/python" if where == "configured" else None, environ, tmp_path / "managed")


def test_a_name_without_a_folder_is_looked_for_on_the_path(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(places["HERMES_PYTHON"].parent))
    assert find_interpreter(None, {"HERMES_PYTHON": "python"}) == places["HERMES_PYTHON"]


@pytest.mark.parametrize(
    "script",
    [
        "#!{python}\nimport hermes_cli\n",
        "#!/usr/bin/env -S {python} -E\nimport hermes_cli\n",
        "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
        "#!/usr/bin/env bash\nunset PYTHONPATH\nexec {quoted} \"$@\"\n",
        "#!/bin/sh\nexec \"{folder}/hermes\" \"$@\"\n",
    ],
)  # fmt: skip
def test_the_command_on_path_leads_to_its_interpreter(tmp_path: Path, script: str) -> None:
    python = environment(tmp_path / "env")
    (python.parent / "hermes").touch()
    text = script.format(python=python, quoted=shlex.quote(str(python)), folder=python.parent)
    environ = {"PATH": command(tmp_path / "bin", text), "HOME": "/nowhere"}
    assert find_interpreter(None, environ, tmp_path / "managed") == python


def test_a_link_to_the_command_of_an_environment_leads_there(tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    command(python.parent, "#!/somewhere/else/python\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "hermes").symlink_to(python.parent / "hermes")
    assert find_interpreter(None, {"PATH": str(tmp_path / "bin"), "HOME": "/nowhere"}, tmp_path) == python


def test_a_command_whose_interpreter_is_gone_is_passed_over(places: dict[str, Path], tmp_path: Path) -> None:
    environ = {"PATH": command(tmp_path / "bin", "#!/gone/bin/python\n"), "HOME": "/nowhere"}
    assert find_interpreter(None, environ, tmp_path / "managed") == places["managed"]


def test_the_newest_finished_managed_environment_counts_and_an_unfinished_one_never(tmp_path: Path) -> None:
    for name in ("hermes-0.9.1", "hermes-0.22.0.building-17", "hermes-0.23.0.removing-4"):
        environment(tmp_path / name)
    newest = environment(tmp_path / "hermes-0.19.0")
    (tmp_path / "hermes-0.21.0").mkdir()
    assert find_interpreter(None, {"PATH": "/nowhere", "HOME": "/nowhere"}, tmp_path) == newest
