"""``jupyter hermes-chat setup``: what it leaves when all goes well, and when it does not. The package is a small stand-in."""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from jupyter_hermes_chat.bridge.locate import find_interpreter, managed_folder, managed_root
from jupyter_hermes_chat.cli import setup
from jupyter_hermes_chat.protocol.errors import HermesNotFound

VERSION = "0.0.7"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith(("PIP_", "HERMES_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter-data"))


@pytest.fixture
def closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source distribution of a hermes-agent that is not one."""
    folder = tmp_path_factory.mktemp("packages")
    info = f"hermes_agent-{VERSION}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: hermes-agent\nVersion: {VERSION}\n"
    files = {
        "run_agent.py": "def main():\n    print('I start from', __import__('sys').prefix)\n",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\nhermes = run_agent:main\n",
    }
    record = "".join(f"{name},sha256={_digest(text)},{len(text)}\n" for name, text in files.items()) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"hermes_agent-{VERSION}-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(name, text)
    with tarfile.open(folder / f"hermes_agent-{VERSION}.tar.gz", "w:gz") as sdist:
        for name, text in {
            "PKG-INFO": metadata,
            "skills/art/drawing/SKILL.md": "---\nname: drawing\n---\n",
            "skills/art/drawing/scripts/draw.sh": "#!/bin/sh\n",
            "skills/../../outside.txt": "no",
            "optional-skills/more/SKILL.md": "---\nname: more\n---\n",
        }.items():
            entry = tarfile.TarInfo(f"hermes_agent-{VERSION}/{name}")
            entry.size, entry.mode = len(text), 0o755 if name.endswith(".sh") else 0o600
            sdist.addfile(entry, io.BytesIO(text.encode()))
    return folder


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    setup.add_parser(parser.add_subparsers())
    args = parser.parse_args(["setup", *words])
    return int(args.run(args))


def background(*words: str) -> subprocess.Popen[bytes]:
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tests.cli.test_setup import run; sys.exit(run(*sys.argv[1:]))"
    root = str(Path(__file__).parents[2])
    return subprocess.Popen([sys.executable, "-c", code, root, *words], start_new_session=True, stderr=subprocess.DEVNULL)


def left() -> list[str]:
    return sorted(f.name for f in managed_root().iterdir()) if managed_root().exists() else []


def interrupted(end: signal.Signals) -> None:
    """A setup that *end* reached while it made the environment."""
    with background("--hermes-version", VERSION, "--no-index") as process:
        deadline = time.monotonic() + 30
        while not list(managed_root().glob("*/pyvenv.cfg")):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, end)
        assert process.wait(15) != 0
    assert not setup.is_finished(managed_folder(VERSION))


def test_a_whole_setup(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offline = ["--hermes-version", VERSION, "--no-index", "--find-links", str(packages)]
    assert run(*offline) == 0
    told = capsys.readouterr().out
    assert re.findall(r"^\[(\d)/4\]", told, re.MULTILINE) == ["1", "2", "3", "4"]
    target = managed_folder(VERSION)
    assert left() == [target.name]
    assert sorted(str(f.relative_to(target / "skills")) for f in (target / "skills").rglob("*") if f.is_file()) == [
        "art/drawing/SKILL.md",
        "art/drawing/scripts/draw.sh",
    ]
    assert os.access(target / "skills/art/drawing/scripts/draw.sh", os.X_OK)
    for script in ("hermes", "pip"):  # they name their interpreter by its full path, and were made elsewhere
        done = subprocess.run([target / "bin" / script, "--version"], capture_output=True, text=True, check=True)
        assert str(target) in done.stdout
    assert not [f for f in (target / "bin").iterdir() if f.is_file() and b".building-" in f.read_bytes()]
    assert find_interpreter(None, {"PATH": "/nowhere", "HOME": "/nowhere"}) == target / "bin" / "python"

    before = time.monotonic()
    assert run("--hermes-version", VERSION) == 0  # no index is named now, and none is asked
    assert time.monotonic() - before < 0.3
    assert run("--hermes-version", VERSION, "--print-interpreter") == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(target / "bin" / "python")

    assert run("--remove") == 0
    assert left() == []
    assert run("--hermes-version", VERSION, "--print-interpreter") == 1


def test_a_killed_setup_is_not_taken_for_a_finished_one_and_an_unreachable_index_leaves_nothing(
    closed_port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(signal.SIGKILL)
    assert [name.split("-")[1] for name in left()] == [f"{VERSION}.building"]
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:secret@{closed_port}/simple")
    with pytest.raises(HermesNotFound) as caught:
        run("--hermes-version", VERSION)
    told = caught.value.message
    assert f"http://{closed_port}/simple" in told
    assert "cannot be reached" in told
    assert all(way in told for way in ("--find-links", "--no-index", "HERMES_PYTHON"))
    assert "secret" not in told
    assert left() == []  # nor what the killed one had left


def test_ctrl_c_leaves_nothing() -> None:
    interrupted(signal.SIGINT)
    assert left() == []


@pytest.mark.parametrize("how", ["environment", "option"])
def test_packages_that_are_not_there_without_an_index_are_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "environment":
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    pip = setup.Pip(Path(sys.executable), [str(tmp_path)], no_index=how == "option")
    with pytest.raises(HermesNotFound, match=r"Without an index.*Nothing was installed"):
        pip.run(["download", f"--dest={tmp_path}", f"hermes-agent=={VERSION}"])


def test_a_source_distribution_without_skills_is_refused(packages: Path, tmp_path: Path) -> None:
    bare = tmp_path / f"hermes_agent-{VERSION}.tar.gz"
    with tarfile.open(bare, "w:gz") as archive:
        archive.add(packages / f"hermes_agent-{VERSION}-py3-none-any.whl", "x/other")
    with pytest.raises(HermesNotFound, match="no skills"):
        setup.unpack_skills(bare, tmp_path / "skills")


@pytest.mark.parametrize("version", ["3.10", "3.14"])
def test_a_python_that_hermes_does_not_run_on_is_refused(tmp_path: Path, version: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {version.replace('.', ' ')}\n", encoding="utf-8")
    python.chmod(0o755)
    with pytest.raises(HermesNotFound, match=version):
        run("--python", str(python))
    assert left() == []


def test_a_python_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HermesNotFound, match="no Python"):
        run("--python", str(tmp_path / "missing"))
    assert left() == []


def test_one_of_the_path_is_found_where_this_one_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in (("python3.13", "3 9"), ("python3", "3 12")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/missing/python")
    assert setup.find_python(None) == str(tmp_path / "python3")


def test_nothing_to_remove_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--remove") == 0
    assert "nothing to remove" in capsys.readouterr().out
