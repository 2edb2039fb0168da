"""Racks, fabrics, cables and storage candidates of a plan."""

from dataclasses import dataclass
from typing import Literal

from planner.schema.base import Customer, PlanModel


def _is_empty(value: object) -> bool:
    return not value


RackClassName = Literal["gpu", "storage", "network"]


class Device(PlanModel):
    """A device in a rack: its lowest position (1 is the bottom), height and draw."""

    sku: Customer[str]
    position_ru: Customer[float]
    rack_units: Customer[float]
    it_power_kw: Customer[float]
    weight_kg: Customer[float | None]


class RackGroup(PlanModel):
    """``count`` racks with the same content, numbered from ``first`` on over the whole plan."""

    first: Customer[int]
    count: Customer[int]
    rack_class: Customer[RackClassName]
    product: Customer[bool]
    height_ru: Customer[float]
    power_limit_kw: Customer[float | None]
    weight_limit_kg: Customer[float | None]
    it_power_kw: Customer[float]
    weight_kg: Customer[float | None]
    pdus: Customer[int]
    devices: Customer[tuple[Device, ...]]


class FabricReport(PlanModel):
    """One fabric; links of all planes, ``endpoints`` in parts of a base port."""

    network: Customer[Literal["compute", "storage", "converged", "in_band", "out_of_band"]]
    switch_sku: Customer[str]
    serves: Customer[tuple[str, ...]]
    planes: Customer[int]
    tiers: Customer[int]
    units: Customer[int]
    radix: Customer[int]
    leaf_switches: Customer[int]
    spine_switches: Customer[int]
    core_switches: Customer[int]
    endpoints: Customer[int]
    parts_per_port: Customer[int]
    capacity: Customer[int]
    uplinks_per_leaf: Customer[int]
    oversubscription: Customer[float]
    system_links: Customer[int]
    leaf_spine_links: Customer[int]
    spine_core_links: Customer[int]


NetworkOfCable = Literal["compute", "storage", "converged", "in_band", "out_of_band"]


@dataclass(frozen=True, slots=True)
class CableEnd:
    """A device, its port and, where there are racks, its rack and lowest unit."""

    device: str
    port: str
    rack: int | None = None
    position_ru: float | None = None


@dataclass(frozen=True, slots=True)
class Cable:
    """One link; links with the same ``number`` and ``sku`` share a cable."""

    number: int
    network: NetworkOfCable
    lower: CableEnd
    upper: CableEnd
    sku: str | None
    model: str | None
    part_number: str | None
    length_m: int | None
    medium: str


@dataclass(frozen=True)
class CableSchedule:
    """All cables of a plan, with notes."""

    cables: tuple[Cable, ...]
    notes: tuple[str, ...]


class OptionItem(PlanModel):
    """Units of a storage item, ``purchased`` of them bought, with list prices of a unit in USD."""

    sku: str
    model: str
    vendor: str
    units: int
    purchased: int
    unit_list_usd: float | None
    unit_low_usd: float | None
    unit_high_usd: float | None
    read_basis: str
    write_basis: str


class StorageOption(PlanModel):
    """A storage family with the fewest units that carry the plan's operation within every limit.

    ``chosen``: the plan's own. ``shortfall``: its objective's distance from the proven bound, as a
    share. A checkpoint is saved every ``interval_s`` (each ``every``-th goes to storage).
    ``low_usd``, ``list_usd``, ``high_usd``: its purchases at the ends of price ranges and at list;
    ``beside_usd``: additional cost of everything else. At a unit list price of ``even_usd`` it is
    the cheapest vendor at list prices, at ``sure_usd`` whatever the others quote; None where no
    price decides.
    """

    family: str
    chosen: bool
    items: tuple[OptionItem, ...]
    fewer_systems: int
    shortfall: float
    interval_s: float
    every: int
    write_needed_gb_per_s: float
    read_gb_per_s: float
    write_gb_per_s: float
    usable_tb: float
    low_usd: float
    list_usd: float
    high_usd: float
    beside_usd: float
    even_usd: float | None
    sure_usd: float | None


class StorageOptions(PlanModel):
    """Storage demand of the plan's operation, and candidates by vendor, the cheapest first.

    ``counted``: capex, or with support and subscriptions over the term. ``choice``: the vendor that
    is cheapest whatever is quoted, None where prices decide; ``settled_by``: items whose quote
    alone could settle it.
    """

    read_gb_per_s: float
    usable_tb: float
    within: float
    counted: Literal["purchase", "term"]
    options: tuple[StorageOption, ...]
    choice: str | None
    settled_by: tuple[str, ...]
