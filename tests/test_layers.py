"""Imports point downwards only (design §5)."""

import ast
from pathlib import Path

import jupyter_hermes_chat

PACKAGE = Path(jupyter_hermes_chat.__file__).parent

# Room → rooms of the package that it may import from. A room is a module or a folder directly below the package.
ALLOWED: dict[str, set[str]] = {
    "protocol": set(),
    "tree": {"protocol"},
    "reduce": {"protocol"},
    "store": {"protocol", "tree", "reduce"},
    "runtimes": {"protocol", "reduce", "tree", "_version"},
    "export": {"protocol", "reduce", "tree"},
    "runs": {"protocol", "tree", "reduce", "store", "runtimes"},
    "handlers": {"protocol", "tree", "reduce", "store", "runs", "runtimes", "_version"},
    "extension": {"protocol", "store", "runs", "runtimes", "handlers", "_version"},
    "client": {"protocol", "reduce", "tree", "_version"},
    "notebook": {"protocol", "reduce", "tree", "client", "export", "_version"},
    "bridge": {"protocol", "_version"},
    "tour": set(),
    "cli": {"protocol", "reduce", "tree", "client", "export", "bridge", "runtimes", "extension", "_version"},
    "_version": set(),
    "__init__": {"_version", "client", "notebook", "extension"},
}
# Modules that another interpreter runs: the standard library and what that interpreter has, nothing of ours.
ALONE = ("bridge/worker", "bridge/probe")


def room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(path: Path) -> list[tuple[int, str]]:
    """(line, dotted name below the package) of every import of the package in *path*."""
    found: list[tuple[int, str]] = []
    here = ["jupyter_hermes_chat", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = [*base, *((node.module or "").split(".") if node.module else [])]
            names = [".".join([*module, alias.name]) for alias in node.names]
        else:
            continue
        found += [(node.lineno, n.removeprefix("jupyter_hermes_chat.")) for n in names if n.startswith("jupyter_hermes_chat.")]
    return found


def modules() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if "labextension" not in p.parts and "static" not in p.parts)


def test_every_room_is_known() -> None:
    assert {room(p) for p in modules()} <= set(ALLOWED)


def test_imports_point_downwards_only() -> None:
    wrong = []
    for path in modules():
        own = room(path)
        for line, name in imported(path):
            target = name.split(".")[0]
            if (
                target != own
                and target not in ALLOWED[own]
                and (PACKAGE / target).with_suffix("").exists() | (PACKAGE / f"{target}.py").exists()
            ):
                wrong.append(f"{path.relative_to(PACKAGE)}:{line} imports {name}")
    assert wrong == []


def test_what_runs_in_hermes_environment_imports_nothing_of_ours() -> None:
    wrong = []
    for path in modules():
        relative = path.relative_to(PACKAGE).as_posix()
        if relative.startswith(ALONE):
            wrong += [f"{relative}:{line} imports {name}" for line, name in imported(path) if not name.startswith("bridge.worker")]
    assert wrong == []
