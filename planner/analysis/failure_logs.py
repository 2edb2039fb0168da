"""Failures of a real system, read from its log: times between interruptions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from planner import units
from planner.errors import Finding, InputError, did_you_mean
from planner.simulation.job import Array, Law, empirical
from planner.telemetry.tables import names_line, read_table, read_times
from planner.untrusted_files import regular

_MOST_BYTES = 200_000_000
_FEWEST = 2
_STATES = ("FAILED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY")
"""States of Slurm's `sacct` that end a job by a failure."""

_UNIT = re.compile(r"(?i)[^a-z](ms|s|sec|min|h|hours?|d|days?)\W*$|^(hours|days|minutes|seconds)$")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_UNIT_FIX = "name the column for its unit (gap_h, gap_s), or write the unit: '3.2 h'"


def read_failures(path: Path, column: str | None = None, form: str | None = None) -> Law:
    """Law of the times between interruptions in a file.

    A column holds times between interruptions, in the unit that ends its name (``gap_h``) or each
    cell states (``3.2 h``); or dates, in any order, which `read_times` reads. Of the answer of
    `sacct -P` rows of jobs (not steps) that failed count, by ``End`` where no column is named.

    Args:
        path: a CSV, Excel, JSON or Parquet file.
        column: the column; None where there is no other, and for `sacct`.
        form: format of dates, as ``strptime`` has it.

    Raises:
        InputError: the file cannot be read, or the column holds something else.
    """
    regular(path, most_bytes=_MOST_BYTES, what="file of failures")
    frame = read_table(path, "failures", as_text=True)
    line = names_line(frame)
    if {"JobID", "State"} <= set(frame.columns):
        column = column or ("End" if "End" in frame.columns else None)
        state = frame["State"].astype("string").str.split().str[0]
        frame = frame[
            state.isin(_STATES) & ~frame["JobID"].astype("string").str.contains(".", regex=False)
        ]
    name = _column([str(each) for each in frame.columns], column, path, line)
    cells = frame[name].dropna()
    gaps = _gaps(cells, path) if form is None else None
    if gaps is None:
        seconds, _ = read_times(frame[name], form, str(path))
        gaps = np.diff(np.unique(seconds[np.isfinite(seconds)]))
    if len(gaps) < _FEWEST:
        message = f"column '{name}' has {len(gaps)} times between interruptions"
        fix = f"{_FEWEST} or more are needed"
        raise InputError(Finding("failures", message, str(path), fix=fix))
    return empirical(tuple(gaps.tolist()))


def _column(names: list[str], asked: str | None, path: Path, line: int | None) -> str:
    if asked in names:
        return str(asked)
    if asked is None and len(names) == 1:
        return names[0]
    listed = ", ".join(names[:12])
    if asked is None:
        message, fix = f"there are several columns: {listed}", "choose one: --failures FILE=COLUMN"
    else:
        message = f"there is no column '{asked[:60]}'"
        fix = did_you_mean(asked, names) or f"columns: {listed}"
    raise InputError(Finding("column", message, str(path), line, fix=fix))


def _gaps(cells: pd.Series[Any], path: Path) -> Array | None:
    """Times between interruptions, s; None where the cells are dates."""
    unit = _UNIT.search(str(cells.name))
    named = None if unit is None else unit[1] or unit[2]
    if not len(cells):
        return np.zeros(0)
    if any(_DATE.match(str(cell)) for cell in cells):
        return None
    found = np.zeros(len(cells))
    for place, cell in enumerate(cells):
        cell = str(cell)
        bare = _NUMBER.fullmatch(cell) is not None
        if bare and named is None:
            message = f"'{cell[:40]}' in column '{cells.name}' has no unit"
            raise _wrong(message, _UNIT_FIX, cells, place, path)
        try:
            found[place] = units.parse(f"{cell} {named}" if bare else cell, units.TIME)
        except units.QuantityError as error:
            message = f"column '{cells.name}': {error}"
            raise _wrong(message, error.fix, cells, place, path) from None
        if not found[place] > 0:
            message = f"column '{cells.name}': a time between interruptions must be more than 0"
            raise _wrong(f"{message}: '{cell}'", None, cells, place, path)
    return found


def _wrong(
    message: str, fix: str | None, cells: pd.Series[Any], place: int, path: Path
) -> InputError:
    return InputError(Finding("failures", message, str(path), int(cells.index[place]), fix=fix))
