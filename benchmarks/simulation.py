"""Seconds to simulate a year of the 10 MW example a thousand times, as whole processes.

    python benchmarks/simulation.py [--runs 5]

Each is a `planner simulate` from its start to the record and the pictures: with exponential and
with Weibull failures.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBLEM = ROOT / "problems" / "10MW.yaml"


def planner(*arguments: str) -> tuple[float, float]:
    """Run a command; return its wall time and the CPU time of all its processes, s."""
    command = [sys.executable, "-c", "from planner.cli import main; main()", *arguments]
    started, before = time.perf_counter(), cpu_s()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started, cpu_s() - before


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        planner("solve", str(PROBLEM), "-o", name, "--quiet")
        plan = str(folder / "10MW.plan.json")
        common = (
            "simulate",
            plan,
            "--replications",
            "1000",
            "--length",
            "1 year",
            "-o",
            name,
            "-q",
        )
        kinds = {
            "a year x 1,000, 11 intervals": (),
            "Weibull, 11 intervals": ("--failures", "weibull:0.7"),
        }
        for kind, options in kinds.items():
            times = [planner(*common, *options) for _ in range(runs)]
            wall, cpu = (statistics.median(each) for each in zip(*times, strict=True))
            print(f"{kind:36}{wall:7.1f} s{cpu:7.1f} s of CPU", flush=True)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"largest process {children.ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
