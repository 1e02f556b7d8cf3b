"""``%hermes`` and ``%%hermes`` (R55, R56).

``%%hermes`` sends the cell; ``%hermes WORDS`` sends the line unless its first word is a subcommand; one that takes no words
must stand alone, so that ``%hermes list the files`` is a message. Sending blocks until the
reply is whole, so that Run All, papermill and nbval work, and gives the reply as the cell's value. A turn that fails raises
:class:`TurnFailed`, which stops Run All, and is one line and no stack trace, as is every error of this product here.

IPython's own expansion of ``$name`` and ``{name}`` is off: a prompt reaches the agent as it was written.
"""

from __future__ import annotations

import contextvars
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import MagicArgumentParser
from IPython.display import display

from ..export.markdown import TOUR
from ..protocol.errors import HermesChatError
from ..reduce import ApprovalPart, ClarifyPart, initial
from .conversation import Conversation
from .reply import Reply
from .turn_output import TurnOutput
from .watching import chosen, give, part_of, watch

HELP = """\
%%hermes                     send the cell's text; the reply is the cell's value (_)
    --session CHAT|new       to this chat, which becomes the current one
    --model PROVIDER/MODEL   with this model
    --skill NAME             with this skill
    --background             do not wait; reply.wait() does
%hermes TEXT                 send one line;  reply = %hermes TEXT  keeps the answer
%hermes new [TITLE]          the next message begins a new chat
%hermes list                 your chats, the latest first
%hermes use CHAT             go on in a chat: its number in the list, its title, or the beginning of its id
%hermes status               server, Hermes, model and chat
%hermes answer ANSWER        answer a question: the number of a choice, or your own words
%hermes approve CHOICE       allow a dangerous command: once, session or deny
%hermes stop [--force]       stop what runs in this chat; --force ends its worker
%hermes chat                 the whole chat, here
%hermes help                 this text"""


_ALONE = {"list", "status", "chat", "help"}


@magics_class
class HermesMagics(Magics):
    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell=shell)
        self._shell = shell
        self.conversation = Conversation()
        self._commands: dict[str, Callable[[str], Reply | None]] = {
            "new": self._new,
            "list": self._list,
            "use": self._use,
            "status": self._status,
            "answer": self._answer,
            "approve": self._approve,
            "stop": self._stop,
            "chat": self._chat,
            "help": self._help,
        }

    @no_var_expand
    @line_cell_magic
    def hermes(self, line: str, cell: str | None = None) -> Reply | None:
        """Talk to Hermes Agent: %hermes help tells how."""
        try:
            return self._cell(line, cell) if cell is not None else self._line(line)
        except HermesChatError as error:
            lines = [f"{type(error).__name__}: {error.message}"]
            error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
            raise

    def _line(self, line: str) -> Reply | None:
        word, _, rest = line.strip().partition(" ")
        command = self._commands.get(word)
        if command is not None and not (rest.strip() and word in _ALONE):
            return command(rest.strip())
        if word:
            return self._send(line.strip())
        self._help("")
        return None

    def _cell(self, line: str, cell: str) -> Reply | None:
        options = _cell_parser().parse_argstring(line)
        if not cell.strip():
            raise UsageError("Write your message below the line %%hermes.")
        if options.session == "new":
            self.conversation.new()
        elif options.session:
            self.conversation.use(options.session)
        return self._send(cell.strip("\n"), model=options.model, skill=options.skill, background=options.background)

    # ---- sending ----------------------------------------------------------------------------------------------------

    def _send(self, message: str, *, model: str | None = None, skill: str | None = None, background: bool = False) -> Reply:
        run_id = self.conversation.send(message, model=model, skill=skill)
        return self._background(run_id) if background else self._watch(run_id)

    def _watch(self, run_id: str) -> Reply:
        """Shows the run in this cell until it ended, or waits for somebody whom this cell cannot reach."""
        output, reply = TurnOutput(run_id, terminal=not self._has_kernel), self._reply(run_id)
        reply.follow(watch(self.conversation.client, run_id, output, stdin=self._stdin))
        output.finish(reply.state, _how_to_answer(reply))
        return reply.checked()

    def _background(self, run_id: str) -> Reply:
        output, reply, client = TurnOutput(run_id), self._reply(run_id), self.conversation.client

        def follow() -> None:
            try:
                for state in client.follow(run_id):
                    reply.follow(state)
                    output.update(state)
                output.finish(reply.state)
                reply.settle()
            except HermesChatError as error:
                reply.settle(error)

        context = contextvars.copy_context()  # the cell that these outputs belong to
        threading.Thread(target=context.run, args=(follow,), name=f"hermes {run_id}", daemon=True).start()
        return reply

    def _reply(self, run_id: str) -> Reply:
        self.conversation.last = reply = Reply(initial(run_id), self._shell.execution_count)
        return reply

    @property
    def _has_kernel(self) -> bool:
        return hasattr(self._shell, "kernel")

    @property
    def _stdin(self) -> bool:
        """Whether ``input()`` reaches a person: a front end says so with every cell, a terminal is one."""
        kernel = getattr(self._shell, "kernel", None)
        return sys.stdin.isatty() if kernel is None else bool(kernel._allow_stdin)

    # ---- answers ----------------------------------------------------------------------------------------------------

    def _answer(self, said: str) -> Reply | None:
        if not said:
            raise UsageError("Say what to answer: %hermes answer 1, or %hermes answer your own words.")
        return self._give(ClarifyPart, said)

    def _approve(self, said: str) -> Reply | None:
        if not said:
            raise UsageError("Say which: %hermes approve once, session or deny.")
        return self._give(ApprovalPart, said)

    def _give(self, kind: type[ClarifyPart] | type[ApprovalPart], said: str) -> Reply | None:
        """Answers what waits and goes on watching here; the last reply where nothing waits (any more)."""
        client, run_id = self.conversation.client, self._waiting_run()
        waiting = [part_of(pause) for pause in client.state(run_id).pending] if run_id else []
        part = next((p for p in waiting if isinstance(p, kind)), None)
        if run_id is None or part is None:
            other = " A command waits for %hermes approve." if kind is ClarifyPart else " A question waits for %hermes answer."
            print(f"Nothing waits for this here.{other if waiting else ''}")  # noqa: T201
            return self.conversation.last
        if isinstance(part, ApprovalPart) and chosen(part, said) not in part.choices:
            raise UsageError(f"{said!r} is none of the choices: {', '.join(part.choices)}.")
        give(client, run_id, part, said)
        return self._watch(run_id)

    def _waiting_run(self) -> str | None:
        last = self.conversation.last
        return last.run if last is not None and last.status == "waiting" else self.conversation.active_run()

    def _stop(self, options: str) -> None:
        if options not in ("", "--force"):
            raise UsageError("%hermes stop takes nothing but --force.")
        run_id = self.conversation.active_run()
        if run_id is None:
            print("Nothing runs in this chat.")  # noqa: T201
        elif self.conversation.client.stop(run_id, force=bool(options)).cleaned:
            print("Stopped.")  # noqa: T201
        else:
            print("The last reply is still finishing. %hermes stop --force ends its worker.")  # noqa: T201

    # ---- sessions ---------------------------------------------------------------------------------------------------

    def _new(self, title: str) -> None:
        self.conversation.new(title)
        print("The next message begins a new chat.")  # noqa: T201

    def _list(self, _: str) -> None:
        for number, item in enumerate(self.conversation.list(), 1):
            mark = "*" if item.session.id == self.conversation.session_id else " "
            doing = " · waiting for you" if item.waiting_for_input else " · running" if item.has_active_run else ""
            print(f"{number:3} {mark} {item.session.title or 'Untitled'}{doing}  ({item.session.id[:8]})")  # noqa: T201

    def _use(self, reference: str) -> None:
        if not reference:
            raise UsageError("Say which: %hermes use NUMBER, TITLE or ID. %hermes list shows your chats.")
        print(f"This notebook goes on in {self.conversation.use(reference) or 'an untitled chat'!r}.")  # noqa: T201

    def _status(self, _: str) -> None:
        client = self.conversation.client
        models, health = client.models(), client.health()  # in this order: the first starts the Bridge
        current = self.conversation.session_id
        chat = client.session(current).session.title or "Untitled" if current else "a new one, with the next message"
        model = TOUR if models.tour else models.default_id or "none: configure one with hermes model"
        print(f"Server  {client.server.url} (Hermes Chat {health.version})")  # noqa: T201
        print(f"Hermes  {health.hermes or 'not found'}, Bridge {health.bridge}")  # noqa: T201
        print(f"Model   {model}")  # noqa: T201
        print(f"Chat    {chat}")  # noqa: T201
        if health.problem is not None:
            print(health.problem.message)  # noqa: T201

    def _chat(self, _: str) -> None:
        from .widget import HermesChat

        display(HermesChat(self.conversation.session_id))  # type: ignore[no-untyped-call]

    def _help(self, _: str) -> None:
        print(HELP)  # noqa: T201


def _how_to_answer(reply: Reply) -> str:
    pending = reply.state.pending
    if not pending:
        return ""
    if isinstance(pending[0], ApprovalPart):
        return "Hermes waits for you: `%hermes approve once`, `session` or `deny` goes on."
    return "Hermes waits for your answer: `%hermes answer …` with a number or your own words goes on."


def _cell_parser() -> Any:
    parser = MagicArgumentParser(prog="%%hermes", add_help=False)  # type: ignore[no-untyped-call]
    parser.add_argument("--session")
    parser.add_argument("--model")
    parser.add_argument("--skill")
    parser.add_argument("--background", action="store_true")
    return parser


_QUESTION = re.compile(r"(?P<before>\s*(?:[\w.]+\s*=\s*)?)%hermes\s+(?P<line>.*\?)\s*")


def keep_questions(lines: list[str]) -> list[str]:
    """IPython takes a line that ends in ``?`` for a request for help, whatever stands before; ``%hermes`` lines are not."""

    def kept(line: str) -> str:
        match = _QUESTION.fullmatch(line)
        return line if match is None else f"{match['before']}get_ipython().run_line_magic('hermes', {match['line']!r})\n"

    return [kept(line) for line in lines]


def load(shell: InteractiveShell) -> None:
    """Registers the magics with *shell*; a second time changes nothing."""
    if "hermes" in shell.magics_manager.magics["cell"]:
        return
    shell.register_magics(HermesMagics(shell))
    shell.input_transformers_cleanup.append(keep_questions)
