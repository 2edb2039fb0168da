"""Time the main job next to the plain way, process by process, in turns.

    python benchmarks/solve.py [--runs 15]
    python benchmarks/solve.py --levers

Prints medians of CPU seconds over whole processes, peak memory, and the time of the optimisation
alone; or seconds of one core for 10MW with the levers open. Run it on an otherwise idle machine;
``benchmarks/README.md`` holds the last results.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBLEM = ROOT / "problems" / "10MW.yaml"
PLANNER = str(Path(sys.executable).parent / "planner")

# What the plan may decide besides the purchase: set points of five types, five ways to spread a
# replica, precisions with what was measured in each, and checkpoints on two levels.

POWER = "power={points: open}"
SPREAD = (
    "parallelism=[{tensor: 8, pipeline: 8, factor: 97 %}, {tensor: 8, pipeline: 12, factor: 98 %}, "
    "{tensor: 8, pipeline: 16, factor: 99 %}, {tensor: 4, pipeline: 16, factor: 96 %}, "
    "{tensor: 8, pipeline: 8, context: 3}]"
)
MEASURED = (
    "training={tokens: 15 T, model: llama3.1_405b, precision: [bf16, fp8, nvfp4], "
    "scale: {exponent: 0.03}}"
)
LEVEL = (
    "checkpoint.stall=derived",
    "checkpoint.stall_overhead=0.5 s",
    "checkpoint.interval={policy: optimal, min: 30 s, max: 4 h}",
    "checkpoint.local={use: open, copies: 2, "
    "recovers: {software: yes, gpu: peer, node: peer, rack: no}}",
    "failures={rate: llama3, shares: {software: 22 %, gpu: 60 %, node: 15 %, rack: 3 %}}",
    "restart={remote: 10 min, local: 2 min}",
    "restore={max_time: 5 min, fan_out: broadcast}",
    "repair={share: 78 %, time: 24 h, unit: tray, swap: 2 min}",
)
OPEN: dict[str, tuple[str, ...]] = {
    "as it is": (),
    "power and replicas open": (POWER, SPREAD),
    "and precision, measured rates": (POWER, SPREAD, MEASURED),
    "a local level of checkpoints open": LEVEL,
    "power, replicas and the local level open": (POWER, SPREAD, *LEVEL),
}


def levers() -> None:
    """Print seconds of one core for the optimisation with the levers open, and times today's."""
    from planner.case import resolve
    from planner.loader import load
    from planner.optimizer.optimise import optimise

    base = 0.0
    for name, settings in OPEN.items():
        changes = tuple(f"jobs.frontier-1t.{setting}" for setting in settings)
        case = resolve(load(PROBLEM, settings=changes))
        seconds = []
        for _ in range(3):
            started = time.process_time()
            answer = optimise(case)
            seconds.append(time.process_time() - started)
            assert answer.gap is not None and answer.gap <= 1e-4
        spent = statistics.median(seconds)
        base = base or spent
        print(f"{name:42} {len(case.ways):3} ways {spent:6.2f} s {spent / base:6.2f}x")


def timed(command: list[str], folder: str) -> tuple[float, float]:
    """Return (CPU seconds, peak MB) of a process that keeps bytecode, as installed ones have."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command, cwd=folder, env=kept, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def optimisation_seconds(runs: int) -> list[float]:
    """Return the seconds of the optimisation alone, in a warm process."""
    from planner.case import resolve
    from planner.loader import load
    from planner.optimizer.optimise import optimise

    case = resolve(load(PROBLEM))
    times = []
    for _ in range(runs):
        started = time.process_time()
        answer = optimise(case)
        times.append(time.process_time() - started)
        assert answer.gap is not None and answer.gap <= 1e-4
    return times


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--levers", action="store_true")
    asked = parser.parse_args()
    if asked.levers:
        levers()
        return
    runs = asked.runs
    commands = {
        "plain PuLP + CBC + openpyxl, linear part": [
            sys.executable, str(ROOT / "benchmarks" / "baseline.py"), str(PROBLEM), "bill.xlsx",
        ],
        "planner solve, with workbook and JSON": [PLANNER, "solve", str(PROBLEM)],
        "planner check": [PLANNER, "check", str(PROBLEM)],
        "planner --help": [PLANNER, "--help"],
    }  # fmt: skip
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for command in commands.values():
            timed(command, folder)  # warm the file cache
        for _ in range(runs):
            for name, command in commands.items():
                results[name].append(timed(command, folder))
    base = statistics.median(spent for spent, _ in results[next(iter(commands))])
    print(f"{'process (median of ' + str(runs) + ')':42} {'CPU':>8} {'ratio':>7} {'peak':>8}")
    for name, samples in results.items():
        spent = statistics.median(spent for spent, _ in samples)
        peak = max(peak for _, peak in samples)
        print(f"{name:42} {spent * 1000:5.0f} ms {spent / base:6.2f}x {peak:5.0f} MB")
    seconds = optimisation_seconds(runs)
    print(f"{'optimisation alone (warm)':42} {statistics.median(seconds) * 1000:5.0f} ms")
    print(f"cores {os.cpu_count()}, python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
