"""``<Hermes' python> -P …/bridge/worker/__main__.py [--warm]``: loads this folder as a package without touching ``sys.path``."""

import importlib
import importlib.util
import sys
from pathlib import Path

NAME = "hermes_chat_worker"


def load() -> None:
    folder = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(NAME, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    load()
    sys.exit(importlib.import_module(NAME + ".main").main(sys.argv[1:]))
