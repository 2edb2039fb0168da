"""Checkpoints and jobs as files: every number comes back, dates, no formulas, same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from planner.commands.check import report_findings
from planner.loader import documents, load_with_findings
from planner.report.screen import show
from planner.report.views import telemetry
from planner.report.views.telemetry import (
    checkpoints_parquet,
    jobs_yaml,
    overrides_yaml,
)
from planner.schema.job import Job
from planner.schema.telemetry import CHECKPOINT_COLUMNS, Characterization
from tests.report.hostile import TEXTS
from tests.report.telemetry import samples
from tests.world.files import FILES

RECORD = samples.three()
TABLE = samples.checkpoints(RECORD, 40)


def edited(**columns: Any) -> Mapping[str, Any]:
    return {name: np.array(columns.get(name, values[:2])) for name, values in TABLE.items()}


def test_parquet_has_types_and_units() -> None:
    found = pq.read_table(io.BytesIO(checkpoints_parquet(RECORD, TABLE)))
    assert found.column_names == list(CHECKPOINT_COLUMNS)
    for name, unit in CHECKPOINT_COLUMNS.items():
        assert found[name].to_pylist() == TABLE[name].tolist()
        told = found.schema.field(name).metadata
        assert told == ({b"unit": unit.encode()} if unit else None)
    assert found.schema.metadata == {b"clock": b"unix"}


@pytest.mark.parametrize("name", TEXTS)
def test_parquet_takes_any_text(name: str) -> None:
    table = edited(job=np.array([TEXTS[name], "b"], dtype=object))
    assert pq.read_table(io.BytesIO(checkpoints_parquet(RECORD, table))).num_rows == 2


def test_unresolved_drains_are_upper_bounds() -> None:
    text = show(telemetry.view(samples.three()), full=True)
    row = next(line for line in text.splitlines() if line.startswith("  small"))
    assert "< 20 s" in row and "< 6.7 %" in row


# Jobs and overrides as text for problem files: they load, and say what was measured.


def lay_out(folder: Path, problem: str) -> Path:
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    path = folder / "problem.yaml"
    path.write_text(problem, "utf-8")
    return path


def pasted(folder: Path, record: Characterization) -> Path:
    """Put the section of the only job in the place of the problem's own."""
    before, after = re.split(r"(?ms)^jobs:.*?(?=^objective)", FILES["problem.yaml"])
    after = after.replace("maximize: goodput", "maximize: useful_gpus")
    return lay_out(folder, f"{before}{jobs_yaml(record)}{after}")


def only_job(record: Characterization) -> dict[str, Any]:
    (job,) = documents.parse(jobs_yaml(record), "jobs").data["jobs"]
    return dict(job)


@pytest.mark.parametrize("place", range(3))
def test_each_job_can_be_pasted_into_a_problem(place: int, tmp_path: Path) -> None:
    found = samples.three().jobs[place]
    path = pasted(tmp_path, samples.record([found]))
    text, faulty = report_findings(path, (), None, as_json=False)
    assert not faulty, text
    inputs, _ = load_with_findings(path)
    job = inputs.problem.job
    assert job.name == found.name
    assert job.checkpoint.size_gb == pytest.approx(found.size_gb.value, rel=1e-3)
    interval = job.checkpoint.interval
    assert interval.policy == "fixed"
    assert interval.every_s == pytest.approx(found.interval_s.value, rel=1e-3)
    assert job.checkpoint.max_overlap >= found.overlap.value


def test_what_is_known_of_failures_depends_on_the_gpus() -> None:
    with_gpus = only_job(samples.one())
    assert with_gpus["failures"] == {
        "per_gpu_day": pytest.approx(86_400 / (10_800 * 13_600), rel=2e-3)
    }
    assert "restore" not in with_gpus
    without = samples.record([samples.job(**samples.RESTARTS)])
    assert "failures" not in only_job(without)
    assert "# failures: {per_gpu_day: 86,400 / (10800 s x GPUs)}" in jobs_yaml(without)
    assert "no restart seen in 5 days" in jobs_yaml(samples.record([samples.job()]))


@pytest.mark.parametrize("name", TEXTS)
def test_no_name_is_more_than_a_name(name: str) -> None:
    text = TEXTS[name]
    job = samples.job(text, cluster=text, notes=(text, text))
    found = only_job(samples.record([job]))
    assert set(found) == {"name", "checkpoint"}
    assert len(found["name"]) <= 200
    Job.model_validate(found)
    calibration = samples.calibration()
    overrides = tuple(
        each.model_copy(update={"label": text, "source": text, "now": text})
        for each in calibration.overrides
    )
    hostile = calibration.model_copy(
        update={"job": text, "problem": text, "overrides": overrides, "not_measured": (text,)}
    )
    found = documents.parse(overrides_yaml(hostile), "overrides").data
    assert list(found) == [each.path for each in overrides]


def test_overrides_do_the_same_as_settings_and_as_a_scenario(tmp_path: Path) -> None:
    calibration = samples.calibration()
    below = "".join(f"    {line}\n" for line in overrides_yaml(calibration).splitlines())
    by_size = re.sub(r" +parameters:.*\n +bytes_per_parameter:.*\n", "", FILES["problem.yaml"])
    by_size = by_size.replace("mode: async", "size: 980 GB")
    path = lay_out(tmp_path, f"{by_size}  measured:\n{below}")
    settings = tuple(each.setting for each in calibration.overrides)
    one, _ = load_with_findings(path, scenario="measured")
    other, _ = load_with_findings(path, settings=settings)
    assert one.problem.jobs == other.problem.jobs
    assert one.problem.job.checkpoint.size_gb == 13_800.0
    assert report_findings(path, (), None, as_json=False)[1] is False
