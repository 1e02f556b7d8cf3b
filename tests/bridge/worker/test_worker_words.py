"""Text as it may leave the worker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_hermes_chat.bridge.worker.words import RESULT_PREVIEW, mend, plain_status, preview, redacted

KAOMOJI = [
    "(｡◕‿◕｡)", "(◕‿◕✿)", "٩(◕‿◕｡)۶", "(✿◠‿◠)", "( ˘▽˘)っ", "♪(´ε` )", "(◕ᴗ◕✿)", "ヾ(＾∇＾)", "(≧◡≦)", "(★ω★)",
    "(｡•́︿•̀｡)", "(◔_◔)", "(¬‿¬)", "( •_•)>⌐■-■", "(⌐■_■)", "(´･_･`)", "◉_◉", "(°ロ°)", "( ˘⌣˘)♡",
    "ヽ(>∀<☆)☆", "(๑•̀ㅂ•́)و✧", "⠋", "◜", "🗜️", "⚠️",
]  # fmt: skip


@pytest.mark.requirement("R31")
@pytest.mark.parametrize("decoration", KAOMOJI)
def test_decorations_in_front_of_a_status_are_stripped(decoration: str) -> None:
    assert plain_status(f"{decoration} pondering...") == "pondering..."
    assert plain_status(decoration) == ""


def test_a_status_without_decorations_stays() -> None:
    for line in ("A model answered", "2 retries left", "压缩上下文", "HTTP 500: boom", "~57,825 tokens"):
        assert plain_status(line) == line


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_mended_text_is_unicode_and_what_was_unicode_stays(text: str) -> None:
    mended = mend(text)
    mended.encode()
    try:
        text.encode()
    except UnicodeEncodeError:
        assert mended != text
    else:
        assert mended == text


def test_halves_of_a_pair_are_joined() -> None:
    assert mend("a\ud83d\ude00b\ud83d") == "a😀b\ufffd"


@given(st.text(max_size=4 * RESULT_PREVIEW))
def test_a_preview_is_a_beginning_of_at_most_8_kb(text: str) -> None:
    shown, truncated = preview(text)
    assert text.startswith(shown)
    assert len(shown.encode()) <= RESULT_PREVIEW
    assert truncated == (shown != text)


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghij",
        "sk-ant-api03-AbCdEf0123",
        "ghp_0123456789abcdef",
        "Bearer abc.def.ghi",
        "api_key=hunter2hunter2",
        "4f3c" * 10,
    ],
)
def test_what_may_be_a_key_is_redacted(secret: str) -> None:
    assert secret not in redacted(f"HTTP 400: incorrect key {secret} given")
    assert "HTTP 400" in redacted(f"HTTP 400: incorrect key {secret} given")
