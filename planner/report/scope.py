"""The bill of a plan: its lines in order, numbered; which figures are worth showing."""

from __future__ import annotations

from typing import NamedTuple, get_args

from planner.schema.plan import LimitReport, Line, Plan, Section


class Entry(NamedTuple):
    """A line with its number and its components."""

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


class Block(NamedTuple):
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
            alone = line.parent is not None
            known = () if alone else tuple(parts.get(_key(line, line.sku), ()))
            entries.append(Entry(number, line, known))
        if entries:
            result.append(Block(section, tuple(entries)))
    return result


def _key(line: Line, sku: str) -> tuple[str, str, int]:
    return sku, line.site, line.period


CORE_SECTIONS = ("Compute", "Storage", "Components")
"""Sections of what the optimiser counts; all others hold dependent items."""


def own_lines(plan: Plan) -> list[Line]:
    """The lines that carry money: all but the components of bundles."""
    return [line for line in plan.lines if line.parent is None]


def decided_lines(plan: Plan, *sections: str) -> list[Line]:
    """The lines of GPU systems, then of storage, that are in use; or of one section."""
    return [
        line
        for section in sections or ("Compute", "Storage")
        for line in own_lines(plan)
        if line.section == section and line.working
    ]


def complete(plan: Plan) -> bool:
    """Whether the bill goes beyond GPU systems and storage."""
    return any(line.section not in CORE_SECTIONS for line in own_lines(plan))


def tells_ratio(plan: Plan, limit: str) -> bool:
    """Whether to state money per useful work: the bill is complete, or the problem names it."""
    limited = any(each.name == limit for each in plan.limits)
    return complete(plan) or limited or plan.objective.name == f"usd_{limit}"


def cooled_by_liquid(plan: Plan) -> bool:
    """Whether some heat goes to liquid."""
    return any(line.liquid_share > 0 for line in own_lines(plan))


def two_pues(plan: Plan) -> bool:
    """Whether heat to liquid has a PUE of its own, and there is such heat."""
    return plan.site.pue_liquid != plan.site.pue and cooled_by_liquid(plan)


def subscribed(plan: Plan) -> bool:
    """Whether there are subscriptions."""
    return any(line.subscription_usd_per_year is not None for line in own_lines(plan))


def over_time(plan: Plan) -> bool:
    """Whether money is discounted, or support is paid for less than the term."""
    years = plan.site.years
    if years is None:
        return False
    spans = [line.support_years for line in own_lines(plan) if line.support_usd_per_year]
    shorter = any(span is not None and abs(span - years) > 1e-9 for span in spans)
    return plan.site.discount_rate > 0 or shorter


def can_run_short(limit: LimitReport) -> bool:
    """Whether there can be too little of a limit's quantity."""
    return limit.name != "gpu_types" and not limit.name.endswith(".installed")


def taxes(plan: Plan) -> str:
    """The taxes in all amounts: those that are lines, as services."""
    services = any(line.section == "Services" for line in own_lines(plan))
    return "with no taxes but those listed" if services else "without taxes"
