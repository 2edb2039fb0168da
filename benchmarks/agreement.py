"""Simulate random plans with all levers, and count those that keep what they state.

    python benchmarks/agreement.py [--first 9800400] [--plans 200] [--runs 100]

Each plan (set points, options, spares, fewer replicas, two levels, the least money per useful work)
is simulated over 400 failures or more, so many times. It agrees where the mean is within 0.3 % of
what the plan states and three standard errors. Prints each plan, those that do not agree with how
far they are off, and how many there were of each kind. What a plan itself says that it keeps more
or less is shown beside, and how many agree with that counted in.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from planner import api
from planner.analysis.simulation import SimulationOptions, study
from planner.errors import InputError
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan
from tests.test_all_levers import together
from tests.world.random_cases import inputs_of

DAY_S = 86_400.0
CLOSE = 0.003
SIGMAS_OF_RANGE = 1.96
"""A range of 95 % is so many standard errors to either side."""


def plan_of(seed: int, gap: float) -> Plan | None:
    """Return the plan of a random problem; None where there is none, or no job."""
    options = api.Options(gap=gap, time_limit_s=60.0, explain=False, rivals=False)
    try:
        plan = api.solve_with(inputs_of(together(seed)), options)
    except InputError:  # what is demanded cannot be planned
        return None
    return plan if plan.jobs else None


def apart(plan: Plan, runs: int) -> tuple[float, float]:
    """Return by how much, as a share, simulations keep more than the plan states, and the standard
    error of that."""
    length_s = min(max(60.0 * DAY_S, 400.0 * plan.jobs[0].mtti_s), 3000.0 * DAY_S)
    options = SimulationOptions(replications=runs, length_s=length_s, intervals=False)
    found = study(plan, options).jobs[0].goodput
    stated = plan.jobs[0].goodput + plan.jobs[0].goodput_understated
    return found.mean / stated - 1.0, (found.high - found.mean) / SIGMAS_OF_RANGE / stated


def kind_of(job: JobPlan) -> str:
    """Return what is simulated of a job, in words."""
    repair = job.repair
    if repair is None:
        short = "no repair"
    elif repair.shrunk is not None:
        short = "shrinks"
    else:
        short = "spares in racks" if repair.in_rack else "waits"
    return f"{short}, {'two levels' if job.local else job.mode}"


def told(plan: Plan) -> str:
    """Return what the plan says of how far its goodput is off, empty where it says nothing."""
    begins = "worked out for each number of units out"
    found = [text for text in plan.warnings if text.startswith(begins)]
    return "".join(f", told: {text.partition(' keeps ')[2]}" for text in found)


def told_share(text: str) -> float:
    """Return the share that what is `told` says is kept more, less below 0; 0 where it is empty."""
    found = re.search(r"([\d.]+)% (more|less)", text)
    if found is None:
        return 0.0
    return float(found[1]) / 100.0 * (1.0 if found[2] == "more" else -1.0)


def main() -> None:
    """Print a line of each plan, and how many agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=9_800_400)
    parser.add_argument("--plans", type=int, default=200)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--gap", type=float, default=1e-3)
    asked = parser.parse_args()
    seed, count, agree, off = asked.first, Counter[str](), Counter[str](), []
    agree_told = 0
    while count.total() < asked.plans:
        plan = plan_of(seed, asked.gap)
        seed += 1
        if plan is None:
            continue
        kind = kind_of(plan.jobs[0])
        more, error = apart(plan, asked.runs)
        count[kind] += 1
        said = told(plan)
        agree_told += abs(more - told_share(said)) <= CLOSE + 3.0 * error
        line = f"{seed - 1} {kind}: {more:+.3%}, standard error {error:.3%}{said}"
        if abs(more) <= CLOSE + 3.0 * error:
            agree[kind] += 1
        else:
            off.append(line)
        print(line, flush=True)
    print("\n".join(["", "do not agree:", *off]))
    for kind in sorted(count):
        print(f"{kind}: {agree[kind]} of {count[kind]}")
    print(f"all: {agree.total()} of {count.total()}, with what is told {agree_told}")


if __name__ == "__main__":
    main()
