"""Answers to scenarios that differ in what may be used up, from one search for all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.case import Case, resolve
from planner.case.model import Limits
from planner.case.resolve import limits_of
from planner.errors import InputError
from planner.loader import Inputs
from planner.loader.change import Change, changed
from planner.loader.vary import checked
from planner.optimizer.joint import optimise, share, without_end
from planner.optimizer.objective import natural
from planner.optimizer.operate import Operation
from planner.optimizer.parametric import Found, Search
from planner.optimizer.purchase import amounts, given
from planner.schema.sensitivity import RowStatus
from planner.studies.sensitivity.groups import FIELDS, Group, values
from planner.studies.sensitivity.options import Answer, SweepOptions


@dataclass(frozen=True)
class Asked:
    """A group ready to be solved: inputs and case under the loosest limits, limits of each."""

    inputs: Inputs
    case: Case
    group: Group
    options: SweepOptions
    limits: tuple[Limits, ...]

    def case_of(self, place: int) -> Case:
        """Return the case of one scenario; its companions are as far worked out as for all."""
        return replace(self.case, limits=self.limits[place])

    def inputs_of(self, place: int) -> Inputs:
        """Return the inputs of one scenario."""
        inputs = self.inputs
        for change in self.group.scenarios[place].changes:
            if change.path in self.group.paths:
                inputs = changed(inputs, change.path, change.value)
        return inputs


def prepare(inputs: Inputs, group: Group, options: SweepOptions) -> Asked:
    """Return a group ready to be solved.

    Args:
        inputs: those of its base.
        group: the scenarios.
        options: how exactly to solve.

    Raises:
        InputError: what the scenarios share does not go together.
    """
    points = values(group)
    most = points.max(axis=0) if len(group.paths) else np.array([])
    loosest = [
        Change(path, _typed(path, value), "")
        for path, value in zip(group.paths, most.tolist(), strict=True)
    ]
    top = checked(inputs, (*group.shared, *loosest))
    case = resolve(top)
    known: list[dict[float, float | int | None]] = [{} for _ in group.paths]
    limits = []
    for row in points.tolist():
        one: dict[str, float | int | None] = {}
        for place, (path, value) in enumerate(zip(group.paths, row, strict=True)):
            if value not in known[place]:
                alone = limits_of(changed(top, path, _typed(path, value)).problem)
                known[place][value] = getattr(alone, FIELDS[path])
            one[FIELDS[path]] = known[place][value]
        limits.append(replace(case.limits, **one) if one else case.limits)  # type: ignore[arg-type]
    return Asked(top, case, group, options, tuple(limits))


def _typed(path: str, value: float) -> float | int:
    return round(value) if path == "site.racks" else value


def solve(asked: Asked) -> list[Answer]:
    """Return an answer for each scenario of a group, in order."""
    supplies = given(asked.case.limits)
    rows = [amounts(supplies, limits) for limits in asked.limits]
    limits: NDArray[np.float64] = np.array(rows).reshape(len(rows), len(supplies))
    divided = not _stands_alone(asked.case)
    options = asked.options
    search = Search(
        asked.case,
        limits,
        supplies,
        options.gap,
        divided=divided,
        time_limit_s=options.time_limit_s,
    )
    sign = search.plans.sign

    def alone(place: int) -> tuple[Operation | None, float]:
        end = _by_itself(asked, place)
        if end.log_bound is None:
            return end.operation, -math.inf if end.status == "infeasible" else math.inf
        return end.operation, sign * end.log_bound

    found = search.run(alone)
    runs = {id(each.operation): each.operation for each in found}
    endless = {key for key, run in runs.items() if without_end(asked.case, run)}
    return [
        Answer(asked.group.scenarios[place], "unbounded", certificate=each.certificate)
        if id(each.operation) in endless
        else _answer(asked, place, each, sign)
        for place, each in enumerate(found)
    ]


def _stands_alone(case: Case) -> bool:
    """Say whether a case has what only an optimisation of its own can hold: money per work."""
    limits = case.limits
    ratios = (limits.per_useful_gpu_hour, limits.per_million_tokens)
    return any(ratio is not None for ratio in ratios) or not (case.systems and case.storage)


def _by_itself(asked: Asked, place: int) -> Answer:
    scenario, options = asked.group.scenarios[place], asked.options
    case = resolve(asked.inputs_of(place))
    end = optimise(case, gap=options.gap, effort=options.effort, ties=False)
    value = None if end.value is None else natural(case.objective, end.value)
    bound = None if end.bound is None else natural(case.objective, end.bound)
    return Answer(
        scenario, end.status, value, bound, end.gap, end.operation, "alone",
        log_value=end.value, log_bound=end.bound,
    )  # fmt: skip


def _answer(asked: Asked, place: int, found: Found, sign: float) -> Answer:
    scenario, case = asked.group.scenarios[place], asked.case
    run = found.operation
    if run is None:
        open_ = math.isfinite(found.bound) or found.bound > 0
        status: RowStatus = "no_solution" if open_ else "infeasible"
        return Answer(scenario, status, certificate=found.certificate)
    value, bound = sign * found.score, sign * found.bound
    gap = share(case, value, bound) if math.isfinite(bound) else None
    proven = gap is not None and gap <= asked.options.gap + 1e-9
    return Answer(
        scenario,
        "optimal" if proven else "feasible",
        natural(case.objective, value),
        natural(case.objective, bound) if gap is not None else None,
        gap,
        run,
        found.certificate,
        log_bound=bound if gap is not None else None,
        log_value=value,
    )


def reason(error: InputError) -> str:
    """Return the lines of an error of the input as one."""
    return "; ".join(finding.text() for finding in error.findings)
