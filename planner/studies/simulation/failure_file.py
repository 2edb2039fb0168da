"""Measured failures in a CSV file: times between interruptions, or when they were."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from planner import units
from planner.errors import Finding, InputError, did_you_mean
from planner.foreign_files import contents
from planner.simulation.world import Empirical

MOST_BYTES = 50_000_000
_FEWEST = 2
_UNIT_FIX = "name the column for its unit (gap_h, gap_s), or write the unit: '3.2 h'"


def read_times(path: Path, column: str | None) -> Empirical:
    """Return the times between interruptions of a file.

    A column holds times, whose unit its name ends in (``gap_h``) or each of them states
    (``3.2 h``), or dates with a time of day (ISO 8601), which need not be in order.

    Args:
        path: the file; its first row names the columns.
        column: which one, None where there is no other.

    Raises:
        InputError: the file cannot be read, or the column holds something else.
    """
    rows = _rows(path)
    name, place = _column(path, rows[0][1], column)
    cells = [(line, row[place].strip()) for line, row in rows[1:] if len(row) > place]
    cells = [(line, cell) for line, cell in cells if cell]
    dated = bool(cells) and _moment(cells[0][1]) is not None
    gaps = _between(path, name, cells) if dated else _gaps(path, name, cells)
    if len(gaps) < _FEWEST:
        message = f"column '{name}' has {len(gaps)} times between interruptions"
        raise InputError(
            Finding("failures", message, str(path), fix=f"{_FEWEST} or more are needed")
        )
    return Empirical(tuple(gaps))


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, with their lines; the first names the columns."""
    data = contents(path, most_bytes=MOST_BYTES, what="file of failures")
    try:
        stream = io.StringIO(data.decode("utf-8-sig"), newline="")
        mark = ";" if ";" in (first := stream.readline()) and "," not in first else ","
        stream.seek(0)
        reader = csv.reader(stream, delimiter=mark)
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error):
        message = "not a text file; failures are CSV in UTF-8"
        raise InputError(Finding("not-text", message, str(path))) from None
    if not rows:
        fix = "its first row names the columns, each further one is an interruption"
        raise InputError(Finding("failures", "the file is empty", str(path), fix=fix))
    return rows


def _column(path: Path, names: Sequence[str], column: str | None) -> tuple[str, int]:
    known = [name.strip() for name in names]
    if column is None and len(known) == 1:
        return known[0], 0
    if column in known:
        return column, known.index(column)
    listed = ", ".join(known[:8])
    if column is None:
        message, fix = f"there are several columns: {listed}", "choose one with --column"
    else:
        message = f"there is no column '{column[:40]}'"
        fix = did_you_mean(column, known) or f"there are: {listed}"
    raise InputError(Finding("column", message, str(path), 1, fix=fix))


def _gaps(path: Path, name: str, cells: Sequence[tuple[int, str]]) -> list[float]:
    unit = _unit_of(name)
    gaps = []
    for line, cell in cells:
        bare = cell.replace(".", "", 1).replace("e", "", 1).lstrip("+-").isdigit()
        if bare and unit is None:
            message = f"'{cell[:40]}' in column '{name}' has no unit"
            raise InputError(Finding("failures", message, str(path), line, fix=_UNIT_FIX))
        try:
            value = units.parse(f"{cell} {unit}" if bare else cell, units.TIME)
        except units.QuantityError as error:
            raise InputError(
                Finding("failures", f"column '{name}': {error}", str(path), line, fix=error.fix)
            ) from None
        if not 0 < value < math.inf:
            message = f"column '{name}': a time between interruptions must be more than 0: '{cell}'"
            raise InputError(Finding("failures", message, str(path), line))
        gaps.append(value)
    return gaps


def _unit_of(name: str) -> str | None:
    """Return the unit of time that a column's name ends in."""
    last = name.strip().rstrip(")]").replace("(", "_").replace("[", "_").replace(" ", "_")
    unit = last.rsplit("_", 1)[-1]
    try:
        units.parse(f"1 {unit}", units.TIME)
    except units.QuantityError:
        return None
    return unit


def _between(path: Path, name: str, cells: Sequence[tuple[int, str]]) -> list[float]:
    moments = set()
    for line, cell in cells:
        moment = _moment(cell)
        if moment is None:
            message = f"column '{name}': cannot read '{cell[:40]}' as a date"
            fix = "write for example 2026-03-01T14:30:00"
            raise InputError(Finding("failures", message, str(path), line, fix=fix))
        moments.add(moment)
    return [(late - early).total_seconds() for early, late in pairwise(sorted(moments))]


def _moment(text: str) -> datetime | None:
    if len(text) < len("2026-03-01") or text[4:5] != "-":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
