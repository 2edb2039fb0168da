"""Traces as files: what columns are called, units, several clusters, and what cannot be read."""

from __future__ import annotations

import decimal
import gzip
import os
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from planner import foreign_files
from planner.errors import InputError
from planner.telemetry import characterize, hdf5, tables
from planner.telemetry.columns import find
from planner.telemetry.raw import Raw, ReadOptions, require

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
    unit = find(["time", name], OPTIONS, "f").unit
    assert unit == (pytest.approx(gb), is_rate)


@pytest.mark.parametrize("name", ["write", "write_gbps", "write Gb/s", "write_rate", "Wr_Mbit/s"])
def test_names_that_do_not_tell_a_unit(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", {"time": TIME, name: RATE})
    with pytest.raises(InputError, match="does not say its unit; say it, for example --unit GB/s"):
        only(path)


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
        ("time,write_gb_per_s\n1 Jan,2\n", r"is not a time; write seconds, or for example"),
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
    columns = {"time": TIME, "write_gb_per_s": ["one"] * 120}
    with pytest.raises(InputError, match="row 1: 'one' is not a number"):
        only(written(tmp_path / "a.parquet", columns))


DECIMAL = [decimal.Decimal(f"{value:.2f}") for value in RATE]


@pytest.mark.parametrize(
    ("time", "write"),
    [
        (pa.array(TIME - TIME[0], pa.duration("s")), RATE),
        (pa.array(1000 * (TIME - TIME[0]), pa.duration("ms")), RATE),
        (pa.array(TIME - TIME[0]), pa.array(DECIMAL, pa.decimal128(9, 2))),
        (pa.array(TIME - TIME[0]), pa.array(RATE, pa.float32())),
        (pa.array([str(each) for each in TIME - TIME[0]]), pa.array([f"{v} GB/s" for v in RATE])),
        (pa.array(TIME - TIME[0]), pa.array([f"{v}" for v in RATE]).dictionary_encode()),
    ],
    ids=["seconds", "milliseconds", "decimals", "single", "text", "dictionary"],
)
def test_kinds_of_columns(tmp_path: Path, time: pa.Array, write: pa.Array) -> None:
    raw = only(written(tmp_path / "a.parquet", {"time": time, "write_gb_per_s": write}))
    np.testing.assert_allclose(raw.time_s, TIME - TIME[0])
    np.testing.assert_allclose(raw.write, RATE)


def test_a_date_and_a_time_of_day(tmp_path: Path) -> None:
    stamps = pa.array(TIME, pa.timestamp("s"))
    columns = {
        "date": stamps.cast(pa.date32()), "time": stamps.cast(pa.time32("s")), "write_gb": RATE,
    }  # fmt: skip
    raw = only(written(tmp_path / "a.parquet", columns))
    np.testing.assert_array_equal(raw.time_s, TIME)


@pytest.mark.parametrize(
    ("name", "column", "match"),
    [
        ("time", pa.array([[1]] * 120), "'time' holds list<.*, not times"),
        ("time", pa.array([{"s": 1}] * 120), "'time' holds struct<.*, not times"),
        ("time", pa.array([b"\xff"] * 120), "'time' holds binary, not times"),
        ("time", pa.array([True] * 120), "'time' holds bool, not times"),
        (
            "time",
            pa.array(np.arange(120, dtype="i4")).cast(pa.time32("s")),
            "holds time32.*, not times",
        ),
        ("time", pa.array([1e300] * 120), r"row 1: '1e\+300' is no time"),
        ("time", pa.array([2**62] * 120, pa.timestamp("ms")), "out of bounds"),
        ("write_gb", pa.array([[1.0]] * 120), "'write_gb' holds list<.*, not numbers"),
        ("write_gb", pa.array([{"a": 1.0}] * 120), "'write_gb' holds struct<.*, not numbers"),
        ("write_gb", pa.array([b"1"] * 120), "'write_gb' holds binary, not numbers"),
        ("write_gb", pa.array(np.arange(120), pa.duration("s")), "holds duration.*, not numbers"),
        ("write_gb", pa.nulls(120), "'write_gb' holds null, not numbers"),
        ("cluster", pa.array([[1]] * 120), "'cluster' holds list<.*, not names"),
        ("cluster", pa.array([b"\xff"] * 120), "cannot be read: invalid utf8"),
        ("cluster", pa.array(["x" * 200] * 120), "name has 200 characters: is it the right col"),
    ],
)
def test_columns_of_other_kinds(tmp_path: Path, name: str, column: pa.Array, match: str) -> None:
    columns = {"time": TIME, "write_gb": RATE, "cluster": ["c"] * 120, name: column}
    with pytest.raises(InputError, match=match):
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


HOSTILE_HDF5 = [
    ("group", "datatargets/writerates is no table"),
    ("scalar", "0 dimensions of float64, not numbers by time and target"),
    ("cube", "3 dimensions of float64, not numbers"),
    ("words", "not numbers by time and target"),
    ("compound", "not numbers by time and target"),
    ("outside", "is a link to another file; copy the data into this one"),
    ("dangling", "cannot be read: .*not found"),
    ("circle", "neither a TOKIO|cannot be read"),
    ("external", "keeps its data in other files"),
    ("virtual", "keeps its data in other files"),
    ("terabytes", "claims 10,000,000,000 x 1,000 numbers in a file of .* kB"),
    ("chunks", "claims .* numbers in a file of"),
    ("no times", "no times for /datatargets/writerates"),
    ("fewer times", "has 120 x 4 rows for 7 times"),
    ("times of two dimensions", "has 2 dimensions, and times have one"),
    ("times beyond", "holds times beyond the year 2200"),
    ("too many times", "cluster 'fs' has more than 10,000,000 samples"),
    ("lmt", "rows for 3 times"),
]


def hostile_hdf5(path: Path, kind: str) -> None:
    """Write a file that looks like TOKIO's but for one thing."""
    other = path.with_name("other.h5")
    with h5py.File(other, "w") as file:
        file["x"] = np.ones((120, 4))
    with h5py.File(path, "w") as file:
        group = file.create_group("datatargets")
        group["timestamps"] = TIME
        name = "writerates"
        if kind in ("fewer times", "no times", "times beyond", "times of two dimensions"):
            group[name] = np.ones((120, 4))
            del group["timestamps"]
            if kind != "no times":
                times = {"fewer times": TIME[:7], "times beyond": TIME * 1e290}
                group["timestamps"] = times.get(kind, TIME[:, None])
        elif kind == "too many times":
            group.create_dataset(name, (20_000_000,), "f4", chunks=(1000,))
            del group["timestamps"]
            group.create_dataset("timestamps", (20_000_000,), "f8", chunks=(1000,))
        elif kind in ("terabytes", "chunks"):
            chunks = (1000, 1000) if kind == "terabytes" else (200_000, 1000)
            group.create_dataset(name, (10**10, 1000), "f8", chunks=chunks)
        elif kind == "external":
            group.create_dataset(name, (120,), "f8", external=[("/dev/zero", 0, 960)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout((120, 4), "f8")
            layout[:] = h5py.VirtualSource(str(other), "x", (120, 4))
            group.create_virtual_dataset(name, layout)
        elif kind == "lmt":
            file["FSStepsGroup/FSStepsDataSet"] = TIME[:3]
            file["OSTWriteGroup/OSTBulkWriteDataSet"] = np.ones((120, 4))
        else:
            group[name] = {
                "group": lambda: h5py.SoftLink("/datatargets"),
                "scalar": lambda: 5.0,
                "cube": lambda: np.ones((2, 3, 4)),
                "words": lambda: [b"one", b"two"],
                "compound": lambda: np.zeros(3, [("a", "f8"), ("b", "i4")]),
                "outside": lambda: h5py.ExternalLink(other.name, "x"),
                "dangling": lambda: h5py.SoftLink("/nowhere"),
                "circle": lambda: h5py.SoftLink("/datatargets/writerates"),
            }[kind]()


@pytest.mark.parametrize(("kind", "match"), HOSTILE_HDF5, ids=[kind for kind, _ in HOSTILE_HDF5])
def test_hdf5_that_claims_or_points_to_much(tmp_path: Path, kind: str, match: str) -> None:
    hostile_hdf5(tmp_path / "fs.hdf5", kind)
    with pytest.raises(InputError, match=match):
        list(hdf5.read(tmp_path / "fs.hdf5", OPTIONS))


def test_hdf5_in_stripes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum over targets is the same whatever is read at a time, and the unit may be said."""
    (whole,) = hdf5.read(tokio(tmp_path / "fs.hdf5", "lmt"), OPTIONS)
    monkeypatch.setattr(hdf5, "_STRIPE_BYTES", 300)
    for form in ("lmt", "rates"):
        (raw,) = hdf5.read(tokio(tmp_path / "fs.hdf5", form), OPTIONS)
        np.testing.assert_allclose(raw.write, whole.write)
    (raw,) = hdf5.read(tmp_path / "fs.hdf5", ReadOptions(unit="kB"))
    assert not raw.is_rate
    np.testing.assert_allclose(raw.write, whole.write * 1e3)


@pytest.mark.parametrize("ending", ["csv", "parquet", "h5", "json", "xlsx", "csv.gz"])
def test_names_behind_which_is_no_plain_file(tmp_path: Path, ending: str) -> None:
    """Devices and pipes would never end, or never begin."""
    path = tmp_path / f"a.{ending}"
    for make, match in (
        (path.mkdir, "is a folder, not a file; name a file in it"),
        (lambda: os.mkfifo(path), "is a pipe, not a file; put what it gives into a file first"),
        (lambda: path.symlink_to("/dev/zero"), "is a device, not a file"),
        (lambda: path.symlink_to(path.name), "cannot be read: too many levels of symbolic links"),
        (lambda: path.symlink_to("nowhere"), "no such file"),
    ):
        make()
        with pytest.raises(InputError, match=match):
            characterize([path])
        path.rmdir() if path.is_dir() else path.unlink()


def test_files_that_are_too_large(tmp_path: Path) -> None:
    """What stands on the disk is asked for before anything is read."""
    for name, most in (("a.csv", "64 GB"), ("a.parquet", "64 GB"), ("a.h5", "64 GB")):
        with (tmp_path / name).open("wb") as stream:
            stream.truncate(10**12)
        with pytest.raises(InputError, match=f"has 1 TB, and a trace may have {most} at most"):
            characterize([tmp_path / name])
    (tmp_path / "a.json").write_bytes(b'[{"time"' + b" " * 33_000_000)
    with pytest.raises(InputError, match="has 33 MB, and a trace may have 32 MB"):
        characterize([tmp_path / "a.json"])


def test_what_never_ends_is_not_read_to_its_end(tmp_path: Path) -> None:
    """Files of the system say that they are empty."""
    assert foreign_files.contents(Path("/proc/self/status"), most_bytes=10**5, what="trace")
    with pytest.raises(InputError, match="and a trace may have 9 bytes at most"):
        foreign_files.contents(Path("/proc/self/status"), most_bytes=9, what="trace")
    with pytest.raises(InputError, match="embedded null"):
        foreign_files.regular(tmp_path / "a\0b", most_bytes=9, what="plan")
