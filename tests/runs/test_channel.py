"""Fan-out: what readers get, whoever joins when (R18, R21)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_hermes_chat.protocol.events import Answer, Notice, RunComplete, merge
from jupyter_hermes_chat.reduce import apply, initial
from jupyter_hermes_chat.runs.channel import KEEP_SECONDS, TAKE_LIMIT, Channel, Channels, Reader, RunEvent

RUN = "s.2"


def answer(seq: int, text: str, offset: int) -> Answer:
    return Answer(seq=seq, run_id=RUN, t=seq, segment=0, offset=offset, text=text)


def run_of(length: int) -> list[RunEvent]:
    """Text in single characters with a notice in between, and the end."""
    events: list[RunEvent] = []
    offset = 0
    for seq in range(1, length):
        if seq % 7 == 0:
            events.append(Notice(seq=seq, run_id=RUN, t=seq, text="n"))
        else:
            events.append(answer(seq, chr(97 + seq % 26), offset))
            offset += 1
    text = "".join(e.text for e in events if isinstance(e, Answer))
    return [*events, RunComplete(seq=length, run_id=RUN, t=length, text=text, duration_ms=1)]


def channels_with(events: list[RunEvent]) -> tuple[Channels, Channel]:
    channels = Channels()
    channel = channels.open(RUN, "s", "ann")
    for event in events:
        channel.publish(event)
    return channels, channel


def numbers(events: list[RunEvent]) -> list[tuple[int, int]]:
    return [(e.seq, e.last_seq) for e in events]


@pytest.mark.requirement("R18")
async def test_adjacent_text_that_waits_leaves_as_one_event() -> None:
    _, channel = channels_with([answer(1, "a", 0), answer(2, "b", 1), Notice(seq=3, run_id=RUN, t=3, text="n"), answer(4, "c", 2)])
    reader = Reader()
    reader.join(channel, 0)
    assert numbers(reader.take().events) == [(1, 2), (3, 3), (4, 4)]
    channel.publish(answer(5, "d", 3))
    assert await reader.wait(1)
    assert numbers(reader.take().events) == [(5, 5)]
    assert not await reader.wait(0.01)


@pytest.mark.requirement("R18", "R32")
@given(st.lists(st.sampled_from(["publish", "take", "settle", "join"]), max_size=60), st.integers(2, 40))
def test_however_reading_settling_and_joining_mix_every_reader_ends_with_the_same_state(moves: list[str], length: int) -> None:
    events = run_of(length)
    channels = Channels()
    channel = channels.open(RUN, "s", "ann")
    readers: list[tuple[Reader, list[RunEvent]]] = []
    settled = published = 0

    def take(reader: Reader, got: list[RunEvent]) -> None:
        got += reader.take().events

    for move in [*moves, "join", *["publish"] * length]:
        if move == "publish" and published < length:
            channel.publish(events[published])
            published += 1
        elif move == "settle":
            rows = merge(events[settled:published])
            channel.settle(rows)
            settled = published
        elif move == "join":
            readers.append((Reader(), []))
            readers[-1][0].join(channel, 0)
        elif move == "take":
            for reader, got in readers:
                take(reader, got)
    want = initial(RUN)
    for event in events:
        want = apply(want, event)
    for reader, got in readers:
        take(reader, got)
        state = initial(RUN)
        for event in got:
            state = apply(state, event)
        assert state.text == want.text
        assert (state.seq, state.phase) == (want.seq, want.phase)


@pytest.mark.requirement("R18")
@given(st.integers(0, 30), st.integers(1, 30))
def test_a_reader_that_joins_behind_any_number_gets_exactly_the_rest(after: int, length: int) -> None:
    events = run_of(length + 1)
    _, channel = channels_with(events)
    channel.settle(merge(events[: length // 2]))
    reader = Reader()
    reader.join(channel, after)
    got = reader.take().events
    covered = {n for e in got for n in range(e.seq, e.last_seq + 1)}
    assert set(range(after + 1, length + 2)) <= covered


async def test_a_long_replay_is_taken_in_pieces() -> None:
    events: list[RunEvent] = [Notice(seq=n, run_id=RUN, t=n, text="n") for n in range(1, 2 * TAKE_LIMIT + 2)]
    _, channel = channels_with(events)
    reader = Reader()
    reader.join(channel, 0)
    sizes = []
    while await reader.wait(0.01):
        sizes.append(len(reader.take().events))
    assert sizes[:3] == [TAKE_LIMIT, TAKE_LIMIT, 1]


@pytest.mark.requirement("R21")
def test_a_finished_run_stays_for_five_minutes() -> None:
    now = [0.0]
    channels = Channels(clock=lambda: now[0])
    channel = channels.open(RUN, "s", "ann")
    channel.publish(run_of(1)[0])
    channels.end(channel)
    now[0] = KEEP_SECONDS - 1
    assert channels.get(RUN) is channel
    now[0] = KEEP_SECONDS
    assert channels.get(RUN) is None


@pytest.mark.requirement("R18", "R64")
async def test_a_follower_hears_its_owners_runs_and_sessions_only() -> None:
    channels = Channels()
    ann, bob = channels.follow("ann", {}), channels.follow("bob", {})
    channels.open("a.2", "a", "ann").publish(Notice(seq=1, run_id="a.2", t=1, text="x"))
    channels.session_changed("ann", "a", 3)
    channels.session_changed("ann", "a", 4)
    taken = ann.take()
    assert [e.run_id for e in taken.events if isinstance(e, Notice)] == ["a.2"]
    assert taken.changed == {"a": 4}
    assert bob.take().events == []
    assert bob.take().changed == {}


@pytest.mark.requirement("R18")
async def test_a_follower_that_comes_back_gets_what_it_missed_also_of_a_run_that_ended_meanwhile() -> None:
    channels, channel = channels_with(run_of(20))
    channels.end(channel)
    assert channels.follow("ann", {}).take().events == []
    missed = channels.follow("ann", {RUN: 15}).take().events
    assert missed[-1].last_seq == 20
    assert missed[0].seq <= 16
    assert channels.follow("ann", {RUN: 20}).take().events == []


async def test_a_reader_that_left_is_not_told_and_holds_nothing() -> None:
    channels, channel = channels_with([])
    reader = channels.follow("ann", {})
    assert reader.take().events == []
    channels.leave(reader)
    channel.publish(answer(1, "a", 0))
    assert not await reader.wait(0.01)
    assert channel._readers == set()
    assert channels.followers("ann") == 0
