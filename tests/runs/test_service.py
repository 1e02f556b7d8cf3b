"""Starting, recording and ending runs, and the races in between. The backend is scripted, everything else is real."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from jupyter_hermes_chat.protocol.errors import (
    AlreadyAnswered,
    BadRequest,
    HermesNotFound,
    MessageNotFound,
    MessageTooLarge,
    PauseNotFound,
    RunEnded,
    RunNotFound,
    SessionBusy,
    SessionNotFound,
    StorageFull,
    TooManyRuns,
)
from jupyter_hermes_chat.protocol.events import (
    ApprovalRequest,
    ApprovalResolved,
    ClarifyRequest,
    RunComplete,
    RunError,
    RunStarted,
    Usage,
    is_terminal,
    kind_of,
)
from jupyter_hermes_chat.protocol.records import CreateSession, Message, StartRun
from jupyter_hermes_chat.runs import recorder, views
from jupyter_hermes_chat.runs.channel import Channel
from jupyter_hermes_chat.runs.service import Service
from jupyter_hermes_chat.runtimes.base import Frame, GapFrame
from jupyter_hermes_chat.store.journal import Journal
from tests.runs.conftest import Serving
from tests.runs.scripted import OWNER, ScriptedRun, ScriptedRuntime, until


async def new_session(service: Service, **fields: Any) -> str:
    return (await service.create_session(OWNER, CreateSession(**fields))).id


async def start(service: Service, session_id: str, message: str | None = "hello", **fields: Any) -> str:
    return (await service.start_run(session_id, OWNER, StartRun(message=message, **fields))).run_id


async def backend(runtime: ScriptedRuntime, run_id: str) -> ScriptedRun:
    await until(lambda: run_id in runtime.runs)
    return runtime.runs[run_id]


async def ended(service: Service, run_id: str) -> Message:
    async def over() -> bool:
        return (await service.find(run_id, OWNER))[1].status != "RUNNING" and run_id not in service._live

    await until(over)
    return (await service.find(run_id, OWNER))[1]


async def stored(service: Service, run_id: str) -> list[Any]:
    handle, _ = await service.find(run_id, OWNER)
    return handle.events(run_id)


def assert_unbroken(events: list[Any]) -> None:
    """Numbers from 1 without a hole or a double, and the terminal event last and once."""
    last = 0
    for event in events:
        assert event.seq == last + 1
        last = event.last_seq
    assert [is_terminal(e) for e in events].count(True) == 1
    assert is_terminal(events[-1])


# ---- the ordinary course ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("R5", "R8", "R17", "R20")
async def test_a_turn_is_rows_first_then_a_journal_of_merged_rows_and_a_message_that_says_how_it_ended(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        session_id = await new_session(service)
        run_id = await start(service, session_id, "What is\nthe answer to everything?")
        handle, message = await service.find(run_id, OWNER)
        assert (message.role, message.status, message.run_id) == ("ASSISTANT", "RUNNING", run_id)
        assert handle.session().title == "What is the answer to everythi"
        run = await backend(runtime, run_id)
        run.say(*"forty-two")
        run.end(RunComplete(seq=0, run_id="", t=0, text="forty-two", duration_ms=9, usage=Usage(input=3)))
        message = await ended(service, run_id)
        assert (message.status, message.content, message.usage) == ("SUCCESS", "forty-two", Usage(input=3))
        assert message.completed_at is not None
        assert message.model_id == "scripted/one"
        events = await stored(service, run_id)
        assert [kind_of(e) for e in events] == ["run_started", "answer", "run_complete"]
        assert_unbroken(events)
        assert run.confirmed == 11


@pytest.mark.requirement("R20")
async def test_the_end_is_told_only_when_rows_context_and_message_are_on_disk(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = ScriptedRuntime()
    publish = Channel.publish
    told: list[tuple[str, int, Any]] = []

    async with serving(runtime) as service:

        def look(self: Channel, event: Any) -> None:
            if is_terminal(event):
                handle = service.store.open_session(self.session_id, OWNER)
                rows, context = handle.events(self.run_id), handle.context([self.run_id])
                told.append((handle.message(self.run_id).status, rows[-1].last_seq, context[-1]["content"]))
            publish(self, event)

        monkeypatch.setattr(Channel, "publish", look)
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        run.say("hi")
        run.end()
        await ended(service, run_id)
        assert told == [("SUCCESS", 3, "hi")]


@pytest.mark.requirement("R16")
async def test_a_message_right_behind_the_end_of_a_reply_is_not_refused(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run All sends the next cell the moment that the terminal event arrives, while the backend is still being told."""
    runtime, confirming = ScriptedRuntime(), asyncio.Event()

    async def never(run_id: str, seq: int) -> None:
        confirming.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(runtime, "confirm", never)
    async with serving(runtime, max_active_runs=1) as service:
        session_id = await new_session(service)
        run_id = await start(service, session_id)
        (await backend(runtime, run_id)).end()
        await confirming.wait()
        assert await start(service, session_id, "next") != run_id


@pytest.mark.requirement("R20")
async def test_text_reaches_the_disk_within_a_quarter_second_though_the_run_goes_on(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        (await backend(runtime, run_id)).say("early")

        async def on_disk() -> bool:
            return [kind_of(e) for e in await stored(service, run_id)] == ["run_started", "answer"]

        await until(on_disk, seconds=1)


@pytest.mark.requirement("R20", "R23")
async def test_the_backend_is_told_to_forget_only_what_was_synced(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = ScriptedRuntime()
    sync, confirm = Journal.sync, runtime.confirm
    synced, confirmed = [0], []

    def syncs(self: Journal) -> None:
        sync(self)
        synced.append(self.last_seq)

    async def confirms(run_id: str, seq: int) -> None:
        confirmed.append((seq, synced[-1]))
        await confirm(run_id, seq)

    monkeypatch.setattr(Journal, "sync", syncs)
    monkeypatch.setattr(runtime, "confirm", confirms)
    monkeypatch.setattr(recorder, "CONFIRM_SECONDS", 0.1)
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        while not confirmed:
            run.say("word ")
            await asyncio.sleep(0.02)
        run.end()
        await ended(service, run_id)
        assert len(confirmed) >= 2
        assert all(seq <= on_disk for seq, on_disk in confirmed)
        assert confirmed[-1][0] == run.events[-1].seq


@pytest.mark.requirement("R3", "R14")
async def test_the_next_turn_carries_the_path_and_nothing_of_a_sibling(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        session_id = await new_session(service)

        async def turn(text: str, **fields: Any) -> str:
            run_id = await start(service, session_id, text, **fields)
            run = await backend(runtime, run_id)
            run.say(text.upper())
            run.end()
            await ended(service, run_id)
            return run_id

        one = await turn("one")
        two = await turn("two")
        other = await turn("other", parent_message_id=one)

        def asked(run_id: str) -> list[str]:
            return [row["content"] for row in runtime.runs[run_id].request.history]

        assert asked(one) == []
        assert asked(two) == ["one", "ONE"]
        assert asked(other) == ["one", "ONE"]
        view = await views.session_view(service, session_id, OWNER)
        assert [m.message.content for m in view.messages] == ["one", "ONE", "other", "OTHER"]
        assert [(m.version, m.versions) for m in view.messages] == [(1, 1), (1, 1), (2, 2), (1, 1)]
        back = await turn("back", parent_message_id=two)
        assert asked(back) == ["one", "ONE", "two", "TWO"]
        view = await views.session_view(service, session_id, OWNER)
        assert [m.message.content for m in view.messages] == ["one", "ONE", "two", "TWO", "back", "BACK"]


@pytest.mark.requirement("R12")
async def test_a_run_may_answer_a_user_message_that_is_there_and_nothing_else(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        session_id = await new_session(service)
        first = await service.start_run(session_id, OWNER, StartRun(message="hello"))
        (await backend(runtime, first.run_id)).end()
        await ended(service, first.run_id)
        again = await service.start_run(session_id, OWNER, StartRun(parent_message_id=first.user_message_id))
        assert again.user_message_id == first.user_message_id
        run = await backend(runtime, again.run_id)
        assert run.request.user_message == "hello"
        run.end()
        await ended(service, again.run_id)
        with pytest.raises(BadRequest, match="user message to answer"):
            await service.start_run(session_id, OWNER, StartRun(parent_message_id=first.run_id))
        with pytest.raises(MessageNotFound, match="parentMessageId"):
            await service.start_run(session_id, OWNER, StartRun(message="x", parent_message_id=f"{session_id}.99"))


@pytest.mark.requirement("R2")
async def test_a_session_remembers_model_and_skill_and_a_message_may_choose_others(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    runtime.auto = lambda run: run.end()
    async with serving(runtime) as service:
        session_id = await new_session(service, model_id="a/one", skill_folder="drawing")

        async def asked(**fields: Any) -> tuple[Any, ...]:
            run_id = await start(service, session_id, **fields)
            message = await ended(service, run_id)
            request = runtime.runs[run_id].request
            assert (request.system_prompt is None) == (request.skill is None)
            return request.model_config.model, request.skill, message.skill_folder

        assert await asked() == ("one", "drawing", "drawing")
        assert await asked(model_id="b/two", skill_folder=None) == ("two", None, None)
        assert await asked() == ("two", None, None)


@pytest.mark.parametrize(
    ("body", "error", "field"),
    [
        (StartRun(), BadRequest, "$.message"),
        (StartRun(message=" \n"), BadRequest, "$.message"),
        (StartRun(message="x", max_iterations=0), BadRequest, "$.maxIterations"),
        (StartRun(message="x", model_id="gpt"), BadRequest, "$.modelId"),
        (StartRun(message="ä" * 500_001), MessageTooLarge, "$.message"),
    ],
)
async def test_a_request_that_means_nothing_is_refused_by_field_and_writes_nothing(
    serving: Serving, body: StartRun, error: type[BadRequest], field: str
) -> None:
    async with serving(ScriptedRuntime()) as service:
        session_id = await new_session(service)
        with pytest.raises(error) as caught:
            await service.start_run(session_id, OWNER, body)
        assert caught.value.details == {"field": field}
        assert (await service.open(session_id, OWNER)).messages() == []


# ---- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R16")
async def test_two_tabs_that_send_at_once_make_one_run(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        session_id = await new_session(service)
        results = await asyncio.gather(*(start(service, session_id, f"tab {n}") for n in range(4)), return_exceptions=True)
        assert sum(isinstance(r, str) for r in results) == 1
        assert sum(isinstance(r, SessionBusy) for r in results) == 3
        assert len((await service.open(session_id, OWNER)).messages()) == 2


@pytest.mark.requirement("R16", "R37")
async def test_a_sixth_active_run_is_refused_until_one_ends_or_waits_for_a_person(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        runs = [await start(service, await new_session(service)) for _ in range(5)]
        session_id = await new_session(service)
        with pytest.raises(TooManyRuns):
            await start(service, session_id)
        assert (await service.open(session_id, OWNER)).messages() == []
        (await backend(runtime, runs[0])).add(ClarifyRequest(seq=0, run_id="", t=0, clarify_id="c", question="Which?"))
        channel = service.channels.get(runs[0])
        assert channel is not None
        await until(lambda: channel.waiting)
        await start(service, session_id)
        with pytest.raises(TooManyRuns):
            await start(service, await new_session(service))
        (await backend(runtime, runs[1])).end()
        await ended(service, runs[1])
        await start(service, await new_session(service))


# ---- what breaks ------------------------------------------------------------------------------------------------------


async def test_a_backend_that_cannot_start_ends_the_run_with_its_sentence(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    runtime.refuse = HermesNotFound("Hermes Agent is not installed: run `jupyter hermes-chat setup`.")
    async with serving(runtime) as service:
        session_id = await new_session(service)
        message = await ended(service, await start(service, session_id))
        assert message.status == "FAILED"
        assert message.error is not None
        assert (message.error.code, message.error.message) == ("hermes_not_found", runtime.refuse.message)
        assert_unbroken(await stored(service, message.id))
        runtime.refuse = None
        second = await start(service, session_id, "again")
        history = (await backend(runtime, second)).request.history
        assert [row["role"] for row in history] == ["user", "assistant"]
        assert history[1]["content"].startswith("[no answer: Hermes Agent is not installed")


@pytest.mark.requirement("R23")
async def test_broken_connections_lose_nothing_and_double_nothing(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        for n in range(20):
            run.say(f"word {n} ")
            if n % 3 == 0:
                runtime.break_connections()
            await asyncio.sleep(0)
        run.end()
        message = await ended(service, run_id)
        assert message.content == "".join(f"word {n} " for n in range(20))
        assert_unbroken(await stored(service, run_id))


@pytest.mark.requirement("R22", "R23", "R37")
async def test_the_next_server_takes_a_run_up_where_the_last_one_left_it(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        run.say("one ", "two ")
        run.add(ClarifyRequest(seq=0, run_id="", t=0, clarify_id="c", question="Which?", choices=["a", "b"]))
        channel = service.channels.get(run_id)
        assert channel is not None
        await until(lambda: channel.waiting)
    run.say("three ")
    async with serving(runtime) as service:
        service.start()
        await until(lambda: service.channels.get(run_id) is not None)
        state = await views.run_state(service, run_id, OWNER)
        assert state.status == "RUNNING"
        assert [pause.payload["question"] for pause in state.pending] == ["Which?"]
        await service.answer(run_id, OWNER, "c", "a")
        assert (await views.run_state(service, run_id, OWNER)).pending == []
        run.end()
        message = await ended(service, run_id)
        assert (message.status, message.content, message.model_id) == ("SUCCESS", "one two three ", "scripted/one")
        assert_unbroken(await stored(service, run_id))


@pytest.mark.requirement("R23", "R37")
async def test_a_backend_that_died_ends_its_runs_keeps_their_text_and_expires_their_questions(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        session_id = await new_session(service)
        run_id = await start(service, session_id)
        run = await backend(runtime, run_id)
        run.say("partial")
        run.add(ClarifyRequest(seq=0, run_id="", t=0, clarify_id="c", question="Which?"))
        channel = service.channels.get(run_id)
        assert channel is not None
        await until(lambda: channel.waiting)
        runtime.die()
        message = await ended(service, run_id)
        assert (message.status, message.content) == ("FAILED", "partial")
        assert message.error is not None
        assert message.error.code == "bridge_lost"
        events = await stored(service, run_id)
        assert_unbroken(events)
        assert isinstance(events[-1], RunError)
        assert events[-1].text == "partial"
        handle, _ = await service.find(run_id, OWNER)
        assert [pause.status for pause in handle.pauses(run_id)] == ["EXPIRED"]
        with pytest.raises(RunEnded):
            await service.answer(run_id, OWNER, "c", "a")
        runtime.up, runtime.gone = True, False
        second = await start(service, session_id, "go on")
        assert [row["content"] for row in (await backend(runtime, second)).request.history] == ["hello", "partial"]


@pytest.mark.requirement("R23")
async def test_a_living_backend_that_does_not_know_the_run_ends_it_too(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        (await backend(runtime, run_id)).say("half")
        await until(lambda: (c := service.channels.get(run_id)) is not None and c.last_seq == 2)
    runtime.runs.clear()
    async with serving(runtime) as service:
        service.start()
        message = await ended(service, run_id)
        assert (message.status, message.content) == ("FAILED", "half")


@pytest.mark.requirement("R23")
async def test_a_run_that_the_backend_never_heard_of_says_that_it_never_began(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server died between the rows of the turn and the first word to the Bridge."""
    runtime = ScriptedRuntime()
    asked, never = asyncio.Event(), asyncio.Event()

    async def slow(*_: Any) -> AsyncGenerator[Frame, None]:
        asked.set()
        await never.wait()
        yield GapFrame(1)

    async with serving(runtime) as service:
        with monkeypatch.context() as patch:
            patch.setattr(runtime, "generate", slow)
            run_id = await start(service, await new_session(service))
            await asked.wait()
            service._live[run_id].task.cancel()
            await until(lambda: run_id not in service._live)
    async with serving(runtime) as service:
        service.start()
        message = await ended(service, run_id)
        assert message.error is not None
        assert (message.error.code, "never began" in message.error.message) == ("bridge_lost", True)


@pytest.mark.requirement("R23")
async def test_a_backend_that_lives_but_cannot_be_reached_is_waited_for(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        runtime.up = False
        runtime.break_connections()
        run.say("meanwhile")
        await asyncio.sleep(0.2)
        assert run_id in service._live
        runtime.up = True
        run.end()
        assert (await ended(service, run_id)).content == "meanwhile"


@pytest.mark.requirement("R23")
async def test_an_end_that_is_on_disk_is_believed_though_the_server_died_before_it_said_so(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))

        def dies(*_: Any) -> None:
            raise asyncio.CancelledError

        with monkeypatch.context() as patch:
            patch.setattr(recorder, "finish", dies)
            (await backend(runtime, run_id)).end()
            await until(lambda: run_id not in service._live)
        assert (await service.find(run_id, OWNER))[1].status == "RUNNING"
    runtime.runs.clear()
    async with serving(runtime) as service:
        service.start()
        assert (await ended(service, run_id)).status == "SUCCESS"


async def test_numbers_that_were_confirmed_but_never_written_end_the_run_instead_of_leaving_a_hole(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        await until(lambda: (c := service.channels.get(run_id)) is not None and c.last_seq == 1)
        run.say("a", "b", "c")
        run.forget(3)
        runtime.break_connections()
        message = await ended(service, run_id)
        assert message.error is not None
        assert message.error.code == "bridge_lost"
        assert_unbroken(await stored(service, run_id))


@pytest.mark.requirement("R20")
async def test_a_full_disk_delays_the_run_and_loses_nothing(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    full = 3
    append = Journal.append

    def sometimes(self: Journal, events: Any) -> None:
        nonlocal full
        if full:
            full -= 1
            raise StorageFull("no space")
        append(self, events)

    monkeypatch.setattr(Journal, "append", sometimes)
    monkeypatch.setattr(recorder, "FULL_DISK_PAUSE", 0.01)
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        run.say(*"all of it")
        run.end()
        assert (await ended(service, run_id)).content == "all of it"
        assert full == 0
        assert_unbroken(await stored(service, run_id))


async def test_a_journal_that_cannot_be_opened_ends_the_run_and_frees_the_session(serving: Serving) -> None:
    async with serving(ScriptedRuntime()) as service:
        session_id = await new_session(service)
        handle = await service.open(session_id, OWNER)
        (handle.folder / "runs").mkdir(exist_ok=True)
        (handle.folder / "runs" / "2.jsonl").write_text("this is no journal\n{}\n")
        run_id = await start(service, session_id)
        message = await ended(service, run_id)
        assert message.status == "FAILED"
        assert message.error is not None
        assert message.error.code == "store_damaged"
        assert handle.running() is None


@pytest.mark.requirement("R23")
@pytest.mark.parametrize("harm", ["damaged", "unreadable"])
async def test_a_journal_that_is_no_good_when_a_run_is_taken_up_ends_it_everywhere(serving: Serving, harm: str) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        session_id = await new_session(service)
        run_id = await start(service, session_id)
        await backend(runtime, run_id)
        handle = await service.open(session_id, OWNER)
    journal = handle.folder / "runs" / "2.jsonl"
    if harm == "damaged":
        journal.write_text("this is no journal\n{}\n")
    else:
        journal.unlink()
        journal.mkdir()
    async with serving(runtime) as service:
        service.start()
        message = await ended(service, run_id)
        assert (message.status, message.error and message.error.code.partition("_")[0]) == ("FAILED", "store")
        await until(lambda: runtime.runs[run_id].stops == [False])
        following = await start(service, session_id)
        (await backend(runtime, following)).end()
        assert (await ended(service, following)).status == "SUCCESS"


@pytest.mark.requirement("R25")
async def test_an_agent_whose_run_cannot_be_recorded_any_more_is_stopped(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        session_id = await new_session(service)
        run_id = await start(service, session_id)
        run = await backend(runtime, run_id)
        shutil.rmtree((await service.open(session_id, OWNER)).folder)
        run.add(ClarifyRequest(seq=0, run_id="", t=0, clarify_id="c", question="Which?"))
        await until(lambda: run.stops == [False])


# ---- stop and answers -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R25")
async def test_stop_keeps_the_partial_text_and_says_that_the_run_has_ended(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        (await backend(runtime, run_id)).say("so far")
        result = await service.stop(run_id, OWNER)
        assert (result.success, result.cleaned) == (True, True)
        _, message = await service.find(run_id, OWNER)
        assert (message.status, message.content) == ("STOPPED", "so far")
        assert (await service.stop(run_id, OWNER)).cleaned


@pytest.mark.requirement("R25")
async def test_two_stops_at_once_and_a_stop_that_races_the_end_are_harmless(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        results = await asyncio.gather(service.stop(run_id, OWNER), service.stop(run_id, OWNER, force=True))
        assert all(r.cleaned for r in results)
        assert_unbroken(await stored(service, run_id))
        second = await start(service, (await service.find(run_id, OWNER))[1].session_id)
        run = await backend(runtime, second)
        run.end()
        assert (await service.stop(second, OWNER)).cleaned
        assert (await ended(service, second)).status == "SUCCESS"


@pytest.mark.requirement("R25")
async def test_a_stop_that_comes_before_the_backend_knows_the_run_still_stops_it(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    slow = asyncio.Event()
    generate = runtime.generate

    async def late(request: Any) -> Any:
        await slow.wait()
        async for frame in generate(request):
            yield frame

    runtime.generate = late  # type: ignore[method-assign, assignment]
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        stopping = asyncio.create_task(service.stop(run_id, OWNER))
        await asyncio.sleep(0.05)
        slow.set()
        assert (await stopping).cleaned
        assert (await service.find(run_id, OWNER))[1].status == "STOPPED"


@pytest.mark.requirement("R37")
async def test_an_answer_counts_once_and_only_for_a_question_that_was_asked(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        run.add(ClarifyRequest(seq=0, run_id="", t=0, clarify_id="c", question="Which?"))
        run.add(ApprovalRequest(seq=0, run_id="", t=0, approval_id="p", command="rm -rf x", choices=["once", "deny"]))
        channel = service.channels.get(run_id)
        assert channel is not None
        await until(lambda: channel.last_seq == 3)
        with pytest.raises(PauseNotFound):
            await service.answer(run_id, OWNER, "p", "a")
        with pytest.raises(PauseNotFound):
            await service.approve(run_id, OWNER, "nothing", "once")
        await service.answer(run_id, OWNER, "c", "a")
        with pytest.raises(AlreadyAnswered) as caught:
            await service.answer(run_id, OWNER, "c", "b")
        assert caught.value.details == {"answer": "a", "by": OWNER}
        await service.approve(run_id, OWNER, "p", "deny")
        assert (await views.run_state(service, run_id, OWNER)).pending == []
        run.end()
        await ended(service, run_id)
        with pytest.raises(AlreadyAnswered):
            await service.answer(run_id, OWNER, "c", "b")


@pytest.mark.requirement("R25", "R37")
async def test_what_a_stop_refused_was_answered_by_nobody(serving: Serving) -> None:
    """The Bridge resolves an open approval with a refusal when its run ends; no person said so."""
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        run.add(ApprovalRequest(seq=0, run_id="", t=0, approval_id="p", command="rm -rf x", choices=["once", "deny"]))
        run.add(ApprovalResolved(seq=0, run_id="", t=0, approval_id="p", choice="deny"))
        assert (await service.stop(run_id, OWNER)).cleaned
        handle, _ = await service.find(run_id, OWNER)
        assert [(p.status, p.by) for p in handle.pauses(run_id)] == [("INTERRUPTED", None)]
        with pytest.raises(RunEnded):
            await service.approve(run_id, OWNER, "p", "once")


@pytest.mark.requirement("R64")
async def test_nobody_finds_or_moves_what_belongs_to_another(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        session_id = await new_session(service)
        run_id = await start(service, session_id)
        run = await backend(runtime, run_id)
        with pytest.raises(SessionNotFound):
            await views.session_view(service, session_id, "bob")
        with pytest.raises(SessionNotFound):
            await service.start_run(session_id, "bob", StartRun(message="x"))
        with pytest.raises(RunNotFound):
            await service.stop(run_id, "bob")
        with pytest.raises(MessageNotFound):
            await views.logs(service, run_id, "bob", None)
        assert run.stops == []
        assert (await views.session_list(service, "bob", 0, 50)).total == 0


async def test_a_session_with_a_running_reply_is_not_deleted_and_afterwards_is_gone(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    async with serving(runtime) as service:
        session_id = await new_session(service)
        run_id = await start(service, session_id)
        with pytest.raises(SessionBusy):
            await service.delete_session(session_id, OWNER)
        await service.stop(run_id, OWNER)
        reader = service.channels.follow(OWNER, {})
        await service.delete_session(session_id, OWNER)
        assert reader.take().changed == {session_id: 0}
        with pytest.raises(RunNotFound):
            await service.find_run(run_id, OWNER)


@pytest.mark.requirement("R18")
async def test_history_loaded_after_sync_and_the_stream_have_no_gap_between_them(serving: Serving) -> None:
    runtime = ScriptedRuntime()
    runtime.auto = lambda run: run.add(RunStarted(seq=0, run_id="", t=0))
    async with serving(runtime) as service:
        run_id = await start(service, await new_session(service))
        run = await backend(runtime, run_id)
        for n in range(30):
            run.say(f"{n} ")
            await asyncio.sleep(0)
            if n % 5 == 0:
                reader = service.channels.follow(OWNER, {})
                sync = await views.sync_body(service, OWNER)
                page = await views.logs(service, run_id, OWNER, None)
                assert page.last_seq >= sync.runs[0].last_seq
                nxt = reader.take().events
                assert not nxt or nxt[0].seq <= page.last_seq + 1
                service.channels.leave(reader)
