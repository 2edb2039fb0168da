"""Time what a slider of `planner explore` does: a value moved, the plan proven and verified again.

    python benchmarks/slider.py [--problem problems/10MW.yaml]

CPU milliseconds in a warm process, medians of three positions of each slider: *explore* is the
answer of the page, *solve* is ``planner.solve`` of the same position, with the program's
confirmation and plans of other storage.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import planner
from planner.explore.explorer import AS_IT_IS, Asked
from planner.explore.problems import SingleExplorer, explorer_of

ROOT = Path(__file__).resolve().parent.parent
POSITIONS = (0.2, 0.45, 0.7)
"""Places on a slider, as shares of its length."""


def spent_ms(work: Callable[[], object]) -> float:
    """Return the CPU milliseconds of this process that work takes."""
    started = time.process_time()
    work()
    return 1000.0 * (time.process_time() - started)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problem", type=Path, default=ROOT / "problems" / "10MW.yaml")
    page = explorer_of(parser.parse_args().problem, (), None)
    assert isinstance(page, SingleExplorer)
    page.answer(AS_IT_IS, "benchmark", 0)  # warm
    spent: dict[str, list[float]] = {"explore": [], "solve": []}
    print(f"{'CPU ms':44}{'explore':>10}{'solve':>10}")
    for slider in page.sliders:
        moves = [
            Asked({slider.path: slider.values[int(at * len(slider.values))]}, {})
            for at in POSITIONS
        ]
        ways = {
            "explore": [partial(page.answer, move, "benchmark", 0) for move in moves],
            "solve": [partial(planner.solve, page.inputs_of(move)) for move in moves],
        }
        text = f"{slider.path:44}"
        for name, calls in ways.items():
            found = [spent_ms(call) for call in calls]
            spent[name] += found
            text += f"{statistics.median(found):10.0f}"
        print(text)
    for name, found in spent.items():
        tenth = statistics.quantiles(found, n=10)[-1]
        print(f"{name}: median {statistics.median(found):.0f} ms, 90 % within {tenth:.0f} ms")


if __name__ == "__main__":
    main()
