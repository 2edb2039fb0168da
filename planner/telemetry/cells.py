"""From a table's columns and cells to times in seconds and figures in GB/s or GB.

Which columns hold time and traffic, and in which unit: what the user says goes before what a name
says, and both before what is found out later. A name that says too little is asked about, never
guessed.

Columns of numbers and of times are taken as they are. Cells of text may have marks for thousands,
a comma before the decimals, a unit of their own, dates in several orders: how a column is written
is found out from the rows that come first, and holds for the whole file. What may mean two things
is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from planner import units
from planner.errors import Finding, InputError, did_you_mean
from planner.telemetry.raw import DATED_FROM_S, LAST_S, Numbers, ReadOptions, refusal
from planner.units import DAY_S, HOUR_S

Unit = tuple[float, bool]
"""What one unit is in GB/s or GB, and whether it is a bandwidth."""

_TIMES = re.compile(r"(?i)(time|date|epoch|(^|[^a-z])ts$|unix)")
_DATES = re.compile(r"(?i)^(?!.*time).*(date|day)")
_CLOCKS = re.compile(r"(?i)^(?!.*(date|stamp)).*time")
_WRITES = re.compile(
    r"(?i)(^|[^a-z])(write|wrote|written|writ(?![a-z])|wr(?=$|[^a-z]|bw|[kmgt]i?b))"
    r"|^w(?=[_ ]|[kmgt]?i?b/s)|(?-i:[a-z]W(rite|rote|ritten))"
)
_READS = re.compile(
    r"(?i)(^|[^a-z])(read(?!y)|rd(?=$|[^a-z]|bw|[kmgt]i?b))"
    r"|^r(?=[_ ]|[kmgt]?i?b/s)|(?-i:[a-z]Read)"
)
_NO_TRAFFIC = re.compile(
    r"(?i)(latency|iops|time|await|ops(?![a-z])|requests?|completed|merged|count|errors?|util|%)"
)
_CLUSTERS = re.compile(r"(?i)^(cluster|cluster[_ ]?name|cluster[_ ]?id|system|site)$")
_APART = re.compile(
    r"(?i)^(host|node|instance|server|device|disk|drive|volume|mount|ost|oss|target|pod)"
    r"([_ ]?(name|id))?$|^(mountpoint|filesystem|interface)$"
)
_PREFIX = {"k": "k", "m": "M", "g": "G", "t": "T", "p": "P", "": ""}
_NAMED = re.compile(
    r"(?:^[rw](?=[kMGT]?i?B/s)|^|(?<=[^A-Za-z])|(?<=[a-z])(?=[A-Z]))"
    r"(?i:(?P<prefix>[kmgtp]?)(?P<binary>i?)(?P<byte>b|bytes?)"
    r"(?P<rate>(?:_per_|/|_| per )s(?:ec(?:ond)?)?|ps|(?<=[kmgtpi]b)(?P<short>s))?(?![a-z]))"
)
_BITS = re.compile(r"[kMGTP]?b(it)?s?(/s|ps)|(?i:(^|[^a-z])[kmgtp]bps)")
_RATES = re.compile(
    r"(?i)(^|[^a-z])(i?rate|deriv|bandwidth|throughput|tput|speed|((wr|rd|w|r)?bw))(?=$|[^a-z])"
    r"|(?-i:[a-z](Rate|Bandwidth|BW|Throughput))"
)
_INCREASE = re.compile(r"(?i)(?:increase|delta)\s*\(.*\[(?P<count>\d+)(?P<unit>ms|s|m|h|d)")
_LABELS = re.compile(r"\{[^}]*\}")
_ARITHMETIC = re.compile(r"[*/]\s*\(?\s*\d|\d\s*[*]")
_TIME_UNITS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "m": 60.0,
    "min": 60.0, "minutes": 60.0, "h": HOUR_S, "hours": HOUR_S, "d": DAY_S, "days": DAY_S,
}  # fmt: skip
_TIME_UNIT = re.compile(r"(?i)[^a-z](ns|us|ms|s|sec|seconds|min|minutes|h|hours|d|days)\W*$")
FIX_UNIT = "say it, for example --unit GB/s, or --unit B for bytes"

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
class Columns:
    """The columns of a table by what they hold; ``reads`` may be empty, ``cluster`` missing.

    Attributes:
        time: of times, or of times of day where ``date`` holds their dates.
        writes, reads: of figures that are added up.
        apart: of names that tell rows of one time apart, such as hosts.
        unit: of the figures, None where only their cells can tell it.
        unit_said: whether the user said it.
    """

    time: str
    writes: tuple[str, ...]
    reads: tuple[str, ...] = ()
    date: str | None = None
    cluster: str | None = None
    apart: str | None = None
    unit: Unit | None = None
    unit_said: bool = False

    @property
    def time_unit_s(self) -> float | None:
        """The unit of numbers in the column of times, where its name tells one."""
        match = _TIME_UNIT.search(self.time)
        return None if match is None else _TIME_UNITS[match[1].lower()]

    @property
    def figures(self) -> tuple[str, ...]:
        """Those of traffic."""
        return self.writes + self.reads

    @property
    def names(self) -> list[str]:
        """All of them."""
        wanted = (self.time, self.date, *self.figures, self.cluster, self.apart)
        return [name for name in wanted if name is not None]

    def settled(self, of_day: object) -> Columns:
        """Return them without that of dates, unless times are ``of_day`` and need them."""
        return self if of_day else replace(self, date=None)


def find(names: Sequence[str], options: ReadOptions, file: str) -> Columns:
    """Return the columns that the options name, or that names give away.

    Args:
        names: the table's columns.
        options: which of them are what, as far as it is said.
        file: for messages.

    Raises:
        InputError: one is not there, or it is not clear which one is meant.
    """
    date, time = _when(names, options.time, file)
    writes = _traffic(names, options.write, _WRITES, "write", options.sum, file)
    others = [name for name in names if name not in writes]
    reads = _traffic(others, options.read, _READS, "read", options.sum, file)
    if not writes:
        raise _nothing_like(names, "write", file)
    cluster = _perhaps(names, options.cluster, _CLUSTERS, "cluster", file)
    chosen = [time, date, *writes, *reads, cluster]
    _distinct(names, chosen, file)
    apart = [name for name in names if _APART.search(name) and name not in chosen]
    unit = _unit([*writes, *reads], options, file)
    first = apart[0] if apart else None
    return Columns(time, writes, reads, date, cluster, first, unit, options.unit is not None)


def _distinct(names: Sequence[str], chosen: Sequence[str | None], file: str) -> None:
    """Refuse a column that is there twice, or is to be two things."""
    for name in filter(None, chosen):
        if chosen.count(name) > 1:
            message = f"column '{name}' cannot be two things at once"
            fix = "give each of --time, --write, --read and --cluster a column of its own"
            raise refusal(file, message, fix, line=1)
        if names.count(name) > 1:
            message = f"there are {names.count(name)} columns named '{name}'"
            raise refusal(file, message, "give them different names", line=1)


def _when(names: Sequence[str], asked: str | None, file: str) -> tuple[str | None, str]:
    """Return the column of dates, if it is one of its own, and that of times."""
    if asked is not None and asked not in names and "+" in asked:
        date, _, time = (part.strip() for part in asked.partition("+"))
        if date in names and time in names:
            return date, time
    found = [name for name in names if _TIMES.search(name) and not _WRITES.search(name)]
    dates = [name for name in found if _DATES.search(name)]
    clocks = [name for name in found if _CLOCKS.search(name)]
    if asked is None and len(found) == 2 and len(dates) == len(clocks) == 1:
        return dates[0], clocks[0]
    chosen = _perhaps(names, asked, _TIMES, "time", file)
    if chosen is None:
        raise _nothing_like(names, "time", file)
    return None, chosen


def _traffic(
    names: Sequence[str],
    asked: str | None,
    like: re.Pattern[str],
    what: str,
    several: bool,
    file: str,
) -> tuple[str, ...]:
    """Return the columns of one direction: one, or with ``several`` all that are like it."""
    if several:
        found = [name for name in names if like.search(name) and not _NO_TRAFFIC.search(name)]
        if asked is not None:
            found = [name for name in names if fnmatchcase(name, asked)]
        if len(found) > 1 and asked not in names:
            return tuple(found)
    chosen = _perhaps(names, asked, like, what, file)
    return () if chosen is None else (chosen,)


def _nothing_like(names: Sequence[str], what: str, file: str) -> InputError:
    message = f"no column is named like a {what} (columns: {', '.join(names)[:160]})"
    return refusal(file, message, f"name it with --{what} COLUMN", line=1)


def _perhaps(
    names: Sequence[str], asked: str | None, like: re.Pattern[str], what: str, file: str
) -> str | None:
    if asked is not None:
        if asked in names:
            return asked
        fix = did_you_mean(asked, list(names)) or f"its columns: {', '.join(names)[:160]}"
        raise InputError(Finding("trace", f"no column '{asked}'", file, 1, f"--{what}", fix))
    found = [name for name in names if like.search(name)]
    if len(found) > 1:
        found = [name for name in found if name.lower() == what] or found
    if len(found) > 1:
        other = _WRITES if what == "time" else _NO_TRAFFIC
        found = [name for name in found if not other.search(name)] or found
    if len(found) > 1:
        message = f"several columns are named like a {what}: {', '.join(found)[:160]}"
        fix = f"choose one with --{what} COLUMN"
        if what in ("write", "read"):
            fix += ", or add them up with --sum"
        raise refusal(file, message, fix, line=1)
    return found[0] if found else None


def _unit(columns: Iterable[str], options: ReadOptions, file: str) -> Unit | None:
    """Return the unit of all columns of traffic; None where no name tells one."""
    found = {name: _by_name(name, options, file) for name in columns}
    first, *_ = found
    for name, unit in found.items():
        if unit is None and any(found.values()):
            raise no_unit(name, file)
        if unit != found[first]:
            message = f"columns '{first}' and '{name}' are in different units"
            raise refusal(file, message, "bring them into one, in GB/s", line=1)
    return found[first]


def _by_name(name: str, options: ReadOptions, file: str) -> Unit | None:
    """Return the unit of a column: as it is said, else as its name tells it."""
    named, window_s = _read_name(name)
    unit = named if options.unit is None else parse_unit(options.unit)
    if unit is None or options.read_as is None:
        if unit is not None and not unit[1] and window_s is not None:
            return unit[0] / window_s, True
        return unit
    return as_said(unit, options, file)


def as_said(unit: Unit, options: ReadOptions, file: str) -> Unit:
    """Return a unit as ``read_as`` has it, which knows better than a name whether it is a rate.

    Raises:
        InputError: the user says both, and they contradict one another.
    """
    if options.read_as is None:
        return unit
    if options.unit is not None and unit[1] and options.read_as != "rate":
        message = f"the unit is a bandwidth, so the figures cannot be read as {options.read_as}"
        fix = "give a size, for example --unit B"
        raise InputError(Finding("option", message, file, path="--read-as", fix=fix))
    return unit[0], options.read_as == "rate"


def no_unit(name: str, file: str) -> InputError:
    """Return what to say where nothing tells the unit of a column."""
    return refusal(file, f"column '{name}' does not say its unit", FIX_UNIT, line=1)


def _read_name(name: str) -> tuple[Unit | None, float | None]:
    """Return the unit that a name tells, and the time over which it says that figures are sums.

    Names are also queries: a rate of bytes is a bandwidth whatever its counter is called, an
    increase is what came in its window, and behind arithmetic the unit is another.
    """
    name = _LABELS.sub("", name)
    increase = _INCREASE.search(name)
    window_s = None
    if increase is not None:
        window_s = max(int(increase["count"][:9]), 1) * _TIME_UNITS[increase["unit"].lower()]
    match = None if _BITS.search(name) or _ARITHMETIC.search(name) else _NAMED.search(name)
    if match is None:
        return None, window_s
    is_rate = bool(_RATES.search(name))
    if match["short"] and not is_rate:  # "GBs": gigabytes as well as a bandwidth
        return None, window_s
    prefix = _PREFIX[match["prefix"].lower()] + ("i" if match["binary"] and match["prefix"] else "")
    return parse_unit(f"{prefix}B" + ("/s" if match["rate"] or is_rate else "")), window_s


def parse_unit(unit: str) -> Unit:
    """Return a unit that is written out.

    Raises:
        InputError: it is none of traffic.
    """
    found = in_gb(unit)
    if found is None:
        message = f"'{unit[:40]}' is neither a bandwidth nor a data size"
        fix = "write for example --unit GB/s, MiB/s, Gbit/s, or B for bytes"
        raise InputError(Finding("option", message, path="--unit", fix=fix))
    return found


def in_gb(unit: str) -> Unit | None:
    """Return a unit in GB/s or GB, None where it is none of traffic."""
    for dimension, is_rate in ((units.BANDWIDTH, True), (units.SIZE, False)):
        try:
            return units.parse(f"1 {unit}", dimension), is_rate
        except units.QuantityError:
            continue
    try:
        return units.parse(f"1 {unit}", units.LINK_SPEED) / 8, True
    except units.QuantityError:
        return None


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
            columns: what they hold.
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
            said = " ".join(str(error).split())[:200]
            raise refusal(self._file, said) from None
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
            said = self._options.time_format
            what = "is not a time" if said is None else f"is not written as '{said[:40]}'"
            raise self._wrong(text, wrong, what, FIX_TIME if said is None else None)
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
