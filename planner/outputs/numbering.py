"""The lines of a bill in the order of its sections, and their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from planner.schema.plan import Line, Plan, Section


@dataclass(frozen=True)
class Entry:
    """A line of its own with its number and the components it is made of."""

    number: int
    line: Line
    parts: tuple[Line, ...]

    @property
    def label(self) -> str:
        """The number as a bill shows it, such as ``3.0``."""
        return f"{self.number}.0"

    def part_label(self, index: int) -> str:
        """Return the number of a component, such as ``3.1``.

        Args:
            index: which of the components, from 0.
        """
        return f"{self.number}.{index + 1}"


@dataclass(frozen=True)
class Block:
    """One section of the bill of materials."""

    section: Section
    entries: tuple[Entry, ...]


def blocks(plan: Plan) -> list[Block]:
    """Return the sections that have lines; components follow the bundle they belong to.

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
