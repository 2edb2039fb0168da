"""Traces in CSV, Excel, JSON and Parquet files: their tables, read by pandas and pyarrow."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet

from planner.errors import Finding, InputError
from planner.telemetry.columns import (
    PATTERNS,
    Columns,
    Unit,
    find_columns,
    no_unit,
    traffic_unit,
)
from planner.telemetry.raw import (
    MOST_SAMPLES,
    Figures,
    Numbers,
    Raw,
    ReadOptions,
    refusal,
    too_long,
    unreadable,
)
from planner.telemetry.times import read_times
from planner.untrusted_files import contents, in_words, json_of, regular
from planner.untrusted_workbooks import open_xlsx

EMPTY = ("", "NaN", "nan", "NA", "N/A", "null", "NULL", "None", "-", "#N/A", "inf", "-inf", "Inf")
"""Cells without a value."""

_MOST_BYTES, _MOST_JSON_BYTES, _HEAD_BYTES = 8_000_000_000, 100_000_000, 1 << 16
_MOST_UNPACKED_BYTES = 2_000_000_000
_PACKED = (".gz", ".bz2", ".zst", ".lz4")
_MOST_CLUSTERS, _MOST_NAME = 1_000, 100
_PARTIAL = 0.2
"""Share of times with missing rows above which rows are not of the same times."""

_VALUE = re.compile(r"(?i)^_?value$")
_DATA_CELL = re.compile(
    r"[-+]?\d[\d.,']*([eE][-+]?\d+)?\s*[A-Za-z/]{0,6}$|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}"
)
_CELL = re.compile(r"^([-+]?[\d.,' ]*\d[.]?(?:[eE][-+]?\d+)?)\s*([^\d\s.,].*)?$")
_PLAIN = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
_PARSER_LINE = re.compile(r"line (\d+)")


@dataclass(frozen=True)
class RawTable:
    """Cells of a file by column, and the line of its first row (None for files without lines)."""

    frame: pd.DataFrame
    first_line: int | None

    @property
    def names_line(self) -> int | None:
        """Line with the names of the columns."""
        return None if self.first_line is None else self.first_line - 1


def read_traces(path: Path, options: ReadOptions) -> Iterator[Raw]:
    """Yield the trace of each cluster in a file.

    Raises:
        InputError: the file cannot be read, or a column or cell is wrong.
    """
    regular(path, most_bytes=_MOST_BYTES, what="trace")
    file = str(path)
    table = read_table(path, "trace", options, as_text=options.decimal is not None)
    table = _spread_series(table, options)
    line = table.names_line
    columns = find_columns([str(name) for name in table.frame.columns], options, file, line)
    frame = table.frame[columns.names]
    if not len(frame):
        raise refusal(file, "no rows", "a trace has a row per sample")
    when = frame[columns.time[0]]
    if len(columns.time) > 1:
        parts = (frame[name].astype("string").str.strip() for name in columns.time)
        date, clock = (part.str.replace(r"[ T]00:00:00$", "", regex=True) for part in parts)
        when = date + " " + clock
    time_s, dated = read_times(when, options.time_format, file, table.first_line)
    writes = _read_figures(frame, columns.writes, columns, table, options, file)
    reads = None
    if columns.reads:
        reads = _read_figures(frame, columns.reads, columns, table, options, file)
    if reads is not None and reads[1] != writes[1]:
        raise refusal(file, "writes and reads are a bandwidth and a size", "write both alike")
    stem = path.name.split(".")[0]
    for name, rows in _clusters(frame, columns, stem, file):
        if columns.host is not None:
            _check_hosts(frame[columns.host].iloc[rows], time_s[rows], columns.host, options, file)
        raw = Raw(
            name,
            file,
            time_s[rows],
            writes[0][rows],
            None if reads is None else reads[0][rows],
            writes[1],
            dated,
            options.sum,
        )
        raw = _sum_by_time(raw) if options.sum else raw
        if len(raw.time_s) > MOST_SAMPLES:
            raise too_long(name, file)
        yield raw


def _clusters(
    frame: pd.DataFrame, columns: Columns, stem: str, file: str
) -> Iterator[tuple[str, Any]]:
    """Yield each cluster's name and rows."""
    if columns.cluster is None:
        yield stem, slice(None)
        return
    codes, names = pd.factorize(frame[columns.cluster], use_na_sentinel=False)
    longest = max(len(str(name)) for name in names)
    if len(names) > _MOST_CLUSTERS or longest > _MOST_NAME:
        message = f"{len(names):,} clusters, names of up to {longest:,} characters"
        raise refusal(file, message, "name the column of clusters: --cluster COLUMN")
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    for number, name in enumerate(names):
        rows = order[ends[number - 1] if number else 0 : ends[number]]
        yield (stem if pd.isna(name) else str(name)), rows


def _check_hosts(
    hosts: pd.Series[Any], time_s: Numbers, column: str, options: ReadOptions, file: str
) -> None:
    """Refuse rows of several hosts that are not to be added up, or have no times in common."""
    names = hosts.dropna().unique()
    if len(names) < 2:
        return
    if not options.sum:
        message = f"rows of {len(names)} hosts: column '{column}' has '{names[0]}', '{names[1]}'"
        fix = f"a cluster each: --cluster '{column}'; or add them up: --sum"
        raise refusal(file, message, fix)
    if len(np.unique(time_s)) == len(time_s):
        message = "rows of several hosts have times of their own, and cannot be added up"
        raise refusal(file, message, "bring them to common times, or --cluster COLUMN")


def _sum_by_time(raw: Raw) -> Raw:
    """Return one row per time, the sum of all; missing where rows of a time are.

    Raises:
        InputError: the rows have no times in common.
    """
    known = np.isfinite(raw.time_s)
    time, place, rows = np.unique(raw.time_s[known], return_inverse=True, return_counts=True)
    if not len(time):
        return raw
    usual = int(np.median(rows))
    others = int(np.sum(rows != usual))
    if others > _PARTIAL * len(time):
        message = (
            f"{others:,} of {len(time):,} times have more or fewer than the usual {usual:,} rows"
        )
        raise refusal(raw.file, message, "give every host a row at each time, 0 where it is idle")

    def total(figures: Figures) -> Numbers:
        return np.where(rows == usual, np.bincount(place, figures[known], len(time)), np.nan)

    read = None if raw.read is None else total(raw.read)
    return Raw(raw.cluster, raw.file, time, total(raw.write), read, raw.is_rate, raw.dated, True)


def _spread_series(table: RawTable, options: ReadOptions) -> RawTable:
    """Return a table in long form (a row per series and time) with a column per series.

    Long form is recognised by a column of values beside a column of text that names writes.
    """
    frame = table.frame
    values = [name for name in frame.columns if _VALUE.match(str(name))]
    if len(values) != 1 or options.write in frame.columns:
        return table
    texts = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    for name in texts:
        series = frame[name].dropna().unique()
        if len(series) <= _MOST_CLUSTERS and any(
            PATTERNS["write"].search(str(one)) or str(one) == options.write for one in series
        ):
            keys = [each for each in frame.columns if each in (options.time, options.cluster)]
            keys += [each for each in frame.columns if PATTERNS["time"].search(str(each))]
            keys += [each for each in frame.columns if PATTERNS["cluster"].search(str(each))]
            keys = list(dict.fromkeys(key for key in keys if key != name))
            rows = frame.drop_duplicates([*keys, name], keep="first")
            if len(rows) < len(frame):  # several hosts: refused, since no sum was asked for
                return table
            wide = rows.pivot(index=keys, columns=name, values=values[0]).reset_index()
            return RawTable(wide.rename_axis(columns=None), None)
    return table


# Figures


def _read_figures(
    frame: pd.DataFrame,
    names: Sequence[str],
    columns: Columns,
    table: RawTable,
    options: ReadOptions,
    file: str,
) -> tuple[Numbers, bool]:
    """Return the sum of columns of traffic in GB/s or GB, and whether it is a bandwidth."""
    total, is_rate = np.zeros(len(frame)), None
    for name in names:
        numbers, unit = _numbers(frame[name], columns.unit, table, options, file)
        if unit is None:
            raise no_unit(name, file, table.names_line)
        if is_rate not in (None, unit[1]):
            raise refusal(file, "columns are bandwidths as well as sizes", "write all alike")
        total, is_rate = total + numbers * unit[0], unit[1]
    return total, bool(is_rate)


def _numbers(
    cells: pd.Series[Any], unit: Unit | None, table: RawTable, options: ReadOptions, file: str
) -> tuple[Numbers, Unit | None]:
    """Return a column of traffic as numbers, and their unit."""
    kind = cells.dtype
    if isinstance(kind, np.dtype) and kind.kind in "iuf":
        return cells.to_numpy(float), unit
    if isinstance(kind, np.dtype) and kind.kind in "bmM":
        raise refusal(file, f"column '{cells.name}' holds {kind}, not numbers")
    text = cells.astype("string").str.replace("\N{NO-BREAK SPACE}", " ").str.strip()
    text = text.mask(text.isin(EMPTY))
    parts = text.str.extract(_CELL)
    number = parts[0].str.replace("[' ]", "", regex=True)
    if options.decimal == ",":
        number = number.str.replace(".", "").str.replace(",", ".")
    elif options.decimal == ".":
        number = number.str.replace(",", "")
    bad = np.flatnonzero(text.notna() & ~number.str.fullmatch(_PLAIN).fillna(False))
    if len(bad):
        cell, fix = str(text.iloc[bad[0]]), "write every figure alike"
        if "," in cell:
            fix = "give the decimal mark: --decimal , or --decimal ."
        raise _refuse_cell(f"'{cell[:60]}' is not a number", fix, table, file, int(bad[0]))
    numbers = number.astype("Float64").to_numpy(float, na_value=np.nan)
    own = parts[1].where(text.notna())
    if options.unit is not None and own.nunique() > 1:
        shown = ", ".join(map(str, own.dropna().unique()[:3]))
        message = f"cells of '{cells.name}' have units of their own: {shown}"
        fix = "leave out --unit"
        raise InputError(Finding("option", message, file, path="--unit", fix=fix))
    if options.unit is not None or own.isna().all():
        return numbers, unit
    return _own_units(numbers, text, own, table, options, file)


def _own_units(
    numbers: Numbers,
    text: pd.Series[Any],
    own: pd.Series[Any],
    table: RawTable,
    options: ReadOptions,
    file: str,
) -> tuple[Numbers, Unit]:
    """Return figures whose cells have units (``12.5 GB/s``), in GB/s or GB."""
    codes, words = pd.factorize(own)
    known = [traffic_unit(str(word)) for word in words]
    wrong = (text.notna() & own.isna()).to_numpy() | np.isin(
        codes, [at for at, unit in enumerate(known) if unit is None]
    )
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        message = f"'{str(text.iloc[place])[:60]}' has no unit of traffic"
        fix = "write for example 12.5 GB/s, or figures alone and --unit GB/s"
        raise _refuse_cell(message, fix, table, file, place)
    units = [unit for unit in known if unit is not None]
    if len({is_rate for _, is_rate in units}) > 1:
        message = f"cells of '{text.name}' are bandwidths as well as sizes"
        raise refusal(file, message, "write every figure alike")
    factors = np.array([factor for factor, _ in units])
    is_rate = units[0][1] if options.read_as is None else options.read_as == "rate"
    return numbers * factors[codes], (1.0, is_rate)


def _refuse_cell(message: str, fix: str, table: RawTable, file: str, place: int) -> InputError:
    if table.first_line is None:
        return refusal(file, f"row {place + 1}: {message}", fix)
    return refusal(file, message, fix, line=table.first_line + place)


# Files


def read_table(
    path: Path, what: str, options: ReadOptions | None = None, *, as_text: bool = False
) -> RawTable:
    """Return the table in a file, recognised by its first bytes.

    Args:
        path: a regular file: CSV, .xlsx, JSON (an object per line, or a list of objects), Parquet.
        what: kind of file in a word, for messages.
        options: columns of a trace, so that no others are read of Parquet; None: all.
        as_text: leave cells of CSV as they are written.

    Raises:
        InputError: the file cannot be read, or holds no table.
    """
    try:
        with pa.input_stream(path, compression="detect") as stream:
            head = stream.read(_HEAD_BYTES)
    except (OSError, pa.ArrowException, MemoryError) as error:
        raise unreadable(path, error) from None
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for magic, message, fix in (
        (b"\xd0\xcf\x11\xe0", "is an Excel file of the old kind", "save it as .xlsx or CSV"),
        (b"\x1f\x8b", "is packed by gzip, and its name does not end in .gz", "unpack it"),
        (b"\x89HDF", "is HDF5, which is not read", "export it as CSV or Parquet"),
    ):
        if head.startswith(magic):
            raise refusal(path, message, fix)
    if start.startswith(b"PAR1"):
        return _read_parquet(path, options)
    if start.startswith(b"PK\x03\x04"):
        return _read_xlsx(path, what)
    if start.startswith((b"{", b"[")):
        return _read_json(path, what)
    return _read_csv(path, head, what, as_text)


def _read_parquet(path: Path, options: ReadOptions | None) -> RawTable:
    try:
        if options is None:
            return RawTable(parquet.read_table(path).to_pandas(), None)
        schema = parquet.read_schema(path)
        columns = find_columns(schema.names, options, str(path), None)
        wanted = columns.names
        for name in wanted:
            _require_cells(name, schema.field(name).type, path)
        coded = [n for n in (columns.cluster, columns.host) if n is not None]
        coded = [name for name in coded if pa.types.is_string(schema.field(name).type)]
        found = parquet.ParquetFile(path, read_dictionary=coded).read(wanted)
        return RawTable(found.to_pandas(), None)
    except (OSError, pa.ArrowException, MemoryError, OverflowError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None


def _require_cells(name: str, kind: Any, path: Path) -> None:
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_null(kind):
        raise refusal(path, f"column '{name}' holds {str(kind)[:60]}, not numbers, times or names")


def _read_xlsx(path: Path, what: str) -> RawTable:
    book = open_xlsx(path, without=f"save the {what} as CSV", shown=True)
    sheet = book.worksheets[0]
    rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    top = next((at for at, row in enumerate(rows) if any(cell is not None for cell in row)), None)
    if top is None or top + 1 >= len(rows):
        raise refusal(path, "no rows on the first sheet", "it has names and a row per sample")
    named = [at for at, cell in enumerate(rows[top]) if cell is not None]
    names = [str(rows[top][at]).strip() for at in named]
    cells = [[row[at] for at in named] for row in rows[top + 1 :]]
    frame = pd.DataFrame(cells, columns=pd.Index(_distinct(names)))
    return RawTable(frame.dropna(how="all").infer_objects(), top + 2)


def _read_json(path: Path, what: str) -> RawTable:
    data = contents(path, most_bytes=_MOST_JSON_BYTES, what=what)
    fix = "it has an object per line, or a list of objects, each a sample"
    if data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
        rows = json_of(data, str(path), fix)
    else:
        lines = enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1)
        rows = [_read_json_line(line, path, number, fix) for number, line in lines if line.strip()]
    if len(rows) == 1 and isinstance(rows[0], dict) and "data" in rows[0]:
        message = "is an answer of Prometheus, which is not read"
        raise refusal(path, message, "export the query as CSV, for example from Grafana")
    if not any(rows) or not all(isinstance(row, dict) for row in rows):
        raise refusal(path, "holds no samples", fix)
    if any(isinstance(cell, dict | list) for row in rows for cell in row.values()):
        raise refusal(path, "holds lists or objects inside a sample", fix)
    return RawTable(pd.DataFrame.from_records(rows), None)


def _read_json_line(line: bytes, path: Path, number: int, fix: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise refusal(path, "is no JSON object", fix, line=number) from None


def _read_csv(path: Path, head: bytes, what: str, as_text: bool) -> RawTable:
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = head.decode(encoding, errors="ignore" if len(head) == _HEAD_BYTES else "strict")
        if "\0" in text:
            raise UnicodeError
    except UnicodeError:
        fix = f"save the {what} as CSV in UTF-8"
        raise InputError(Finding(what, "is not text in UTF-8", str(path), fix=fix)) from None
    place, names, mark = _find_names(text.splitlines(), path, what)
    source: Any = _unpack(path) if path.suffix.lower() in _PACKED else path
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                source,
                sep=mark,
                header=None,
                names=_distinct(names),
                skiprows=place + 1,
                index_col=False,
                encoding=encoding,
                skip_blank_lines=False,
                keep_default_na=False,
                na_values=list(EMPTY),
                low_memory=False,
                skipinitialspace=True,
                dtype=str if as_text else None,
            )
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame(columns=pd.Index(names))
    except (pd.errors.ParserError, pd.errors.ParserWarning, ValueError, OverflowError) as error:
        raise _broken_row(path, error, what, mark) from None
    except (OSError, MemoryError, EOFError) as error:
        raise unreadable(path, error) from None
    if not len(frame):
        fix = f"a {what} has a line of names and a line per row"
        raise InputError(Finding(what, "no rows", str(path), place + 1, fix=fix))
    return RawTable(frame, place + 2)


def _unpack(path: Path) -> io.BytesIO:
    """Return the contents of a packed file, as far as its reader can bear."""
    try:
        with pa.input_stream(path, compression="detect") as stream:
            data = stream.read(_MOST_UNPACKED_BYTES + 1)
    except (OSError, pa.ArrowException, MemoryError) as error:
        raise unreadable(path, error) from None
    if len(data) > _MOST_UNPACKED_BYTES:
        message = f"unpacks to more than {in_words(_MOST_UNPACKED_BYTES)}"
        raise refusal(path, message, "unpack it first, if that is right")
    return io.BytesIO(data)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of which none comes twice: a second one gets blanks behind it."""
    return [name + "\0" * names[:at].count(name) for at, name in enumerate(names)]


def _find_names(lines: Sequence[str], path: Path, what: str) -> tuple[int, list[str], str]:
    """Return the line of the names, the names, and the mark between columns.

    Names are in the last line that is not empty above the first row with a number or a date.
    """
    marks = ",;\t|"
    if lines and (match := re.match(r"(?i)sep=(.)$", lines[0].strip())):
        lines, marks = ["", *lines[1:]], match[1]
    found = [top for mark in marks if (top := _top_row(lines, mark)) is not None]
    if not found:
        if not any(line.strip() for line in lines):
            raise InputError(Finding(what, "the file is empty", str(path), 1))
        at = next((at for at, line in enumerate(lines) if line.strip() and line[0] != "#"), 0)
        mark = max(marks, key=lambda mark: len(_cells(lines[at], mark)))
        return at, [cell.strip() for cell in _cells(lines[at], mark)], mark
    _, _, first, mark = max(found)
    above = next((at for at in range(first - 1, -1, -1) if lines[at].strip()), None)
    if above is None:
        message = "the first line holds a sample, not the names of columns"
        fix = "put a line such as time,write_gb_per_s above it"
        raise InputError(Finding(what, message, str(path), first + 1, fix=fix))
    names = [cell.strip() for cell in _cells(lines[above].lstrip("# "), mark)]
    cells = _cells(lines[first], mark)
    if len(cells) > len(names) and any(cells[len(names) :]):
        message = f"{len(cells)} cells below {len(names)} names"
        fix = "each row has as many cells as there are names"
        raise InputError(Finding(what, message, str(path), first + 1, fix=fix))
    return above, names, mark


def _top_row(lines: Sequence[str], mark: str) -> tuple[bool, int, int, str] | None:
    """Return the place of the first row that a mark separates, to compare: whether it has as many
    cells as the line above, and how many."""
    first = next((at for at, line in enumerate(lines) if _is_row(line, mark)), None)
    if first is None:
        return None
    above = next((line for line in reversed(lines[:first]) if line.strip()), "")
    width = len(_cells(lines[first], mark))
    return width == len(_cells(above, mark)), width, first, mark


def _cells(line: str, mark: str) -> list[str]:
    return next(csv.reader([line], delimiter=mark), [])


def _is_row(line: str, mark: str) -> bool:
    """True for a line of at least two cells of which one is a number, a quantity or a date."""
    if line.startswith("#"):
        return False
    cells = _cells(line, mark)
    return len(cells) > 1 and any(_DATA_CELL.match(cell.strip()) for cell in cells)


def _broken_row(path: Path, error: Exception, what: str, mark: str) -> InputError:
    text = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
    line = _PARSER_LINE.search(text)
    fix = "each row has as many cells as there are names"
    if mark == ",":
        fix += "; quote figures with decimal commas, or separate columns by semicolons"
    if "Length of header" in text:
        text = "a row has more cells than there are names"
    return InputError(Finding(what, text[:200], str(path), int(line[1]) if line else None, fix=fix))
