"""What a plan is judged by: problem, catalogs, tolerances; and what does not hold."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

from planner.currency import Currency
from planner.figures import DRAW, DRAWLESS, STATED, UNSTATED, Stated
from planner.schema.catalog import Family, Item
from planner.schema.plan import Line
from planner.schema.prices import Discount, Price, SupportMoney, SupportShare
from planner.schema.problem import Problem, Quantity
from planner.schema.site import Site

if TYPE_CHECKING:
    from planner.inputs import Inputs

_NOISE = 1e-9

RELATIVE = 1e-9
"""Far above the noise of summing floats in another order, far below any real difference."""
_NEARLY_ZERO = 1e-12


def at_least(amount: float) -> int:
    """Return the least whole number that is not less than ``amount``."""
    return math.ceil(amount - _NOISE * max(1.0, abs(amount)))


def at_most(amount: float) -> int:
    """Return the largest whole number that is not more than ``amount``."""
    return math.floor(amount + _NOISE * max(1.0, abs(amount)))


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, rising."""
    return [each for each in range(1, number + 1) if number % each == 0]


def close(stated: float | None, computed: float | None, tolerance: float = RELATIVE) -> bool:
    """Return whether two figures agree; an unknown figure agrees with an unknown one only.

    Args:
        computed: what the re-computation says, in the same unit.
        tolerance: relative.
    """
    if stated is None or computed is None:
        return stated is computed
    return math.isclose(stated, computed, rel_tol=tolerance, abs_tol=_NEARLY_ZERO)


class Ledger:
    """Collects every disagreement and every broken limit, so that one run names them all."""

    def __init__(self) -> None:
        self.disagreements: list[str] = []
        self.breaches: list[tuple[str, str]] = []

    def fail(self, text: str) -> None:
        """Add a disagreement."""
        self.disagreements.append(text)

    def breach(self, name: str, text: str) -> None:
        """Add a rule or limit that the figures, right as they may be, do not keep."""
        self.breaches.append((name, text))

    def require(self, holds: bool, text: str) -> None:
        """Add a disagreement unless ``holds``."""
        if not holds:
            self.fail(text)

    def same(self, name: str, stated: float | None, computed: float | None) -> None:
        """Compare two figures; None is an unknown figure.

        Args:
            name: the figure's place in the plan.
            computed: what the re-computation says, in the same unit.
        """
        if not close(stated, computed):
            self.fail(f"{name}: the plan says {_write(stated)}, computed {_write(computed)}")

    def one_of(self, name: str, stated: float | None, choices: Iterable[float | None]) -> None:
        """Compare a figure with every answer the rules leave open."""
        choices = tuple(choices)
        if not any(close(stated, choice) for choice in choices):
            expected = " or ".join(_write(choice) for choice in choices)
            self.fail(f"{name}: the plan says {_write(stated)}, computed {expected}")

    def equal(self, name: str, stated: object, expected: object) -> None:
        """Compare two texts, sequences or whole numbers exactly."""
        if stated != expected:
            self.fail(f"{name}: the plan says {stated!r}, expected {expected!r}")

    def all_same(
        self, place: str, said: Mapping[str, Any], computed: Mapping[str, float | None]
    ) -> None:
        """Compare figures of one place, each under its name; most are the same to the last bit.

        Args:
            place: where they stand in the plan.
            said: what the plan says there.
            computed: what the re-computation says, in the same units.
        """
        for name, figure in computed.items():
            if said[name] != figure:
                self.same(f"{place}.{name}", said[name], figure)

    def any_of(
        self, place: str, said: Mapping[str, Any], open_to: Mapping[str, Sequence[float | None]]
    ) -> None:
        """Compare figures of one place with every answer the rules leave open for each."""
        for name, choices in open_to.items():
            if said[name] not in choices:
                self.one_of(f"{place}.{name}", said[name], choices)

    def all_equal(
        self, place: str, said: Mapping[str, Any], expected: Mapping[str, object]
    ) -> None:
        """Compare texts, sequences or whole numbers of one place, each under its name."""
        for name, value in expected.items():
            if said[name] != value:
                self.equal(f"{place}.{name}", said[name], value)


def _write(figure: float | None) -> str:
    return "not known" if figure is None else f"{figure:.12g}"


_NOTHING_DEMANDED = Quantity()
_RACK_UNIT_M = 1.75 * 0.0254
DECIDED = ("gpu_system", "storage")
"""The categories whose counts a plan decides; the others' follow from them."""


@dataclass(frozen=True, slots=True)
class UnitFigures:
    """What one unit of an item draws and gives off at its rated power, and what it has besides."""

    item: Item
    it_power_kw: float | None
    typical_power_kw: float | None
    stated: Mapping[str, float | None]
    liquid_share: float
    pue: float


@dataclass(frozen=True, slots=True)
class UnitMoney:
    """One unit's money in USD, with every answer that rounding leaves open."""

    list_usd: float
    discount: float
    net_usd: tuple[float, ...]
    listed_usd: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Sale:
    """How an item is bought: its price and what is asked of it, and what follows for any count.

    ``unit`` is None without a price. ``kept_in_store`` is the share that lies in store, ``support``
    what it costs a year; it is paid from ``start`` to ``end``, in years of the term, which counts
    as ``support_counts`` payments at its start; without a term it has no end.
    """

    item: Item
    price: Price | None
    asked: Quantity
    unit: UnitMoney | None
    pack: int
    owned: int
    kept_in_store: float
    support_level: str | None
    support: SupportShare | SupportMoney | None
    start: float
    end: float | None
    support_counts: float


_T = TypeVar("_T")


class Known:
    """What follows from the inputs alone, worked out where it is first asked for.

    All plans made from the same share it, and those whose inputs differ in other things.
    """

    def __init__(self, inputs: Inputs, rests_on: tuple[object, ...]) -> None:
        self.rests_on = rests_on
        self.items: Mapping[str, Item] = {item.id: item for item in inputs.items}
        self.families: Mapping[str, Family] = {family.id: family for family in inputs.families}
        self.money = inputs.problem.shown_in
        self.units: dict[str, UnitFigures] = {}
        self.sales: dict[str, Sale] = {}
        self.reaching: dict[str, str] = {}
        self._kept: dict[tuple[str, str], tuple[tuple[object, ...], Any]] = {}

    def kept(self, what: str, of: str, rests_on: tuple[object, ...], work: Callable[[], _T]) -> _T:
        """Return what is known of something already, worked out anew where it rests on others.

        Args:
            of: by name, of what.
            rests_on: what it follows from besides what all of this rests on: the same objects.
            work: works it out.
        """
        found = self._kept.get((what, of))
        if found is None or not all(map(operator.is_, found[0], rests_on)):
            found = self._kept[what, of] = rests_on, work()
        return cast(_T, found[1])

    @classmethod
    def of(cls, inputs: Inputs) -> Known:
        """Return what is known already of inputs that agree in all that it rests on, else anew.

        What a plan is made from is never changed in place, so that the same object says the same.
        Prices, and what is asked of an item, are compared wherever a sale is looked up.
        """
        problem, site = inputs.problem, inputs.problem.site
        rests_on = (
            *(inputs.items, inputs.families, inputs.discounts),
            *(problem.spares, problem.term, problem.exchange, problem.currency),
            *(site.floor, site.rack, site.rack_classes),
            *(site.power_basis, site.pue),
        )
        for known in _LATEST:
            if all(map(operator.is_, known.rests_on, rests_on)):
                return known
        known = cls(inputs, rests_on)
        _LATEST[:] = known, *_LATEST[:3]
        return known


_LATEST: list[Known] = []
"""Studies verify plans of a few inputs in turn."""


@dataclass(frozen=True)
class Basis:
    """The problem, the items and families by identifier, the prices and the discounts.

    ``sold`` is how items are bought, as far as looked up. ``right`` are lines in which nothing was
    wrong, by identity, each with what else that rested on: plans may share lines, which are never
    changed. ``provisioned`` is the share of its rated power that a GPU system is provisioned for at
    the set point of its job, where it runs at one.
    """

    problem: Problem
    items: Mapping[str, Item]
    families: Mapping[str, Family]
    prices: Mapping[str, Price]
    discounts: tuple[Discount, ...]
    known: Known
    sold: dict[str, Sale]
    right: dict[int, tuple[Line, tuple[float | None, ...]]]
    provisioned: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_inputs(cls, inputs: Inputs) -> Basis:
        """Return what a plan made from ``inputs`` is judged by."""
        known = Known.of(inputs)
        return cls(
            problem=inputs.problem,
            items=known.items,
            families=known.families,
            prices=inputs.prices,
            discounts=inputs.discounts,
            known=known,
            sold=known.kept("sold", "", (inputs.problem, inputs.prices), dict),
            right=known.kept("right", "", (inputs.problem, inputs.prices), dict),
        )

    @property
    def money(self) -> Currency:
        """The currency to whose smallest unit prices are rounded."""
        return self.known.money

    def demanded(self, item_id: str) -> Quantity:
        """Return what the user demands of an item's count."""
        return self.problem.items.get(item_id, _NOTHING_DEMANDED)

    def standing(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the GPU systems and storage in place: the cluster, and what is owned beside it."""
        result = dict(counts)
        for sku, rule in self.problem.items.items():
            item = self.items.get(sku)
            if item is not None and item.category in DECIDED and not rule.retire:
                result[sku] = max(result.get(sku, 0), rule.installed)
        return result

    def parts_of_clusters(self) -> frozenset[str]:
        """Return what catalogs say clusters need for themselves, which may have no price."""
        clusters = [family.cluster for family in self.families.values() if family.cluster]
        return frozenset(part.item for cluster in clusters for part in cluster.parts)

    def of_unit(self, item: Item) -> UnitFigures:
        """Return the figures of one unit, which plans of the same inputs share."""
        found = self.known.units.get(item.id)
        if found is None or found.item is not item:
            found = self.known.units[item.id] = self._of_unit(item)
        return found

    def _of_unit(self, item: Item) -> UnitFigures:
        draws, site = item.category not in DRAWLESS, self.problem.site
        power_kw = self._consumed(item, self._draw_kw) if draws else 0.0
        liquid = self._liquid_share(item) if power_kw else 0.0  # no draw, no heat to carry off
        return UnitFigures(
            item,
            it_power_kw=power_kw,
            typical_power_kw=self._consumed(item, self._typical_draw_kw) if draws else 0.0,
            stated={
                name: 0.0 if item.category in row.none_of else self._made(item, row)
                for name, row in STATED.items()
            },
            liquid_share=liquid,
            pue=liquid * site.pue_liquid + (1 - liquid) * site.pue_air,
        )

    def unit_it_power_kw(self, item: Item) -> float | None:
        """Return the maximum draw of one unit in kW, None where it is not known."""
        return self.of_unit(item).it_power_kw

    def unit_typical_power_kw(self, item: Item) -> float | None:
        """Return the typical draw of one unit in kW; the maximum where it is not known."""
        return self.of_unit(item).typical_power_kw

    def _draw_kw(self, item: Item) -> float | None:
        provided = item.consumes.design_power
        if self.problem.site.power_basis == "design" and provided is not None:
            return provided.value
        return None if item.consumes.it_power is None else item.consumes.it_power.value

    def _typical_draw_kw(self, item: Item) -> float | None:
        typical = item.consumes.typical_power
        return self._draw_kw(item) if typical is None else typical.value

    def drawn_kw(self, item: Item) -> float | None:
        """Return what one unit draws at most at its set point, kW; None where not known."""
        rated = self.unit_it_power_kw(item)
        return None if rated is None else rated * self.provisioned.get(item.id, 1.0)

    def typically_drawn_kw(self, item: Item) -> float | None:
        """Return what one unit draws typically, never more than it is provisioned for, kW."""
        typical, most = self.unit_typical_power_kw(item), self.drawn_kw(item)
        if typical is None or most is None or item.id not in self.provisioned:
            return typical
        return min(typical, most)

    def hall_m(self) -> float | None:
        """Return how long a cable in the hall can get at all, None where its rows are not given.

        It goes up from the bottom of a rack at one corner, over rows and along one, and down to the
        bottom of the rack at the opposite corner; or through one rack.
        """
        floor, rack = self.problem.site.floor, self.problem.site.rack
        if floor is None or floor.rows is None or rack is None:
            return None
        own = self.problem.site.rack_classes
        high_ru = max(
            rack.height_ru,
            *(getattr(own, name).height_ru or 0.0 for name in ("gpu", "storage", "network")),
            *(
                item.consumes.rack_units.value / item.consumes.racks.value
                for item in self.items.values()
                if item.consumes.racks is not None and item.consumes.rack_units is not None
            ),
        )
        row_m = (floor.racks_per_row - 1) * floor.rack_width_m
        rows_m = (floor.rows - 1) * floor.row_pitch_m
        rise_m = floor.riser_m + (high_ru - 1.0) * _RACK_UNIT_M
        longest = max(row_m + rows_m + 2.0 * rise_m, high_ru * _RACK_UNIT_M + floor.rack_width_m)
        return longest * (1.0 + floor.slack)

    def through_the_hall(self, sku: str) -> str:
        """Return the part of links that is bought for one that a catalog names.

        Each that does not reach gives way to the one after it, as long as there is one.
        """
        known, named = self.known.reaching, sku
        if sku in known:
            return known[sku]
        longest = self.hall_m()
        for _ in self.items if longest is not None else ():
            item = self.items.get(sku)
            if item is None or item.beyond is None or item.reach is None:
                break
            if longest is None or item.reach.value >= longest:
                break
            sku = item.beyond
        known[named] = sku
        return sku

    def rack_power_kw(self, item: Item) -> float | None:
        """Return what a device can draw in its rack, kW: a switch with every transceiver."""
        return self.known.kept("in_racks", item.id, (item,), lambda: self._rack_power_kw(item))

    def _rack_power_kw(self, item: Item) -> float | None:
        own = self.unit_it_power_kw(item)
        if own is None or item.switch is None:
            return own
        fitted = 0.0
        for group in item.switch.ports:
            end = None if group.link is None else group.link.switch_end
            if end is not None:
                module = self.items[self.through_the_hall(end.item)]
                each = self.unit_it_power_kw(module) or 0.0
                fitted = max(fitted, -(-group.count // end.links) * each)
        return own + fitted

    def unit_rack_units(self, item: Item) -> float | None:
        """Return the height of one unit in rack units, None where it is not known."""
        return self.unit_stated(item, "rack_units")

    def unit_weight_kg(self, item: Item) -> float | None:
        """Return the weight of one unit in kg, None where it is not known."""
        return self.unit_stated(item, "weight_kg")

    def unit_stated(self, item: Item, figure: str) -> float | None:
        """Return what one unit has of a figure at its set point, None where it is not known.

        Args:
            item: what there is one of.
            figure: the figure: of what, and of which items, it is made the table of figures says.
        """
        rated = self.of_unit(item).stated[figure]
        if rated is None or not STATED[figure].follows_draw:
            return rated
        return rated * self.provisioned.get(item.id, 1.0)

    def _made(self, item: Item, row: Stated) -> float | None:
        """Return what one unit has at its rated power: of its own factors, or of its components'.

        Where one of the factors is none of it, there is none of the product.
        """
        if item.components:
            made = [(self._made(self.items[c.id], row), c.quantity) for c in item.components]
            known = [each * quantity for each, quantity in made if each is not None]
            return sum(known) if len(known) == len(made) else None
        factors = [self._draw_kw(item) if path == DRAW else _own(item, path) for path in row.of]
        if any(factor == 0.0 for factor in factors):
            return 0.0
        known = [factor for factor in factors if factor is not None]
        return math.prod(known) if len(known) == len(factors) else None

    def liquid_share(self, item: Item) -> float:
        """Return the share of an item's heat that goes to liquid; a bundle's by its parts' draw."""
        return self.of_unit(item).liquid_share

    def _liquid_share(self, item: Item) -> float:
        if not item.components:
            share = item.consumes.liquid_share
            return 0.0 if share is None else share.value
        parts = [(self.items[part.id], part.quantity) for part in item.components]
        drawn = [quantity * (self.unit_it_power_kw(part) or 0.0) for part, quantity in parts]
        if not sum(drawn):
            return 0.0
        liquid = sum(
            kw * self.liquid_share(part) for (part, _), kw in zip(parts, drawn, strict=True)
        )
        return liquid / sum(drawn)

    def pue(self, item: Item) -> float:
        """Return what one kW of an item is at the meter, by where its heat goes."""
        return self.of_unit(item).pue

    def _consumed(self, item: Item, own: Callable[[Item], float | None]) -> float | None:
        """Return what one unit consumes; a bundle consumes what its components do."""
        if not item.components:
            return own(item)
        total = 0.0
        for component in item.components:
            part = own(self.items[component.id])
            if part is None:
                return None
            total += component.quantity * part
        return total


def _own(item: Item, path: str) -> float | None:
    part, name = path.split(".")
    figure = getattr(getattr(item, part), name)
    return UNSTATED.get(path) if figure is None else float(figure.value)


def nameplate_gb_per_s(item: Item, count: float) -> tuple[float, float]:
    """Return the rated (read, write) bandwidth of ``count`` units, GB/s.

    Args:
        item: a storage item; one with a table of sizes is linear between neighbouring rows.
        count: units, or parts of them; outside the table nothing is known, hence 0.
    """
    if item.category != "storage" or count == 0:
        return 0.0, 0.0
    if item.sizes is not None:
        return _interpolated(item, count)
    read, write = item.provides.read, item.provides.write
    return (
        0.0 if read is None else read.value * count,
        0.0 if write is None else write.value * count,
    )


def _interpolated(item: Item, count: float) -> tuple[float, float]:
    rows = () if item.sizes is None else item.sizes.rows
    for row in rows:
        if row.units == count:
            return row.read, row.write
    for low, high in pairwise(rows):
        if low.units < count < high.units:
            part = (count - low.units) / (high.units - low.units)
            read = low.read + part * (high.read - low.read)
            return read, low.write + part * (high.write - low.write)
    return 0.0, 0.0


def total_nameplate_gb_per_s(basis: Basis, counts: Mapping[str, int]) -> tuple[float, float]:
    """Return the rated (read, write) bandwidth of all storage, GB/s."""
    rated = [nameplate_gb_per_s(basis.items[sku], count) for sku, count in counts.items()]
    return sum(read for read, _ in rated), sum(write for _, write in rated)


def usable_tb(item: Item, count: int) -> float | None:
    """Return the usable capacity of ``count`` units in TB, None where it is not known."""
    figure = item.provides.usable
    return None if figure is None else figure.value * count


def gpus(item: Item, count: int) -> int:
    """Return the GPUs in ``count`` units."""
    figure = item.provides.gpus
    if item.category != "gpu_system" or figure is None:
        return 0
    return figure.value * count


def facility_limit_kw(site: Site) -> float | None:
    """Return what the site may draw at the meter with the redundancy of its feeds kept, kW."""
    limits = [] if site.facility_power_kw is None else [site.facility_power_kw]
    if site.feeds is not None:
        power_kw, count = site.feeds.power_kw, site.feeds.count
        left = {"N": count, "N+1": count - 1, "2N": count / 2}
        limits.append(power_kw * left[site.feeds.redundancy])
    return min(limits, default=None)
