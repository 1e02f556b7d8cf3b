"""The rules of the message tree, pure (R10–R14): which branch is shown, who is whose sibling, what a new message changes.

Siblings share a parent and a role; exactly one undeleted sibling is active, none if all are deleted. Each message remembers
its own choice, so switching away from a branch and back finds the deeper choices again (R11). SYSTEM rows are annotations:
they hang on a message and are never part of a sibling group or of a path (R10).

A :class:`Tree` is built from rows in order of creation: a parent comes before its children and never changes, so every walk
ends. All walks are loops, since a branch may be thousands of messages deep. Rules answer with what is to be written; who
writes it (the store, a test) is none of their business.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from .protocol.records import Role


class Node(Protocol):
    """What the rules look at; ``protocol.records.Message`` has it, and so has whatever is lighter."""

    @property
    def id(self) -> str: ...
    @property
    def parent_id(self) -> str | None: ...
    @property
    def role(self) -> Role: ...
    @property
    def is_active(self) -> bool: ...
    @property
    def branch_order(self) -> int: ...
    @property
    def deleted_at(self) -> int | None: ...


N = TypeVar("N", bound=Node)


class Placement(Struct, frozen=True):
    """Where a new message goes: its ``branch_order``, and which siblings stop being active because it is."""

    branch_order: int
    deactivate: list[str]


class Tree(Generic[N]):
    def __init__(self, nodes: Iterable[N] = ()) -> None:
        self._nodes: dict[str, N] = {}
        self._children: dict[str | None, tuple[str, ...]] = {}
        for node in nodes:
            self.put(node)

    def put(self, node: N) -> None:
        """Adds *node*, or replaces the one of this id. ``ValueError`` where its parent is unknown or another than before."""
        known = self._nodes.get(node.id)
        if known is None:
            if node.parent_id is not None and node.parent_id not in self._nodes:
                raise ValueError(f"{node.id}: its parent {node.parent_id} is unknown")
            self._children[node.parent_id] = (*self._children.get(node.parent_id, ()), node.id)
        elif known.parent_id != node.parent_id:
            raise ValueError(f"{node.id}: a message keeps its parent")
        self._nodes[node.id] = node

    def copy(self) -> Tree[N]:
        """An independent tree over the same nodes (0.2 ms for 10,000)."""
        twin: Tree[N] = Tree()
        twin._nodes = self._nodes.copy()
        twin._children = self._children.copy()
        return twin

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._nodes

    def __getitem__(self, message_id: str) -> N:
        return self._nodes[message_id]

    def group(self, parent_id: str | None, role: Role) -> list[N]:
        """Every sibling below *parent_id* with *role*, deleted ones too, oldest first. Empty for SYSTEM."""
        if role == "SYSTEM":
            return []
        return [node for node in map(self._nodes.__getitem__, self._children.get(parent_id, ())) if node.role == role]

    def siblings(self, message_id: str) -> list[N]:
        """The versions that a person can switch between: undeleted, by ``branch_order``, the message itself included."""
        node = self._nodes[message_id]
        found = [other for other in self.group(node.parent_id, node.role) if other.deleted_at is None]
        return sorted(found, key=lambda other: other.branch_order)

    def version(self, message_id: str) -> tuple[int, int]:
        """``(2, 3)`` for the switcher ``‹ 2/3 ›`` (R12). ``(1, 1)`` for an annotation or a deleted message."""
        ids = [other.id for other in self.siblings(message_id)]
        return (ids.index(message_id) + 1, len(ids)) if message_id in ids else (1, 1)

    def active_path(self) -> list[N]:
        """The branch that is shown, root first: always the active child (R11). Annotations are not on it."""
        path: list[N] = []
        here: str | None = None
        while True:
            children = map(self._nodes.__getitem__, self._children.get(here, ()))
            active = [node for node in children if node.is_active and node.deleted_at is None and node.role != "SYSTEM"]
            if not active:
                return path
            path.append(active[-1])
            here = active[-1].id

    def path_to(self, message_id: str | None) -> list[N]:
        """From the root to *message_id*, both included, whatever is active: the branch that a run answers (R14)."""
        path: list[N] = []
        here = message_id
        while here is not None:
            node = self._nodes[here]
            path.append(node)
            here = node.parent_id
        path.reverse()
        return path

    def place(self, parent_id: str | None, role: Role) -> Placement:
        """What adding a message below *parent_id* means: it is the newest version and the active one (R10, R12)."""
        if parent_id is not None and parent_id not in self._nodes:
            raise ValueError(f"the parent {parent_id} is unknown")
        group = self.group(parent_id, role)
        newest = max((node.branch_order for node in group), default=0)
        return Placement(branch_order=newest + 1, deactivate=[node.id for node in group if node.is_active])
