"""Traces in tables: columns of time and traffic, their units, the rows of each cluster.

A column is named by an option, or is the only one whose name fits one pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from planner import units
from planner.errors import Finding, InputError, did_you_mean
from planner.files import regular
from planner.telemetry.tables import EMPTY, Cells, Numbers, names_line, read_table, read_times

ReadAs = Literal["rate", "bytes", "counter"]
"""Bandwidth, bytes moved in each sample, or bytes moved since some time before."""


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading a trace.

    Attributes:
        time, write, read, cluster: names of the columns; None finds them by their names. Columns of
            dates and of times are written DATE+TIME; with ``sum`` a pattern stands for several.
        sum: add up columns of one kind, and rows of one time.
        unit: of the figures, a bandwidth or a size; None reads it from the column's name.
        decimal: decimal mark of figures in text, "." or ","; None: a point, and no thousands.
        time_format: format of times for ``strptime``; None recognises it.
        read_as: kind of the figures; None recognises it by the unit and their monotony.
        window_s: averaging window of each sample; None estimates it.
    """

    time: str | None = None
    write: str | None = None
    read: str | None = None
    cluster: str | None = None
    sum: bool = False
    unit: str | None = None
    decimal: str | None = None
    time_format: str | None = None
    read_as: ReadAs | None = None
    window_s: float | None = None


@dataclass(frozen=True)
class Raw:
    """Rows of one cluster in a file, in the file's order.

    ``write``, ``read``: GB/s (``is_rate``) or GB; NaN where a cell is empty. ``dated``: times count
    from 1970; ``summed``: figures are sums over hosts or targets.
    """

    cluster: str
    file: str
    time_s: Numbers
    write: Numbers
    read: Numbers | None
    is_rate: bool
    dated: bool
    summed: bool = False


def refusal(
    file: Path | str, message: str, fix: str | None = None, line: int | None = None
) -> InputError:
    """Error of a trace."""
    return InputError(Finding("trace", message, str(file), line, fix=fix))


_MOST_BYTES = 8_000_000_000
_MOST_CLUSTERS, _MOST_NAME = 1_000, 100
_MOST_SAMPLES = 10_000_000
"""Samples of one cluster, three years at 10 s: the analysis takes 150 bytes of memory for each."""

_PARTIAL = 0.2
"""Share of times with missing rows above which rows are not of the same times."""

_VALUE = re.compile(r"(?i)^_?value$")


def read_traces(path: Path, options: ReadOptions) -> Iterator[Raw]:
    """Yield the trace of each cluster in a file.

    Raises:
        InputError: the file cannot be read, or a column or cell is wrong.
    """
    if options.decimal not in (None, ".", ","):
        message = f"--decimal '{options.decimal[:20]}' is no decimal mark"
        raise InputError(Finding("option", message, fix="it is '.' or ','"))
    regular(path, most_bytes=_MOST_BYTES, what="trace")
    file = str(path)
    table = read_table(path, "trace", as_text=options.decimal is not None)
    line = names_line(table)
    table = _spread_series(table, options)
    columns = find_columns([str(name) for name in table.columns], options, file, line)
    when = table[columns.time[0]]
    if len(columns.time) > 1:
        parts = (table[name].astype("string").str.strip() for name in columns.time)
        date, clock = (part.str.replace(r"[ T]00:00:00$", "", regex=True) for part in parts)
        when = date + " " + clock
    time_s, dated = read_times(when, options.time_format, file)
    write, *reads = [
        np.sum(
            [_read_figures(table[name], columns.unit[0], options, file) for name in names], axis=0
        )
        for names in (columns.writes, columns.reads)
        if names
    ]
    for name, rows in _clusters(table, columns, path.name.split(".")[0], file):
        if columns.host is not None:
            _check_hosts(table[columns.host].iloc[rows], time_s[rows], options, file)
        read = reads[0][rows] if reads else None
        raw = Raw(name, file, time_s[rows], write[rows], read, columns.unit[1], dated, options.sum)
        raw = _sum_by_time(raw) if options.sum else raw
        if len(raw.time_s) > _MOST_SAMPLES:
            message = f"cluster '{name}' has more than {_MOST_SAMPLES:,} samples"
            raise refusal(file, message, "give a shorter stretch, or fewer samples a minute")
        yield raw


def _clusters(
    table: pd.DataFrame, columns: Columns, stem: str, file: str
) -> Iterator[tuple[str, Any]]:
    """Yield each cluster's name and rows."""
    if columns.cluster is None:
        yield stem, slice(None)
        return
    codes, names = pd.factorize(table[columns.cluster], use_na_sentinel=False)
    longest = max(len(str(name)) for name in names)
    if len(names) > _MOST_CLUSTERS or longest > _MOST_NAME:
        message = f"{len(names):,} clusters, names of up to {longest:,} characters"
        raise refusal(file, message, "name the column of clusters: --cluster COLUMN")
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    for name, rows in zip(names, parts, strict=True):
        yield (stem if pd.isna(name) else str(name)), rows


def _check_hosts(hosts: Cells, time_s: Numbers, options: ReadOptions, file: str) -> None:
    """Refuse rows of several hosts that are not to be added up, or have no times in common."""
    names = hosts.dropna().unique()
    if len(names) < 2:
        return
    if not options.sum:
        message = (
            f"rows of {len(names)} hosts: column '{hosts.name}' has '{names[0]}', '{names[1]}'"
        )
        fix = f"a cluster each: --cluster '{hosts.name}'; or add them up: --sum"
        raise refusal(file, message, fix)
    if len(np.unique(time_s)) == len(time_s):
        message = "rows of several hosts have times of their own, and cannot be added up"
        raise refusal(file, message, "bring them to common times, or --cluster COLUMN")


def _sum_by_time(raw: Raw) -> Raw:
    """One row per time, the sum of all; missing where rows of a time are missing.

    Raises:
        InputError: the rows have no times in common.
    """
    known = np.isfinite(raw.time_s)
    time, place, rows = np.unique(raw.time_s[known], return_inverse=True, return_counts=True)
    usual = int(np.median(rows)) if len(rows) else 0
    others = int(np.sum(rows != usual))
    if others > _PARTIAL * len(time):
        message = f"{others:,} of {len(time):,} times have other than the usual {usual:,} rows"
        raise refusal(raw.file, message, "give every host a row at each time, 0 where it is idle")

    def total(figures: Numbers) -> Numbers:
        return np.where(rows == usual, np.bincount(place, figures[known], len(time)), np.nan)

    read = None if raw.read is None else total(raw.read)
    return Raw(raw.cluster, raw.file, time, total(raw.write), read, raw.is_rate, raw.dated, True)


def _spread_series(table: pd.DataFrame, options: ReadOptions) -> pd.DataFrame:
    """A table in long form (a row per series and time) with a column per series.

    Long form is recognised by a column of values beside a column of text that names writes.
    """
    values = [name for name in table.columns if _VALUE.match(str(name))]
    if len(values) != 1 or options.write in table.columns:
        return table
    keys = [
        name
        for name in table.columns
        if name in (options.time, options.cluster)
        or any(PATTERNS[kind].search(str(name)) for kind in ("time", "cluster"))
    ]
    for name in table.columns.difference(keys, sort=False):
        series = [] if pd.api.types.is_numeric_dtype(table[name]) else table[name].dropna().unique()
        if len(series) <= _MOST_CLUSTERS and any(
            PATTERNS["write"].search(str(one)) or str(one) == options.write for one in series
        ):
            if table.duplicated([*keys, name]).any():  # several hosts, refused as such
                return table
            wide = table.pivot(index=keys, columns=name, values=values[0]).reset_index()
            wide.columns = pd.Index([str(each) for each in wide.columns])
            wide.index += 1
            return wide
    return table


def _read_figures(cells: Cells, gb: float, options: ReadOptions, file: str) -> Numbers:
    """A column of traffic in GB/s or GB; ``gb`` is its unit."""
    if pd.api.types.is_bool_dtype(cells) or pd.api.types.is_datetime64_any_dtype(cells):
        raise refusal(file, f"column '{cells.name}' holds {cells.dtype}, not numbers")
    if pd.api.types.is_numeric_dtype(cells):
        return np.asarray(cells.to_numpy(float, na_value=np.nan) * gb)
    text = cells.astype("string").str.strip()
    text = text.mask(text.isin(EMPTY))
    if options.decimal is not None:
        thousands = "," if options.decimal == "." else "."
        text = text.str.replace(thousands, "").str.replace(options.decimal, ".")
    numbers = pd.to_numeric(text, errors="coerce")
    wrong = text.notna() & numbers.isna()
    if wrong.any():
        cell = str(cells[wrong].iloc[0])[:60]
        fix = "write plain numbers, with the unit in the column's name or --unit"
        fix = "give the decimal mark: --decimal , or --decimal ." if "," in cell else fix
        raise refusal(file, f"'{cell}' is not a number", fix, int(cells.index[wrong][0]))
    return np.asarray(numbers.to_numpy(float, na_value=np.nan) * gb)


# Columns

Unit = tuple[float, bool]
"""A unit of traffic in GB/s or GB, and whether it is a bandwidth."""

_NO_TRAFFIC = r"^(?!.*(?i:latency|iops|await|ops(?![a-z])|time|count|util|request|merged|%))"
PATTERNS = {
    "time": re.compile(r"(?i)(?<![a-z])(time[ _]?(stamp)?|date(time)?|epoch|ts)(?![a-z])"),
    "write": re.compile(
        _NO_TRAFFIC + r"(?:.*(?:(?<![A-Za-z])w|(?<=[a-z])W|(?<![A-Za-z])W)"
        r"(rit(e|es|ten)?|rote|r|rtn|RITE)(?![a-z])|w[kMG]?B/s$|bwrtn/s$)"
    ),
    "read": re.compile(
        _NO_TRAFFIC + r"(?:.*(?:(?<![A-Za-z])r|(?<=[a-z])R|(?<![A-Za-z])R)"
        r"(eads?|d|EAD)(?![a-z])|r[kMG]?B/s$|bread/s$)"
    ),
    "cluster": re.compile(r"(?i)^cluster([_ ]?(name|id))?$"),
}
_HOST = re.compile(r"(?i)^(host|node|instance|server|dev|device|disk|ost|target)([_ ]?(name|id))?$")
_SYSSTAT = re.compile(r"^(?:[rwd]|[rt]x)?([kM])B(?:_read|_wrtn|_dscd)?/s$")
_NAMED = re.compile(
    r"(?:^|(?<=[^A-Za-z])|(?<=[a-z])(?=[A-Z]))"
    r"(?i:(?P<prefix>[kmgtp]?)(?P<binary>i?)(?P<byte>b|bytes?)"
    r"(?P<rate>(?:_per_|/| per )s(?:ec(?:ond)?)?|ps)?(?![a-z]))"
)
_UNCLEAR = re.compile(
    r"[kMGTP]?b(it)?s?(/s|ps)|(?i:(^|[^a-z])[kmgtp]bps)|\]\W*[*/]|\)\s*[*/]|\d\s*\*|increase\("
)
"""Bits or bytes, or arithmetic of a query."""
_RATE = re.compile(r"(?i)(^|[^a-z])(i?rate|bandwidth|throughput|speed|((wr|rd|w|r)?bw))(?![a-z])")


@dataclass(frozen=True)
class Columns:
    """Columns of a table by content.

    Attributes:
        time: times, or dates and times of day in two columns.
        writes, reads: traffic; several are added up.
        cluster: names of clusters.
        host: names of hosts or devices, which must not be mixed unnoticed.
        unit: unit of traffic.
    """

    time: tuple[str, ...]
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    cluster: str | None
    host: str | None
    unit: Unit


def find_columns(
    names: Sequence[str], options: ReadOptions, file: str, line: int | None = 1
) -> Columns:
    """Columns that options name, or that one pattern each finds.

    Args:
        names: all columns of the table.
        options: columns by name, and the unit.
        file: name for messages.
        line: line of the names; None for files without lines.

    Raises:
        InputError: a column is missing, or several fit; the message lists the columns.
    """
    names = [name.rstrip("\0") for name in names]

    def find(kind: str, asked: str | None, taken: Sequence[str] = ()) -> tuple[str, ...]:
        found, message, fix = _fitting(names, kind, asked, taken, options.sum)
        if message:
            message += f"; columns: {', '.join(names)[:300]}"
            raise refusal(file, message, fix, line=line)
        return found

    writes = find("write", options.write)
    reads = find("read", options.read, writes)
    time = find("time", options.time, (*writes, *reads))
    cluster = find("cluster", options.cluster)
    chosen = [*time, *writes, *reads, *cluster]
    for name in chosen:
        if chosen.count(name) > 1:
            fix = "give each of --time, --write, --read and --cluster a column of its own"
            raise refusal(file, f"column '{name}' cannot be two things at once", fix, line=line)
        if names.count(name) > 1:
            message = f"there are {names.count(name)} columns named '{name}'"
            raise refusal(file, message, "give them different names", line=line)
    host = next((name for name in names if _HOST.match(name) and name not in chosen), None)
    unit = _common_unit([*writes, *reads], options, file, line)
    return Columns(time, writes, reads, next(iter(cluster), None), host, unit)


def _fitting(
    names: Sequence[str], kind: str, asked: str | None, taken: Sequence[str], several: bool
) -> tuple[tuple[str, ...], str, str]:
    """Columns of a kind; else a message and its fix."""
    several, fix = several and kind in ("write", "read"), f"name it: --{kind} COLUMN"
    if asked in names:
        return (str(asked),), "", ""
    if asked is not None:
        parts = [part.strip() for part in asked.split("+")]
        if kind == "time" and set(parts) <= {*names}:
            return tuple(parts), "", ""
        fitting = [name for name in names if several and fnmatchcase(name, asked)]
        message, fix = f"no column '{asked}'", did_you_mean(asked, names) or fix
    else:
        fitting = [name for name in names if PATTERNS[kind].search(name) and name not in taken]
        exact = [name for name in fitting if name.lower() == kind]
        fitting = exact if len(exact) == 1 and not several else fitting
        message = "" if kind in ("read", "cluster") else f"no column of {kind}s is recognised"
    if len(fitting) > 1 and not several:
        message = f"several columns may hold {kind}s: {', '.join(fitting)[:200]}"
        fix += {"time": "; or --time DATE+TIME", "cluster": ""}.get(kind, "; or --sum")
        return (), message, fix
    return tuple(fitting), "" if fitting else message, fix


def _common_unit(columns: Sequence[str], options: ReadOptions, file: str, line: int | None) -> Unit:
    """Unit of all columns of traffic."""
    if options.unit is not None:
        found = traffic_unit(options.unit)
        if found is None:
            message = f"'{options.unit[:40]}' is neither a bandwidth nor a data size"
            fix = "write for example --unit GB/s, MiB/s, Gbit/s, or B for bytes"
            raise InputError(Finding("option", message, path="--unit", fix=fix))
        return found
    first = unit_of_name(columns[0])
    for name in columns:
        if unit_of_name(name) != first:
            message = f"columns '{columns[0]}' and '{name}' are in different units"
            raise refusal(file, message, "bring them into one, in GB/s", line=line)
    if first is None:
        fix = "give it, for example --unit GB/s, or --unit B for bytes"
        raise refusal(file, f"column '{columns[0]}' does not say its unit", fix, line)
    return first


def unit_of_name(name: str) -> Unit | None:
    """Unit in a column's name, None where it has none or an unclear one.

    kB and MB of sysstat (``wkB/s``, ``kB_wrtn/s``, ``rMB/s``, ``txkB/s``) are 2^10 and 2^20 bytes,
    ``bread/s`` and ``bwrtn/s`` blocks of 512 bytes (sysstat FAQ 1.4).
    """
    sysstat = _SYSSTAT.match(name)
    if sysstat:
        return (2**10 if sysstat[1] == "k" else 2**20) / 1e9, True
    if name in ("bread/s", "bwrtn/s"):
        return 512 / 1e9, True
    match = None if _UNCLEAR.search(name) else _NAMED.search(name)
    if match is None:
        return None
    power = " kmgtp".index(match["prefix"].lower() or " ")
    factor = (1024.0 if match["binary"] and power else 1000.0) ** power / 1e9
    return factor, bool(match["rate"] or _RATE.search(name))


def traffic_unit(text: str) -> Unit | None:
    """Unit of a text in GB/s or GB, None where it is none of traffic."""
    text = re.sub(r"(?i)bytes?", "B", text.strip())
    text = re.sub(r"(?<=[Bbt])(ps|/sec(ond)?| per s)$", "/s", text)
    text = re.sub(r"^K(?=B)", "k", re.sub(r"^ki(?=B)", "Ki", text))
    for dimension, scale, is_rate in (
        (units.BANDWIDTH, 1.0, True),
        (units.SIZE, 1.0, False),
        (units.LINK_SPEED, 0.125, True),
    ):
        try:
            return units.parse(f"1 {text}", dimension) * scale, is_rate
        except units.QuantityError:
            continue
    return None
