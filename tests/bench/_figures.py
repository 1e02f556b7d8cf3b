"""Figures of design §10 as JSON: ``{"name", "value", "unit", "baseline", "ratio", "bar", "ok"}``.

``bar`` is what the figure must not exceed: the value itself, or where there is a baseline (measured in the same run) the ratio.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable
from typing import TypedDict


class Figure(TypedDict):
    name: str
    value: float
    unit: str
    baseline: float | None
    ratio: float | None
    bar: float
    ok: bool


def at_most(name: str, value: float, unit: str, bar: float) -> Figure:
    """*value* must not exceed *bar*."""
    return Figure(name=name, value=value, unit=unit, baseline=None, ratio=None, bar=bar, ok=value <= bar)


def ratio_at_most(name: str, value: float, unit: str, baseline: float, bar: float) -> Figure:
    """*value* must not exceed *bar* times *baseline*."""
    ratio = value / baseline
    return Figure(name=name, value=value, unit=unit, baseline=baseline, ratio=ratio, bar=bar, ok=ratio <= bar)


def percentile(values: list[float], percent: float) -> float:
    """The smallest of *values* that *percent* of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def best_of(act: Callable[[], object], times: int = 5) -> float:
    """Seconds of the fastest of *times* calls: what the code costs, not what else the machine does."""
    return min(seconds(act) for _ in range(times))


def median_of(act: Callable[[], object], times: int = 5) -> float:
    """Seconds of the middle of *times* calls."""
    return statistics.median(seconds(act) for _ in range(times))


def seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def show(figures: list[Figure]) -> None:
    print(json.dumps(figures, indent=1))
