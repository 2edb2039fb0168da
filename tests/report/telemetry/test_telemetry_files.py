"""Checkpoints and jobs as files: every number comes back, dates, no formulas, same bytes."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from planner.report.exports import harmless
from planner.report.screen import show
from planner.report.table_files import checkpoints_csv, checkpoints_parquet, jobs_csv
from planner.report.views import telemetry
from planner.schema.telemetry import CHECKPOINT_COLUMNS
from tests.report.hostile import TEXTS
from tests.report.telemetry import samples

RECORD = samples.three()
TABLE = samples.checkpoints(RECORD, 40)


def read(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))


def test_every_number_comes_back() -> None:
    rows = read(checkpoints_csv(RECORD, TABLE))
    assert len(rows) == 120
    assert list(rows[0]) == [*list(CHECKPOINT_COLUMNS)[:3], "start", *list(CHECKPOINT_COLUMNS)[3:]]
    for name, unit in CHECKPOINT_COLUMNS.items():
        cells = [float(row[name]) if unit else row[name] for row in rows]
        assert cells == TABLE[name].tolist(), name
    assert rows[0]["start"] == "2024-03-01T01:00:00.000Z"
    assert rows[1]["start"] == "2024-03-01T01:11:02.000Z"


def edited(**columns: Any) -> Mapping[str, Any]:
    return {name: np.array(columns.get(name, values[:2])) for name, values in TABLE.items()}


def test_what_is_no_number_is_an_empty_cell() -> None:
    table = edited(size_gb=[math.nan, 1.5], start_s=[math.inf, 1e300], peak_gb_per_s=[1, 2])
    first, second = read(checkpoints_csv(RECORD, table))
    assert (first["size_gb"], first["start_s"], first["start"]) == ("", "", "")
    assert (second["size_gb"], second["start"], second["peak_gb_per_s"]) == ("1.5", "", "2.0")


def test_parquet_has_types_and_units() -> None:
    found = pq.read_table(io.BytesIO(checkpoints_parquet(RECORD, TABLE)))
    assert found.column_names == list(CHECKPOINT_COLUMNS)
    for name, unit in CHECKPOINT_COLUMNS.items():
        assert found[name].to_pylist() == TABLE[name].tolist()
        told = found.schema.field(name).metadata
        assert told == ({b"unit": unit.encode()} if unit else None)
    assert found.schema.metadata == {b"clock": b"unix"}


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_becomes_a_formula(name: str) -> None:
    text = TEXTS[name]
    table = edited(job=np.array([text, "b"], dtype=object))
    data = checkpoints_csv(RECORD, table)
    assert data.count(b"\n") == 3
    assert read(data)[0]["job"] == harmless(text)
    assert pq.read_table(io.BytesIO(checkpoints_parquet(RECORD, table))).num_rows == 2
    record = samples.record([samples.job(text, cluster=text, notes=("a", text))])
    (row,) = read(jobs_csv(record))
    assert row["name"] == row["cluster"] == harmless(text)
    assert not row["notes"].startswith(("=", "+", "-", "@"))


def test_jobs_have_their_ranges() -> None:
    rows = read(jobs_csv(RECORD))
    assert [row["name"] for row in rows] == ["job 1", "wide", "small"]
    first, _, small = rows
    assert float(first["size_gb"]) == 13_800.0
    assert float(first["mtti_s_low"]) == 8_300.0
    assert first["start"] == "2024-03-01T01:00:00.000Z" and first["resolved"] == "true"
    assert small["overlap_low"] == "" and float(small["overlap_high"]) == 0.067
    assert small["mtti_s"] == small["mtti_s_high"] == "" and small["resolved"] == "false"


def test_unresolved_drains_are_upper_bounds() -> None:
    text = show(telemetry.view(samples.three()), full=True)
    row = next(line for line in text.splitlines() if line.startswith("  small"))
    assert "< 20 s" in row and "< 6.7 %" in row


def test_a_long_series_keeps_its_peaks_in_few_points() -> None:
    times = np.arange(0.0, 1_000_000.0, 10.0)
    values = np.zeros(len(times))
    values[54_321] = 7.0
    values[100:103] = np.nan
    x, y = telemetry.outline(times, values, 10.0)
    assert len(x) == len(y) < 3_100
    assert 7.0 in y and x.count(None) == 1
