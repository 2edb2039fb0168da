"""Plans side by side: read from plan files, problem files and workbooks, with their differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from planner.analysis.request import Request
from planner.analysis.verification import read_plan
from planner.api import Options, solve_with
from planner.errors import Finding, InputError
from planner.figures import FIGURES
from planner.inputs import Inputs
from planner.loader import load
from planner.report import edition
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
from planner.schema.operation import Loss
from planner.schema.plan import LimitReport, Line, Plan, Section
from planner.workbook.audit import audit

Models = Mapping[Path, Inputs | Plan]
Read = tuple[Side, Plan]
"""A side with its plan; without lines where the side's message tells why."""
KEYS = "ABCDEFGHI"
_KINDS: dict[str, SideKind] = {
    ".json": "plan",
    ".yaml": "problem",
    ".yml": "problem",
    ".xlsx": "workbook",
}
_TAKES = "give plans (.plan.json), problem files (.yaml) or workbooks (.xlsx)"


def read_sides(
    paths: Sequence[Path],
    *,
    settings: Sequence[str] = (),
    scenario: str | None = None,
    options: Options | None = None,
    models: Models | None = None,
) -> list[Read]:
    """Plans of files, in their order; problem files are solved.

    Args:
        settings: ``path=value`` changes, laid over each problem file.
        scenario: a named scenario, laid over each problem file.
        options: how to solve problem files.
        models: objects in memory by path, used instead of a file there.

    Raises:
        InputError: a file cannot be read, or options change files of which none is a problem.
    """
    models, options = models or {}, options or Options()
    kinds = [_kind(path, models) for path in paths]
    if "problem" not in kinds and (settings or scenario is not None):
        message = "--set and --scenario change problem files, and none is given"
        raise InputError(Finding("option", message, fix="give the problem file"))
    found = []
    for key, path, kind in zip(KEYS, paths, kinds, strict=False):
        model, more = models.get(path), dict[str, Any]()
        if kind == "workbook":
            plan, more = _workbook(path, options)
        elif kind == "problem":
            if not isinstance(model, Inputs):
                model = load(path, settings=tuple(settings), scenario=scenario)
            plan = solve_with(model, options)
        else:
            plan = read_plan(path, model if isinstance(model, Plan) else None)
        known = {"message": plan.message, "status": plan.status} | more
        side = Side(
            key=key,
            source=str(path),
            kind=kind,
            problem=plan.problem,
            given_away=plan.objective.given_away,
            verdict=tuple(each.text for each in plan.verdict),
            **known,
        )
        found.append((side, plan))
    return found


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


def _workbook(path: Path, options: Options) -> tuple[Plan, dict[str, Any]]:
    """Plan of a workbook with its edits, and fields of its side.

    Unedited it is the solved plan with its proof, of which an edited plan has none; edits that no
    plan fits leave the solved one without its parts.
    """
    found = audit(path, options, solve_again=False)
    money, edits = found.solved.shown_in, list[str]()
    for edit in found.edits:
        before, after = (write_in(money, each, edit.unit) for each in (edit.before, edit.after))
        edits.append(f"{edit.label}: {after} instead of {before}")
    if found.edited is not None:
        broken = tuple(breach.label for breach in found.breaches)
        plan = found.edited if edits else found.solved
        return plan, {"message": None, "edits": tuple(edits), "broken": broken}
    goal = found.solved.objective.model_copy(update={"value": None, "bound": None, "gap": None})
    parts = {"lines": (), "totals": None, "jobs": (), "limits": (), "assumptions": ()}
    plan = found.solved.model_copy(update={**parts, "status": "infeasible", "objective": goal})
    return plan, {"message": found.reason, "edits": tuple(edits)}


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


# The comparison; a side without a plan does not count as different

Scalar = float | str | None
_SAME = 1e-9
"""Relative difference under which two numbers are the same: the noise of sums."""


def compare(sides: Sequence[Read]) -> Comparison:
    """Plans side by side, each against the first, in the currency of the first."""
    plans = [plan for _, plan in sides]
    inputs = [*_INPUTS, *_assumptions(plans), *_prices(plans)]
    return Comparison(
        currency=plans[0].currency,
        sides=tuple(side for side, _ in sides),
        inputs=tuple(_rows(inputs, plans)),
        lines=tuple(_line_rows(plans)),
        figures=tuple(_rows(_FIGURES, plans)),
        limits=tuple(_limit_rows(plans)),
    )


def _rows(figures: Iterable[Compared], plans: Sequence[Plan]) -> Iterator[FigureRow]:
    """Yield the figures that any plan has."""
    for name, label, unit, read in figures:
        values = [read(plan) for plan in plans]
        if all(value is None for value in values):
            continue
        known = [v for v, plan in zip(values, plans, strict=True) if plan.jobs or v is not None]
        equal = all(_are_same(known[0], value) for value in known)
        yield FigureRow(name=name, label=label, unit=unit, series=_series(values), equal=equal)


def _series(values: Sequence[Scalar]) -> Series:
    """Values with the excess of each over the first."""
    first = values[0]

    def change(value: Scalar) -> float | None:
        if isinstance(first, (int, float)) and isinstance(value, (int, float)):
            return 0.0 if _are_same(first, value) else value - first
        return None

    return Series(values=tuple(values), changes=tuple(map(change, values)))


def _are_same(first: Scalar, value: Scalar) -> bool:
    if isinstance(first, (int, float)) and isinstance(value, (int, float)):
        return abs(value - first) <= _SAME * max(abs(first), abs(value))
    return first == value


def _line_rows(plans: Sequence[Plan]) -> Iterator[LineRow]:
    """Yield every product that a bill holds, in the order of the bill's sections."""
    bills = [list(edition.own_lines(plan)) for plan in plans]
    known: dict[str, Line] = {}
    for line in (line for bill in bills for line in bill):
        known.setdefault(line.sku, line)
    order = {section: place for place, section in enumerate(get_args(Section))}
    there = [at for at, plan in enumerate(plans) if plan.jobs]
    for line in sorted(known.values(), key=lambda line: order[line.section]):
        summed = {}
        for name, field in _SUMMED.items():
            lines = [[getattr(each, field) for each in b if each.sku == line.sku] for b in bills]
            sums = [None if None in each else sum(each) for each in lines]
            values = [v if plan.jobs else None for v, plan in zip(sums, plans, strict=True)]
            summed[name] = _series(values)
        same = all(
            _are_same(each.values[there[0]], each.values[at])
            for each in summed.values()
            for at in there
        )
        named = {"sku": line.sku, "section": line.section, "product": product(line)}
        yield LineRow(**named, equal=same, **summed)


_SUMMED = {"quantity": "quantity", "capex_usd": "extended_net_usd", "it_power_kw": "it_power_kw"}
"""Fields of lines that are summed by product."""


def _limit_rows(plans: Sequence[Plan]) -> Iterator[LimitRow]:
    """Yield every limit that a plan has."""
    reports = [{limit.name: limit for limit in plan.limits} for plan in plans]
    known: dict[str, LimitReport] = {}
    for each in reports:
        known = each | known
    for name, limit in known.items():
        sides = [_reached(each.get(name)) for each in reports]
        there = [side for side, plan in zip(sides, plans, strict=True) if plan.jobs]
        yield LimitRow(
            name=name,
            label=limit.label,
            unit=limit.unit,
            sense=limit.sense,
            sides=tuple(sides),
            equal=all(_are_alike(there[0], side) for side in there),
        )


def _reached(found: LimitReport | None) -> LimitSide | None:
    if found is None:
        return None
    return LimitSide(value=found.value, limit=found.limit, binding=found.binding)


def _are_alike(first: LimitSide | None, side: LimitSide | None) -> bool:
    if first is None or side is None:
        return first is side
    same = _are_same(first.value, side.value) and _are_same(first.limit, side.limit)
    return same and first.binding == side.binding


# Compared figures


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


_FIGURES: tuple[Compared, ...] = (
    _of("totals", "gpus"),
    _of("job", "gpus_used"),
    *_each(
        "totals",
        "it_power_kw facility_power_kw racks weight_kg nameplate_read_gb_per_s "
        "nameplate_write_gb_per_s usable_tb lead_time_days",
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


_INPUTS: tuple[Compared, ...] = (
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
    bills = [{line.sku: line for line in edition.own_lines(plan)} for plan in plans if plan.jobs]
    for sku, line in bills[0].items() if bills else ():
        if all(sku in bill for bill in bills):

            def read(plan: Plan, sku: str = sku) -> Scalar:
                lines = (each for each in edition.own_lines(plan) if each.sku == sku)
                return next((each.unit_net_usd for each in lines), None)

            yield Compared(f"prices.{sku}", f"net price of {product(line)}", "USD", read)
