"""Time what a slider does: one value changed, and the best plan again in a warm process.

    python benchmarks/slider.py [--runs 7] [--problem problems/10MW.yaml]

Each value is asked for in `runs` steps that no question before had. CPU milliseconds, medians:
*loaded once* is ``planner.solve`` of inputs that ``planner.load`` returned, *a file each time* of
the file; *assembled* is ``planner.api.solve_with`` without the inputs as text, *without rivals* the
same without plans of other storage.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import planner
from planner.api import Options, solve_with
from planner.inputs import Inputs
from planner.loader.axes import values
from planner.loader.places import checked

ROOT = Path(__file__).resolve().parent.parent
SLIDERS = (
    ("power at the meter", "site.facility_power", "MW", 6.0, 11.0),
    ("budget", "budget.capex", "MUSD", 200.0, 400.0),
    ("failures per GPU and day", "jobs.0.failures.rate", "", 0.0002, 0.002),
    ("delivered share of writes", "storage.delivered_fraction.write", "", 0.2, 0.7),
    ("least goodput", "targets.min_goodput", "", 0.9, 0.96),
    ("price of a GPU system", "prices.nvidia_dgx_b200.list", "USD", 400_000.0, 520_000.0),
)
"""What is moved, its path, its unit, from where and to where."""


def steps(path: str, unit: str, low: float, high: float, runs: int) -> list[tuple[str, str]]:
    """Return the path with each of so many values between two, as ``--set`` takes them."""
    values = (low + (high - low) * (step + 0.5) / runs for step in range(runs))
    return [(path, f"{value:.6g} {unit}".rstrip()) for value in values]


def spent_ms(work: Callable[[], object]) -> float:
    """Return the CPU milliseconds of this process that work takes."""
    started = time.process_time()
    work()
    return 1000.0 * (time.process_time() - started)


def moved(hall: Inputs, path: str, text: str) -> Inputs:
    """Return inputs with a value changed; a price is no part of a problem: as sweeps change it."""
    if not path.startswith("prices."):
        return planner.load(hall, settings={path: text})
    return checked(hall, values(hall, f"{path}={text}").points[0].changes)


def ways(problem: Path) -> dict[str, Callable[[str, str], object]]:
    """Return the ways to ask again, by name."""
    hall = planner.load(problem)

    def each_time(path: str, text: str) -> object:
        if not path.startswith("prices."):
            return planner.solve(problem, settings={path: text})
        return planner.solve(moved(planner.load(problem), path, text))

    def assembled(path: str, text: str, *, rivals: bool = True) -> object:
        return solve_with(moved(hall, path, text), Options(rivals=rivals))

    return {
        "loaded once": lambda *step: planner.solve(moved(hall, *step)),
        "a file each time": each_time,
        "assembled": assembled,
        "without rivals": partial(assembled, rivals=False),
        "read alone": partial(moved, hall),
    }


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--problem", type=Path, default=ROOT / "problems" / "10MW.yaml")
    asked = parser.parse_args()
    planner.solve(asked.problem)  # warm
    asking = ways(asked.problem)
    print(f"{'CPU ms, medians of ' + str(asked.runs):28}" + "".join(f"{n:>18}" for n in asking))
    for name, *slider in SLIDERS:
        told = f"{name:28}"
        for ask in asking.values():
            spent = [spent_ms(partial(ask, *step)) for step in steps(*slider, asked.runs)]
            told += f"{statistics.median(spent):18.0f}"
        print(told)


if __name__ == "__main__":
    main()
