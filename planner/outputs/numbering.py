"""The lines of a bill in the order of its sections, and their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from planner.schema.plan import Line, PartByLength, Plan, Section


@dataclass(frozen=True)
class Entry:
    """A line of its own with its number, the components it is made of, and what is ordered of it.

    What is ordered by length stands below the line that counts it, after its components.
    """

    number: int
    line: Line
    parts: tuple[Line, ...]
    ordered: tuple[PartByLength, ...] = ()

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

    def ordered_label(self, index: int) -> str:
        """Return the number of what is ordered in a length.

        Args:
            index: which of these, from 0.
        """
        return self.part_label(len(self.parts) + index)

    @property
    def stored(self) -> PartByLength | None:
        """What spares and the rest of packs are: the longest length, which can replace any other.

        None where only copper is ordered, or nothing by length.
        """
        own = (part for part in self.ordered if part.sku == self.line.sku)
        return max(own, key=lambda part: part.length_m or 0.0, default=None)


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
    by_length: dict[str, list[PartByLength]] = {}
    for part in plan.cabling:
        by_length.setdefault(part.counted_as, []).append(part)
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
            ordered = by_length.get(line.sku, ()) if line.parent is None else ()
            entries.append(Entry(number, line, tuple(known), tuple(ordered)))
        if entries:
            result.append(Block(section, tuple(entries)))
    return result


def _key(line: Line, sku: str) -> tuple[str, str, int]:
    return sku, line.site, line.period
