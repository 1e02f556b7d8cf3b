"""``jupyter hermes-chat setup``: Hermes Agent in an environment of its own (design §2).

Hermes pins its dependencies exactly and owns module names such as ``agent`` and ``utils``, so it cannot share the Jupyter
environment. The environment is built under another name and renamed when it is whole: an interrupted or failed setup leaves
nothing that is taken for a finished one, and what it leaves after a kill, the next one removes. A finished environment is
found at once, without the network. pip does the installing, so that its configuration (index, proxy, constraints) holds.

Hermes' wheel comes without its bundled skills; they are unpacked from the source distribution into ``<environment>/skills``,
where Hermes looks for them by itself.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import psutil

from ..bridge.locate import HERMES_VERSION, interpreter_in, managed_folder, managed_root
from ..protocol.errors import HermesNotFound

OLDEST, NEWEST = (3, 11), (3, 13)
"""What Hermes Agent 0.19 runs on (``requires-python = ">=3.11,<3.14"``)."""

_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|Could not fetch URL|ConnectionError|name resolution"
    r"|Connection refused|Read timed out"
)
_CREDENTIALS = re.compile(r"//[^/@\s]+@")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "setup",
        help="install Hermes Agent into an environment of its own",
        description="Installs Hermes Agent into an environment of its own, below the Jupyter data folder.",
    )
    parser.add_argument("--python", metavar="PATH", help="the Python to build with, 3.11 to 3.13 (default: one on PATH)")
    parser.add_argument("--hermes-version", metavar="VERSION", help=f"default: {HERMES_VERSION}")
    parser.add_argument("--find-links", metavar="DIR", action="append", default=[], help="look for packages here too (as pip)")
    parser.add_argument("--no-index", action="store_true", help="ask no package index, only --find-links (as pip)")
    parser.add_argument("--from-sdist", metavar="FILE", type=Path, help="install this source distribution of hermes-agent")
    parser.add_argument("--remove", action="store_true", help="remove what setup has installed")
    parser.add_argument("--print-interpreter", action="store_true", help="print the finished environment's Python and do nothing")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.remove:
        return remove(args.hermes_version)
    version = args.hermes_version or HERMES_VERSION
    target = managed_folder(version)
    if args.print_interpreter:
        if not is_finished(target):
            return 1
        print(interpreter_in(target))
        return 0
    if is_finished(target):
        print(f"Hermes Agent {version} is ready: {interpreter_in(target)}")
        return 0
    started = time.monotonic()
    build(target, version, args)
    print(f"Hermes Agent {version} is ready ({time.monotonic() - started:.0f} s): {interpreter_in(target)}")
    print(f"Choose a model with `{target / 'bin' / 'hermes'} model`; until then the tour answers with scripted replies.")
    return 0


def is_finished(target: Path) -> bool:
    return interpreter_in(target).exists()


def remove(version: str | None) -> int:
    """Removes the environment of *version*, or all that setup has made."""
    root = managed_root()
    found = [f for f in sorted(root.glob(f"hermes-{version or '[0-9]*'}")) if f.is_dir()]
    for folder in found:
        print(f"Removing {folder}", flush=True)
        doomed = folder.with_name(f"{folder.name}.removing-{os.getpid()}")
        folder.rename(doomed)  # half of an environment is never taken for a whole one
        shutil.rmtree(doomed)
    if not found:
        print(f"There is nothing to remove in {root}.")
    return 0


def build(target: Path, version: str, args: argparse.Namespace) -> None:
    """Makes *target*, or raises :class:`HermesNotFound` with a sentence and leaves nothing behind."""
    root = target.parent
    root.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(root)
    building = target.with_name(f"{target.name}.building-{os.getpid()}")
    try:
        python = find_python(args.python)
        _say(1, f"environment with {python}")
        _run([python, "-I", "-m", "venv", "--prompt", "hermes", str(building)], "The environment could not be made")
        interpreter = interpreter_in(building)
        pip = Pip(interpreter, args.find_links, args.no_index)
        _say(2, f"Hermes Agent {version} and what it needs (about half a minute)")
        pip.run(["install", str(args.from_sdist or f"hermes-agent=={version}")])
        _say(3, "bundled skills, from the source distribution")
        with tempfile.TemporaryDirectory(dir=building) as folder:
            count = unpack_skills(_source_distribution(version, args, pip, Path(folder)), building / "skills")
            _say(4, f"{count} skills; check that Hermes Agent starts")
            env = {**os.environ, "HERMES_HOME": str(Path(folder) / "home")}
            _run([str(interpreter), "-I", "-c", "import run_agent"], "Hermes Agent was installed but does not start", env)
        _rename_inside(building, target)
        if not is_finished(target):  # another setup may have been faster; then its environment is as good
            building.rename(target)
    except OSError as error:
        raise HermesNotFound(f"Hermes Agent could not be installed into {root}: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
        if not any(root.iterdir()):
            root.rmdir()


def find_python(given: str | None) -> str:
    """A Python from :data:`OLDEST` to :data:`NEWEST` that can make environments: *given*, this one, or one on PATH."""
    names = [f"python{OLDEST[0]}.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)] + ["python3", "python"]
    found = (shutil.which(n, path=f) for n in names for f in os.get_exec_path())
    for candidate in [given] if given else [sys.executable, *(f for f in found if f)]:
        version = _version_of(candidate)
        if version and OLDEST <= version <= NEWEST:
            return candidate
        if given:
            what = f"is Python {version[0]}.{version[1]}" if version else "is no Python that can make environments"
            raise HermesNotFound(f"{given} {what}. Hermes Agent needs Python 3.11, 3.12 or 3.13 with the module venv.")
    raise HermesNotFound(
        "Hermes Agent needs Python 3.11, 3.12 or 3.13 with the module venv (on Debian: apt install python3-venv), and none is"
        " on PATH. Name one: `jupyter hermes-chat setup --python /path/to/python3.13`."
    )


def _version_of(python: str) -> tuple[int, int] | None:
    code = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    numbers = done.stdout.split()
    return (int(numbers[0]), int(numbers[1])) if done.returncode == 0 and len(numbers) == 2 else None


class Pip:
    """pip of an environment, with the user's own configuration. Prints how far it is, at most once in two seconds."""

    def __init__(self, python: Path, find_links: Sequence[str], no_index: bool) -> None:
        self._python = python
        self._options = [f"--find-links={Path(d).absolute() if Path(d).exists() else d}" for d in find_links]
        self._options += ["--no-index"] if no_index else []

    def run(self, arguments: Sequence[str]) -> None:
        command, *rest = arguments
        argv = [str(self._python), "-I", "-m", "pip", command, "--disable-pip-version-check", "--progress-bar=off"]
        env = {**os.environ, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
        with subprocess.Popen(
            [*argv, *self._options, *rest],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=env,
        ) as process:
            assert process.stdout is not None
            lines = list(_progress(process.stdout))
        if process.returncode:
            switched_off = os.environ.get("PIP_NO_INDEX", "").lower() in ("1", "true", "yes", "on")
            raise HermesNotFound(explain(lines, switched_off or "--no-index" in self._options))


def _progress(output: Iterable[str]) -> Iterator[str]:
    shown, count = time.monotonic(), 0
    for line in output:
        yield line.rstrip()
        count += line.startswith("Collecting ")
        installing = line.startswith("Installing collected packages")
        if installing or (line.startswith("Collecting ") and time.monotonic() - shown > 2):
            shown = time.monotonic()
            print(f"      {count} packages found" + (", installing" if installing else ""), flush=True)


def explain(lines: Sequence[str], no_index: bool) -> str:
    """Why pip failed, in a sentence that names the index and the ways out, never a name or password in an address."""
    text = _CREDENTIALS.sub("//", "\n".join(lines))
    looked = re.search(r"^Looking in indexes: (.*)$", text, re.MULTILINE)
    index = looked[1] if looked else "https://pypi.org/simple"
    if no_index:
        why = "Without an index, pip did not find all that Hermes Agent needs"
    elif _UNREACHABLE.search(text):
        why = f"The package index ({index}) cannot be reached"
    elif "(from versions: none)" in text:  # what pip says of an index that did not answer, too, when it may not retry
        why = f"The package index ({index}) cannot be reached, or does not have hermes-agent"
    else:
        errors = [line.removeprefix("ERROR: ") for line in text.splitlines() if line.startswith("ERROR: ")]
        why = f"pip could not install Hermes Agent from {index}: {(errors or text.splitlines() or ['no reason given'])[-1]}"
    return (
        f"{why.rstrip('.')}. Nothing was installed. Three ways out: `--find-links DIR` with the packages in a folder, the same"
        " with `--no-index` to ask no index at all, or an environment of your own that has hermes-agent, named by HERMES_PYTHON."
    )


def _source_distribution(version: str, args: argparse.Namespace, pip: Pip, folder: Path) -> Path:
    """The file given, one in a folder of ``--find-links``, else pip's download."""
    if args.from_sdist:
        return Path(args.from_sdist)
    for place in args.find_links:
        for found in sorted(Path(place).glob(f"hermes[-_]agent-{version}.tar.gz")):
            return found
    pip.run(["download", "--no-deps", "--no-binary=hermes-agent", f"--dest={folder}", f"hermes-agent=={version}"])
    return next(folder.glob("*.tar.gz"))


def unpack_skills(archive: Path, target: Path) -> int:
    """Writes the folder ``skills`` of a source distribution to *target*; how many skills it has."""
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                parts = PurePosixPath(member.name).parts
                if not member.isfile() or len(parts) < 3 or parts[1] != "skills" or ".." in parts:
                    continue
                file = target.joinpath(*parts[2:])
                file.parent.mkdir(parents=True, exist_ok=True)
                content = tar.extractfile(member)
                assert content is not None
                file.write_bytes(content.read())
                file.chmod(0o755 if member.mode & 0o100 else 0o644)
    except tarfile.TarError as error:
        raise HermesNotFound(f"{archive} is not a source distribution of hermes-agent: {error}.") from error
    count = sum(1 for _ in target.rglob("SKILL.md"))
    if not count:
        raise HermesNotFound(f"{archive} has no skills. Give hermes-agent's source distribution with --from-sdist FILE.")
    return count


def _rename_inside(building: Path, target: Path) -> None:
    """Scripts name their interpreter by its full path; write down the place where it will be."""
    old, new = os.fsencode(building), os.fsencode(target)
    for file in [building / "pyvenv.cfg", *interpreter_in(building).parent.iterdir()]:
        if file.is_symlink() or not file.is_file():
            continue
        content = file.read_bytes()
        if old in content and b"\0" not in content:
            file.write_bytes(content.replace(old, new))


def _remove_leftovers(root: Path) -> None:
    """What interrupted setups have left, unless their process still works on it."""
    for folder in root.glob("hermes-*.*ing-*"):
        pid = folder.name.rpartition("-")[2]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _run(command: Sequence[str], failure: str, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=env, check=False)
    if done.returncode:
        reason = ([*done.stderr.splitlines(), *done.stdout.splitlines()] or [f"status {done.returncode}"])[-1]
        raise HermesNotFound(f"{failure}: {reason.strip().rstrip('.')}.")


def _say(step: int, text: str) -> None:
    print(f"[{step}/4] {text}", flush=True)
