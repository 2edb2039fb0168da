"""Time the main job next to the plain way, process by process, in turns.

    python benchmarks/solve.py [--runs 15]

Prints medians of CPU seconds over whole processes, and peak memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBLEM = ROOT / "problems" / "10MW.yaml"
PLANNER = str(Path(sys.executable).parent / "planner")


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


def _hall(power: str) -> list[str]:
    """Settings of a larger hall in which power alone is scarce."""
    settings = f"site.facility_power={power}", "site.racks=100000", "budget.capex=100000 MUSD"
    return [word for setting in settings for word in ("--set", setting)]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    commands = {
        "plain PuLP + CBC + openpyxl, linear part": [
            sys.executable,
            str(ROOT / "benchmarks" / "baseline.py"),
            str(PROBLEM),
            "bill.xlsx",
        ],
        "planner solve, with workbook and JSON": [PLANNER, "solve", str(PROBLEM)],
        "planner solve, 100 MW": [PLANNER, "solve", str(PROBLEM), *_hall("100 MW")],
        "planner solve, 1 GW": [PLANNER, "solve", str(PROBLEM), *_hall("1 GW")],
        "planner check": [PLANNER, "check", str(PROBLEM)],
        "planner --help": [PLANNER, "--help"],
    }
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
    print(f"cores {os.cpu_count()}, python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
