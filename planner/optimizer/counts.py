"""Counts that follow from a purchase, as expressions of an integer program.

Items that come with GPU systems and storage (switches, cables, racks, PDUs, CDUs, licences, spares)
follows from their numbers by sums and by rounding up (`planner.case.model`). A count that is
rounded up is a variable that is at least its argument; a fabric is one of its sizes. Each unit
costs or takes something, so the program has no more of anything than it needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pulp import LpAffineExpression, LpInteger, LpMaximize, LpMinimize, LpProblem, lpSum

from planner.case import Case
from planner.case.figures import Bounds
from planner.case.items import BillItem, Storage
from planner.case.job import ROUNDING
from planner.case.model import AtLeast, Ceil, Packed, Quantity, Ramp, Steps

Expression = Any
"""A PuLP variable or affine expression, or a number (PuLP ships no types)."""

STRICT = 1e-6
"""A count that decides the size of a fabric is less than one more than its argument by this."""


class Rows:
    """A PuLP problem that variables and rows are added to, each by its name.

    Args:
        problem: the problem.
        prefix, suffix: of the names of all of them.
    """

    def __init__(self, problem: LpProblem, prefix: str = "", suffix: str = "") -> None:
        self.problem, self.prefix, self.suffix = problem, prefix, suffix

    def number(self, name: str, high: float | None = None) -> Expression:
        """Add a variable from 0 on."""
        return self.problem.add_variable(f"{self.prefix}{name}{self.suffix}", 0.0, high)

    def whole(self, name: str, high: float | None, low: float = 0.0) -> Expression:
        """Add a variable in whole numbers."""
        most = None if high is None else max(float(high), low)
        name = f"{self.prefix}{name}{self.suffix}"
        return self.problem.add_variable(name, low, most, LpInteger)

    def row(self, name: str, constraint: Any) -> None:
        """Add a row. One without variables is left out, or cannot hold, which ends everything."""
        holds = constraint if isinstance(constraint, bool) else None
        if holds is None and not constraint:
            holds = constraint.valid()
        if holds is False:
            never = self.number(f"never_{name}", 0.0)
            constraint = never >= 1.0
        if holds is not True:
            self.problem.addConstraint(constraint, f"{self.prefix}{name}{self.suffix}")

    def set_objective(self, objective: Expression, *, maximise: bool) -> None:
        """Replace the objective."""
        self.problem.sense = LpMaximize if maximise else LpMinimize
        self.problem.setObjective(objective + 0.0)


def value_of(expression: Expression, values: Mapping[str, float]) -> float:
    """The value of an expression in a solution."""
    if isinstance(expression, float):
        return expression
    if isinstance(expression, LpAffineExpression):
        terms = (factor * values.get(v.name, 0.0) for v, factor in expression.items())
        return float(expression.constant) + math.fsum(terms)
    return values.get(expression.name, 0.0)


class Counts:
    """Units in place of everything in the bill, as expressions that are made when first read.

    Args:
        rows: where variables and rows go.
        case: the problem in numbers.
        tops: the most units of each offer that can be bought; no others are.
    """

    def __init__(self, rows: Rows, case: Case, tops: Mapping[str, int]) -> None:
        self.rows, companions = rows, case.companions
        self.known: dict[str, Expression] = {}
        self.makers: dict[str, Quantity] = {}
        for quantity in companions.quantities:
            names = quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
            self.makers |= dict.fromkeys(names, quantity)
        self.companions = {companion.id: companion for companion in companions.items}
        self.exact = _feeding_steps(companions.quantities)
        self.packed: dict[str, tuple[Packed, Expression, tuple[Expression, ...]]] = {}
        offers = [offer.id for offer in case.offers()]
        self.bounds = Bounds.of_case(case, {name: tops.get(name, 0) for name in offers})
        self.bounds.add(companions.quantities)
        self.known |= dict.fromkeys(offers, 0.0)
        self.prices = 0

    def set_counts(self, counts: Mapping[str, Expression]) -> None:
        """Take counts that are known otherwise, as those that are decided."""
        self.known |= counts

    def limit_largest_sizes(self) -> None:
        """Let no fabric grow beyond its largest size, whatever its switches are counted for."""
        fabrics = (q for q in self.makers.values() if isinstance(q, Steps))
        for fabric in dict.fromkeys(fabrics):
            last = fabric.ramps[-1] if fabric.ramps else None
            largest = last.high + last.steps * last.stride if last else 0
            if self.bounds.most(fabric.terms) > largest + ROUNDING:
                self[fabric.outputs[0]]

    def __getitem__(self, name: str) -> Expression:
        """A count: an expression, or 0.0 where nothing that it follows from is bought."""
        if name not in self.known:
            if name in self.companions:
                self.known[name] = self._sum(self.companions[name].terms)
            else:
                self._make(self.makers[name])
        return self.known[name]

    def top(self, name: str) -> float:
        """An upper bound of a count."""
        companion = self.companions.get(name)
        return self.bounds.most(companion.terms if companion else ((1.0, name),))

    def _sum(self, terms: Iterable[tuple[float, str]], constant: float = 0.0) -> Expression:
        parts = [(factor, self[name]) for factor, name in terms]
        there = [factor * part for factor, part in parts if not _is_zero(part)]
        return lpSum(there) + constant if there or constant else 0.0

    def _make(self, quantity: Quantity) -> None:
        if isinstance(quantity, Steps):
            self._sizes(quantity)
        elif isinstance(quantity, AtLeast):
            self.known[quantity.name] = self._at_least(quantity)
        elif isinstance(quantity, Ceil):
            self.known[quantity.name] = self._ceil(quantity)
        elif isinstance(quantity, Packed):
            self.known[quantity.name] = self._packed(quantity)
        else:
            self.known[quantity.name] = self._sum(quantity.terms, quantity.constant)

    def _at_least(self, quantity: AtLeast) -> Expression:
        """n >= argument, n >= least: owned units stay in place."""
        rows, name, least = self.rows, quantity.name, float(quantity.least)
        argument = self._sum(quantity.terms)
        if _is_zero(argument):
            return least
        top = float(math.ceil(self.top(name)))
        count = rows.whole(f"n_{name}", top, least)
        rows.row(f"n_{name}", count - argument >= 0.0)
        if name in self.exact:
            more = rows.whole(f"more_{name}", 1)
            rows.row(f"n_{name}_all", count - argument + least * more <= least)
            rows.row(f"n_{name}_least", count - top * more <= least)
        return count

    def _ceil(self, quantity: Ceil) -> Expression:
        """n >= argument, n whole; ``if_any`` more where n is not 0."""
        rows, name = self.rows, quantity.name
        argument = self._sum(quantity.terms, quantity.constant)
        if _is_zero(argument):
            return 0.0
        top = float(math.ceil(self.top(name)))
        count = rows.whole(f"n_{name}", max(0.0, top))
        rows.row(f"n_{name}", count - argument >= -ROUNDING)
        if name in self.exact:
            rows.row(f"n_{name}_least", count - argument <= 1.0 - STRICT)
        if quantity.if_any == 0:
            return count
        some = rows.whole(f"any_{name}", 1)
        rows.row(f"any_{name}", count - top * some <= 0.0)
        return count + quantity.if_any * some

    def _sizes(self, quantity: Steps) -> None:
        """One size of a fabric: amount <= its capacity, and more than the next smaller one holds.

        Sizes that grow in equal steps are one ramp: low + step v < amount <= high + step v.
        """
        rows, name = self.rows, quantity.name
        amount = self._sum(quantity.terms)
        if _is_zero(amount):
            self.known |= dict.fromkeys(quantity.outputs, 0.0)
            return
        most = self.bounds.most(quantity.terms)
        flags, parts = [], []
        outputs: list[list[Expression]] = [[] for _ in quantity.outputs]
        for number, ramp in enumerate(quantity.ramps):
            if ramp.low >= most + ROUNDING:
                break
            flag, step, part = self._ramp(f"{name}_{number}", ramp)
            flags.append(flag)
            parts.append(part)
            for index, terms in enumerate(outputs):
                if ramp.outputs[index]:
                    terms.append(float(ramp.outputs[index]) * flag)
                if step is not None and ramp.slopes[index]:
                    terms.append(float(ramp.slopes[index]) * step)
        rows.row(f"{name}_one_size", lpSum(flags) <= 1.0)
        rows.row(f"{name}_amount", amount - lpSum(parts) == 0.0)
        for output, terms in zip(quantity.outputs, outputs, strict=True):
            self.known[output] = lpSum(terms) if terms else 0.0

    def _ramp(self, name: str, ramp: Ramp) -> tuple[Expression, Expression, Expression]:
        rows = self.rows
        flag = rows.whole(f"size_{name}", 1)
        part = rows.number(f"amount_{name}", float(ramp.high + ramp.steps * ramp.stride))
        low, high = part - float(ramp.low + 1) * flag, part - float(ramp.high) * flag
        step = None
        if ramp.steps:
            step = rows.whole(f"step_{name}", ramp.steps)
            rows.row(f"step_{name}", step - float(ramp.steps) * flag <= 0.0)
            low, high = low - float(ramp.stride) * step, high - float(ramp.stride) * step
        rows.row(f"size_{name}_low", low >= 0.0)
        rows.row(f"size_{name}_high", high <= 0.0)
        return flag, step, part

    def _packed(self, quantity: Packed) -> Expression:
        """racks >= price . contents, for prices at which no rack's content is worth more than 1.

        First each side of a rack (height, power, weight) and each kind by itself; more rows as
        solutions show that they need them.
        """
        rows, packing = self.rows, quantity.packing
        kinds = tuple(self[kind] for _, kind in quantity.terms)
        if all(map(_is_zero, kinds)):
            return 0.0
        racks = rows.whole(f"n_{quantity.name}", math.ceil(self.top(quantity.name)))
        self.packed[quantity.name] = quantity, racks, kinds
        for side in zip(*packing.shares, strict=True):
            self.price(quantity.name, tuple(share / (1.0 + ROUNDING) for share in side))
        for kind, fit in enumerate(packing.alone):
            alone = tuple(1.0 / fit if k == kind else 0.0 for k in range(len(kinds)))
            self.price(quantity.name, alone)
        return racks

    def price(self, name: str, prices: tuple[float, ...]) -> None:
        """Add racks >= price . contents."""
        _, racks, kinds = self.packed[name]
        pairs = [(price, kind) for price, kind in zip(prices, kinds, strict=True) if price]
        worth = lpSum(price * kind for price, kind in pairs if not _is_zero(kind))
        self.prices += 1
        self.rows.row(f"n_{name}_{self.prices}", racks - worth >= 0.0)

    def fill(self, name: str, contents: tuple[int, ...], least: int) -> None:
        """racks >= least (1 - sum_k (1 - b_k)),  n_k <= contents_k - 1 + top_k b_k: racks are as
        many wherever there are as many devices of every kind."""
        rows, (_, racks, kinds) = self.rows, self.packed[name]
        self.prices += 1
        flags = []
        for number, (kind, count) in enumerate(zip(kinds, contents, strict=True)):
            if count and not _is_zero(kind):
                flag = rows.whole(f"filled_{name}_{self.prices}_{number}", 1)
                top = float(math.ceil(self.top(self.packed[name][0].terms[number][1])))
                row = kind - top * flag
                rows.row(f"filled_{name}_{self.prices}_{number}", row <= float(count - 1))
                flags.append(flag)
        missing = float(least) * (lpSum(flags) - float(len(flags)))
        rows.row(f"n_{name}_{self.prices}", racks - missing >= float(least))

    def add_racks(self, values: Mapping[str, float]) -> bool:
        """Add rows of racks that network devices share, where a solution has too few of them."""
        broken = False
        for name, (quantity, racks, kinds) in list(self.packed.items()):
            inside = tuple(value_of(kind, values) for kind in kinds)
            contents = tuple(round(each) for each in inside)
            fractions = any(abs(each - round(each)) > 0.01 for each in inside)
            if fractions or racks.name not in values:
                continue
            least, found = quantity.packing.least(contents), values[racks.name]
            if found >= least - 0.5:
                continue
            prices = quantity.packing.price_counts(contents)
            if prices.bound_racks(contents) > found + 1e-6:
                self.price(name, prices.each)
            else:
                self.fill(name, contents, least)
            broken = True
        return broken


def _is_zero(count: Expression) -> bool:
    return isinstance(count, float) and count == 0.0


def _feeding_steps(quantities: tuple[Quantity, ...]) -> frozenset[str]:
    """The counts that the size of a fabric follows from."""
    feeding: set[str] = set()
    for quantity in reversed(quantities):
        names = quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
        if isinstance(quantity, Steps) or feeding & set(names):
            feeding |= {name for _, name in quantity.terms}
    return frozenset(feeding)


class Purchases:
    """Units bought of everything in the bill: with spares, less owned units, in packs.

    p >= n + s - owned,  s >= share n,  p = pack k,  and p is 0 or at least the minimum order.
    """

    def __init__(self, rows: Rows, case: Case, count: Counts) -> None:
        self.rows, self.count = rows, count
        self.items = {item.id: item for item in case.bill_items()}
        self.known: dict[str, Expression] = {}

    def __getitem__(self, name: str) -> Expression:
        """Units bought: an expression, or 0.0."""
        if name not in self.known:
            self.known[name] = self._bought(self.items[name])
        return self.known[name]

    def hold_stock(self, item: BillItem) -> None:
        """Buy no more than can be had."""
        if item.stock is not None and not _is_zero(self[item.id]):
            self.rows.row(f"stock_{item.id}", self[item.id] <= float(item.stock))

    def _bought(self, item: BillItem) -> Expression:
        rows, count = self.rows, self.count[item.id]
        if _is_zero(count) or item.sold_plainly:
            return count
        most = float(item.purchased(math.ceil(self.count.top(item.id))))
        whole = item.pack > 1 or item.spare_share > 0
        name = f"buy_{item.id}"
        buy = rows.whole(name, most) if whole else rows.number(name, most)
        need = buy - count
        if item.spare_share > 0:
            spares = rows.whole(f"cold_{item.id}", None)
            rows.row(f"cold_{item.id}", spares - item.spare_share * count >= -ROUNDING)
            need = need - spares
        rows.row(name, need >= -float(item.installed))
        if item.pack > 1:
            packs = rows.whole(f"packs_{item.id}", most / item.pack)
            rows.row(f"packs_{item.id}", buy - float(item.pack) * packs == 0.0)
        if item.min_order > 1:
            least = float(-(-item.min_order // item.pack) * item.pack)
            some = rows.whole(f"ordered_{item.id}", 1)
            rows.row(f"least_order_{item.id}", buy - least * some >= 0.0)
            rows.row(f"no_order_{item.id}", buy - most * some <= 0.0)
        return buy


# Bandwidth.


Sides = tuple[Expression, Expression]
"""Of reads and of writes."""


class Bandwidth:
    """Bandwidth of the storage items of a program, GB/s.

    Attributes:
        nameplate: (read, write) of each item as a function of its units.
        loss: share lost to appliances down, where the problem states any.
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
            read, write = item.nameplate_read_gb_per_s, item.nameplate_write_gb_per_s
            self.nameplate[name] = read * count, write * count
            if case.tolerate_down:
                some = rows.whole(f"bought_{name}", 1)
                rows.row(f"bought_{name}", count - float(tops[name]) * some <= 0.0)
                self.loss[name] = item.units_lost * read * some, item.units_lost * write * some

    @property
    def total(self) -> Sides:
        """Nameplate of all items."""
        return _sums(self.nameplate.values())

    def delivered(self, sides: Sides) -> Sides:
        """Delivered (read, write) bandwidth of a nameplate."""
        return self.case.delivered_read_share * sides[0], self.case.delivered_write_share * sides[1]

    @property
    def most(self) -> tuple[float, float]:
        """The most (read, write) that appliances deliver, bursts included."""
        read = write = 0.0
        for item in self.storage:
            units = self.tops[item.id]
            read += item.nameplate_read_gb_per_s * units
            write += max(item.burst_nameplate_gb_per_s, item.nameplate_write_gb_per_s) * units
        return self.case.delivered_read_share * read, self.case.delivered_write_share * write


def _sums(sides: Iterable[Sides]) -> Sides:
    read, write = (lpSum(side) for side in zip(*sides, strict=True))
    return read, write
