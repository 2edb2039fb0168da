"""A plan file checked: figures, limits, the catalogs it names, its bound, its other texts.

The verifier computes figures again in its own arithmetic. Texts and lists that only `assemble`
knows are written again from the decisions of the plan, and compared.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.analysis.variants import read_operation
from planner.api import Options, solve_with
from planner.case import Case, resolve
from planner.errors import Finding, InputError, PlannerError, SolverError
from planner.files import contents, json_of
from planner.inputs import Inputs, inputs_from_text, inputs_to_text
from planner.loader import load, renewed
from planner.optimizer import Certificate
from planner.optimizer.objective import without_dominated, without_idle_bursts
from planner.optimizer.proof import prove_again
from planner.optimizer.solvers import NAMES, SolverName
from planner.plan import assemble, versions
from planner.plan.storage_options import add_storage_options
from planner.report import exports
from planner.schema.analysis import Audit, Check, CheckName, Verification
from planner.schema.plan import SCHEMA_VERSION, Plan
from planner.shipped import __version__
from planner.verifier import faults, origin_faults, recheck, unit_faults
from planner.verifier.basis import Findings

_AGAIN = "solve the problem again"
_TAKES = "give the PROBLEM.plan.json that planner solve writes"
OTHER: dict[str, SolverName] = {"highs": "cbc", "cbc": "highs"}
CLOSE = 1e-9
"""Relative difference of two computations of one number."""
_ELSEWHERE = {"provenance": ("problem_file", "tool", "versions"), "limits": ("source",)}
"""Keys of parts that name files and machines, which a plan does not carry."""
_NOT_DERIVED = {"inputs", "checksums", "message", "infeasibility", "objective"}
"""Parts that the decisions of a plan do not determine."""


# Plan files


@dataclass(frozen=True)
class PlanFile:
    """A plan and what it was made from, as a file holds them; ``changes`` name the parts that are
    not as planner wrote them."""

    name: str
    plan: Plan
    inputs: Inputs
    carried: str
    changes: tuple[str, ...]


def problem_name(plan: Plan) -> str:
    """The file of a plan's problem, or the problem's name."""
    return plan.provenance.problem_file or plan.problem


def read_plan(source: Path | Plan) -> Plan:
    """Read a plan file whose every figure follows from the inputs it carries.

    Raises:
        InputError: it cannot be read, or does not hold; the first figure that is wrong is named.
    """
    opened = open_plan(source)
    plan, here = opened.plan, f"planner {__version__}"
    found = faults(opened.inputs, plan) or opened.changes
    if wrong := found or assembly_faults(opened.inputs, plan):
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        fix = f"planner verify lists them; {_AGAIN}"
        if plan.provenance.tool != here:
            fix = f"written by {plan.provenance.tool}, this is {here}: {_AGAIN}"
        message = f"the plan does not hold: {wrong[0]}{more}"
        raise InputError(Finding("verify", message, opened.name, fix=fix))
    return plan


def open_plan(source: Path | Plan) -> PlanFile:
    """Open a plan file, or a plan in memory, right or wrong.

    Raises:
        InputError: it cannot be read, or lacks parts that checking needs.
    """
    if isinstance(source, Plan):
        name, data = problem_name(source), source.model_dump_json().encode()
    else:
        name = str(source)
        data = contents(source, most_bytes=exports.MOST_PLAN_BYTES, what="plan")
    found = json_of(data, name, _TAKES)
    version = found.get("schema_version") if isinstance(found, dict) else None
    if isinstance(version, int) and version != SCHEMA_VERSION:
        message = f"a plan of version {version}, this planner reads {SCHEMA_VERSION}"
        raise InputError(Finding("version", message, name, fix=_AGAIN))
    message = "the file holds no plan of this version of planner"
    try:
        written = exports.read_plan(data.removeprefix(codecs.BOM_UTF8))
    except ValidationError as error:
        first, *more = error.errors(include_url=False)
        if len(more) > 2:  # a file of another kind lacks nearly everything
            raise InputError(Finding("plan", message, name, fix=_TAKES)) from None
        place, message = ".".join(map(str, first["loc"])), f"{message}: {first['msg'].lower()}"
        raise InputError(Finding("plan", message, name, path=place, fix=_AGAIN)) from None
    message = "the plan does not carry what it was made from"
    try:
        if written.inputs is not None:
            inputs, why = inputs_from_text(written.inputs), "not as planner wrote it"
            changes = tuple(f"{part}: {why}; the checksum differs" for part in written.changed)
            return PlanFile(name, written.plan, inputs, written.inputs, changes)
    except InputError as error:
        message = error.findings[0].message
    message = f"{message}, so the plan cannot be checked"
    raise InputError(Finding("plan", message, name, path="inputs", fix=_AGAIN))


# Checks


def verify(
    source: Path | Plan, *, solve_again: bool = True, time_limit_s: float | None = None
) -> Verification | Audit:
    """The record of `planner.verify`; checks that could not be made are named.

    Raises:
        InputError: the file is no plan's or workbook's, or lacks parts that checking needs.
    """
    if isinstance(source, Path) and source.suffix.lower() == ".xlsx":
        from planner.workbook.audit import audit  # openpyxl takes long to load

        return audit(source, Options(time_limit_s=time_limit_s), solve_again=solve_again)
    opened = open_plan(source)
    plan, found = opened.plan, recheck(opened.inputs, opened.plan)
    origin = origin_faults(opened.inputs, plan)
    text = f"parts are not as {plan.provenance.tool} wrote them"
    checks = [
        _check("file", (*origin, *opened.changes), text, "checksums agree (no signature)"),
        *_figures(opened, found, search=solve_again and time_limit_s is None),
        _catalogs(opened, source.parent if isinstance(source, Path) else Path()),
    ]
    solver = OTHER.get(plan.provenance.solver, "highs") if solve_again else None
    check, bound = _undone("bound", "not solved again"), None
    if solver is not None and (found.all or origin):
        check = _undone("bound", "not solved again: the plan does not hold as it is")
    elif solver is not None:
        check, bound = _bound(opened, solver, time_limit_s)
    return Verification(
        plan=opened.name,
        problem=plan.problem,
        result="fails" if any(each.result == "fails" for each in (*checks, check)) else "holds",
        checks=(*checks, check),
        solver=solver,
        value=plan.objective.best,
        bound=bound,
        unit=plan.objective.unit,
    )


def _check(name: CheckName, wrong: tuple[str, ...], fails: str, holds: str) -> Check:
    text = fails if wrong else holds
    return Check(name=name, result="fails" if wrong else "holds", text=text, findings=wrong)


def _undone(name: CheckName, text: str) -> Check:
    return Check(name=name, result="not_checked", text=text)


def _figures(opened: PlanFile, found: Findings, *, search: bool) -> Iterator[Check]:
    """Yield the checks of figures and limits, by the inputs that the plan carries."""
    plan = opened.plan
    wrong = found.disagreements or assembly_faults(opened.inputs, plan)
    if search and not wrong and not found.breaches and is_repeatable(plan):
        wrong = search_faults(opened.inputs, plan)
    what, again = f"a problem that is {plan.status}", "computed again from the inputs it carries"
    if plan.jobs:
        sizes = {"lines": len(plan.lines), "racks": sum(group.count for group in plan.racks)}
        sizes["fabrics"] = len(plan.fabrics)
        what = ", ".join(f"{n} {name}" for name, n in sizes.items() if n) + " and the job"
    yield _check("figures", wrong, f"wrong among {what}, {again}", f"{what}: all {again}")
    broken = tuple(f"{name}: {text}" for name, text in found.breaches)
    if found.disagreements or not plan.jobs:
        why = "figures are wrong" if plan.jobs else "there is no plan to keep them"
        yield _undone("limits", why)
    else:
        kept = f"all {len(plan.limits)} are kept"
        yield _check("limits", broken, "limits are broken", kept)


def _catalogs(opened: PlanFile, folder: Path) -> Check:
    """Check the plan by problem, catalogs and prices as the files it names hold them now."""
    made, now, whole = opened.plan.provenance, None, False
    file = made.problem_file
    try:
        for path in (base / name for base in (folder, Path()) for name in (file, Path(file).name)):
            if now is None and file and path.is_file():
                now, whole = load(path, settings=made.overrides, scenario=made.scenario), True
        now = renewed(opened.inputs, folder) if now is None else now
    except InputError as error:
        text = f"what the plan was made from was not found: {error.findings[0].text()}"
        return _undone("catalogs", text)
    what = f"{file} and what it names" if whole else "the catalogs and price books it names"
    if whole and (misread := unit_faults(now, opened.plan)):
        text = f"quantities of {file} and its catalogs are not read as written"
        return _check("catalogs", misread, text, "")
    aside = "" if whole else f"; the problem file, {file or 'none'}, is not beside the plan"
    if whole and now.sha256 == opened.inputs.sha256:
        same = inputs_to_text(now) == opened.carried.encode()
        wrong = ("inputs: not what the files hold that it names, which are unchanged",)
        text = f"{what} are unchanged, but the plan carries others"
        return _check("catalogs", () if same else wrong, text, f"{what} are unchanged")
    state = "were changed since; every figure is still theirs" if whole else "hold every figure"
    differs = recheck(now, opened.plan).all
    return _check("catalogs", differs, f"{what} say otherwise now{aside}", f"{what} {state}{aside}")


# The bound, proven by the other solver


def _bound(
    opened: PlanFile, solver: SolverName, time_limit_s: float | None
) -> tuple[Check, float | None]:
    """Ask the other solver for a plan that the stated gap or bound excludes; its bound if none."""
    plan, goal, asked = opened.plan, opened.plan.objective, NAMES[solver]
    allowed = (goal.gap_asked if goal.sense == "maximize" else -goal.gap_asked) * (goal.best or 0.0)
    best = goal.bound if plan.status == "feasible" else goal.best and goal.best + allowed
    if plan.status != "infeasible" and best is None:
        return _undone("bound", f"a problem that is {plan.status} has none"), None
    case = _case_of(opened.inputs, plan)
    if plan.jobs:
        case = without_idle_bursts(case, read_operation(case, plan))
    try:
        second = prove_again(case, best, solver=solver, time_limit_s=time_limit_s)
    except SolverError as error:
        return _undone("bound", f"not proven again: {error}"), None
    if second.better is not None:
        stated = f"{plan.status}, best value {_write_number(best)} {goal.unit}"
        wrong = (f"status: {stated}, yet a plan is worth {_write_number(second.better)}",)
        return _check("bound", wrong, f"{asked} found a plan that is better", ""), None
    if second.open:
        text = f"{asked} leaves open {', '.join(second.open[:3])}"
        return _undone("bound", f"no bound of all plans proven: {text}"), None
    unit, least = goal.unit, _write_number(second.bound)
    text = "finds no plan either" if best is None else f"no plan is better than {least} {unit}"
    return _check("bound", (), "", f"{asked}, asked again: {text}"), second.bound


def _write_number(value: float | None) -> str:
    """A value of the objective with the digits that two solvers may differ in."""
    return "none" if value is None else f"{value:,.2f}" if abs(value) >= 1e6 else f"{value:,.8g}"


# The plan assembled, or searched, again


def assembly_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Parts that differ from the plan assembled again from its decisions.

    Args:
        inputs: the inputs that the plan carries.
        plan: a plan whose figures hold.
    """
    made, goal = plan.provenance, plan.objective
    try:
        case = _case_of(inputs, plan)
        answer, gap = _certificate(case, plan), goal.gap_asked
        again = assemble(inputs, case, answer, solver=made.solver, gap=gap)
        if plan.storage_options is not None:
            again = add_storage_options(
                inputs, case, answer, again, solver=made.solver, check=lambda _: None
            )
        return tuple(_differences(plan, again, _NOT_DERIVED))
    except (PlannerError, ValueError, ArithmeticError, LookupError, TypeError) as error:
        return (f"jobs: the plan cannot be assembled again ({error})",)


def _case_of(inputs: Inputs, plan: Plan) -> Case:
    """The problem of a plan in numbers, without products that no plan needs, unless it has any."""

    def work() -> Case:
        case = resolve(inputs)
        few = without_dominated(case)
        return case if {line.sku for line in plan.lines} & {*few.covered} else few

    return inputs.once(_case_of, plan, work)


def _certificate(case: Case, plan: Plan) -> Certificate:
    """The answer of the search that a plan was assembled from."""
    goal, cut = plan.objective, plan.verdict.get("search", "")
    logarithmic = goal.log_value is not None and goal.bound is not None
    return Certificate(
        status=plan.status,
        operation=read_operation(case, plan),
        value=goal.value if goal.log_value is None else goal.log_value,
        bound=math.log(goal.bound or 0.0) if logarithmic else goal.bound,
        gap=goal.gap,
        iterations=plan.provenance.iterations,
        late=cut.startswith("the time limit"),
        ties_cut=bool(cut),
    )


def search_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Parts that differ from the plan of the same search repeated."""
    solver: SolverName = "cbc" if plan.provenance.solver == "cbc" else "highs"
    options = Options(solver=solver, gap=plan.objective.gap_asked)
    return tuple(_differences(plan, solve_with(inputs, options), {"inputs", "checksums"}))


def is_repeatable(plan: Plan) -> bool:
    """True if this installation searches as the one that made a plan did."""
    made = plan.provenance
    here = made.tool == f"planner {__version__}" and made.versions == versions()
    return here and plan.status == "optimal" and "search" not in plan.verdict


def _differences(plan: Plan, again: Plan, left_out: set[str]) -> Iterator[str]:
    one, other = (each.model_dump(mode="json", warnings=False) for each in (plan, again))
    for part in one.keys() | other.keys():
        if part not in left_out:
            yield from _compare(part, one.get(part), other.get(part))


def _compare(place: str, stated: Any, computed: Any) -> Iterator[str]:
    """Yield the places at which two values differ."""
    if isinstance(stated, dict) and isinstance(computed, dict):
        for name in stated | computed:
            # a default, or a line of the problem file, which the plan does not carry
            default = name == "source" and str(computed.get(name)).startswith("default")
            if not default and name not in _ELSEWHERE.get(place.split("[")[0], ()):
                yield from _compare(f"{place}.{name}", stated.get(name), computed.get(name))
    elif isinstance(stated, list) and isinstance(computed, list):
        for number, (one, other) in enumerate(zip(stated, computed, strict=False)):
            yield from _compare(f"{place}[{number}]", one, other)
        if len(stated) != len(computed):
            yield f"{place}: {len(stated)} entries, assembled again {len(computed)}"
    else:
        numbers = isinstance(stated, float | int) and isinstance(computed, float | int)
        same = numbers and math.isclose(stated, computed, rel_tol=CLOSE, abs_tol=CLOSE)
        if not same and stated != computed:
            yield f"{place}: {repr(stated)[:60]}, assembled again {repr(computed)[:60]}"
