"""Counts that follow from the purchase, as rows and variables; each comes into being when used.

    AtLeast: n >= a,  n >= least                          (and n <= a or n <= least where they do)
    Ceil:   n >= a,  n whole                              (and n <= a + 1 - 1e-7 where steps follow)
    Steps:  sum_p d_p <= 1,  sum_p a_p = a,  d_p binary, v_p whole, v_p <= steps_p d_p,
            (low_p + 1) d_p + stride_p v_p <= a_p <= high_p d_p + stride_p v_p,
            outputs = sum_p (outputs_p d_p + slopes_p v_p)
    Packed: n >= u a  for prices u of the kinds a that no rack's content passes (``packing``)

One-sided roundings are exact because more of a companion only ever costs, draws and takes more;
where the size of a fabric follows, they are two-sided, because sizes may fall as amounts grow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.case.bounds import Bounds
from planner.case.model import BillItem
from planner.case.quantities import ROUNDING, AtLeast, Ceil, Packed, Quantity, Run, Steps
from planner.optimizer.model import Linear, combination, total
from planner.sizing.packing import packing

if TYPE_CHECKING:
    from planner.optimizer.context import Build

STRICT = 1e-7
"""A count may fall short of one more than its argument by this: fractions below it are noise."""


@dataclass
class Sizes:
    """The sizes of one fabric in a model: what they hold, and each run with its flag."""

    amount: Linear
    runs: list[tuple[Run, Linear]]


class Counts:
    """The counts of a build by name; what follows from others is added to the model when asked."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.known: dict[str, Linear] = {}
        self.steps: dict[str, Sizes] = {}
        self.makers: dict[str, Quantity] = {}
        for quantity in build.case.companions.quantities:
            names = quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
            self.makers |= dict.fromkeys(names, quantity)
        self.companions = {companion.id: companion for companion in build.case.companions.items}
        self.bounds = Bounds.of(build.case, build.tops)
        self.bounds.add(build.case.companions.quantities)
        self.exact = _feeding_steps(build.case.companions.quantities)

    def __getitem__(self, name: str) -> Linear:
        """Return a count as a linear expression."""
        if name not in self.known:
            if name in self.companions:
                self.known[name] = self._sum(self.companions[name].terms)
            else:
                self._make(self.makers[name])
        return self.known[name]

    def __setitem__(self, name: str, count: Linear) -> None:
        self.known[name] = count

    def top(self, name: str) -> float:
        """Return an upper bound of a count."""
        companion = self.companions.get(name)
        return self.bounds.most(companion.terms if companion else ((1.0, name),))

    def _sum(self, terms: tuple[tuple[float, str], ...], constant: float = 0.0) -> Linear:
        return total(factor * self[name] for factor, name in terms) + constant

    def _make(self, quantity: Quantity) -> None:
        if isinstance(quantity, Steps):
            self._make_steps(quantity)
        elif isinstance(quantity, AtLeast):
            self.known[quantity.name] = self._at_least(quantity)
        elif isinstance(quantity, Ceil):
            self.known[quantity.name] = self._ceil(quantity)
        elif isinstance(quantity, Packed):
            self.known[quantity.name] = self._packed(quantity)
        else:
            self.known[quantity.name] = self._sum(quantity.terms, quantity.constant)

    def _at_least(self, quantity: AtLeast) -> Linear:
        model, name = self.build.model, quantity.name
        argument, least = self._sum(quantity.terms), float(quantity.least)
        top = float(math.ceil(self.top(name)))
        count = model.var(f"count__{name}", least, top, True)
        model.row(f"count_{name}", count - argument, ">=", 0.0)
        if name in self.exact:
            more = model.var(f"more__{name}", 0.0, 1.0, True)
            model.row(f"count_{name}_all", count - argument + least * more, "<=", least)
            model.row(f"count_{name}_least", count - top * more, "<=", least)
        return count

    def _ceil(self, quantity: Ceil) -> Linear:
        model, name, exact = self.build.model, quantity.name, quantity.name in self.exact
        argument = self._sum(quantity.terms, quantity.constant)
        top = float(math.ceil(self.top(name)))
        count = model.var(f"count__{name}", 0.0, top, True)
        model.row(f"count_{name}", count - argument, ">=", 0.0)
        if exact:
            model.row(f"count_{name}_least", count - argument, "<=", 1.0 - STRICT)
        if quantity.if_any == 0:
            return count
        some = model.var(f"any__{name}", 0.0, 1.0, True)
        model.row(f"any_{name}", count - top * some, "<=", 0.0)
        return count + quantity.if_any * some

    def _packed(self, quantity: Packed) -> Linear:
        """Add racks that kinds share; each kind's count is a variable, so that it can be split."""
        model, name, kinds = self.build.model, quantity.name, []
        for _, kind in quantity.terms:
            standing = model.var(f"in__{kind}", 0.0, float(math.ceil(self.top(kind))))
            model.row(f"in_{kind}", standing - self[kind], "==", 0.0)
            kinds.append(standing)
        racks = model.var(f"count__{name}", 0.0, float(math.ceil(self.top(name))), True)
        model.share(name, racks, tuple(kinds), packing(quantity.shares))
        return racks

    def _make_steps(self, quantity: Steps) -> None:
        build, name = self.build, quantity.name
        amount = self._sum(quantity.terms)
        most = self.bounds.most(quantity.terms)
        flags, amounts, runs = [], [], []
        outputs: list[list[tuple[float, Linear]]] = [[] for _ in quantity.outputs]
        for number, run in enumerate(quantity.runs()):
            if run.low >= most + ROUNDING:
                break
            flag, step, part = self._run(f"{name}__{number}", run)
            flags.append(flag)
            runs.append((run, flag))
            amounts.append(part)
            for index, terms in enumerate(outputs):
                terms.append((float(run.outputs[index]), flag))
                if step is not None:
                    terms.append((float(run.slopes[index]), step))
        build.model.row(f"{name}_one_size", total(flags), "<=", 1.0)
        build.model.row(f"{name}_amount", amount - total(amounts), "==", 0.0)
        self.steps[name] = Sizes(amount, runs)
        for output, terms in zip(quantity.outputs, outputs, strict=True):
            self.known[output] = combination(pair for pair in terms if pair[0] != 0.0)

    def _run(self, name: str, run: Run) -> tuple[Linear, Linear | None, Linear]:
        """Add one run of sizes; return its flag, its step (None where it is one size), its part."""
        model = self.build.model
        flag = model.var(f"size__{name}", 0.0, 1.0, True)
        part = model.var(f"amount__{name}", 0.0, float(run.high + run.steps * run.stride))
        low, high = part - float(run.low + 1) * flag, part - float(run.high) * flag
        step = None
        if run.steps:
            step = model.var(f"step__{name}", 0.0, float(run.steps), True)
            model.row(f"step_{name}", step - float(run.steps) * flag, "<=", 0.0)
            low, high = low - float(run.stride) * step, high - float(run.stride) * step
        model.row(f"size_{name}_low", low, ">=", 0.0)
        model.row(f"size_{name}_high", high, "<=", 0.0)
        return flag, step, part


def _feeding_steps(quantities: tuple[Quantity, ...]) -> frozenset[str]:
    """Return the counts that the size of a fabric follows from."""
    feeding: set[str] = set()
    for quantity in reversed(quantities):
        names = quantity.outputs if isinstance(quantity, Steps) else (quantity.name,)
        if isinstance(quantity, Steps) or feeding & set(names):
            feeding |= {name for _, name in quantity.terms}
    return frozenset(feeding)


def purchased(build: Build, item: BillItem) -> Linear:
    """Return what is bought of a good: with its spares, less what is installed, in packs.

    ``p >= n + s - installed``, ``s >= share n``, ``p = pack k``, and none or the least order.
    """
    model, count = build.model, build.units[item.id]
    if item.sold_plainly:
        if item.stock is not None and item.id in build.units.companions:
            model.row(f"stock_{item.id}", count, "<=", float(item.stock))
        return count
    top = build.units.top(item.id)
    most = float(item.purchased(math.ceil(top)))
    buy = model.var(f"buy__{item.id}", 0.0, most, item.pack > 1 or item.spare_share > 0)
    need = buy - count
    if item.spare_share > 0:
        highest = float(math.ceil(item.spare_share * top + 1))
        spares = model.var(f"spares__{item.id}", 0.0, highest, True)
        model.row(f"spares_{item.id}", spares - item.spare_share * count, ">=", 0.0)
        need = need - spares
    model.row(f"buy_{item.id}", need, ">=", -item.installed)
    if item.pack > 1:
        packs = model.var(f"packs__{item.id}", 0.0, most / item.pack, True)
        model.row(f"packs_{item.id}", buy - float(item.pack) * packs, "==", 0.0)
    if item.min_order > 1:
        least = float(-(-item.min_order // item.pack) * item.pack)
        some = model.var(f"ordered__{item.id}", 0.0, 1.0, True)
        model.row(f"least_order_{item.id}", buy - least * some, ">=", 0.0)
        model.row(f"no_order_{item.id}", buy - most * some, "<=", 0.0)
    if item.stock is not None:
        model.row(f"stock_{item.id}", buy, "<=", float(item.stock))
    return buy


class Purchases:
    """What is bought of everything, by id; rows come into being when asked for."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.items = {item.id: item for item in build.case.bill_items()}
        self.known: dict[str, Linear] = {}

    def __getitem__(self, name: str) -> Linear:
        if name not in self.known:
            self.known[name] = purchased(self.build, self.items[name])
        return self.known[name]
