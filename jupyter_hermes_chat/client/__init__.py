"""The server's routes for Python programs and kernels: :class:`HermesClient` and :class:`AsyncHermesClient`.

Lives here: finding the server of this kernel (`discovery`), starting one where there is none (`service`), requests as data
(`calls`), reading a run's stream over broken connections (`stream`). Nothing here knows IPython, the store or a run's backend.
"""

from .client import AsyncHermesClient, HermesClient
from .discovery import find_server

__all__ = ["AsyncHermesClient", "HermesClient", "find_server"]
