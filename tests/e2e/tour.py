"""What a person sees of a turn of the tour, wherever it is shown: in a cell, in the anywidget, in the sidebar, on the page."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.e2e.lab import SHORT

expect.set_options(timeout=SHORT)

QUESTION = "What should the last example show?"
CHOICE = "A piece of Python"


def send(chat: Locator, message: str) -> None:
    field = chat.get_by_role("textbox", name="Message")
    field.fill(message)
    field.press("Enter")


def sees_the_question(turn: Locator) -> None:
    """Everything up to the question, while the run waits: thinking, a tool with its result, the plan, the question."""
    question = turn.get_by_role("group", name=QUESTION)
    expect(question.get_by_role("button", name=CHOICE)).to_be_enabled()
    sees_thinking_and_tool(turn)
    plan = turn.get_by_role("group", name="Plan")
    expect(plan.get_by_role("listitem")).to_have_count(4)
    expect(plan.get_by_role("listitem").filter(has_text="Run one command in the terminal")).to_contain_text("Done")
    expect(plan.get_by_role("listitem").filter(has_text="Ask you something")).to_contain_text("Now")


def sees_thinking_and_tool(turn: Locator) -> None:
    """In an unfolded turn; opens the rows that are folded."""
    thinking = turn.locator(".hc-item").filter(has_text="Nothing of it needs a model").first
    expect(thinking).to_be_visible()
    tool = turn.locator(".hc-item").filter(has_text="printf").first
    row = tool.get_by_role("button").first
    if row.get_attribute("aria-expanded") == "false":
        row.click()
    expect(tool.get_by_label("Result")).to_contain_text("Hello from your terminal.")


def answers(turn: Locator) -> None:
    turn.get_by_role("group", name=QUESTION).get_by_role("button", name=CHOICE).click()


def sees_the_end(turn: Locator) -> None:
    """The answer with what was chosen, drawn as Markdown, and the summary line, which unfolds thinking and tools again."""
    expect(turn).to_contain_text(re.compile(r"That was a whole turn"))
    expect(turn.locator(".hc-md strong").filter(has_text=CHOICE)).to_be_visible()
    expect(turn.locator(".hc-md pre").filter(has_text="squares")).to_be_visible()
    summary = turn.get_by_role("button", name=re.compile(r"Thought .*tools"))
    expect(summary).to_be_visible()
    if summary.get_attribute("aria-expanded") == "false":
        summary.click()
    sees_thinking_and_tool(turn)
