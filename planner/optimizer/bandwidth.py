"""Bandwidth of storage in a program: nameplates of each item as straight pieces, what arrives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pulp import lpSum

from planner.case import Case, Storage
from planner.case.items import Segment, degraded, with_loss
from planner.optimizer.counts import Expression, Rows

Sides = tuple[Expression, Expression]
"""Of reads and of writes."""


class Bandwidth:
    """Bandwidth of the storage items of a program, GB/s.

    Attributes:
        nameplate: (read, write) of each item as a function of its units.
        loss: what appliances down take of it, where the problem asks for that.
    """

    def __init__(
        self,
        rows: Rows,
        case: Case,
        storage: Sequence[Storage],
        units: Mapping[str, Expression],
        tops: Mapping[str, int],
    ) -> None:
        self.rows, self.case, self.storage, self.tops = rows, case, storage, tops
        self.nameplate: dict[str, Sides] = {}
        self.loss: dict[str, Sides] = {}
        for item in storage:
            name, count = item.id, units[item.id]
            if item.segments:
                self.nameplate[name], self.loss[name] = self._table(item, count)
                continue
            read, write = item.nameplate_read_gb_per_s, item.nameplate_write_gb_per_s
            self.nameplate[name] = read * count, write * count
            if case.tolerate_down:
                some = rows.whole(f"bought_{name}", 1)
                rows.row(f"bought_{name}", count - float(tops[name]) * some <= 0.0)
                self.loss[name] = item.units_lost * read * some, item.units_lost * write * some

    def _table(self, item: Storage, units: Expression) -> tuple[Sides, Sides]:
        """A table, straight between its rows: one piece is chosen, ``low f <= n <= high f``."""
        rows, down = self.rows, self.case.tolerate_down
        plates: list[Sides] = []
        left: list[Sides] = []
        parts, flags = [], []
        for number, piece in enumerate(with_loss(item) if down else item.segments):
            name = f"{item.id}_{number}"
            flag = rows.whole(f"piece_{name}", 1)
            part = rows.number(f"units_{name}", float(piece.high))
            rows.row(f"piece_{name}_low", part - float(piece.low) * flag >= 0.0)
            rows.row(f"piece_{name}_high", part - float(piece.high) * flag <= 0.0)
            at_low = piece.read_at_low, piece.write_at_low
            slopes = piece.read_slope, piece.write_slope
            plates.append(_along(piece, at_low, slopes, flag, part))
            if down:
                left.append(_along(piece, *_with_loss(item, piece), flag, part))
            parts.append(part)
            flags.append(flag)
        rows.row(f"pieces_{item.id}", lpSum(parts) - units == 0.0)
        rows.row(f"one_piece_{item.id}", lpSum(flags) <= 1.0)
        read, write = _sums(plates)
        if not down:
            return (read, write), (0.0, 0.0)
        safe_read, safe_write = _sums(left)
        return (read, write), (read - safe_read, write - safe_write)

    @property
    def total(self) -> Sides:
        """Nameplate of all items."""
        return _sums(self.nameplate.values())

    def delivered(self, sides: Sides) -> Sides:
        """What arrives of a (read, write) nameplate."""
        return self.case.delivered_read * sides[0], self.case.delivered_write * sides[1]

    @property
    def most(self) -> tuple[float, float]:
        """The most (read, write) that appliances deliver, bursts included."""
        each = [_most_nameplate(item, self.tops[item.id]) for item in self.storage]
        read, write = sum(side[0] for side in each), sum(side[1] for side in each)
        return self.case.delivered_read * read, self.case.delivered_write * write


def _sums(sides: Iterable[Sides]) -> Sides:
    read, write = (lpSum(side) for side in zip(*sides, strict=True))
    return read, write


def _along(
    piece: Segment,
    at_low: tuple[float, float],
    slopes: tuple[float, float],
    flag: Expression,
    part: Expression,
) -> Sides:
    """(Read, write) on a straight piece of a table: at_low + slope (units - low)."""
    read, write = (
        (each - slope * piece.low) * flag + slope * part
        for each, slope in zip(at_low, slopes, strict=True)
    )
    return read, write


def _with_loss(item: Storage, piece: Segment) -> tuple[tuple[float, float], tuple[float, float]]:
    """(Read, write) at the start of a piece with units down, and the slopes from there."""
    low, high = degraded(item, piece.low), degraded(item, piece.high)
    span = max(1, piece.high - piece.low)
    return low, ((high[0] - low[0]) / span, (high[1] - low[1]) / span)


def _most_nameplate(item: Storage, units: int) -> tuple[float, float]:
    """The most (read, write) bandwidth of at most so many units, bursts included, GB/s."""
    burst = item.burst_gb_per_s * units
    if not item.segments:
        return item.nameplate_read_gb_per_s * units, max(
            item.nameplate_write_gb_per_s * units, burst
        )
    spans = [(piece, piece.high - piece.low) for piece in item.segments]
    read = max(max(p.read_at_low, p.read_at_low + p.read_slope * n) for p, n in spans)
    write = max(max(p.write_at_low, p.write_at_low + p.write_slope * n) for p, n in spans)
    return read, max(write, burst)
