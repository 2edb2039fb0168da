"""What a plan's bill covers: its lines in order, numbered, and which figures say something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, get_args

from planner.schema.plan import (
    LimitReport,
    Line,
    Plan,
    Section,
)


class Entry(NamedTuple):
    """A line of its own with its number, and the components it is made of."""

    number: int
    line: Line
    parts: tuple[Line, ...]

    @property
    def label(self) -> str:
        """The number as a bill shows it, such as ``3.0``."""
        return f"{self.number}.0"

    def part_label(self, index: int) -> str:
        """The number of a component, such as ``3.1``."""
        return f"{self.number}.{index + 1}"


@dataclass(frozen=True)
class Block:
    """One section of the bill of materials."""

    section: Section
    entries: tuple[Entry, ...]


def blocks(plan: Plan) -> list[Block]:
    """The sections that have lines; components follow the bundle they belong to.

    A component whose bundle is not in the plan is a line of its own.
    """
    bundles = {_key(line, line.sku) for line in plan.lines if line.parent is None}
    parts: dict[tuple[str, str, int], list[Line]] = {}
    own: dict[Section, list[Line]] = {section: [] for section in get_args(Section)}
    for line in plan.lines:
        if line.parent is not None and _key(line, line.parent) in bundles:
            parts.setdefault(_key(line, line.parent), []).append(line)
        else:
            own[line.section].append(line)
    result: list[Block] = []
    number = 0
    for section, lines in own.items():
        entries: list[Entry] = []
        for line in lines:
            number += 1
            known = parts.get(_key(line, line.sku), ()) if line.parent is None else ()
            entries.append(Entry(number, line, tuple(known)))
        if entries:
            result.append(Block(section, tuple(entries)))
    return result


def _key(line: Line, sku: str) -> tuple[str, str, int]:
    return sku, line.site, line.period


CORE_SECTIONS = ("Compute", "Storage", "Components")
"""Sections of what the optimiser counts; all others hold what must come with it."""


def own_lines(plan: Plan) -> list[Line]:
    """The lines that carry money: all but the components of bundles."""
    return [line for line in plan.lines if line.parent is None]


def decided_lines(plan: Plan, *sections: str) -> list[Line]:
    """The lines of GPU systems, then of storage, that stand in place; or of one section."""
    return [
        line
        for section in sections or ("Compute", "Storage")
        for line in own_lines(plan)
        if line.section == section and line.working
    ]


def complete(plan: Plan) -> bool:
    """Whether the bill goes beyond GPU systems and storage."""
    return any(line.section not in CORE_SECTIONS for line in own_lines(plan))


def limited(plan: Plan, name: str) -> bool:
    """Whether the plan has a limit of this name."""
    return any(limit.name == name for limit in plan.limits)


def tells_ratio(plan: Plan, limit: str) -> bool:
    """Whether to state money per useful work: the bill is complete, or it was asked for."""
    return complete(plan) or limited(plan, limit) or plan.objective.name == f"usd_{limit}"


def cooled_by_liquid(plan: Plan) -> bool:
    """Whether some heat goes to liquid."""
    return any(line.liquid_share > 0 for line in own_lines(plan))


def two_pues(plan: Plan) -> bool:
    """Whether heat to liquid has a PUE of its own, and there is such heat."""
    return plan.site.pue_liquid != plan.site.pue and cooled_by_liquid(plan)


def subscribed(plan: Plan) -> bool:
    """Whether anything is paid by the year besides support."""
    return any(line.subscription_usd_per_year is not None for line in own_lines(plan))


def over_time(plan: Plan) -> bool:
    """Whether money counts by when it is paid: it is discounted, or support is not for all
    of the term."""
    years = plan.site.years
    if years is None:
        return False
    paid = [line for line in own_lines(plan) if line.support_usd_per_year]
    shorter = any(
        line.support_years is not None and abs(line.support_years - years) > 1e-9 for line in paid
    )
    return plan.site.discount_rate > 0 or shorter


def binding_limits(plan: Plan) -> list[LimitReport]:
    """The limits that bind; how the problem is put, only where nothing is short."""
    found = [limit for limit in plan.limits if limit.binding]
    return [limit for limit in found if can_run_short(limit)] or found


def can_run_short(limit: LimitReport) -> bool:
    """Whether a limit is of something that there can be too little of."""
    return limit.name != "gpu_types" and not limit.name.endswith(".installed")


def may_have_taxes(plan: Plan) -> bool:
    """Whether some line may be a tax or a duty: those are services."""
    return any(line.section == "Services" for line in own_lines(plan))


def taxes(plan: Plan) -> str:
    """The taxes in all amounts."""
    return "with no taxes but those listed" if may_have_taxes(plan) else "without taxes"
