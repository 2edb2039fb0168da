"""Scenarios per CPU second, ours over the plain way, side by side in one run.

    python benchmarks/sweep.py [--quick] [--check 50]

Ours is whole processes: `planner sweep --jobs 2` with reading, solving, proving, verifying every
plan and writing Parquet, CSV and JSON. The plain way (see ``plain.py``) is the loop alone, in two
processes that have read their files before the clock starts, on a sample of the same scenarios.
Seconds are of processors, so that other work on the machine counts for neither.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pyarrow.parquet as pq
import yaml

from planner.loader import load

sys.path.insert(0, str(Path(__file__).parent))
from plain import Bare, Limits, Mutated, Whole

ROOT = Path(__file__).resolve().parent.parent
PROBLEM = ROOT / "problems" / "10MW.yaml"
COMPANIONS = ("network", "extras", "spares", "scenarios")
_way: Bare | Mutated | Whole | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of sweep: what to ask planner, the same scenarios as limits, the gap, the target."""

    name: str
    asked: tuple[str, ...]
    limits: tuple[Limits, ...]
    gap: float
    target: float


def kinds(folder: Path) -> list[Kind]:
    def spread(low: float, high: float, count: int) -> list[float]:
        return [low + (high - low) * n / (count - 1) for n in range(count)]

    feed = tuple(Limits(kw, 480, 260) for kw in spread(5000, 20000, 10_000))
    grid = tuple(
        Limits(kw, usd, 260) for kw in spread(5000, 20000, 100) for usd in spread(200, 800, 100)
    )
    vary = ("--vary", "site.facility_power=5MW:20MW:log:")
    capex = ("--vary", "budget.capex=200MUSD:800MUSD:log:100")
    few, many = drawn(folder, 1_000), drawn(folder, 20_000)
    return [
        Kind("10,000 feeds, 0.1 %", (vary[0], vary[1] + "10000"), feed, 1e-3, 8),
        Kind(
            "100 x 100 feeds and budgets, 0.1 %", (vary[0], vary[1] + "100", *capex), grid, 1e-3, 5
        ),
        Kind("1,000 random, 0.1 %", ("--scenarios", few[0]), few[1], 1e-3, 4),
        Kind("20,000 random, 1 %", ("--scenarios", many[0]), many[1], 1e-2, 40),
    ]


def drawn(folder: Path, count: int) -> tuple[str, tuple[Limits, ...]]:
    """Return a file of random feeds, budgets and racks, and the same as limits."""
    draw = random.Random(1)
    limits = tuple(
        Limits(draw.uniform(5e3, 2e4), draw.uniform(200, 800), draw.randint(100, 400))
        for _ in range(count)
    )
    file = folder / f"random_{count}.csv"
    rows = [f"{s.power_kw!r} kW,{s.capex_musd!r} MUSD,{s.racks}" for s in limits]
    file.write_text("site.facility_power,budget.capex,site.racks\n" + "\n".join(rows) + "\n")
    return str(file), limits


def bare_problem(folder: Path) -> Path:
    """Return the 10 MW example without anything that comes with a purchase."""
    data = yaml.safe_load(PROBLEM.read_text())
    for key in COMPANIONS:
        data.pop(key, None)
    site = data["site"]
    for key in ("cooling", "rack_classes"):
        site.pop(key, None)
    for key in ("item", "pdu"):
        site["rack"].pop(key, None)
    path = folder / "bare.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def ours(problem: Path, kind: Kind, folder: Path, jobs: int = 2) -> dict[str, float]:
    """Run `planner sweep`; return the CPU seconds it takes and what its record says."""
    out = folder / "out"
    command = [
        sys.executable,
        "-c",
        "from planner.cli import main; main()",
        "sweep",
        str(problem),
        *kind.asked,
        "--gap",
        str(kind.gap),
        "--workers",
        str(jobs),
        "--quiet",
        "--json",
        "-o",
        str(out),
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    record = json.loads(done.stdout)
    assert record["rows"] == len(kind.limits), record["statuses"]
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": cpu_s, "solved": record["solved"], "peak_mb": after.ru_maxrss / 1024}


def _begin(way: type[Bare | Whole]) -> None:
    global _way
    _way = way(PROBLEM)


def _plain(limits: Limits, gap: float) -> float:
    """Solve a scenario the plain way; return the CPU seconds it took, those of CBC included."""
    assert _way is not None
    before = os.times()
    _way.solve(limits, gap)
    return sum(os.times()[:4]) - sum(before[:4])


def plain(way: type[Bare | Whole], kind: Kind, sample: int) -> float:
    """Return scenarios per CPU second of the plain way, on a sample."""
    some = random.Random(2).sample(kind.limits, min(sample, len(kind.limits)))
    context = get_context("spawn")
    with ProcessPoolExecutor(2, context, initializer=_begin, initargs=(way,)) as pool:
        list(pool.map(_plain, some[:4], [kind.gap] * 4))  # both processes are ready
        return len(some) / sum(pool.map(_plain, some, [kind.gap] * len(some)))


def _cold(asked: tuple[Path, Limits]) -> tuple[float, float]:
    """Return value and bound of a scenario optimised by itself to 1e-6, as natural logarithms."""
    from planner.case import resolve
    from planner.inputs import changed
    from planner.optimizer import optimise

    problem, limits = asked
    inputs = load(problem)
    inputs = changed(inputs, "site.facility_power", limits.power_kw)
    inputs = changed(inputs, "budget.capex", limits.capex_musd * 1e6)
    inputs = changed(inputs, "site.racks", limits.racks)
    end = optimise(resolve(inputs), gap=1e-6, ties=False)
    assert end.value is not None and end.bound is not None
    return end.value, end.bound


def checked(problem: Path, kind: Kind, folder: Path, count: int) -> int:
    """Return how many of some random rows hold: objective <= optimum <= bound, solved cold."""
    table = pq.read_table(folder / "out" / f"{problem.stem}.sweep.parquet")
    rows = table.select(["objective", "bound"]).to_pylist()
    places = random.Random(3).sample(range(len(rows)), count)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        ends = list(pool.map(_cold, [(problem, kind.limits[place]) for place in places]))
    good = 0
    for place, (value, bound) in zip(places, ends, strict=True):
        low, high = math.log(rows[place]["objective"]), math.log(rows[place]["bound"])
        good += low <= bound + 1e-9 and value <= high + 1e-9
    return good


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", type=int, default=0, help="re-solve so many rows of each cold")
    parser.add_argument("--quick", action="store_true", help="smaller samples of the plain way")
    options = parser.parse_args()
    quick = options.quick
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        problems = (
            ("bare", bare_problem(folder), Bare, 100 if quick else 400),
            ("mutated", bare_problem(folder), Mutated, 400),
            ("whole", PROBLEM, Whole, 6 if quick else 20),
        )
        for label, problem, way, sample in problems:
            print(f"\n{label}: {'with' if label == 'whole' else 'without'} what comes with systems")
            print(
                f"{'':34}{'CPU s':>8}{'ours/s':>9}{'plain/s':>9}{'times':>8}{'asked':>7}"
                f"{'worked':>8}{'MB':>6}"
            )
            for kind in kinds(folder):
                rate = plain(way, kind, sample)
                run = ours(problem, kind, folder)
                mine = len(kind.limits) / run["cpu_s"]
                print(
                    f"{kind.name:34}{run['cpu_s']:8.1f}{mine:9,.0f}{rate:9.2f}{mine / rate:8,.1f}"
                    f"{kind.target:7}{run['solved']:8,}{run['peak_mb']:6.0f}",
                    flush=True,
                )
                if options.check:
                    good = checked(problem, kind, folder, options.check)
                    print(f"    {good} of {options.check} rows hold when solved cold", flush=True)


if __name__ == "__main__":
    main()
