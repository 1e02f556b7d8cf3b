"""The rules of the message tree (R10–R14), over values alone."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_hermes_chat.protocol.records import Message, Role
from jupyter_hermes_chat.tree import Tree

SESSION = "00000000-0000-4000-8000-000000000001"


class Talk:
    """A session as the service writes it: whatever the rules answer is done."""

    def __init__(self) -> None:
        self.tree: Tree[Message] = Tree()

    def add(self, parent_id: str | None, role: Role, **fields: Any) -> str:
        place = self.tree.place(parent_id, role)
        for sibling in place.deactivate:
            self.change(sibling, is_active=False)
        number = len(self.tree) + 1
        fields = {"branch_order": place.branch_order, "status": "SENT", "created_at": number, **fields}
        message = Message(id=f"{SESSION}.{number}", session_id=SESSION, parent_id=parent_id, role=role, **fields)
        self.tree.put(message)
        return message.id

    def change(self, message_id: str, **changes: Any) -> None:
        self.tree.put(msgspec.structs.replace(self.tree[message_id], **changes))

    def shown(self) -> list[str]:
        return [message.id for message in self.tree.active_path()]


def test_an_empty_session_shows_nothing() -> None:
    talk = Talk()
    assert talk.shown() == []
    assert talk.tree.path_to(None) == []


def test_a_conversation_is_one_path_from_the_root() -> None:
    talk = Talk()
    question = talk.add(None, "USER")
    answer = talk.add(question, "ASSISTANT")
    again = talk.add(answer, "USER")
    assert talk.shown() == [question, answer, again]
    assert talk.tree.version(answer) == (1, 1)


@pytest.mark.requirement("R10", "R12")
def test_a_new_version_is_the_active_one_and_has_the_higher_number() -> None:
    talk = Talk()
    question = talk.add(None, "USER")
    first = talk.add(question, "ASSISTANT")
    second = talk.add(question, "ASSISTANT")
    assert talk.shown() == [question, second]
    assert [talk.tree[first].branch_order, talk.tree[second].branch_order] == [1, 2]
    assert [message.id for message in talk.tree.siblings(first)] == [first, second]
    assert (talk.tree.version(first), talk.tree.version(second)) == ((1, 2), (2, 2))


@pytest.mark.requirement("R11")
def test_switching_back_to_a_branch_finds_the_choices_made_inside_it() -> None:
    talk = Talk()
    question = talk.add(None, "USER")
    answer = talk.add(question, "ASSISTANT")
    talk.add(answer, "USER")
    edited = talk.add(answer, "USER")
    other = talk.add(question, "ASSISTANT")
    assert talk.shown() == [question, other]
    talk.change(other, is_active=False)
    talk.change(answer, is_active=True)
    assert talk.shown() == [question, answer, edited]


@pytest.mark.requirement("R14")
def test_the_path_to_a_message_has_nothing_of_its_siblings() -> None:
    talk = Talk()
    question = talk.add(None, "USER")
    first = talk.add(question, "ASSISTANT")
    follow_up = talk.add(first, "USER")
    talk.add(question, "ASSISTANT")
    assert [message.id for message in talk.tree.path_to(follow_up)] == [question, first, follow_up]


@pytest.mark.requirement("R10")
def test_annotations_are_in_no_group_and_on_no_path() -> None:
    talk = Talk()
    question = talk.add(None, "USER")
    note = talk.add(question, "SYSTEM", status="MARKER")
    answer = talk.add(question, "ASSISTANT")
    talk.add(question, "SYSTEM", status="MARKER")
    talk.add(answer, "SYSTEM", status="SUMMARY")
    assert talk.shown() == [question, answer]
    assert talk.tree.siblings(note) == []
    assert talk.tree.version(note) == (1, 1)
    assert talk.tree.version(answer) == (1, 1)


@pytest.mark.requirement("R13")
def test_a_deleted_message_is_on_no_path_and_in_no_count_but_keeps_its_number() -> None:
    talk = Talk()
    question = talk.add(None, "USER")
    first = talk.add(question, "ASSISTANT")
    second = talk.add(question, "ASSISTANT")
    talk.change(second, is_active=False, deleted_at=1)
    assert talk.shown() == [question]
    assert talk.tree.version(first) == (1, 1)
    assert talk.tree.place(question, "ASSISTANT").branch_order == 3
    talk.change(second, is_active=True)  # whatever the flag says
    assert talk.shown() == [question]


def test_the_first_message_may_be_edited_too() -> None:
    talk = Talk()
    talk.add(None, "USER")
    edited = talk.add(None, "USER")
    assert talk.shown() == [edited]


def test_a_message_below_an_unknown_parent_is_refused() -> None:
    talk = Talk()
    with pytest.raises(ValueError, match="parent"):
        talk.tree.place(f"{SESSION}.9", "USER")
    with pytest.raises(ValueError, match="parent"):
        talk.tree.put(
            Message(id=f"{SESSION}.1", session_id=SESSION, parent_id=f"{SESSION}.9", role="USER", status="SENT", created_at=1)
        )


def test_a_message_keeps_its_parent() -> None:
    talk = Talk()
    question = talk.add(None, "USER")
    answer = talk.add(question, "ASSISTANT")
    with pytest.raises(ValueError, match="keeps its parent"):
        talk.change(answer, parent_id=None)


def test_a_copy_does_not_follow_the_original() -> None:
    talk = Talk()
    question = talk.add(None, "USER")
    before = talk.tree.copy()
    talk.add(question, "ASSISTANT")
    assert [message.id for message in before.active_path()] == [question]
    assert len(talk.shown()) == 2


def test_a_branch_of_ten_thousand_messages_is_walked() -> None:
    talk = Talk()
    last = None
    for role in itertools.islice(itertools.cycle(("USER", "ASSISTANT")), 10_000):
        last = talk.add(last, role)  # type: ignore[arg-type]
    assert len(talk.shown()) == 10_000
    assert talk.tree.path_to(last) == talk.tree.active_path()


@pytest.mark.requirement("R10", "R11")
@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(["reply", "version"])), max_size=60))
def test_whatever_is_added_one_sibling_of_each_group_is_active(
    steps: list[tuple[int, str]],
) -> None:
    talk = Talk()
    talk.add(None, "USER")
    for pick, kind in steps:
        node = talk.tree[f"{SESSION}.{pick % len(talk.tree) + 1}"]
        if kind == "reply":
            added = talk.add(node.id, "ASSISTANT" if node.role == "USER" else "USER")
        else:
            added = talk.add(node.parent_id, node.role)
        groups: dict[tuple[str | None, str], list[Message]] = {}
        for n in range(1, len(talk.tree) + 1):
            message = talk.tree[f"{SESSION}.{n}"]
            groups.setdefault((message.parent_id, message.role), []).append(message)
        for group in groups.values():
            assert [message.is_active for message in group].count(True) == 1
            assert [message.branch_order for message in group] == list(range(1, len(group) + 1))
            assert talk.tree.siblings(group[0].id) == group
        path = talk.tree.active_path()
        assert [message.parent_id for message in path] == [None, *(message.id for message in path[:-1])]
        assert all(message.is_active for message in path)
        branch = talk.tree.path_to(added)
        if all(message.is_active for message in branch):
            assert added in talk.shown()
