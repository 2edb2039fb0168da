"""Traces in Excel workbooks, JSON and the answers of Prometheus, which are read whole.

They are short: a sheet has a million rows at most, and Prometheus answers with 11,000 points a
series. What is longer belongs into CSV or Parquet; a JSON object per line is read in pieces, too.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa

from planner.errors import InputError
from planner.foreign_files import contents, in_words, regular
from planner.telemetry.cells import TIME_OF_DAY, is_text
from planner.telemetry.columns import find
from planner.telemetry.raw import ReadOptions, refusal, unreadable

_BATCH_ROWS = 1 << 18
_MOST_JSON_BYTES = 32_000_000
_MOST_BOOK_BYTES, _MOST_XML_BYTES, _MOST_STRINGS_BYTES = 100_000_000, 64_000_000, 32_000_000
_MOST_COLUMNS, _MOST_EMPTY_ROWS = 64, 1_000
_SERIAL_FROM, _SERIAL_TO = 20_000.0, 80_000.0
_FIX_JSON = (
    "it may hold an object per sample, a list of such objects, or Prometheus' answer to query_range"
)

Grid = Mapping[str, Sequence[Any]]
"""Columns of cells by name."""


class HeldTable:
    """A table that is held in memory."""

    def __init__(
        self, path: Path, options: ReadOptions, grid: Grid, first_line: int | None
    ) -> None:
        self.path, self.first_line = path, first_line
        columns = find(list(grid), options, str(path))
        first = next((str(cell) for cell in grid[columns.time] if cell is not None), "")
        self.columns = columns = columns.settled(TIME_OF_DAY.match(first))
        made = {name: _column(grid[name], name, path) for name in columns.names}
        for name in (columns.date, columns.cluster, columns.apart):
            if name is not None:
                made[name] = made[name].cast(pa.string())
        self._table = pa.table(made)

    def contiguous(self) -> bool:
        """Return whether each cluster's rows are known to stand together."""
        return self.columns.cluster is None

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield its rows in order."""
        yield from self._table.to_batches(_BATCH_ROWS)


def _column(cells: Sequence[Any], name: str, path: Path) -> Any:
    """Return cells as numbers where all are, else as text."""
    try:
        if all(cell is None or isinstance(cell, int | float) for cell in cells):
            return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    except OverflowError:
        raise refusal(path, f"column '{name}' holds numbers beyond all reason") from None
    for cell in cells:
        if isinstance(cell, list | dict):
            message = f"column '{name}' holds lists or objects, not a cell per sample"
            raise refusal(path, message, _FIX_JSON)
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


# Excel


def book(path: Path, options: ReadOptions) -> HeldTable:
    """Return the table on the first sheet of an Excel workbook.

    Raises:
        InputError: it is no workbook, is too large, or holds no table.
    """
    regular(path, most_bytes=_MOST_BOOK_BYTES, what="trace")
    try:
        _must_unpack_to_little(path)
        rows, first_line = _rows_of(path)
    except InputError:
        raise
    except Exception as error:  # openpyxl lets pass whatever a broken file makes go wrong
        raise unreadable(path, error) from None
    if len(rows) < 2:
        fix = "a trace has a line of names and a line per sample"
        raise refusal(path, "no rows on the first sheet", fix)
    names = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    grid = {name: [row[n] for row in rows[1:]] for n, name in enumerate(names) if name}
    doubled = next((name for name in names if name and names.count(name) > 1), None)
    if doubled is not None:
        message = f"there are {names.count(doubled)} columns named '{doubled}'"
        raise refusal(path, message, "give them different names")
    table = HeldTable(path, options, grid, first_line)
    _must_be_no_serials(grid[table.columns.time], table.columns.time, path)
    return table


def _must_unpack_to_little(path: Path) -> None:
    """Refuse a workbook that is large when it is unpacked: it would take minutes."""
    with zipfile.ZipFile(path) as parts:
        sizes = {part.filename: part.file_size for part in parts.infolist()}
    size = sum(size for name, size in sizes.items() if name.endswith(".xml"))
    strings = sum(size for name, size in sizes.items() if name.endswith("sharedStrings.xml"))
    if size > _MOST_XML_BYTES or strings > _MOST_STRINGS_BYTES:
        message = f"unpacks to {in_words(size)}, more than a workbook with a trace may have"
        raise refusal(path, message, "save the sheet as CSV")


def _rows_of(path: Path) -> tuple[list[list[Any]], int]:
    """Return the rows of the first sheet that say something, and where the second one stands."""
    import openpyxl

    rows: list[list[Any]] = []
    first_line, empty, width = 1, 0, 0
    with path.open("rb") as stream:  # a stream, for openpyxl looks at the endings of names
        found = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        if not found.worksheets:
            return [], 1
        sheet = found.worksheets[0]
        cells = sheet.iter_rows(max_col=_MOST_COLUMNS, values_only=True)
        for line, row in enumerate(cells, start=1):
            if all(cell is None for cell in row):
                empty += 1
                if empty > _MOST_EMPTY_ROWS:
                    break
                continue
            empty = 0
            if len(rows) == 1:
                first_line = line
            if not rows:
                width = max(n for n, cell in enumerate(row, start=1) if cell is not None)
            values = [
                cell.isoformat() if isinstance(cell, datetime | date | time) else cell
                for cell in row[:width]
            ]
            rows.append(values + [None] * (width - len(row)))
    return rows, first_line


def _must_be_no_serials(cells: Sequence[Any], name: str, path: Path) -> None:
    """Refuse days since 1900, as Excel counts them: read as seconds they would be one day."""
    numbers = [cell for cell in cells if isinstance(cell, int | float)]
    if len(numbers) > 1 and all(_SERIAL_FROM < cell < _SERIAL_TO for cell in numbers):
        if abs(numbers[1] - numbers[0]) < 0.5:
            message = f"column '{name}' holds days since 1900 as plain numbers"
            raise refusal(path, message, "format its cells as dates with times")


# JSON


def is_lines(head: str) -> bool:
    """Return whether a text is a JSON object per line, by its first line."""
    line, _, more = head.lstrip().partition("\n")
    if not more.strip():
        return False
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "data" not in found


def whole_json(path: Path, options: ReadOptions) -> HeldTable:
    """Return the table in a JSON file: a list of objects, or an answer of Prometheus.

    Raises:
        InputError: it is no JSON, is too large, or holds neither.
    """
    return _of_json(contents(path, most_bytes=_MOST_JSON_BYTES, what="trace"), path, options)


def _of_json(text: bytes, path: Path, options: ReadOptions) -> HeldTable:
    try:
        found = json.loads(text.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        message = f"is no JSON: {error.msg.lower()}"
        raise refusal(path, message, _FIX_JSON, line=error.lineno) from None
    except RecursionError:
        raise refusal(path, "is nested too deeply", _FIX_JSON) from None
    except ValueError as error:  # not UTF-8, or a number of thousands of digits
        raise unreadable(path, error) from None
    if isinstance(found, dict):
        grid = _of_prometheus(found, path)
    else:
        grid = _of_objects(found, path)
    return HeldTable(path, options, grid, first_line=None)


def _of_objects(found: Any, path: Path) -> Grid:
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise refusal(path, "holds no samples", _FIX_JSON)
    names = list(dict.fromkeys(name for row in found for name in row))
    if not names or len(names) > _MOST_COLUMNS:
        message = "no rows" if not names else f"its objects have {len(names):,} keys in all"
        raise refusal(path, message, _FIX_JSON)
    return {name.strip(): [row.get(name) for row in found] for name in names}


def _of_prometheus(found: Mapping[str, Any], path: Path) -> Grid:
    """Return the samples in an answer of Prometheus to query_range: a row per time and labels."""
    if found.get("status") == "error":
        message = f"is an error of Prometheus, not samples: {str(found.get('error'))[:120]}"
        raise refusal(path, message, "ask it again")
    data = found.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    if kind in ("vector", "scalar", "string"):
        message = f"is an answer of Prometheus for one time ('{kind}')"
        raise refusal(path, message, "ask for a range: query_range")
    result = data.get("result") if isinstance(data, dict) else None
    if kind != "matrix" or not isinstance(result, list):
        raise refusal(path, "holds no samples", _FIX_JSON)
    if not result:
        raise refusal(path, "Prometheus found no series", "ask again")
    try:
        return _matrix([_series(each) for each in result])
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        message = "holds a series without 'metric' and 'values' as Prometheus has them"
        raise refusal(path, message, _FIX_JSON) from None


Labels = tuple[tuple[str, str], ...]


def _series(found: Mapping[str, Any]) -> tuple[str, Labels, dict[float, float]]:
    """Return a series' name, its labels, and its values by time."""
    labels = {str(key): str(value) for key, value in found["metric"].items()}
    name = labels.pop("__name__", "value")
    values = {float(at): float(value) for at, value in found["values"]}
    return name, tuple(sorted(labels.items())), values


def _matrix(series: Sequence[tuple[str, Labels, dict[float, float]]]) -> Grid:
    """Return rows of one time and the same labels, a column for each name."""
    by_labels: dict[Labels, dict[str, dict[float, float]]] = {}
    for name, labels, values in series:
        by_labels.setdefault(labels, {})[name] = values
    names = list(dict.fromkeys(name for name, _, _ in series))
    keys = list(dict.fromkeys(key for labels in by_labels for key, _ in labels))
    differing = {key for key in keys if len({dict(each).get(key) for each in by_labels}) > 1}
    told_apart = differing | {"cluster"}
    varying = [key for key in keys if key in told_apart and key not in ("time", *names)]
    grid: dict[str, list[Any]] = {key: [] for key in ("time", *varying, *names)}
    for labels, columns in by_labels.items():
        times = sorted({at for values in columns.values() for at in values})
        grid["time"] += times
        for key in varying:
            grid[key] += [dict(labels).get(key)] * len(times)
        for name in names:
            values = columns.get(name, {})
            grid[name] += [None if math.isnan(v := values.get(at, math.nan)) else v for at in times]
    return grid


class JsonLines:
    """A file with a JSON object per line, read in pieces."""

    def __init__(self, path: Path, options: ReadOptions, head: str) -> None:
        self.path = path
        self.first_line: int | None = 1
        rows = self._first_rows(head)
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = find(names, options, str(path))
        first = {name: [row.get(name) for row in rows] for name in columns.names}
        self.columns = columns.settled(TIME_OF_DAY.match(str(first[columns.time][0])))
        self._schema = pa.schema([self._field(name, first[name]) for name in self.columns.names])

    def _first_rows(self, head: str) -> list[Mapping[str, Any]]:
        rows: list[Mapping[str, Any]] = []
        for number, line in enumerate(head.splitlines()[:50], start=1):
            try:
                row = json.loads(line) if line.strip() else {}
            except (ValueError, RecursionError):
                if number > 1 and not head.endswith("\n"):
                    break  # the last line of the head may have been cut
                raise refusal(self.path, "is no JSON object", line=number) from None
            if not isinstance(row, dict):
                raise refusal(self.path, "is no JSON object", line=number)
            rows.append(row)
        return rows

    def _field(self, name: str, cells: Sequence[Any]) -> Any:
        kind = _column(cells, name, self.path).type
        of_names = name in (self.columns.cluster, self.columns.apart)
        return pa.field(name, pa.string() if of_names or is_text(kind) else kind)

    def contiguous(self) -> bool:
        """Return whether each cluster's rows are known to stand together."""
        return self.columns.cluster is None

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield its rows in order.

        Raises:
            InputError: a line is broken.
        """
        from pyarrow import json as lines

        parse = lines.ParseOptions(explicit_schema=self._schema, unexpected_field_behavior="ignore")
        read = lines.ReadOptions(use_threads=False, block_size=8 << 20)
        done = 0
        try:
            for piece in lines.open_json(self.path, read_options=read, parse_options=parse):
                yield piece
                done += len(piece)
        except (pa.ArrowException, OSError, MemoryError) as error:
            why = " ".join((str(error) or "not enough memory").split())[:200]
            message = f"is broken after its first {done:,} lines: {why.lower()}"
            raise refusal(self.path, message) from None
