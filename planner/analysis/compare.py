"""Plans side by side: read from plan files, problem files and workbooks, with their differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

from planner.analysis.request import Found, Request
from planner.analysis.verification import read_plan
from planner.api import Options, load, solve_with
from planner.currency import Currency
from planner.errors import Finding, InputError
from planner.figures import FIGURES
from planner.inputs import Inputs
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
from planner.schema.plan import (
    LimitReport,
    Line,
    Plan,
    Section,
)
from planner.workbook.audit import audit

Models = Mapping[Path, Inputs | Plan]
NO_MODELS: Models = {}

MOST_SIDES = 9
_KINDS: dict[str, SideKind] = {
    ".json": "plan",
    ".yaml": "problem",
    ".yml": "problem",
    ".xlsx": "workbook",
}
_TAKES = "give plans (.plan.json), problem files (.yaml) or workbooks (.xlsx)"


@dataclass(frozen=True)
class Read:
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

    @property
    def there(self) -> bool:
        """Whether there is a plan."""
        return bool(self.plan.jobs)


def read_sides(
    paths: Sequence[Path],
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    options: Options | None = None,
    models: Models = NO_MODELS,
) -> tuple[Read, ...]:
    """Plans of files, in their order; problem files are solved.

    Args:
        paths: two files or more.
        settings: ``path=value`` changes, laid over each problem file.
        scenario: a named scenario, laid over each problem file.
        options: how to solve problem files.
        models: what is in memory under the name of a path, instead of a file there.

    Raises:
        InputError: too few files, one that cannot be read, or options that no file takes.
    """
    if not 2 <= len(paths) <= MOST_SIDES:
        few = "there must be two files or more to compare"
        message = few if len(paths) < 2 else f"at most {MOST_SIDES} files fit side by side"
        raise InputError(Finding("files", message, fix=_TAKES))
    kinds = _kinds(paths, models)
    if "problem" not in kinds and (settings or scenario is not None):
        message = "--set and --scenario change problem files, and none is compared"
        raise InputError(Finding("option", message, fix="add the problem file"))
    return _read(paths, kinds, settings, scenario, options or Options(), models)


def read_side(
    path: Path,
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    options: Options | None = None,
    models: Models = NO_MODELS,
) -> Read:
    """Plan of one file; a problem file is solved.

    Args:
        settings: ``path=value`` changes, laid over a problem file.
        scenario: a named scenario, laid over a problem file.
        options: how to solve a problem file.
        models: what is in memory under the name of a path, instead of a file there.

    Raises:
        InputError: it cannot be read, or is no problem file and options change it.
    """
    kinds = _kinds([path], models)
    if kinds != ["problem"] and (settings or scenario is not None):
        message = "--set and --scenario change problem files, and this is none"
        raise InputError(Finding("option", message, str(path), fix="give the problem file"))
    return _read([path], kinds, settings, scenario, options or Options(), models)[0]


def _read(
    paths: Sequence[Path],
    kinds: Sequence[SideKind],
    settings: tuple[str, ...],
    scenario: str | None,
    options: Options,
    models: Models,
) -> tuple[Read, ...]:
    readers: dict[SideKind, Callable[[Path], Read]] = {
        "plan": lambda path: _plan(path, models.get(path)),
        "problem": lambda path: _problem(path, settings, scenario, options, models.get(path)),
        "workbook": lambda path: _workbook(path, options),
    }
    return tuple(readers[kind](path) for path, kind in zip(paths, kinds, strict=True))


def _kinds(paths: Sequence[Path], models: Models) -> list[SideKind]:
    """Kind of each file by its name, refused before anything is solved."""
    unknown = [path for path in paths if path.suffix.lower() not in _KINDS]
    if unknown:
        message = f"a file named '{unknown[0].suffix}' holds no plan"
        if not unknown[0].suffix:
            message = "its name does not say what it holds"
        raise InputError(Finding("file-kind", message, str(unknown[0]), fix=_TAKES))
    missing = [path for path in paths if path not in models and not _is_there(path)]
    if missing:
        raise InputError(Finding("not-found", "there is no such file", str(missing[0])))
    return [_KINDS[path.suffix.lower()] for path in paths]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _problem(
    path: Path,
    settings: tuple[str, ...],
    scenario: str | None,
    options: Options,
    model: Inputs | Plan | None,
) -> Read:
    if not isinstance(model, Inputs):
        model = load(path, settings=settings, scenario=scenario)
    plan = solve_with(model, options)
    return Read(str(path), "problem", plan, plan.message)


def _plan(path: Path, model: Inputs | Plan | None) -> Read:
    plan = read_plan(path, model if isinstance(model, Plan) else None)
    return Read(str(path), "plan", plan, plan.message)


def _workbook(path: Path, options: Options) -> Read:
    """Plan of a workbook as it now stands, edits included."""
    found = audit(path, options, solve_again=False)
    edits = tuple(_edit(edit, found.solved.shown_in) for edit in found.edits)
    name = str(path)
    if found.edited is None:
        return Read(name, "workbook", _without_plan(found), found.reason, edits)
    broken = tuple(breach.label for breach in found.breaches)
    # Unedited it is the solved plan with its proof, of which an edited plan has none.
    plan = found.edited if edits else found.solved
    return Read(name, "workbook", plan, None, edits, broken)


def _without_plan(found: Audit) -> Plan:
    """Solved plan of a workbook without the parts that its edits have made impossible."""
    parts = {"lines": (), "totals": None, "jobs": (), "limits": (), "assumptions": ()}
    why = {"status": "infeasible", "message": found.reason}
    goal = found.solved.objective.model_copy(update={"value": None, "bound": None, "gap": None})
    return found.solved.model_copy(update={**parts, **why, "objective": goal})


def _edit(edit: Edit, money: Currency) -> str:
    """An edit in words."""
    before, after = (write_in(money, each, edit.unit) for each in (edit.before, edit.after))
    return f"{edit.label}: {after} instead of {before}"


# The comparison

_KEYS = "ABCDEFGHI"[:MOST_SIDES]


def compare(sides: Sequence[Read]) -> Comparison:
    """Plans side by side, each against the first, in the currency of the first.

    Args:
        sides: read by `read_sides`, in the order to show.
    """
    plans = [side.plan for side in sides]
    return Comparison(
        currency=plans[0].currency,
        sides=tuple(_side(key, side) for key, side in zip(_KEYS, sides, strict=False)),
        inputs=_rows(input_figures(plans), plans),
        lines=line_rows(plans),
        figures=_rows(COMPARED, plans),
        limits=limit_rows(plans),
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


def run(request: Request, *, everything: bool) -> Found:
    """Compare plans, problem files and workbooks with the first.

    Args:
        everything: whether to list rows that are the same in all, too.

    Raises:
        InputError: a file is wrong or of another kind.
    """
    read = read_sides(
        request.paths,
        settings=request.settings,
        scenario=request.scenario,
        options=request.options(),
        models=request.models,
    )
    return Found(
        (compare(read),),
        ("optimal" if any(side.there for side in read) else "infeasible",),
        stem="compare",
        plan=lambda: read[0].plan,
        shown={"everything": everything},
        plans=tuple((side.source, side.plan) for side in read if side.there),
    )


# Figures compared

Scalar = float | str | None


class Compared(NamedTuple):
    """A compared figure: name, group, label, unit, and where a plan has it."""

    name: str
    group: str
    label: str
    unit: str
    read: Callable[[Plan], Scalar]


_BUY, _RUN, _MONEY, _LOST = "What it comes to", "How the job runs", "Money", "Where time goes"
_ORIGIN, _SITE, _JOB = "Where it comes from", "Site and objective", "Job and assumptions"
_LIMITS, _PRICES = "What is allowed", "Prices"


def _of(part: str, group: str, name: str, label: str | None = None, unit: str = "") -> Compared:
    """A field of a plan's totals, job or site; label and unit are its figure's unless given."""
    if label is None:
        label, unit = FIGURES[name].label, FIGURES[name].unit

    def read(plan: Plan) -> Any:
        job = plan.jobs[0] if plan.jobs else None
        holder = {"totals": plan.totals, "job": job, "site": plan.site}[part]
        return None if holder is None else getattr(holder, name)

    return Compared(f"site.{name}" if part == "site" else name, group, label, unit, read)


def _each(part: str, group: str, names: str) -> Iterator[Compared]:
    return (_of(part, group, name) for name in names.split())


def _lost(name: str) -> Compared:
    def read(plan: Plan) -> Any:
        return plan.jobs[0].losses.get(name) if plan.jobs else None

    figure = FIGURES[f"loss.{name}"]
    return Compared(figure.name, _LOST, f"lost to {figure.label}", figure.unit, read)


COMPARED: tuple[Compared, ...] = (
    _of("totals", _BUY, "gpus"),
    _of("job", _BUY, "gpus_used"),
    *_each(
        "totals",
        _BUY,
        "it_power_kw facility_power_kw racks weight_kg read_gb_per_s write_gb_per_s "
        "usable_tb lead_time_days",
    ),
    *_each(
        "job",
        _RUN,
        "useful_pflops useful_gpus goodput days_to_train interval_s stall_s drain_s "
        "overlap restore_s mtti_s delivered_write_gb_per_s delivered_read_gb_per_s "
        "write_volume_tb_per_day",
    ),
    *(_lost(name) for name in Loss.model_fields),
    *_each(
        "totals",
        _MONEY,
        "capex_usd opex_usd_per_year energy_usd_per_year support_usd_per_year tco_usd "
        "usd_per_useful_gpu_hour usd_per_million_tokens",
    ),
)
"""Figures compared of every plan, in order."""


def _allowed_on_site(name: str, figure: str) -> Compared:
    return _of("site", _SITE, name, f"{FIGURES[figure].label}, at most", FIGURES[figure].unit)


def _rule(plan: Plan) -> str | None:
    """Rule that sizes storage, by the plan's limits."""
    rules = [limit.label for limit in plan.limits if limit.name == "rule_read"]
    sized_by = rules[0].removesuffix(", read") if rules else "what the job needs"
    return sized_by if plan.jobs else None


def _text(name: str, group: str, label: str, read: Callable[[Plan], Scalar]) -> Compared:
    return Compared(name, group, label, "", read)


_FIXED: tuple[Compared, ...] = (
    _text("problem", _ORIGIN, "problem", lambda plan: plan.problem),
    _text("scenario", _ORIGIN, "scenario", lambda plan: plan.provenance.scenario or "none"),
    _text(
        "overrides",
        _ORIGIN,
        "set for the run",
        lambda plan: ", ".join(plan.provenance.overrides) or "nothing",
    ),
    _text("catalogs", _ORIGIN, "catalogs", lambda plan: ", ".join(plan.provenance.catalogs)),
    _text(
        "price_books", _ORIGIN, "price books", lambda plan: ", ".join(plan.provenance.price_books)
    ),
    _text(
        "objective",
        _SITE,
        "objective",
        lambda plan: f"{plan.objective.sense} {plan.objective.name.replace('_', ' ')}",
    ),
    _allowed_on_site("facility_power_limit_kw", "facility_power_kw"),
    _allowed_on_site("it_power_limit_kw", "it_power_kw"),
    _allowed_on_site("racks_limit", "racks"),
    *_each(
        "site",
        _SITE,
        "pue pue_liquid years electricity_usd_per_kwh colocation_usd_per_kw_month discount_rate",
    ),
    _of("site", _SITE, "energy_basis", "energy counted at which draw"),
    *_each(
        "site",
        _SITE,
        "delivered_fraction_read delivered_fraction_write fill_limit",
    ),
    _text("rule", _JOB, "storage sized by", _rule),
    _of("job", _JOB, "mode", "checkpoints"),
    _of("job", _JOB, "interval_policy", "interval chosen"),
    _of("job", _JOB, "writers", "who writes checkpoints"),
    _of("job", _JOB, "readers", "who reads restores"),
    _of("job", _JOB, "fan_out_kind", "how restores are read"),
    *_each(
        "job",
        _JOB,
        "replica_gpus bytes_per_parameter active_parameters tokens mfu drain_slowdown "
        "checkpoints_held other_data_tb hot_spare_systems tolerate_down",
    ),
)

_COMPUTED = frozenset(
    {
        "drain_fits",
        "local_fits",
        "local_lag",
        "local_room",
        "local_endurance",
        "capacity",
        "ingest",
        "endurance",
        "rule_read",
        "rule_write",
        "facility_power",
        "it_power",
        "racks",
    }
)
"""Limits whose bound follows from the plan, or is one of the site."""
_OF_PRODUCTS = ("min_units.", "max_units.", "family_max_units.", "stock.", "hot_spares.")
"""Prefixes of limits that a plan has because of its purchase."""
_OF_SITE = frozenset(
    {
        "pue",
        "pue.air",
        "pue.liquid",
        "electricity",
        "years",
        "delivered_fraction.write",
        "delivered_fraction.read",
    }
)
"""Assumptions that the site states too, also where there is no plan."""


def input_figures(plans: Sequence[Plan]) -> Iterator[Compared]:
    """Yield the inputs that any plan has; of sides without a bill only the site is known."""
    yield from _FIXED
    planned = [plan for plan in plans if plan.jobs]
    assumed = [{entry.name: entry for entry in plan.assumptions} for plan in planned]
    products = {line.sku for plan in plans for line in plan.lines}
    for name, entry in {name: e for each in assumed for name, e in each.items()}.items():
        everywhere = all(name in each for each in assumed)  # others differ because of purchases
        if name not in _OF_SITE and (everywhere or name.split(".")[0] not in products):
            read = _named("assumptions", "name", name, "value")
            yield Compared(f"assumptions.{name}", _JOB, entry.label, entry.unit, read)
    for name, limit in {limit.name: limit for plan in plans for limit in plan.limits}.items():
        if name not in _COMPUTED and not name.startswith(_OF_PRODUCTS):
            read = _named("limits", "name", name, "limit")
            yield Compared(f"limits.{name}", _LIMITS, _bound(limit), limit.unit, read)
    bills = [{line.sku: line for line in scope.own_lines(plan)} for plan in planned]
    for sku, line in bills[0].items() if bills else ():
        if all(sku in bill for bill in bills):
            label, read = f"net price of {product(line)}", _named("", "sku", sku, "unit_net_usd")
            yield Compared(f"prices.{sku}", _PRICES, label, "USD", read)


def _named(part: str, key: str, name: str, field: str) -> Callable[[Plan], Scalar]:
    """Reader of a field of the entry of a part (without one: of the own lines) with a name."""

    def read(plan: Plan) -> Any:
        entries = getattr(plan, part) if part else scope.own_lines(plan)
        found = next((entry for entry in entries if getattr(entry, key) == name), None)
        return None if found is None else getattr(found, field)

    return read


def _bound(limit: LimitReport) -> str:
    """A limit in words; that of an item says so itself."""
    if limit.name.startswith("items."):
        return limit.label
    words = "exactly" if limit.exact else "at most" if limit.sense == "<=" else "at least"
    return f"{limit.label}, {words}"


# Rows

_SAME = 1e-9
"""Relative difference under which two numbers are the same: the noise of sums."""


def _rows(figures: Iterable[Compared], plans: Sequence[Plan]) -> tuple[FigureRow, ...]:
    """Figures that any plan has; a side without a plan does not count as different."""
    rows = []
    for figure in figures:
        values = [figure.read(plan) for plan in plans]
        if any(value is not None for value in values):
            known = [v for v, plan in zip(values, plans, strict=True) if plan.jobs or v is not None]
            rows.append(
                FigureRow(
                    name=figure.name,
                    group=figure.group,
                    label=figure.label,
                    unit=figure.unit,
                    series=series(values),
                    equal=all(are_same(known[0], value) for value in known),
                )
            )
    return tuple(rows)


def series(values: Sequence[Scalar]) -> Series:
    """Values with the excess of each over the first."""
    return Series(values=tuple(values), changes=tuple(_change(values[0], v) for v in values))


def _change(first: Scalar, value: Scalar) -> float | None:
    if isinstance(first, (int, float)) and isinstance(value, (int, float)):
        return 0.0 if are_same(first, value) else value - first
    return None


def are_same(first: Scalar, value: Scalar) -> bool:
    """Whether two values are the same, the noise of sums apart."""
    if isinstance(first, (int, float)) and isinstance(value, (int, float)):
        return abs(value - first) <= _SAME * max(abs(first), abs(value))
    return first == value


def line_rows(plans: Sequence[Plan]) -> tuple[LineRow, ...]:
    """Every product that a bill holds, in the order of the bill's sections."""
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
    """Whether a figure is the same in every plan there is."""
    known = [value for value, plan in zip(found.values, plans, strict=True) if plan.jobs]
    return all(are_same(known[0], value) for value in known)


def _sum(plan: Plan, sku: str, read: Callable[[Line], float | None]) -> float | None:
    """Sum over a product's lines: 0 where the bill does not hold it."""
    if not plan.jobs:
        return None
    return total(read(line) for line in scope.own_lines(plan) if line.sku == sku)


def limit_rows(plans: Sequence[Plan]) -> tuple[LimitRow, ...]:
    """Every limit that a plan has."""
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


def total(values: Iterable[float | None]) -> float | None:
    """A sum, None where a part of it is not known."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if len(known) == len(listed) else None
