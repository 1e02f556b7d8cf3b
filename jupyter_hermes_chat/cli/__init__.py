"""``jupyter hermes-chat``: setup, doctor, stop. One module a command; here is only the list of them.

Each module offers ``add_parser(subparsers)``, which sets the default ``run``: arguments → exit status.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from .._version import __version__
from ..protocol.errors import HermesChatError

COMMANDS = ("setup", "doctor", "stop")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. 0 done, 1 something is wrong and was said in a sentence, 2 the command line itself, 130 Ctrl+C."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="jupyter hermes-chat", description="Hermes Agent inside Jupyter.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    # Only the one that was asked for is imported: `setup` is called by every `make`, and `doctor` loads a Jupyter server.
    for name in words[:1] if words[:1] and words[0] in COMMANDS else COMMANDS:
        import_module(f".{name}", __name__).add_parser(commands)
    args = parser.parse_args(words)
    try:
        return int(args.run(args))
    except HermesChatError as error:
        print(error.message, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
