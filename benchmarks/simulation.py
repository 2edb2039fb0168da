"""Seconds to simulate a year of the 10 MW example a thousand times, as whole processes.

    python benchmarks/simulation.py [--runs 5]

Each is `planner simulate` with its start, the other intervals, record and pictures: alone, without
other intervals, with failures of another kind under outages and planned stops, with a job beside.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBLEM = ROOT / "problems" / "10MW.yaml"
BESIDE = """\
jobs:
  - name: side
    parameters: 70 B
    gpus: {min: 1024}
    checkpoint: {stall: 4 s, interval: {policy: fixed, every: 10 min}}
"""


def planner(*arguments: str) -> float:
    """Run a command; return its wall time in seconds."""
    command = [sys.executable, "-c", "from planner.cli import main; main()", *arguments]
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ})
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        planner("solve", str(PROBLEM), "-o", name, "--quiet")
        (folder / "beside.yaml").write_text(BESIDE)
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
        weibull = ("--failures", "weibull:0.7", "--outages", "2 years,8 h")
        kinds = {
            "a year x 1,000, nine intervals": (),
            "a year x 1,000, its own interval": ("--no-intervals",),
            "Weibull, outages, planned stops": (*weibull, "--planned", "30 days,4 h"),
            "a job beside, every event stepped": ("--beside", str(folder / "beside.yaml")),
        }
        for kind, options in kinds.items():
            times = [planner(*common, *options) for _ in range(runs)]
            print(f"{kind:36}{statistics.median(times):7.1f} s", flush=True)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"largest process {children.ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
