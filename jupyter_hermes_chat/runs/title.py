"""The title of a session that nobody named: the beginning of its first message (R5).

At most 30 characters, white space and line breaks folded to one space, never cut inside what a reader sees as one character.
The rule is the part of UAX #29 that occurs in messages: combining marks, joiners, emoji modifiers and tags, flags, Hangul.
"""

from __future__ import annotations

import unicodedata

LIMIT = 30

_ZWNJ, _ZWJ = "\u200c", "\u200d"


def title_of(text: str, limit: int = LIMIT) -> str:
    """*limit* counts code points; a single cluster that is longer is cut hard, so that the limit always holds."""
    folded = " ".join(text.split())
    if len(folded) <= limit:
        return folded
    end = limit
    while end and not _is_boundary(folded, end):
        end -= 1
    return folded[: end or limit].rstrip(" ")


def _is_boundary(text: str, at: int) -> bool:
    """Whether a cluster ends before ``text[at]``."""
    before, after = text[at - 1], text[at]
    if _extends(after) or before == _ZWJ:
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        start = at
        while start and _is_flag_letter(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 0
    return not _joins_hangul(before, after)


def _extends(char: str) -> bool:
    return (
        char in (_ZWNJ, _ZWJ)
        or unicodedata.category(char) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _joins_hangul(before: str, after: str) -> bool:
    """Conjoining jamo: a vowel or a final consonant after any Hangul, a leading one before a leading one or a syllable."""
    hangul = "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    leading = "\u1100" <= before <= "\u115f"
    if leading and ("\u1100" <= after <= "\u115f" or "\uac00" <= after <= "\ud7a3"):
        return True
    return hangul and "\u1160" <= after <= "\u11ff"
