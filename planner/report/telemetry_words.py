"""Measured figures of storage telemetry in words: names of jobs, figures with ranges, moments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from planner.report.words import DAY_S, HOUR_S, MINUTE_S, Scale, clean, duration
from planner.schema.telemetry import Characterization, JobFound, Measured

USUAL_OVERLAP = 0.10
"""The overlap that studies and problems take as the limit."""


def one_line(text: str, width: int | None = None) -> str:
    """A text from a file on one line, cut in its middle where it is longer."""
    text = " ".join(clean(text, limit=None).split())
    if width is None or len(text) <= width:
        return text
    tail = width // 2
    return f"{text[: width - tail - 1]}…{text[-tail:]}"


def labels(record: Characterization, jobs: Sequence[JobFound], width: int) -> list[str]:
    """Names of jobs, each distinct, cut to a width.

    Args:
        record: where they were found; with several clusters a job's is part of its name.
    """
    several = len(record.clusters) > 1
    names: list[str] = []
    taken: set[str] = set()
    for place, job in enumerate(jobs, start=1):
        full = job.name if not several or job.cluster in job.name else f"{job.cluster} {job.name}"
        name = one_line(full, width) or "job"
        if name in taken:
            mark = f" #{place}"
            name = one_line(full, width - len(mark)) + mark
        taken.add(name)
        names.append(name)
    return names


def median_overlap(jobs: Sequence[JobFound]) -> float | None:
    """The overlap that half of all checkpoints do not pass, each taken as its job's."""
    order = sorted(jobs, key=lambda job: job.overlap.value)
    half, passed = sum(job.checkpoints for job in order) / 2, 0
    for job in order:
        passed += job.checkpoints
        if job.checkpoints and passed >= half:
            return job.overlap.value
    return None


_SIZES: dict[str, tuple[tuple[float, float, str], ...]] = {
    "GB": ((1e6, 1e6, "PB"), (1e3, 1e3, "TB")),
    "parameters": ((1e12, 1e12, "T"), (1e9, 1e9, "B"), (1e6, 1e6, "M")),
    "s": ((2 * DAY_S, DAY_S, "days"), (2 * HOUR_S, HOUR_S, "h"), (2 * MINUTE_S, MINUTE_S, "min")),
    "share": ((0.0, 0.01, "%"),),
}
_BARE = {"parameters": "", "1": "", "share": "%"}
_LEAST_DIGITS, _MORE_DIGITS, _SKEWED = 3, 2, 1.5


def suited(value: float, unit: str) -> Scale:
    """The size of unit that suits a figure, with three digits of it at least."""
    for least, size, name in _SIZES.get(unit, ()):
        if abs(value) >= least:
            return Scale(size, name, _decimals(value / size))
    return Scale(1.0, _BARE.get(unit, unit), _decimals(value))


def figure(value: float | None, unit: str) -> str:
    """A figure with its unit."""
    if value is None or not math.isfinite(value):
        return "not known"
    return suited(value, unit).with_unit(value)


def measured(found: Measured | None, unit: str) -> str:
    """A figure with its range: ``13.8 TB ±0.3 %``, or its ends where uneven; a dash for none."""
    if found is None or not math.isfinite(found.value):
        return "-"
    written, value = suited(found.value, unit), found.value
    text = written.with_unit(value)
    low, high = _ends(found)
    if low is None or high is None:
        bound = "" if low is None else f" (≥ {written.text(low)})"
        return f"{text}{bound}" if high is None else f"{text} (≤ {written.text(high)})"
    half, least = max(value - low, high - value), min(value - low, high - value)
    if half <= 0:
        return text
    if half > value or (half > 0.1 * value and half > _SKEWED * least):
        return f"{written.text(value)} ({written.text(low)} to {written.with_unit(high)})"
    if written.unit == "%":
        return f"{100 * value:.1f} ±{max(100 * half, 0.1):.1f} %"
    return f"{text} ±{max(100 * half / value, 0.1):.1g} %"


def most(found: Measured, unit: str) -> str:
    """A figure that is only known to be no more than this."""
    top = found.value if found.high is None else max(found.value, found.high)
    return f"< {figure(top, unit)}"


def span(found: Measured, unit: str) -> str:
    """The range of a figure in its unit, with digits that tell its ends apart."""
    low, high = _ends(found)
    written = exact(found, unit)
    if low is not None and high is not None:
        return f"{written.text(low)} to {written.with_unit(high)}"
    if high is not None:
        return f"at most {written.with_unit(high)}"
    return "range not known" if low is None else f"at least {written.with_unit(low)}"


def exact(found: Measured, unit: str) -> Scale:
    """The unit and decimals of a figure that its range justifies.

    Times are in seconds, as a problem file has them.
    """
    seconds = Scale(1.0, "s", _decimals(found.value))
    return _refined(found, seconds if unit == "s" else suited(found.value, unit))


def stated(found: Measured, unit: str) -> str:
    """A figure as a problem file takes it, without separators."""
    written = exact(found, unit)
    text = f"{found.value / written.size:.{written.digits}f}"
    short = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{short} {written.unit}".rstrip()


def _refined(found: Measured, written: Scale) -> Scale:
    ends = [end for end in _ends(found) if end is not None]
    half = max((abs(end - found.value) for end in ends), default=0.0) / written.size
    if half <= 0:
        return written
    wanted = -math.floor(math.log10(half))
    return written._replace(digits=max(written.digits, min(wanted, written.digits + _MORE_DIGITS)))


def _ends(found: Measured) -> tuple[float | None, float | None]:
    low, high = (
        end if end is not None and math.isfinite(end) else None for end in (found.low, found.high)
    )
    return low, high


def _decimals(value: float) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    return max(0, _LEAST_DIGITS - 1 - math.floor(math.log10(abs(value)) + 1e-9))


def moment(seconds: float, clock: str) -> str:
    """A time on a trace's clock: the minute in UTC, or how long after its zero."""
    if clock != "unix":
        return f"{duration(seconds)} after zero"
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.6g} s"


def day(seconds: float, clock: str) -> str:
    """The day of a time in UTC, or how long after the zero of its clock it is."""
    return moment(seconds, clock).split(" ")[0] if clock == "unix" else duration(seconds)


def instant(seconds: float, clock: str) -> str | None:
    """A time as ISO 8601 in UTC, None where the trace has no dates."""
    if clock != "unix":
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat("T", "milliseconds")[:-6] + "Z"
    except (OverflowError, ValueError, OSError):
        return None
