"""What differs between plans: lines, figures, limits and inputs, with changes from the first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from planner.figures import FIGURES, OBJECTIVES
from planner.outputs import scope
from planner.outputs.words import product
from planner.schema.comparison import (
    Bought,
    FigureRow,
    LimitRow,
    LimitSide,
    LineRow,
    Measure,
    Outcome,
    Series,
)
from planner.schema.plan import Assumption, LimitReport, Line, Loss, ObjectiveReport, Plan, Section


def measure_of(objective: ObjectiveReport, *, flops: bool) -> Measure:
    """Return what plans for this objective are measured by: useful work, or what is to be least.

    Args:
        objective: the objective of the problem.
        flops: whether useful work is known in PFLOP/s.
    """
    if objective.sense == "minimize":
        values = {"name": objective.name, "label": OBJECTIVES[objective.name].label}
        return Measure.model_validate(values | {"unit": objective.unit, "sense": "minimize"})
    figure = FIGURES["useful_gpus"]
    if flops and objective.name != figure.name:
        figure = FIGURES["useful_pflops"]
    values = {"name": figure.name, "label": figure.label, "unit": figure.unit}
    return Measure.model_validate(values | {"sense": "maximize"})


def value_in(plan: Plan, measure: Measure) -> float | None:
    """Return a plan's value in a measure, None where there is no plan or it is not known."""
    if not plan.jobs:
        return None
    if measure.sense == "minimize":
        return plan.objective.value
    return plan.jobs[0].useful_pflops if measure.unit == "PFLOP/s" else plan.jobs[0].useful_gpus


def outcome(plan: Plan, measure: Measure, reference: float | None) -> Outcome | None:
    """Return what a plan buys and does, None where there is no plan.

    Args:
        reference: the value in that measure to tell the difference from, where there is one.
    """
    if plan.totals is None or not plan.jobs:
        return None
    job, totals, value = plan.jobs[0], plan.totals, value_in(plan, measure)
    storage = _of_section(plan, "Storage")
    return Outcome(
        systems=_bought(_of_section(plan, "Compute")),
        storage=_bought(storage),
        storage_units=sum(line.working for line in storage),
        storage_it_power_kw=total(line.it_power_kw for line in storage),
        storage_capex_usd=total(line.extended_net_usd for line in storage),
        it_power_kw=totals.it_power_kw,
        facility_power_kw=totals.facility_power_kw,
        capex_usd=totals.capex_usd,
        gpus=totals.gpus,
        gpus_used=job.gpus_used,
        useful_gpus=job.useful_gpus,
        useful_pflops=job.useful_pflops,
        days_to_train=job.days_to_train,
        mode=job.mode,
        interval_s=job.interval_s,
        overlap=job.overlap,
        goodput=job.goodput,
        objective_value=plan.objective.value,
        gap=plan.objective.gap,
        measured=value,
        difference=value / reference - 1.0 if value is not None and reference else None,
    )


def _of_section(plan: Plan, section: str) -> list[Line]:
    return [line for line in scope.own_lines(plan) if line.section == section]


def _bought(lines: list[Line]) -> tuple[Bought, ...]:
    return tuple(
        Bought(sku=line.sku, model=line.model, product=product(line), quantity=line.working)
        for line in lines
        if line.working
    )


def total(values: Iterable[float | None]) -> float | None:
    """Return a sum, None where a part of it is not known."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if len(known) == len(listed) else None


Scalar = float | str | None


@dataclass(frozen=True)
class Compared:
    """What is compared: its name and words, and where a plan has it."""

    name: str
    group: str
    label: str
    unit: str
    read: Callable[[Plan], Scalar]


def _of_totals(name: str, group: str) -> Compared:
    def read(plan: Plan) -> Any:
        return None if plan.totals is None else getattr(plan.totals, name)

    return Compared(name, group, FIGURES[name].label, FIGURES[name].unit, read)


def _of_job(name: str, group: str) -> Compared:
    return _as_stated(name, group, FIGURES[name].label, FIGURES[name].unit)


def _as_stated(name: str, group: str, label: str, unit: str = "") -> Compared:
    """Return what a plan states of its job, a choice or a figure."""

    def read(plan: Plan) -> Any:
        return getattr(plan.jobs[0], name) if plan.jobs else None

    return Compared(name, group, label, unit, read)


def _lost(name: str) -> Compared:
    def read(plan: Plan) -> Any:
        return plan.jobs[0].losses.get(name) if plan.jobs else None

    figure = FIGURES[f"loss.{name}"]
    return Compared(figure.name, _LOST, f"lost to {figure.label}", figure.unit, read)


_BUY, _RUN, _MONEY, _LOST = "What it comes to", "How the job runs", "Money", "Where time goes"

COMPARED: tuple[Compared, ...] = (
    _of_totals("gpus", _BUY),
    _of_job("gpus_used", _BUY),
    *(_of_totals(name, _BUY) for name in (
        "it_power_kw", "facility_power_kw", "racks", "weight_kg", "read_gb_per_s",
        "write_gb_per_s", "usable_tb", "lead_time_days",
    )),
    *(_of_job(name, _RUN) for name in (
        "useful_pflops", "useful_gpus", "goodput", "days_to_train", "interval_s", "stall_s",
        "drain_s", "overlap", "restore_s", "mtti_s", "delivered_write_gb_per_s",
        "delivered_read_gb_per_s", "write_volume_tb_per_day",
    )),
    *(_lost(name) for name in Loss.model_fields),
    *(_of_totals(name, _MONEY) for name in (
        "capex_usd", "opex_usd_per_year", "energy_usd_per_year", "support_usd_per_year", "tco_usd",
        "usd_per_useful_gpu_hour", "usd_per_million_tokens",
    )),
)  # fmt: skip
"""What is compared of every plan, in the order it is shown in."""


_ORIGIN, _SITE, _JOB = "Where it comes from", "Site and objective", "Job and assumptions"
_LIMITS, _PRICES = "What is allowed", "Prices"

_COMPUTED = frozenset({"drain_fits", "local_fits", "local_lag", "local_room", "local_endurance",
                       "capacity", "ingest", "endurance", "rule_read", "rule_write",
                       "facility_power", "it_power", "racks"})  # fmt: skip
"""Limits whose bound follows from the plan, or is one of the site."""

_OF_PRODUCTS = ("min_units.", "max_units.", "family_max_units.", "stock.", "hot_spares.")
"""How limits begin that a plan has because of what it buys."""

_OF_SITE = frozenset({"pue", "pue.air", "pue.liquid", "electricity", "years",
                      "delivered_fraction.write", "delivered_fraction.read"})  # fmt: skip
"""Assumptions that the site states too, also where there is no plan."""


def _site_states(name: str, label: str, unit: str = "") -> Compared:
    def read(plan: Plan) -> Any:
        return getattr(plan.site, name)

    return Compared(f"site.{name}", _SITE, label, unit, read)


def _of_site(name: str) -> Compared:
    return _site_states(name, FIGURES[name].label, FIGURES[name].unit)


def _allowed_on_site(name: str, figure: str) -> Compared:
    return _site_states(name, f"{FIGURES[figure].label}, at most", FIGURES[figure].unit)


def _rule(plan: Plan) -> str | None:
    """Return which rule sizes storage, as the plan's limits say."""
    rules = [limit.label for limit in plan.limits if limit.name == "rule_read"]
    sized_by = rules[0].removesuffix(", read") if rules else "what the job needs"
    return sized_by if plan.jobs else None


def _objective(plan: Plan) -> str:
    return f"{plan.objective.sense} {plan.objective.name.replace('_', ' ')}"


_FIXED: tuple[Compared, ...] = (
    Compared("problem", _ORIGIN, "problem", "", lambda plan: plan.problem),
    Compared("scenario", _ORIGIN, "scenario", "", lambda plan: plan.provenance.scenario or "none"),
    Compared("overrides", _ORIGIN, "set for the run", "",
           lambda plan: ", ".join(plan.provenance.overrides) or "nothing"),
    Compared("catalogs", _ORIGIN, "catalogs", "", lambda plan: ", ".join(plan.provenance.catalogs)),
    Compared("price_books", _ORIGIN, "price books", "",
           lambda plan: ", ".join(plan.provenance.price_books)),
    Compared("objective", _SITE, "objective", "", _objective),
    _allowed_on_site("facility_power_limit_kw", "facility_power_kw"),
    _allowed_on_site("it_power_limit_kw", "it_power_kw"),
    _allowed_on_site("racks_limit", "racks"),
    _of_site("pue"),
    _of_site("pue_liquid"),
    _of_site("years"),
    _of_site("electricity_usd_per_kwh"),
    _of_site("colocation_usd_per_kw_month"),
    _of_site("discount_rate"),
    _site_states("energy_basis", "energy counted at which draw"),
    _of_site("delivered_fraction_read"),
    _of_site("delivered_fraction_write"),
    _of_site("fill_limit"),
    Compared("rule", _JOB, "storage sized by", "", _rule),
    _as_stated("mode", _JOB, "checkpoints"),
    _as_stated("interval_policy", _JOB, "interval chosen"),
    _as_stated("writers", _JOB, "who writes checkpoints"),
    _as_stated("readers", _JOB, "who reads restores"),
    _as_stated("fan_out_kind", _JOB, "how restores are read"),
    _of_job("replica_gpus", _JOB),
    _of_job("bytes_per_parameter", _JOB),
    _of_job("active_parameters", _JOB),
    _of_job("tokens", _JOB),
    _of_job("mfu", _JOB),
    _of_job("drain_slowdown", _JOB),
    _of_job("checkpoints_held", _JOB),
    _of_job("other_data_tb", _JOB),
    _of_job("hot_spare_systems", _JOB),
    _of_job("tolerate_down", _JOB),
)  # fmt: skip


def input_figures(plans: Sequence[Plan]) -> tuple[Compared, ...]:
    """Return every input that one of these plans has.

    Args:
        plans: the plans to compare; of those that have no bill only the site is known.
    """
    return (*_FIXED, *_assumptions(plans), *_limits(plans), *_prices(plans))


def _assumptions(plans: Sequence[Plan]) -> Iterator[Compared]:
    """Yield the assumptions: of the problem all, of products those that every bill has.

    What is assumed of a product that only one plan buys differs because of the purchase.
    """
    planned = [{entry.name: entry for entry in plan.assumptions} for plan in plans if plan.jobs]
    products = {line.sku for plan in plans for line in plan.lines}
    for name, entry in {name: e for each in planned for name, e in each.items()}.items():
        everywhere = all(name in each for each in planned)
        if name not in _OF_SITE and (everywhere or name.split(".")[0] not in products):
            yield Compared(f"assumptions.{name}", _JOB, entry.label, entry.unit, _assumed(name))


def _assumed(name: str) -> Any:
    def read(plan: Plan) -> Scalar:
        found: Assumption | None = next((e for e in plan.assumptions if e.name == name), None)
        return None if found is None else found.value

    return read


def _limits(plans: Sequence[Plan]) -> Iterator[Compared]:
    """Yield what the limits of the problem allow."""
    reports = {limit.name: limit for plan in plans for limit in plan.limits}
    for name, limit in reports.items():
        if name not in _COMPUTED and not name.startswith(_OF_PRODUCTS):
            yield Compared(f"limits.{name}", _LIMITS, _bound(limit), limit.unit, _allowed(name))


def _bound(limit: LimitReport) -> str:
    """Return what a limit asks, in words; that of an item says so itself."""
    if limit.name.startswith("items."):
        return limit.label
    words = "exactly" if limit.exact else "at most" if limit.sense == "<=" else "at least"
    return f"{limit.label}, {words}"


def _allowed(name: str) -> Any:
    def read(plan: Plan) -> Scalar:
        return next((limit.limit for limit in plan.limits if limit.name == name), None)

    return read


def _prices(plans: Sequence[Plan]) -> Iterator[Compared]:
    """Yield the net prices of what every bill holds."""
    bills = [{line.sku: line for line in scope.own_lines(plan)} for plan in plans if plan.jobs]
    shared = set.intersection(*(set(bill) for bill in bills)) if bills else set()
    for sku, line in bills[0].items() if bills else ():
        if sku in shared:
            yield Compared(f"prices.{sku}", _PRICES, f"net price of {product(line)}", "USD",
                         _price(sku))  # fmt: skip


def _price(sku: str) -> Any:
    def read(plan: Plan) -> Scalar:
        found: Line | None = next((e for e in scope.own_lines(plan) if e.sku == sku), None)
        return None if found is None else found.unit_net_usd

    return read


_SAME = 1e-9
"""Relative difference under which two numbers are the same: the noise of sums."""


def figure_rows(plans: Sequence[Plan]) -> tuple[FigureRow, ...]:
    """Return what the plans come to and how their jobs run."""
    return _rows(COMPARED, plans)


def input_rows(plans: Sequence[Plan]) -> tuple[FigureRow, ...]:
    """Return what the plans were made from."""
    return _rows(input_figures(plans), plans)


def _rows(figures: Iterable[Compared], plans: Sequence[Plan]) -> tuple[FigureRow, ...]:
    """Return the figures that any plan has; one without a plan does not count as different."""
    rows = []
    for figure in figures:
        values = [figure.read(plan) for plan in plans]
        if any(value is not None for value in values):
            known = [v for v, plan in zip(values, plans, strict=True) if plan.jobs or v is not None]
            rows.append(
                FigureRow(
                    name=figure.name, group=figure.group, label=figure.label, unit=figure.unit,
                    series=series(values), equal=all(are_same(known[0], value) for value in known),
                )
            )  # fmt: skip
    return tuple(rows)


def series(values: Sequence[Scalar]) -> Series:
    """Return values with how far each lies above the first."""
    return Series(values=tuple(values), changes=tuple(_change(values[0], v) for v in values))


def _change(first: Scalar, value: Scalar) -> float | None:
    if isinstance(first, (int, float)) and isinstance(value, (int, float)):
        return 0.0 if are_same(first, value) else value - first
    return None


def are_same(first: Scalar, value: Scalar) -> bool:
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
    return all(are_same(known[0], value) for value in known)


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
        are_same(first.value, side.value)
        and are_same(first.limit, side.limit)
        and first.binding == side.binding
    )
