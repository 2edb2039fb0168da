"""How well `planner characterize` finds checkpoints and jobs in synthetic telemetry, and how fast.

    python benchmarks/telemetry.py [--cases 120] [--seed 1] [--kinds one,two] [--write FOLDER]

Cases are drawn from a seed by class (``tests/telemetry/truth.py``), so that any of them can be
made again by its name: `--only restarts-7`. With ``--write`` traces of one and two jobs are also
stored as CSV, with their truth, for ``telemetry_ftio.py``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from planner.schema.operation import JobFound
from planner.telemetry import characterize_cluster as cluster
from planner.telemetry.traces import Raw, ReadOptions
from tests.telemetry.truth import CLASSES, Trace, TrueJob, counted, made, matched, random_case

HEAD = (
    f"{'class':12}{'cases':>6}{'jobs right':>12}{'size %':>14}{'interval %':>14}{'overlap pt':>14}"
    f"{'found %':>10}{'false %':>10}{'restarts':>12}{'MTTI held %':>13}{'s':>7}"
)


@dataclass(frozen=True)
class Run:
    """A case: true jobs beside found ones; writes wanted, found, rows, false ones; seconds."""

    name: str
    trace: Trace
    sample_s: float
    pairs: tuple[tuple[TrueJob, JobFound | None], ...]
    jobs_found: int
    writes: tuple[int, int, int, int]
    seconds: float

    @property
    def kind(self) -> str:
        return self.name.rsplit("-", 1)[0]


def run(kind: str, seed: int) -> Run:
    case = random_case(kind, seed)
    trace, truth = made(case, seed)
    is_rate = case.form == "rate"
    scale = 1.0 if is_rate else 1e-9
    write, read = trace.write * scale, trace.read * scale
    started = time.perf_counter()
    raw = Raw(kind, "trace", trace.time_s, write, read, is_rate, True)
    found = cluster(raw, ReadOptions(stamp=case.stamp))
    seconds = time.perf_counter() - started
    pairs = tuple(zip(truth.jobs, matched(truth, found.jobs), strict=True))
    writes = counted(truth, found.table)
    return Run(f"{kind}-{seed}", trace, case.sample_s, pairs, len(found.jobs), writes, seconds)


def _worst(errors: Iterable[float]) -> str:
    """Median and worst of some relative errors, %."""
    known = [100 * abs(error) for error in errors]
    return f"{np.median(known):.2f} / {max(known):.1f}" if known else "-"


def line(label: str, runs: Sequence[Run]) -> str:
    """Row of the table: pooled over jobs and checkpoints, with the worst case."""
    both = [(true, found) for r in runs for true, found in r.pairs if found is not None]
    wanted, hit, rows, false = (sum(r.writes[place] for r in runs) for place in range(4))
    right = sum(r.jobs_found == len(r.pairs) for r in runs)
    held = [
        (found.mtti_s.low or 0.0) <= true.mtti_s <= (found.mtti_s.high or np.inf)
        for true, found in both
        if found.mtti_s is not None and true.mtti_s
    ]
    restarts = f"{sum(f.restarts for _, f in both)}/{sum(t.restarts for t, _ in both)}"
    sizes = (found.size_gb.value / true.size_gb - 1 for true, found in both)
    intervals = (found.interval_s.value / true.interval_s - 1 for true, found in both)
    overlaps = (found.overlap.value - true.drain_s / true.interval_s for true, found in both)
    return (
        f"{label:12}{len(runs):6}{right:12}{_worst(sizes):>14}{_worst(intervals):>14}"
        f"{_worst(overlaps):>14}{100 * hit / max(wanted, 1):10.2f}"
        f"{100 * false / max(rows, 1):10.2f}"
        f"{restarts:>12}{f'{100 * np.mean(held):.0f}' if held else '-':>13}"
        f"{sum(r.seconds for r in runs):7.1f}"
    )


def shown(runs: Sequence[Run]) -> Iterator[str]:
    """The table by class."""
    yield HEAD
    for kind in dict.fromkeys(r.kind for r in runs):
        yield line(kind, [r for r in runs if r.kind == kind])
    yield line("all", runs)
    yield "\nErrors: median / worst. jobs right: cases with the right number; restarts: found/true."


def write_out(folder: Path, runs: Sequence[Run]) -> None:
    """Store traces as CSV, with the truth and the found intervals: of one job, with restarts, and
    of two."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for r in runs:
        if len(r.pairs) != {"one": 1, "restarts": 1, "two": 2}.get(r.kind):
            continue
        columns = {"time_s": r.trace.time_s, "write_gb_per_s": r.trace.write}
        frame = pd.DataFrame({**columns, "read_gb_per_s": r.trace.read})
        frame.to_csv(folder / f"{r.name}.csv", index=False)
        rows.append(
            {
                "name": r.name,
                "kind": r.kind,
                "sample_s": r.sample_s,
                "intervals_s": [true.interval_s for true, _ in r.pairs],
                "lives_s": [(true.start_s, true.end_s) for true, _ in r.pairs],
                "planner_s": [found and found.interval_s.value for _, found in r.pairs],
                "planner_jobs": r.jobs_found,
            }
        )
    (folder / "truth.json").write_text(json.dumps(rows, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=120, help="over all classes")
    parser.add_argument("--seed", type=int, default=1, help="of the first case of each class")
    parser.add_argument("--kinds", default=",".join(CLASSES), help="classes, by commas")
    parser.add_argument("--only", help="cases by name, by commas")
    parser.add_argument("--write", type=Path, help="a folder for CSV of one and two jobs")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    last = options.seed + max(options.cases // len(kinds), 1)
    names = [f"{kind}-{seed}" for kind in kinds for seed in range(options.seed, last)]
    chosen = (name.rsplit("-", 1) for name in (options.only or ",".join(names)).split(","))
    runs = [run(kind, int(seed)) for kind, seed in chosen]
    print("\n".join(shown(runs)))
    if options.write:
        write_out(options.write, runs)


if __name__ == "__main__":
    main()
