"""How long the workbook takes, and how much memory, by lines in the bill."""

from __future__ import annotations

import argparse
import gc
import io
import resource
import statistics
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

from planner.api import Options, solve_with
from planner.inputs import inputs_to_text
from planner.loader import load
from planner.schema.plan import Plan
from planner.workbook import write

PROBLEM = Path(__file__).resolve().parent.parent / "problems" / "10MW.yaml"


def grown(plan: Plan, lines: int) -> Plan:
    """Return the plan with its network lines repeated under other ids until there are enough."""
    network = [line for line in plan.lines if line.section in ("Network", "Optics & cables")]
    more = [
        network[number % len(network)].model_copy(update={"sku": f"more_{number}"})
        for number in range(max(0, lines - len(plan.lines)))
    ]
    return plan.model_copy(update={"lines": (*plan.lines, *more)})


def measure(lines: int, runs: int) -> None:
    """Print the median of CPU seconds of writing, and the most memory the process ever held."""
    gc.set_threshold(100_000, 50, 50)  # as the command line does
    inputs = load(PROBLEM)
    plan = grown(solve_with(inputs, Options()), lines)
    carried = inputs_to_text(inputs)
    seconds = []
    for _ in range(runs):
        stream = io.BytesIO()
        start = time.process_time()
        write(plan, stream, created=datetime(2026, 1, 1), inputs=carried)
        seconds.append(time.process_time() - start)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size_mb = len(stream.getvalue()) / 1e6
    median_s = statistics.median(seconds)
    print(f"| {len(plan.lines):,} | {median_s:.2f} s | {memory_mb:,.0f} MB | {size_mb:.1f} MB |")


def main() -> None:
    """Measure each size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, help="measure this size alone")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.lines is not None:
        measure(arguments.lines, arguments.runs)
        return
    print("| lines | CPU time | peak memory | file |\n|---|---|---|---|", flush=True)
    for lines in (0, 1_000, 10_000):
        command = [sys.executable, __file__, "--lines", str(lines), "--runs", str(arguments.runs)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
