"""How far each candidate stays behind the best plan of each scenario, and whom that recommends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.optimizer.operate import Operation
from planner.schema.sensitivity import CandidatePlan
from planner.studies.sensitivity.uncertain.shapes import Numbers

BROKEN = 1.0
"""The regret of a plan that breaks a limit, and the largest that any plan can have."""


def best_known(answered: Numbers, worths: Numbers, *, maximise: bool) -> Numbers:
    """Return the value of the best plan that is known for each scenario.

    Args:
        answered: the value of the plan that each scenario's own search found.
        worths: the value of each candidate (column) in each scenario (row); nan where it breaks a
            limit there.
        maximise: whether more is better.
    """
    pick = np.fmax if maximise else np.fmin
    return np.asarray(pick.reduce(np.column_stack([answered, worths]), axis=1), dtype=float)


def regrets(worths: Numbers, best: Numbers, *, maximise: bool) -> Numbers:
    """Return how far each candidate stays behind, as a share of the best plan known.

    Args:
        worths: the value of each candidate (column) in each scenario (row); nan where it breaks a
            limit there.
        best: the value of the best plan known, by scenario.
        maximise: whether more is better.
    """
    whole = np.abs(best)[:, None]
    behind = best[:, None] - worths if maximise else worths - best[:, None]
    shares = np.full(worths.shape, BROKEN)
    np.divide(behind, whole, out=shares, where=whole > 0.0)
    shares[(behind <= 0.0) & (whole == 0.0)] = 0.0
    return np.where(np.isnan(worths), BROKEN, np.clip(shares, 0.0, BROKEN))


def order(matrix: Numbers, *, first: bool) -> list[int]:
    """Return the places of the candidates by regret, in the worst scenario, then on average.

    Args:
        matrix: their regret.
        first: whether the first one stays first.
    """
    worst, mean = matrix.max(axis=0), matrix.mean(axis=0)
    places = range(int(first), matrix.shape[1])
    ordered = sorted(places, key=lambda place: (worst[place], mean[place], place))
    return [*range(int(first)), *ordered]


def compared(
    runs: Sequence[Operation],
    worths: Numbers,
    matrix: Numbers,
    *,
    planned: bool,
    gap: float,
    maximise: bool,
) -> tuple[CandidatePlan, ...]:
    """Return the candidates with what their columns say.

    Args:
        runs: the candidates.
        worths: their value (column) in each scenario (row), nan where they break a limit.
        matrix: their regret.
        planned: whether the first is the plan of the problem as it stands.
        gap: a plan is among the best where none is known to be better by more than this share.
        maximise: whether more is better.
    """
    return tuple(
        _compared(run, place, worths[:, place], matrix[:, place], planned, gap, maximise)
        for place, run in enumerate(runs)
    )


def _compared(
    run: Operation,
    place: int,
    worths: Numbers,
    behind: Numbers,
    planned: bool,
    gap: float,
    maximise: bool,
) -> CandidatePlan:
    within: NDArray[np.bool_] = ~np.isnan(worths)
    worst = None
    if within.all():
        worst = float(worths.min() if maximise else worths.max())
    nominal = planned and place == 0
    return CandidatePlan(
        name="nominal" if nominal else f"plan {place + (0 if planned else 1)}",
        counts={name: count for name, count in run.units.items() if count},
        nominal=nominal,
        best_in=int((within & (behind <= gap)).sum()),
        feasible=float(within.mean()),
        mean=float(worths[within].mean()) if within.any() else None,
        worst=worst,
        mean_regret=float(behind.mean()),
        most_regret=float(behind.max()),
    )


def least_regret(plans: Sequence[CandidatePlan]) -> int | None:
    """Return the place of the plan of least regret in its worst scenario, then on average."""
    order = [(plan.most_regret, plan.mean_regret, place) for place, plan in enumerate(plans)]
    return min(order)[2] if order else None


def best_worst_case(plans: Sequence[CandidatePlan], *, maximise: bool) -> int | None:
    """Return the place of the plan of the best worst case, None where none is always possible."""
    sign = -1.0 if maximise else 1.0
    order = [
        (sign * plan.worst, plan.mean_regret, place)
        for place, plan in enumerate(plans)
        if plan.worst is not None
    ]
    return min(order)[2] if order else None
