"""The pipeline: resolve, optimise, make the plan, verify; everything else reads a Plan."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planner.case import Case, resolve
from planner.errors import InputError, VerificationError
from planner.figures import OBJECTIVES, RATIOS
from planner.inputs import Inputs
from planner.schema.plan import DEFAULT_GAP

if TYPE_CHECKING:
    from planner.optimizer import Certificate
    from planner.optimizer.operate import Run
    from planner.optimizer.proof import Proof
    from planner.optimizer.search import Effort
    from planner.optimizer.solvers import SolverName
    from planner.schema.plan import Infeasibility, Plan

NO_PLAN = "no plan meets every limit"
WITHOUT_PLAN = {
    "infeasible": NO_PLAN,
    "unbounded": "nothing limits the purchase: give a power, space or cost budget",
    "no_solution": "the search ended without a plan, and without proof that there is none",
}
"""Reasons by status."""
FOR_THE_SEARCH = 0.95
"""Largest share of a time limit for the search; bill, check and files come after it."""
AFTERWARDS_S, MOST_AFTERWARDS = 0.75, 0.25
"""Time kept for them, s, and its largest share of a time limit."""


@dataclass(frozen=True)
class Options:
    """Options of solving, once or many times.

    Attributes:
        solver: of the integer program.
        gap: largest MIP gap to prove, as a share.
        time_limit_s: of everything done with these options once they are ``started``; of each of
            many scenarios.
        jobs: number of processes, 0 for the number of cores.
        dask: address of a Dask scheduler whose workers do the work instead.
        ties: of many scenarios, state the plan that `solve` takes of equally good ones.
        known: plans to begin with.
        save_model: file for the integer program.
        explain: without a plan, find the reason, which takes longer.
        keep: without a plan, paths that must not be relaxed.
        deadline: end of the time limit by ``time.monotonic``; infinite before the start.
    """

    solver: SolverName = "highs"
    gap: float = DEFAULT_GAP
    time_limit_s: float | None = None
    jobs: int = 0
    dask: str | None = None
    ties: bool = False
    known: tuple[Run, ...] = ()
    save_model: Path | None = None
    explain: bool = True
    keep: tuple[str, ...] = ()
    deadline: float = math.inf

    def started(self) -> Options:
        """The same with the clock running from now on, unless it runs already."""
        if self.time_limit_s is None or math.isfinite(self.deadline):
            return self
        return replace(self, deadline=time.monotonic() + self.time_limit_s)

    def turn(self, left: int) -> Options:
        """The same for one of ``left`` solves; each has the whole limit if no clock runs."""
        return self.part(1.0 / left) if math.isfinite(self.deadline) else self

    def part(self, share: float) -> Options:
        """The same for a share of the time left."""
        now, going = time.monotonic(), self.started()
        return replace(going, deadline=now + share * (going.deadline - now))

    def for_search(self, share: float) -> Options:
        """The same for a share of the time left, with time kept for bill, check and files."""
        going = self.started()
        left_s = going.deadline - time.monotonic()
        kept = AFTERWARDS_S / left_s if left_s > 0.0 else 1.0
        return going.part(min(share, 1.0 - min(kept, MOST_AFTERWARDS)))

    @property
    def effort(self) -> Effort:
        """The search effort allowed, from now on unless the clock runs already."""
        from planner.optimizer.search import Effort

        return Effort(self.started().deadline)


def solve_with(
    inputs: Inputs, options: Options, *, search: float = FOR_THE_SEARCH, read_back: bool = False
) -> Plan:
    """The best plan of validated inputs, verified by independent arithmetic.

    Args:
        search: share of the time left for the search.
        read_back: compare quantities with the files that the inputs were loaded from.

    Raises:
        InputError: the objective is 0 for every plan.
        VerificationError: the plan does not agree with its independent re-computation, or with the
            integer program.
    """
    from planner.optimizer import optimise
    from planner.optimizer.objective import bill_totals, without_dominated
    from planner.plan import assemble
    from planner.plan.storage_options import add_storage_options
    from planner.verifier import total_faults, unit_faults, verify

    options = options.started()
    case = without_dominated(resolve(inputs))
    answer = optimise(case, gap=options.gap, effort=options.for_search(search).effort)
    _refuse_free(inputs, case, answer.operation)
    proof = _proof(case, answer, options)
    message, infeasibility = WITHOUT_PLAN.get(answer.status), None
    if answer.status == "infeasible" and options.explain:
        infeasibility = why_infeasible(inputs, options)
        message = infeasibility.summary
    elif answer.status == "no_solution" and answer.late:
        message = "the time limit was reached before any plan was found"
    plan = assemble(
        inputs,
        case,
        answer,
        solver=options.solver,
        gap=options.gap,
        message=message,
        infeasibility=infeasibility,
        proof=proof,
    )
    if not answer.late:
        check = partial(verify, inputs)
        plan = add_storage_options(inputs, case, answer, plan, solver=options.solver, check=check)
    verify(inputs, plan)
    sums = bill_totals(case, answer.operation) if answer.operation is not None else {}
    if wrong := total_faults(plan, sums):
        raise VerificationError(wrong)
    if read_back and (wrong := unit_faults(inputs, plan)):
        raise VerificationError(wrong)
    return plan


def _proof(case: Case, answer: Certificate, options: Options) -> Proof | None:
    """The proof of the plan by the integer program; None where the search was cut short.

    Raises:
        VerificationError: program and search disagree.
        SolverError: the solver is missing, or broke off.
    """
    from planner.optimizer.proof import prove

    if answer.operation is None or answer.status != "optimal" or answer.ties_cut:
        return None
    left_s = options.deadline - time.monotonic() if math.isfinite(options.deadline) else None
    return prove(
        case,
        answer,
        solver=options.solver,
        time_limit_s=left_s,
        save_model=options.save_model,
    )


def _refuse_free(inputs: Inputs, case: Case, operation: Run | None) -> None:
    """Refuse an objective of money per useful work where the best plan costs nothing."""
    from planner.optimizer.bill import bill

    if case.objective not in RATIOS or operation is None:
        return
    if bill(case, operation.units, operation.ways)["tco_usd"] >= 1.0:
        return
    label = OBJECTIVES[case.objective].label
    text = f"objective {label} is 0 for every plan: installed units have no running cost"
    fix = "set term.electricity, or maximize: goodput"
    raise InputError(inputs.finding("nothing-paid", "objective", text, fix))


def why_infeasible(inputs: Inputs, options: Options) -> Infeasibility:
    """A minimal set of conflicting limits of a problem without a plan, and a relaxation."""
    from planner.infeasible import explain

    return explain(inputs, keep=options.keep, effort=options.effort)
