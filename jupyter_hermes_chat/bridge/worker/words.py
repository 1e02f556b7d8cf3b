"""Text as it may leave the worker. Pure functions."""

from __future__ import annotations

import re

RESULT_PREVIEW = 8192
"""Bytes of a tool's result that an event carries (design §3); the whole of it stays in the turn's messages."""

_WORD = re.compile(r"[^\W_]{2,}|^[a-z0-9]$", re.IGNORECASE)
_SECRET = re.compile(
    r"""(?ix)
    \b(?:sk|pk|rk|gh[pousr]|xox[abprs]|hf|gsk|AIza|ya29)[-_][\w.*-]{4,}   # keys by their well-known beginnings
    | \b(?:bearer|basic|token|api[-_ ]?key|authorization|x-api-key)\b\s*[:=]?\s*["']?[\w.~+/=*-]{6,}
    | \b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{28,}\b                             # anything long enough to be one
    """
)


def mend(text: str) -> str:
    """Halves of surrogate pairs joined, lone ones replaced: what cannot be UTF-8 would break the pipe and the journal."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def plain_status(text: str) -> str:
    """One line without the decorations in front of it: kaomoji, spinner frames, emoji (R31). Empty where nothing is left."""
    words = " ".join(text.split()).split(" ")
    while words and not _is_word(words[0]):
        words.pop(0)
    return " ".join(words)


def _is_word(token: str) -> bool:
    letters = sum(c.isalnum() for c in token)
    return bool(_WORD.search(token)) and letters * 2 >= len(token)


def redacted(text: str) -> str:
    """*text* without what may be a key, for messages that a person reads (design §8)."""
    return _SECRET.sub("[…]", text)


def preview(text: str) -> tuple[str, bool]:
    """(the first 8 kB of *text*, whether something was left out), cut between characters."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= RESULT_PREVIEW:
        return text, False
    return data[:RESULT_PREVIEW].decode("utf-8", "ignore"), True
