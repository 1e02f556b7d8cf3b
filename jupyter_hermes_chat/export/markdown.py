"""A turn as Markdown and as plain text, for cell outputs and exports; readable wherever notebooks are (R57, R58).

What the model or a tool wrote never leaves its place: thinking is quoted and cannot close the fold around it, results stand in
fences that are longer than any run of backticks in them, names are escaped. The answer alone is Markdown of its own right.
"""

from __future__ import annotations

import html
import re

from ..reduce import AnswerPart, ApprovalPart, ClarifyPart, NoticePart, Part, ThinkingPart, ToolPart, TurnState

RESULT_LIMIT = 2000
"""Characters of one tool result that are shown; the run log has all of it."""

TOUR = "Tour: scripted replies, no model"
_SHOWN_ELSEWHERE = {"todo", "clarify"}
_BOX = {"completed": "[x]", "cancelled": "[-]", "in_progress": "[ ]", "pending": "[ ]"}


def to_markdown(state: TurnState) -> str:
    """The turn: what happened on the way (folded), the todo list, questions, the answer, and how it ended."""
    asked = [p for p in state.parts if isinstance(p, ClarifyPart | ApprovalPart)]
    blocks = [
        *_way(state),
        *_todos(state),
        *(_asked(p) for p in asked if p.status != "pending"),
        state.text,
        *(_asked(p) for p in asked if p.status == "pending"),
        *(f"*{_line(p.text)}*" for p in state.parts if isinstance(p, NoticePart)),
        _end(state),
    ]
    return "\n\n".join(b for b in blocks if b)


def to_text(state: TurnState) -> str:
    """The turn for a terminal: questions that wait, the answer, and how it ended."""
    blocks = [state.text, *(_ask_text(p) for p in state.pending)]
    if state.error is not None:
        blocks.append(f"Failed: {state.error.message}")
    elif state.phase == "stopped":
        blocks.append("Stopped.")
    elif not state.ended and not state.pending:
        blocks.append(f"{doing(state)}…")
    return "\n\n".join(b for b in blocks if b)


def doing(state: TurnState) -> str:
    """What a run that has not ended does now, in a few words."""
    last = state.parts[-1] if state.parts else None
    match last:
        case _ if state.pending:
            return "Waiting for an answer"
        case ToolPart(status="running"):
            return f"Running {last.tool}"
        case AnswerPart():
            return "Writing the answer"
        case ThinkingPart():
            return "Thinking"
        case _:
            return state.status.text if state.status else "Starting"


def summary(state: TurnState) -> str:
    """``Thought 12 s · 4 tools``; empty where there was neither."""
    said = []
    if any(isinstance(p, ThinkingPart) for p in state.parts):
        said.append(f"Thought {max(1, round(state.thinking_ms / 1000))} s")
    if state.tool_count:
        said.append(f"{state.tool_count} tool" + ("s" if state.tool_count > 1 else ""))
    return " · ".join(said)


def choices(part: ClarifyPart | ApprovalPart) -> list[str]:
    """The numbered lines under a question."""
    return [f"{n}. {_line(choice)}" for n, choice in enumerate(part.choices, 1)]


def _way(state: TurnState) -> list[str]:
    head = summary(state)
    if not head:
        return []
    steps = [s for p in state.parts if (s := _step(p, state))]
    return [f"<details><summary>{html.escape(head)}</summary>", *steps, "</details>"]


def _step(part: Part, state: TurnState) -> str:
    match part:
        case ThinkingPart():
            return _quote(_inside(part.text.strip()))
        case AnswerPart() if part.text != state.text:
            return _quote(_inside(part.text.strip()))
        case ToolPart() if part.tool not in _SHOWN_ELSEWHERE:
            head = f"**{_line(part.tool)}** {_code(part.summary)}".strip()
            mark = " failed" if part.status == "error" else ""
            return head + mark + (f"\n\n{_fence(part.result)}" if part.result else "")
        case _:
            return ""


def _todos(state: TurnState) -> list[str]:
    return ["\n".join(f"- {_BOX[t.status]} {_line(t.content)}" for t in state.todos)] if state.todos else []


def _asked(part: ClarifyPart | ApprovalPart) -> str:
    if isinstance(part, ClarifyPart):
        head, answer = [f"**{_line(part.question)}**"], part.answer
    else:
        head, answer = [f"**Allow this command?** {_line(part.description)}".strip(), "", _fence(part.command)], part.choice
    rest = choices(part) if part.status == "pending" else [_line(answer)] if answer is not None else []
    return _quote("\n".join([*head, *(["", *rest] if rest else [])]))


def _ask_text(part: ClarifyPart | ApprovalPart) -> str:
    asked = part.question if isinstance(part, ClarifyPart) else f"Allow this command?\n{part.command}"
    return "\n".join([asked, *choices(part)])


def _end(state: TurnState) -> str:
    lines = []
    if state.error is not None:
        lines.append(f"**Failed:** {_line(state.error.message)}")
    elif state.phase == "stopped":
        lines.append("*Stopped.*")
    elif not state.ended:
        lines.append(f"*{_line(doing(state))}…*")
    if state.ended and state.provider == "tour":
        lines.append(f"*{TOUR}*")
    return "\n\n".join(lines)


def _line(text: str) -> str:
    """One line that cannot open a tag or end the emphasis around it."""
    return re.sub(r"([\\*_`\[\]])", r"\\\1", html.escape(" ".join(text.split()), quote=False))


def _code(text: str) -> str:
    line = " ".join(text.split())
    if not line:
        return ""
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _fence(text: str) -> str:
    shown = text if len(text) <= RESULT_LIMIT else text[:RESULT_LIMIT] + "\n…"
    ticks = "`" * max(3, _longest_run(shown) + 1)
    return f"{ticks}text\n{shown.rstrip()}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _inside(text: str) -> str:
    return re.sub(r"<(?=/?(?:details|summary))", "&lt;", text, flags=re.IGNORECASE)


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
