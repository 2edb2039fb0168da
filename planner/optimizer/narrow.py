"""Ruling out, by linear programs alone, what no plan worth having needs."""

from __future__ import annotations

from planner.optimizer.goal import Found, Goal, solve
from planner.optimizer.master import Master
from planner.optimizer.model import Linear

PROBE_MARGIN = 1e-4
AMOUNT_NOISE = 1e-3


def probe(master: Master, goal: Goal, found: Found) -> None:
    """Rule out GPU types and families whose relaxation is worse than the plan in hand, for good.

    Later stages keep this goal within the tolerance of ties, which ``PROBE_MARGIN`` exceeds by far.
    """
    if found.value is None or master.probed:
        return
    master.probed = True
    build = master.build
    case = build.case
    share = max(PROBE_MARGIN, 2.0 * case.given_away)
    margin = share * max(1.0, abs(found.value))
    floor = found.value - margin if goal.maximise else found.value + margin
    master.row(f"worse_{goal.name}", goal.expression, ">=" if goal.maximise else "<=", floor)
    for flag in (*build.type_used.values(), *build.serves.values()):
        low, high = master.original(flag)
        if low > 0.5 or high < 0.5:
            continue
        master.session.bounds(flag, 1.0, 1.0)
        outcome = solve(master, goal, relaxed=True)
        if outcome.status == "infeasible":
            master.exclude(flag)
        else:
            master.session.bounds(flag, low, high)
    narrow_ratios(master, goal)
    _narrow_sizes(master, goal)


def _narrow_sizes(master: Master, goal: Goal) -> None:
    """Rule out sizes of fabrics that no plan close to the one in hand, or better, needs."""
    for steps in master.build.units.steps.values():
        least = _end(master, goal, steps.amount, maximise=False)
        most = _end(master, goal, steps.amount, maximise=True)
        for run, flag in steps.runs:
            low, high = run.low + 1, run.high + run.steps * run.stride
            beyond = most is not None and low > most + AMOUNT_NOISE
            if beyond or (least is not None and high < least - AMOUNT_NOISE):
                master.exclude(flag)
    master.objective(goal.expression, goal.maximise)


def narrow_ratios(master: Master, goal: Goal) -> None:
    """Bring the ends of useful work together where money is limited per work: chords fit better."""
    for ratio in master.build.model.ratios:
        least = _end(master, goal, ratio.work, maximise=False)
        most = _end(master, goal, ratio.log + 0, maximise=True)
        master.confine(ratio.log, least, most)
    master.narrow({})
    master.objective(goal.expression, goal.maximise)


def _end(master: Master, goal: Goal, amount: Linear, *, maximise: bool) -> float | None:
    """Return the least or the most of an amount in the relaxation; None where not settled."""
    master.objective(amount, maximise)
    outcome = master.solve(relaxed=True, gap=goal.gap, relative=False)
    return outcome.bound if outcome.status == "optimal" else None
