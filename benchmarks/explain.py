"""How long an explanation takes, in units of the optimisation that it explains."""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from pathlib import Path

from planner.analysis.explain import explain
from planner.api import Options, solve_with
from planner.inputs import Inputs
from planner.loader import load

PROBLEMS = Path(__file__).resolve().parent.parent / "problems"
NAMES = ("10MW", "enterprise_1MW", "full_bill", "gpt3_octet", "space_limited", "megatron_1t")
WITHOUT_PLAN = (
    ("infeasible_restore", ()),
    ("10MW", ("targets.min_gpus=6000",)),
    ("10MW", ("budget.capex=100 MUSD", "targets.min_useful_pflops=3000")),
    ("gpt3_octet", ("site.racks=10", "jobs.0.checkpoint.max_blocking=0.1 %")),
    ("full_bill", ("targets.max_lead_time=40 day",)),
)


def seconds(inputs: Inputs, runs: int, *, explained: bool) -> float:
    """Return the median time of solving, or of solving and explaining."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        if explained:
            explain(inputs, Options())
        else:
            solve_with(inputs, Options(explain=False))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print a row per problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    gc.set_threshold(100_000, 50, 50)  # as the command line does
    print("| problem | one optimisation | explained | times as long |\n|---|---|---|---|")
    cases = [*((name, ()) for name in NAMES), *WITHOUT_PLAN]
    for name, settings in cases:
        inputs = load(PROBLEMS / f"{name}.yaml", settings=settings)
        once = seconds(inputs, runs, explained=False)
        whole = seconds(inputs, runs, explained=True)
        told = f"{name} {' '.join(settings)}".strip()
        print(f"| {told} | {once:.2f} s | {whole:.2f} s | {whole / once:.1f} |", flush=True)


if __name__ == "__main__":
    main()
