"""Inputs by path, and one at a time from low to high: those that the best plan depends on most."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from planner import units
from planner.analysis.variants import (
    Answer,
    Scenario,
    solve_scenarios,
    study_head,
)
from planner.api import NO_PLAN, WITHOUT_PLAN, Options
from planner.errors import Finding, InputError, clip
from planner.inputs import Change, Inputs, needs
from planner.levers import levers, write_value
from planner.loader import NoPathError
from planner.loader.axes import FACTOR, Variable, factor, number_of, short
from planner.paths import job_path
from planner.schema.analysis import EXACT_GAP, PLANNED, End, RowStatus, Swing, Tornado
from planner.schema.job import DEFAULT_FAILURES
from planner.schema.plan import Status
from planner.sizing.availability import FAILURES_PER_GPU_DAY
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.terminal import Progress, ignore

BY = 0.2
FIX = "write for example --vary budget.capex=400MUSD:500MUSD, =x0.8:x1.2 or =+-20%"
_NEAR = 1e-9


def study(
    inputs: Inputs,
    ranges: Sequence[str],
    options: Options,
    *,
    progress: Progress = ignore,
) -> Tornado:
    """The record of `planner.tornado`; the base is proven to the gap of `solve`.

    Raises:
        InputError: a range cannot be read, or an input is varied twice.
    """
    exact = replace(options, gap=min(options.gap, EXACT_GAP))
    base = solve_scenarios(inputs, [Scenario(0, ())], exact)[0]
    run, names = base.operation, limit_labels(inputs)
    spans = [read_span(inputs, each) for each in ranges]
    paths = [span.field.path for span in spans]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:  # a path that is a part of another is a question of its own
        raise InputError(Finding("vary", f"'{twice}' is varied twice", fix="vary it once"))
    spans = spans or default_spans(inputs, {} if run is None else run.units)
    sides = [side for span in spans for side in (span.low, span.high)]
    scenarios = [Scenario(place, side.changes) for place, side in enumerate(sides)]
    known = () if run is None else (run,)
    found = solve_scenarios(inputs, scenarios, replace(options, known=known), progress)
    ends, swings = list(map(_end, sides, found)), list[Swing]()
    for span, low, high in zip(spans, ends[::2], ends[1::2], strict=True):
        field, (one, other) = span.field, (low.objective, high.objective)
        word, number = short(field.variable.first.value), field.base
        swing = Swing(
            path=field.path,
            label=path_label(inputs, field.path, names),
            unit=field.unit if field.slot.numeric else "",
            base_text=word if number is None else field.short_text(number),
            low=low,
            high=high,
            width=None if one is None or other is None else abs(one - other),
        )
        swings.append(swing)
    status = _status(base, {end.status for end in ends})
    return Tornado(
        **study_head(inputs, options.gap),
        base=base.value,
        base_bound=base.bound,
        status=status,
        swings=tuple(sorted(swings, key=lambda s: (s.width is None, -(s.width or 0.0)))),
        message=None if status in PLANNED else base.reason or WITHOUT_PLAN[status],
    )


def _status(base: Answer, ends: set[RowStatus]) -> Status:
    """Status of the base; "optimal" only if every end is proven."""
    if base.status in ("infeasible", "unbounded"):
        return base.status
    if base.status not in PLANNED:
        return "no_solution"
    proven = ends <= {"optimal", "infeasible", "unbounded", "invalid"}
    return "optimal" if base.status == "optimal" and proven else "feasible"


def _end(side: Side, answer: Answer) -> End:
    return End(
        text=side.text,
        value=side.value,
        status=answer.status,
        objective=answer.value,
        bound=answer.bound,
        reason=NO_PLAN if answer.status == "infeasible" else answer.reason,
    )


# Inputs by path

_WORDS = {"it": "IT", "gpu": "GPU", "gpus": "GPUs", "pue": "PUE", "mfu": "MFU", "pdu": "PDU"}
_WORDS |= {"list": "list price"}
_PLAIN = {"consumes", "provides", "jobs", "targets"}
"""Steps of a path left out of its label."""
_PRESETS = {"per_gpu_day": FAILURES_PER_GPU_DAY, "bytes_per_parameter": BYTES_PER_PARAMETER}
"""Numbers that words stand for."""
_WRITTEN = {unit: unit for unit in ("kW", "USD", "s", "GB/s", "TB", "share")} | {"day": "days"}
"""Units written in a larger one where that is shorter."""
_DIGITS = 9


def limit_labels(inputs: Inputs) -> dict[str, str]:
    """Labels of a problem's limits by path."""
    return {lever.path: lever.label for lever in levers(inputs) if not lever.choice}


def path_label(inputs: Inputs, path: str, known: Mapping[str, str]) -> str:
    """Label of a path: of its limit in ``known``, else words of its last steps."""
    if path in known:
        return known[path]
    steps, named = path.split("."), ""
    if steps[0] in {"items", "extras", "catalog", "prices"} and len(steps) > 2:
        models = {family.id: family.name for family in inputs.families}
        models |= {item.id: item.model for item in inputs.items}
        named = f" of {'every item' if steps[1] == '*' else models.get(steps[1], steps[1])}"
        steps = steps[2:]
    last = [step for step in steps if step not in _PLAIN and not step.isdigit()][-2:]
    return " ".join(_WORDS.get(word, word) for step in last for word in step.split("_")) + named


class Field:
    """A path with its possible numbers.

    ``base`` is the number in place, also where a word stands for it, None where there is none; for
    a path of several places (``prices.*.list``) it is 1, and numbers are factors.

    Raises:
        NoPathError: the path leads nowhere.
    """

    def __init__(self, inputs: Inputs, path: str) -> None:
        self.variable = Variable(inputs, path)
        self.money, self.rates = inputs.problem.shown_in, inputs.problem.currencies
        self.path, self.several = self.variable.path, self.variable.several
        place = self.variable.first
        self.slot, value = place.slot, place.value
        if value is None and place.path == job_path("failures.per_gpu_day"):
            value = DEFAULT_FAILURES
        if isinstance(value, str):
            preset = _PRESETS.get(place.path.rpartition(".")[2], {}).get(value)
            value = None if preset is None else preset.value
        self.base = 1.0 if self.several else number_of(value)

    @property
    def unit(self) -> str:
        """Unit of numbers; x for factors."""
        return FACTOR if self.several else self.slot.column_unit

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most number."""
        if self.several:
            return 0.0, units.HUGE
        if self.slot.unit is None:
            return (0.0 if self.variable.takes("0") else 1.0), units.HUGE
        return self.slot.unit.low, self.slot.unit.high

    def text(self, number: float) -> str:
        """A number as in a problem file, or as a factor."""
        if self.slot.whole and not self.several:
            return str(round(number))
        return self.variable.text_of(float(f"{number:.{_DIGITS}g}"), factors=self.several)

    def short_text(self, number: float) -> str:
        """A number as a problem file has it, in a unit that keeps it short."""
        if self.unit in _WRITTEN and not self.slot.whole:
            shown = float(f"{number:.4g}") if self.unit == "USD" else number
            return write_value(shown, _WRITTEN[self.unit], self.money)
        return self.text(number)

    def side(self, text: str, origin: str) -> Side:
        """One end of a bar, from a value or a factor of the current number.

        Raises:
            InputError: the text is refused.
        """
        share = factor(text)
        if share is not None and self.base is not None and self.slot.numeric and not self.several:
            text = self.text(float(share) * self.base)
        reading = self.variable.read(text, origin)
        value = self.variable.column([reading])[1][0]
        if isinstance(value, float | int) and not isinstance(value, bool):
            return Side(self.short_text(float(value)), float(value), reading.changes)
        return Side(text, text, reading.changes)


def read_field(inputs: Inputs, option: str, form: str, fix: str) -> tuple[Field, str, str]:
    """Field, specification and origin of an option ``PATH=FORM``.

    Raises:
        InputError: it is none, or the path leads nowhere.
    """
    origin = f"--vary {clip(option, 80)}"
    path, _, spec = (part.strip() for part in option.partition("="))
    if not path or not spec:
        raise InputError(Finding("vary", f"not PATH={form}", origin, fix=fix))
    try:
        return Field(inputs, path), spec, origin
    except NoPathError as error:
        raise InputError(Finding("vary", str(error), origin, fix=error.fix)) from None


# Spans


class Side(NamedTuple):
    """An end: its value as text and as number or word, and the changes that set it."""

    text: str
    value: float | str
    changes: tuple[Change, ...]


class Span(NamedTuple):
    """An input with both ends."""

    field: Field
    low: Side
    high: Side


_AROUND = re.compile(r"(?:\+-|\+/-|±)\s*(\d+(?:\.\d+)?)\s*%\Z")


def read_span(inputs: Inputs, option: str) -> Span:
    """Read a span, ``PATH=LOW:HIGH`` or ``PATH=+-20%``.

    Raises:
        InputError: it cannot be read, the path leads nowhere, or a value is refused.
    """
    field, spec, origin = read_field(inputs, option, "LOW:HIGH", FIX)
    if around := _AROUND.match(spec):
        span = make_span(field, float(around[1]) / 100.0)
        if span is None:
            message = f"there is no number here to take {spec} of"
            raise InputError(Finding("vary", message, origin, fix="write LOW:HIGH"))
        return span
    ends = [part.strip() for part in spec.split(":")]
    if len(ends) != 2 or not all(ends) or ends[0] == ends[1]:
        raise InputError(Finding("vary", f"'{spec[:60]}' is not LOW:HIGH", origin, fix=FIX))
    return Span(field, *(field.side(text, origin) for text in ends))


def make_span(
    field: Field, by: float, least: float = -math.inf, most: float = math.inf
) -> Span | None:
    """Span of a number by a share to either side, to five digits, within least and most.

    Whole numbers go at least one up and down; an end that is refused is the number itself. None
    where there is no number, or no way to go.
    """
    base = field.base
    if not base or not field.slot.numeric:
        return None
    low, high = (float(f"{base * (1.0 + side):.5g}") for side in (-by, by))
    if field.slot.whole and not field.several:
        low, high = math.floor(low + _NEAR), math.ceil(high - _NEAR)
    bottom, top = field.ends
    sides = []
    for number in (min(max(low, bottom, least), base), max(min(high, top, most), base)):
        text = field.text(number)
        if field.variable.takes(text):
            changes = field.variable.read(text).changes
            sides.append(Side(field.short_text(number), number, changes))
        else:
            sides.append(Side(field.short_text(base), base, ()))
    return None if sides[0] == sides[1] else Span(field, *sides)


# Numbers varied by default


def default_spans(inputs: Inputs, counts: Mapping[str, int]) -> list[Span]:
    """Spans of a problem's numbers, each by a fifth to either side.

    Limits, demands and the job, then assumptions on storage and failures, then prices and power:
    of all items, and of each that the best plan buys.

    Args:
        counts: units by item of the best plan.
    """
    limits = [each for each in levers(inputs) if each.value is not None]
    names = ("*", *sorted(name for name, count in counts.items() if count))
    figures = ("prices.{}.list", "catalog.{}.consumes.it_power")
    products = [figure.format(name) for figure in figures for name in names]
    numbers = [(each.path, each.least, each.most) for each in limits]
    numbers += [(path, -math.inf, math.inf) for path in (*_assumptions(inputs), *products)]
    found: dict[str, Span] = {}
    for path, least, most in numbers:
        with suppress(NoPathError):  # the problem does not state it
            span = make_span(Field(inputs, path), BY, least, most)
            if span is not None:
                found.setdefault(span.field.path, span)
    return list(found.values())


def _assumptions(inputs: Inputs) -> Iterator[str]:
    job = inputs.problem.job
    yield from ("storage.delivered_fraction.write", "storage.delivered_fraction.read")
    own = any(item.gpu.failures_per_day is not None for item in inputs.items)
    of_items = own and job.failure_rate is None
    yield "catalog.*.gpu.failures_per_day" if of_items else job_path("failures.per_gpu_day")
    sized, counted = job.checkpoint.size_gb is not None, job.parameters is not None
    if not (sized and counted):  # both have to agree
        yield job_path("checkpoint.size") if sized else job_path("bytes_per_parameter")
    yield job_path("checkpoint.stall")
    yield job_path("restore.restart")
    if job.lost_share:
        yield job_path("lost_time")
    yield job_path("training.mfu" if job.training.model is None else "training.rate_factor")
    yield from (job_path("training.scale.exponent"), job_path("repair.share"))
    yield from ("site.pue", "site.pue.air", "site.pue.liquid")
    if needs(inputs.problem, "term"):
        yield "term.electricity"
