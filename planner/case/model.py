"""Parameters of a problem as plain numbers, in canonical units; every name carries its unit.

The bill of materials has items of two kinds: offers, whose counts are decided, and companions
(dependent items), whose counts follow from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from planner.case.items import BillItem, FamilyOffer, Offer, Storage, System, Terms
from planner.case.job import Job, Way
from planner.figures import OBJECTIVES, RATIOS
from planner.limits import of_group
from planner.schema.plan import NetworkName
from planner.schema.problem import Maximized, Minimized
from planner.sizing.checkpoint import BandwidthRule
from planner.sizing.fabric import ComputeDesign, FabricSize
from planner.sizing.throughput import FLOP_PER_PARAMETER_TOKEN, days_to_train
from planner.units import HOURS_PER_YEAR

if TYPE_CHECKING:
    from planner.sizing.packing import Packing, Shares

_T = TypeVar("_T")
AmountName = Literal["least_meter", "least_write", "most_write"]
"""Objectives of analyses, not of problem files."""
ObjectiveName = Literal[Maximized, Minimized, AmountName]


# Counts that follow from other counts.


@dataclass(frozen=True)
class Ceil:
    """``name`` = ceil(sum of terms + constant), and ``if_any`` more where that is not 0."""

    name: str
    terms: Terms
    constant: float = 0.0
    if_any: int = 0


@dataclass(frozen=True)
class Sum:
    """``name`` = sum of terms + constant; no variable of its own."""

    name: str
    terms: Terms
    constant: float = 0.0


@dataclass(frozen=True)
class AtLeast:
    """``name`` = the sum of terms, or ``least`` where that is more."""

    name: str
    terms: Terms
    least: int


class Size(NamedTuple):
    """One size: its capacity, and its outputs."""

    capacity: int
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Ramp:
    """Neighbouring sizes whose bounds and outputs grow in equal steps.

    The v-th size (v = 0 .. steps) holds more than ``low + v * stride`` and at most
    ``high + v * stride``; its outputs are ``outputs + v * slopes``.
    """

    steps: int
    low: int
    high: int
    stride: int
    outputs: tuple[int, ...]
    slopes: tuple[int, ...]


@dataclass(frozen=True)
class Steps:
    """``outputs`` of the least size that holds the sum of terms; all 0 where that is 0."""

    name: str
    terms: Terms
    sizes: tuple[Size, ...]
    outputs: tuple[str, ...]

    @cached_property
    def ramps(self) -> tuple[Ramp, ...]:
        """The sizes as few straight ramps."""
        lows = (0, *(size.capacity for size in self.sizes))
        rows = [(low, s.capacity, *s.outputs) for low, s in zip(lows, self.sizes, strict=False)]
        steps = [
            tuple(after - before for before, after in zip(one, other, strict=True))
            for one, other in itertools.pairwise(rows)
        ]
        ramps, first = [], 0
        while first < len(rows):
            last, step = first, (0,) * len(rows[first])
            if first < len(steps) and steps[first][0] == steps[first][1]:
                step = steps[first]
                while last < len(steps) and steps[last] == step:
                    last += 1
            low, high, *outputs = rows[first]
            ramps.append(Ramp(last - first, low, high, step[0], tuple(outputs), step[2:]))
            first = last + 1
        return tuple(ramps)


@dataclass(frozen=True)
class Packed:
    """``name`` = the least racks that hold all counts of the terms, each a kind with its shares.

    Every factor is 1.
    """

    name: str
    terms: Terms
    shares: Shares

    @property
    def packing(self) -> Packing:
        """The packing of these kinds; it needs numpy, which the checks of a problem do without."""
        from planner.sizing.packing import packing

        return packing(self.shares)


Quantity = AtLeast | Ceil | Sum | Steps | Packed


def follows_from_terms(quantity: Quantity) -> bool:
    """True if a quantity is 0 wherever all of its terms are."""
    if isinstance(quantity, (Ceil, Sum)):
        return quantity.constant == 0
    return not isinstance(quantity, AtLeast) or quantity.least <= 0


# Companions: items whose counts follow from those of others.


SHARED_RACKS = "racks.network"
"""Name of the count of racks that network devices share."""


@dataclass(frozen=True)
class Companion(BillItem):
    """A dependent item: its count is the sum of its terms, each with a role.

    A ``stored`` one is a spare part: none of it is in place.
    """

    terms: Terms
    roles: tuple[str, ...]
    stored: bool = False


@dataclass(frozen=True)
class Fabric:
    """One fabric and its possible sizes.

    ``amount``: terms of the endpoints, systems (compute) or port parts; each stands for
    ``ports_per_amount`` ports (out of band: those that one switch can serve). ``links``: terms of
    the links to devices. ``planes`` copies of a size are built, of ``design`` (compute). The last
    size may be the ``largest`` that its switches make.
    """

    network: NetworkName
    switch: str
    serves: tuple[str, ...]
    prefix: str
    amount: Terms
    links: Terms
    radix: int
    oversubscription: float
    sizes: tuple[FabricSize, ...] = ()
    largest: bool = False
    planes: int = 1
    parts_per_port: int = 1
    ports_per_amount: int = 1
    design: ComputeDesign | None = None


@dataclass(frozen=True)
class Companions:
    """All companions of a problem, and the counts they follow from in working order.

    ``racks``: terms of every rack in the room, with those that network devices share.
    """

    quantities: tuple[Quantity, ...] = ()
    items: tuple[Companion, ...] = ()
    racks: Terms = ()
    pdus_per_rack: tuple[tuple[str, int], ...] = ()
    fabrics: tuple[Fabric, ...] = ()
    missing: tuple[str, ...] = ()

    def rename_counts(self, names: Mapping[str, str | None]) -> Companions:
        """Companions with other names of counts; those that are 0 without None are left out."""
        gone = {name for name, other in names.items() if other is None}

        def left(terms: Terms) -> Terms:
            return tuple((factor, names.get(n) or n) for factor, n in terms if n not in gone)

        def beside(terms: Terms, each: Iterable[_T]) -> tuple[_T, ...]:
            pairs = zip(terms, each, strict=True)
            return tuple(value for (_, name), value in pairs if name not in gone)

        quantities: list[Quantity] = []
        for quantity in self.quantities:
            terms = left(quantity.terms)
            if not terms and quantity.terms and follows_from_terms(quantity):
                gone.update(quantity.outputs if isinstance(quantity, Steps) else (quantity.name,))
            elif isinstance(quantity, Packed):
                shares = beside(quantity.terms, quantity.shares)
                quantities.append(replace(quantity, terms=terms, shares=shares))
            else:
                quantities.append(replace(quantity, terms=terms))
        items = [
            replace(item, terms=left(item.terms), roles=beside(item.terms, item.roles))
            for item in self.items
        ]
        return replace(
            self,
            quantities=tuple(quantities),
            items=tuple(item for item in items if item.roles),
            racks=left(self.racks),
            pdus_per_rack=tuple(each for each in self.pdus_per_rack if each[0] not in gone),
            fabrics=tuple(
                replace(
                    fabric,
                    serves=tuple(name for name in fabric.serves if name not in gone),
                    amount=left(fabric.amount),
                    links=left(fabric.links),
                )
                for fabric in self.fabrics
                if left(fabric.amount)
            ),
        )


# Limits, rates, policy.


HELD = ("least_write_gb_per_s", "most_write_gb_per_s")
"""Limits of analyses, not of problem files: delivered write bandwidth of the storage bought."""


class Limits(dict[str, float | None]):
    """Limits by `planner.limits.Limit.field`, in the units there, and ``HELD``; None for none.

    Nothing is changed in place.
    """

    def replace_values(self, **changed: float | None) -> Limits:
        """The limits with some of them changed; KeyError where there is no such limit."""
        if unknown := changed.keys() - self.keys():
            raise KeyError(*unknown)
        return Limits(self | changed)


NEEDS_GOODPUT = frozenset(limit.name for limit in of_group("target", "ratio"))
"""Limits that depend on goodput."""


@dataclass(frozen=True)
class Rates:
    """Cost of a year: energy per kW at the meter, colocation per kW of IT power.

    ``discounted_years``: of running costs, as they count in the TCO.
    """

    energy_usd_per_kw_year: float
    colocation_usd_per_kw_year: float
    years: float
    discounted_years: float

    @property
    def hours(self) -> float:
        """Hours of the term."""
        return self.years * HOURS_PER_YEAR


@dataclass(frozen=True)
class Split:
    """No vendor has more than a share of the units of a category; ids of items by vendor."""

    vendors: tuple[tuple[str, ...], ...]
    max_share: float


@dataclass(frozen=True)
class Policy:
    """Vendor policy: at least one unit of each ``required`` set, splits, preferences."""

    required: tuple[tuple[str, ...], ...] = ()
    splits: tuple[Split, ...] = ()
    disliked: tuple[str, ...] = ()
    within: float = 0.0


# The instance.


@dataclass(frozen=True, eq=False)
class Case:
    """A problem ready to be optimised. Items and families are sorted by id.

    ``unusable``: owned units that stay in place and cannot be used. Of each item in ``must_use``
    the plan has at least one unit, of a GPU system one in use. ``covered``: products left out
    because another is as good in everything.
    """

    systems: tuple[System, ...]
    storage: tuple[Storage, ...]
    unusable: tuple[Offer, ...]
    families: tuple[FamilyOffer, ...]
    job: Job
    limits: Limits
    objective: ObjectiveName
    delivered_read_share: float
    delivered_write_share: float
    max_families: int
    tolerate_down: int
    rule: BandwidthRule | None
    rates: Rates
    companions: Companions
    policy: Policy
    indifference: float
    not_considered: tuple[tuple[str, str], ...]
    must_use: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()

    # Objective and targets.

    @property
    def maximise(self) -> bool:
        """True if more of the objective is better."""
        return self.objective in OBJECTIVES and OBJECTIVES[self.objective].sense == "maximize"

    @property
    def needs_goodput(self) -> bool:
        """True if the objective or a floor depends on goodput."""
        floors = (self.limits[name] is not None for name in NEEDS_GOODPUT)
        return self.objective in {"goodput", "useful_gpus"} | RATIOS or any(floors)

    @property
    def near_optimal_loss(self) -> float:
        """The largest near-optimal tolerance: of indifference or of preferred vendors."""
        return max(self.indifference, self.policy.within)

    def million_tokens_per_pflops(self) -> float:
        """Million tokens that a useful PFLOP/s trains in the term."""
        assert self.job.active_parameters is not None
        seconds = self.rates.hours * 3600.0
        return 1e15 * seconds / (FLOP_PER_PARAMETER_TOKEN * self.job.active_parameters) / 1e6

    def days_at_one_pflops(self) -> float:
        """Days to train at one useful PFLOP/s."""
        assert self.job.active_parameters is not None
        assert self.job.tokens is not None
        return days_to_train(self.job.active_parameters, self.job.tokens, 1.0)

    def useful_pflops_floor(self) -> float | None:
        """Floor on useful PFLOP/s that the targets imply, None without one."""
        floors = [self.limits["min_useful_pflops"]]
        days = self.limits["max_days_to_train"]
        if days is not None:
            floors.append(self.days_at_one_pflops() / days)
        return max((floor for floor in floors if floor is not None), default=None)

    # Items.

    def offers(self) -> tuple[Offer, ...]:
        """Everything that may be bought, and owned units that are idle."""
        return (*self.systems, *self.storage, *self.unusable)

    def bill_items(self) -> tuple[BillItem, ...]:
        """Everything that can be in the bill: offers, then their companions."""
        return (*self.offers(), *self.companions.items)

    @cached_property
    def billed(self) -> Case:
        """The case with the same bills: itself, unless `share_bills_of` names another."""
        return self

    def share_bills_of(self, other: Case) -> Case:
        """This case, marked as having for any purchase the bill of another."""
        self.__dict__["billed"] = other.billed
        return self

    # Storage.

    @cached_property
    def flash(self) -> tuple[Storage, ...]:
        """The storage that can hold checkpoints."""
        return tuple(item for item in self.storage if not item.is_bulk)

    @cached_property
    def bursts(self) -> bool:
        """True if some storage takes checkpoints in bursts; not where units may be down."""
        return self.tolerate_down == 0 and any(
            item.burst_nameplate_gb_per_s for item in self.storage
        )

    def bought(self, units: Mapping[str, int]) -> list[Storage]:
        """The storage of a purchase, in the order of the case."""
        return [item for item in self.storage if units.get(item.id)]

    # Ways and compute fabrics.

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """Every way of every GPU system, in their order."""
        return tuple(way for system in self.systems for way in system.ways)

    def in_use(self, used: Mapping[str, int], ways: Collection[str]) -> list[tuple[System, Way]]:
        """The GPU systems in use, each with its chosen way."""
        return [(system, system.way(ways)) for system in self.systems if used.get(system.id)]

    @cached_property
    def capped(self) -> Mapping[str, tuple[System, Way]]:
        """Ways that are provisioned for another power than the system's own, by id."""
        pairs = ((system, way) for system in self.systems for way in system.ways)
        return {way.id: (system, way) for system, way in pairs if way.power_share != 1.0}

    @cached_property
    def unplaced(self) -> Mapping[str, tuple[str, ...]]:
        """By way, the GPU systems without its parallelism: none is in the cluster, even idle."""
        options = {system.id: {way.option for way in system.ways} for system in self.systems}
        fit = {w.id: [s for s, known in options.items() if w.option in known] for w in self.ways}
        return {
            name: tuple(system for system in options if system not in ids)
            for name, ids in fit.items()
            if len(ids) < len(options)
        }

    @cached_property
    def multi_fabric_systems(self) -> tuple[System, ...]:
        """The GPU systems that may join more than one compute fabric."""
        return tuple(system for system in self.systems if len(system.fabrics) > 1)

    def companions_for(self, ways: Collection[str]) -> Companions:
        """Companions where the job runs in some ways: of the fabrics built then, by units alone.

        A type joins the compute fabric of its own way; else one of the job's design where it may
        join such, or its first.
        """
        chosen = [
            (system, system.designs[system.fabrics.index(way.fabric)])
            for system in self.systems
            for way in system.ways
            if way.id in ways and way.fabric is not None
        ]
        names: dict[str, str | None] = {}
        for system in self.multi_fabric_systems:
            own = [design for owner, design in chosen if owner is system]
            others = [design for _, design in chosen if design in system.designs]
            joined = system.designs.index((*own, *others, *system.designs)[0])
            for number, fabric in enumerate(system.fabrics):
                names[system.fabric_count(fabric)] = system.id if number == joined else None
        return self.companions.rename_counts(names) if names else self.companions
