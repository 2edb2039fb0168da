"""One trace in the ways in which people write traces: read alike, or refused with the fix."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from planner.errors import InputError
from planner.telemetry import traces
from planner.telemetry.signal import series
from planner.telemetry.traces import Raw, ReadOptions

SAMPLES = 40
BEGIN = 1_770_000_000
TIME = BEGIN + 10 * np.arange(SAMPLES)
WRITE = np.where(np.arange(SAMPLES) % 10 < 3, 1234.5, 0.25)
READ = np.where(np.arange(SAMPLES) % 7 < 2, 12.5, 0.0)
OPTIONS = ReadOptions()


def at(form: str) -> list[str]:
    return [datetime.fromtimestamp(int(each), UTC).strftime(form) for each in TIME]


def text(
    names: Sequence[str],
    columns: Sequence[Sequence[object]],
    mark: str = ",",
    above: str = "",
    quote: bool = False,
) -> str:
    stream = io.StringIO(above)
    stream.seek(0, 2)
    rows = csv.writer(stream, delimiter=mark, quoting=csv.QUOTE_ALL if quote else csv.QUOTE_MINIMAL)
    rows.writerow(names)
    rows.writerows(zip(*columns, strict=True))
    return stream.getvalue()


def comma(values: np.ndarray, form: str = "{}") -> list[str]:
    return [form.format(value).replace(".", ",") for value in values]


def cells(values: np.ndarray, unit: str = "GB/s", scale: float = 1.0) -> list[str]:
    return [f"{value * scale:.12g} {unit}" for value in values]


PLAIN = [TIME, WRITE, READ]
NAMED = ["time", "write_gb_per_s", "read_gb_per_s"]
HOSTS = np.array([0.5, 0.25, 0.125, 0.125])
GROUPED = [f"{value:,.2f}" for value in WRITE]


def by_time(scale: float = 1e9) -> str:
    """Return rows of four hosts, time by time."""
    return text(
        ["time", "host", "write_bytes_per_s", "read_bytes_per_s"],
        [
            np.repeat(TIME, 4),
            [f"node{n}" for n in range(4)] * SAMPLES,
            np.outer(WRITE, HOSTS * scale).ravel(),
            np.outer(READ, HOSTS * scale).ravel(),
        ],
    )


def by_host(names: Sequence[str] = ("time", "part", "write_gb_per_s", "read_gb_per_s")) -> str:
    """Return rows of four hosts, host by host; nothing in the names tells what tells them apart."""
    return text(
        names,
        [
            np.tile(TIME, 4),
            np.repeat(["a", "b", "c", "d"], SAMPLES),
            np.outer(HOSTS, WRITE).ravel(),
            np.outer(HOSTS, READ).ravel(),
        ],
    )


def wide() -> str:
    """Return a column for each host."""
    columns = [*np.outer(HOSTS, WRITE), *np.outer(HOSTS, READ)]
    names = [f"{way}_ost{n}_gb_per_s" for way in ("write", "read") for n in range(4)]
    return text(["time", *names], [TIME, *columns])


def lines(names: Sequence[str], columns: Sequence[Any]) -> str:
    rows = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
    return "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows) + "\n"


def book(rows: Sequence[Sequence[object]]) -> bytes:
    made = openpyxl.Workbook()
    assert made.active is not None
    for row in rows:
        made.active.append(list(row))
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def moments() -> list[datetime]:
    return [datetime.fromtimestamp(int(each), UTC).replace(tzinfo=None) for each in TIME]


def query(inner: str, function: str = "rate", window: str = "1m") -> str:
    return f'{function}(node_disk_{inner}_bytes_total{{job="b"}}[{window}])'


@dataclass(frozen=True)
class Variant:
    """A file with the trace in it, and what is said of it."""

    name: str
    content: str | bytes
    ending: str = "csv"
    options: ReadOptions = field(default=OPTIONS)


RIGHT = [
    Variant(
        "decimal commas",
        text(NAMED, [TIME, comma(WRITE), comma(READ)], ";"),
        options=ReadOptions(decimal=","),
    ),
    Variant("thousands", text(NAMED, [TIME, GROUPED, READ]), options=ReadOptions(decimal=".")),
    Variant(
        "date and time",
        text(["Date", "Time", *NAMED[1:]], [at("%Y-%m-%d"), at("%H:%M:%S"), WRITE, READ]),
        options=ReadOptions(time="Date+Time"),
    ),
    Variant(
        "a form that is said",
        text(NAMED, [at("%d/%m/%Y %H:%M:%S"), WRITE, READ]),
        options=ReadOptions(time_format="%d/%m/%Y %H:%M:%S"),
    ),
    Variant(
        "a rate of a counter",
        text(["Time", query("written"), query("read")], [TIME, WRITE * 1e9, READ * 1e9]),
    ),
    Variant("remarks above", "# by a script\n\n" + text(NAMED, PLAIN)),
    Variant("Excel's line of separators", "sep=;\n" + text(NAMED, PLAIN, ";")),
    Variant("a mark of UTF-8", b"\xef\xbb\xbf" + text(NAMED, PLAIN).encode()),
    Variant("UTF-16", text(NAMED, PLAIN, "\t").encode("utf-16"), "txt"),
    Variant("lines of Windows", text(NAMED, PLAIN).replace("\n", "\r\n").replace("\r\r", "\r")),
    Variant("gzip", gzip.compress(text(NAMED, PLAIN).encode()), "csv.gz"),
    Variant("hosts added up", by_time(), options=ReadOptions(sum=True)),
    Variant("columns added up", wide(), options=ReadOptions(sum=True)),
    Variant(
        "a workbook",
        book([NAMED, *zip(moments(), WRITE.tolist(), READ.tolist(), strict=True)]),
        "xlsx",
    ),
    Variant("JSON lines", lines(NAMED, PLAIN), "jsonl"),
]


REFUSED = [
    (
        Variant("no names", text([str(column[0]) for column in PLAIN], PLAIN)),
        ":1: the first line holds a sample.*; put a line such as",
    ),
    (
        Variant("commas not quoted", text(NAMED, [TIME, WRITE, READ]).replace("0.25", "0,25")),
        r":5: Expected 3 fields in line 5, saw 4.*quote figures with decimal commas",
    ),
    (
        Variant("units in cells", text(NAMED, [TIME, cells(WRITE), READ])),
        r":2: '1234.5 GB/s' is not a number; write plain numbers, with the unit in the column's",
    ),
    (
        Variant(
            "another form than said",
            text(NAMED, [at("%Y-%m-%d %H:%M:%S"), WRITE, READ]),
            options=ReadOptions(time_format="%d.%m.%Y"),
        ),
        "is not like '%d.%m.%Y'",
    ),
    (
        Variant("times of day alone", text(NAMED, [at("%H:%M:%S"), WRITE, READ])),
        "time of day without a date; .*--time DATE.TIME",
    ),
    (
        Variant("no table", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))),
        "is not text in UTF-8; save the trace as CSV",
    ),
    (Variant("a zip archive", b"PK\x03\x04" + b"\0" * 99), "no .xlsx workbook"),
    (
        Variant("JSON of lists", '[{"time": 1, "write_gb": [1, 2]}]', "json"),
        "holds lists or objects inside a row",
    ),
    (
        Variant("hosts by time", by_time()),
        "rows of 4 hosts: column 'host' has 'node0', 'node1'; .*--cluster 'host'; .*--sum",
    ),
]


def only(path: Path, variant: Variant) -> Raw:
    content = variant.content
    path = path / f"hall.{variant.ending}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (raw,) = traces.read_traces(path, variant.options)
    return raw


@pytest.mark.parametrize("variant", RIGHT, ids=lambda variant: variant.name)
def test_read_alike(tmp_path: Path, variant: Variant) -> None:
    raw = only(tmp_path, variant)
    assert raw.is_rate and raw.dated
    np.testing.assert_array_equal(raw.time_s, TIME)
    np.testing.assert_allclose(raw.write, WRITE, rtol=1e-6)
    assert raw.read is not None
    np.testing.assert_allclose(raw.read, READ, rtol=1e-6)


@pytest.mark.parametrize(("variant", "match"), REFUSED, ids=lambda each: getattr(each, "name", ""))
def test_refused_in_words_that_name_the_fix(tmp_path: Path, variant: Variant, match: str) -> None:
    with pytest.raises(InputError, match=match) as refused:
        only(tmp_path, variant)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("order", ["time", "host"])
def test_rows_of_hosts_are_told_by_their_times(tmp_path: Path, order: str) -> None:
    """Without a name that gives them away they are known by repeating times."""
    rows = by_host(("time", "part", *NAMED[1:])).splitlines()
    if order == "time":
        rows[1:] = sorted(rows[1:])
    raw = only(tmp_path, Variant("hosts", "\n".join(rows)))
    with pytest.raises(InputError, match=r"rows of several hosts\? .*--cluster COLUMN.*--sum"):
        series(raw, OPTIONS)
    parts = list(traces.read_traces(tmp_path / "hall.csv", ReadOptions(cluster="part")))
    assert [raw.cluster for raw in parts] == ["a", "b", "c", "d"]
    np.testing.assert_allclose(sum(raw.write for raw in parts), WRITE, rtol=1e-6)


def test_a_sum_is_not_known_where_a_part_is_missing(tmp_path: Path) -> None:
    rows = by_time().splitlines()
    del rows[10]
    raw = only(tmp_path, Variant("hosts", "\n".join(rows), options=ReadOptions(sum=True)))
    assert np.flatnonzero(np.isnan(raw.write)).tolist() == [2]
    columns = wide().replace(f"{0.25 * HOSTS[1]}", "", 1)
    raw = only(tmp_path, Variant("columns", columns, options=ReadOptions(sum=True)))
    assert np.flatnonzero(np.isnan(raw.write)).tolist() == [3]
