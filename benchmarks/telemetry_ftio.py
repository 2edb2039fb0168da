"""What FTIO makes of the same traces: the dominant period, beside planner's intervals.

    python benchmarks/telemetry.py --cases 120 --kinds one,restarts,two --write FOLDER
    VENV/bin/python benchmarks/telemetry_ftio.py FOLDER [--quick]

FTIO (https://github.com/tuda-parallel/FTIO, ``pip install ftio-hpc`` into a venv of its own) gives
one period for a trace. ``life`` tells it when the jobs ran, which planner is not told. Of two jobs
the nearer interval counts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ftio.cli.ftio_core import core
from ftio.parse.args import parse_args

SETTINGS: dict[str, list[str]] = {
    "as it comes": [],
    "peaks": ["-o", "peak"],
    "autocorrelation": ["-au"],
}
NEAR = 0.02


@dataclass(frozen=True)
class Answer:
    """The error of the period (None: none was given), FTIO's confidence, and seconds."""

    error: float | None
    confidence: float
    seconds: float


def asked(case: dict[str, Any], rows: Any, setting: list[str], life: bool) -> Answer:
    """Ask FTIO for the dominant period of a trace, or of the time in which its jobs ran."""
    times, rates = rows["time_s"], rows["write_gb_per_s"] * 1e9
    if life:
        first = max(start for start, _ in case["lives_s"])
        last = min(end for _, end in case["lives_s"])
        if last - first > 10 * max(case["intervals_s"]):  # two jobs may never have met
            inside = (times >= first) & (times <= last)
            times, rates = times[inside], rates[inside]
    data = {
        "time": times - times[0],
        "bandwidth": rates,
        "total_bytes": int(rates.sum() * case["sample_s"]),
        "ranks": 1,
    }
    started = time.perf_counter()
    options = parse_args(["-e", "no", "-f", str(1 / case["sample_s"]), *setting], "ftio")
    prediction, _ = core(data, options)
    lasted = time.perf_counter() - started
    known = [
        (float(sure), float(frequency))
        for frequency, sure in zip(prediction.dominant_freq, prediction.conf, strict=False)
        if frequency > 0
    ]
    if not known:
        return Answer(None, 0.0, lasted)
    sure, frequency = max(known)
    return Answer(nearest(1 / frequency, case["intervals_s"]), sure, lasted)


def nearest(period_s: float, intervals_s: list[float]) -> float:
    return min(abs(period_s / interval - 1) for interval in intervals_s)


def line(kind: str, label: str, answers: list[Answer]) -> str:
    errors = [a.error for a in answers if a.error is not None]
    near = sum(error <= NEAR for error in errors)
    middle = f"{100 * np.median(errors):.2f}" if errors else "-"
    sure = [a.confidence for a in answers if a.confidence]
    tail = f"{np.median(sure):11.2f}{sum(a.seconds for a in answers):8.1f}" if sure else ""
    return f"{kind:10}{label:26}{len(answers):6}{len(errors):7}{near:8}{middle:>11}{tail}"


def shown(folder: Path, settings: dict[str, list[str]], most: int) -> Iterator[str]:
    cases = json.loads((folder / "truth.json").read_text())
    yield (
        f"{'class':10}{'':26}{'cases':>6}{'given':>7}{'in 2 %':>8}{'median %':>11}"
        f"{'confidence':>11}{'s':>8}"
    )
    for kind in dict.fromkeys(case["kind"] for case in cases):
        mine = [case for case in cases if case["kind"] == kind][:most]
        found = [
            [nearest(p, [i]) for p, i in zip(c["planner_s"], c["intervals_s"], strict=True) if p]
            for c in mine
        ]
        every = [
            Answer(max(e) if len(e) == len(c["intervals_s"]) else None, 0, 0)
            for c, e in zip(mine, found, strict=True)
        ]
        yield line(kind, "planner, every job", every)
        answers: dict[str, list[Answer]] = {}
        for case in mine:
            rows = np.genfromtxt(folder / f"{case['name']}.csv", delimiter=",", names=True)
            for label, setting in settings.items():
                for life in (False, True):
                    key = f"FTIO {label}{', life' if life else ''}"
                    answers.setdefault(key, []).append(asked(case, rows, setting, life))
        for label, given in answers.items():
            yield line(kind, label, given)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--quick", action="store_true", help="without autocorrelation, which is slow"
    )
    parser.add_argument("--most", type=int, default=1000, help="cases of each class")
    options = parser.parse_args()
    settings = {k: v for k, v in SETTINGS.items() if not (options.quick and v == ["-au"])}
    for row in shown(options.folder, settings, options.most):
        print(row, flush=True)


if __name__ == "__main__":
    main()
