"""Portfolios by size: time and gap of random problems with the shipped catalogs.

    python benchmarks/portfolio.py                       all rows of the table in docs/portfolio.md
    python benchmarks/portfolio.py --sites 3 --goal tco --seeds 2 --no-fabrics --limit 60

Each problem has 5 GPU systems and 10 storage items on offer, prices that fall, power that grows, a
budget in total; half of the jobs may run at some sites only. With ``--goal tco`` each job has
tokens to train by a deadline. Seconds are CPU seconds of loading, solving and checking.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from planner.portfolio.inputs import load
from planner.portfolio.plan import solve

GPUS = [
    "nvidia_dgx_h100",
    "nvidia_dgx_h200",
    "nvidia_dgx_b200",
    "nvidia_dgx_b300",
    "nvidia_gb200_nvl72",
]
FAMILIES = ["ddn_exascaler", "ddn_exascaler_hybrid_io", "weka_nitro", "weka_prime", "netapp_ontap"]
CATALOGS = ["gpu_systems", "storage_ddn", "storage_weka", "storage_netapp", "network", "facility"]
NETWORK = {
    "compute": {"switches": ["nvidia_qm9700", "nvidia_q3400"]},
    "storage": {"switch": "nvidia_sn5600", "carries_in_band": True},
    "out_of_band": {"switch": "nvidia_sn2201"},
}
SIZES_B = (8, 34, 70, 120, 180, 405)
TOKENS_OF_PFLOPS = 0.25 * 8760 * 3600 * 1e15 / 6e9
"""Tokens of a model of 1 B parameters per useful PFLOP/s and quarter."""


def problem(
    seed: int, *, sites: int, jobs: int, periods: int, goal: str, fabrics: bool
) -> dict[str, Any]:
    """Return a random portfolio as its file says it."""
    r = random.Random(seed)
    names = [f"site{n}" for n in range(1, sites + 1)]
    each_mw = [r.uniform(1.0, 3.0) for _ in names]
    grows = r.randrange(sites)
    places = {
        name: {
            "facility_power": f"{mw:.2f} MW",
            "pue": round(r.uniform(1.12, 1.4), 2),
            "racks": round(60 * mw),
            "rack": {"height": "48 RU", "power": "45 kW", "whole_rack_power": "150 kW"},
            "electricity": f"{r.uniform(0.04, 0.12):.3f} USD/kWh",
            "facility_power_from": {"5": f"{2 * mw:.2f} MW"} if n == grows else {},
        }
        for n, (name, mw) in enumerate(zip(names, each_mw, strict=True))
    }
    asked = []
    for n in range(jobs):
        size = r.choice(SIZES_B)
        pflops = r.uniform(0.25, 0.5) * 350 * min(each_mw)
        job = {
            "name": f"job{n + 1}",
            "parameters": f"{size} B",
            "parallelism": {"tensor": 8, "pipeline": max(1, size // 50)},
            "checkpoint": {"interval": {"policy": "optimal", "min": "1 min", "max": "2 h"}},
            "restore": {"max_time": "10 min"},
            "failures": "llama3",
            "training": {"mfu": 0.4},
            "dataset": f"{r.uniform(5, 60):.0f} TB",
            "weight": round(r.uniform(0.5, 2.0), 1),
        }
        if n % 2:
            job["sites"] = r.sample(names, min(2, sites))
        if goal == "tco":
            by = r.choice((periods, periods, periods * 3 // 4))
            count = pflops * by * TOKENS_OF_PFLOPS / size
            job["tokens"] = {"count": count, "by": by}
        else:
            job["min_useful_pflops"] = 40
        asked.append(job)
    budget = {"capex": f"{28 * sum(each_mw):.0f} MUSD"}
    return {
        "name": f"{sites} sites, {jobs} jobs, {periods} quarters, {goal}, seed {seed}",
        "sites": places,
        "periods": {"start": "2027-01-01", "months": 3, "count": periods},
        "term": {"electricity": "0.08 USD/kWh", "discount_rate": 0.08},
        "market": {"gpu_system": {"price_trend": -0.15}, "storage": {"price_trend": -0.1}},
        "catalogs": CATALOGS,
        "consider": {"gpu_systems": GPUS, "storage_families": FAMILIES},
        "network": NETWORK if fabrics else {},
        "storage": {"delivered_fraction": {"read": 0.8, "write": 0.8}},
        "jobs": asked,
        **(
            {"objective": {"minimize": "tco"}}
            if goal == "tco"
            else {"objective": {"maximize": "goodput", "indifference": 0}, "budget": budget}
        ),
    }


def measured(data: dict[str, Any], gap: float, limit_s: float | None) -> str:
    """Solve a problem; return its row."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.yaml"
        path.write_text(json.dumps(data), "utf-8")
        begun = time.process_time()
        instance = load(path)
        loaded = time.process_time() - begun
        plan = solve(instance, gap=gap, time_limit_s=limit_s)
    seconds = time.process_time() - begun
    gap_text = "no plan" if plan.gap is None else f"{100 * plan.gap:.2f} %"
    return (
        f"{data['name']:48}  {seconds:6.1f} s (load {loaded:.1f})  {gap_text:>8}  "
        f"best {plan.best or 0:,.4g}  bound {plan.bound or 0:,.4g}  {plan.solver}"
    )


def main() -> None:
    """Print a row for each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, choices=(3, 10))
    parser.add_argument("--goal", choices=("work", "tco"))
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--fabrics", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--gap", type=float, default=0.005)
    parser.add_argument("--limit", type=float, help="s of each problem by the clock")
    given = parser.parse_args()
    for sites, jobs in ((3, 4), (10, 8)):
        for goal in ("work", "tco"):
            if given.sites in (None, sites) and given.goal in (None, goal):
                for seed in given.seeds:
                    limit = given.limit or (600.0 if sites == 10 else None)
                    data = problem(
                        seed, sites=sites, jobs=jobs, periods=8, goal=goal, fabrics=given.fabrics
                    )
                    print(measured(data, given.gap, limit), flush=True)


if __name__ == "__main__":
    main()
