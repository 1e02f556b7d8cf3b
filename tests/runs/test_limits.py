"""How many runs at once (R16)."""

import pytest

from jupyter_hermes_chat.protocol.errors import TooManyRuns
from jupyter_hermes_chat.runs.limits import Limits


@pytest.mark.requirement("R16")
def test_a_sixth_active_run_of_one_owner_is_refused_and_another_owner_is_not_concerned() -> None:
    limits = Limits(5, 20)
    places = [limits.take("ann") for _ in range(5)]
    with pytest.raises(TooManyRuns, match="5 runs are active"):
        limits.take("ann")
    limits.take("bob")
    limits.leave(places[0])
    limits.take("ann")


@pytest.mark.requirement("R16")
def test_a_run_that_waits_for_a_person_makes_room_and_waiting_is_bounded_apart() -> None:
    limits = Limits(1, 2)
    for _ in range(2):
        limits.take("ann").waiting = True
    with pytest.raises(TooManyRuns, match="2 runs wait"):
        limits.take("ann")


def test_a_run_that_goes_on_after_a_restart_takes_its_place_without_a_question() -> None:
    limits = Limits(1, 1)
    limits.enter("ann")
    limits.enter("ann")
    with pytest.raises(TooManyRuns):
        limits.take("ann")
