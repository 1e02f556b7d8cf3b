"""The chat session of this process: one run at a time, each from its line to its ``turn_end`` (design §6).

Two threads: *agent* carries out runs, the reading thread interrupts, steers and answers. Every run brings its whole context;
where that differs from what the agent spoke last, the agent is put on a new Hermes session, child of the chat's own, and
nothing of the other branch stays: to-do list, file-read memory, counters, session id (R14).
"""

from __future__ import annotations

import os
import platform
import queue
import threading
import traceback
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from . import agent as agents
from . import context, failure
from .agent import Choice, NotConfigured, Runtime
from .failure import Failure
from .hermes import prepare
from .narrator import Narrator
from .pauses import Pauses
from .pipe import Pipe

TICK_SECONDS = 0.5
TASK = "chat"
"""Hermes' name for the shell that the runs of this process share."""

_COUNTERS = {
    "input": "session_input_tokens",
    "output": "session_output_tokens",
    "reasoning": "session_reasoning_tokens",
    "cacheRead": "session_cache_read_tokens",
    "cacheWrite": "session_cache_write_tokens",
}


class Run:
    """One ``run`` line on its way. *cancelled* is our own flag: Hermes' is sticky and wakes no question (reference §2.4)."""

    def __init__(self, request: Mapping[str, Any], hermes: SimpleNamespace, pipe: Pipe) -> None:
        self.id = str(request["runId"])
        self.request = request
        self.cancelled = threading.Event()
        self.pauses = Pauses(self.id, lambda kind, **fields: self.narrator.event(kind, **fields), _resolver(hermes))
        self.narrator = Narrator(
            lambda event: pipe.send("event", runId=self.id, event=event),
            waiting=lambda: self.pauses.waiting,
            summarize=hermes.tool_preview,
            failed=hermes.tool_failed,
        )


class Session:
    def __init__(self, hermes: SimpleNamespace, pipe: Pipe) -> None:
        self._hermes = hermes
        self._pipe = pipe
        self._db = hermes.SessionDB()
        self._jobs: queue.Queue[Run | None] = queue.Queue()
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._run: Run | None = None
        self._agent: Any = None
        self._choice: Choice | None = None
        self._compaction: dict[str, Any] = {}
        self._held = ""
        self._thread = threading.Thread(target=self._work, name="agent", daemon=True)
        self._thread.start()

    # ---- lines; the reading thread

    def start(self, request: Mapping[str, Any]) -> None:
        run = Run(request, self._hermes, self._pipe)
        with self._lock:
            self._runs[run.id] = run
        self._jobs.put(run)

    def interrupt(self, run_id: str) -> None:
        with self._lock:
            run, agent = self._runs.get(run_id), self._agent if self._run and self._run.id == run_id else None
        if run is None:
            return
        run.cancelled.set()
        run.pauses.cancel()
        if agent is not None:
            agent.interrupt()

    def steer(self, run_id: str, text: str) -> None:
        with self._lock:
            agent = self._agent if self._run and self._run.id == run_id else None
        if agent is not None and hasattr(agent, "steer"):
            agent.steer(text)

    def answer(self, run_id: str, clarify_id: str, answer: str) -> None:
        if run := self._runs.get(run_id):
            run.pauses.answer(clarify_id, answer)

    def approve(self, run_id: str, approval_id: str, choice: str) -> None:
        if run := self._runs.get(run_id):
            run.pauses.approve(approval_id, choice)

    def close(self, seconds: float) -> None:
        """Ends what runs, waits for it, and leaves neither a shell nor an open database behind."""
        with self._lock:
            runs = list(self._runs)
        for run_id in runs:
            self.interrupt(run_id)
        self._jobs.put(None)
        self._thread.join(seconds)
        if self._agent is not None:
            self._agent.close()
        if self._hermes.shutdown_environments is not None:
            self._hermes.shutdown_environments()
        self._db.close()

    # ---- runs; the agent thread

    def _work(self) -> None:
        while (run := self._jobs.get()) is not None:
            with self._lock:
                self._run = run
            try:
                self._carry_out(run)
            except Exception as error:  # noqa: BLE001 - whatever Hermes raises, the run ends with a sentence
                traceback.print_exc()
                self._held = ""
                self._end(run, "error", [], failure=failure.explain(str(error)))
            finally:
                with self._lock:
                    self._run = None
                    self._runs.pop(run.id, None)

    def _carry_out(self, run: Run) -> None:
        request = run.request
        choice = Choice.of(request)
        history = context.plain(request.get("history") or [])
        directory = Path(request["workingDir"])
        try:
            runtime = agents.resolve(self._hermes, choice)
        except NotConfigured:
            self._tell_start(run, choice.provider, choice.model)
            self._end(run, "error", [], failure=failure.NOT_CONFIGURED)
            return
        except Exception as error:  # noqa: BLE001 - a provider without a key, a disabled one, a broken configuration
            traceback.print_exc()
            self._tell_start(run, choice.provider, choice.model)
            self._end(run, "error", [], failure=_refused(error, choice))
            return
        self._tell_start(run, runtime.provider, runtime.model)
        self._warn_of_bypass(run)
        enter(directory)
        try:
            self._agent_for(choice, runtime, str(request["hermesSession"]))
        except ValueError as error:
            self._end(run, "error", [], failure=failure.explain(str(error), model=runtime.model))
            return
        self._take_up(str(request["hermesSession"]), history, directory)
        self._agent.clear_interrupt()
        if run.cancelled.is_set():
            self._end(run, "stopped", [])
            return
        self._converse(run, history, runtime, directory)

    def _converse(self, run: Run, history: list[context.Message], runtime: Runtime, directory: Path) -> None:
        request, agent, hermes = run.request, self._agent, self._hermes
        said = str(request["userMessage"])
        seen = f"{request['context']}\n\n{said}" if request.get("context") else said
        chat = str(request["hermesSession"])  # a "session" approval holds on every branch of the chat
        agent.ephemeral_system_prompt = request.get("systemPrompt") or None
        agent.max_iterations = int(request.get("maxIterations") or agent.max_iterations)
        # On this very thread, or approvals fail open: the platform, the key, and someone who is told (reference §2.5).
        hermes.set_session_vars(
            platform=agents.PLATFORM, session_key=chat, session_id=agent.session_id, cwd=str(directory), async_delivery=False
        )
        hermes.set_current_session_key(chat)
        hermes.register_gateway_notify(chat, run.pauses.request_approval)
        os.environ["HERMES_SESSION_ID"] = agent.session_id
        if (os.environ.get("TERMINAL_ENV") or "local") == "local":
            hermes.register_task_env_overrides(TASK, {"cwd": str(directory)})
        before = self._counters()
        over = threading.Event()
        threading.Thread(target=_watch, args=(run.narrator, over), name="silence", daemon=True).start()
        try:
            result = agent.run_conversation(
                seen,
                conversation_history=[dict(m) for m in history],
                task_id=TASK,
                persist_user_message=said if seen != said else None,
            )
        except Exception as error:  # noqa: BLE001 - see _work; what was streamed so far is kept
            traceback.print_exc()
            self._held = ""
            self._end(run, "error", [], usage=self._usage(before), failure=failure.explain(str(error), model=runtime.model))
            return
        finally:
            over.set()
            hermes.unregister_gateway_notify(chat)
            run.pauses.cancel()
        mode, rows = context.turn(history, context.plain(result.get("messages") or []))
        if seen != said:
            context.seen_as(rows, said, seen)
        self._conclude(run, result, mode, rows, history, usage=self._usage(before), model=runtime.model)

    def _conclude(
        self,
        run: Run,
        result: Mapping[str, Any],
        mode: str,
        rows: list[context.Message],
        history: list[context.Message],
        *,
        usage: Mapping[str, Any],
        model: str,
    ) -> None:
        """What Hermes returned, told as an ending. ``interrupted`` is asked first: a stopped turn also counts as completed."""
        narrator = run.narrator
        final = str(result.get("final_response") or "")
        if result.get("interrupted") or run.cancelled.is_set():
            status, failed = "stopped", None
        elif result.get("failed") or result.get("error") or (not result.get("completed") and not final):
            status = "error"
            words = str(result.get("error") or final or result.get("turn_exit_reason") or "")
            reason = str(result.get("failure_reason") or result.get("turn_exit_reason") or "")
            failed = failure.explain(words, reason=reason, model=model)
        else:
            status, failed = "complete", None
            narrator.close_with(final)
            if not result.get("completed"):
                narrator.notice("The agent used up its steps for this message. Send another to let it go on.", "warning")
        if result.get("pending_steer"):
            narrator.notice("The hint came too late for this reply.", "warning")
        ending = context.STOPPED if status == "stopped" else context.NO_ANSWER.format(why=failed.code if failed else "empty")
        rows = context.closed(rows, str(run.request["userMessage"]), ending)
        if status == "stopped":
            context.stopped_at(rows, narrator.unfinished())
        self._held = context.digest(rows if mode == "replace" else [*history, *rows])
        self._end(run, status, rows, mode=mode, usage=usage, failure=failed, text=final if status == "complete" else None)

    # ---- the agent

    def _agent_for(self, choice: Choice, runtime: Runtime, session_id: str) -> None:
        """Makes sure that there is an agent for *choice*. A new one knows no context, whatever the last one held."""
        if self._agent is not None and choice == self._choice:
            return
        old, self._agent = self._agent, None
        toolsets = agents.toolsets(self._hermes, choice)
        built = agents.build(self._hermes, runtime, toolsets, self._callbacks(), session_id=session_id, session_db=self._db)
        self._compaction = agents.observe_compaction(built.context_compressor)
        self._held = ""
        with self._lock:
            self._agent, self._choice = built, choice
        if old is not None and hasattr(old, "release_clients"):
            old.release_clients()

    def _take_up(self, session_id: str, history: list[context.Message], directory: Path) -> None:
        """Puts the agent on a Hermes session that holds exactly *history*: the one it is on, the chat's own, or a new child."""
        agent, db, wanted = self._agent, self._db, context.digest(history)
        if self._held == wanted and (agent.session_id + ".").startswith(session_id + "."):
            return
        own = db.get_session(session_id)
        stored = [] if own is None else context.plain(db.get_messages_as_conversation(session_id, repair_alternation=False))
        agent.reset_session_state()
        agent._todo_store = self._hermes.TodoStore()
        self._hermes.reset_file_dedup()
        if context.digest(stored) == wanted:
            agent.session_id, agent._parent_session_id = session_id, None
            agent._session_db_created = own is not None
            return
        agent.session_id = f"{session_id}.{uuid.uuid4().hex[:8]}"
        agent._parent_session_id = None if own is None else session_id
        db.create_session(
            agent.session_id,
            agents.PLATFORM,
            model=agent.model,
            system_prompt=agent._cached_system_prompt or (own or {}).get("system_prompt"),
            parent_session_id=agent._parent_session_id,
            cwd=str(directory),
        )
        agent._session_db_created = True
        db.replace_messages(agent.session_id, [dict(m) for m in history], active_only=True)

    def _callbacks(self) -> dict[str, Any]:
        """They outlive a run, so each finds the run of the moment; between runs nobody listens."""

        def told(method: str) -> Any:
            def callback(*args: Any, **kwargs: Any) -> None:
                if (run := self._run) is not None:
                    getattr(run.narrator, method)(*args, **kwargs)

            return callback

        return {
            "stream_delta_callback": told("answer"),
            "reasoning_callback": told("thinking"),
            "thinking_callback": told("status"),
            "interim_assistant_callback": told("commentary"),
            "tool_start_callback": told("tool_started"),
            "tool_complete_callback": told("tool_finished"),
            "tool_progress_callback": told("progress"),
            "status_callback": told("lifecycle"),
            "notice_callback": told("banner"),
            "step_callback": self._step,
            "event_callback": self._event,
            "clarify_callback": self._clarify,
        }

    def _clarify(self, question: str, choices: list[str] | None = None) -> str:
        run = self._run
        assert run is not None
        return run.pauses.ask(question, choices)

    def _event(self, name: str, payload: Any = None) -> None:
        if name == "session:compress" and (run := self._run) is not None:
            run.narrator.event("context_compacted", **self._compaction)

    def _step(self, number: int, *_: Any) -> None:
        """Before every call of the model: how full the context is, once that is known."""
        if number > 1 and (run := self._run) is not None and (gauge := self._gauge()):
            run.narrator.event("usage", usage=gauge)

    # ---- figures

    def _counters(self) -> dict[str, float]:
        agent = self._agent
        return {k: getattr(agent, name, 0) or 0 for k, name in {**_COUNTERS, "cost": "session_estimated_cost_usd"}.items()}

    def _usage(self, before: Mapping[str, float]) -> dict[str, Any]:
        """Hermes counts per agent, so a turn is a difference; after a compaction to another session it may start anew."""
        now = self._counters()
        usage: dict[str, Any] = {k: max(0, int(now[k] - before[k])) for k in _COUNTERS}
        if getattr(self._agent, "session_cost_status", None) not in (None, "", "unknown"):
            usage["cost"] = max(0.0, now["cost"] - before["cost"])
        return {**usage, **self._gauge()}

    def _gauge(self) -> dict[str, int]:
        engine = getattr(self._agent, "context_compressor", None)
        used, most = getattr(engine, "last_prompt_tokens", 0) or 0, getattr(engine, "context_length", 0) or 0
        return {**({"contextUsed": int(used)} if used > 0 else {}), **({"contextMax": int(most)} if most > 0 else {})}

    # ---- lines out

    def _tell_start(self, run: Run, provider: str | None, model: str | None) -> None:
        run.narrator.event(
            "run_started",
            model=model or None,
            provider=provider or None,
            skill=run.request.get("skill"),
            userMessageId=run.request.get("userMessageId"),
            versions={"hermes": self._hermes.version, "python": platform.python_version()},
        )

    def _warn_of_bypass(self, run: Run) -> None:
        """Only an administrator can switch approvals off (``bridge/environment.py``); a person is told."""
        if self._hermes.approval_bypassed():
            run.narrator.notice(
                "Approvals are switched off by an administrator: commands run without asking.", "warning", "approvals_off"
            )

    def _end(
        self,
        run: Run,
        status: str,
        rows: list[context.Message],
        *,
        mode: str = "add",
        usage: Mapping[str, Any] | None = None,
        failure: Failure | None = None,
        text: str | None = None,
    ) -> None:
        if not rows:
            why = context.STOPPED if status == "stopped" else context.NO_ANSWER.format(why=failure.code if failure else "empty")
            said = str(run.request["userMessage"])
            rows = context.closed([], said, run.narrator.text() or why)
        self._pipe.send(
            "turn_end",
            runId=run.id,
            status=status,
            text=run.narrator.text() if text is None else text,
            segments=run.narrator.segments,
            usage=usage or {},
            turn={"mode": mode, "messages": rows},
            **({"error": failure.body()} if failure else {}),
        )


def warm(hermes: SimpleNamespace) -> None:
    """Builds an agent and throws it away: imports, tool checks and the system prompt are then paid for (design §2)."""
    choice = Choice(None, None, None)
    try:
        runtime = agents.resolve(hermes, choice)
        db = hermes.SessionDB()
        try:
            built = agents.build(hermes, runtime, agents.toolsets(hermes, choice), {}, session_id="warm", session_db=db)
            if hasattr(built, "_build_system_prompt"):
                built._build_system_prompt(None)
            prepare()
        finally:
            db.close()
    except NotConfigured:
        return
    except Exception:  # noqa: BLE001 - a model that refuses is told by the first run, with its sentence
        traceback.print_exc()


def enter(directory: Path) -> None:
    """Commands start in *directory*, file tools write below it only."""
    os.chdir(directory)
    os.environ["TERMINAL_CWD"] = os.environ["HERMES_WRITE_SAFE_ROOT"] = str(directory)


def _resolver(hermes: SimpleNamespace) -> Any:
    """Answers the very approval that was shown. Hermes' own function takes the oldest, which may be another command."""

    def resolve(data: Mapping[str, Any], choice: str) -> bool:
        with hermes.approval_lock:
            waiting = [entry for entries in hermes.approval_queues.values() for entry in entries if entry.data is data]
        for entry in waiting:
            entry.result = choice
            entry.event.set()
        return bool(waiting)

    return resolve


def _refused(error: Exception, choice: Choice) -> Failure:
    """A provider that cannot even be resolved: whatever Hermes calls it, it is the key or the name that is wrong."""
    found = failure.explain(str(error), model=choice.model or "")
    if found.code != "agent_error":
        return found
    return Failure("model_refused", f"{found.message} Check model and key with `hermes model` in a terminal.")


def _watch(narrator: Narrator, over: threading.Event) -> None:
    while not over.wait(TICK_SECONDS):
        narrator.tick()
