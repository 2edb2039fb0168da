"""A sweep on a Dask cluster: two worker processes, one of which is killed midway."""

from __future__ import annotations

import os
import signal
import warnings
from contextlib import closing
from pathlib import Path

import pytest

from planner import api
from planner.studies.sensitivity.asked import scenarios
from planner.studies.sensitivity.cluster import Cluster
from planner.studies.sensitivity.groups import pieces
from planner.studies.sensitivity.options import SweepOptions
from planner.studies.sensitivity.work import Work

distributed = pytest.importorskip("distributed") if not os.environ.get("CI") else None


@pytest.mark.filterwarnings("default")
def test_a_killed_worker_loses_no_row_and_changes_none(small: str) -> None:
    from distributed import LocalCluster

    inputs = api.load(Path(small))
    some = list(scenarios(inputs, vary=("site.pue=1.1:1.5:lin:80",)))
    parts = list(enumerate(pieces(some)))
    work = Work({"": inputs}, SweepOptions())
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
            silence_logs=50,
        )  # fmt: skip
        with cluster, closing(Cluster(work, cluster.scheduler_address)) as ours:
            for number, rows in ours.rows(parts):
                if not found:
                    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
                found[number] = rows
    assert sorted(found) == [number for number, _ in parts]
    for number, piece in (parts[0], parts[-1]):
        assert found[number] == work.rows(piece)
    assert {row["status"] for rows in found.values() for row in rows} == {"optimal"}
