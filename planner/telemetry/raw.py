"""How a trace is to be read, and the range in which the truth of a figure lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from planner.errors import Finding, InputError
from planner.schema.telemetry import CONFIDENCE, Measured

Z = 1.645
"""Half of the range that holds nine tenths of a normal distribution, in standard deviations."""

_MEDIAN = 1.2533
"""A median scatters so much more than a mean where figures are normally distributed."""
MAD = 1.4826
"""The standard deviation of a normal distribution over its median absolute deviation."""


def median_with_range(values: Numbers, error: float = 0.0) -> Measured:
    """Return the median with the range that scatter and a common error leave.

    Args:
        values: one per checkpoint; not empty.
        error: half of the range of an error that they share.
    """
    value = float(np.median(values))
    half = math.hypot(Z * _MEDIAN * scatter(values) / math.sqrt(len(values)), error)
    return Measured(value=value, low=max(0.0, value - half), high=value + half)


def scatter(values: Numbers) -> float:
    """Scatter of values about their median, as a standard deviation."""
    return MAD * float(np.median(np.abs(values - np.median(values))))


def ratio(over: Measured, under: Measured) -> Measured:
    """Return a quotient whose parts err independently, each to either side by its own share."""
    value = over.value / under.value
    if not value:
        return Measured(value=value)
    up = math.hypot(_share(over.value, over.high), _share(under.low, under.value))
    down = math.hypot(_share(over.low, over.value), _share(under.value, under.high))
    high = None if math.isinf(up) else value * math.exp(up)
    return Measured(value=value, low=value * math.exp(-down), high=high)


def _share(low: float | None, high: float | None) -> float:
    """Logarithmic distance of two ends; 0 where one is not known."""
    if low is None or high is None or high <= 0:
        return 0.0
    return math.log(high / low) if low > 0 else math.inf


def scaled(of: Measured, by: float) -> Measured:
    """Return a figure in another unit."""
    ends = (None if end is None else end * by for end in (of.low, of.high))
    low, high = ends
    return Measured(value=of.value * by, low=low, high=high)


def difference(of: Measured, other: Measured) -> Measured:
    """Return a difference of times, 0 at least; its ends are those of the worst cases."""
    high = other.value if other.high is None else other.high
    ends = (
        (of.value if of.low is None else of.low) - high,
        (of.value if of.high is None else of.high) - (other.low or 0.0),
    )
    low, high = (max(0.0, end) for end in ends)
    return Measured(value=max(0.0, of.value - other.value), low=low, high=high)


def per_event(time_s: float, events: int) -> Measured | None:
    """Return the time per event with the range of a Poisson count; None without events."""
    if not events or time_s <= 0:
        return None
    low, high = poisson(events)
    return Measured(value=time_s / events, low=time_s / high, high=time_s / low)


def poisson(events: float) -> tuple[float, float]:
    """Return the range in which the mean of a Poisson count lies (Garwood's interval).

    Args:
        events: how many; no whole number where they come in bunches.
    """
    from scipy.stats import chi2

    tail = (1 - CONFIDENCE) / 2
    low = float(chi2.ppf(tail, 2 * events)) / 2 if events else 0.0
    return low, float(chi2.ppf(1 - tail, 2 * events + 2)) / 2


ReadAs = Literal["rate", "bytes", "counter"]
"""Bandwidth, bytes moved in each sample, or bytes moved since some time before."""


@dataclass(frozen=True)
class ReadOptions:
    """How a trace is to be read.

    Attributes:
        time, write, read, cluster: names of the columns; None finds them by their names. Columns of
            dates and of times are written DATE+TIME; with ``sum`` a pattern stands for several.
        sum: add up columns of one kind, and rows of one time.
        unit: of the figures, a bandwidth or a size; None reads it from the column's name or cells.
        decimal: the mark before the decimals of figures in text; None finds it out.
        time_format: how times are written, as strptime has it; None knows ISO 8601 and its kin.
        read_as: kind of the figures; None finds out by the unit and how they run.
        stamp: whether a time is the start or the end of its sample.
        window_s: the time over which each sample is a mean; None finds out.
        bytes_per_parameter: divisor of a job's size for the implied parameters.
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
    stamp: Literal["start", "end"] = "start"
    window_s: float | None = None
    bytes_per_parameter: float = 14.0


def require(options: ReadOptions) -> None:
    """Refuse options that make no sense.

    Raises:
        InputError: bytes per parameter are not more than 0, or far beyond any recipe; or the mark
            of decimals is none.
    """
    if options.decimal not in (None, ".", ","):
        message = f"--decimal '{options.decimal[:20]}' is no decimal mark"
        raise InputError(Finding("option", message, fix="it is '.' or ','"))
    if not 0 < options.bytes_per_parameter <= 100:
        message = (
            f"--bytes-per-parameter {options.bytes_per_parameter:g} must lie between 0 and 100"
        )
        raise InputError(Finding("option", message, fix="14 is what mixed precision with Adam has"))


Numbers = NDArray[np.float64]
DATED_FROM_S = 5e8
"""Numbers above this are taken for seconds since 1970 (it was 1985); smaller ones have no date."""

LAST_S = 7_258_118_400.0
"""The year 2200: no trace is later, nor as long."""

MOST_SAMPLES = 10_000_000
"""Of one cluster, three years at 10 s: what comes after takes 150 bytes of memory for each."""

Places = NDArray[np.intp]
"""Positions in an array."""

Figures = NDArray[np.floating]
"""Single or double precision: rates need no more than the one, counters the other."""


def stretches_of(mask: NDArray[np.bool_]) -> tuple[Places, Places]:
    """Starts and ends (one behind the last) of the stretches of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return edges[::2], edges[1::2]


@dataclass(frozen=True)
class Raw:
    """Rows of one cluster in a file.

    Attributes:
        cluster: its name.
        file: where it stands, for messages.
        time_s: times as they are written, s; in the file's order.
        write, read: figures, GB/s or GB; NaN where a cell is empty.
        is_rate: whether figures are GB/s; else GB.
        dated: whether times count from 1970.
        summed: whether figures are sums over hosts or targets.
    """

    cluster: str
    file: str
    time_s: Numbers
    write: Figures
    read: Figures | None
    is_rate: bool
    dated: bool
    summed: bool = False


def refusal(
    file: Path | str, message: str, fix: str | None = None, line: int | None = None
) -> InputError:
    """Return the one line that says why a trace is not read."""
    return InputError(Finding("trace", message, str(file), line, fix=fix))


def too_long(cluster: str, file: str, most: int = MOST_SAMPLES) -> InputError:
    """Message on a trace that is too long."""
    message = f"cluster '{cluster}' has more than {most:,} samples"
    return refusal(file, message, "give a shorter stretch, or fewer samples a minute")


def unreadable(path: Path, error: Exception) -> InputError:
    """Message on an unreadable file."""
    if isinstance(error, FileNotFoundError):
        return InputError(Finding("file", "no such file", str(path)))
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    if isinstance(error, MemoryError):
        reason = "it asks for more memory than there is"
    message = f"cannot be read: {str(reason or type(error).__name__)[:160].lower()}"
    return refusal(path, message, "give a CSV, Excel, JSON or Parquet file")
