"""Times in cells of a table: seconds since 1970, or seconds on a clock without dates."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from planner.errors import Finding, InputError
from planner.telemetry.raw import DATED_FROM_S, LAST_S, Numbers, refusal
from planner.units import DAY_S, HOUR_S

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "min": 60.0,
    "minutes": 60.0,
    "h": HOUR_S,
    "hours": HOUR_S,
    "d": DAY_S,
    "days": DAY_S,
}
_UNIT = re.compile(r"(?i)[^a-z](ns|us|ms|s|sec|seconds|min|minutes|h|hours|d|days)\W*$")
_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?(\s?[AaPp][Mm])?$")
_FORMATS = tuple(
    mark.join(order) + clock
    for mark, order, clock in product(
        "/.-",
        (
            ("%Y", "%m", "%d"),
            ("%d", "%m", "%Y"),
            ("%m", "%d", "%Y"),
            ("%d", "%m", "%y"),
            ("%m", "%d", "%y"),
        ),
        ("", " %H:%M:%S", " %H:%M", " %H:%M:%S.%f", " %I:%M:%S %p", " %I:%M %p"),
    )
)
_FIX = (
    "write seconds, or for example 2026-01-01T00:00:00Z, or give the format: "
    "--time-format '%m/%d/%Y %H:%M:%S'"
)
_SHOWN = 5000
"""Distinct cells by which the format is chosen."""


def read_times(
    cells: pd.Series[Any], form: str | None, file: str, first_line: int | None
) -> tuple[Numbers, bool]:
    """Return times in seconds, NaN where a cell is empty, and whether they count from 1970.

    Text is ISO 8601, or dates in the one order of day and month that every cell allows; times
    without a zone are UTC. Numbers are in the unit that ends the column's name (``time_ms``), else
    in the unit of s, ms, us, ns that makes dates after 1985 of them, else in s.

    Args:
        cells: the column; its name may hold the unit.
        form: format of ``strptime``; None recognises it.
        file: name for messages.
        first_line: line of the first cell; None for files without lines.

    Raises:
        InputError: a cell is no time, or day and month could be either way round.
    """
    seconds, dated = _read(cells, form, file, first_line)
    beyond = np.flatnonzero(np.abs(np.nan_to_num(seconds)) > LAST_S)
    if len(beyond):
        message = f"'{str(cells.iloc[beyond[0]])[:40]}' is a time beyond the year 2200"
        fix = "name the column of times with --time, or its format with --time-format"
        raise _refuse(message, fix, file, first_line, int(beyond[0]))
    return seconds, dated


def _read(
    cells: pd.Series[Any], form: str | None, file: str, first_line: int | None
) -> tuple[Numbers, bool]:
    if form is None and isinstance(cells.dtype, np.dtype) and cells.dtype.kind == "m":
        return cells.dt.total_seconds().to_numpy(float), False
    if form is None and pd.api.types.is_datetime64_any_dtype(cells):
        return _since_1970(cells), True
    if pd.api.types.is_bool_dtype(cells):
        raise refusal(file, f"column '{cells.name}' holds {cells.dtype}, not times")
    numbers = _as_numbers(cells) if form is None else None
    if numbers is not None:
        wrong = np.flatnonzero(cells.notna() & numbers.isna())
        if not len(wrong):
            return _scale(numbers.to_numpy(float), str(cells.name))
    else:
        text = cells.astype("string").str.strip().str.removesuffix(" UTC")
        moments = _moments(text, form, file, first_line)
        wrong = np.flatnonzero(text.notna() & moments.isna())
        if not len(wrong):
            return _since_1970(moments), True
    cell = str(cells.iloc[wrong[0]])[:60]
    message = f"'{cell}' is not a time" if form is None else f"'{cell}' is not like '{form}'"
    raise _refuse(message, _FIX, file, first_line, int(wrong[0]))


def _as_numbers(cells: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return numbers where the first cell is one, NaN for cells that are none; else None."""
    if pd.api.types.is_numeric_dtype(cells):
        return cells
    if pd.api.types.is_string_dtype(cells):
        cells = cells.str.replace(r"^(\d+),(\d+)$", r"\1.\2", regex=True)
    first = cells.first_valid_index()
    try:
        if first is not None and np.isnan(pd.to_numeric(cells.loc[first], errors="coerce")):
            return None
        return pd.to_numeric(cells.where(cells.notna(), None), errors="coerce")
    except (OverflowError, TypeError):
        return None


def _since_1970(moments: pd.Series[Any]) -> Numbers:
    utc = moments.dt.tz_convert("UTC").dt.tz_localize(None) if moments.dt.tz else moments
    values = utc.to_numpy()
    per_s = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[np.datetime_data(values.dtype)[0]]
    return np.where(np.isnat(values), np.nan, values.astype(np.int64) / per_s)


def _scale(numbers: Numbers, name: str) -> tuple[Numbers, bool]:
    unit = _UNIT.search(name)
    known = np.abs(numbers[np.isfinite(numbers)])
    largest = float(known.max()) if len(known) else 0.0
    factor = 1.0 if unit is None else _UNITS[unit[1].lower()]
    if unit is None and largest > LAST_S:
        dated = (each for each in (1e-3, 1e-6, 1e-9) if DATED_FROM_S < largest * each <= LAST_S)
        factor = next(dated, 1.0)
    return numbers * factor, bool(len(known) and np.median(known) * factor > DATED_FROM_S)


def _moments(
    text: pd.Series[Any], form: str | None, file: str, first_line: int | None
) -> pd.Series[Any]:
    try:
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
    shown = str(text.loc[first])
    if _OF_DAY.match(shown):
        message = f"'{shown}' is a time of day without a date"
        fix = "name the column of dates as well: --time DATE+TIME"
        raise _refuse(message, fix, file, first_line, int(text.index.get_loc(first)))
    return _by_format(text, found, file, first_line)


def _by_format(
    text: pd.Series[Any], nothing: pd.Series[Any], file: str, first_line: int | None
) -> pd.Series[Any]:
    """Return dates in the one format that fits all cells, ``nothing`` where none fits the first."""
    sample = text.dropna().drop_duplicates().head(_SHOWN)
    fitting = [form for form in _FORMATS if _fits(sample.iloc[:1], form)]
    best = [form for form in fitting if _fits(sample, form)] or fitting[:1]
    if not best:
        return nothing
    parsed = [pd.to_datetime(text, format=form, utc=True, errors="coerce") for form in best]
    complete = [each for each in parsed if each.notna().equals(text.notna())] or parsed[:1]
    if any(not each.equals(complete[0]) for each in complete[1:]):
        message = f"'{sample.iloc[0]}' may begin with the day or the month"
        fix = f"give the format: --time-format {' or '.join(repr(form) for form in best[:2])}"
        raise _refuse(message, fix, file, first_line, 0)
    return complete[0]


def _fits(sample: pd.Series[Any], form: str) -> bool:
    return bool(pd.to_datetime(sample, format=form, utc=True, errors="coerce").notna().all())


def _refuse(message: str, fix: str, file: str, first_line: int | None, place: int) -> InputError:
    if first_line is None:
        return refusal(file, f"row {place + 1}: {message}", fix)
    return refusal(file, message, fix, line=first_line + place)
