"""``jupyter hermes-chat``: setup, doctor, stop. One module a command; here is only the list of them.

Each module offers ``add_parser(subparsers)``, which sets the default ``run``: arguments → exit status.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._version import __version__
from ..protocol.errors import HermesChatError


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. 0 done, 1 something is wrong and was said in a sentence, 2 the command line itself, 130 Ctrl+C."""
    from . import doctor, setup, stop

    parser = argparse.ArgumentParser(prog="jupyter hermes-chat", description="Hermes Agent inside Jupyter.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (setup, doctor, stop):
        module.add_parser(commands)
    args = parser.parse_args(argv)
    try:
        return int(args.run(args))
    except HermesChatError as error:
        print(error.message, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
