"""A made-up fleet: 40 models on 18 clusters, with the size, interval and drain of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SAMPLE_S, BYTES_PER_PARAMETER = 10.0, 14.0


@dataclass(frozen=True)
class Model:
    name: str
    cluster: str
    parameters: float
    gpus: int
    size_gb: float
    interval_s: float
    drain_s: float

    @property
    def write_gb_per_s(self) -> float:
        return self.size_gb / self.drain_s


def fleet(seed: int, models: int = 40, clusters: int = 18) -> list[Model]:
    """Return models from 100 billion to 2 trillion parameters. Larger ones checkpoint more seldom
    than in proportion to their size, so that they need less bandwidth; GPUs follow bandwidth."""
    luck = np.random.default_rng(seed)
    found = []
    for number, parameters in enumerate(np.geomspace(1e11, 2e12, models)):
        size_gb = BYTES_PER_PARAMETER * parameters / 1e9
        interval_s = 900.0 * (parameters / 1e11) ** 1.3 * luck.lognormal(0.0, 0.3)
        overlap = float(np.clip(luck.lognormal(np.log(0.065), 0.35), 0.03, 0.25))
        gpus = round(size_gb / (overlap * interval_s) / 0.004 * luck.lognormal(0.0, 0.3))
        cluster = f"c{number % clusters:02}"
        drain_s = overlap * interval_s
        name = f"model-{number:02}"
        found.append(Model(name, cluster, parameters, gpus, size_gb, interval_s, drain_s))
    return found


def write_fleet(models: list[Model], folder: Path, days: float, seed: int) -> tuple[Path, Path]:
    """Write the traces of all clusters into one Parquet file, and the table of jobs as CSV."""
    luck = np.random.default_rng(seed)
    edges = np.arange(0.0, days * 86_400 + SAMPLE_S, SAMPLE_S)
    tables = []
    for cluster in dict.fromkeys(model.cluster for model in models):
        moved = np.zeros(len(edges))
        for model in models:
            if model.cluster == cluster:
                first = luck.uniform(0.0, model.interval_s)
                starts = np.arange(first, edges[-1], model.interval_s)
                moved += written(model, starts, edges)
        rate = np.diff(moved) / SAMPLE_S
        rate += 0.3 * np.abs(1.0 + 0.1 * luck.standard_normal(len(rate)))
        columns = {
            "cluster": pa.array([cluster] * len(rate)).dictionary_encode(),
            "time": 1_767_225_600 + edges[:-1],
            "write_gb_per_s": rate,
        }
        tables.append(pa.table(columns))
    traces, listed = folder / "fleet.parquet", folder / "jobs.csv"
    pq.write_table(pa.concat_tables(tables, promote_options="default").unify_dictionaries(), traces)
    rows = (f"{m.name},{m.cluster},{m.gpus},{m.parameters / 1e9:.6g} B" for m in models)
    listed.write_text("\n".join(("job,cluster,GPUs,parameters", *rows)) + "\n", "utf-8")
    return traces, listed


def written(model: Model, starts: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return what a model has written by each time, GB."""
    place = np.clip(np.searchsorted(starts, edges, "right") - 1, 0, None)
    since = np.clip((edges - starts[place]) / model.drain_s, 0.0, 1.0)
    return model.size_gb * (place + since)
