"""Inputs varied one at a time: which of them the best plan depends on most."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.errors import Finding, InputError
from planner.infeasible import clash
from planner.inputs import Change, Inputs, needs
from planner.levers import levers
from planner.levers.model import written
from planner.loader.vary import checked
from planner.loader.vary.place import NoPlaceError, short
from planner.paths import job_path
from planner.processes import Progress, ignore
from planner.schema.plan import Status
from planner.schema.sensitivity import PLANNED, End, Swing, Tornado
from planner.studies.request import Found, Request, SweepOptions, head_of
from planner.studies.sensitivity.scenarios import Scenario, label, labels
from planner.studies.sensitivity.solve import NO_PLAN, Answer, name_limits
from planner.studies.sensitivity.uncertain.distributions import Field
from planner.studies.sensitivity.workers import answers

WORK = 2000.0


def why(inputs: Inputs, changes: tuple[Change, ...]) -> str:
    """Return which limits cannot hold together after changes that leave no plan."""
    try:
        found = clash(checked(inputs, changes), work=WORK)
    except InputError:
        return NO_PLAN
    return name_limits(found, {})


def width(one: Answer, other: Answer) -> tuple[float | None, float | None, float | None]:
    """Return the distance of two values, and the least and the most that of the optima can be.

    None where an end has no plan, or no bound.
    """
    if one.value is None or other.value is None:
        return None, None, None
    apart = abs(one.value - other.value)
    if one.bound is None or other.bound is None:
        return apart, None, None
    low, high = sorted((one.value, one.bound)), sorted((other.value, other.bound))
    least = max(0.0, high[0] - low[1], low[0] - high[1])
    return apart, least, max(high[1] - low[0], low[1] - high[0])


SPAN_FIX = "write for example --vary budget.capex=400MUSD:500MUSD, =x0.8:x1.2 or =+-20%"
_AROUND = re.compile(r"(?:\+-|\+/-|±)\s*(\d+(?:\.\d+)?)\s*%\Z")
_WRITTEN = {unit: unit for unit in ("kW", "USD", "s", "GB/s", "TB", "share")} | {"day": "days"}
"""Units that are written in another one where that is shorter, and what they are called there."""
_NEAR = 1e-9


@dataclass(frozen=True)
class Side:
    """One end: the value as the problem file has it, as a number or word, and its changes."""

    text: str
    value: float | str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Span:
    """An input with both its ends."""

    path: str
    label: str
    unit: str
    base_text: str
    low: Side
    high: Side


def asked_span(inputs: Inputs, option: str) -> Span:
    """Return the span that a ``PATH=LOW:HIGH`` or ``PATH=+-20%`` asks for.

    Raises:
        InputError: it cannot be read, the path leads nowhere, or a value is refused.
    """
    origin = f"--vary {option if len(option) <= 80 else option[:77] + '...'}"
    path, separator, spec = (part.strip() for part in option.partition("="))
    if not (path and separator and spec):
        raise InputError(Finding("vary", "not PATH=LOW:HIGH", origin, fix=SPAN_FIX))
    try:
        field = Field(inputs, path)
    except NoPlaceError as error:
        raise InputError(Finding("vary", str(error), origin, fix=error.fix)) from None
    found = _AROUND.match(spec)
    if found is not None:
        span = span_around(inputs, field, float(found[1]) / 100.0)
        if span is None:
            message = f"there is no number here to take {spec} of"
            raise InputError(Finding("vary", message, origin, fix="write LOW:HIGH"))
        return span
    ends = [part.strip() for part in spec.split(":")]
    if len(ends) != 2 or not all(ends) or ends[0] == ends[1]:
        raise InputError(Finding("vary", f"'{spec[:60]}' is not LOW:HIGH", origin, fix=SPAN_FIX))
    low, high = (_read(field, text, origin) for text in ends)
    return _span(inputs, field, low, high)


def span_around(
    inputs: Inputs, field: Field, by: float, least: float = -math.inf, most: float = math.inf
) -> Span | None:
    """Return the span of a number by a share of it to either side, within what may stand there.

    Whole numbers go at least one up and down. None where there is no number, or no way to go.

    Args:
        field: where the number stands.
        by: the share.
        least: go no lower.
        most: go no higher.
    """
    base = field.base
    if base is None or not base or not field.numeric:
        return None
    low, high = base * (1.0 - by), base * (1.0 + by)
    if field.slot.whole and not field.several:
        low, high = math.floor(low + _NEAR), math.ceil(high - _NEAR)
    bottom, top = field.ends
    low, high = max(low, bottom, least), min(high, top, most)
    sides = _at(field, min(low, base)), _at(field, max(high, base))
    if sides[0] == sides[1]:
        return None
    return _span(inputs, field, *sides)


def _span(inputs: Inputs, field: Field, low: Side, high: Side) -> Span:
    base = field.variable.first.standing
    text = short(base) if field.base is None else _write_value(field, field.base)
    name = label(inputs, field.path, labels(inputs))
    return Span(field.path, name, _unit(field), text, low, high)


def _unit(field: Field) -> str:
    return field.unit if field.numeric else ""


def _at(field: Field, number: float) -> Side:
    """Return the end at a number; the number that stands there where another is refused."""
    reading = field.read(field.text(number))
    if reading.faults:
        assert field.base is not None
        return Side(_write_value(field, field.base), field.base, ())
    return Side(_write_value(field, number), number, reading.changes)


def _read(field: Field, text: str, origin: str) -> Side:
    """Return the end at a text of the user's.

    Raises:
        InputError: it is refused.
    """
    reading = field.read(text)
    if reading.faults:
        raise InputError([replace(f, file=origin, path=field.path) for f in reading.faults])
    value = field.variable.cell(reading, field.variable.choose_display([text]))
    if isinstance(value, float | int) and not isinstance(value, bool):
        return Side(_write_value(field, float(value)), float(value), reading.changes)
    return Side(text, text, reading.changes)


def _write_value(field: Field, number: float) -> str:
    """Return a number as a problem file has it, in a unit that keeps it short."""
    if field.unit in _WRITTEN and not field.slot.whole:
        return written(number, _WRITTEN[field.unit])
    return field.text(number)


Bounds = tuple[str, float, float]
"""A path, and how low and how high it may go."""

_FOLLOWING = (job_path("parallelism."),)
"""Numbers that hang together with others."""


def defaults(inputs: Inputs, by: float, counts: Mapping[str, int]) -> list[Span]:
    """Return the spans of a problem's numbers, each by a share to either side.

    Limits, demands and facts of the job come first, then what is assumed of storage and failures,
    then prices and draws: all of them at once, and those of what the best plan buys one by one.

    Args:
        by: the share.
        counts: units by item of the best plan, nothing where there is none.
    """
    found: dict[str, Span] = {}
    for path, least, most in _numbers(inputs, counts):
        try:
            span = span_around(inputs, Field(inputs, path), by, least, most)
        except NoPlaceError:
            continue  # nothing states it: it does not apply
        if span is not None:
            found.setdefault(span.path, span)
    return list(found.values())


def _numbers(inputs: Inputs, counts: Mapping[str, int]) -> Iterator[Bounds]:
    for lever in levers(inputs):
        fixed = lever.between and lever.path.startswith("items.")
        if lever.value is not None and not fixed and not lever.path.startswith(_FOLLOWING):
            yield lever.path, lever.least, lever.most
    for path in _facts(inputs):
        yield path, -math.inf, math.inf
    bought = sorted(name for name, count in counts.items() if count)
    for figures in ("prices.{}.list", "catalog.{}.consumes.it_power"):
        for name in ("*", *bought):
            yield figures.format(name), -math.inf, math.inf


def _facts(inputs: Inputs) -> Iterator[str]:
    """Yield what is assumed of the job, of storage and of the site, and is no limit."""
    job = inputs.problem.job
    yield "storage.delivered_fraction.write"
    yield "storage.delivered_fraction.read"
    own = any(item.gpu.failures_per_day is not None for item in inputs.items)
    if own and job.failure_rate is None:
        yield "catalog.*.gpu.failures_per_day"
    else:
        yield job_path("failures.per_gpu_day")
    sized, counted = job.checkpoint.size_gb is not None, job.parameters is not None
    if not (sized and counted):  # both have to agree
        yield job_path("checkpoint.size") if sized else job_path("bytes_per_parameter")
    yield job_path("checkpoint.stall")
    yield job_path("restore.restart" if job.restart.remote_s is None else "restart.remote")
    if job.lost_share:
        yield job_path("lost_time")
    yield job_path("training.mfu")
    yield job_path("training.scale.exponent")
    yield job_path("repair.share")
    yield "site.pue"
    yield "site.pue.air"
    yield "site.pue.liquid"
    if needs(inputs.problem, "term"):
        yield "term.electricity"


__all__ = ["BY", "study"]

BY = 0.2
MOST_EXPLAINED = 6
"""So many ends without a plan are told why; finding it out takes longer than solving."""


def study(
    inputs: Inputs,
    ranges: Sequence[str] = (),
    options: SweepOptions | None = None,
    *,
    by: float = BY,
    progress: Progress = ignore,
) -> Tornado:
    """Return what the best plan does when one input goes from low to high, all else as it stands.

    Args:
        ranges: what to vary, each as ``PATH=LOW:HIGH`` or ``PATH=+-20%``; none for every number
            that may matter.
        options: how exactly to solve, and how long at most for each end.
        by: where no ranges are given, how far to go to either side, as a share.
        progress: is called with how many ends of how many are solved.

    Raises:
        InputError: a range cannot be read, or an input is varied twice.
    """
    options = options or SweepOptions()
    base = answers(inputs, [Scenario(0, ())], options)[0]
    counts = {} if base.operation is None else base.operation.units
    spans = [asked_span(inputs, each) for each in ranges] or defaults(inputs, by, counts)
    _refuse_twice(spans)
    sides = [side for span in spans for side in (span.low, span.high)]
    scenarios = [Scenario(place, side.changes) for place, side in enumerate(sides)]
    found = _explained(inputs, answers(inputs, scenarios, options, progress))
    swings = [
        _swing(span, found[2 * place], found[2 * place + 1]) for place, span in enumerate(spans)
    ]
    return _head(inputs, base, options, swings)


def _refuse_twice(spans: Sequence[Span]) -> None:
    paths = [span.path for span in spans]
    twice = [path for place, path in enumerate(paths) if path in paths[:place]]
    if twice:
        raise InputError(Finding("vary", f"'{twice[0]}' is varied twice", fix="vary it once"))


def _explained(inputs: Inputs, found: Sequence[Answer]) -> list[tuple[Answer, str]]:
    """Return answers with why there is no plan, where there is none."""
    explained, left = [], MOST_EXPLAINED
    for answer in found:
        reason = answer.reason
        if answer.status == "infeasible" and not reason:
            reason = why(inputs, answer.scenario.changes) if left else NO_PLAN
            left = max(0, left - 1)
        explained.append((answer, reason))
    return explained


def _swing(span: Span, low: tuple[Answer, str], high: tuple[Answer, str]) -> Swing:
    middle, least, most = width(low[0], high[0])
    return Swing(
        path=span.path,
        label=span.label,
        unit=span.unit,
        base_text=span.base_text,
        low=_end(span.low, *low),
        high=_end(span.high, *high),
        width=middle,
        least_width=least,
        most_width=most,
    )


def _end(side: Side, answer: Answer, reason: str) -> End:
    units = {} if answer.operation is None else answer.operation.units
    return End(
        text=side.text,
        value=side.value,
        status=answer.status,
        objective=answer.value,
        bound=answer.bound,
        counts={name: count for name, count in sorted(units.items()) if count},
        reason=reason,
    )


def _head(inputs: Inputs, base: Answer, options: SweepOptions, swings: Sequence[Swing]) -> Tornado:
    """Return the record, the widest swing first and those without a plan at an end last."""
    status = _status(base, swings)
    return Tornado(
        **head_of(inputs, options.gap),
        base=base.value,
        base_bound=base.bound,
        status=status,
        swings=tuple(sorted(swings, key=_rank)),
        message=None if status in PLANNED else base.reason or MESSAGES[status],
    )


MESSAGES: dict[Status, str] = {
    "infeasible": NO_PLAN,
    "unbounded": "nothing limits the purchase: give a power, space or cost budget",
    "no_solution": "the problem as it stands was not solved",
}


def _rank(swing: Swing) -> tuple[bool, float]:
    return swing.width is None, -(swing.width or 0.0)


def _status(base: Answer, swings: Sequence[Swing]) -> Status:
    """Return how the study ended: the base decides, then whether every end is proven."""
    if base.status in ("failed", "invalid", "no_solution"):
        return "no_solution"
    if base.status in ("infeasible", "unbounded"):
        return "infeasible" if base.status == "infeasible" else "unbounded"
    ends = [end.status for swing in swings for end in (swing.low, swing.high)]
    proven = all(status in ("optimal", "infeasible", "unbounded", "invalid") for status in ends)
    return "optimal" if base.status == "optimal" and proven else "feasible"


def run(request: Request, *, vary: Sequence[str], by: float) -> Found:
    """Tell which inputs the best plan of a problem depends on most.

    Args:
        vary: what to vary, each as ``PATH=LOW:HIGH`` or ``PATH=+-20%``; none for every number that
            may matter.
        by: how far those go to either side, as a share.

    Raises:
        InputError: the problem or a range is wrong.
    """
    found = study(request.inputs, vary, request.each(), by=by, progress=request.progress)
    ends = {end.status for swing in found.swings for end in (swing.low, swing.high)}
    ended = "failed" if "failed" in ends else found.status
    return Found((found,), (ended,), plan=request.plan)
