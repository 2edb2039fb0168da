"""Plans side by side: of files, by vendors' storage rules, and plans nearly as good as the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from planner.analysis.variants import (
    FOR_THE_PLAN,
    Variants,
    certify_operation,
    error_text,
    floor_change,
    list_others,
    objective_value,
    solve_confirmed,
    study_head,
)
from planner.analysis.verification import problem_name, read_plan
from planner.api import Options, solve_with
from planner.case import Case, resolve
from planner.errors import Finding, InputError
from planner.figures import FIGURES, OBJECTIVES
from planner.files import nearest_file
from planner.inputs import Change, Inputs
from planner.loader import load
from planner.loader.checks import checked
from planner.optimizer.objective import natural
from planner.optimizer.operate import Run
from planner.paths import job_path
from planner.plan import assemble
from planner.report import edition
from planner.report.formats import product, write_in
from planner.schema.analysis import (
    Alternative,
    Alternatives,
    Comparison,
    FigureRow,
    LimitRow,
    LimitSide,
    LineRow,
    Measure,
    RuleRow,
    RulesTable,
    Series,
    Side,
    Way,
)
from planner.schema.operation import Loss
from planner.schema.plan import Line, ObjectiveReport, Plan, Section
from planner.schema.problem import CustomRule, Objective
from planner.sizing.checkpoint import VENDOR_RULES
from planner.terminal import Progress, ignore
from planner.verifier import verify
from planner.workbook.audit import audit

Read = tuple[Side, Plan]
"""A side with its plan; without lines where the side's message tells why."""
KEYS = "ABCDEFGHI"
DEMAND = "the job's demand"
_Kind = Literal["plan", "problem", "workbook"]
_KINDS: dict[str, _Kind] = {
    ".json": "plan",
    ".yaml": "problem",
    ".yml": "problem",
    ".xlsx": "workbook",
}
_TAKES = "give plans (.plan.json), problem files (.yaml) or workbooks (.xlsx)"


def read_sides(
    sources: Sequence[Path | Plan | Inputs],
    options: Options,
    settings: Sequence[str] = (),
    scenario: str | None = None,
    *,
    least: int = 2,
) -> list[Read]:
    """Plans of files and models, in their order; problems are solved.

    Args:
        settings, scenario: of the problem files among them.
        least: number of sources.

    Raises:
        InputError: a file is wrong or of another kind, there are too few or too many, or settings
            are given without a problem file.
    """
    if not least <= len(sources) <= len(KEYS):
        message = f"at most {len(KEYS)} files fit side by side"
        if len(sources) < least:
            message = "there must be two files or more to compare"
        raise InputError(Finding("files", message, fix=_TAKES))
    kinds = [_kind(source) for source in sources]
    if "problem" not in kinds and (settings or scenario is not None):
        message = "--set and --scenario change problem files, and none is given"
        raise InputError(Finding("option", message, fix="give the problem file"))
    found = []
    for key, source, kind in zip(KEYS, sources, kinds, strict=False):
        more = dict[str, Any]()
        if isinstance(source, Inputs):
            plan = solve_with(source, options)
        elif isinstance(source, Plan) or kind == "plan":
            plan = read_plan(source)
        elif kind == "workbook":
            plan, more = _workbook(source, options)
        else:
            plan = solve_with(load(source, settings=tuple(settings), scenario=scenario), options)
        side = Side(
            key=key,
            source=str(source) if isinstance(source, Path) else problem_name(plan),
            problem=plan.problem,
            near_optimal_loss=plan.objective.near_optimal_loss,
            verdict=tuple(plan.verdict.values()),
            **{"message": plan.message, "status": plan.status} | more,
        )
        found.append((side, plan))
    return found


def _kind(path: Path | Plan | Inputs) -> _Kind:
    """Kind of a model, or of a file by its name, refused before anything is solved."""
    if not isinstance(path, Path):
        return "plan" if isinstance(path, Plan) else "problem"
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        message = f"a file named '{path.suffix or path.name}' holds no plan"
        raise InputError(Finding("file-kind", message, str(path), fix=_TAKES))
    there = False
    with suppress(OSError, ValueError):  # a name that no file can have
        there = path.exists()
    if not there:
        fix = nearest_file(path) or "check the path"
        raise InputError(Finding("not-found", "there is no such file", str(path), fix=fix))
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
    more = {"message": found.reason, "edits": tuple(edits)}
    if found.edited is not None:
        broken = tuple(breach.label for breach in found.breaches)
        plan = found.edited if edits else found.solved
        return plan, {**more, "message": None, "broken": broken}
    goal = found.solved.objective.model_copy(update={"value": None, "bound": None, "gap": None})
    parts = {"lines": (), "totals": None, "jobs": (), "limits": (), "assumptions": ()}
    update = {**parts, "status": "infeasible", "objective": goal}
    return found.solved.model_copy(update=update), more


# The comparison; a side without a plan does not count as different

Scalar = float | str | None
Facts = dict[str, tuple[str, str, Scalar]]
"""Label, unit and value of figures and inputs, by name."""
_SAME = 1e-9
"""Relative difference of two numbers that are the same."""


def compare(sides: Sequence[Read]) -> Comparison:
    """Plans side by side, each against the first, in the currency of the first."""
    plans = [plan for _, plan in sides]
    return Comparison(
        currency=plans[0].currency,
        sides=tuple(side for side, _ in sides),
        inputs=tuple(_rows([_inputs(plan) for plan in plans], plans)),
        lines=tuple(_line_rows(plans)),
        figures=tuple(_rows([_figures(plan) for plan in plans], plans)),
        limits=tuple(_limit_rows(plans)),
    )


def _rows(facts: Sequence[Facts], plans: Sequence[Plan]) -> Iterator[FigureRow]:
    """Yield the figures that any plan has; those on a product only where every plan holds it."""
    products = {line.sku for plan in plans for line in plan.lines}
    names = dict.fromkeys(name for each in facts for name in each)
    for name in sorted(names, key=lambda name: name.startswith("prices.")):
        label, unit, _ = next(each[name] for each in facts if name in each)
        values = [each[name][2] if name in each else None for each in facts]
        known = [v for v, p in zip(values, plans, strict=True) if p.jobs or v is not None]
        of_product = any(part in products for part in name.split(".")[1:2])
        if any(v is not None for v in values) and not (of_product and None in known):
            equal = _all_same(known)
            yield FigureRow(name=name, label=label, unit=unit, series=_series(values), equal=equal)


def _series(values: Sequence[Scalar]) -> Series:
    """Values with the excess of each over the first."""
    first, changes = values[0], list[float | None]()
    for value in values:
        numbers = isinstance(first, (int, float)) and isinstance(value, (int, float))
        same = numbers and _all_same((first, value))
        changes.append(0.0 if same else value - first if numbers else None)  # type: ignore[operator]
    return Series(values=tuple(values), changes=tuple(changes))


def _all_same(values: Sequence[Scalar]) -> bool:
    """True if all values are the first; numbers but for the noise of sums."""
    for value in values[1:]:
        first = values[0]
        if isinstance(first, (int, float)) and isinstance(value, (int, float)):
            if abs(value - first) > _SAME * max(abs(first), abs(value)):
                return False
        elif first != value:
            return False
    return True


def _line_rows(plans: Sequence[Plan]) -> Iterator[LineRow]:
    """Yield every product that a bill holds, in the order of the bill's sections."""
    bills = [edition.own_lines(plan) for plan in plans]
    at = [place for place, plan in enumerate(plans) if plan.jobs]
    known: dict[str, Line] = {}
    for line in (line for bill in bills for line in bill):
        known.setdefault(line.sku, line)
    order = get_args(Section)
    for line in sorted(known.values(), key=lambda line: order.index(line.section)):
        counts, spent = list[Scalar]([None] * len(plans)), list[Scalar]([None] * len(plans))
        for place in at:
            same = [each for each in bills[place] if each.sku == line.sku]
            paid = [each.extended_net_usd for each in same]
            counts[place] = sum(each.quantity for each in same)
            spent[place] = None if None in paid else sum(each or 0.0 for each in paid)
        equal = all(_all_same([some[place] for place in at]) for some in (counts, spent))
        named = {"sku": line.sku, "product": product(line)}
        yield LineRow(**named, equal=equal, quantity=_series(counts), capex_usd=_series(spent))


def _limit_rows(plans: Sequence[Plan]) -> Iterator[LimitRow]:
    """Yield every limit that a plan has."""
    reports = [{limit.name: limit for limit in plan.limits} for plan in plans]
    same = ("value", "limit", "binding")
    for name in dict.fromkeys(name for each in reports for name in each):
        found = [each.get(name) for each in reports]
        limit = next(each for each in found if each is not None)
        sides = [r and LimitSide(**{part: getattr(r, part) for part in same}) for r in found]
        there = [side for side, plan in zip(sides, plans, strict=True) if plan.jobs]
        alike = all(_all_same([getattr(side, part, None) for side in there]) for part in same)
        shown = {part: getattr(limit, part) for part in ("name", "label", "unit", "sense")}
        yield LimitRow(**shown, sides=tuple(sides), equal=alike)


# Compared figures

_TOTALS = (
    "it_power_kw facility_power_kw racks weight_kg nameplate_read_gb_per_s "
    "nameplate_write_gb_per_s usable_tb lead_time_days"
)
_MONEY = (
    "capex_usd opex_usd_per_year energy_usd_per_year support_usd_per_year tco_usd "
    "usd_per_useful_gpu_hour usd_per_million_tokens"
)
_RUN = (
    "useful_pflops useful_gpus goodput days_to_train interval_s stall_s drain_s overlap "
    "restore_s mtti_s delivered_write_gb_per_s delivered_read_gb_per_s write_volume_tb_per_day"
)
_SITE = (
    "pue pue_liquid years electricity_usd_per_kwh colocation_usd_per_kw_month discount_rate "
    "delivered_fraction_read delivered_fraction_write fill_limit"
)
_JOB = (
    "replica_gpus bytes_per_parameter active_parameters tokens mfu drain_slowdown "
    "checkpoints_held other_data_tb tolerate_down"
)
_LIMITS = {"facility_power": "facility_power_kw", "it_power": "it_power_kw", "racks": "racks"}
_WORDS = {
    "mode": "checkpoints",
    "interval_policy": "interval chosen",
    "writers": "who writes checkpoints",
}
"""Inputs of a job in words, with their labels."""
_OF_SITE = {"pue", "pue.air", "pue.liquid", "electricity", "years"}
_OF_SITE |= {"delivered_fraction.write", "delivered_fraction.read"}
"""Assumptions that the site states too, also where there is no plan."""


def _fields(holder: Any, names: str, prefix: str = "") -> Facts:
    """Fields of a record that are figures; no fields without a record."""
    return {
        prefix + name: (FIGURES[name].label, FIGURES[name].unit, getattr(holder, name))
        for name in names.split()
        if holder is not None
    }


def _figures(plan: Plan) -> Facts:
    totals, job = plan.totals, plan.jobs[0] if plan.jobs else None
    losses: Facts = {}
    for name in Loss.model_fields:
        figure, lost = FIGURES[f"loss.{name}"], job.losses.get(name) if job else None
        losses[figure.name] = f"lost to {figure.label}", figure.unit, lost
    found = _fields(totals, "gpus") | _fields(job, "gpus_used") | _fields(totals, _TOTALS)
    return found | _fields(job, _RUN) | losses | _fields(totals, _MONEY)


def _inputs(plan: Plan) -> Facts:
    """Problem, objective, limits, site and job, assumptions, and net prices of a plan."""
    made, goal, job = plan.provenance, plan.objective, plan.jobs[0] if plan.jobs else None
    found: Facts = {
        "problem": ("problem", "", plan.problem),
        "scenario": ("scenario", "", made.scenario or "none"),
        "overrides": ("set for the run", "", ", ".join(made.overrides) or "nothing"),
        "catalogs": ("catalogs", "", ", ".join(made.catalogs)),
        "price_books": ("price books", "", ", ".join(made.price_books)),
        "objective": ("objective", "", f"{goal.sense} {goal.name.replace('_', ' ')}"),
    }
    rule = next((each.label for each in plan.limits if each.name == "rule_write"), DEMAND)
    found["storage.rule"] = "storage sized by", "", rule.partition(",")[0]
    limits = {each.name: each.limit for each in plan.limits}
    for name, figure in _LIMITS.items():
        label, unit = f"{FIGURES[figure].label}, at most", FIGURES[figure].unit
        found[f"site.{figure.replace(name, f'{name}_limit')}"] = label, unit, limits.get(name)
    found |= _fields(plan.site, _SITE, "site.")
    found["site.energy_basis"] = "energy counted at which draw", "", plan.site.energy_basis
    if job is None:
        return found
    found |= {name: (text, "", getattr(job, name)) for name, text in _WORDS.items()}
    found |= _fields(job, _JOB)
    for each in plan.assumptions:
        if each.name not in _OF_SITE:
            found[f"assumptions.{each.name}"] = each.label, each.unit, each.value
    for line in edition.own_lines(plan):
        found[f"prices.{line.sku}"] = f"net price of {product(line)}", "USD", line.unit_net_usd
    return found


# Storage by vendors' rules

_RULE, _MODE = "storage.rule", job_path("checkpoint.mode")
_VENDORS = {"ddn_per_gpu": "DDN", "nvidia_superpod_h100": "NVIDIA"}
_MODES = {"async": "asynchronous", "sync": "synchronous"}


def rule_rows(inputs: Inputs) -> Iterator[tuple[str, str, tuple[Change, ...]]]:
    """Yield name, label and changes of each row, the demand law first; checkpoint modes by it."""
    mode, own = inputs.problem.job.checkpoint.mode, inputs.problem.storage.rule
    demand = Change(_RULE, "demand", "demand")
    yield "demand", DEMAND, (demand,)
    if isinstance(own, CustomRule):
        yield own.name, f"'{own.name}'", ()
    for rule in VENDOR_RULES.values():
        label = f"{_VENDORS[rule.family]} {rule.name}"
        yield rule.name, label, (Change(_RULE, rule.name, rule.name),)
    by_demand = () if own == "demand" else (demand,)
    for name, label in _MODES.items():
        if name != mode:
            yield name, label, (*by_demand, Change(_MODE, name, name))


def rules_table(
    inputs: Inputs, base: Plan, options: Options, progress: Progress = ignore
) -> RulesTable:
    """The plan of a problem beside those by vendors' rules and the other checkpoint mode.

    Each row is the plan that `solve` takes, verified on its own.

    Args:
        base: the plan of the problem itself.
    """
    options = options.started()
    asked, rows = tuple(rule_rows(inputs)), list[RuleRow]()
    for place, (name, label, changes) in enumerate(asked):
        progress(place, len(asked))
        settings = tuple(change.setting for change in changes)
        found = _rule_plan(changes, inputs, base, options.turn(len(asked) - place))
        rows.append(RuleRow(name=name, label=label, settings=settings, **{"own": False} | found))
    jobs = [row.plan.jobs[0] for row in rows if row.plan is not None]
    measure = measure_of(base.objective, flops=any(job.useful_pflops is not None for job in jobs))
    values = [None if row.plan is None else _value_in(row.plan, measure) for row in rows]
    first = values[0]
    for place, value in enumerate(values):
        apart = value / first - 1.0 if value is not None and first else None
        update = {"measured": value, "difference": apart}
        rows[place] = rows[place].model_copy(update=update)
    return RulesTable(**study_head(inputs, options.gap), measure=measure, rows=tuple(rows))


def _rule_plan(
    changes: Sequence[Change], inputs: Inputs, base: Plan, options: Options
) -> dict[str, Any]:
    """Plan, status and reason of a row."""
    try:
        new = checked(inputs, changes, recorded=True)
    except InputError as error:
        return {"reason": error_text(error)}
    if new.problem == inputs.problem:
        plan = base if base.jobs else None
        return {"own": True, "status": base.status, "reason": base.message, "plan": plan}
    return solve_confirmed(new, options)._asdict()


def measure_of(objective: ObjectiveReport, *, flops: bool) -> Measure:
    """Measure of plans for an objective: useful work, or the minimised figure.

    Args:
        flops: whether useful work is known in PFLOP/s.
    """
    name, sense = objective.name, objective.sense
    if sense == "minimize":
        return Measure(name=name, label=OBJECTIVES[name].label, unit=objective.unit, sense=sense)
    known = flops and name != "useful_gpus"
    figure = FIGURES["useful_pflops" if known else "useful_gpus"]
    return Measure(name=figure.name, label=figure.label, unit=figure.unit, sense=sense)


def _value_in(plan: Plan, measure: Measure) -> float | None:
    if measure.sense == "minimize":
        return plan.objective.value
    value: float | None = getattr(plan.jobs[0], measure.name)
    return value


# Plans near the best: other storage vendors and GPU types, extremes of money and power

LABELS: Mapping[str, str] = {
    "storage_vendor": "another storage vendor",
    "gpu_type": "another GPU system",
    "least_capex": "least capex",
    "least_tco": "least TCO",
    "least_power": "least power",
}
_EXTREMES = {"least_capex": "cost", "least_tco": "tco", "least_power": "power"}
FLOOR_MARGIN, FLOOR_NOISE = 2e-7, 1e-9
"""Relative tightening of floors, which plans may miss by less; and how far plans may miss them."""
UNPROVEN = "the search ended before anything was proven about how good a plan can be"


def alternatives(
    inputs: Inputs, options: Options, *, within: float = 0.01, progress: Progress = ignore
) -> Alternatives:
    """The best plan and plans nearly as good that differ from it, each verified.

    Args:
        within: how far behind the bound a plan may be, as a share of the objective.
    """
    options, case = options.started(), resolve(inputs)
    best = solve_with(inputs, options, search=FOR_THE_PLAN)
    base = Alternatives(**study_head(inputs, options.gap), status=best.status, within=within)
    variants = Variants(inputs, options)
    proof = variants.best_of(case, ties=True).proof if best.jobs else None
    if proof is None or proof.operation is None or proof.bound is None:
        return base.model_copy(update={"message": UNPROVEN if best.jobs else best.message})
    sign, bound = 1.0 if case.maximise else -1.0, natural(case.objective, proof.bound)
    worst = bound * (1.0 - sign * within)
    floor = floor_change(inputs, case.objective, worst, FLOOR_MARGIN)
    kept = [(proof.operation, [Way(name="best", label="the best plan")])]
    undecided = list[str]()

    def shortfall(run: Run) -> float:
        return max(0.0, sign * (bound - objective_value(case, run))) / max(abs(bound), 1e-12)

    directions = list(_directions(inputs, case, proof.operation, floor))
    for place, (way, changes) in enumerate(directions):
        progress(place, len(directions))
        found = variants.best(changes, ties=True)
        if found.proof is None or found.run is None:
            undecided += [] if found.impossible else [f"{way.label} {way.detail}".strip()]
            continue
        # with its near-optimal tolerance a plan may go beyond, without not
        for own in filter(None, (found.run, found.proof.untouched)):
            run = replace(own, units={o.id: own.units.get(o.id, 0) for o in case.offers()})
            if shortfall(run) <= within + FLOOR_NOISE:
                _keep(kept, run, way)
                break
    near = list[Alternative]()
    for run, ways in kept:
        plan, proven = best, certify_operation(case, run, proof.bound)
        if near:  # the share is of the bound, a gap of the value
            gap = max(proven.gap or 0.0, within / (1.0 - within))
            plan = assemble(inputs, case, proven, solver=options.solver, gap=gap)
            verify(inputs, plan)
        figures = {"value": objective_value(case, run), "shortfall": shortfall(run)}
        near.append(Alternative(ways=tuple(ways), plan=plan, **figures))
    update = {
        "bound": bound,
        "worst": worst,
        "alternatives": tuple(near),
        "undecided": tuple(undecided),
    }
    return base.model_copy(update=update)


def _directions(
    inputs: Inputs, case: Case, held: Run, floor: Change
) -> Iterator[tuple[Way, tuple[Change, ...]]]:
    """Yield every direction with its changes: other vendors and types alone, then extremes."""
    found: list[tuple[str, str, tuple[Change, ...]]] = [
        (each.kind, each.label, each.changes) for each in list_others(inputs, case, held.units)
    ]
    for name, objective in _EXTREMES.items():
        if objective == case.objective or (objective == "tco" and inputs.problem.term is None):
            continue
        least = Objective.model_validate({"minimize": objective, "indifference": 0})
        text = f"{{minimize: {objective}{', indifference: 0' if objective == 'power' else ''}}}"
        found.append((name, "", (floor, Change("objective", least, text))))
    for name, detail, changes in found:
        setting = tuple(change.setting for change in changes)
        yield Way(name=name, label=LABELS[name], detail=detail, setting=setting), changes


def _keep(kept: list[tuple[Run, list[Way]]], run: Run, way: Way) -> None:
    """Keep a plan, once for each purchase, configuration and use of GPUs."""
    for known, ways in kept:
        same = (known.gpus, known.mode, known.ways) == (run.gpus, run.mode, run.ways)
        if same and known.units == run.units:
            ways.append(way)
            return
    kept.append((run, [way]))
