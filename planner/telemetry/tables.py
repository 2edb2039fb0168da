"""Tables in CSV, Excel, JSON and Parquet files, read by pandas and pyarrow; times in their cells.

A table is a data frame whose index is the line of each row in its file (JSON lists and Parquet: the
number of the row).
"""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from planner import units
from planner.errors import Finding, InputError
from planner.files import contents, in_words, json_of, open_xlsx

Numbers = NDArray[np.float64]
Cells: TypeAlias = "pd.Series[Any]"

EMPTY = ("", "NaN", "nan", "NA", "N/A", "null", "NULL", "None", "-", "#N/A", "inf", "-inf", "Inf")
"""Cells without a value."""

DATED_FROM_S = 5e8
"""Numbers above this are seconds since 1970 (it was 1985); smaller ones have no date."""

_LAST_S = 7_258_118_400.0  # the year 2200
_MOST_JSON_BYTES, _HEAD_BYTES, _MOST_UNPACKED_BYTES = 100_000_000, 1 << 16, 2_000_000_000
_DATA_CELL = re.compile(
    r"[-+]?\d[\d.,']*([eE][-+]?\d+)?\s*[A-Za-z/]{0,6}$|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}"
)


def read_table(path: Path, what: str, *, as_text: bool = False) -> pd.DataFrame:
    """Table of a file, recognised by its first bytes.

    Args:
        path: a regular file: CSV (also packed), .xlsx, JSON (an object per line, or a list of
            objects), Parquet.
        what: kind of file in a word, for messages.
        as_text: leave cells of CSV as they are written.

    Raises:
        InputError: the file cannot be read, or holds no table.
    """
    try:
        with pa.input_stream(path, compression="detect") as stream:
            head = stream.read(_HEAD_BYTES)
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start.startswith(b"PAR1"):
            found = parquet.read_table(path).to_pandas(strings_to_categorical=True)
            found.index = pd.RangeIndex(1, len(found) + 1)
        elif start.startswith(b"PK\x03\x04"):
            found = _read_xlsx(path, what)
        elif start.startswith((b"{", b"[")):
            found = _read_json(path, what)
        else:
            found = _read_csv(path, head, what, as_text)
    except FileNotFoundError:
        raise InputError(Finding("file", "no such file", str(path))) from None
    except (OSError, pa.ArrowException, MemoryError, OverflowError, UnicodeError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())[:160].lower()
        fix = "give a CSV, Excel, JSON or Parquet file"
        message = f"cannot be read: {reason or type(error).__name__}"
        raise InputError(Finding(what, message, str(path), fix=fix)) from None
    if not len(found):
        fix = f"a {what} has a line of names and a line per row"
        raise InputError(Finding(what, "no rows", str(path), 1, fix=fix))
    return found


def names_line(frame: pd.DataFrame) -> int | None:
    """Line with the names of columns; None for files without lines."""
    return int(frame.index[0]) - 1 or None


def _read_xlsx(path: Path, what: str) -> pd.DataFrame:
    sheet = open_xlsx(path, without=f"save the {what} as CSV", shown=True).worksheets[0]
    rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    top = next((at for at, row in enumerate(rows) if any(cell is not None for cell in row)), 0)
    named = [at for at, cell in enumerate(rows[top]) if cell is not None] if rows else []
    names = _distinct([str(rows[top][at]).strip() for at in named])
    cells = [[row[at] for at in named] for row in rows[top + 1 :]]
    frame = pd.DataFrame(cells, columns=pd.Index(names))
    frame.index += top + 2
    return frame.dropna(how="all").infer_objects()


def _read_json(path: Path, what: str) -> pd.DataFrame:
    data = contents(path, most_bytes=_MOST_JSON_BYTES, what=what).removeprefix(b"\xef\xbb\xbf")
    fix = "it has an object per line, or a list of objects, each a row"
    rows: list[Any] = []
    if data.lstrip().startswith(b"["):
        rows = json_of(data, str(path), fix)
    else:
        for number, line in enumerate(data.splitlines(), start=1):
            try:
                rows += [json.loads(line)] if line.strip() else []
            except (ValueError, RecursionError):
                message = "is no JSON object"
                raise InputError(Finding(what, message, str(path), number, fix=fix)) from None
    flat = all(
        isinstance(row, dict) and not any(isinstance(cell, dict | list) for cell in row.values())
        for row in rows
    )
    if not flat or not any(rows):
        message = "holds lists or objects inside a row" if any(rows) else "holds no rows"
        raise InputError(Finding(what, message, str(path), fix=fix))
    frame = pd.DataFrame.from_records(rows)
    frame.index += 1
    return frame


def _read_csv(path: Path, head: bytes, what: str, as_text: bool) -> pd.DataFrame:
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = head.decode(encoding, errors="ignore" if len(head) == _HEAD_BYTES else "strict")
        if "\0" in text:
            raise UnicodeError
    except UnicodeError:
        fix = f"save the {what} as CSV in UTF-8"
        raise InputError(Finding(what, "is not text in UTF-8", str(path), fix=fix)) from None
    place, names, mark = _find_names(text.splitlines(), path, what)
    with pa.input_stream(path, compression="detect") as stream:
        data = stream.read(_MOST_UNPACKED_BYTES + 1)
    if len(data) > _MOST_UNPACKED_BYTES:
        message = f"has more than {in_words(_MOST_UNPACKED_BYTES)} of text"
        raise InputError(Finding(what, message, str(path), fix="save it as Parquet"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.BytesIO(data),
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
        return pd.DataFrame()
    except (pd.errors.ParserError, pd.errors.ParserWarning, ValueError, OverflowError) as error:
        raise _broken_row(path, error, what, mark) from None
    frame.index += place + 2
    return frame


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of which none comes twice: a second one gets zeros behind it."""
    return [name + "\0" * names[:at].count(name) for at, name in enumerate(names)]


def _find_names(lines: Sequence[str], path: Path, what: str) -> tuple[int, list[str], str]:
    """Line of the names, the names, and the mark between columns.

    Names are in the last line that is not empty above the first row with a number or a date.
    """
    found = [top for mark in ",;\t|" if (top := _top_row(lines, mark)) is not None]
    if not found:
        at = next((at for at, line in enumerate(lines) if line.strip() and line[0] != "#"), None)
        if at is None:
            raise InputError(Finding(what, "the file is empty", str(path), 1))
        mark = max(",;\t|", key=lambda mark: len(_cells(lines[at], mark)))
        return at, _cells(lines[at], mark), mark
    _, _, first, mark = max(found)
    above = next((at for at in range(first - 1, -1, -1) if lines[at].strip()), None)
    if above is None:
        message = "the first line holds a sample, not the names of columns"
        fix = "put a line such as time,write_gb_per_s above it"
        raise InputError(Finding(what, message, str(path), first + 1, fix=fix))
    names = _cells(lines[above].lstrip("# "), mark)
    cells = _cells(lines[first], mark)
    if len(cells) > len(names) and any(cells[len(names) :]):
        message = f"{len(cells)} cells below {len(names)} names"
        fix = "each row has as many cells as there are names"
        raise InputError(Finding(what, message, str(path), first + 1, fix=fix))
    return above, names, mark


def _top_row(lines: Sequence[str], mark: str) -> tuple[bool, int, int, str] | None:
    """Place of the first row that a mark separates, to compare: whether it has as many cells as the
    line above, and how many."""
    for first, line in enumerate(lines):
        cells = _cells(line, mark)
        if not line.startswith("#") and len(cells) > 1 and any(map(_DATA_CELL.match, cells)):
            above = next((line for line in reversed(lines[:first]) if line.strip()), "")
            return len(cells) == len(_cells(above, mark)), len(cells), first, mark
    return None


def _cells(line: str, mark: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=mark), [])]


def _broken_row(path: Path, error: Exception, what: str, mark: str) -> InputError:
    text = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
    line = re.search(r"line (\d+)", text)
    fix = "each row has as many cells as there are names"
    if mark == ",":
        fix += "; quote figures with decimal commas, or separate columns by semicolons"
    if "Length of header" in text:
        text = "a row has more cells than there are names"
    return InputError(Finding(what, text[:200], str(path), int(line[1]) if line else None, fix=fix))


# Times

_SHORT_S = {"ns": 1e-9, "us": 1e-6, "sec": 1.0}
_UNIT = re.compile(r"(?i)[^a-z](ns|us|ms|s|sec|seconds|min|minutes|h|hours|d|days)\W*$")
_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?(\s?[AaPp][Mm])?$")
_ORDERS = ("%Y{0}%m{0}%d", "%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%d{0}%m{0}%y", "%m{0}%d{0}%y")
_CLOCKS = ("", " %H:%M:%S", " %H:%M", " %H:%M:%S.%f", " %I:%M:%S %p", " %I:%M %p")
_FORMATS = [order.format(m) + clock for m, order, clock in product("/.-", _ORDERS, _CLOCKS)]
_FIX = (
    "write seconds, or for example 2026-01-01T00:00:00Z, or give the format: "
    "--time-format '%m/%d/%Y %H:%M:%S'"
)
_SHOWN = 5000
"""Distinct cells by which the format is chosen."""


def read_times(cells: Cells, form: str | None, file: str) -> tuple[Numbers, bool]:
    """Times in seconds, NaN where a cell is empty, and whether they count from 1970.

    Text is ISO 8601, or dates in the one order of day and month that every cell allows; times
    without a zone are UTC. Numbers are in the unit that ends the column's name (``time_ms``), else
    in the unit of s, ms, us, ns that makes dates after 1985 of them, else in s.

    Args:
        cells: column of a table; its name may hold the unit, its index the lines.
        form: format of ``strptime``; None recognises it.
        file: name for messages.

    Raises:
        InputError: a cell is no time, or day and month could be either way round.
    """
    numbers = _parse_numbers(cells) if form is None else None
    if form is None and pd.api.types.is_datetime64_any_dtype(cells):
        seconds, dated = _since_1970(cells), True
    elif numbers is not None:
        seconds, dated = _scale(numbers.to_numpy(float, na_value=np.nan), str(cells.name))
    else:
        text = cells.astype("string").str.strip().str.removesuffix(" UTC")
        seconds, dated = _since_1970(_moments(text, form, file)), True
    for wrong, message, fix in (
        (cells.notna() & np.isnan(seconds), "'{}' is not a time", _FIX),
        (np.abs(np.nan_to_num(seconds)) > _LAST_S, "'{}' is a time beyond the year 2200", _FIX),
    ):
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            message = message if form is None else f"'{{}}' is not like '{form}'"
            raise _refuse(message.format(str(cells.iloc[at])[:60]), fix, file, cells.index[at])
    return seconds, dated


def _parse_numbers(cells: Cells) -> Cells | None:
    """Numbers where the first cell is one, NaN for cells that are none; else None."""
    if pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells):
        return cells
    text = cells.astype("string").str.replace(r"^(\d+),(\d+)$", r"\1.\2", regex=True)
    numbers = pd.to_numeric(text, errors="coerce")
    first = text.first_valid_index()
    return numbers if first is None or pd.notna(numbers.loc[first]) else None


def _since_1970(moments: Cells) -> Numbers:
    utc = moments.dt.tz_convert("UTC").dt.tz_localize(None) if moments.dt.tz else moments
    values = utc.to_numpy().astype("datetime64[us]")
    return np.where(np.isnat(values), np.nan, values.astype(np.int64) / 1e6)


def _scale(numbers: Numbers, name: str) -> tuple[Numbers, bool]:
    unit = _UNIT.search(name)
    known = np.abs(numbers[np.isfinite(numbers)])
    largest = float(known.max()) if len(known) else 0.0
    named = "s" if unit is None else unit[1].lower()
    factor = _SHORT_S.get(named) or units.parse(f"1 {named}", units.TIME)
    if unit is None and largest > _LAST_S:
        dated = (each for each in (1e-3, 1e-6, 1e-9) if DATED_FROM_S < largest * each <= _LAST_S)
        factor = next(dated, 1.0)
    return numbers * factor, bool(len(known) and np.median(known) * factor > DATED_FROM_S)


def _moments(text: Cells, form: str | None, file: str) -> Cells:
    try:
        if form is not None and "%" not in form:
            raise ValueError("nothing in it stands for a part of a date")
        if form is not None:
            return pd.to_datetime(text, format=form, utc=True, errors="coerce")
    except ValueError as error:
        message = f"'{form}' is no format of times: {str(error)[:80]}"
        raise InputError(Finding("option", message, path="--time-format", fix=_FIX)) from None
    iso = text.str.replace(r"^(\d{4})/(\d\d)/(\d\d)", r"\1-\2-\3", regex=True).str.replace(",", ".")
    found = pd.to_datetime(iso, format="ISO8601", utc=True, errors="coerce")
    first = text.first_valid_index()
    if first is None or pd.notna(found.loc[first]):
        return found
    if _OF_DAY.match(text.loc[first]):
        message = f"'{text.loc[first]}' is a time of day without a date"
        raise _refuse(message, "name the column of dates as well: --time DATE+TIME", file, first)
    sample = text.dropna().drop_duplicates().head(_SHOWN)
    fitting = [form for form in _FORMATS if _fits(sample.iloc[:1], form)]
    best = [form for form in fitting if _fits(sample, form)] or fitting[:1]
    parsed = [pd.to_datetime(text, format=form, utc=True, errors="coerce") for form in best]
    parsed = [each for each in parsed if each.notna().equals(text.notna())] or parsed or [found]
    if any(not each.equals(parsed[0]) for each in parsed[1:]):
        message = f"'{sample.iloc[0]}' may begin with the day or the month"
        fix = f"give the format: --time-format {' or '.join(repr(form) for form in best[:2])}"
        raise _refuse(message, fix, file, first)
    return parsed[0]


def _fits(sample: Cells, form: str) -> bool:
    return bool(pd.to_datetime(sample, format=form, utc=True, errors="coerce").notna().all())


def _refuse(message: str, fix: str, file: str, line: Any) -> InputError:
    return InputError(Finding("trace", message, file, int(line), fix=fix))
