"""Cases that ask for money with the objective kept: the cheapest plan that is as good, or better.

What an objective reaches becomes a limit of its own; then capex (or TCO, where it is what is to be
least) is minimised under it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from planner.case import Case

Money = Literal["cost", "tco"]
ROUNDING = 1e-9


def money_of(case: Case) -> Money:
    """Return which money decides between plans: what is to be least, or capex on ties."""
    return "tco" if case.objective == "tco" else "cost"


def keeping(case: Case, worst: float) -> Case:
    """Return the case of least money whose plans are no worse in the case's objective.

    Args:
        case: the problem in numbers.
        worst: the worst value of its objective that will do, in the objective's own unit.
    """
    limits, job = case.limits, case.job
    if case.objective == "goodput":
        limits = replace(limits, min_useful_pflops=_most(limits.min_useful_pflops, worst))
    elif case.objective == "useful_gpus":
        limits = replace(limits, min_useful_gpus=_most(limits.min_useful_gpus, worst))
    elif case.objective == "gpus":
        job = replace(job, gpus_min=max(job.gpus_min, math.ceil(worst * (1 - ROUNDING))))
    elif case.objective == "power":
        limits = replace(limits, it_power_kw=_least(limits.it_power_kw, worst))
    elif case.objective == "tco":
        limits = replace(limits, tco_usd=_least(limits.tco_usd, worst))
    else:
        limits = replace(limits, capex_usd=_least(limits.capex_usd, worst))
    return replace(case, limits=limits, job=job, objective=money_of(case), indifference=0.0)


def within_money(case: Case, most_usd: float) -> Case:
    """Return a case of least money that may spend so much of it at most."""
    limits = case.limits
    if case.objective == "tco":
        return replace(case, limits=replace(limits, tco_usd=_least(limits.tco_usd, most_usd)))
    return replace(case, limits=replace(limits, capex_usd=_least(limits.capex_usd, most_usd)))


def limits_money(case: Case) -> bool:
    """Say whether a price can decide what is possible."""
    return case.limits != without_money(case).limits


def without_money(case: Case) -> Case:
    """Return the case with no limit that a price bears on; its companions are to be made anew."""
    limits = replace(
        case.limits,
        capex_usd=None,
        support_usd_per_year=None,
        opex_usd_per_year=None,
        tco_usd=None,
        per_useful_gpu_hour=None,
        per_million_tokens=None,
    )
    return replace(case, limits=limits)


def _most(one: float | None, other: float) -> float:
    return other if one is None else max(one, other)


def _least(one: float | None, other: float) -> float:
    return other if one is None else min(one, other)
