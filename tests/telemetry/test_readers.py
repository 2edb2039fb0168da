"""Traces as files: what columns are called, units, several clusters, and what cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from planner.errors import InputError
from planner.telemetry import hdf5, tables
from planner.telemetry.columns import find, unit_of
from planner.telemetry.options import ReadOptions, require
from planner.telemetry.raw import Raw

RATE = np.where(np.arange(120) % 30 < 4, 8.0, 0.5)
TIME = 1_767_225_600 + 10 * np.arange(120)
OPTIONS = ReadOptions()


def written(path: Path, columns: dict[str, object]) -> Path:
    table = pa.table(columns)
    if path.suffix == ".csv":
        pacsv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    return path


def only(path: Path, options: ReadOptions = OPTIONS) -> Raw:
    (raw,) = tables.read(path, options)
    return raw


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    "time",
    [
        TIME,
        TIME * 1000,
        TIME.astype(float),
        TIME.astype("datetime64[s]"),
        [f"{each}Z" for each in np.datetime_as_string(TIME.astype("datetime64[s]"))],
        [f"{each}+00:00" for each in np.datetime_as_string(TIME.astype("datetime64[s]"))],
    ],
    ids=["epoch", "milliseconds", "float", "timestamp", "zulu", "offset"],
)
def test_times_of_every_kind(tmp_path: Path, ending: str, time: object) -> None:
    columns = {"timestamp": time, "write_gb_per_s": RATE, "read_gb_per_s": RATE / 4}
    raw = only(written(tmp_path / f"hall.trace.{ending}", columns))
    assert raw.cluster == "hall" and raw.dated and raw.is_rate
    np.testing.assert_array_equal(raw.time_s, TIME)
    np.testing.assert_allclose(raw.write, RATE)
    np.testing.assert_allclose(raw.read, RATE / 4)


def test_times_without_a_date(tmp_path: Path) -> None:
    raw = only(written(tmp_path / "a.csv", {"t_time": TIME - TIME[0], "write_gb_per_s": RATE}))
    assert not raw.dated and raw.read is None and raw.time_s[1] == 10


@pytest.mark.parametrize(
    ("name", "per_s"),
    [("time_ms", 1000), ("t_time_us", 1e6), ("time_min", 1 / 60), ("time (h)", 1 / 3600)],
)
def test_times_in_the_unit_of_their_name(tmp_path: Path, name: str, per_s: float) -> None:
    columns = {name: (TIME - TIME[0]) * per_s, "write_gb_per_s": RATE}
    np.testing.assert_allclose(only(written(tmp_path / "a.csv", columns)).time_s, TIME - TIME[0])


def test_a_packed_table(tmp_path: Path) -> None:
    columns = {"time": TIME, "write_gb_per_s": RATE}
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(written(tmp_path / "a.csv", columns).read_bytes()))
    np.testing.assert_allclose(only(path).write, RATE)


@pytest.mark.parametrize(
    ("name", "gb", "is_rate"),
    [
        ("write_gb_per_s", 1.0, True), ("Write GB/s", 1.0, True), ("writeMBps", 1e-3, True),
        ("write_bytes_per_sec", 1e-9, True), ("write (MiB/s)", 2**20 / 1e9, True),
        ("write_bytes", 1e-9, False), ("bytes_written_b", 1e-9, False), ("write_TB", 1e3, False),
        ("write_gib_per_s", 2**30 / 1e9, True), ("written_kB/s", 1e-6, True),
    ],
)  # fmt: skip
def test_units_in_names(name: str, gb: float, is_rate: bool) -> None:
    found, rate = unit_of(name, None, "f")
    assert (found, rate) == (pytest.approx(gb), is_rate)


@pytest.mark.parametrize("name", ["write", "write_gbps", "write Gb/s", "write_rate", "Wr_Mbit/s"])
def test_names_that_do_not_tell_a_unit(name: str) -> None:
    with pytest.raises(InputError, match="does not say its unit; say it, for example --unit GB/s"):
        unit_of(name, None, "f")


def test_a_unit_that_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", {"time": TIME, "write": RATE * 1000})
    np.testing.assert_allclose(only(path, ReadOptions(unit="MB/s")).write, RATE, rtol=1e-6)
    bits = only(path, ReadOptions(unit="Gbit/s"))
    np.testing.assert_allclose(bits.write, RATE * 125, rtol=1e-6)
    with pytest.raises(InputError, match="neither a bandwidth nor a data size"):
        only(path, ReadOptions(unit="parsec"))


@pytest.mark.parametrize(
    ("names", "options", "match"),
    [
        (["a", "write_gb_per_s"], OPTIONS, "no column is named like a time"),
        (["time", "b"], OPTIONS, "no column is named like a write .*--write COLUMN"),
        (["time", "write_a_gb", "write_b_gb"], OPTIONS, "several columns are named like a write"),
        (["time", "write_gb"], ReadOptions(write="wrte_gb"), "no column 'wrte_gb'; did you mean"),
        (["time", "write_gb_per_s", "read_mb_per_s"], OPTIONS, "are in different units"),
        (["time", "write_gb"], ReadOptions(cluster="hall"), "no column 'hall'"),
        (["time", "write_gb"], ReadOptions(cluster="write_gb"), "cannot be two things at once"),
        (["time", "w_gb", "w_gb"], ReadOptions(write="w_gb"), "there are 2 columns named 'w_gb'"),
        (["time", "write_gb_per_s"], ReadOptions(unit="GB"), "is named as a bandwidth, and 'GB'"),
    ],
)
def test_columns_that_are_not_clear(names: list[str], options: ReadOptions, match: str) -> None:
    with pytest.raises(InputError, match=match):
        find(names, options, "t.csv")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("mixed", [False, True])
def test_clusters_in_a_column(tmp_path: Path, ending: str, mixed: bool) -> None:
    order = np.argsort(np.tile(np.arange(120), 2), kind="stable") if mixed else np.arange(240)
    columns = {
        "cluster": np.repeat(["east", "west"], 120)[order],
        "time": np.tile(TIME, 2)[order],
        "write_gb_per_s": np.concatenate((RATE, 2 * RATE))[order],
    }
    east, west = tables.read(written(tmp_path / f"both.{ending}", columns), OPTIONS)
    assert (east.cluster, west.cluster) == ("east", "west")
    np.testing.assert_allclose(east.write, RATE)
    np.testing.assert_allclose(west.write, 2 * RATE)
    np.testing.assert_array_equal(west.time_s, TIME)


def test_empty_cells_are_samples_without_a_figure(tmp_path: Path) -> None:
    lines = ["time,write_gb_per_s", *(f"{t},{'' if n == 3 else 'NaN' if n == 4 else 1}"
             for n, t in enumerate(TIME))]  # fmt: skip
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    assert np.flatnonzero(np.isnan(only(path).write)).tolist() == [3, 4]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", r"a\.csv:1: the file is empty"),
        ("time,write_gb_per_s\n", r"a\.csv:1: no rows"),
        ("time,write_gb_per_s\n1,2\n2,abc\n", r"a\.csv:3: 'abc' is not a number"),
        ("time,write_gb_per_s\n1,2\n2,3,4\n", r"a\.csv:3: Expected 2 columns, got 3"),
        ("time;write_gb_per_s\n1;2\n", r"a\.csv:1: columns are separated by ';'"),
        ("time,write_gb_per_s\n01/01/2026,2\n", r"is not a time; write seconds, or for example"),
        ("time,write_gb_per_s\n2026-01-01T00:00:00Z,2\nsoon,3\n", r"a\.csv:3: 'soon' is not a ti"),
    ],
)
def test_broken_tables(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=match):
        list(tables.read(path, OPTIONS))


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_files_of_another_kind(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xff\xfe\x00rubbish")
    with pytest.raises(InputError, match="cannot be read"):
        list(tables.read(path, OPTIONS))
    with pytest.raises(InputError, match="no such file"):
        list(tables.read(tmp_path / f"no{name}", OPTIONS))


def test_a_table_without_rows(tmp_path: Path) -> None:
    columns = {"time": np.zeros(0), "write_gb_per_s": np.zeros(0)}
    with pytest.raises(InputError, match=r"a\.parquet: no rows"):
        only(written(tmp_path / "a.parquet", columns))


def test_words_where_numbers_should_be(tmp_path: Path) -> None:
    columns = {"time": TIME, "write_gb_per_s": ["1"] * 120}
    with pytest.raises(InputError, match="holds string, not numbers"):
        only(written(tmp_path / "a.parquet", columns))


@pytest.mark.parametrize("value", [0.0, -1.0, 1e3, float("nan")])
def test_bytes_per_parameter_that_make_no_sense(value: float) -> None:
    with pytest.raises(InputError, match="must lie between 0 and 100"):
        require(ReadOptions(bytes_per_parameter=value))


def tokio(path: Path, form: str) -> Path:
    """Write a trace as TOKIO (rates or bytes of each step) or LMT keep it, on four targets."""
    share = np.array([0.1, 0.2, 0.3, 0.4])
    scale = 1e10 if form == "bytes" else 1e9
    write, read = (each[:, None] * share * scale for each in (RATE, RATE / 4))
    with h5py.File(path, "w") as file:
        if form == "lmt":
            file["FSStepsGroup/FSStepsDataSet"] = np.append(TIME, TIME[-1] + 10)
            file["OSTWriteGroup/OSTBulkWriteDataSet"] = write.T
            file["OSTReadGroup/OSTBulkReadDataSet"] = read.T
            lost = np.zeros((4, 120), dtype=int)
            lost[:, 7] = 1
            file["FSMissingGroup/FSMissingDataSet"] = lost
        else:
            write[7] = -0.0  # how TOKIO says that a sample is missing
            file["datatargets/timestamps"] = TIME
            file[f"datatargets/write{form}"] = write
            file[f"datatargets/read{form}"] = read
    return path


@pytest.mark.parametrize("form", ["rates", "bytes", "lmt"])
def test_hdf5(tmp_path: Path, form: str) -> None:
    (raw,) = hdf5.read(tokio(tmp_path / "fs.hdf5", form), OPTIONS)
    assert raw.cluster == "fs" and raw.dated and raw.is_rate == (form != "bytes")
    expected = np.where(np.arange(120) == 7, np.nan, RATE * (10 if form == "bytes" else 1))
    np.testing.assert_allclose(raw.write, expected)
    np.testing.assert_array_equal(raw.time_s, TIME)
    assert raw.read is not None and raw.read[8] == pytest.approx(expected[8] / 4)


def test_hdf5_of_another_layout(tmp_path: Path) -> None:
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["some/data"] = np.arange(3)
    with pytest.raises(InputError, match="neither a TOKIO time series nor"):
        list(hdf5.read(path, OPTIONS))
    path.write_bytes(b"no")
    with pytest.raises(InputError, match="cannot be read"):
        list(hdf5.read(path, OPTIONS))
    with pytest.raises(InputError, match="no such file"):
        list(hdf5.read(tmp_path / "none.h5", OPTIONS))
