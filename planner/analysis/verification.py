"""A plan file checked: figures, limits, the catalogs it names, its bound, its other texts.

The verifier computes figures again in its own arithmetic. Texts and lists that only `assemble`
knows are written again from the decisions of the plan, and compared.
"""

from __future__ import annotations

import codecs
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.analysis.request import Found, Request
from planner.analysis.variants import operation_of
from planner.api import Options, solve_with
from planner.case import resolve
from planner.errors import Finding, InputError, PlannerError, SolverError, VerificationError
from planner.inputs import Inputs, changed, inputs_from_text, inputs_to_text
from planner.loader import load, renewed
from planner.optimizer.effort import Effort
from planner.optimizer.objective import natural
from planner.optimizer.optimise import Certificate, optimise
from planner.optimizer.proof import needed_products, prove
from planner.optimizer.second_proof import SecondProof, prove_again
from planner.optimizer.solvers import NAMES, SolverName
from planner.plan import assemble, versions
from planner.report import plan_json
from planner.schema.explanation import Check, Verification
from planner.schema.plan import SCHEMA_VERSION, Plan
from planner.untrusted_files import contents, json_of
from planner.verifier import (
    faults,
    origin_faults,
    program_faults,
    recheck_from_outside,
    unit_faults,
    unproven_faults,
)
from planner.version import __version__
from planner.workbook.audit import audit

_AGAIN = "solve the problem again"
_TAKES = "give the PROBLEM.plan.json that planner solve writes"
OTHER: dict[str, SolverName] = {"highs": "cbc", "cbc": "highs"}
ROUGH_GAP = 1e-3
"""How far a GPU type alone is solved."""
GAP = 2e-6
"""How far the other solver proves its own answer."""
TOLERANCE = 1e-6
"""What two solvers may differ by, as a share of the objective."""
CLOSE = 1e-9
"""Relative difference of two computations of one number."""
_ELSEWHERE = {"provenance": ("problem_file", "seconds", "tool", "versions"), "limits": ("source",)}
"""Keys of parts that name files and machines, which a plan does not carry."""
_NOT_DERIVED = {"inputs", "checksums", "message", "infeasibility", "objective", "storage_options"}
"""Parts that the decisions of a plan do not determine."""


# Plan files


@dataclass(frozen=True)
class PlanFile:
    """A plan and what it was made from, as a file holds them; ``changed`` are the parts that are
    not as planner wrote them."""

    name: str
    plan: Plan
    inputs: Inputs
    carried: str
    changed: tuple[str, ...]


def read_plan(path: Path, model: Plan | None = None) -> Plan:
    """Read a plan file whose every figure follows from the inputs it carries.

    Args:
        model: the plan instead, where it is in memory; ``path`` is then what it goes by.

    Raises:
        InputError: it cannot be read, or does not hold; the first figure that is wrong is named.
    """
    opened = open_plan(path, model)
    wrong = faults(opened.inputs, opened.plan) or tuple(map(changed_text, opened.changed))
    if wrong:
        raise InputError(refusal(opened.name, opened.plan, wrong))
    return opened.plan


def open_plan(path: Path, model: Plan | None = None) -> PlanFile:
    """Open a plan file, or a plan in memory, right or wrong.

    Raises:
        InputError: it cannot be read, or lacks what it takes to check it.
    """
    if model is not None:
        return from_data(str(path), model.model_dump_json().encode())
    return from_data(str(path), contents(path, most_bytes=plan_json.MOST_BYTES, what="plan"))


def from_data(name: str, data: bytes) -> PlanFile:
    """Open the bytes of a plan file; see `open_plan`."""
    found = json_of(data, name, _TAKES)
    version = found.get("schema_version") if isinstance(found, dict) else None
    if isinstance(version, int) and version != SCHEMA_VERSION:
        message = f"a plan of version {version}, this planner reads {SCHEMA_VERSION}"
        raise InputError(Finding("version", message, name, fix=_AGAIN))
    try:
        written = plan_json.read(data.removeprefix(codecs.BOM_UTF8))
    except ValidationError as error:
        raise InputError(_no_plan(name, error)) from None
    plan = written.plan
    if written.inputs is None:
        message = "the plan does not carry what it was made from, so it cannot be checked"
        raise InputError(Finding("plan", message, name, path="inputs", fix=_AGAIN))
    try:
        inputs = inputs_from_text(written.inputs)
    except InputError as error:
        message = f"{error.findings[0].message}, so the plan cannot be checked"
        raise InputError(Finding("plan", message, name, path="inputs", fix=_AGAIN)) from None
    return PlanFile(name, plan, inputs, written.inputs, written.changed)


def _no_plan(name: str, error: ValidationError) -> Finding:
    """Finding on a file that is no plan, or on the first value that no plan has."""
    first, *more = error.errors(include_url=False)
    message = "the file holds no plan of this version of planner"
    if len(more) > 2:  # a file of another kind lacks nearly everything
        return Finding("plan", message, name, fix=_TAKES)
    place = ".".join(str(part) for part in first["loc"])
    return Finding("plan", f"{message}: {first['msg'].lower()}", name, path=place, fix=_AGAIN)


def changed_text(part: str) -> str:
    """Text on a part of a file that is not as planner wrote it."""
    return f"{part}: not as planner wrote it; the checksum differs"


def refusal(name: str, plan: Plan, wrong: tuple[str, ...]) -> Finding:
    """Finding on a plan that does not hold: the first figure that is wrong."""
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    here = f"planner {__version__}"
    message = f"the plan does not hold: {wrong[0]}{more}"
    fix = f"planner verify lists them; {_AGAIN}"
    if plan.provenance.tool != here:
        fix = f"written by {plan.provenance.tool}, this is {here}: {_AGAIN}"
    return Finding("verify", message, name, fix=fix)


# Checks


def verify_file(
    path: Path,
    *,
    solve_again: bool = True,
    time_limit_s: float | None = None,
    model: Plan | None = None,
) -> Verification:
    """Check a plan file; checks that could not be made are named.

    Args:
        path: the PROBLEM.plan.json.
        model: the plan instead, where it is in memory; ``path`` is then what it goes by.
        solve_again: whether to solve for the bound with the other solver.
        time_limit_s: how long that may take, None for as long as it does.

    Raises:
        InputError: the file cannot be read, or holds no plan that can be checked.
    """
    opened = open_plan(path, model)
    checks = [
        _file(opened),
        *_figures(opened, search=solve_again and time_limit_s is None),
        _catalogs(opened, path.parent),
    ]
    solver = OTHER.get(opened.plan.provenance.solver, "highs") if solve_again else None
    answer: tuple[float | None, float | None] = (None, None)
    if solver is None:
        checks.append(Check(name="bound", result="not_checked", text="not solved again"))
    else:
        check, answer = _bound(opened, solver, time_limit_s)
        checks += [check, _types(opened, time_limit_s)]
    failed = any(check.result == "fails" for check in checks)
    return Verification(
        plan=opened.name,
        problem=opened.plan.problem,
        result="fails" if failed else "holds",
        checks=tuple(checks),
        solver=solver,
        value=answer[0],
        bound=answer[1],
        unit=opened.plan.objective.unit,
    )


def _file(opened: PlanFile) -> Check:
    wrong = (*origin_faults(opened.inputs, opened.plan), *map(changed_text, opened.changed))
    if wrong:
        text = f"parts are not as {opened.plan.provenance.tool} wrote them"
        return Check(name="file", result="fails", text=text, findings=wrong)
    return Check(name="file", result="holds", text="checksums agree (no signature)")


def _figures(opened: PlanFile, *, search: bool) -> Iterator[Check]:
    """Yield the checks of figures and limits, by the inputs that the plan carries."""
    plan, found = opened.plan, recheck_from_outside(opened.inputs, opened.plan)
    what, faulty = _contents(plan), (*unproven_faults(plan), *program_faults(plan))
    wrong = (*found.disagreements, *faulty)
    wrong = wrong or assembly_faults(opened.inputs, plan)
    repeated = search and is_repeatable(plan)
    if repeated and not wrong and not found.breaches:
        wrong = search_faults(opened.inputs, plan)
    if wrong:
        text = f"wrong among {what}, computed again from the inputs it carries"
        yield Check(name="figures", result="fails", text=text, findings=wrong)
    else:
        text = f"{what}: all computed again from the inputs it carries"
        text += ", by the same search" if repeated else "; the search was not repeated"
        yield Check(name="figures", result="holds", text=text)
    if found.breaches:
        broken = tuple(f"{name}: {text}" for name, text in found.breaches)
        yield Check(name="limits", result="fails", text="limits are broken", findings=broken)
    elif wrong or not plan.jobs:
        text = "figures are wrong" if plan.jobs else "there is no plan to keep them"
        yield Check(name="limits", result="not_checked", text=text)
    else:
        yield Check(name="limits", result="holds", text=f"all {len(plan.limits)} are kept")


def _contents(plan: Plan) -> str:
    if not plan.jobs:
        return f"a problem that is {plan.status}"
    racks = sum(group.count for group in plan.racks)
    parts = [f"{len(plan.lines)} lines", f"{racks} racks", f"{len(plan.fabrics)} fabrics"]
    return f"{', '.join(part for part in parts if not part.startswith('0 '))} and the job"


def _catalogs(opened: PlanFile, folder: Path) -> Check:
    """Check the plan by problem, catalogs and prices as the files it names hold them now."""
    file = opened.plan.provenance.problem_file
    try:
        now, whole = _named_now(opened, folder)
    except InputError as error:
        text = f"what the plan was made from was not found: {error.findings[0].text()}"
        return Check(name="catalogs", result="not_checked", text=text)
    what = f"{file} and what it names" if whole else "the catalogs and price books it names"
    misread = unit_faults(now, opened.plan) if whole else ()
    if misread:
        text = f"quantities of {file} and its catalogs are not read as written"
        return Check(name="catalogs", result="fails", text=text, findings=misread)
    aside = "" if whole else f"; the problem file, {file or 'none'}, is not beside the plan"
    if whole and now.sha256 == opened.inputs.sha256:
        if inputs_to_text(now) == opened.carried:
            return Check(name="catalogs", result="holds", text=f"{what} are unchanged")
        wrong = ("inputs: not what the files hold that it names, which are unchanged",)
        text = f"{what} are unchanged, but the plan carries others"
        return Check(name="catalogs", result="fails", text=text, findings=wrong)
    found = recheck_from_outside(now, opened.plan)
    differs = (*found.disagreements, *(f"{name}: {text}" for name, text in found.breaches))
    if differs:
        text = f"{what} say otherwise now{aside}"
        return Check(name="catalogs", result="fails", text=text, findings=differs)
    state = "were changed since; every figure is still theirs" if whole else "hold every figure"
    return Check(name="catalogs", result="holds", text=f"{what} {state}{aside}")


def _named_now(opened: PlanFile, folder: Path) -> tuple[Inputs, bool]:
    """Inputs as files hold them now, and whether the problem file is among these."""
    made = opened.plan.provenance
    for base in (folder, Path()):
        for name in dict.fromkeys((made.problem_file, Path(made.problem_file).name)):
            path = base / name
            if name and path.is_file():
                return load(path, settings=made.overrides, scenario=made.scenario), True
    return renewed(opened.inputs, folder), False


def _bound(
    opened: PlanFile, solver: SolverName, time_limit_s: float | None
) -> tuple[Check, tuple[float | None, float | None]]:
    plan = opened.plan
    if faults(opened.inputs, plan):
        text = "not solved again: the plan does not hold as it is"
        return Check(name="bound", result="not_checked", text=text), (None, None)
    if plan.status not in ("optimal", "feasible", "infeasible"):
        text = f"a problem that is {plan.status} has none"
        return Check(name="bound", result="not_checked", text=text), (None, None)
    case = resolve(opened.inputs)
    started = time.monotonic()
    answer = optimise(case, gap=GAP, effort=Effort.within(time_limit_s))
    best = None if answer.best is None else natural(case.objective, answer.best)
    left_s = None if time_limit_s is None else time_limit_s - (time.monotonic() - started)
    try:
        if answer.status == "optimal":
            prove(case, answer, solver=solver, time_limit_s=left_s)
        small = needed_products(case, answer)
        second = prove_again(small, best, solver=solver, time_limit_s=left_s)
    except SolverError as error:
        text = f"not proven again: {error}"
        return Check(name="bound", result="not_checked", text=text), (None, None)
    except VerificationError as error:
        text = f"{NAMES[solver]}, asked again, disagrees"
        wrong = error.disagreements
        return Check(name="bound", result="fails", text=text, findings=wrong), (best, None)
    value, bound = (best if second.better is None else second.better), second.bound
    asked = NAMES[solver]
    if plan.status == "infeasible":
        return _none_either(asked, answer, second), (value, bound)
    return _compared(plan, asked, answer, second, value), (value, bound)


def _types(opened: PlanFile, time_limit_s: float | None) -> Check:
    """Solve for each GPU type alone: none may have a better plan than the bound allows."""
    plan, goal = opened.plan, opened.plan.objective
    types = [sku for sku in plan.searched if opened.inputs.by_id[sku].category == "gpu_system"]
    if not plan.jobs or goal.bound is None or len(types) < 2:
        return Check(name="types", result="not_checked", text="no other GPU type to compare with")
    effort, wrong, alone = Effort.within(time_limit_s), [], 0
    for sku in types:
        try:
            case = resolve(changed(opened.inputs, "consider.gpu_systems", (sku,)))
            answer = optimise(case, gap=ROUGH_GAP, effort=effort, ties=False)
        except (InputError, SolverError):
            continue
        value = None if answer.value is None else natural(case.objective, answer.value)
        if value is None:
            continue
        alone += 1
        better = value - goal.bound if goal.sense == "maximize" else goal.bound - value
        if better > TOLERANCE * max(abs(value), abs(goal.bound)):
            worth = f"{_write_number(value)} {goal.unit}"
            wrong.append(f"searched: {sku} alone is worth {worth}, beyond the bound")
    if wrong:
        text = "a GPU type was lost from the search"
        return Check(name="types", result="fails", text=text, findings=tuple(wrong))
    text = f"{alone} of {len(types)} GPU types have a plan alone, none beyond the bound"
    return Check(name="types", result="holds", text=text)


def _none_either(asked: str, answer: Certificate, second: SecondProof) -> Check:
    if answer.status == "infeasible" and not second.open and second.better is None:
        text = f"{asked}, asked again, finds no plan either"
        return Check(name="bound", result="holds", text=text)
    if answer.operation is None and second.better is None:
        text = f"{asked} neither found a plan nor proved that there is none"
        return Check(name="bound", result="not_checked", text=text)
    wrong = ("status: infeasible, yet there is a plan",)
    return Check(name="bound", result="fails", text=f"{asked} found a plan", findings=wrong)


def _compared(
    plan: Plan, asked: str, answer: Certificate, second: SecondProof, value: float | None
) -> Check:
    """Compare the plan's value, bound and status with the other solver's answer."""
    goal, bound = plan.objective, second.bound
    mine, unit = goal.value or 0.0, goal.unit
    best = mine if goal.best is None else goal.best  # the plan may give something away on purpose
    if answer.status in ("infeasible", "unbounded"):
        wrong: tuple[str, ...] = (f"status: {plan.status}, yet {asked} says {answer.status}",)
        return Check(name="bound", result="fails", text=f"{asked} disagrees", findings=wrong)

    def ahead(one: float, other: float) -> float:
        better = one - other if goal.sense == "maximize" else other - one
        return better / max(abs(mine), 1e-12)

    found = []
    if bound is not None and ahead(best, bound) > TOLERANCE:
        found.append(f"objective.best: {_write_number(best)} {unit}, better than any plan can be")
    if value is not None and goal.bound is not None and ahead(value, goal.bound) > TOLERANCE:
        stated = f"objective.bound: {_write_number(goal.bound)} {unit}"
        found.append(f"{stated}, yet a plan is worth {_write_number(value)}")
    optimal = plan.status == "optimal"
    if value is not None and optimal and ahead(value, best) > goal.gap_asked + TOLERANCE:
        worth = f"yet a plan is worth {_write_number(value)} {unit}"
        found.append(f"status: optimal, {worth}, not {_write_number(best)}")
    if found:
        text = f"{asked}, asked again, disagrees"
        return Check(name="bound", result="fails", text=text, findings=tuple(found))
    if bound is None:
        text = _left_open(asked, second)
        return Check(name="bound", result="not_checked", text=text)
    behind = max(0.0, ahead(bound, best))
    text = (
        f"no plan is better than {_write_number(bound)} {unit}; the best value stated is "
        f"{100 * behind:.2g} % behind"
    )
    if behind > GAP:
        text += f" (it may be {100 * goal.gap_asked:.2g} %)"
    if optimal and behind > goal.gap_asked + GAP + TOLERANCE:
        text = f"{asked} got no closer in the time given than this: {text}"
        return Check(name="bound", result="not_checked", text=text)
    return Check(name="bound", result="holds", text=f"{asked}, asked again: {text}")


def _left_open(asked: str, second: SecondProof) -> str:
    """Reason why no bound of all plans was proven."""
    if not second.open:
        return f"{asked} came to no bound in the time given"
    names = ", ".join(second.open[:3])
    more = f" and {len(second.open) - 3} more ways" if len(second.open) > 3 else ""
    return (
        f"{asked}, asked again, proves the bill, but no bound of all plans: it leaves open "
        f"{names}{more}, where useful work is not concave"
    )


def _write_number(value: float) -> str:
    """A value of the objective with the digits that two solvers may differ in."""
    return f"{value:,.2f}" if abs(value) >= 1e6 else f"{value:,.8g}"


def run(request: Request, *, solve_again: bool) -> Found:
    """Check a plan file, or audit an edited workbook.

    Raises:
        InputError: the file is no plan's, or lacks what it takes to check it.
    """
    path = request.path
    if path.suffix.lower() == ".xlsx":
        return run_audit(request, solve_again=solve_again)
    given = request.models.get(path)
    model = given if isinstance(given, Plan) else None
    found = verify_file(
        path, solve_again=solve_again, time_limit_s=request.time_limit_s, model=model
    )
    return Found((found,), ("infeasible" if found.result == "fails" else "optimal",))


def run_audit(request: Request, *, solve_again: bool) -> Found:
    """Read an edited workbook back.

    Raises:
        InputError: it is no workbook of planner, or an edited cell cannot be read.
    """
    found = audit(request.path, request.options(), solve_again=solve_again)
    broken = found.breaches or found.edited is None
    return Found((found,), ("infeasible" if broken else "optimal",))


# The plan assembled again


def assembly_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Parts that differ from the plan assembled again from its decisions.

    Args:
        inputs: the inputs that the plan carries.
        plan: a plan whose figures hold.
    """
    try:
        return tuple(_assembly_faults(inputs, plan))
    except (PlannerError, ValueError, ArithmeticError, LookupError, TypeError) as error:
        return (f"jobs: the plan cannot be assembled again ({error})",)


def _assembly_faults(inputs: Inputs, plan: Plan) -> Iterator[str]:
    case = resolve(inputs)
    operation = operation_of(case, plan)
    goal, notes = plan.objective, plan.warnings
    cut = [each.text for each in plan.verdict if each.code == "search"]
    answer = Certificate(
        status=plan.status,
        operation=operation,
        value=goal.value if goal.log_value is None else goal.log_value,
        bound=None,
        gap=goal.gap,
        iterations=plan.provenance.iterations,
        seconds=0.0,
        late=any(text.startswith("the time limit") for text in cut),
        ties_cut=bool(cut),
    )
    again = assemble(
        inputs,
        case,
        answer,
        solver=plan.provenance.solver,
        gap=goal.gap_asked,
        seconds=plan.provenance.seconds,
    )
    if plan.storage_options is not None:  # has notes of its own, after all others
        plan = plan.model_copy(update={"warnings": notes[: len(again.warnings)]})
    yield from _differences(plan, again, _NOT_DERIVED)


def search_faults(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Parts that differ from the plan of the same search repeated."""
    solver: SolverName = "cbc" if plan.provenance.solver == "cbc" else "highs"
    options = Options(solver=solver, gap=plan.objective.gap_asked)
    return tuple(_differences(plan, solve_with(inputs, options), {"inputs", "checksums"}))


def is_repeatable(plan: Plan) -> bool:
    """Whether this installation searches as the one that made a plan did."""
    made = plan.provenance
    here = made.tool == f"planner {__version__}" and made.versions == versions()
    return here and plan.status == "optimal" and not any(v.code == "search" for v in plan.verdict)


def _differences(plan: Plan, again: Plan, left_out: set[str]) -> Iterator[str]:
    one, other = plan.model_dump(mode="json"), again.model_dump(mode="json")
    for part in one.keys() | other.keys():
        if part not in left_out:
            yield from _compare(part, one.get(part), other.get(part))


def _compare(place: str, stated: Any, computed: Any) -> Iterator[str]:
    """Yield the places at which two values differ."""
    if isinstance(stated, dict) and isinstance(computed, dict):
        for name in stated | computed:
            if name in _ELSEWHERE.get(place.split("[")[0], ()):
                continue
            if name == "source" and str(computed.get(name)).startswith("default"):
                continue  # or a line of the problem file, which the plan does not carry
            yield from _compare(f"{place}.{name}", stated.get(name), computed.get(name))
    elif isinstance(stated, list) and isinstance(computed, list):
        for number, (one, other) in enumerate(zip(stated, computed, strict=False)):
            yield from _compare(f"{place}[{number}]", one, other)
        if len(stated) != len(computed):
            yield f"{place}: {len(stated)} entries, assembled again {len(computed)}"
    elif not _is_close(stated, computed):
        yield f"{place}: {_short(stated)}, assembled again {_short(computed)}"


def _is_close(one: Any, other: Any) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(one == other)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
