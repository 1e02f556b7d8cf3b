"""How many runs one owner may have at once (R16): places are taken before anything is written, and given back at the end.

A run that waits for a person leaves its place to another; how many may wait is bounded apart.
"""

from __future__ import annotations

from ..protocol.errors import TooManyRuns


class Place:
    """One run's place. ``waiting`` is set while it waits for a person."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.waiting = False


class Limits:
    def __init__(self, max_active: int, max_waiting: int) -> None:
        self.max_active = max_active
        self.max_waiting = max_waiting
        self._places: set[Place] = set()

    def take(self, owner: str) -> Place:
        """A place for a new run. Raises :class:`TooManyRuns`, and then takes nothing."""
        own = [place for place in self._places if place.owner == owner]
        waiting = sum(place.waiting for place in own)
        if len(own) - waiting >= self.max_active:
            raise TooManyRuns(
                f"{self.max_active} runs are active already, which is the limit. Wait until one ends, or stop one.",
                limit=self.max_active,
            )
        if waiting >= self.max_waiting:
            raise TooManyRuns(
                f"{self.max_waiting} runs wait for an answer, which is the limit. Answer or stop one of them.",
                limit=self.max_waiting,
            )
        return self.enter(owner)

    def enter(self, owner: str) -> Place:
        """A place without a question, for a run that goes on already (after a restart of the server)."""
        place = Place(owner)
        self._places.add(place)
        return place

    def leave(self, place: Place) -> None:
        self._places.discard(place)
