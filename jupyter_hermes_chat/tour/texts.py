"""What the tour says, once in English and once in Chinese. Words only; who says what when is in ``script``."""

from __future__ import annotations

from typing import Literal, TypeAlias

Language: TypeAlias = Literal["en", "zh"]

HELLO = {
    "en": "Hello! I am the tour: scripted replies, no model. Say **tour** for the whole round, or try one thing at a time: "
    "`think`, `todo`, `terminal`, `ask me`, `dangerous`, `long`, `slow`.",
    "zh": "你好！我是导览：回复是预先写好的，背后没有模型。说一声**导览**就能走完全程，也可以逐个试试："
    "`思考`、`计划`、`终端`、`问我`、`危险`、`长文`、`慢`。",
}

THINK = {
    "en": (
        "The person wants to see thinking. I should think a little, in plain sight: what do I know, what is missing, what would "
        "be the shortest honest answer? I know that I am a script. Nothing is missing. So the answer can be short. ",
        "That grey text above was **thinking**. It streams while a model reasons, folds away when the answer begins, and stays "
        "in the history: unfold it whenever you want to know why.",
    ),
    "zh": (
        "用户想看看思考过程。那我就在明处想一想：我知道什么，还缺什么，最短的诚实回答是什么？我知道自己是一段脚本，什么也不缺，"
        "所以回答可以很短。",
        "上面那段灰色文字就是**思考**。模型推理时它会实时出现，回答开始后自动折叠，并留在历史里：想知道原因时随时可以展开。",
    ),
}

PARALLEL = {
    "en": (
        "Two questions that do not wait for each other. ",
        "Both searches ran at the same time; each result found its own call.",
    ),
    "zh": ("两个互不依赖的问题，可以同时进行。", "两次搜索同时进行，每个结果都回到了自己的调用上。"),
}

TODO = {
    "en": (
        ("Gather what is there", "Draw the picture", "Write two sentences about it"),
        "A plan first, so you can see where I am. ",
        "All three steps are done. The list beside this text is the agent's own to-do list, and it is replaced as a whole "
        "whenever the agent changes it.",
    ),
    "zh": (
        ("收集已有的材料", "画出图表", "写两句说明"),
        "先列一个计划，这样你能看到我走到哪一步。",
        "三步都完成了。旁边的清单是智能体自己的待办列表，它每次改动都会整体更新。",
    ),
}

NO_TODOS = {"en": "The to-do list is empty.", "zh": "待办列表是空的。"}

CLARIFY = {
    "en": ("Which colour should the line have?", ("Blue", "Orange", "Green"), "You chose: {answer}"),
    "zh": ("这条线用什么颜色？", ("蓝色", "橙色", "绿色"), "你选择了：{answer}"),
}

TERMINAL = {
    "en": ("The files of the working directory are one command away. ", "This is what the terminal printed:\n\n```\n{output}\n```"),
    "zh": ("工作目录里的文件，一条命令就能列出。", "终端输出如下：\n\n```\n{output}\n```"),
}

SLEPT = {"en": "The command slept as long as it should.", "zh": "命令睡够了时间。"}

DANGEROUS = {
    "en": (
        "Deleting a folder cannot be undone, so I will be asked about it. ",
        "The command ran: `./scratch` is gone.",
        "The command did **not** run. Nothing was deleted.",
    ),
    "zh": (
        "删除文件夹无法撤销，所以需要先经过你的同意。",
        "命令已执行：`./scratch` 已删除。",
        "命令**没有**执行，什么也没有删除。",
    ),
}

GUARDRAIL = {
    "en": "This request was refused by a guardrail of the tour: it asked for the word that the tour never answers.",
    "zh": "这个请求被导览的护栏拒绝了：它包含导览从不回应的那个词。",
}

COMPACT = {
    "en": (
        "The conversation had become too long for the model, so Hermes put a summary in place of its beginning. "
        "Everything stays readable here; only what the model is given became shorter.",
        "I claimed that the window was full, but this conversation is still too short to be summarized. "
        "Say `long` a few times and ask again.",
    ),
    "zh": (
        "对话对模型来说已经太长，Hermes 用一段摘要代替了开头。这里仍然可以看到全部内容，只是发给模型的部分变短了。",
        "我声称上下文已满，但这段对话还太短，没什么可压缩的。多说几次`长文`再来试试。",
    ),
}

SUMMARY = {
    "en": "Summary of the tour so far: the person looked at thinking, tools, a to-do list and a question, and all of it worked.",
    "zh": "目前为止的导览摘要：用户看过了思考、工具、待办列表和提问，一切正常。",
}

REMEMBER = {
    "en": ("You wrote earlier:", "Tools answered earlier:", "Nothing was said before."),
    "zh": ("你之前写过：", "工具之前的回答：", "之前什么也没有说过。"),
}

UNICODE = (
    "Emoji 👩‍🚀🏳️‍🌈🇪🇺👍🏽, Chinese 你好，世界, Japanese こんにちは, combining e\u0301 n\u0303 a\u0308\u0323, Hebrew שלום עולם, "
    "Arabic مرحبا بالعالم, Thai สวัสดี, math 𝔸𝔹 ∑ √2, line\u2028separator, zero\u200bwidth, end ✅"
)

SLOW = {
    "en": "This is line {k} of {n}, and it takes its time. ",
    "zh": "这是第 {k} 行，共 {n} 行，不慌不忙。",
}

# ---- the whole tour -------------------------------------------------------------------------------------------------

TOUR_TODOS = {
    "en": ("Show what thinking looks like", "Run one command in the terminal", "Ask you something", "Sum up"),
    "zh": ("展示思考过程", "在终端里运行一条命令", "问你一个问题", "做个总结"),
}
TOUR_COMMAND = {
    "en": "printf 'Hello from your terminal.\\n' && ls",
    "zh": "printf '来自终端的问候。\\n' && ls",
}
TOUR_STEPS = {
    "en": (
        (
            "Somebody new is here. A good tour shows things instead of talking about them: first this thinking, then a plan, one "
            "harmless command, one question. Nothing of it needs a model. ",
            "Welcome! What you just saw in grey was **thinking**. I will plan my way now: watch the **to-do list** appear.",
        ),
        (
            "The plan is visible. Next a tool: listing the working directory is safe and always works. ",
            "Now a **tool**. Its row shows the command at once, and the result once it is there; click it to see both in full.",
        ),
        (
            "The command worked. Now the person should take part. ",
            "Your turn: below is a **question**. Choose an answer or write your own; I wait as long as you like, even overnight.",
        ),
        ("An answer! I tick it off and then I sum up. ", ""),
    ),
    "zh": (
        (
            "来了一位新朋友。好的导览是展示，而不是讲解：先是这段思考，然后是计划、一条无害的命令、一个问题。这些都不需要模型。",
            "欢迎！刚才那段灰色文字就是**思考**。现在我来安排步骤：请看**待办列表**出现。",
        ),
        (
            "计划已经可见。接下来用一个工具：列出工作目录既安全又总能成功。",
            "现在是一个**工具**。这一行会立刻显示命令，结果一到就显示出来；点开可以看到完整内容。",
        ),
        (
            "命令成功了。现在该请用户参与了。",
            "轮到你了：下面是一个**提问**。可以选一个答案，也可以自己写；等多久都行，过一夜也没关系。",
        ),
        ("有回答了！打个勾，然后总结。", ""),
    ),
}
TOUR_QUESTION = {
    "en": ("What should the last example show?", ("A table", "A piece of Python", "A formula")),
    "zh": ("最后的例子展示什么？", ("一张表格", "一段 Python", "一个公式")),
}
_TABLE = {
    "en": "| zone | what it tells you |\n|---|---|\n| thinking | why |\n| tools | how |\n| to-do list | how far |",
    "zh": "| 区域 | 告诉你什么 |\n|---|---|\n| 思考 | 为什么 |\n| 工具 | 怎么做 |\n| 待办列表 | 到了哪一步 |",
}
_PYTHON = "```python\nsquares = [n * n for n in range(10)]\nprint(sum(squares))  # 285\n```"
_FORMULA = "$$\\sum_{n=0}^{9} n^2 = 285$$"
TOUR_EXAMPLES = {
    "en": {"A table": _TABLE["en"], "A piece of Python": _PYTHON, "A formula": _FORMULA},
    "zh": {"一张表格": _TABLE["zh"], "一段 Python": _PYTHON, "一个公式": _FORMULA},
}
TOUR_OTHER = {
    "en": "You wrote your own answer, so here it is, word for word:\n\n> {answer}",
    "zh": "你写了自己的答案，原样奉上：\n\n> {answer}",
}
TOUR_END = {
    "en": "You answered **{answer}**.\n\n{example}\n\n"
    "That was a whole turn: thinking, a plan, a tool, a question and this answer. Reload the page: all of it is still here.\n\n"
    "Some words to try next: `parallel`, `dangerous`, `long`, `slow`, `remember`. When you want a real model, run "
    "`hermes model` in a terminal; this tour then makes room for it.",
    "zh": "你的回答是**{answer}**。\n\n{example}\n\n"
    "这就是完整的一轮：思考、计划、工具、提问和这个回答。刷新页面，它们都还在。\n\n"
    "接下来可以试试这些词：`并行`、`危险`、`长文`、`慢`、`记得`。想用真正的模型时，在终端运行 `hermes model`，导览就会让位。",
}


def long_answer(language: Language) -> str:
    """About 8 kB of Markdown with everything that a renderer must know: headings, lists, a table, code, quotes, maths, links."""
    chapters = {"en": "Chapter", "zh": "章节"}
    prose = {
        "en": "A long answer is read in parts, so each part has a heading, and the eye finds its way back. "
        "Streaming must not move what was read already, and a table must not jump while it grows. ",
        "zh": "长回答是分段阅读的，所以每段都有标题，目光才能找得回来。流式输出不能移动已经读过的内容，表格变长时也不能跳动。",
    }
    opening = {"en": "# A long answer\n\n", "zh": "# 一个长回答\n\n"}
    parts = [opening[language]]
    repeat = {"en": 2, "zh": 5}[language]
    for n in range(1, 11):
        rows = "\n".join(f"| {n}.{k} | `value_{n}_{k}` | {n * k} |" for k in range(1, 5))
        parts.append(
            f"## {chapters[language]} {n}\n\n{prose[language] * repeat}\n\n"
            f"- **{n}a** *first* point\n  - nested, with `code`\n- **{n}b** [a link](https://example.org/{n})\n\n"
            f"| key | name | product |\n|---|---|---:|\n{rows}\n\n"
            f"```python\ndef chapter_{n}(x: int) -> int:\n    return x * {n}\n```\n\n> {n}. $a^2 + b^2 = c^2$\n\n"
        )
    return "".join(parts).rstrip()
