"""The table of a sweep, read from the file that lies beside its record."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planner.errors import Finding, InputError
from planner.foreign_files import regular
from planner.outputs.sweep_rows import Rows, length
from planner.schema.sensitivity import Sweep

_MOST_BYTES = 10_000_000_000
MOST_ROWS = 200_000
"""So many rows of a table are looked at."""


def beside(record: Path, study: Sweep) -> Rows:
    """Return the columns of a sweep's table: the Parquet file beside its record, or the CSV.

    Args:
        record: the sweep's JSON.
        study: what stands in it.

    Raises:
        InputError: there is no table, it cannot be read, or it is that of another sweep.
    """
    parquet, text = record.with_suffix(".parquet"), record.with_suffix(".csv")
    if parquet.is_file():
        return _checked(parquet, study, _parquet(parquet))
    if text.is_file():
        return _checked(text, study, _csv(text))
    message = f"its table is missing: neither {parquet.name} nor {text.name} lies beside it"
    fix = "put one of them there, or run planner sweep again"
    raise InputError(Finding("no-table", message, str(record), fix=fix))


def _checked(path: Path, study: Sweep, rows: dict[str, list[Any]]) -> Rows:
    missing = [column.name for column in study.columns if column.name not in rows]
    there = length(rows)
    if missing:
        message = f"the table of another sweep: it has no column '{missing[0]}'"
    elif there < min(study.rows, MOST_ROWS):
        message = f"{there:,} rows where the sweep's record tells of {study.rows:,}"
    else:
        return rows
    raise InputError(Finding("table", message, str(path), fix="run planner sweep again"))


def _parquet(path: Path) -> dict[str, list[Any]]:
    from planner.outputs import sweep_parquet

    try:
        return sweep_parquet.columns_of(path, MOST_ROWS)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _csv(path: Path) -> dict[str, list[Any]]:
    regular(path, most_bytes=_MOST_BYTES, what="table")
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream)
            names = next(reader, [])
            lines = [line for line, _ in zip(reader, range(MOST_ROWS), strict=False)]
        columns = zip(*lines, strict=True) if lines else ((),) * len(names)
        return {name: _values(column) for name, column in zip(names, columns, strict=True)}
    except (OSError, ValueError, csv.Error) as error:
        raise _unreadable(path, error) from None


def _values(cells: Sequence[str]) -> list[Any]:
    """Return a column's cells: numbers where all that are there are, else texts."""
    try:
        return [float(cell) if cell else None for cell in cells]
    except ValueError:
        return [cell or None for cell in cells]


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = " ".join(str(getattr(error, "strerror", None) or error).split()).lower()
    fix = "run planner sweep again"
    return InputError(Finding("table", f"cannot be read: {reason}", str(path), fix=fix))
