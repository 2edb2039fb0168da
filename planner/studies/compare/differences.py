"""Plans side by side: lines, figures, limits and inputs, each with its change from the first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import get_args

from planner.outputs import scope
from planner.outputs.words import product
from planner.schema.comparison import FigureRow, LimitRow, LimitSide, LineRow, Series
from planner.schema.plan import LimitReport, Line, Plan, Section
from planner.studies.compare.figures import FIGURES, Figure, Scalar
from planner.studies.compare.inputs import input_figures
from planner.studies.compare.outcome import total

_SAME = 1e-9
"""Relative difference under which two numbers are the same: the noise of sums."""


def figure_rows(plans: Sequence[Plan]) -> tuple[FigureRow, ...]:
    """Return what the plans come to and how their jobs run."""
    return _rows(FIGURES, plans)


def input_rows(plans: Sequence[Plan]) -> tuple[FigureRow, ...]:
    """Return what the plans were made from."""
    return _rows(input_figures(plans), plans)


def _rows(figures: Iterable[Figure], plans: Sequence[Plan]) -> tuple[FigureRow, ...]:
    """Return the figures that any plan has; one without a plan does not count as different."""
    rows = []
    for figure in figures:
        values = [figure.read(plan) for plan in plans]
        if any(value is not None for value in values):
            known = [v for v, plan in zip(values, plans, strict=True) if plan.jobs or v is not None]
            rows.append(
                FigureRow(
                    name=figure.name, group=figure.group, label=figure.label, unit=figure.unit,
                    series=series(values), equal=all(same(known[0], value) for value in known),
                )
            )  # fmt: skip
    return tuple(rows)


def series(values: Sequence[Scalar]) -> Series:
    """Return values with how far each lies above the first."""
    return Series(values=tuple(values), changes=tuple(_change(values[0], v) for v in values))


def _change(first: Scalar, value: Scalar) -> float | None:
    if isinstance(first, (int, float)) and isinstance(value, (int, float)):
        return 0.0 if same(first, value) else value - first
    return None


def same(first: Scalar, value: Scalar) -> bool:
    """Return whether two values are the same, the noise of sums apart."""
    if isinstance(first, (int, float)) and isinstance(value, (int, float)):
        return abs(value - first) <= _SAME * max(abs(first), abs(value))
    return first == value


def line_rows(plans: Sequence[Plan]) -> tuple[LineRow, ...]:
    """Return every product that a bill holds, in the order of the bill's sections."""
    known: dict[str, Line] = {}
    for plan in plans:
        for line in scope.own_lines(plan):
            known.setdefault(line.sku, line)
    order = {section: place for place, section in enumerate(get_args(Section))}
    lines = sorted(known.values(), key=lambda line: order[line.section])
    return tuple(_line(line, plans) for line in lines)


def _line(line: Line, plans: Sequence[Plan]) -> LineRow:
    def summed(read: Callable[[Line], float | None]) -> Series:
        return series([_sum(plan, line.sku, read) for plan in plans])

    quantity = summed(lambda each: each.quantity)
    capex_usd = summed(lambda each: each.extended_net_usd)
    it_power_kw = summed(lambda each: each.it_power_kw)
    return LineRow(
        sku=line.sku,
        section=line.section,
        product=product(line),
        quantity=quantity,
        capex_usd=capex_usd,
        it_power_kw=it_power_kw,
        equal=all(_constant(each, plans) for each in (quantity, capex_usd, it_power_kw)),
    )


def _constant(found: Series, plans: Sequence[Plan]) -> bool:
    """Return whether a figure is the same in every plan there is."""
    known = [value for value, plan in zip(found.values, plans, strict=True) if plan.jobs]
    return all(same(known[0], value) for value in known)


def _sum(plan: Plan, sku: str, read: Callable[[Line], float | None]) -> float | None:
    """Return the sum over a product's lines: 0 where the bill does not hold it."""
    if not plan.jobs:
        return None
    return total(read(line) for line in scope.own_lines(plan) if line.sku == sku)


def limit_rows(plans: Sequence[Plan]) -> tuple[LimitRow, ...]:
    """Return every limit that a plan has."""
    known: dict[str, LimitReport] = {}
    for plan in plans:
        for limit in plan.limits:
            known.setdefault(limit.name, limit)
    return tuple(_limit(limit, plans) for limit in known.values())


def _limit(limit: LimitReport, plans: Sequence[Plan]) -> LimitRow:
    sides = tuple(_reached(plan, limit.name) for plan in plans)
    there = [side for side, plan in zip(sides, plans, strict=True) if plan.jobs]
    return LimitRow(
        name=limit.name,
        label=limit.label,
        unit=limit.unit,
        sense=limit.sense,
        sides=sides,
        equal=all(_alike(there[0], side) for side in there),
    )


def _reached(plan: Plan, name: str) -> LimitSide | None:
    found = next((limit for limit in plan.limits if limit.name == name), None)
    if found is None:
        return None
    return LimitSide(value=found.value, limit=found.limit, binding=found.binding)


def _alike(first: LimitSide | None, side: LimitSide | None) -> bool:
    if first is None or side is None:
        return first is side
    return (
        same(first.value, side.value)
        and same(first.limit, side.limit)
        and first.binding == side.binding
    )
