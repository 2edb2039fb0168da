"""What another plan does to the work, the money and the power, in words."""

from __future__ import annotations

from collections.abc import Iterator

from planner.outputs.comparison_words import listed, plain, relative
from planner.outputs.words import money, percent
from planner.schema.plan import Plan
from planner.studies.compare.differences import same
from planner.studies.compare.phrases import proven_alike


def work(first: Plan, plan: Plan) -> str:
    """Say what becomes of useful work and of the days to train.

    Args:
        first: the plan to tell it from.
        plan: the other.
    """
    before, after = first.jobs[0], plan.jobs[0]
    values = (before.useful_pflops, after.useful_pflops)
    unit = "PFLOP/s"
    if values[0] is None or values[1] is None:
        values, unit = (before.useful_gpus, after.useful_gpus), "useful GPUs"
    was, now = values
    days = _days(before.days_to_train, after.days_to_train)
    share = now / was - 1.0 if was and now is not None else 0.0
    amounts = f"{plain(now or 0.0)} instead of {plain(was or 0.0)} {unit}"
    if same(was, now):
        return f"Useful work is the same, {plain(now or 0.0)} {unit}{days}."
    if first.objective.name == plan.objective.name and proven_alike(share, *_proofs(first, plan)):
        return f"Useful work is the same within what is proven ({amounts}){days}."
    goodput = f"goodput is {percent(after.goodput, 2)} instead of {percent(before.goodput, 2)}"
    word = "more" if share > 0 else "less"
    return f"It does {relative(share)} {word} useful work ({amounts}){days}; {goodput}."


def _proofs(first: Plan, plan: Plan) -> tuple[float | None, ...]:
    """Return the gaps, where they are of useful work."""
    goals = (first.objective, plan.objective)
    return tuple(goal.gap if goal.name in ("goodput", "useful_gpus") else None for goal in goals)


def _days(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return ""
    if abs(before - after) < 0.05:
        return f", and training takes {plain(after)} days as before"
    return f", and training takes {plain(after)} days instead of {plain(before)}"


def money_and_power(first: Plan, plan: Plan) -> str:
    """Say what becomes of capital cost, cost over the term, power, and money per useful GPU-hour.

    Args:
        first: the plan to tell it from.
        plan: the other.
    """
    parts = [*_money(first, plan), *_power(first, plan), *_per_hour(first, plan)]
    return f"It {listed(parts)}." if parts else "It costs and draws the same."


def _money(first: Plan, plan: Plan) -> Iterator[str]:
    assert first.totals is not None
    assert plan.totals is not None
    parts = []
    for was, now, when in (
        (first.totals.capex_usd, plan.totals.capex_usd, "at once"),
        (first.totals.tco_usd, plan.totals.tco_usd, "over the term"),
    ):
        if was is not None and now is not None and abs(now - was) >= 0.005:
            word = "more" if now > was else "less"
            parts.append(f"{money(abs(now - was))} {word} {when} ({money(now)})")
    if parts:
        yield f"costs {' and '.join(parts)}"


def _power(first: Plan, plan: Plan) -> Iterator[str]:
    assert first.totals is not None
    assert plan.totals is not None
    was, now = first.totals.facility_power_kw, plan.totals.facility_power_kw
    if was is not None and now is not None and abs(now - was) >= 0.05:
        word = "more" if now > was else "less"
        yield f"draws {plain(abs(now - was))} kW {word} at the meter ({plain(now)} kW)"


def _per_hour(first: Plan, plan: Plan) -> Iterator[str]:
    assert first.totals is not None
    assert plan.totals is not None
    was, now = first.totals.usd_per_useful_gpu_hour, plan.totals.usd_per_useful_gpu_hour
    if was and now is not None and not same(was, now):
        word = "more" if now > was else "less"
        yield f"pays {relative(now / was - 1.0)} {word} for a useful GPU-hour ({money(now)})"
