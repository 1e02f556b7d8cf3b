"""A reply is a value (R57): what a cell shows, to be read and computed with by the cells behind it."""

from __future__ import annotations

import re
import threading
from typing import Any

from ..protocol.errors import HermesChatError, TurnFailed
from ..protocol.events import Todo, Usage
from ..protocol.records import split_message_id
from ..reduce import Phase, ThinkingPart, ToolPart, TurnState
from .turn_output import bundle

_FENCE = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)\n(?P<code>.*?)(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)", re.M | re.S
)


class CodeBlock(str):
    """The text of a fenced block; ``language`` is what stands behind its fence, maybe empty."""

    __slots__ = ("language",)
    language: str

    def __new__(cls, code: str, language: str) -> CodeBlock:
        block = super().__new__(cls, code)
        block.language = language
        return block


class Reply:
    """What a run answered, up to now: it grows while a ``--background`` run goes on (:meth:`wait`).

    As the last value of the cell that made it, it shows nothing, since the turn stands there already; anywhere else it shows
    the turn again. *cell* is that cell's execution count.
    """

    def __init__(self, state: TurnState, cell: int | None = None) -> None:
        self._state = state
        self._cell = cell
        self._problem: HermesChatError | None = None
        self._settled = threading.Event()

    @property
    def text(self) -> str:
        """The final answer; before the end, what is written of it."""
        return self._state.text

    @property
    def code(self) -> list[CodeBlock]:
        """The fenced code blocks of the answer, in order."""
        return [CodeBlock(m["code"], m["info"].strip().partition(" ")[0]) for m in _FENCE.finditer(self.text)]

    @property
    def thinking(self) -> str:
        return "\n\n".join(p.text for p in self._state.parts if isinstance(p, ThinkingPart))

    @property
    def tools(self) -> list[ToolPart]:
        """Every tool call with its arguments and result, in order."""
        return [p for p in self._state.parts if isinstance(p, ToolPart)]

    @property
    def todos(self) -> list[Todo]:
        return list(self._state.todos)

    @property
    def usage(self) -> Usage | None:
        return self._state.usage

    @property
    def session(self) -> str:
        return split_message_id(self.run)[0]

    @property
    def run(self) -> str:
        return self._state.run_id

    @property
    def status(self) -> Phase:
        """``complete``, ``stopped`` or ``error``; before the end ``starting``, ``running`` or ``waiting`` (for a person)."""
        return self._state.phase

    @property
    def state(self) -> TurnState:
        """Everything that is known of the turn."""
        return self._state

    def wait(self, timeout: float | None = None) -> Reply:
        """Until a background run has ended, or *timeout* seconds passed (``TimeoutError``). Raises :class:`TurnFailed`."""
        if not self._state.ended and not self._settled.wait(timeout):
            raise TimeoutError(f"The run is still {self.status}.")
        if self._problem is not None:
            raise self._problem
        return self.checked()

    def checked(self) -> Reply:
        """Itself. Raises :class:`TurnFailed` where the turn ended in an error."""
        if (error := self._state.error) is not None:
            raise TurnFailed(error.message, code=error.code, run=self.run)
        return self

    def follow(self, state: TurnState) -> None:
        """A later state of the same run."""
        self._state = state

    def settle(self, problem: HermesChatError | None = None) -> None:
        """Nobody follows the run any more; *problem* is why, where it had not ended."""
        self._problem = problem
        self._settled.set()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Reply {self.status}: {self.text[:60]!r}>"

    def _ipython_display_(self) -> None:
        from IPython import get_ipython

        shell = get_ipython()
        if shell is None or self._cell is None or shell.execution_count != self._cell:
            raise NotImplementedError  # the ordinary way, with the bundle

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return bundle(self._state)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(bundle(self._state)["text/plain"]))
