"""How well `planner characterize` finds checkpoints and jobs in synthetic telemetry, and how fast.

    python benchmarks/telemetry.py [--cases 120] [--seed 1] [--kinds one,two] [--write FOLDER]

Cases are drawn from a seed by class (``tests/telemetry/cases.py``), so that any of them can be
made again by its name: `--only restarts-7`. With ``--write`` traces of one and two jobs are also
stored as CSV, with their truth, for ``telemetry_ftio.py``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from planner.schema.telemetry import CHECKPOINT_COLUMNS, Characterization, Measured
from planner.telemetry import ReadOptions, characterize
from tests.telemetry.cases import CLASSES, random_case
from tests.telemetry.files import table, write_csv, write_parquet
from tests.telemetry.sampling import Trace
from tests.telemetry.score import JobScore, Score, score
from tests.telemetry.truth import Case, Truth, made

NOTHING = (
    Characterization(
        traces=(), clock="unix", read_as="rate", clusters=(), jobs=(), bursts=0, checkpoints=0
    ),
    {name: np.zeros(0) for name in CHECKPOINT_COLUMNS},
)
HEAD = (
    f"{'class':12}{'cases':>6}{'pass':>6}{'jobs':>6}"
    f"{'size %':>14}{'interval %':>14}{'overlap pt':>14}"
    f"{'found %':>15}{'false %':>14}{'own %':>8}{'restarts':>13}{'MTTI':>6}{'held %':>10}{'s':>7}"
)


@dataclass(frozen=True)
class Run:
    """A case, how its result scored, how long it took, and what was missed (nothing: a pass)."""

    case: Case
    truth: Truth
    score: Score
    seconds: float
    missed: str

    @property
    def kind(self) -> str:
        return self.case.name.rsplit("-", 1)[0]


def stored(folder: Path, case: Case, trace: Trace) -> Path:
    """Write a trace in one of several forms, by the case's seed."""
    path = folder / case.name
    rate = trace.form == "rate"
    turn = case.seed % 5
    if turn == 1:
        return write_csv(path.with_suffix(".csv"), table(trace))
    if turn == 2 and rate:
        names = ("timestamp", "write_bytes_per_s", "read_bytes_per_s")
        return write_csv(path.with_suffix(".csv"), table(trace, names, "iso", 1e9))
    if turn == 4:
        return write_parquet(path.with_suffix(".parquet"), table(trace, time="timestamp"))
    return write_parquet(path.with_suffix(".parquet"), table(trace))


def run(case: Case, folder: Path) -> Run:
    trace, truth = made(case)
    path = stored(folder, case, trace)
    started = time.perf_counter()
    options = ReadOptions(stamp=case.sampling.stamp)
    try:
        found = characterize([path], options)
    except Exception as error:  # a case that cannot be done is one that fails
        return Run(case, truth, score(truth, *NOTHING), 0.0, f"{type(error).__name__}: {error}")
    lasted = time.perf_counter() - started
    path.unlink()
    result = score(truth, found.record, found.table)
    return Run(case, truth, result, lasted, "; ".join(result.misses()))


def _worst(errors: Iterable[float | None], digits: int = 1) -> str:
    """Return the median and the worst of some relative errors."""
    known = [100 * abs(error) for error in errors if error is not None]
    if not known:
        return "-"
    return f"{np.median(known):.{digits + 1}f} / {max(known):.{digits}f}"


def _both(pooled: float, worst: float) -> str:
    return f"{100 * pooled:.2f} / {100 * worst:.1f}"


def line(label: str, runs: Sequence[Run]) -> str:
    """Return a row of the table: pooled over jobs and checkpoints, with the worst case."""
    jobs = [job for r in runs for job in r.score.jobs]
    wanted = sum(r.score.checkpoints_true for r in runs)
    rows = sum(r.score.rows for r in runs)
    found = sum(r.score.found * r.score.checkpoints_true for r in runs) / max(wanted, 1)
    false = sum(r.score.false * r.score.rows for r in runs) / max(rows, 1)
    own = np.mean([r.score.assigned for r in runs])
    breaks = sum(job.true.breaks for job in jobs if job.matched)
    restarts = sum(job.true.restarts for job in jobs if job.matched)
    seen = sum(job.matched.restarts for job in jobs if job.matched)
    mtti = [
        job.matched.mtti_s.value / job.true.mtti_s
        for job in jobs
        if job.matched and job.matched.mtti_s and job.true.mtti_s
    ]
    return (
        f"{label:12}{len(runs):6}{sum(not r.missed for r in runs):6}"
        f"{sum(r.score.counted_right for r in runs):6}"
        f"{_worst(j.size_error for j in jobs):>14}{_worst(j.interval_error for j in jobs):>14}"
        f"{_worst(j.overlap_error for j in jobs):>14}"
        f"{_both(found, min(r.score.found for r in runs)) if wanted else '-':>15}"
        f"{_both(false, max(r.score.false for r in runs)) if rows else '-':>14}"
        f"{100 * own:8.1f}{f'{seen}/{restarts}({breaks})':>13}"
        f"{f'{np.median(mtti):.2f}' if mtti else '-':>6}{_held(jobs):>10}"
        f"{sum(r.seconds for r in runs):7.1f}"
    )


def _held(jobs: Sequence[JobScore]) -> str:
    """Return how many ranges of drains, and of MTTI, hold the truth."""
    pairs = [(job.true, job.matched) for job in jobs if job.matched]
    drains = [_within(found.drain_s, true.drain_s) for true, found in pairs]
    mtti = [
        _within(found.mtti_s, true.mtti_s) for true, found in pairs if found.mtti_s and true.mtti_s
    ]
    return " / ".join(f"{100 * np.mean(held):.0f}" if held else "-" for held in (drains, mtti))


def _within(found: Measured, truth: float) -> bool:
    low, high = found.low or 0.0, np.inf if found.high is None else found.high
    return bool(low <= truth <= high)


def shown(runs: Sequence[Run]) -> Iterator[str]:
    """Return the table by class, and what failed."""
    yield HEAD
    for kind in dict.fromkeys(r.kind for r in runs):
        yield line(kind, [r for r in runs if r.kind == kind])
    yield line("all", runs)
    yield ""
    yield (
        "Errors and shares: median or pooled / worst. jobs: cases with the right number of jobs,"
        "\nown: checkpoints given to the right job, restarts: found / true (true gaps with any),"
        "\nMTTI: found over true, median; held: ranges of drains / of MTTI that hold the truth."
    )
    for r in runs:
        if r.missed:
            yield f"{r.case.name:15} {r.missed}"


def write_out(folder: Path, runs: Sequence[Run]) -> None:
    """Store traces as CSV, with the truth and what planner found: one job, one with restarts,
    and two."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for r in runs:
        jobs = r.score.jobs
        if len(jobs) != {"one": 1, "restarts": 1, "two": 2}.get(r.kind):
            continue
        trace, _ = made(r.case)
        write_csv(folder / f"{r.case.name}.csv", table(trace))
        rows.append(
            {
                "name": r.case.name,
                "kind": r.kind,
                "sample_s": trace.sample_s,
                "intervals_s": [job.true.interval_s for job in jobs],
                "lives_s": [(job.true.start_s, job.true.end_s) for job in jobs],
                "planner_s": [job.matched and job.matched.interval_s.value for job in jobs],
                "planner_jobs": r.score.jobs_found,
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
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only.split(",") if options.only else names:
            kind, seed = name.rsplit("-", 1)
            runs.append(run(random_case(kind, int(seed)), Path(folder)))
    print("\n".join(shown(runs)))
    if options.write:
        write_out(options.write, runs)


if __name__ == "__main__":
    main()
