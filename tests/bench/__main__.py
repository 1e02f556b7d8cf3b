"""``make bench``: every module here with ``main() -> list[Figure]``; results in ``results.json`` (design §10)."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    figures: list[dict[str, object]] = []
    for path in sorted(HERE.glob("[a-z]*.py")):
        print(f"{path.stem} …", file=sys.stderr, flush=True)
        figures += importlib.import_module(f"tests.bench.{path.stem}").main()
    (HERE / "results.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for figure in figures:
        ratio = f"  × {figure['ratio']:.2f}" if figure.get("ratio") is not None else ""
        verdict = "ok  " if figure["ok"] else "MISS"
        print(f"{verdict} {figure['name']:60} {figure['value']:>10.3g} {figure['unit']:6} bar {figure['bar']}{ratio}")
    return 0 if all(f["ok"] for f in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
