"""A sweep on a Dask cluster: two worker processes, one of which is killed midway."""

from __future__ import annotations

import os
import signal
import socket
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from planner import api
from planner.errors import InputError
from planner.studies import workforce as cluster_module
from planner.studies.request import SweepOptions
from planner.studies.sensitivity.scenarios import scenarios
from planner.studies.sensitivity.solve import pieces
from planner.studies.sensitivity.workers import Work, Workers

distributed = pytest.importorskip("distributed") if not os.environ.get("CI") else None


def on(work: Work, address: str) -> Work:
    """Return work for the workers of a scheduler."""
    return Work(work.bases, replace(work.options, dask=address))


@pytest.mark.exhaustive(keep=0)
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
        with cluster, Workers(on(work, cluster.scheduler_address), kept=True) as ours:
            for number, rows in ours.rows(parts):
                if not found:
                    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
                found[number] = rows
    assert sorted(found) == [number for number, _ in parts]
    for number, piece in (parts[0], parts[-1]):
        assert found[number] == work.rows(piece)
    assert {row["status"] for rows in found.values() for row in rows} == {"optimal"}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("gone", "said"),
    [("scheduler", "the Dask scheduler has gone"), ("workers", "the Dask scheduler has no worker")],
)
def test_a_cluster_that_goes_is_told_in_a_line(
    gone: str, said: str, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster

    for seconds in ("SECONDS_TO_CONNECT", "SECONDS_WITHOUT_WORKERS"):
        monkeypatch.setattr(cluster_module, seconds, 1.0)
    inputs = api.load(Path(small))
    some = list(scenarios(inputs, vary=("site.pue=1.1:1.5:lin:640",)))
    work = Work({"": inputs}, SweepOptions())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None,
            silence_logs=50, protocol="tcp",
        )  # fmt: skip
        with cluster, Workers(on(work, cluster.scheduler_address), kept=True) as ours:
            rows = ours.rows(enumerate(pieces(some)))
            next(rows)
            begun = time.monotonic()
            if gone == "workers":
                cluster.scale(0)
            else:
                cluster.close()
            with pytest.raises(InputError, match=said) as caught:
                list(rows)
    assert str(caught.value).count("\n") == 0 and "what is done is kept" in str(caught.value)
    assert time.monotonic() - begun < 600  # a guard against hanging: machines may be busy


def test_who_answers_and_says_nothing_is_not_waited_for(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "SECONDS_TO_CONNECT", 0.5)
    work = Work({"": api.load(Path(small))}, SweepOptions())
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(InputError, match="no Dask scheduler answers"):
            Workers(on(work, f"tcp://127.0.0.1:{silent.getsockname()[1]}"))
