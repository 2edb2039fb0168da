"""Parts of a plan's record and records beside it: other storage, its cables."""

from dataclasses import dataclass
from typing import Literal

from planner.schema.base import PlanModel

NetworkOfCable = Literal["compute", "storage", "converged", "in_band", "out_of_band"]


@dataclass(frozen=True, slots=True)
class CableEnd:
    """A device, where it stands and its port; a place is None where nobody gives racks.

    ``position_ru`` is the lowest rack unit of the device, None without height.
    """

    device: str
    port: str
    rack: int | None = None
    position_ru: float | None = None


@dataclass(frozen=True, slots=True)
class Cable:
    """One link. Links with the same ``number`` and ``sku`` share a cable, as a splitter's do.

    ``sku`` is None where no cable is listed for such ports. ``length_m`` is the run in whole
    metres, None where the problem gives no ``site.floor``; ``medium`` says what such a length asks
    for, or where parts are bought by length what they are. ``ordered_m`` is then the length as it
    is sold, and ``counted_as`` the item that the bill counts for it.
    """

    number: int
    network: NetworkOfCable
    lower: CableEnd
    upper: CableEnd
    sku: str | None
    model: str | None
    part_number: str | None
    length_m: int | None
    medium: str
    ordered_m: float | None = None
    counted_as: str | None = None
    in_place_of: int = 1
    spares: str | None = None


@dataclass(frozen=True)
class CableSchedule:
    """All cables of a plan, with notes."""

    cables: tuple[Cable, ...]
    notes: tuple[str, ...]


class OptionItem(PlanModel):
    """So many units of a storage item, ``purchased`` of them bought, and what a quote may ask.

    Prices are list prices of a unit, USD; ``basis`` is the basis of its bandwidth.
    """

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

    The plan's own (``chosen``) has what the plan has. ``fewer_systems`` GPU systems make room for
    it. ``shortfall`` is how far behind the proven bound its objective is, as a share; a checkpoint
    is saved every ``interval_s`` (each ``every``-th goes to storage; 0 without a local level), and
    needs so much write bandwidth. ``low_usd``, ``list_usd`` and ``high_usd`` are what its purchases
    come to at the ends of their prices' ranges and at list; ``beside_usd`` is what everything else
    costs more than in the plan. Where the objective is money per work ``shortfall`` is of the
    plan's work, and what that is worth is in ``beside_usd``.
    With those of all other vendors at list prices this is the cheapest where its unit is listed at
    ``even_usd`` or less, and at ``sure_usd`` or less wherever their quotes come in; None where
    several items make it up, no other vendor has one, or no price is low enough.
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
    """Storage demand of the plan's operation, and candidates by vendor.

    ``counted`` is the measure of money: capex, or with support and subscriptions over the
    term. Options are in the order of their money at list prices, everything else counted in.
    ``choice`` is the vendor who is cheapest wherever quotes come in, None where prices decide;
    ``settled_by`` are the items of whose quotes each alone could settle it.
    """

    read_gb_per_s: float
    usable_tb: float
    within: float
    counted: Literal["purchase", "term"]
    options: tuple[StorageOption, ...]
    choice: str | None
    settled_by: tuple[str, ...]
