"""A year of telemetry of 18 clusters, every 10 s: 57 million samples, written piece by piece.

Writing and characterising are processes of their own: memory that a process holds when it starts
another counts as that one's peak.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLUSTERS = 18
FILES = ("year.parquet", "truth.pickle", "record.json", "table.npz")
ROOT = Path(__file__).resolve().parent.parent


def write(folder: Path, seed: int, clusters: int = CLUSTERS) -> None:
    """Write one Parquet file, cluster by cluster, and the truth."""
    import pyarrow.parquet as pq

    from tests.telemetry.cases import year_case
    from tests.telemetry.files import table
    from tests.telemetry.truth import made

    writer, truths = None, {}
    for number in range(clusters):
        name = f"c{number:02}"
        trace, truths[name] = made(year_case(f"{name}-{seed}", 1000 * seed + number))
        columns = table(trace, time="timestamp", cluster=name)
        writer = writer or pq.ParquetWriter(folder / FILES[0], columns.schema, compression="zstd")
        writer.write_table(columns, row_group_size=1 << 20)
    assert writer is not None
    writer.close()
    (folder / FILES[1]).write_bytes(pickle.dumps(truths))


def characterise(folder: Path) -> None:
    """Characterise the file and store the result for scoring."""
    import numpy as np

    from planner.telemetry import characterize

    found = characterize([folder / FILES[0]])
    (folder / FILES[2]).write_text(found.record.model_dump_json())
    columns = {name: np.asarray(column) for name, column in found.table.items()}
    plain = {k: v.astype(str) if v.dtype == object else v for k, v in columns.items()}
    np.savez(folder / FILES[3], **plain)


def measured(*arguments: str) -> str:
    """Run a part of this file by itself; return what it took in time and peak memory."""
    command = [sys.executable, __file__, *arguments]
    started = time.perf_counter()
    child = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"failed: {command}")
    wall, cpu = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
    return f"{wall:.1f} s ({cpu:.1f} s of CPU), {usage.ru_maxrss / 1024:,.0f} MB"


def judge(folder: Path) -> None:
    """Print how the result scores, cluster by cluster pooled."""
    import numpy as np

    from planner.schema.telemetry import Characterization
    from tests.telemetry.score import score

    truths = pickle.loads((folder / FILES[1]).read_bytes())
    record = Characterization.model_validate_json((folder / FILES[2]).read_text())
    table = dict(np.load(folder / FILES[3]))
    scores = {name: score(truth, record, table, name) for name, truth in truths.items()}
    wanted = sum(s.checkpoints_true for s in scores.values())
    rows = sum(s.rows for s in scores.values())
    samples = sum(cluster.samples for cluster in record.clusters)
    jobs = sum(s.jobs_true for s in scores.values())
    print(
        f"{samples:,} samples; jobs {len(record.jobs)} for {jobs},"
        f" right in {sum(s.counted_right for s in scores.values())} of {len(scores)} clusters;"
        f" {rows:,} checkpoints for {wanted:,} whole ones,"
        f" found {sum(s.found * s.checkpoints_true for s in scores.values()) / wanted:.2%},"
        f" false {sum(s.false * s.rows for s in scores.values()) / max(rows, 1):.2%}"
    )
    for name, result in scores.items():
        if misses := result.misses():
            print(f"{name} {'; '.join(misses)}")


def run_big(seed: int) -> None:
    """Write, characterise and judge; print seconds and peak memory."""
    with tempfile.TemporaryDirectory() as name:
        said = measured("write", name, str(seed))
        size = (Path(name) / FILES[0]).stat().st_size / 1e6
        print(f"written in {said}: {size:,.0f} MB of Parquet", flush=True)
        print(f"importing alone {measured('import')}", flush=True)
        print(f"characterised in {measured('characterise', name)}", flush=True)
        measured("judge", name)


def main() -> None:
    part, *rest = sys.argv[1:] or ["all", "1"]
    if part == "all":
        run_big(int(rest[0]))
    elif part == "write":
        write(Path(rest[0]), int(rest[1]))
    elif part == "import":
        import planner.telemetry  # noqa: F401
    elif part == "characterise":
        characterise(Path(rest[0]))
    elif part == "judge":
        judge(Path(rest[0]))
    else:
        raise SystemExit(f"unknown part {part!r}")


if __name__ == "__main__":
    main()
