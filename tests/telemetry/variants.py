"""One trace as a file, as people write traces, and in ways that say too little."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import openpyxl

from planner.telemetry.raw import ReadOptions

SAMPLES = 40
BEGIN = 1_770_000_000
TIME = BEGIN + 10 * np.arange(SAMPLES)
WRITE = np.where(np.arange(SAMPLES) % 10 < 3, 1234.5, 0.25)
READ = np.where(np.arange(SAMPLES) % 7 < 2, 12.5, 0.0)
DAY = "2026-02-02"  # BEGIN is 02:40 UTC
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
BARE = ["time", "write", "read"]
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


def prometheus(**metrics: Any) -> str:
    series = [
        {
            "metric": labels,
            "values": [[int(t), repr(float(v))] for t, v in zip(TIME, values, strict=True)],
        }
        for labels, values in metrics.values()
    ]  # fmt: skip
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})


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
    Variant("plain", text(NAMED, PLAIN)),
    Variant("spaces around names", text([" time ", " write_gb_per_s", "read_gb_per_s "], PLAIN)),
    Variant(
        "names of words", text(["Time Stamp", "Write Bandwidth (GB/s)", "Read Rate GB/s"], PLAIN)
    ),
    Variant("semicolons", text(NAMED, PLAIN, ";")),
    Variant("tabs", text(NAMED, PLAIN, "\t")),
    Variant("bars", text(NAMED, PLAIN, "|")),
    Variant("decimal commas", text(NAMED, [TIME, comma(WRITE), comma(READ)], ";")),
    Variant("decimal commas in quotes", text(NAMED, [TIME, comma(WRITE), comma(READ)], quote=True)),
    Variant(
        "decimal commas in times", text(NAMED, [comma(TIME + 0.0), comma(WRITE), comma(READ)], "\t")
    ),
    Variant(
        "three decimals", text(NAMED, [TIME, comma(WRITE, "{:.3f}"), comma(READ, "{:.3f}")], ";")
    ),
    Variant(
        "decimal commas that are said",
        text(NAMED, [TIME, comma(WRITE), comma(READ)], ";"),
        options=ReadOptions(decimal=","),
    ),
    Variant("thousands", text(NAMED, [TIME, GROUPED, READ])),
    Variant("thousands, Swiss", text(NAMED, [TIME, [g.replace(",", "'") for g in GROUPED], READ])),
    Variant(
        "thousands, German",
        text(NAMED, [TIME, [g.translate({44: 46, 46: 44}) for g in GROUPED], comma(READ)], ";"),
    ),
    Variant("units in cells", text(BARE, [TIME, cells(WRITE), cells(READ)])),
    Variant(
        "units in cells, several",
        text(
            BARE,
            [
                TIME,
                [f"{v} GB/s" if v > 1 else f"{v * 1000:g} MB/s" for v in WRITE],
                cells(READ, "kB/s", 1e6),
            ],
        ),
    ),
    Variant(
        "units in cells, binary",
        text(BARE, [TIME, cells(WRITE, "GiB/s", 1e9 / 2**30), cells(READ)]),
    ),
    Variant(
        "units in cells, bits",
        text(BARE, [TIME, cells(WRITE, "Gb/s", 8), cells(READ, "Gbit/s", 8)]),
    ),
    Variant(
        "units in cells, per second",
        text(BARE, [TIME, cells(WRITE, "GBps"), cells(READ, "MB/sec", 1e3)]),
    ),
    Variant(
        "units in cells, commas",
        text(
            BARE,
            [
                TIME,
                [c.replace(".", ",") for c in cells(WRITE)],
                [c.replace(".", ",") for c in cells(READ)],
            ],
            ";",
        ),
    ),
    Variant(
        "units in cells without a space",
        text(
            BARE,
            [
                TIME,
                [c.replace(" ", "") for c in cells(WRITE)],
                [c.replace(" ", "") for c in cells(READ)],
            ],
        ),
    ),
    Variant(
        "units in cells before that of the name",
        text(["time", "write_bytes_per_s", "read_bytes_per_s"], [TIME, cells(WRITE), cells(READ)]),
    ),
    Variant(
        "a unit said before that of cells",
        text(BARE, [TIME, cells(WRITE, "MB/s"), cells(READ, "MB/s")]),
        options=ReadOptions(unit="GB/s"),
    ),
    Variant(
        "date and time",
        text(["Date", "Time", *NAMED[1:]], [at("%Y-%m-%d"), at("%H:%M:%S"), WRITE, READ]),
    ),
    Variant(
        "time and date, German",
        text(
            ["Uhrzeit_time", "date", *NAMED[1:]],
            [at("%H:%M:%S"), at("%d.%m.%Y"), comma(WRITE), comma(READ)],
            ";",
        ),
    ),
    Variant(
        "date and time that are named",
        text(["Tag", "Uhr", *NAMED[1:]], [at("%Y-%m-%d"), at("%H:%M:%S"), WRITE, READ]),
        options=ReadOptions(time="Tag+Uhr"),
    ),
    Variant(
        "a column of dates besides",
        text(["date", "time", *NAMED[1:]], [at("%Y-%m-%d"), TIME, WRITE, READ]),
    ),
    Variant("slashes from the year", text(NAMED, [at("%Y/%m/%d %H:%M:%S"), WRITE, READ])),
    Variant("German dates", text(NAMED, [at("%d.%m.%Y %H:%M:%S"), WRITE, READ])),
    Variant(
        "a form that is said",
        text(NAMED, [at("%d/%m/%Y %H:%M:%S"), WRITE, READ]),
        options=ReadOptions(time_format="%d/%m/%Y %H:%M:%S"),
    ),
    Variant(
        "a form without marks",
        text(NAMED, [at("%Y%m%d%H%M%S"), WRITE, READ]),
        options=ReadOptions(time_format="%Y%m%d%H%M%S"),
    ),
    Variant("halves of days", text(NAMED, [at("%Y-%m-%d %I:%M:%S %p"), WRITE, READ])),
    Variant("fractions behind commas", text(NAMED, [at("%Y-%m-%d %H:%M:%S,000"), WRITE, READ])),
    Variant("UTC", text(NAMED, [at("%Y-%m-%d %H:%M:%S UTC"), WRITE, READ])),
    Variant("an offset", text(NAMED, [at("%Y-%m-%d %H:%M:%S +0000"), WRITE, READ])),
    Variant("names by letters", text(["ts", "wr_bw_gbs", "rd_bw_gbs"], PLAIN)),
    Variant(
        "names by letters, unit said",
        text(["ts", "wr_bw", "rd_bw"], PLAIN),
        options=ReadOptions(unit="GB/s"),
    ),
    Variant(
        "names of iostat",
        text(["time", "r/s", "w/s", "rkB/s", "wkB/s"], [TIME, TIME, TIME, READ * 1e6, WRITE * 1e6]),
    ),
    Variant(
        "names in one word",
        text(["epoch", "wrMBps", "rdMBps"], [TIME, WRITE * 1e3, READ * 1e3]),
        options=ReadOptions(unit="MB/s"),
    ),
    Variant(
        "beside latencies and counts",
        text(
            [
                "timestamp",
                "write_iops",
                "write_latency_ms",
                "write_gb_per_s",
                "read_iops",
                "read_gb_per_s",
            ],
            [TIME, TIME, TIME, WRITE, TIME, READ],
        ),
    ),
    Variant(
        "a rate of a counter",
        text(["Time", query("written"), query("read")], [TIME, WRITE * 1e9, READ * 1e9]),
    ),
    Variant(
        "an increase of a counter",
        text(
            ["Time", query("written", "increase", "5m"), query("read", "increase", "5m")],
            [TIME, WRITE * 3e11, READ * 3e11],
        ),
    ),
    Variant(
        "a sum of rates",
        text(
            ["Time", f"sum({query('written', 'irate')})", f"sum({query('read')})"],
            [TIME, WRITE * 1e9, READ * 1e9],
        ),
    ),
    Variant(
        "a rate behind arithmetic",
        text(["Time", query("written") + " / 1e9", query("read") + " / 1e9"], PLAIN),
        options=ReadOptions(unit="GB/s"),
    ),
    Variant(
        "a unit said against the name",
        text(["time", "write_bytes", "read_bytes"], PLAIN),
        options=ReadOptions(unit="GB/s"),
    ),
    Variant(
        "a kind said against the name",
        text(["time", "write_gb", "read_gb"], PLAIN),
        options=ReadOptions(read_as="rate"),
    ),
    Variant("remarks above", "# by a script\n\n" + text(NAMED, PLAIN)),
    Variant("names in a remark", "# by a script\n#" + text(NAMED, PLAIN)),
    Variant("Excel's line of separators", "sep=;\n" + text(NAMED, PLAIN, ";")),
    Variant("a mark at the end of each line", text([*NAMED, ""], [*PLAIN, [""] * SAMPLES])),
    Variant("a mark of UTF-8", b"\xef\xbb\xbf" + text(NAMED, PLAIN).encode()),
    Variant("UTF-16", text(NAMED, PLAIN, "\t").encode("utf-16"), "txt"),
    Variant("lines of Windows", text(NAMED, PLAIN).replace("\n", "\r\n").replace("\r\r", "\r")),
    Variant("gzip", gzip.compress(text(NAMED, PLAIN).encode()), "csv.gz"),
    Variant("bzip2", bz2.compress(text(NAMED, PLAIN).encode()), "csv.bz2"),
    Variant("hosts added up", by_time(), options=ReadOptions(sum=True)),
    Variant("hosts added up, one after another", by_host(), options=ReadOptions(sum=True)),
    Variant("columns added up", wide(), options=ReadOptions(sum=True)),
    Variant(
        "columns of a pattern added up",
        wide().replace("write_ost", "out"),
        options=ReadOptions(sum=True, write="out*"),
    ),
    Variant(
        "a workbook",
        book([NAMED, *zip(moments(), WRITE.tolist(), READ.tolist(), strict=True)]),
        "xlsx",
    ),
    Variant(
        "a workbook of dates and times",
        book(
            [
                ["Date", "Time", *NAMED[1:]],
                *(
                    (m.date(), m.time(), w, r)
                    for m, w, r in zip(moments(), WRITE.tolist(), READ.tolist(), strict=True)
                ),
            ]
        ),
        "xlsx",
    ),
    Variant(
        "a workbook below empty rows",
        book([[], [], BARE, *zip(TIME.tolist(), cells(WRITE), cells(READ), strict=True)]),
        "xlsx",
    ),
    Variant(
        "a workbook named otherwise",
        book([NAMED, *zip(TIME.tolist(), WRITE.tolist(), READ.tolist(), strict=True)]),
    ),
    Variant("JSON lines", lines(NAMED, PLAIN), "jsonl"),
    Variant(
        "JSON lines of text",
        lines(BARE, [at("%Y-%m-%dT%H:%M:%SZ"), cells(WRITE), cells(READ)]),
        "ndjson",
    ),
    Variant("JSON lines named otherwise", lines(NAMED, PLAIN), "log"),
    Variant("JSON lines, packed", gzip.compress(lines(NAMED, PLAIN).encode()), "jsonl.gz"),
    Variant("a list of JSON", "[" + ",".join(lines(NAMED, PLAIN).splitlines()) + "]", "json"),
    Variant(
        "Prometheus, counters by name",
        prometheus(
            w=({"__name__": "write_bytes_per_second"}, WRITE * 1e9),
            r=({"__name__": "read_bytes_per_second"}, READ * 1e9),
        ),
        "json",
    ),
    Variant(
        "Prometheus, hosts added up",
        prometheus(
            **{
                f"{way}{n}": ({"__name__": f"{way}_gb_per_s", "instance": f"n{n}"}, values * share)
                for n, share in enumerate(HOSTS)
                for way, values in (("write", WRITE), ("read", READ))
            }
        ),
        "json",
        ReadOptions(sum=True),
    ),
]


REFUSED = [
    (
        Variant("no unit", text(BARE, PLAIN)),
        r"column 'write' does not say its unit; say it, for example --unit",
    ),
    (
        Variant(
            "a bare rate behind arithmetic", text(["Time", query("written") + " * 8"], PLAIN[:2])
        ),
        "does not say its unit",
    ),
    (Variant("bits or bytes", text(["time", "write_gbps"], PLAIN[:2])), "does not say its unit"),
    (
        Variant("plural or bandwidth", text(["time", "write_GBs"], PLAIN[:2])),
        "does not say its unit",
    ),
    (
        Variant("names of nothing", text(["time", "a", "b"], PLAIN)),
        "no column is named like a write .*; name it with --write",
    ),
    (
        Variant("no time", text(["n", *NAMED[1:]], PLAIN)),
        "no column is named like a time .*; name it with --time",
    ),
    (
        Variant(
            "spaces",
            "\n".join(" ".join(map(str, row)) for row in zip(*PLAIN, strict=True)).join(
                ["time write read\n", ""]
            ),
        ),
        r":1: columns are separated by spaces.*; separate them by commas",
    ),
    (
        Variant("no names", text([str(column[0]) for column in PLAIN], PLAIN)),
        ":1: the first line holds a sample.*; put a line such as",
    ),
    (
        Variant("thousands or decimals", text(NAMED, [TIME, ["1,234"] * SAMPLES, READ], ";")),
        "may mean two numbers.*--decimal , or",
    ),
    (
        Variant("commas not quoted", text(NAMED, [TIME, WRITE, READ]).replace("0.25", "0,25")),
        r":5: .*Expected 3 columns, got 4.*quote figures with decimal commas",
    ),
    (
        Variant("a stray unit", text(NAMED, [TIME, [*WRITE[:-1], "1.5 GB/s"], READ])),
        "have a unit, and others have none; write every",
    ),
    (
        Variant("no unit of traffic", text(BARE, [TIME, cells(WRITE, "km"), READ])),
        "'1234.5 km' is in no unit of traffic; write for",
    ),
    (
        Variant("prefixes alone", text(BARE, [TIME, cells(WRITE, "M"), READ])),
        "is in no unit of traffic",
    ),
    (
        Variant("sizes and rates", text(BARE, [TIME, [*cells(WRITE)[1:], "1 GB"], cells(READ)])),
        "bandwidths as well as sizes",
    ),
    (
        Variant(
            "one unit said for several",
            text(BARE, [TIME, [*cells(WRITE)[1:], "2 MB/s"], cells(READ)]),
            options=ReadOptions(unit="GB/s"),
        ),
        "have units of their own: GB/s, MB/s; one --unit cannot hold",
    ),
    (
        Variant("days or months first", text(NAMED, [at("%d/%m/%Y %H:%M:%S"), WRITE, READ])),
        r":2: '02/02/2026 02:40:00' may begin with the day or the month; say which with "
        r"--time-format '%d/%m/%Y %H:%M:%S' or",
    ),
    (
        Variant("months in words", text(NAMED, [at("%b %d, %Y %H:%M"), WRITE, READ])),
        r":2: 'Feb 02, 2026 02:40' is not a time; .*--time-format",
    ),
    (
        Variant(
            "another form than said",
            text(NAMED, [at("%Y-%m-%d %H:%M:%S"), WRITE, READ]),
            options=ReadOptions(time_format="%d.%m.%Y"),
        ),
        "is not written as '%d.%m.%Y'",
    ),
    (
        Variant(
            "a form that is none",
            text(NAMED, [at("%Y"), WRITE, READ]),
            options=ReadOptions(time_format="%Q"),
        ),
        "--time-format",
    ),
    (
        Variant("times of day alone", text(NAMED, [at("%H:%M:%S"), WRITE, READ])),
        "time of day without a date; .*--time DATE.TIME",
    ),
    (
        Variant("dates as one number", text(NAMED, [at("%Y%m%d%H%M%S"), WRITE, READ])),
        "--time-format",
    ),
    (
        Variant("times beyond", text(NAMED, [TIME * 1e291, WRITE, READ])),
        "beyond the year 2200; name the column of times",
    ),
    (
        Variant("no table", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))),
        "is not text in UTF-8; save the trace as UTF-8",
    ),
    (
        Variant("Latin letters", text(["time", "write_gb_per_s", "mü"], PLAIN).encode("latin-1")),
        "save the trace as UTF-8",
    ),
    (
        Variant("a line without an end", "time,write_gb_per_s" + "x" * 70_000),
        "the first line has no end",
    ),
    (
        Variant("zeros without an end", text(NAMED, PLAIN) + "1" * (20 << 20)),
        "longer than 8 MB, or has no end",
    ),
    (
        Variant("gzip by another name", gzip.compress(b"time,write_gb_per_s\n")),
        r"does not end in \.gz",
    ),
    (Variant("no gzip", b"time,write_gb_per_s\n", "csv.gz"), "cannot be read"),
    (Variant("a zip archive", b"PK\x03\x04" + b"\0" * 99), "is a zip archive; unpack it"),
    (
        Variant("an old workbook", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "xls"),
        r"of the old kind; save it as \.xlsx",
    ),
    (Variant("a broken workbook", book([NAMED])[:-50], "xlsx"), "cannot be read"),
    (Variant("a workbook of names", book([NAMED]), "xlsx"), "no rows on the first sheet"),
    (
        Variant(
            "a workbook with one name twice",
            book([["time", "write_gb", "write_gb"], [1, 2, 3]]),
            "xlsx",
        ),
        "2 columns named",
    ),
    (
        Variant(
            "days since 1900",
            book(
                [
                    NAMED,
                    *zip(
                        (TIME / 86_400 + 25_569).tolist(),
                        WRITE.tolist(),
                        READ.tolist(),
                        strict=True,
                    ),
                ]
            ),
            "xlsx",
        ),
        "holds days since 1900 as plain numbers; format its cells",
    ),
    (
        Variant("JSON of nothing", "{}", "json"),
        "holds no samples; it may hold an object per sample",
    ),
    (Variant("JSON that breaks off", '[{"time": 1,\n"write_gb": ', "json"), r":2: is no JSON"),
    (Variant("JSON nested", "[" * 200_000, "json"), "is nested too deeply"),
    (Variant("JSON of long numbers", f'[{{"time": {"9" * 5000}}}]', "json"), "cannot be read"),
    (
        Variant("JSON of large numbers", f'[{{"time": {"9" * 400}, "write_gb": 1}}]', "json"),
        "beyond all reason",
    ),
    (
        Variant("JSON of lists", '[{"time": 1, "write_gb": [1, 2]}]', "json"),
        "holds lists or objects, not a cell per",
    ),
    (
        Variant(
            "JSON lines that break",
            lines(NAMED, PLAIN) + '{"time":\n' + lines(NAMED, PLAIN),
            "jsonl",
        ),
        "is no JSON object|is broken after",
    ),
    (
        Variant(
            "JSON lines of other kinds", lines(NAMED, PLAIN) * 3 + '{"time": "soon"}\n', "jsonl"
        ),
        "is broken after its first",
    ),
    (
        Variant("Prometheus, no name", prometheus(w=({"instance": "a"}, WRITE)), "json"),
        "no column is named like a write .*value.*--write",
    ),
    (
        Variant(
            "Prometheus, hosts",
            prometheus(
                a=({"__name__": "write_gb_per_s", "instance": "a"}, WRITE),
                b=({"__name__": "write_gb_per_s", "instance": "b"}, READ),
            ),
            "json",
        ),
        "rows of several hosts: column 'instance' has 'a' and 'b'; a cluster each: --cluster "
        "'instance'; or add them up: --sum",
    ),
    (
        Variant(
            "Prometheus, one time",
            '{"status":"success","data":{"resultType":"vector","result":[]}}',
            "json",
        ),
        "query_range",
    ),
    (
        Variant(
            "Prometheus, an error", '{"status":"error","error":"parse error at char 5"}', "json"
        ),
        "an error of Prometheus.*parse",
    ),
    (
        Variant(
            "Prometheus, no series",
            '{"status":"success","data":{"resultType":"matrix","result":[]}}',
            "json",
        ),
        "found no series",
    ),
    (
        Variant(
            "Prometheus, a broken series",
            '{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1]]}]}}',
            "json",
        ),
        "holds a series without 'metric' and 'values'",
    ),
    (
        Variant("hosts by time", by_time()),
        "rows of several hosts: column 'host' has 'node0' and 'node1'; .*--cluster 'host'; .*--sum",
    ),
    (
        Variant(
            "hosts with rows missing",
            "\n".join(by_time().splitlines()[:80:3]),
            options=ReadOptions(sum=True),
        ),
        "of 20 times have more or fewer than the usual 1 rows; give every host a row",
    ),
    (
        Variant("several columns", wide()),
        "several columns are named like a write.*, or add them up with --sum",
    ),
    (
        Variant(
            "too many clusters",
            text(
                ["cluster", *NAMED[:2]], [[f"c{n}" for n in range(1500)], range(1500), range(1500)]
            ),
        ),
        "more than 1,000 clusters: is it the right column",
    ),
    (
        Variant(
            "a bandwidth counted",
            text(NAMED, PLAIN),
            options=ReadOptions(unit="GB/s", read_as="counter"),
        ),
        "the unit is a bandwidth, so the figures cannot be read as counter",
    ),
]
