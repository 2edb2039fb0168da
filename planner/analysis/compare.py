"""Plans side by side: read from plan files, problem files and workbooks, with their differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from planner.analysis.request import Request
from planner.analysis.verification import read_plan
from planner.api import Options, solve_with
from planner.currency import Currency
from planner.errors import Finding, InputError
from planner.figures import FIGURES
from planner.inputs import Inputs
from planner.loader import load
from planner.report import scope
from planner.report.words import product, write_in
from planner.schema.analysis import (
    Comparison,
    FigureRow,
    LimitRow,
    LimitSide,
    LineRow,
    Series,
    Side,
    SideKind,
)
from planner.schema.explanation import Audit, Edit
from planner.schema.operation import Loss
from planner.schema.plan import LimitReport, Line, Plan, Section
from planner.workbook.audit import audit

Models = Mapping[Path, Inputs | Plan]
KEYS = "ABCDEFGHI"
_KINDS: dict[str, SideKind] = {
    ".json": "plan",
    ".yaml": "problem",
    ".yml": "problem",
    ".xlsx": "workbook",
}
_TAKES = "give plans (.plan.json), problem files (.yaml) or workbooks (.xlsx)"


class Read(NamedTuple):
    """A plan and where it comes from; without lines its ``reason`` says why there is none.

    ``edits`` and ``broken`` are of a workbook: what was edited in it, and the limits that the
    edited plan does not keep.
    """

    source: str
    kind: SideKind
    plan: Plan
    reason: str | None
    edits: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


def read_sides(
    paths: Sequence[Path],
    *,
    settings: Sequence[str] = (),
    scenario: str | None = None,
    options: Options | None = None,
    models: Models | None = None,
) -> tuple[Read, ...]:
    """Plans of files, in their order; problem files are solved.

    Args:
        settings: ``path=value`` changes, laid over each problem file.
        scenario: a named scenario, laid over each problem file.
        options: how to solve problem files.
        models: what is in memory under the name of a path, instead of a file there.

    Raises:
        InputError: a file cannot be read, or options change files of which none is a problem.
    """
    models, options = models or {}, options or Options()
    kinds = [_kind(path, models) for path in paths]
    if "problem" not in kinds and (settings or scenario is not None):
        message = "--set and --scenario change problem files, and none is given"
        raise InputError(Finding("option", message, fix="give the problem file"))
    found = []
    for path, kind in zip(paths, kinds, strict=True):
        model, name = models.get(path), str(path)
        if kind == "workbook":
            found.append(_workbook(path, options))
            continue
        if kind == "problem":
            if not isinstance(model, Inputs):
                model = load(path, settings=tuple(settings), scenario=scenario)
            plan = solve_with(model, options)
        else:
            plan = read_plan(path, model if isinstance(model, Plan) else None)
        found.append(Read(name, kind, plan, plan.message))
    return tuple(found)


def read_side(path: Path, **how: Any) -> Read:
    """Plan of one file; a problem file is solved. ``how`` is of ``read_sides``."""
    return read_sides([path], **how)[0]


def _kind(path: Path, models: Models) -> SideKind:
    """Kind of a file by its name, refused before anything is solved."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        message = f"a file named '{path.suffix}' holds no plan"
        if not path.suffix:
            message = "its name does not say what it holds"
        raise InputError(Finding("file-kind", message, str(path), fix=_TAKES))
    try:
        there = path in models or path.exists()
    except (OSError, ValueError):  # a name that no file can have
        there = False
    if not there:
        raise InputError(Finding("not-found", "there is no such file", str(path)))
    return kind


def _workbook(path: Path, options: Options) -> Read:
    """Plan of a workbook as it now stands, edits included."""
    found = audit(path, options, solve_again=False)
    edits = tuple(_edit(edit, found.solved.shown_in) for edit in found.edits)
    if found.edited is None:
        return Read(str(path), "workbook", _without_plan(found), found.reason, edits)
    broken = tuple(breach.label for breach in found.breaches)
    # Unedited it is the solved plan with its proof, of which an edited plan has none.
    plan = found.edited if edits else found.solved
    return Read(str(path), "workbook", plan, None, edits, broken)


def _without_plan(found: Audit) -> Plan:
    """Solved plan of a workbook without the parts that its edits have made impossible."""
    parts = {"lines": (), "totals": None, "jobs": (), "limits": (), "assumptions": ()}
    why = {"status": "infeasible", "message": found.reason}
    goal = found.solved.objective.model_copy(update={"value": None, "bound": None, "gap": None})
    return found.solved.model_copy(update={**parts, **why, "objective": goal})


def _edit(edit: Edit, money: Currency) -> str:
    before, after = (write_in(money, each, edit.unit) for each in (edit.before, edit.after))
    return f"{edit.label}: {after} instead of {before}"


def run(request: Request) -> Comparison:
    """Compare plans, problem files and workbooks with the first.

    Raises:
        InputError: a file is wrong or of another kind, or there are too few or too many.
    """
    if not 2 <= len(request.paths) <= len(KEYS):
        message = f"at most {len(KEYS)} files fit side by side"
        if len(request.paths) < 2:
            message = "there must be two files or more to compare"
        raise InputError(Finding("files", message, fix=_TAKES))
    read = read_sides(
        request.paths,
        settings=request.settings,
        scenario=request.scenario,
        options=request.options(),
        models=request.models,
    )
    return compare(read)


# The comparison


def compare(sides: Sequence[Read]) -> Comparison:
    """Plans side by side, each against the first, in the currency of the first."""
    plans = [side.plan for side in sides]
    return Comparison(
        currency=plans[0].currency,
        sides=tuple(_side(key, side) for key, side in zip(KEYS, sides, strict=False)),
        inputs=_rows([*INPUTS, *_assumptions(plans), *_prices(plans)], plans),
        lines=_line_rows(plans),
        figures=_rows(FIGURES_COMPARED, plans),
        limits=_limit_rows(plans),
    )


def _side(key: str, side: Read) -> Side:
    return Side(
        key=key,
        source=side.source,
        kind=side.kind,
        problem=side.plan.problem,
        status=side.plan.status,
        message=side.reason,
        edits=side.edits,
        broken=side.broken,
        given_away=side.plan.objective.given_away,
        verdict=tuple(each.text for each in side.plan.verdict),
    )


# Figures

Scalar = float | str | None


class Compared(NamedTuple):
    """A compared figure: name, label, unit, and where a plan has it."""

    name: str
    label: str
    unit: str
    read: Callable[[Plan], Scalar]


def _of(part: str, name: str, label: str = "", unit: str = "") -> Compared:
    """A field of a plan's totals, job or site; label and unit are its figure's unless given."""

    def read(plan: Plan) -> Any:
        job = plan.jobs[0] if plan.jobs else None
        holder = {"totals": plan.totals, "job": job, "site": plan.site}[part]
        return None if holder is None else getattr(holder, name)

    if not label:
        label, unit = FIGURES[name].label, FIGURES[name].unit
    return Compared(f"site.{name}" if part == "site" else name, label, unit, read)


def _lost(name: str) -> Compared:
    def read(plan: Plan) -> Any:
        return plan.jobs[0].losses.get(name) if plan.jobs else None

    figure = FIGURES[f"loss.{name}"]
    return Compared(figure.name, f"lost to {figure.label}", figure.unit, read)


def _each(part: str, names: str) -> Iterator[Compared]:
    return (_of(part, name) for name in names.split())


FIGURES_COMPARED: tuple[Compared, ...] = (
    _of("totals", "gpus"),
    _of("job", "gpus_used"),
    *_each(
        "totals",
        "it_power_kw facility_power_kw racks weight_kg read_gb_per_s write_gb_per_s usable_tb "
        "lead_time_days",
    ),
    *_each(
        "job",
        "useful_pflops useful_gpus goodput days_to_train interval_s stall_s drain_s overlap "
        "restore_s mtti_s delivered_write_gb_per_s delivered_read_gb_per_s write_volume_tb_per_day",
    ),
    *(_lost(name) for name in Loss.model_fields),
    *_each(
        "totals",
        "capex_usd opex_usd_per_year energy_usd_per_year support_usd_per_year tco_usd "
        "usd_per_useful_gpu_hour usd_per_million_tokens",
    ),
)


def _at_most(name: str, figure: str) -> Compared:
    return _of("site", name, f"{FIGURES[figure].label}, at most", FIGURES[figure].unit)


INPUTS: tuple[Compared, ...] = (
    Compared("problem", "problem", "", lambda plan: plan.problem),
    Compared("scenario", "scenario", "", lambda plan: plan.provenance.scenario or "none"),
    Compared(
        "overrides",
        "set for the run",
        "",
        lambda plan: ", ".join(plan.provenance.overrides) or "nothing",
    ),
    Compared("catalogs", "catalogs", "", lambda plan: ", ".join(plan.provenance.catalogs)),
    Compared("price_books", "price books", "", lambda plan: ", ".join(plan.provenance.price_books)),
    Compared(
        "objective",
        "objective",
        "",
        lambda plan: f"{plan.objective.sense} {plan.objective.name.replace('_', ' ')}",
    ),
    _at_most("facility_power_limit_kw", "facility_power_kw"),
    _at_most("it_power_limit_kw", "it_power_kw"),
    _at_most("racks_limit", "racks"),
    *_each(
        "site",
        "pue pue_liquid years electricity_usd_per_kwh colocation_usd_per_kw_month discount_rate "
        "delivered_fraction_read delivered_fraction_write fill_limit",
    ),
    _of("site", "energy_basis", "energy counted at which draw"),
    _of("job", "mode", "checkpoints"),
    _of("job", "interval_policy", "interval chosen"),
    _of("job", "writers", "who writes checkpoints"),
    _of("job", "readers", "who reads restores"),
    _of("job", "fan_out_kind", "how restores are read"),
    *_each(
        "job",
        "replica_gpus bytes_per_parameter active_parameters tokens mfu drain_slowdown "
        "checkpoints_held other_data_tb hot_spare_systems tolerate_down",
    ),
)
_OF_SITE = {"pue", "pue.air", "pue.liquid", "electricity", "years"}
_OF_SITE |= {"delivered_fraction.write", "delivered_fraction.read"}
"""Assumptions that the site states too, also where there is no plan."""


def _assumptions(plans: Sequence[Plan]) -> Iterator[Compared]:
    """Yield the assumptions of plans; those on a product only where every plan holds it."""
    assumed = [{entry.name: entry for entry in plan.assumptions} for plan in plans if plan.jobs]
    products = {line.sku for plan in plans for line in plan.lines}
    for name, entry in {name: e for each in assumed for name, e in each.items()}.items():
        everywhere = all(name in each for each in assumed)
        if name not in _OF_SITE and (everywhere or name.split(".")[0] not in products):

            def read(plan: Plan, name: str = name) -> Scalar:
                return next((each.value for each in plan.assumptions if each.name == name), None)

            yield Compared(f"assumptions.{name}", entry.label, entry.unit, read)


def _prices(plans: Sequence[Plan]) -> Iterator[Compared]:
    """Yield the net prices of products that every plan buys."""
    bills = [{line.sku: line for line in scope.own_lines(plan)} for plan in plans if plan.jobs]
    for sku, line in bills[0].items() if bills else ():
        if all(sku in bill for bill in bills):

            def read(plan: Plan, sku: str = sku) -> Scalar:
                lines = (each for each in scope.own_lines(plan) if each.sku == sku)
                return next((each.unit_net_usd for each in lines), None)

            yield Compared(f"prices.{sku}", f"net price of {product(line)}", "USD", read)


# Rows; a side without a plan does not count as different

_SAME = 1e-9
"""Relative difference under which two numbers are the same: the noise of sums."""


def _rows(figures: Iterable[Compared], plans: Sequence[Plan]) -> tuple[FigureRow, ...]:
    """Figures that any plan has."""
    rows = []
    for figure in figures:
        values = [figure.read(plan) for plan in plans]
        if any(value is not None for value in values):
            known = [v for v, plan in zip(values, plans, strict=True) if plan.jobs or v is not None]
            row = FigureRow(
                name=figure.name,
                label=figure.label,
                unit=figure.unit,
                series=_series(values),
                equal=all(_are_same(known[0], value) for value in known),
            )
            rows.append(row)
    return tuple(rows)


def _series(values: Sequence[Scalar]) -> Series:
    """Values with the excess of each over the first."""
    return Series(values=tuple(values), changes=tuple(_change(values[0], v) for v in values))


def _change(first: Scalar, value: Scalar) -> float | None:
    if isinstance(first, (int, float)) and isinstance(value, (int, float)):
        return 0.0 if _are_same(first, value) else value - first
    return None


def _are_same(first: Scalar, value: Scalar) -> bool:
    if isinstance(first, (int, float)) and isinstance(value, (int, float)):
        return abs(value - first) <= _SAME * max(abs(first), abs(value))
    return first == value


def _line_rows(plans: Sequence[Plan]) -> tuple[LineRow, ...]:
    """Every product that a bill holds, in the order of the bill's sections."""
    known: dict[str, Line] = {}
    for plan in plans:
        for line in scope.own_lines(plan):
            known.setdefault(line.sku, line)
    order = {section: place for place, section in enumerate(get_args(Section))}
    rows = []
    for line in sorted(known.values(), key=lambda line: order[line.section]):
        summed = {
            name: _series([_sum(plan, line.sku, field) for plan in plans])
            for name, field in (
                ("quantity", "quantity"),
                ("capex_usd", "extended_net_usd"),
                ("it_power_kw", "it_power_kw"),
            )
        }
        there = [at for at, plan in enumerate(plans) if plan.jobs]
        same = all(
            _are_same(each.values[there[0]], each.values[at])
            for each in summed.values()
            for at in there
        )
        row = LineRow(
            sku=line.sku, section=line.section, product=product(line), equal=same, **summed
        )
        rows.append(row)
    return tuple(rows)


def _sum(plan: Plan, sku: str, field: str) -> float | None:
    """Sum over a product's lines: 0 where the bill does not hold it."""
    if not plan.jobs:
        return None
    return total(getattr(line, field) for line in scope.own_lines(plan) if line.sku == sku)


def total(values: Iterable[float | None]) -> float | None:
    """A sum, None where a part of it is not known."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if len(known) == len(listed) else None


def _limit_rows(plans: Sequence[Plan]) -> tuple[LimitRow, ...]:
    """Every limit that a plan has."""
    reports = [{limit.name: limit for limit in plan.limits} for plan in plans]
    known: dict[str, LimitReport] = {}
    for each in reports:
        known = each | known
    rows = []
    for name, limit in known.items():
        sides = tuple(_reached(each.get(name)) for each in reports)
        there = [side for side, plan in zip(sides, plans, strict=True) if plan.jobs]
        row = LimitRow(
            name=name,
            label=limit.label,
            unit=limit.unit,
            sense=limit.sense,
            sides=sides,
            equal=all(_alike(there[0], side) for side in there),
        )
        rows.append(row)
    return tuple(rows)


def _reached(found: LimitReport | None) -> LimitSide | None:
    if found is None:
        return None
    return LimitSide(value=found.value, limit=found.limit, binding=found.binding)


def _alike(first: LimitSide | None, side: LimitSide | None) -> bool:
    if first is None or side is None:
        return first is side
    return (
        _are_same(first.value, side.value)
        and _are_same(first.limit, side.limit)
        and first.binding == side.binding
    )
