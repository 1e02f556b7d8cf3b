"""``make requirements``: which tests show which requirement (R1–R65), from pytest markers and front-end test titles."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NUMBERS = [f"R{n}" for n in range(1, 66)]


class Collector:
    def __init__(self) -> None:
        self.shown: dict[str, list[str]] = defaultdict(list)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for marker in item.iter_markers("requirement"):
                for number in marker.args:
                    if item.nodeid.split("[")[0] not in self.shown[number]:
                        self.shown[number].append(item.nodeid.split("[")[0])


def front_end(shown: dict[str, list[str]]) -> None:
    """Titles such as ``test("R29: an event changes its own run only", …)``."""
    for path in sorted((ROOT / "js" / "tests").rglob("*.test.ts*")):
        for title in re.findall(
            r"""\b(?:test|it|describe)(?:\.\w+(?:\([^)]*\))?)?\(\s*["'`]([^"'`]+)["'`]""", path.read_text(encoding="utf-8")
        ):
            head = re.match(r"((?:R\d+[, ]*)+):", title)
            for number in re.findall(r"R\d+", head.group(1)) if head else []:
                shown[number].append(f"{path.relative_to(ROOT)}: {title}")


def main() -> int:
    collector = Collector()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", str(ROOT / "tests")], plugins=[collector])
    if status != 0:
        print(said.getvalue(), file=sys.stderr)
        return int(status)
    front_end(collector.shown)
    unknown = sorted(set(collector.shown) - set(NUMBERS))
    for number in NUMBERS:
        tests = collector.shown.get(number, [])
        print(f"{number:4} {len(tests):3}  {tests[0] if tests else '-'}")
        for test in tests[1:]:
            print(f"          {test}")
    print(f"\n{sum(bool(collector.shown.get(n)) for n in NUMBERS)} of {len(NUMBERS)} requirements have a test.")
    if unknown:
        print(f"unknown numbers: {', '.join(unknown)}", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
