"""What a plan's bill covers, so that an output shows a figure only where it says something."""

from __future__ import annotations

from planner.schema.plan import LimitReport, Line, Plan

CORE_SECTIONS = ("Compute", "Storage", "Components")
"""Sections of what the optimiser counts; all others hold what must come with it."""


def own_lines(plan: Plan) -> list[Line]:
    """Return the lines that carry money: all but the components of bundles."""
    return [line for line in plan.lines if line.parent is None]


def decided_on(plan: Plan, *sections: str) -> list[Line]:
    """Return the lines of GPU systems, then of storage, that stand in place; or of one section."""
    return [
        line
        for section in sections or ("Compute", "Storage")
        for line in own_lines(plan)
        if line.section == section and line.working
    ]


def complete(plan: Plan) -> bool:
    """Return whether the bill goes beyond GPU systems and storage."""
    return any(line.section not in CORE_SECTIONS for line in own_lines(plan))


def limited(plan: Plan, name: str) -> bool:
    """Return whether the plan has a limit of this name."""
    return any(limit.name == name for limit in plan.limits)


def cooled_by_liquid(plan: Plan) -> bool:
    """Return whether some heat goes to liquid."""
    return any(line.liquid_share > 0 for line in own_lines(plan))


def two_pues(plan: Plan) -> bool:
    """Return whether heat to liquid has a PUE of its own, and there is such heat."""
    return plan.site.pue_liquid != plan.site.pue and cooled_by_liquid(plan)


def subscribed(plan: Plan) -> bool:
    """Return whether anything is paid by the year besides support."""
    return any(line.subscription_usd_per_year is not None for line in own_lines(plan))


def over_time(plan: Plan) -> bool:
    """Return whether money counts by when it is paid: it is discounted, or support is not for all
    of the term."""
    years = plan.site.years
    if years is None:
        return False
    paid = [line for line in own_lines(plan) if line.support_usd_per_year]
    shorter = any(
        line.support_years is not None and abs(line.support_years - years) > 1e-9 for line in paid
    )
    return plan.site.discount_rate > 0 or shorter


def shared_racks(plan: Plan) -> int:
    """Return the racks that lines share, which therefore stand in no line of the bill."""
    if plan.totals is None or plan.totals.racks is None:
        return 0
    return max(0, plan.totals.racks - sum(line.racks or 0 for line in own_lines(plan)))


def holding(plan: Plan) -> list[LimitReport]:
    """Return the limits that bind; how the problem is put, only where nothing is short."""
    found = [limit for limit in plan.limits if limit.binding]
    short = [x for x in found if x.name != "gpu_types" and not x.name.endswith(".installed")]
    return short or found
