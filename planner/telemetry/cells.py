"""From a table's cells to times in seconds and figures in GB/s or GB.

Columns of numbers and of times are taken as they are. Cells of text may have marks for thousands,
a comma before the decimals, a unit of their own, dates in several orders: how a column is written
is found out from the rows that come first, and holds for the whole file. What may mean two things
is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from planner.errors import Finding, InputError
from planner.telemetry.columns import Columns, as_said, in_gb, no_unit
from planner.telemetry.raw import DATED_FROM_S, LAST_S, Numbers, ReadOptions, refusal

EMPTY = [
    "", "NaN", "nan", "NA", "N/A", "null", "NULL", "None", "-", "#N/A",
    *(sign + word for sign in ("", "+", "-") for word in ("inf", "Inf")),
]  # fmt: skip
"""Cells that say nothing, or something beyond all figures."""

PLAIN_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$"
)
"""ISO 8601 as the readers of tables know it themselves."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?(\s?[AaPp][Mm])?$")
FIX_TIME = (
    "write seconds, or for example 2026-01-01T00:00:00Z; or say how they are written, for example "
    "--time-format '%m/%d/%Y %H:%M:%S'"
)
_SHOWN = 2_000
_FIGURE = r"^(?P<number>[-+]?[\d.,][\d.,'_ ]*(?:[eE][-+]?\d+)?)\s*(?P<unit>[^\d\s.,].*)?$"
_NUMERAL = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[.,]\d{3})+$")
_FIGURE_OF_TIME = re.compile(r"(?!\d+\.\d+\.)[-+]?[\d.,' ]+([eE][-+]?\d+)?$")
_SLASHED = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-]\d{4}")
_PER_S = re.compile(r"(?i)(?<=[bst])(ps|/sec|/second| per s|_per_s)$")


@dataclass(frozen=True)
class _Written:
    """How text is written: the decimal mark, what groups thousands, whether days come first."""

    decimal: str = "."
    thousands: str = ","
    day_first: bool | None = None


class Cells:
    """The cells of one file, piece by piece."""

    def __init__(
        self, columns: Columns, options: ReadOptions, file: str, first_line: int | None = None
    ) -> None:
        """Begin at the top.

        Args:
            options: what the user says of them.
            file: for messages.
            first_line: where the first row stands, None where a file has no lines.
        """
        self._columns, self._options, self._file = columns, options, file
        self._row = first_line or 1
        self._where = "line" if first_line else "row"
        self._written: _Written | None = None
        self._is_rate: bool | None = None
        self._with_units: set[str] = set()

    @property
    def is_rate(self) -> bool:
        """Whether figures are GB/s, else GB; known when one was read."""
        return bool(self._is_rate)

    def read(self, piece: pa.RecordBatch) -> tuple[bool, Numbers, list[Numbers]]:
        """Return whether times have a date, times, and figures column by column; NaN where empty.

        Raises:
            InputError: a cell is neither empty nor what its column should hold.
        """
        try:
            if self._written is None:
                self._written = self._find_out(piece)
            time, dated = self._times(piece)
            figures = [self._figures(piece.column(name), name) for name in self._columns.figures]
        except (pa.ArrowException, OverflowError, UnicodeDecodeError) as error:
            why = " ".join(str(error).split())[:200]
            raise refusal(self._file, why) from None
        self._row += len(piece)
        return dated, time, figures

    def _find_out(self, piece: pa.RecordBatch) -> _Written:
        """Return how text is written, by the first rows."""
        cells = [
            cell for name in self._columns.figures for cell in _first_cells(piece.column(name))
        ]
        times = _first_cells(piece.column(self._columns.time))
        cells += [cell for cell in times if re.fullmatch(r"[-+]?\d+([.,]\d+)?", cell)]
        found = (re.match(r"[-+]?[\d.,]+", cell) for cell in cells)
        decimal, thousands = self._marks([match[0] for match in found if match])
        dates = _first_cells(piece.column(self._columns.date or self._columns.time))
        parts = [match for cell in dates if (match := _SLASHED.match(cell))]
        first, second = ([int(part[n]) for part in parts] for n in (1, 2))
        day_first = True if max(first, default=0) > 12 else None
        if max(second, default=0) > 12:
            day_first = None if day_first else False
        return _Written(decimal, thousands, day_first)

    def _marks(self, cells: Sequence[str]) -> tuple[str, str]:
        """Return the decimal mark and the mark between thousands."""
        if self._options.decimal is not None:
            return self._options.decimal, "." if self._options.decimal == "," else ","
        both = next((cell for cell in cells if "." in cell and "," in cell), None)
        if both is not None:
            return (",", ".") if both.rindex(",") > both.rindex(".") else (".", ",")
        commas = [cell for cell in cells if "," in cell]
        grouped = [cell for cell in commas if _THOUSANDS.match(cell)]
        if len(commas) > len(grouped):
            return ",", "."
        if grouped and not any(cell.count(",") > 1 or "." in cell for cell in cells):
            message = f"'{grouped[0][:40]}' may mean two numbers, by what its comma is"
            raise refusal(self._file, message, "say which with --decimal , or --decimal .")
        return (",", ".") if any(cell.count(".") > 1 for cell in cells) else (".", ",")

    def _wrong(self, cells: Any, wrong: Any, what: str, fix: str | None = None) -> InputError:
        """Return what to say of the first cell that is wrong."""
        place = int(np.flatnonzero(wrong.to_numpy(zero_copy_only=False))[0])
        message = f"'{str(cells[place].as_py())[:60]}' {what}"
        line = self._row + place
        if self._where == "row":
            return refusal(self._file, f"row {line}: {message}", fix)
        return refusal(self._file, message, fix, line=line)

    def _number(self, text: Any) -> Numbers:
        """Return text as numbers; marks between thousands are left out."""
        written = self._written or _Written()
        bare = pc.replace_substring_regex(text, r"[' _" + re.escape(written.thousands) + "]", "")
        bare = pc.replace_substring(bare, written.decimal, ".")
        wrong = pc.and_(pc.is_valid(bare), pc.invert(pc.match_substring_regex(bare, _NUMERAL)))
        if pc.any(wrong).as_py():
            what = f"is not a number with '{written.decimal}' before the decimals"
            raise self._wrong(text, wrong, what, "write every figure alike")
        return _plain(bare)

    # Figures

    def _figures(self, column: Any, name: str) -> Numbers:
        """Return a column of traffic in GB/s or GB."""
        if not is_text(column.type):
            numbers = _plain(column)
            return numbers * self._bare(numbers, None, name)
        text = _trimmed(column)
        parts = pc.extract_regex(text, _FIGURE)
        wrong = pc.and_(pc.is_valid(text), pc.is_null(parts))
        if pc.any(wrong).as_py():
            raise self._wrong(text, wrong, "is not a number")
        numbers = self._number(pc.struct_field(parts, "number"))
        units = pc.fill_null(pc.struct_field(parts, "unit"), "").dictionary_encode()
        factors: Numbers | float = self._factors(text, numbers, units, name)
        return numbers * factors

    def _factors(self, text: Any, numbers: Numbers, units: Any, name: str) -> Any:
        """Return what turns each figure into GB/s or GB, by the units in the cells."""
        index = units.indices.to_numpy(zero_copy_only=False)
        words = units.dictionary.to_pylist()
        if self._columns.unit_said or not any(words):
            self._must_be_of_one(name, {words[n] for n in np.unique(index[_some(numbers)])} - {""})
            return self._bare(numbers, text, name)
        known = [self._cell_unit(word, text, units) if word else (1.0, None) for word in words]
        kinds = {unit[1] for unit in known} | {self._is_rate} - {None}
        if len(kinds - {None}) > 1:
            message = f"cells of '{name}' are bandwidths as well as sizes"
            raise refusal(self._file, message, "write every figure alike")
        self._is_rate = next(unit[1] for unit in known if unit[1] is not None)
        self._with_units.add(name)
        self._bare(numbers[np.array([word == "" for word in words])[index]], text, name)
        return np.array([unit[0] for unit in known])[index]

    def _must_be_of_one(self, name: str, words: set[str]) -> None:
        if len(words) > 1:
            message = f"cells of '{name}' have units of their own: {', '.join(sorted(words))[:80]}"
            fix = "one --unit cannot hold for all: leave it out"
            raise InputError(Finding("option", message, self._file, path="--unit", fix=fix))

    def _bare(self, numbers: Numbers, text: Any, name: str) -> float:
        """Return what turns figures into GB/s or GB whose cells have no unit."""
        if not _some(numbers).any():
            return 1.0
        if name in self._with_units:
            message = f"some cells of '{name}' have a unit, and others have none"
            raise refusal(self._file, message, "write every figure alike")
        if self._columns.unit is None:
            raise no_unit(name, self._file)
        factor, is_rate = self._columns.unit
        if self._is_rate not in (None, is_rate):
            message = f"cells of '{name}' are bandwidths as well as sizes"
            raise refusal(self._file, message, "write every figure alike")
        self._is_rate = is_rate
        return factor

    def _cell_unit(self, word: str, text: Any, units: Any) -> tuple[float, bool | None]:
        found = in_gb(_PER_S.sub("/s", re.sub("(?i)bytes?", "B", word.strip())))
        if found is None:
            place = pc.equal(units.dictionary_decode(), word)
            fix = "write for example 12.5 GB/s, or figures alone and --unit GB/s"
            raise self._wrong(text, place, "is in no unit of traffic", fix)
        return as_said(found, self._options, self._file)

    # Times

    def _times(self, piece: pa.RecordBatch) -> tuple[Numbers, bool]:
        column, date = piece.column(self._columns.time), None
        if self._columns.date is not None:
            date = _trimmed(piece.column(self._columns.date).cast(pa.string()))
            clock = _trimmed(column.cast(pa.string()))
            date = pc.replace_substring_regex(date, r"[T ]00:00(:00(\.0+)?)?$", "")
            column = pc.binary_join_element_wise(date, clock, " ")
        if is_text(column.type) or self._options.time_format is not None:
            column = self._times_in_text(_trimmed(column))
        seconds, dated = _seconds(column, self._columns.time_unit_s)
        beyond = np.abs(np.nan_to_num(seconds)) > LAST_S
        if beyond.any():
            message = "is no time: it is beyond the year 2200"
            fix = "name the column of times with --time, or say how they are written: --time-format"
            shown = piece.column(self._columns.time)
            shown = pa.array(seconds) if pa.types.is_timestamp(shown.type) else shown
            raise self._wrong(shown, pa.array(beyond), message, fix)
        return seconds, dated

    def _times_in_text(self, text: Any) -> Any:
        """Return times or numbers from text."""
        if self._options.time_format is not None:
            return self._moments(text, text, self._options.time_format)
        first = next((cell for cell in text.to_pylist() if cell is not None), "")
        if _FIGURE_OF_TIME.match(first):
            return pa.array(self._number(text))
        if TIME_OF_DAY.match(first):
            message = f"'{first[:40]}' is a time of day without a date"
            fix = "add a column of dates and name both: --time DATE+TIME"
            raise refusal(self._file, message, fix, line=self._line())
        day_first = (self._written or _Written()).day_first
        if _SLASHED.match(first) and day_first is None:
            message = f"'{first[:40]}' may begin with the day or the month"
            forms = " or ".join(_format(first, order) for order in ("%d/%m", "%m/%d"))
            fix = f"say which with --time-format {forms}"
            raise refusal(self._file, message, fix, line=self._line())
        return self._moments(text, _iso(text, bool(day_first)), _half_days(first))

    def _line(self) -> int | None:
        return self._row if self._where == "line" else None

    def _moments(self, text: Any, ordered: Any, form: str) -> Any:
        """Return points in time from text of one form, UTC where it has no zone."""
        import pandas as pd

        try:
            found = pd.to_datetime(ordered.to_pandas(), format=form, utc=True, errors="coerce")
        except ValueError as error:
            message = f"'{form[:40]}' is no form of times: {str(error)[:80]}"
            fix = "write for example '%d/%m/%Y %H:%M:%S'"
            raise InputError(Finding("option", message, path="--time-format", fix=fix)) from None
        moments = pa.Array.from_pandas(found.dt.as_unit("us"))
        wrong = pc.and_(pc.is_valid(text), pc.is_null(moments))
        if pc.any(wrong).as_py():
            given = self._options.time_format
            what = "is not a time" if given is None else f"is not written as '{given[:40]}'"
            raise self._wrong(text, wrong, what, FIX_TIME if given is None else None)
        return moments


def is_text(kind: Any) -> bool:
    """Return whether a column is of text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _trimmed(column: Any) -> Any:
    """Return text without spaces around it, null where it says nothing."""
    text = pc.utf8_trim_whitespace(
        pc.replace_substring(column.cast(pa.string()), "\N{NO-BREAK SPACE}", " ")
    )
    return pc.if_else(pc.is_in(text, value_set=pa.array(EMPTY)), pa.scalar(None, pa.string()), text)


def _first_cells(column: Any) -> list[str]:
    """Return the first cells of a column of text, none of another."""
    if not is_text(column.type):
        return []
    return [cell for cell in _trimmed(column[:_SHOWN]).to_pylist() if cell is not None]


def _iso(text: Any, day_first: bool) -> Any:
    """Return dates in other orders, and fractions behind a comma, as ISO 8601 has them."""
    order = r"\3-\2-\1" if day_first else r"\3-\1-\2"
    for pattern, instead in (
        (r"^(\d{4})[/.](\d{1,2})[/.](\d{1,2})", r"\1-\2-\3"),
        (r"^(\d{1,2})\.(\d{1,2})\.(\d{4}),?", r"\3-\2-\1"),
        (r"^(\d{1,2})[/-](\d{1,2})[/-](\d{4}),?", order),
        (r"(:\d\d),(\d+)", r"\1.\2"),
        (r"\s*(UTC|GMT|Z)$", "Z"),
        (r"\s+([+-]\d\d:?\d\d)$", r"\1"),
    ):
        text = pc.replace_substring_regex(text, pattern, instead)
    return text


def _half_days(first: str) -> str:
    """Return the form of times that are in ISO 8601 but for halves of days."""
    if not re.search(r"(?i)\d\s?[ap]m$", first):
        return "ISO8601"
    seconds = ":%S" if first.count(":") > 1 else ""
    return f"%Y-%m-%d %I:%M{seconds}{' ' if first[-3] == ' ' else ''}%p"


def _format(first: str, order: str) -> str:
    """Return the strptime form of a cell, were its date in the order given."""
    mark = "-" if "-" in first[:3] else "/"
    clock = "" if ":" not in first else " %H:%M" + (":%S" if first.count(":") > 1 else "")
    return f"'{order.replace('/', mark)}{mark}%Y{clock}'"


def _seconds(column: Any, unit_s: float | None) -> tuple[Numbers, bool]:
    """Return times in seconds, NaN where there is none, and whether they have a date.

    Args:
        column: times with a date, spans, or numbers.
        unit_s: the unit of numbers; None for seconds, or what suits a date since 1970.
    """
    kind = column.type
    if pa.types.is_duration(kind):
        scale = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
        return _plain(column.cast(pa.int64())) * scale, False
    if pa.types.is_date(kind):
        column, kind = column.cast(pa.timestamp("us")), pa.timestamp("us")
    if pa.types.is_timestamp(kind):
        whole = column.cast(pa.timestamp("us", tz=kind.tz), safe=kind.unit != "ns").cast(pa.int64())
        return _plain(whole) / 1e6, True
    seconds = _plain(column)
    if unit_s is not None:
        seconds = seconds * unit_s
    largest = float(np.abs(seconds[np.isfinite(seconds)]).max(initial=0.0))
    for scale in (1e9, 1e6, 1e3):  # nanoseconds, microseconds, milliseconds since 1970
        if unit_s in (None, 1.0) and largest > DATED_FROM_S * scale:
            return seconds / scale, True
    return seconds, largest > DATED_FROM_S


def _some(numbers: Numbers) -> Any:
    """Return which figures need a unit: those that are there and not 0."""
    return np.isfinite(numbers) & (numbers != 0)


def _plain(column: Any) -> Numbers:
    numbers: Numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers
