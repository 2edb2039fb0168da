"""The pipeline as a library: load, check, size, optimise, verify; everything else reads a Plan."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planner.case import Case, resolve
from planner.errors import Finding, InputError, VerificationError
from planner.figures import OBJECTIVES, RATIOS
from planner.inputs import Inputs
from planner.loader import load
from planner.schema.plan import DEFAULT_GAP

if TYPE_CHECKING:
    from planner.optimizer.effort import Effort
    from planner.optimizer.operate import Run
    from planner.optimizer.optimise import Certificate
    from planner.optimizer.proof import Proof
    from planner.optimizer.solvers import SolverName
    from planner.schema.plan import Infeasibility, Plan

FOR_THE_SEARCH = 0.95
"""The share of a time limit that a search may take; bill, check and files come after it."""
AFTERWARDS_S = 0.75
"""What these take of a processor, as a rule; at most a quarter of a time limit is kept for them."""
LEAST_SEEN_S = 0.05
"""With less processor time behind it a command cannot tell how busy the machine is."""


@dataclass(frozen=True)
class Options:
    """How to solve: solver, largest gap as a share, time limit, where to save the model.

    The clock of a time limit runs from ``started`` on, and once for everything that is done with
    these options; ``deadline`` is when it ends, by ``time.monotonic``, and ``begun`` when it began.

    The rest is for problems without a plan: whether to explain why, which takes longer than finding
    it out; ``weights``, what a change of a limit counts where several are changed, by path (1
    unless given); and ``keep``, what must not be changed. Without ``rivals`` a plan does not tell
    what else could be its storage, which takes a plan of each.
    """

    solver: SolverName = "highs"
    gap: float = DEFAULT_GAP
    time_limit_s: float | None = None
    save_model: Path | None = None
    state_seconds: bool = False
    explain: bool = True
    rivals: bool = True
    weights: tuple[tuple[str, float], ...] = ()
    keep: tuple[str, ...] = ()
    deadline: float = math.inf
    begun: tuple[float, float] = (0.0, 0.0)

    def started(self, begun: tuple[float, float] | None = None) -> Options:
        """The same with the clock running; where it runs already it goes on.

        Args:
            begun: since when, by ``time.monotonic`` and ``time.process_time``; since now if None.
        """
        if self.time_limit_s is None or math.isfinite(self.deadline):
            return self
        begun = begun or (time.monotonic(), time.process_time())
        return replace(self, deadline=begun[0] + self.time_limit_s, begun=begun)

    def turn(self, left: int) -> Options:
        """The same for one of so many solves; each has the whole limit if no clock runs."""
        return self.part(1.0 / left) if math.isfinite(self.deadline) else self

    def part(self, share: float) -> Options:
        """The same for a share of the time that is left."""
        now, going = time.monotonic(), self.started()
        return replace(going, deadline=now + share * (going.deadline - now))

    def searching(self, share: float) -> Options:
        """The same for a share of the time left, with time kept for what comes after it.

        That takes longer on a busy machine, by as much as everything has taken so far.
        """
        now, cpu, going = time.monotonic(), time.process_time(), self.started()
        left_s, seen_s = going.deadline - now, cpu - going.begun[1]
        busy = (now - going.begun[0]) / seen_s if seen_s > LEAST_SEEN_S else 1.0
        kept = max(1.0, busy) * AFTERWARDS_S / left_s if left_s > 0.0 else 1.0
        return going.part(min(share, 1.0 - min(kept, 0.25)))

    @property
    def effort(self) -> Effort:
        """How far solving may go."""
        from planner.optimizer.effort import Effort

        return Effort(self.started().deadline)


def solve(
    path: Path | str,
    *,
    settings: tuple[str, ...] = (),
    scenario: str | None = None,
    options: Options | None = None,
) -> Plan:
    """The best plan of a problem file, verified by independent arithmetic.

    Args:
        path: the problem file.
        settings: ``path=value`` changes laid over it.
        scenario: a named scenario of the file.
        options: how to solve.

    Raises:
        InputError: the problem, a catalog or a price book is wrong.
        VerificationError: the plan does not agree with its independent re-computation, or with the
            integer program.
    """
    inputs = load(Path(path), settings=settings, scenario=scenario)
    return solve_with(inputs, options or Options(), read_back=True)


def solve_inputs(
    inputs: Inputs,
    *,
    solver: SolverName = "highs",
    gap: float = DEFAULT_GAP,
    time_limit: float | None = None,
    explain: bool = True,
) -> Plan:
    """The best plan of inputs made in memory; see ``solve``."""
    options = Options(solver=solver, gap=gap, time_limit_s=time_limit, explain=explain)
    return solve_with(inputs, options)


def solve_with(
    inputs: Inputs, options: Options, *, search: float = FOR_THE_SEARCH, read_back: bool = False
) -> Plan:
    """The best plan of validated inputs; see ``solve``.

    Args:
        inputs: the problem, catalogs and prices.
        options: how to solve.
        search: the share of the time left that the search may take.
        read_back: whether to compare quantities with the files, of which the inputs are as loaded.
    """
    from planner.optimizer.optimise import optimise
    from planner.plan import assemble
    from planner.plan.storage_options import with_options
    from planner.verifier import unit_faults, verify

    options = options.started()
    case = resolve(inputs)
    answer = optimise(case, gap=options.gap, effort=options.searching(search).effort)
    _refuse_free(inputs, case, answer.operation)
    proof = _proof(case, answer, options)
    message, infeasibility = None, None
    if answer.status == "infeasible" and not options.explain:
        message = "no plan meets every limit"
    elif answer.status == "infeasible":
        infeasibility = why_infeasible(inputs, options)
        message = infeasibility.summary
    elif answer.status == "unbounded":
        message = "nothing limits the purchase: give a power, space or cost budget"
    elif answer.status == "no_solution":
        message = "the search ended without a plan, and without proof that there is none"
        if answer.late:
            message = "the time limit was reached before any plan was found"
    plan = assemble(
        inputs,
        case,
        answer,
        solver=options.solver,
        gap=options.gap,
        message=message,
        infeasibility=infeasibility,
        seconds=answer.seconds if options.state_seconds else None,
        proof=proof,
    )
    if options.rivals and not answer.late:
        check = partial(verify, inputs)
        plan = with_options(inputs, case, answer, plan, solver=options.solver, check=check)
    verify(inputs, plan)
    if read_back and (wrong := unit_faults(inputs, plan)):
        raise VerificationError(wrong)
    return plan


def _proof(case: Case, answer: Certificate, options: Options) -> Proof | None:
    """The proof of the plan by the integer program; None without one.

    A search that was cut short claims nothing that could be proven, unless its model is asked for.

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
    """Refuse money per useful work where there is work for nothing.

    Raises:
        InputError: the best plan costs nothing at all, so its ratio is no measure of it.
    """
    from planner.optimizer.bill import bill

    if case.objective not in RATIOS or operation is None:
        return
    if bill(case, operation.units, operation.ways)["tco_usd"] >= 1.0:
        return
    file, line = inputs.document.place(("objective",)) if inputs.document else (None, None)
    label = OBJECTIVES[case.objective].label
    text = f"objective {label} is 0 for every plan: installed units have no running cost"
    fix = "set term.electricity, or maximize: goodput"
    raise InputError(Finding("nothing-paid", text, file, line, "objective", fix))


def why_infeasible(inputs: Inputs, options: Options) -> Infeasibility:
    """A minimal set of conflicting limits, and the smallest relaxation.

    Args:
        inputs: a problem that is known to have no plan.
        options: which solver to ask, until when, and what may be changed.
    """
    from planner.infeasible import explain

    return explain(
        inputs,
        weights=dict(options.weights),
        keep=options.keep,
        effort=options.effort,
    )


__all__ = [
    "DEFAULT_GAP",
    "Inputs",
    "Options",
    "VerificationError",
    "load",
    "solve",
    "solve_inputs",
    "solve_with",
]
