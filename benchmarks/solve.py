"""Time the main job next to the plain way, process by process, in turns.

    python benchmarks/solve.py [--runs 15]

Prints medians of wall time over whole processes, peak memory, and the time of the optimisation
alone. Run it on an otherwise idle machine; ``benchmarks/README.md`` holds the last results.
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


def timed(command: list[str], folder: str) -> tuple[float, float]:
    """Return (wall seconds, peak MB) of one process."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def optimisation_seconds(runs: int) -> list[float]:
    """Return the seconds of the optimisation alone, in a warm process."""
    from planner.case import resolve
    from planner.loader import load
    from planner.optimizer.joint import optimise

    case = resolve(load(PROBLEM))
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        answer = optimise(case)
        times.append(time.perf_counter() - started)
        assert answer.gap is not None and answer.gap <= 1e-4
    return times


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    commands = {
        "plain PuLP + CBC, linear part only": [
            sys.executable, str(ROOT / "benchmarks" / "baseline.py"), str(PROBLEM),
        ],
        "planner solve, with workbook and JSON": [PLANNER, "solve", str(PROBLEM)],
        "planner --help": [PLANNER, "--help"],
    }  # fmt: skip
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for command in commands.values():
            timed(command, folder)  # warm the file cache
        for _ in range(runs):
            for name, command in commands.items():
                results[name].append(timed(command, folder))
    base = statistics.median(wall for wall, _ in results[next(iter(commands))])
    print(f"{'process (median of ' + str(runs) + ')':42} {'wall':>8} {'ratio':>7} {'peak':>8}")
    for name, samples in results.items():
        wall = statistics.median(wall for wall, _ in samples)
        peak = max(peak for _, peak in samples)
        print(f"{name:42} {wall * 1000:5.0f} ms {wall / base:6.2f}x {peak:5.0f} MB")
    seconds = optimisation_seconds(runs)
    print(f"{'optimisation alone (warm)':42} {statistics.median(seconds) * 1000:5.0f} ms")
    print(f"cores {os.cpu_count()}, python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
