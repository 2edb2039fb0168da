"""One trace in the ways in which people and tools write traces: read alike, or refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from planner.errors import InputError
from planner.telemetry import characterize, traces
from planner.telemetry.signal import series
from planner.telemetry.traces import Raw, ReadOptions, find_columns

SAMPLES = 40
TIME = 1_770_000_000 + 10 * np.arange(SAMPLES)
WRITE = np.where(np.arange(SAMPLES) % 10 < 3, 1234.5, 0.25)
READ = np.where(np.arange(SAMPLES) % 7 < 2, 12.5, 0.0)
HOSTS = np.array([0.5, 0.25, 0.125, 0.125])
NAMED = ["time", "write_gb_per_s", "read_gb_per_s"]
PLAIN = [TIME, WRITE, READ]
OPTIONS, SUMMED = ReadOptions(), ReadOptions(sum=True)


def at(form: str) -> list[str]:
    return [datetime.fromtimestamp(int(each), UTC).strftime(form) for each in TIME]


def text(names: Sequence[str], columns: Sequence[Sequence[object]], mark: str = ",") -> str:
    stream = io.StringIO()
    rows = csv.writer(stream, delimiter=mark)
    rows.writerow(names)
    rows.writerows(zip(*columns, strict=True))
    return stream.getvalue()


def comma(values: np.ndarray) -> list[str]:
    return [str(value).replace(".", ",") for value in values]


def of_hosts(names: Sequence[str] = ("time", "host", *NAMED[1:])) -> str:
    """Return rows of four hosts, time by time."""
    hosts = [f"node{n}" for n in range(4)] * SAMPLES
    flows = (np.outer(column, HOSTS).ravel() for column in (WRITE, READ))
    return text(names, [np.repeat(TIME, 4), hosts, *flows])


def wide() -> str:
    """Return a column for each host."""
    names = [f"{way}_ost{n}_gb_per_s" for way in ("write", "read") for n in range(4)]
    return text(["time", *names], [TIME, *np.outer(HOSTS, WRITE), *np.outer(HOSTS, READ)])


def book() -> bytes:
    made, stream = openpyxl.Workbook(), io.BytesIO()
    assert made.active is not None
    days = [datetime.fromtimestamp(int(each), UTC).replace(tzinfo=None) for each in TIME]
    for row in (NAMED, *zip(days, WRITE.tolist(), READ.tolist(), strict=True)):
        made.active.append(list(row))
    made.save(stream)
    return stream.getvalue()


def json_lines() -> str:
    rows = zip(*(column.tolist() for column in PLAIN), strict=True)
    return "\n".join(json.dumps(dict(zip(NAMED, row, strict=True))) for row in rows) + "\n"


def exported(names: str, form: str, above: str = "") -> str:
    """Return what a tool exports: a row per sample, with t, w, r in its form, in bytes."""
    columns = zip(TIME, WRITE * 1e9, READ * 1e9, strict=True)
    return above + names + "\n" + "".join(form.format(t=t, w=w, r=r) + "\n" for t, w, r in columns)


def query(inner: str) -> str:
    return f'rate(node_disk_{inner}_bytes_total{{job="b"}}[1m])'


COMMAS = ReadOptions(decimal=",")
OF_TOOLS = {
    "sadf": (exported("hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;await",
                      "oss-01;10;{t};nvme0n1;70.00;{r};{w};0.3", "# "), OPTIONS),
    "dstat": (exported('"epoch","dsk/total",\n"epoch","read","writ"', "{t}.000,{r},{w}",
                       '"Dstat 0.7.3 CSV output"\n"Host:","oss-01",,,,"User:","root"\n'
                       '"Cmdline:","dstat -Td 10",,,,"Date:","01 Jan 2026 00:00:00 UTC"\n\n'),
              ReadOptions(unit="B/s")),
    "Grafana": (exported("Series;Time;Value", "write;{t};{w}\nread;{t};{r}"),
                ReadOptions(unit="B/s")),
    "InfluxDB": (exported(",result,table,_time,_value,_field,_measurement,host",
                          ",,0,{t},{w},write_bytes_per_s,lustre2,oss-01\n"
                          ",,1,{t},{r},read_bytes_per_s,lustre2,oss-01",
                          "#group,false,false,false,false,true,true,true\n#datatype,string,long,"
                          "dateTime:RFC3339,double,string,string,string\n#default,_result,,,,,,\n"),
                 OPTIONS),
}  # fmt: skip
RIGHT: dict[str, tuple[str, str | bytes, ReadOptions]] = {
    "decimal commas": ("csv", text(NAMED, [TIME, comma(WRITE), comma(READ)], ";"), COMMAS),
    "thousands": ("csv", text(NAMED, [TIME, [f"{w:,.2f}" for w in WRITE], READ]),
                  ReadOptions(decimal=".")),
    "date and time": ("csv", text(["Date", "Time", *NAMED[1:]],
                                  [at("%Y-%m-%d"), at("%H:%M:%S"), WRITE, READ]),
                      ReadOptions(time="Date+Time")),
    "a form that is said": ("csv", text(NAMED, [at("%d/%m/%Y %H:%M:%S"), WRITE, READ]),
                            ReadOptions(time_format="%d/%m/%Y %H:%M:%S")),
    "a rate of a counter": ("csv", text(["Time", query("written"), query("read")],
                                        [TIME, WRITE * 1e9, READ * 1e9]), OPTIONS),
    "remarks above": ("csv", "# by a script\n\n" + text(NAMED, PLAIN), OPTIONS),
    "Excel's line of separators": ("csv", "sep=;\n" + text(NAMED, PLAIN, ";"), OPTIONS),
    "a mark of UTF-8": ("csv", b"\xef\xbb\xbf" + text(NAMED, PLAIN).encode(), OPTIONS),
    "UTF-16": ("txt", text(NAMED, PLAIN, "\t").encode("utf-16"), OPTIONS),
    "gzip": ("csv.gz", gzip.compress(text(NAMED, PLAIN).encode()), OPTIONS),
    "hosts added up": ("csv", of_hosts(), SUMMED),
    "columns added up": ("csv", wide(), SUMMED),
    "a workbook": ("xlsx", book(), OPTIONS),
    "JSON lines": ("jsonl", json_lines(), OPTIONS),
    **{name: ("csv", made, options) for name, (made, options) in OF_TOOLS.items()},
}  # fmt: skip
REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    "no names": ("csv", text([str(column[0]) for column in PLAIN], PLAIN),
                 ":1: the first line holds a sample.*; put a line such as"),
    "commas not quoted": ("csv", text(NAMED, PLAIN).replace("0.25", "0,25"),
                          ":5: Expected 3 fields in line 5, saw 4.*quote figures with decimal"),
    "units in cells": ("csv", text(NAMED, [TIME, [f"{w} GB/s" for w in WRITE], READ]),
                       ":2: '1234.5 GB/s' is not a number; write plain numbers, with the unit in"),
    "times of day alone": ("csv", text(NAMED, [at("%H:%M:%S"), WRITE, READ]),
                           "time of day without a date; .*--time DATE.TIME"),
    "a picture": ("csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)),
                  "is not text in UTF-8; save the trace as CSV"),
    "a zip archive": ("csv", b"PK\x03\x04" + b"\0" * 99, "no .xlsx workbook"),
    "JSON of lists": ("json", '[{"time": 1, "write_gb": [1, 2]}]', "lists or objects inside a row"),
    "hosts by time": ("csv", of_hosts(), "rows of 4 hosts: column 'host' has 'node0', 'node1'; "
                      ".*--cluster 'host'; .*--sum"),
    "no unit": ("csv", text(["time", "write_gbps"], [TIME, WRITE]),
                "does not say its unit; give it, for example --unit GB/s"),
    "nothing": ("csv", "", ":1: the file is empty"),
    "no rows": ("csv", "time,write_gb_per_s\n", ":1: no rows"),
    "a word": ("csv", "time,write_gb_per_s\n1,\n2,abc\n", ":3: 'abc' is not a number"),
    "no time": ("csv", "time,write_gb_per_s\n1 Jan,2\n", "is not a time; write seconds, or for"),
    "a word among times": ("csv", "time,write_gb_per_s\n2026-01-01T00:00:00Z,2\nsoon,3\n",
                           ":3: 'soon' is not a ti"),
    "day or month": ("csv", text(["time", "write_gb"], [["04/01/2026 00:00"] * 3, [1, 1, 1]]),
                     "'04/01/2026 00:00' may begin with the day or the month.*%d/%m/%Y"),
}  # fmt: skip


def only(folder: Path, ending: str, content: str | bytes, options: ReadOptions = OPTIONS) -> Raw:
    path = folder / f"hall.{ending}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (raw,) = traces.read_traces(path, options)
    return raw


def agrees(raw: Raw, scale: float = 1.0) -> None:
    assert raw.cluster == "hall" and raw.dated and raw.is_rate
    np.testing.assert_array_equal(raw.time_s, TIME)
    np.testing.assert_allclose(raw.write, scale * WRITE, rtol=1e-6)
    assert raw.read is not None
    np.testing.assert_allclose(raw.read, scale * READ, rtol=1e-6)


@pytest.mark.parametrize("name", RIGHT)
def test_files_of_people_and_tools_are_read_alike(tmp_path: Path, name: str) -> None:
    """Of sadf in kB of 1,024 bytes."""
    agrees(only(tmp_path, *RIGHT[name]), 1024.0 if name == "sadf" else 1.0)


@pytest.mark.parametrize("name", REFUSED)
def test_other_files_are_refused_in_a_line_with_the_fix(tmp_path: Path, name: str) -> None:
    ending, content, match = REFUSED[name]
    with pytest.raises(InputError, match=match) as refused:
        only(tmp_path, ending, content)
    assert len(str(refused.value).splitlines()) == 1


def test_rows_in_no_order_have_the_sampling_of_sorted_ones(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(SAMPLES)
    found = series(only(tmp_path, "csv", text(NAMED, [each[order] for each in PLAIN])), OPTIONS)
    assert found.sample_s == 10.0
    np.testing.assert_allclose(found.write, WRITE)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["epoch", "milliseconds", "timestamp", "zulu", "offset"])
def test_times_of_every_kind(tmp_path: Path, ending: str, kind: str) -> None:
    moments = TIME.astype("datetime64[s]")
    texts = np.datetime_as_string(moments)
    time = {"epoch": TIME, "milliseconds": TIME * 1000, "timestamp": moments,
            "zulu": [f"{each}Z" for each in texts],
            "offset": [f"{each}+00:00" for each in texts]}[kind]  # fmt: skip
    path = tmp_path / f"hall.{ending}"
    table = pa.table({"timestamp": time, "write_gb_per_s": WRITE, "read_gb_per_s": READ})
    pacsv.write_csv(table, path) if ending == "csv" else pq.write_table(table, path)
    agrees(next(traces.read_traces(path, OPTIONS)))


@pytest.mark.parametrize("form", ["%m/%d/%Y %H:%M", "%d.%m.%y %H:%M:%S", "%Y-%m-%d %I:%M:%S %p"])
def test_order_of_day_and_month_is_that_of_all_cells(tmp_path: Path, form: str) -> None:
    stamps = np.datetime64("2026-04-01") + np.arange(0, 20 * 24, 1).astype("m8[h]")
    texts = [each.item().strftime(form) for each in stamps]
    raw = only(tmp_path, "csv", text(["time", "write_gb"], [texts, [1] * len(texts)]))
    np.testing.assert_array_equal(raw.time_s, stamps.astype("M8[s]").astype(int))


@pytest.mark.parametrize(
    ("name", "gb", "is_rate"),
    [
        ("wkB/s", 1024 / 1e9, True), ("kB_wrtn/s", 1024 / 1e9, True), ("wMB/s", 2**20 / 1e9, True),
        ("bwrtn/s", 512 / 1e9, True), ("write_kib_per_s", 1024 / 1e9, True),
        ("Write GB/s", 1.0, True), ("writeMBps", 1e-3, True), ("write_bytes_per_sec", 1e-9, True),
        ("write (MiB/s)", 2**20 / 1e9, True), ("write_bytes", 1e-9, False),
        ("bytes_written_b", 1e-9, False), ("write_TB", 1e3, False), ("written_kB/s", 1e-6, True),
    ],
)  # fmt: skip
def test_units_in_names(name: str, gb: float, is_rate: bool) -> None:
    assert find_columns(["time", name], OPTIONS, "f").unit == (pytest.approx(gb), is_rate)


@pytest.mark.parametrize(
    ("names", "options", "match"),
    [
        (["a", "write_gb_per_s"], OPTIONS, "no column of times is recognised; columns: a, write"),
        (["time", "b"], OPTIONS, "no column of writes is recognised; .*--write COLUMN"),
        (["time", "write_a_gb", "write_b_gb"], OPTIONS, "several columns may hold writes"),
        (["time", "write_gb"], ReadOptions(write="wrte_gb"), "no column 'wrte_gb'.*did you mean"),
        (["time", "write_gb_per_s", "read_mb_per_s"], OPTIONS, "are in different units"),
        (["time", "write_gb"], ReadOptions(cluster="write_gb"), "cannot be two things at once"),
        (["time", "w_gb", "w_gb"], ReadOptions(write="w_gb"), "there are 2 columns named 'w_gb'"),
    ],
)
def test_columns_that_are_not_clear(names: list[str], options: ReadOptions, match: str) -> None:
    with pytest.raises(InputError, match=match):
        find_columns(names, options, "t.csv")


def test_files_that_are_too_large(tmp_path: Path) -> None:
    """What stands on the disk is asked for before anything is read."""
    with (tmp_path / "a.csv").open("wb") as stream:
        stream.truncate(10**12)
    (tmp_path / "a.json").write_bytes(b'[{"time"' + b" " * 101_000_000)
    for name, most in (("a.csv", "8 GB"), ("a.json", "100 MB")):
        with pytest.raises(InputError, match=f"is larger than {most}"):
            characterize([tmp_path / name])


def test_hosts_without_a_name_are_known_by_repeating_times(tmp_path: Path) -> None:
    raw = only(tmp_path, "csv", of_hosts(("time", "part", *NAMED[1:])))
    with pytest.raises(InputError, match=r"rows of several hosts\? .*--cluster COLUMN.*--sum"):
        series(raw, OPTIONS)
    parts = list(traces.read_traces(tmp_path / "hall.csv", ReadOptions(cluster="part")))
    assert [raw.cluster for raw in parts] == [f"node{n}" for n in range(4)]
    np.testing.assert_allclose(sum(raw.write for raw in parts), WRITE, rtol=1e-6)


def test_a_sum_is_not_known_where_a_part_is_missing(tmp_path: Path) -> None:
    rows = of_hosts().splitlines()
    del rows[10]
    raw = only(tmp_path, "csv", "\n".join(rows), SUMMED)
    assert np.flatnonzero(np.isnan(raw.write)).tolist() == [2]
    raw = only(tmp_path, "csv", wide().replace(f"{0.25 * HOSTS[1]}", "", 1), SUMMED)
    assert np.flatnonzero(np.isnan(raw.write)).tolist() == [3]
