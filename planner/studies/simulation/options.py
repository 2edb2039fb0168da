"""How a plan is simulated, as the command line says it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planner import units
from planner.errors import Finding, InputError
from planner.simulation.world import Exponential, Failures, JobRun, Outages, Planned, Weibull, World
from planner.studies.simulation.failure_file import read_times

YEAR_S = 365 * 86_400.0
MOST_REPLICATIONS = 100_000
LONGEST_S = 1000 * YEAR_S
MOST_EVENTS = 2e7
"""Events of one run that are stepped through before somebody has waited too long."""

_SHAPES = (0.2, 20.0)
_KINDS = "write exponential, weibull:0.7 (its shape) or the name of a CSV file"


@dataclass(frozen=True)
class SimulationOptions:
    """What to simulate of a plan, and how often.

    ``failures`` is "exponential", "weibull:SHAPE" or a file, of which ``column`` names the column
    and ``scaled`` stretches the times to the plan's mean. ``planned`` and ``outages`` are texts of
    two times. ``intervals`` says whether to try other intervals, None where the job is alone.
    ``processes`` of 0 are as many as there are cores.
    """

    failures: str = "exponential"
    column: str | None = None
    scaled: bool = False
    planned: str | None = None
    outages: str | None = None
    beside: tuple[Path, ...] = ()
    replications: int = 1000
    length_s: float = YEAR_S
    seed: int = 1
    interval_s: float | None = None
    intervals: bool | None = None
    processes: int = 0


def planned_of(text: str | None) -> Planned | None:
    """Return the planned stops that a text asks for.

    Raises:
        InputError: it is not two times, or a stop would last until the next.
    """
    if text is None:
        return None
    every, lasting = _two_times("--planned", text, "'30 days,4 h': every 30 days, for 4 hours")
    if lasting >= every:
        message = f"--planned {text}: a stop lasts until the next one is due"
        raise InputError(Finding("option", message, fix="write '30 days,4 h': how often, how long"))
    return Planned(every, lasting)


def outages_of(text: str | None) -> Outages | None:
    """Return the outages that a text asks for.

    Raises:
        InputError: it is not two times.
    """
    if text is None:
        return None
    fix = "'2 years,8 h': one appliance fails every 2 years and is repaired in 8 hours"
    return Outages(*_two_times("--outages", text, fix))


def _two_times(option: str, text: str, example: str) -> tuple[float, float]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        message = f"{option} '{text[:60]}' is not two times"
        raise InputError(Finding("option", message, fix=f"write {example}"))
    first, second = (_time(option, part) for part in parts)
    return first, second


def _time(option: str, text: str) -> float:
    try:
        value = units.parse(text, units.TIME)
    except units.QuantityError as error:
        raise InputError(Finding("option", f"{option}: {error}", fix=error.fix)) from None
    if value <= 0:
        raise InputError(Finding("option", f"{option}: {text} must be more than 0"))
    return value


def failures_of(options: SimulationOptions, mean_s: float) -> Failures:
    """Return when a plan's job fails.

    Args:
        options: what is asked for.
        mean_s: the plan's mean time between interruptions.

    Raises:
        InputError: nothing of the kind is known, or its file is wrong.
    """
    text = options.failures.strip()
    kind, colon, shape = text.partition(":")
    drawn = kind.lower()
    if drawn not in ("exponential", "weibull"):
        return _measured(options, text, mean_s)
    if options.column is not None or options.scaled:
        name = "--column" if options.column is not None else "--scaled"
        fix = "give the file: --failures FILE.csv"
        raise InputError(Finding("option", f"{name} is about a file of failures", fix=fix))
    if drawn == "weibull":
        return Weibull(mean_s, _shape(shape))
    if colon:
        raise InputError(Finding("option", f"--failures '{text[:60]}' is not known", fix=_KINDS))
    return Exponential(mean_s)


def _measured(options: SimulationOptions, text: str, mean_s: float) -> Failures:
    if not text.lower().endswith(".csv"):
        raise InputError(Finding("option", f"--failures '{text[:60]}' is not known", fix=_KINDS))
    found = read_times(Path(text), options.column)
    return found.scaled(mean_s) if options.scaled else found


def _shape(text: str) -> float:
    try:
        shape = float(text)
    except ValueError:
        shape = -1.0
    low, high = _SHAPES
    if not low <= shape <= high:
        message = f"'{text[:40]}' is no shape of a Weibull distribution"
        fix = f"write weibull:0.7; it must lie between {low:g} and {high:g}"
        raise InputError(Finding("option", message, "--failures", fix=fix))
    return shape


def require_numbers(options: SimulationOptions) -> None:
    """Refuse counts and lengths that make no sense.

    Raises:
        InputError: one is too small or too large.
    """
    count, length_s = options.replications, options.length_s
    if not 2 <= count <= MOST_REPLICATIONS:
        message = f"--replications {count} must lie between 2 and {MOST_REPLICATIONS:,}"
        raise InputError(Finding("option", message, fix="1000 are usual"))
    if length_s > LONGEST_S:
        message = f"--length {length_s / YEAR_S:,.0f} years is longer than 1,000 years"
        raise InputError(Finding("option", message, fix="add replications instead"))


def require_sense(world: World, options: SimulationOptions, events: float) -> None:
    """Refuse what cannot be simulated, or not in any sensible time.

    Args:
        world: what is to be simulated.
        options: how.
        events: of one run, about.

    Raises:
        InputError: something does not fit.
    """
    for job in world.jobs:
        if job.compute_s <= 0:
            raise InputError(_too_short(job, options))
    longest = max(job.interval_s for job in world.jobs)
    if options.length_s <= longest:
        message = f"--length {options.length_s:g} s ends before the first checkpoint"
        fix = f"give more than the interval, {longest:.0f} s"
        raise InputError(Finding("option", message, fix=fix))
    if events > MOST_EVENTS:
        message = (
            f"a run would have about {events:,.0f} events, at most {MOST_EVENTS:,.0f} are made"
        )
        raise InputError(Finding("option", message, fix="give a shorter --length"))


def _too_short(job: JobRun, options: SimulationOptions) -> Finding:
    what = f"the interval of {job.name}, {job.interval_s:g} s,"
    if options.interval_s == job.interval_s:
        what = f"--interval {job.interval_s:g} s"
    message = f"{what} is no longer than the {job.stall_s:.3g} s that the GPUs stand still for it"
    return Finding("option", message, fix="give a longer interval")
