"""Traces as files: what columns are called, units, several clusters, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from planner.errors import InputError
from planner.telemetry import characterize, traces
from planner.telemetry.traces import Raw, ReadOptions, find_columns

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
    (raw,) = traces.read_traces(path, options)
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


@pytest.mark.parametrize(
    ("name", "gb", "is_rate"),
    [
        ("wkB/s", 1024 / 1e9, True), ("kB_wrtn/s", 1024 / 1e9, True), ("wMB/s", 2**20 / 1e9, True),
        ("MB_wrtn/s", 2**20 / 1e9, True), ("bwrtn/s", 512 / 1e9, True),
        ("write_kib_per_s", 1024 / 1e9, True),
        ("write_gb_per_s", 1.0, True), ("Write GB/s", 1.0, True), ("writeMBps", 1e-3, True),
        ("write_bytes_per_sec", 1e-9, True), ("write (MiB/s)", 2**20 / 1e9, True),
        ("write_bytes", 1e-9, False), ("bytes_written_b", 1e-9, False), ("write_TB", 1e3, False),
        ("write_gib_per_s", 2**30 / 1e9, True), ("written_kB/s", 1e-6, True),
    ],
)  # fmt: skip
def test_units_in_names(name: str, gb: float, is_rate: bool) -> None:
    unit = find_columns(["time", name], OPTIONS, "f").unit
    assert unit == (pytest.approx(gb), is_rate)


@pytest.mark.parametrize("name", ["write", "write_gbps", "write Gb/s", "write_rate", "Wr_Mbit/s"])
def test_names_that_do_not_tell_a_unit(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", {"time": TIME, name: RATE})
    with pytest.raises(InputError, match="does not say its unit; give it, for example --unit GB/s"):
        only(path)


@pytest.mark.parametrize(
    ("names", "options", "match"),
    [
        (
            ["a", "write_gb_per_s"],
            OPTIONS,
            "no column of times is recognised; columns: a, write_gb_per_s; ",
        ),
        (
            ["time", "b"],
            OPTIONS,
            "no column of writes is recognised; columns: time, b; .*--write COLUMN",
        ),
        (["time", "write_a_gb", "write_b_gb"], OPTIONS, "several columns may hold writes"),
        (["time", "write_gb"], ReadOptions(write="wrte_gb"), "no column 'wrte_gb'.*did you mean"),
        (["time", "write_gb_per_s", "read_mb_per_s"], OPTIONS, "are in different units"),
        (["time", "write_gb"], ReadOptions(cluster="hall"), "no column 'hall'"),
        (["time", "write_gb"], ReadOptions(cluster="write_gb"), "cannot be two things at once"),
        (["time", "w_gb", "w_gb"], ReadOptions(write="w_gb"), "there are 2 columns named 'w_gb'"),
    ],
)
def test_columns_that_are_not_clear(names: list[str], options: ReadOptions, match: str) -> None:
    with pytest.raises(InputError, match=match):
        find_columns(names, options, "t.csv")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", r"a\.csv:1: the file is empty"),
        ("time,write_gb_per_s\n", r"a\.csv:1: no rows"),
        ("time,write_gb_per_s\n1,2\n2,abc\n", r"a\.csv:3: 'abc' is not a number"),
        ("time,write_gb_per_s\n1,\n2,abc\n", r"a\.csv:3: 'abc' is not a number"),
        ("time,write_gb_per_s\n1,2\n2,3,4\n", r"a\.csv:3: Expected 2 fields in line 3, saw 3"),
        ("time,write_gb_per_s\n1 Jan,2\n", r"is not a time; write seconds, or for example"),
        ("time,write_gb_per_s\n2026-01-01T00:00:00Z,2\nsoon,3\n", r"a\.csv:3: 'soon' is not a ti"),
    ],
)
def test_broken_tables(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=match):
        list(traces.read_traces(path, OPTIONS))


def test_files_that_are_too_large(tmp_path: Path) -> None:
    """What stands on the disk is asked for before anything is read."""
    for name, most in (("a.csv", "8 GB"), ("a.parquet", "8 GB")):
        with (tmp_path / name).open("wb") as stream:
            stream.truncate(10**12)
        with pytest.raises(InputError, match=f"is larger than {most}, the most"):
            characterize([tmp_path / name])
    (tmp_path / "a.json").write_bytes(b'[{"time"' + b" " * 101_000_000)
    with pytest.raises(InputError, match="is larger than 100 MB"):
        characterize([tmp_path / "a.json"])


def rows(names: str, form: str, mark: str = ",", above: str = "") -> str:
    """Return a file with a row per sample; ``form`` has t, w, r in it."""
    lines = (form.format(t=t, w=w, r=w / 4) for t, w in zip(TIME, RATE * 1e9, strict=True))
    return above + names.replace(",", mark) + "\n" + "\n".join(lines) + "\n"


SADF = "hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;await"
FORMS = {
    "sadf": (SADF, "oss-01;10;{t};nvme0n1;70.00;{r};{w};0.3", "# ", 1024 / 1e9, ReadOptions()),
    "dstat": (
        '"epoch","dsk/total",\n"epoch","read","writ"',
        "{t}.000,{r},{w}",
        '"Dstat 0.7.3 CSV output"\n"Host:","oss-01",,,,"User:","root"\n'
        '"Cmdline:","dstat -Td 10",,,,"Date:","01 Jan 2026 00:00:00 UTC"\n\n',
        1e-9,
        ReadOptions(unit="B/s"),
    ),
    "Grafana": (
        "Series;Time;Value",
        "write;{t};{w}\nread;{t};{r}",
        "",
        1e-9,
        ReadOptions(unit="B/s"),
    ),
    "InfluxDB": (
        ",result,table,_time,_value,_field,_measurement,host",
        ",,0,{t},{w},write_bytes_per_s,lustre2,oss-01\n,,1,{t},{r},read_bytes_per_s,lustre2,oss-01",
        "#group,false,false,false,false,true,true,true\n#datatype,string,long,dateTime:RFC3339,"
        "double,string,string,string\n#default,_result,,,,,,\n",
        1e-9,
        ReadOptions(),
    ),
}


@pytest.mark.parametrize("tool", FORMS)
def test_exports_of_tools(tmp_path: Path, tool: str) -> None:
    """Names in a remark or below a preamble, a row per series, kB of 1,024 bytes."""
    names, form, above, gb, options = FORMS[tool]
    path = tmp_path / "hall.csv"
    path.write_text(rows(names, form, above=above))
    raw = only(path, options)
    np.testing.assert_array_equal(raw.time_s, TIME)
    np.testing.assert_allclose(raw.write, RATE * 1e9 * gb)
    assert raw.read is not None
    np.testing.assert_allclose(raw.read, RATE * 1e9 / 4 * gb)


@pytest.mark.parametrize(
    ("days", "form", "match"),
    [
        (20, "%m/%d/%Y %H:%M", None),
        (20, "%d.%m.%y %H:%M:%S", None),
        (20, "%Y-%m-%d %I:%M:%S %p", None),
        (3, "%m/%d/%Y %H:%M", "'04/01/2026 00:00' may begin with the day or the month.*%d/%m/%Y"),
    ],
)
def test_order_of_day_and_month_is_that_of_all_cells(
    tmp_path: Path, days: int, form: str, match: str | None
) -> None:
    stamps = np.datetime64("2026-04-01") + np.arange(0, days * 24, 1).astype("m8[h]")
    path = tmp_path / "a.csv"
    texts = [each.item().strftime(form) for each in stamps]
    path.write_text("time,write_gb\n" + "".join(f"{text},1\n" for text in texts))
    if match is not None:
        with pytest.raises(InputError, match=match):
            only(path)
        return
    np.testing.assert_array_equal(only(path).time_s, stamps.astype("M8[s]").astype(int))
