"""``python -m jupyter_hermes_chat.cli``: the same as ``jupyter hermes-chat``, for this interpreter."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
