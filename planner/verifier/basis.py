"""What a plan is judged by: problem, catalogs, tolerances; and what does not hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from planner.currency import Currency
from planner.figures import STATED
from planner.schema.catalog import Family, Item
from planner.schema.prices import Discount, Price
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
        stated: what the plan says.
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
            stated: what the plan says.
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


def _write(figure: float | None) -> str:
    return "not known" if figure is None else f"{figure:.12g}"


_NOTHING_DEMANDED = Quantity()
_RACK_UNIT_M = 1.75 * 0.0254
_WITHOUT_DRAW = ("cable", "rack", "pdu", "software", "service")
DECIDED = ("gpu_system", "storage")
"""The categories whose counts a plan decides; the others' follow from them."""


@dataclass(frozen=True)
class Basis:
    """The problem, the items and families by identifier, the prices and the discounts.

    ``provisioned`` is the share of its rated power that a GPU system is provisioned for at the set
    point of its job, where it runs at one.
    """

    problem: Problem
    items: Mapping[str, Item]
    families: Mapping[str, Family]
    prices: Mapping[str, Price]
    discounts: tuple[Discount, ...]
    provisioned: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_inputs(cls, inputs: Inputs) -> Basis:
        """Return what a plan made from ``inputs`` is judged by."""
        return cls(
            problem=inputs.problem,
            items={item.id: item for item in inputs.items},
            families={family.id: family for family in inputs.families},
            prices=inputs.prices,
            discounts=inputs.discounts,
        )

    @property
    def money(self) -> Currency:
        """The currency to whose smallest unit prices are rounded."""
        return self.problem.shown_in

    def demanded(self, item_id: str) -> Quantity:
        """Return what the user demands of an item's count."""
        return self.problem.items.get(item_id, _NOTHING_DEMANDED)

    def standing(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the GPU systems and storage in place: the cluster, and what is owned beside it.

        Args:
            counts: units in the cluster by item.
        """
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

    def unit_it_power_kw(self, item: Item) -> float | None:
        """Return the maximum draw of one unit in kW, None where it is not known."""
        if item.category in _WITHOUT_DRAW:
            return 0.0
        return self._consumed(item, self._drawn)

    def unit_typical_power_kw(self, item: Item) -> float | None:
        """Return the typical draw of one unit in kW; the maximum where it is not known."""
        if item.category in _WITHOUT_DRAW:
            return 0.0
        return self._consumed(item, self._drawn_typically)

    def _drawn(self, item: Item) -> float | None:
        provided = item.consumes.design_power
        if self.problem.site.power_basis == "design" and provided is not None:
            return provided.value
        return None if item.consumes.it_power is None else item.consumes.it_power.value

    def _drawn_typically(self, item: Item) -> float | None:
        typical = item.consumes.typical_power
        return self._drawn(item) if typical is None else typical.value

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
        longest = self.hall_m()
        for _ in self.items if longest is not None else ():
            item = self.items.get(sku)
            if item is None or item.beyond is None or item.reach is None:
                break
            if longest is None or item.reach.value >= longest:
                break
            sku = item.beyond
        return sku

    def rack_power_kw(self, item: Item) -> float | None:
        """Return what a device can draw in its rack, kW: a switch with every transceiver."""
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
        """Return what catalogs state of one unit, None where it is not known.

        Args:
            item: what there is one of.
            figure: the figure: where it stands, and of what it is none, the table of figures says.
        """
        row = STATED[figure]
        if item.category in row.none_of:
            return 0.0
        return self._consumed(item, _own(row.path))

    def liquid_share(self, item: Item) -> float:
        """Return the share of an item's heat that goes to liquid; a bundle's by its parts' draw."""
        if item.consumes.liquid_share is not None:
            return item.consumes.liquid_share.value
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
        site, liquid = self.problem.site, self.liquid_share(item)
        return liquid * site.pue_liquid + (1 - liquid) * site.pue_air

    def _consumed(self, item: Item, own: Callable[[Item], float | None]) -> float | None:
        """Return what one unit consumes; a bundle consumes what its components do."""
        value = own(item)
        if value is not None or not item.components:
            return value
        total = 0.0
        for component in item.components:
            part = own(self.items[component.id])
            if part is None:
                return None
            total += component.quantity * part
        return total


def _own(path: str) -> Callable[[Item], float | None]:
    part, name = path.split(".")

    def read(item: Item) -> float | None:
        figure = getattr(getattr(item, part), name)
        return None if figure is None else float(figure.value)

    return read


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
