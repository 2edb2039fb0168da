"""Items of the bill in numbers: GPU systems, storage, their parts; figures of one unit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from planner.case.job import Way, ceil
from planner.figures import STATED
from planner.sizing.placement import RackUse

Terms = tuple[tuple[float, str], ...]
"""(factor, name of a count) pairs; factors are never negative."""


def sum_terms(terms: Iterable[tuple[float, str]], values: Mapping[str, float]) -> float:
    """The sum of factors times the counts they name."""
    return sum(factor * values[name] for factor, name in terms)


@dataclass(frozen=True)
class BillItem:
    """Anything in the bill: cost and draw of one unit, and how it is sold.

    ``support_factor``: years of support that count in the TCO, discounted. ``meter_kw``: draw at
    the meter; ``energy_kw``: the part of it that energy is charged on. ``stated``: catalog figures
    by name (`planner.figures.STATED`), 0 where not stated.
    """

    id: str
    vendor: str
    installed: int
    unit_net_usd: float | None
    support_usd_per_year: float
    subscription_usd_per_year: float
    support_factor: float
    it_power_kw: float
    meter_kw: float
    energy_kw: float
    liquid_kw: float
    stated: Mapping[str, float]
    spare_share: float
    pack: int
    min_order: int
    stock: int | None

    @property
    def place(self) -> str:
        """Name of the count of units in place."""
        return self.id

    @property
    def sold_plainly(self) -> bool:
        """True if as many are purchased as are in place."""
        plain = self.pack == 1 and self.min_order <= 1
        return plain and self.installed == 0 and self.spare_share == 0.0

    def purchased(self, count: int) -> int:
        """Units bought for ``count`` in place: cold spares, whole packs, minimum order quantity."""
        need = count + ceil(self.spare_share * count) - self.installed
        packs = -(-max(0, need) // self.pack)
        return max(packs, -(-self.min_order // self.pack)) * self.pack if packs else 0


@dataclass(frozen=True)
class Offer(BillItem):
    """An item that may be bought: bounds of its count in the cluster, and its racks.

    Owned units stay in place, in the cluster or idle.
    """

    low: int
    high: int | None
    min_units: int
    rack_use: RackUse | None
    forced: bool

    @property
    def place(self) -> str:
        """Name of the count of units in place: with owned ones more than in the cluster."""
        return f"place.{self.id}" if self.installed else self.id


@dataclass(frozen=True)
class System(Offer):
    """A GPU system and the ways in which the job may run on it, the first as it is sold.

    ``fabrics``: numbers of the compute fabrics that it may join, rising, with the names of their
    ``designs``.
    """

    gpus: int
    ways: tuple[Way, ...]
    client_write_gb_per_s: float
    client_read_gb_per_s: float
    fabrics: tuple[int, ...] = ()
    designs: tuple[str, ...] = ()

    def fabric_count(self, fabric: int) -> str:
        """Name of the count of its systems that a compute fabric joins."""
        return f"on.{self.id}.compute{fabric}" if len(self.fabrics) > 1 else self.id

    def way(self, chosen: Collection[str] = ()) -> Way:
        """The way among those chosen by id, else the first."""
        return next((way for way in self.ways if way.id in chosen), self.ways[0])

    def at_set_point(self, way: Way) -> System:
        """The system as provisioned at the set point of a way."""
        share = way.power_share
        return replace(
            self,
            it_power_kw=share * self.it_power_kw,
            meter_kw=share * self.meter_kw,
            energy_kw=min(self.energy_kw, share * self.meter_kw),
            liquid_kw=share * self.liquid_kw,
            stated={
                name: each * (share if STATED[name].follows_draw else 1.0)
                for name, each in self.stated.items()
            },
        )


@dataclass(frozen=True)
class Storage(Offer):
    """A storage item; nameplate bandwidth of a unit.

    A unit takes ``burst_nameplate_gb_per_s`` until ``buffer_gb`` is full, and empties it at the
    sustained rate. An item of the bulk tier has ``bulk_tb``, no family, and holds no checkpoints.
    """

    family: str = ""
    nameplate_read_gb_per_s: float = 0.0
    nameplate_write_gb_per_s: float = 0.0
    usable_tb: float = 0.0
    endurance_tb_per_day: float | None = 0.0
    units_lost: float = 0.0
    bulk_tb: float = 0.0
    bulk_nameplate_read_gb_per_s: float = 0.0
    burst_nameplate_gb_per_s: float = 0.0
    buffer_gb: float = 0.0

    @property
    def is_bulk(self) -> bool:
        """True if it is of the bulk tier."""
        return self.bulk_tb > 0.0


class FamilyOffer(NamedTuple):
    """A storage family with at least one item on offer; factors on client bandwidth."""

    id: str
    write_factor: float
    read_factor: float
    max_units: int | None
    forced: bool
