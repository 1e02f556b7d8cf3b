"""A cell that watches a run until its end (R55, R56): interrupts stop the run, questions are asked where somebody can answer.

Who is asked: the pages of the user, where one is open (the renderer in the output shows the question); else the person at the
keyboard, through ``input()``, where this front end allows it; else nobody, and the cell ends while the run waits.
"""

from __future__ import annotations

from contextlib import suppress

from ..client import HermesClient
from ..protocol.errors import AlreadyAnswered, PauseNotFound, RunEnded
from ..protocol.records import Pause
from ..reduce import ApprovalPart, ClarifyPart, TurnState, initial
from .turn_output import TurnOutput

MAX_INTERRUPTS = 3


def watch(client: HermesClient, run_id: str, output: TurnOutput, *, stdin: bool) -> TurnState:
    """The state in which the run ended, or waits for a person whom this cell cannot reach.

    A first interrupt stops the run and shows what there is; the next one ends its worker; after the third the cell gives up
    on the run, which goes on ending by itself.
    """
    state = initial(run_id)
    asked: set[str] = set()
    interrupts = stops = 0
    while interrupts < MAX_INTERRUPTS:
        try:
            if interrupts > stops:
                stops = interrupts
                _stop(client, run_id, force=stops > 1)
            for now in client.follow(run_id, state):
                state = now
                output.update(state)
                if state.pending and not interrupts and not _ask(client, state, asked, stdin):
                    return state
            return state
        except KeyboardInterrupt:
            interrupts += 1
    return state


def _stop(client: HermesClient, run_id: str, *, force: bool) -> None:
    with suppress(RunEnded):  # then its last event is on the way
        client.stop(run_id, force=force)


def _ask(client: HermesClient, state: TurnState, asked: set[str], stdin: bool) -> bool:
    """Whether somebody answers, or has answered, what *state* waits for. *asked* remembers between calls."""
    new = [part for part in state.pending if _id(part) not in asked]
    if not new:
        return True
    asked.update(map(_id, new))
    now = client.state(state.run_id)
    still = {pause.id for pause in now.pending}
    for part in new:
        if _id(part) not in still:
            continue  # an older event: it was answered since
        if not stdin:
            return False
        if now.viewers == 0 and not _by_hand(client, state.run_id, part):
            return False
    return True


def _by_hand(client: HermesClient, run_id: str, part: ClarifyPart | ApprovalPart) -> bool:
    try:
        said = input(prompt(part)).strip()
        while not said or (isinstance(part, ApprovalPart) and chosen(part, said) not in part.choices):
            said = input("> ").strip()
    except EOFError:
        return False
    with suppress(AlreadyAnswered, PauseNotFound, RunEnded):  # somebody was faster, or the run is over: the stream says which
        give(client, run_id, part, said)
    return True


def prompt(part: ClarifyPart | ApprovalPart) -> str:
    head = [part.question] if isinstance(part, ClarifyPart) else ["Allow this command?", part.command]
    return "\n".join([*head, *(f"  {n}. {choice}" for n, choice in enumerate(part.choices, 1)), "> "])


def chosen(part: ClarifyPart | ApprovalPart, said: str) -> str:
    """What was meant: the number of a choice stands for it, everything else for itself."""
    if said.isascii() and said.isdigit() and 1 <= int(said) <= len(part.choices):
        return part.choices[int(said) - 1]
    return said


def give(client: HermesClient, run_id: str, part: ClarifyPart | ApprovalPart, said: str) -> None:
    """Raises what the routes answer: ``AlreadyAnswered``, ``RunEnded``, ``PauseNotFound``, ``BadRequest``."""
    answer = chosen(part, said)
    if isinstance(part, ClarifyPart):
        client.answer(run_id, part.clarify_id, answer)
    else:
        client.approve(run_id, part.approval_id, next(c for c in part.choices if c == answer))


def part_of(pause: Pause) -> ClarifyPart | ApprovalPart:
    """A stored pause as the part that is shown of it; its payload is the request event's own fields."""
    told = pause.payload
    if pause.kind == "clarify":
        return ClarifyPart(
            clarify_id=pause.id,
            question=told["question"],
            choices=told.get("choices", []),
            allow_other=told.get("allowOther", True),
            expires_at=told.get("expiresAt"),
        )
    return ApprovalPart(
        approval_id=pause.id, command=told["command"], description=told.get("description", ""), choices=told.get("choices", [])
    )


def _id(part: ClarifyPart | ApprovalPart) -> str:
    return part.clarify_id if isinstance(part, ClarifyPart) else part.approval_id
