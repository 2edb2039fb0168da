"""Verdict of a plan: low goodput, unused supply, dear storage, a cut search, with causes."""

from __future__ import annotations

from collections.abc import Iterator

from planner.figures import FIGURES
from planner.limits import SUPPLIES
from planner.schema.operation import JobPlan
from planner.schema.plan import LimitReport, Plan, Verdict

LEAST_GOODPUT = 0.8
LEAST_USED = 0.75
"""Share of the nearest supply that a plan of the most work uses, where no limit binds."""
MOST_STORAGE = 0.1
"""Share of storage in capex."""
_OF_COUNTS = ("gpus_max", "replica_fits", "min_goodput")
"""Limits on the GPUs in use that are no supplies; more GPUs lower goodput."""
REACHED = 0.99


def verdict(plan: Plan, cut: str | None) -> tuple[Verdict, ...]:
    """Reasons against a plan, or against calling it the best; none as a rule.

    Args:
        plan: with its lines, totals, job, limits and warnings.
        cut: cause that cut short the choice of the cheapest of equally good plans, if any.
    """
    if not plan.jobs or plan.totals is None:
        return ()
    job = plan.jobs[0]
    verdicts = [*_goodput(job), *_unused(plan, job), *_storage(plan, job)]
    if cut is not None:
        text = f"{cut} came before the cheapest of the plans as good as this was found"
        verdicts.append(Verdict(code="search", text=text))
    return tuple(verdicts)


def _goodput(job: JobPlan) -> Iterator[Verdict]:
    if job.goodput < LEAST_GOODPUT:
        text = f"goodput is {100 * job.goodput:.1f} %: {_largest_loss(job)}"
        yield Verdict(code="goodput", text=text)


def _largest_loss(job: JobPlan) -> str:
    name, share = max(job.losses.items(), key=lambda each: each[1])
    takes = "takes" if name in ("rework", "waiting", "other") else "take"
    return f"{FIGURES[f'loss.{name}'].label} {takes} {100 * share:.1f} % of the time"


def _unused(plan: Plan, job: JobPlan) -> Iterator[Verdict]:
    """Much of every supply unused where no limit keeps the plan from more GPUs."""
    supplies = {limit.name for limit in SUPPLIES}
    given = [each for each in plan.limits if each.name in supplies and each.limit > 0]
    if plan.objective.sense != "maximize" or not given:
        return
    if any(_holds_gpus(each, supplies) for each in plan.limits):
        return
    nearest = max(given, key=lambda each: each.value / each.limit)
    used = nearest.value / nearest.limit
    if used < LEAST_USED:
        cause = f"more GPUs would do less work, {_largest_loss(job)}"
        largest = [text for text in plan.warnings if "is the largest that" in text]
        if largest:
            cause = largest[0].split(" makes in three tiers")[0] + " makes"
        text = f"{100 * (1 - used):.0f} % of {nearest.label} is unused and no limit binds: {cause}"
        yield Verdict(code="supply", text=text)


def _holds_gpus(limit: LimitReport, supplies: set[str]) -> bool:
    """Whether a limit keeps a plan from more GPUs: it binds, or its GPUs are nearly reached."""
    if limit.name in _OF_COUNTS and limit.sense == "<=" and limit.value >= REACHED * limit.limit:
        return True
    if not limit.binding:
        return False
    of_items = limit.name.startswith(("items.", "stock."))
    return of_items or limit.name in supplies or limit.name in _OF_COUNTS


def _storage(plan: Plan, job: JobPlan) -> Iterator[Verdict]:
    totals = plan.totals
    owned = any(line.installed for line in plan.lines if line.section == "Compute")
    if totals is None or not totals.capex_usd or owned:  # what is owned is no part of capex
        return
    share = totals.capex_by_section_usd.get("Storage", 0.0) / totals.capex_usd
    if share > MOST_STORAGE:
        asked = {each.name for each in plan.limits if each.binding}
        if asked & {"rule_read", "rule_write"}:
            cause = "a vendor's rule sizes it"
        elif "capacity" in asked and job.capacity_needed_tb:
            cause = f"{job.capacity_needed_tb:,.0f} TB are to be held"
        else:
            cause = (
                f"checkpoints of {job.checkpoint_gb / 1000:,.3g} TB every "
                f"{job.to_storage_s / 60:,.3g} min"
            )
        yield Verdict(code="storage", text=f"storage is {100 * share:.0f} % of capex: {cause}")
