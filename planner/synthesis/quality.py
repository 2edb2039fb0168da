"""How good synthetic telemetry is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from planner.errors import Finding, InputError

MOST_SAMPLES = 1_000_000_000
"""More than that in one trace is a slip of the keyboard."""

_START = "write for example 2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class Quality:
    """How a trace is sampled, and what is wrong with it.

    Attributes:
        start: when it begins, UTC.
        length_s: how long it is, in whole samples.
        sample_s: time between two samples, a multiple of 1 ms.
        background_gb_per_s: mean of other traffic, in each direction.
        noise: standard deviation of a sample's rate, as a share of it.
        missing: share of samples that got lost.
        jitter_s: how far a sampling time may lie off to either side.
        counter: whether samples are counters of bytes, and not rates.
        resets: how often counters start again at 0.
        clock_steps: how often the clock is set.
    """

    start: datetime
    length_s: float
    sample_s: float = 10.0
    background_gb_per_s: float = 0.0
    noise: float = 0.0
    missing: float = 0.0
    jitter_s: float = 0.0
    counter: bool = False
    resets: int = 0
    clock_steps: int = 0

    @property
    def sample_ms(self) -> int:
        """Time between two samples, ms."""
        return round(1000 * self.sample_s)

    @property
    def samples(self) -> int:
        """How many whole samples fit into the length."""
        return round(1000 * self.length_s) // self.sample_ms

    @property
    def sampled_s(self) -> float:
        """How long all samples together are, s."""
        return self.samples * self.sample_ms / 1000

    @property
    def start_ms(self) -> int:
        """The start in ms since 1970."""
        return (self.start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def start_of(text: str) -> datetime:
    """Return a time as ISO 8601 has it, taken for UTC where it names no time zone.

    Raises:
        InputError: it is none, or before 1970.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        found = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _wrong(f"--start '{text}' is no time", _START) from None
    if found.year < 1970:
        raise _wrong(f"--start '{text}' is before 1970", _START)
    return found


def require(quality: Quality, clusters: int = 1) -> None:
    """Refuse what no telemetry can be, each fault with one line.

    Raises:
        InputError: options are wrong, or do not go together.
    """
    findings = [Finding("option", message, fix=fix) for message, fix in _faults(quality, clusters)]
    if findings:
        raise InputError(findings)


def _faults(quality: Quality, clusters: int) -> Iterator[tuple[str, str | None]]:
    exact = abs(quality.sample_ms - 1000 * quality.sample_s) < 1e-6
    if quality.sample_ms < 1 or not exact:
        yield f"--sample {quality.sample_s:g} s is no multiple of 1 ms", "write for example '10 s'"
        return
    if quality.samples < 1:
        yield (
            f"--length {quality.length_s:g} s is shorter than one sample of {quality.sample_s:g} s",
            "write for example --length '14 d'",
        )
    yield from _too_much(quality, clusters)
    if quality.jitter_s >= quality.sample_s / 2:
        yield (
            f"--jitter {quality.jitter_s:g} s must be less than half of a sample of "
            f"{quality.sample_s:g} s",
            None,
        )
    if quality.missing >= 1:
        yield f"--missing {quality.missing:g} leaves no samples", "write for example '0.1 %'"
    if quality.noise > 1:
        yield f"--noise {quality.noise:g} is more than the rate itself", "write for example '3 %'"
    if quality.resets and not quality.counter:
        yield "--resets are of counters, and the samples are rates", "add --counter"
    for option, number in (("--resets", quality.resets), ("--clock-steps", quality.clock_steps)):
        if number > quality.samples:
            yield f"{option} {number} is more than the {quality.samples:,} samples", None


def _too_much(quality: Quality, clusters: int) -> Iterator[tuple[str, str | None]]:
    rows = quality.samples * clusters
    if rows > MOST_SAMPLES:
        yield (
            f"{rows:,} samples are more than the {MOST_SAMPLES:,} that a trace may have",
            "shorten --length or lengthen --sample",
        )
        return
    try:
        quality.start + timedelta(seconds=quality.length_s)
    except OverflowError:
        yield "the trace would end after the year 9999", "shorten --length"


def _wrong(message: str, fix: str) -> InputError:
    return InputError(Finding("option", message, fix=fix))
