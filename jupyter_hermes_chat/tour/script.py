"""What the scripted model says next: a pure function of the request (design §6).

The scenario is chosen by words in the person's last message, English or Chinese; how far it has come is the number of tool
calls that the request already holds after that message. So the same request always has the same reply, and an edited message,
another branch or a repeated turn needs nothing that is remembered here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from . import texts
from .texts import Language

Message = Mapping[str, Any]
MODELS = ("hermes-tour", "hermes-tour-mini")
CONTEXT_LENGTH = 128_000


@dataclass(frozen=True)
class Call:
    """One tool call, as the model would write it."""

    tool: str
    args: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """One answer of the model. *seconds* is the length of a slow text, whatever the pace; ``None`` follows the pace.

    *http* answers with that status instead, *dead* breaks the connection without an answer. *prompt_tokens* is what the usage
    claims; ``None`` lets the server count the request.
    """

    reasoning: str = ""
    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = "stop"
    seconds: float | None = None
    http: int | None = None
    dead: bool = False
    prompt_tokens: int | None = None


@dataclass(frozen=True)
class Turn:
    """What a scenario looks at: the person's words, how many rounds of tools are done, and what the tools answered in them."""

    said: str
    language: Language
    rounds: int
    results: tuple[str, ...]
    before: tuple[Message, ...] = field(repr=False)
    summarized: bool = False
    match: re.Match[str] | None = None

    def answer(self) -> str:
        """What the person answered to the last clarify of this turn, else an empty text."""
        for result in reversed(self.results):
            found = _json(result).get("user_response")
            if isinstance(found, str):
                return found
        return ""


Scenario = Callable[[Turn], Reply]


def reply(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None) -> Reply:
    """What comes next. A request without tools is Hermes' own (a summary for a compaction), never a person's turn."""
    turn = read(messages)
    if not tools:
        return Reply(text=texts.SUMMARY[turn.language])
    scenario, match = choose(turn.said)
    planned = scenario(replace(turn, match=match))
    known = {tool["function"]["name"] for tool in tools}
    missing = [call.tool for call in planned.calls if call.tool not in known]
    if missing:
        return Reply(text=f"This step needs the tool `{missing[0]}`, which is switched off in Hermes.")
    return planned


def read(messages: Sequence[Message]) -> Turn:
    last = max((i for i, m in enumerate(messages) if m.get("role") == "user" and not _by_hermes(m)), default=0)
    said = person_words(_text(messages[last])) if messages else ""
    after = messages[last + 1 :]
    return Turn(
        said=said,
        language="zh" if re.search(r"[\u3400-\u9fff]", said) else "en",
        rounds=sum(1 for m in after if m.get("role") == "assistant" and m.get("tool_calls")),
        results=tuple(_text(m) for m in after if m.get("role") == "tool"),
        before=tuple(messages[:last]),
        summarized=any(summary in _text(m) for m in messages for summary in texts.SUMMARY.values()),
    )


def person_words(text: str) -> str:
    """The message without what a notebook or Hermes put around it: wrapped blocks hold code, not wishes."""
    return re.sub(r"<([\w:.-]+)(?:\s[^>]*)?>.*?</\1>", " ", text, flags=re.DOTALL).strip()


def choose(said: str) -> tuple[Scenario, re.Match[str] | None]:
    """The first scenario of the list whose words are in *said*; the whole tour where none is."""
    for pattern, scenario in SCENARIOS:
        if match := pattern.search(said):
            return scenario, match
    return tour, None


def _by_hermes(message: Message) -> bool:
    """Hermes speaks as the user too: a to-do list kept over a compaction, a summary, a nudge. Always in square brackets."""
    return _text(message).startswith("[")


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content or [] if isinstance(part, Mapping))


def _json(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}


# ---- scenarios ------------------------------------------------------------------------------------------------------


def tour(turn: Turn) -> Reply:
    lang = turn.language
    steps = texts.TOUR_STEPS[lang]
    question, choices = texts.TOUR_QUESTION[lang]
    calls: tuple[tuple[Call, ...], ...] = (
        (_todos(texts.TOUR_TODOS[lang], done=0),),
        (Call("terminal", {"command": texts.TOUR_COMMAND[lang]}),),
        (_todos(texts.TOUR_TODOS[lang], done=2), Call("clarify", {"question": question, "choices": list(choices)})),
        (_todos(texts.TOUR_TODOS[lang], done=4),),
    )
    if turn.rounds < len(calls):
        reasoning, text = steps[turn.rounds]
        return _calls(*calls[turn.rounds], reasoning=reasoning, text=text)
    answer = turn.answer()
    example = texts.TOUR_EXAMPLES[lang].get(answer) or texts.TOUR_OTHER[lang].format(answer=answer)
    return Reply(text=texts.TOUR_END[lang].format(answer=answer, example=example))


def hello(turn: Turn) -> Reply:
    return Reply(text=texts.HELLO[turn.language])


def think(turn: Turn) -> Reply:
    reasoning, text = texts.THINK[turn.language]
    return Reply(reasoning=reasoning, text=text)


def parallel(turn: Turn) -> Reply:
    reasoning, text = texts.PARALLEL[turn.language]
    if turn.rounds == 0:
        files = Call("search_files", {"pattern": "*", "target": "files", "path": ".", "limit": 20})
        words = Call("search_files", {"pattern": "hermes", "target": "content", "path": ".", "limit": 20})
        return _calls(files, words, reasoning=reasoning)
    return Reply(text=text)


def todo(turn: Turn) -> Reply:
    contents, reasoning, text = texts.TODO[turn.language]
    if turn.rounds <= len(contents):
        return _calls(_todos(contents, done=turn.rounds), reasoning=reasoning if turn.rounds == 0 else "")
    return Reply(text=text)


def read_todos(turn: Turn) -> Reply:
    if turn.rounds == 0:
        return _calls(Call("todo", {}))
    rows = _json(turn.results[-1]).get("todos") or []
    return Reply(text="\n".join(f"- {row['content']} ({row['status']})" for row in rows) or texts.NO_TODOS[turn.language])


def clarify(turn: Turn) -> Reply:
    question, choices, text = texts.CLARIFY[turn.language]
    if turn.rounds == 0:
        return _calls(Call("clarify", {"question": question, "choices": list(choices)}))
    return Reply(text=text.format(answer=turn.answer()))


def terminal(turn: Turn) -> Reply:
    reasoning, text = texts.TERMINAL[turn.language]
    if turn.rounds == 0:
        return _calls(Call("terminal", {"command": texts.TOUR_COMMAND[turn.language]}), reasoning=reasoning)
    return Reply(text=text.format(output=str(_json(turn.results[-1]).get("output", "")).strip()))


def sleep(turn: Turn) -> Reply:
    """A command that takes its time, to be stopped."""
    assert turn.match is not None
    if turn.rounds == 0:
        return _calls(Call("terminal", {"command": f"sleep {turn.match[1]}"}))
    return Reply(text=texts.SLEPT[turn.language])


def dangerous(turn: Turn) -> Reply:
    reasoning, done, refused = texts.DANGEROUS[turn.language]
    if turn.rounds == 0:
        return _calls(Call("terminal", {"command": "rm -rf ./scratch"}), reasoning=reasoning)
    return Reply(text=done if _json(turn.results[-1]).get("exit_code") == 0 else refused)


def long(turn: Turn) -> Reply:
    return Reply(text=texts.long_answer(turn.language))


def slow(turn: Turn) -> Reply:
    assert turn.match is not None
    seconds = min(float(turn.match[1] or 15), 600.0)
    n = max(1, round(seconds * 2))
    text = "".join(texts.SLOW[turn.language].format(k=k, n=n) for k in range(1, n + 1))
    return Reply(text=text.rstrip(), seconds=seconds)


def guardrail(turn: Turn) -> Reply:
    return Reply(text=texts.GUARDRAIL[turn.language], finish="content_filter")


def error(turn: Turn) -> Reply:
    assert turn.match is not None
    kind = turn.match[1].lower()
    return Reply(dead=True) if kind == "dead" else Reply(http=int(kind))


def compact(turn: Turn) -> Reply:
    """A round whose usage fills the window, so that Hermes compacts before the next request."""
    if turn.rounds == 0:
        return _calls(_todos(texts.TODO[turn.language][0], done=1), prompt_tokens=CONTEXT_LENGTH - 8_000)
    done, too_short = texts.COMPACT[turn.language]
    return Reply(text=done if turn.summarized else too_short)


def unicode(turn: Turn) -> Reply:
    return Reply(text=texts.UNICODE)


def remember(turn: Turn) -> Reply:
    you, tools, nothing = texts.REMEMBER[turn.language]
    said = [_text(m) for m in turn.before if m.get("role") == "user"]
    results = [_text(m) for m in turn.before if m.get("role") == "tool"]
    parts = [
        head + "\n" + "\n".join(f"- {' '.join(row.split())[:200]}" for row in rows)
        for head, rows in ((you, said), (tools, results))
        if rows
    ]
    return Reply(text="\n\n".join(parts) or nothing)


def _todos(contents: Sequence[str], *, done: int) -> Call:
    """The whole list with *done* items ticked off and the next one begun."""
    status = ["completed" if k < done else "in_progress" if k == done else "pending" for k in range(len(contents))]
    return Call(
        "todo",
        {"todos": [{"id": str(k + 1), "content": c, "status": s} for k, (c, s) in enumerate(zip(contents, status, strict=True))]},
    )


def _calls(*calls: Call, reasoning: str = "", text: str = "", prompt_tokens: int | None = None) -> Reply:
    return Reply(reasoning=reasoning, text=text, calls=calls, finish="tool_calls", prompt_tokens=prompt_tokens)


def _words(english: str, chinese: str = "") -> re.Pattern[str]:
    return re.compile(rf"(?:\b(?:{english})\b)" + (f"|{chinese}" if chinese else ""), re.IGNORECASE)


SCENARIOS: tuple[tuple[re.Pattern[str], Scenario], ...] = (
    (re.compile(r"(?:\berror|错误)\s*(401|402|404|429|500|503|dead)\b", re.IGNORECASE), error),
    (_words("guardrail", "护栏"), guardrail),
    (_words("remember|recall", "记得|回忆"), remember),
    (_words("tour", "导览"), tour),
    (_words("compact|compress", "压缩"), compact),
    (re.compile(r"(?:\bslow(?:ly)?\b|慢)\s*(\d+(?:\.\d+)?)?", re.IGNORECASE), slow),
    (re.compile(r"(?:\bsleep|睡)\s*(\d{1,3})\b", re.IGNORECASE), sleep),
    (_words("parallel", "并行|同时"), parallel),
    (_words("dangerous|delete", "危险|删除"), dangerous),
    (_words("clarify|ask me", "问我|澄清"), clarify),
    (_words("terminal|list files", "终端|列出文件"), terminal),
    (_words("(?:show|read)(?: \\w+)* to-?dos?", "看.*待办"), read_todos),
    (_words("to-?dos?|plans?", "待办|计划"), todo),
    (_words("unicode|emoji", "表情"), unicode),
    (_words("long", "长文|长回答"), long),
    (_words("think|thinking", "思考|想一想"), think),
    (_words("hello|hi", "你好|您好"), hello),
)
"""First match wins: what breaks a turn stands before what fills it."""
