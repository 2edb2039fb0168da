"""Parameters of a problem as plain numbers, in canonical units; every name carries its unit.

The bill of materials has items of two kinds: offers, whose counts are decided, and companions
(dependent items), whose counts follow from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from planner.case.quantities import Packed, Quantity, Steps, Sum, Terms, ceil, evaluate, vanishes
from planner.case.repair import Repair, SpareUnit
from planner.figures import OBJECTIVES, RATIOS, STATED
from planner.limits import of_group
from planner.schema.problem import Maximized, Minimized
from planner.sizing.checkpoint import FanOut, fan_out_terms
from planner.sizing.fabric import ComputeDesign, FabricSize
from planner.sizing.facility import HOURS_PER_YEAR
from planner.sizing.goodput import FLOP_PER_PARAMETER_TOKEN, days_to_train
from planner.sizing.placement import RackUse
from planner.sizing.throughput import ScaleLaw

Mode = Literal["async", "sync", "local"]
"""How checkpoints are saved: GPUs go on while storage drains them, or wait for that; ``local`` is
asynchronous by way of a level of checkpoints on drives of the GPU systems."""
CountName = Literal["fewest_storage", "most_storage", "fewest_systems", "most_systems"]
AmountName = Literal["least_meter", "least_write", "most_write"]
"""Objectives of analyses, not of problem files: counts; facility power, write bandwidth."""
ObjectiveName = Literal[Maximized, Minimized, CountName, AmountName]

# Items of the bill.


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
    def stands(self) -> bool:
        """Whether its units are in place; spare parts in store are not."""
        return True

    @property
    def sold_plainly(self) -> bool:
        """Whether as many are purchased as are in place."""
        plain = self.pack == 1 and self.min_order <= 1
        return plain and self.installed == 0 and self.spare_share == 0.0

    def purchased(self, count: int) -> int:
        """Units bought for ``count`` in place: cold spares, packs, minimum order quantity."""
        return self.ordered(count + ceil(self.spare_share * count) - self.installed)

    def ordered(self, need: int) -> int:
        """Units bought where ``need`` are missing: whole packs, minimum order quantity."""
        packs = -(-max(0, need) // self.pack)
        if packs:
            packs = max(packs, -(-self.min_order // self.pack))
        return packs * self.pack


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


class Drives(NamedTuple):
    """Drives of one GPU system for local checkpoints, all of them together."""

    write_gb_per_s: float
    capacity_tb: float
    endurance_tb_per_day: float | None


@dataclass(frozen=True)
class Way:
    """One configuration in which the job may run on a GPU system; the plan chooses one.

    usable_gpus: GPUs of each system that the job uses, in steps of ``step_gpus``: whole replicas,
        or whole systems.
    tflops_per_gpu: rate that ``Job.mfu`` applies to, at the power set point.
    power_share: share of the rated power that a system is provisioned for.
    min_replicas: fewest replicas whose memory holds the shared state, over all types;
        ``least_running`` of them go on where a job shrinks.
    tensor_gpus: GPUs of a tensor group. option: name of the parallelism, of a job with several.
    drives: None without a local level. host_copy_gb_per_s: copy from a GPU to its host, where the
        stall is derived from it.
    fabric: number of the compute fabric, None without one. choice: id of the chosen power,
        precision and parallelism.
    """

    id: str
    usable_gpus: int
    step_gpus: int
    replica_gpus: int | None
    tflops_per_gpu: float
    failures_per_gpu_day: float
    spare_unit: SpareUnit
    power_share: float = 1.0
    min_replicas: int = 1
    least_running: int = 1
    tensor_gpus: int | None = None
    drives: Drives | None = None
    host_copy_gb_per_s: float | None = None
    option: str | None = None
    fabric: int | None = None
    choice: str = ""

    @property
    def standing(self) -> str:
        """Name of the count of systems provisioned at this set point."""
        return f"at.{self.id}"

    @property
    def least_gpus(self) -> int:
        """The fewest GPUs that the job can use."""
        return self.min_replicas * self.replica_gpus if self.replica_gpus else 1

    def most_gpus(self, systems: int) -> int:
        """The most GPUs that the job can use of a number of systems."""
        return systems * self.usable_gpus // self.step_gpus * self.step_gpus

    def systems_for(self, gpus: int) -> int:
        """The fewest systems that hold a number of GPUs in use."""
        return ceil(gpus / self.usable_gpus)


@dataclass(frozen=True)
class System(Offer):
    """A GPU system and the ways in which the job may run on it, the first as it is sold.

    ``fabrics``: numbers of the compute fabrics that it may join, rising, with the names of their
    ``designs``. ``options``: names of the parallelisms that fit it, of a job with several.
    """

    gpus: int
    ways: tuple[Way, ...]
    client_write_gb_per_s: float
    client_read_gb_per_s: float
    fabrics: tuple[int, ...] = ()
    designs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def wired(self, fabric: int) -> str:
        """Name of the count of its systems that a compute fabric joins."""
        return f"on.{self.id}.compute{fabric}" if len(self.fabrics) > 1 else self.id

    def way(self, chosen: Collection[str] = ()) -> Way:
        """The way among those chosen by id, else the first."""
        return next((way for way in self.ways if way.id in chosen), self.ways[0])

    def at(self, way: Way) -> System:
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
class Segment:
    """A straight piece of a bandwidth table: value = at_low + slope * (units - low)."""

    low: int
    high: int
    read_at_low: float
    read_slope: float
    write_at_low: float
    write_slope: float


@dataclass(frozen=True)
class Storage(Offer):
    """A storage item; nameplate bandwidth of a unit, or by ``segments`` of a table.

    A unit takes ``burst_gb_per_s`` until ``buffer_gb`` is full, and empties it at the sustained
    rate. An item of the bulk tier has ``bulk_tb``, no family, and holds no checkpoints.
    """

    family: str
    read_gb_per_s: float
    write_gb_per_s: float
    usable_tb: float
    endurance_tb_per_day: float | None
    units_lost: float
    segments: tuple[Segment, ...]
    bulk_tb: float = 0.0
    bulk_read_gb_per_s: float = 0.0
    burst_gb_per_s: float = 0.0
    buffer_gb: float = 0.0

    @property
    def is_bulk(self) -> bool:
        """Whether it is of the bulk tier."""
        return self.bulk_tb > 0.0


class FamilyOffer(NamedTuple):
    """A storage family with at least one item on offer; factors on client bandwidth."""

    id: str
    write_factor: float
    read_factor: float
    max_units: int | None
    forced: bool


# Companions: items whose counts follow from those of others.

NetworkName = Literal["compute", "storage", "converged", "in_band", "out_of_band"]


@dataclass(frozen=True)
class Companion(BillItem):
    """A dependent item: its count is the sum of its terms, each with a role.

    A ``stored`` one is a spare part: none of it is in place.
    """

    terms: Terms
    roles: tuple[str, ...]
    racks_each: int
    stored: bool = False

    @property
    def stands(self) -> bool:
        """Whether its units are in place; spare parts in store are not."""
        return not self.stored


@dataclass(frozen=True)
class Fabric:
    """One fabric and its possible sizes.

    ``amount``: terms of the endpoints, systems (compute) or port parts; each stands for
    ``ports_per_amount`` ports (out of band: those that one switch can serve). ``links``: terms of
    the links to devices. ``planes`` copies of a size are built, of ``design`` (compute).
    """

    network: NetworkName
    switch: str
    serves: tuple[str, ...]
    prefix: str
    amount: Terms
    links: Terms
    sizes: tuple[FabricSize, ...]
    planes: int
    radix: int
    parts_per_port: int
    ports_per_amount: int
    oversubscription: float
    design: ComputeDesign | None = None


@dataclass(frozen=True)
class Companions:
    """All companions of a problem, and the counts they follow from in working order.

    ``racks``: terms of every rack in the room; ``shared``: the racks that network devices share.
    """

    quantities: tuple[Quantity, ...] = ()
    items: tuple[Companion, ...] = ()
    racks: Terms = ()
    shared: Packed | None = None
    shared_pdus_per_rack: int = 0
    pdus_per_rack: tuple[tuple[str, int], ...] = ()
    fabrics: tuple[Fabric, ...] = ()
    missing: tuple[str, ...] = ()

    def values(self, units: Mapping[str, int]) -> dict[str, float]:
        """Every count that follows from the units of GPU systems and storage.

        Raises:
            ValueError: a fabric would have to be larger than three tiers can be.
        """
        of_items = (Sum(item.id, item.terms) for item in self.items)
        values = evaluate((*self.quantities, *of_items), units)
        return values | {item.id: round(values[item.id]) for item in self.items}

    def renamed(self, names: Mapping[str, str | None]) -> Companions:
        """Companions with other names of counts; those that are 0 without None are left out."""
        gone = {name for name, other in names.items() if other is None}

        def kept(terms: Terms) -> Terms:
            return tuple((factor, names.get(n) or n) for factor, n in terms if n not in gone)

        quantities: list[Quantity] = []
        for quantity in self.quantities:
            terms = kept(quantity.terms)
            if not terms and quantity.terms and vanishes(quantity):
                gone.update(quantity.outputs if isinstance(quantity, Steps) else (quantity.name,))
                continue
            if isinstance(quantity, Packed):
                pairs = zip(quantity.terms, quantity.shares, strict=True)
                shares = tuple(share for (_, name), share in pairs if name not in gone)
                quantities.append(replace(quantity, terms=terms, shares=shares))
            else:
                quantities.append(replace(quantity, terms=terms))
        items = []
        for item in self.items:
            pairs_of_role = zip(item.terms, item.roles, strict=True)
            roles = tuple(role for (_, name), role in pairs_of_role if name not in gone)
            if roles:
                items.append(replace(item, terms=kept(item.terms), roles=roles))
        return replace(
            self,
            quantities=tuple(quantities),
            items=tuple(items),
            racks=kept(self.racks),
            shared=next((each for each in quantities if isinstance(each, Packed)), None),
            pdus_per_rack=tuple(each for each in self.pdus_per_rack if each[0] not in gone),
            fabrics=tuple(
                replace(fabric, amount=kept(fabric.amount), links=kept(fabric.links))
                for fabric in self.fabrics
                if kept(fabric.amount)
            ),
        )


# The job.


class IntervalRule(NamedTuple):
    """Checkpoint interval: ``fixed`` (low = high) or ``optimal``."""

    policy: Literal["fixed", "optimal"]
    low_s: float
    high_s: float


@dataclass(frozen=True)
class BandwidthRule:
    """A vendor's rule: nameplate bandwidth for every ``per_gpus`` GPUs bought, counted whole."""

    name: str
    read_gb_per_s: float
    write_gb_per_s: float
    per_gpus: int


@dataclass(frozen=True)
class Levels:
    """The local level of checkpoints: every k-th of its checkpoints goes on to storage.

    ``remote_share``: share of all interruptions that need storage. ``keep`` checkpoints in
    ``copies`` take capacity at a time.
    """

    copies: int
    keep: int
    every: tuple[int, ...]
    remote_share: float
    local_restart_s: float
    drain_restarts: bool


@dataclass(frozen=True)
class Job:
    """The training job; ``replica_gpus`` are those of its first parallelism option.

    ``mfu`` is 1 with measured rates. ``stall_s``: stall of an asynchronous checkpoint, with
    ``derived_stall`` without the copy to the hosts. ``levels`` is there with mode ``local``.
    """

    name: str
    checkpoint_gb: float
    bytes_per_parameter: float
    active_parameters: float | None
    tokens: float | None
    mfu: float | None
    scale: ScaleLaw | None
    replica_gpus: int | None
    modes: tuple[Mode, ...]
    stall_s: float
    drain_slowdown: float
    max_overlap: float
    max_blocking: float
    interval: IntervalRule
    one_replica_writes: bool
    fan_out: FanOut
    max_restore_s: float | None
    restart_s: float
    gpus_min: int
    gpus_max: int | None
    hot_spares: int
    hot_share: float
    whole_replicas: bool
    max_types: int
    ingest_per_gpu_gb_per_s: float
    capacity_needed_tb: float
    derived_stall: bool = False
    levels: Levels | None = None
    repair: Repair | None = None
    lost_time: float = 0.0
    bulk_needed_tb: float = 0.0

    @property
    def staged_share(self) -> float:
        """Share of the write bandwidth that may stage bulk data while checkpoints drain."""
        return 1.0 - self.max_overlap

    @property
    def progress(self) -> float:
        """Share of the time between restarts that makes progress."""
        return 1.0 - self.lost_time

    @property
    def longest_local_restart_s(self) -> float:
        """A restart from local copies with its possible swap, s."""
        assert self.levels is not None
        return self.levels.local_restart_s + (0.0 if self.repair is None else self.repair.swap_s)

    def spare_systems(self, way: Way, systems: int) -> int:
        """The most systems beside those in use that any plan gains from."""
        if self.repair is None or way.spare_unit.in_rack:
            return self.hot(systems)
        gpus = systems * way.usable_gpus
        most = self.repair.most_useful(way.failures_per_gpu_day, gpus)
        return ceil(most / way.spare_unit.per_system)

    def hot(self, used: int) -> int:
        """Hot spares of a type with ``used`` systems in use."""
        return self.hot_spares + ceil(self.hot_share * used) if used else 0

    def fan_out_terms(self, replica_gpus: int | None) -> tuple[float, float]:
        """(a, c) of the fan-out a + c * GPUs: reads of the checkpoint in one restore."""
        return fan_out_terms(self.fan_out, self.bytes_per_parameter, replica_gpus)

    def fan_out_on(self, gpus: float) -> float:
        """Reads of the checkpoint in one restore, of the job's first parallelism option."""
        once, per_gpu = self.fan_out_terms(self.replica_gpus)
        return once + per_gpu * gpus


# Limits, rates, policy.

HELD = ("least_write_gb_per_s", "most_write_gb_per_s")
"""Limits of analyses, not of problem files: delivered write bandwidth of the storage bought."""


class Limits(dict[str, float | None]):
    """Limits by `planner.limits.Limit.field`, in the units there, and ``HELD``; None for none.

    Nothing is changed in place.
    """

    @classmethod
    def from_values(cls, given: Mapping[str, float | None]) -> Limits:
        """Limits by field, None where not given."""
        fields = (limit.field for limit in of_group("supply", "ratio", "target"))
        return cls(dict.fromkeys((*fields, *HELD))).with_values(**given)

    def with_values(self, **changed: float | None) -> Limits:
        """The limits with some of them changed.

        Raises:
            KeyError: there is no such limit.
        """
        for name in changed:
            if name not in self:
                raise KeyError(name)
        return Limits({**self, **changed})

    def given(self, name: str) -> float:
        """A limit that is known to be given."""
        limit = self[name]
        assert limit is not None
        return limit


OF_USEFUL_WORK = frozenset({"goodput", "useful_gpus"}) | RATIOS
"""Objectives that depend on goodput."""
NEEDS_GOODPUT = frozenset(
    limit.name for limit in of_group("target", "ratio") if limit.figure != "gpus_used"
)
"""Limits that depend on goodput."""


@dataclass(frozen=True)
class Rates:
    """Cost of a year: energy per kW at the meter, colocation per kW of IT power.

    ``factor``: years of running costs that count in the TCO, discounted.
    """

    energy_usd_per_kw_year: float
    colocation_usd_per_kw_year: float
    years: float
    factor: float

    @property
    def hours(self) -> float:
        """Hours of the term."""
        return self.years * HOURS_PER_YEAR


@dataclass(frozen=True)
class Split:
    """No vendor has more than a share of the weighted units of a category."""

    weights: tuple[tuple[str, float], ...]
    vendors: tuple[tuple[str, tuple[str, ...]], ...]
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

    ``standing``: owned units that stay in place and cannot be used. Of each item in ``must_use``
    the plan has at least one unit, of a GPU system one in use.
    """

    systems: tuple[System, ...]
    storage: tuple[Storage, ...]
    standing: tuple[Offer, ...]
    families: tuple[FamilyOffer, ...]
    job: Job
    limits: Limits
    objective: ObjectiveName
    delivered_read: float
    delivered_write: float
    max_families: int
    tolerate_down: int
    rule: BandwidthRule | None
    rates: Rates
    companions: Companions
    policy: Policy
    indifference: float
    not_considered: tuple[tuple[str, str], ...]
    must_use: tuple[str, ...] = ()

    # Objective and targets.

    @property
    def maximise(self) -> bool:
        """Whether more of the objective is better."""
        return self.objective in OBJECTIVES and OBJECTIVES[self.objective].sense == "maximize"

    @property
    def needs_goodput(self) -> bool:
        """Whether the objective or a floor depends on goodput."""
        floors = any(self.limits[name] is not None for name in NEEDS_GOODPUT)
        return self.objective in OF_USEFUL_WORK or floors

    @property
    def given_away(self) -> float:
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

    def under(self, limits: Limits) -> Case:
        """The case under other limits, with the same companions."""
        return replace(self, limits=limits).billed_as(self)

    def of_any_size(self) -> Case:
        """The case without lower bounds on GPUs in use."""
        if self.job.gpus_min == 1 and not any(way.min_replicas for way in self.ways):
            return self
        systems = (
            replace(system, ways=tuple(replace(way, min_replicas=0) for way in system.ways))
            for system in self.systems
        )
        return replace(self, systems=tuple(systems), job=replace(self.job, gpus_min=1))

    @cached_property
    def by_every(self) -> tuple[Case, ...]:
        """The case with each k alone, each k-th local checkpoint going on to storage."""
        levels = self.job.levels
        if levels is None or len(levels.every) == 1:
            return (self,)
        alone = (replace(levels, every=(k,)) for k in levels.every)
        return tuple(replace(self, job=replace(self.job, levels=each)) for each in alone)

    # Items.

    def offers(self) -> tuple[Offer, ...]:
        """Everything that may be bought, and owned units that only stand there."""
        return (*self.systems, *self.storage, *self.standing)

    def bill_items(self) -> tuple[BillItem, ...]:
        """Everything that can be in the bill: offers, then their companions."""
        return (*self.offers(), *self.companions.items)

    def there(self, units: Mapping[str, int]) -> list[tuple[Offer, int]]:
        """The offers of which a purchase has any, each with its units."""
        known = self._offers
        return [(known[name], count) for name, count in units.items() if count and name in known]

    @cached_property
    def _offers(self) -> dict[str, Offer]:
        return {offer.id: offer for offer in self.offers()}

    @cached_property
    def demanded(self) -> tuple[Offer, ...]:
        """The offers of which there must be some."""
        return tuple(offer for offer in self.offers() if offer.low)

    @cached_property
    def stocked(self) -> tuple[BillItem, ...]:
        """Everything with a stock limit."""
        return tuple(item for item in self.bill_items() if item.stock is not None)

    @cached_property
    def billed(self) -> Case:
        """The case with the same bills: itself, unless `billed_as` names another."""
        return self

    def billed_as(self, other: Case) -> Case:
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
        """Whether some storage takes checkpoints in bursts; not where units may be down."""
        return self.tolerate_down == 0 and any(item.burst_gb_per_s for item in self.storage)

    def bought(self, units: Mapping[str, int]) -> list[Storage]:
        """The storage of a purchase, in the order of the case."""
        places = (self._places.get(name) for name, count in units.items() if count)
        return [self.storage[place] for place in sorted(p for p in places if p is not None)]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {item.id: place for place, item in enumerate(self.storage)}

    def in_bulk(self, units: Mapping[str, int]) -> tuple[float, float]:
        """Capacity (TB) and delivered read bandwidth (GB/s) of the bulk tier."""
        items = [(item, units.get(item.id, 0)) for item in self.storage if item.is_bulk]
        read = sum(item.bulk_read_gb_per_s * count for item, count in items)
        return sum(item.bulk_tb * count for item, count in items), self.delivered_read * read

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
        """By way, the GPU systems that do not fit its parallelism, if any.

        None of them is in the cluster of a job that runs so, not even idle.
        """
        unfit = {
            way.id: tuple(s.id for s in self.systems if way.option not in s.options)
            for way in self.ways
            if way.option is not None
        }
        return {name: ids for name, ids in unfit.items() if ids}

    @cached_property
    def rewired(self) -> tuple[System, ...]:
        """The GPU systems that may join more than one compute fabric."""
        return tuple(system for system in self.systems if len(system.fabrics) > 1)

    @cached_property
    def _design_by_way(self) -> dict[str, tuple[str, str]]:
        """System and design of its compute fabric by way."""
        designs = {
            fabric: design
            for system in self.systems
            for fabric, design in zip(system.fabrics, system.designs, strict=True)
        }
        return {
            way.id: (system.id, designs[way.fabric])
            for system in self.systems
            for way in system.ways
            if way.fabric is not None
        }

    def fabric_of(self, system: System, ways: Iterable[str]) -> int | None:
        """The compute fabric that joins a type where the job runs in some ways.

        That of its own way; else one of the job's design where it may join such, or its first.
        """
        chosen = [self._design_by_way[name] for name in ways if name in self._design_by_way]
        own = [design for owner, design in chosen if owner == system.id]
        others = (design for _, design in chosen if design in system.designs)
        design = next(iter((*own, *others, *system.designs)), None)
        return None if design is None else system.fabrics[system.designs.index(design)]

    def wired(self, units: Mapping[str, int], ways: Collection[str]) -> Mapping[str, int]:
        """Units, and the systems that each compute fabric joins: the base of all companions.

        Args:
            ways: the ways in which the job runs, by id.
        """
        return self.joined(units, tuple(self.fabric_of(each, ways) for each in self.rewired))

    def joined(
        self, units: Mapping[str, int], fabrics: tuple[int | None, ...]
    ) -> Mapping[str, int]:
        """The same where each type that may join several is in one of these fabrics."""
        if not fabrics:
            return units
        counts = dict(units)
        for system, chosen in zip(self.rewired, fabrics, strict=True):
            for fabric in system.fabrics:
                count = units.get(system.id, 0) if fabric == chosen else 0
                counts[system.wired(fabric)] = count
        return counts

    def companions_in(self, ways: Collection[str]) -> Companions:
        """Companions where the job runs in some ways: of the fabrics built then, by units alone."""
        names: dict[str, str | None] = {}
        for system in self.rewired:
            joined = self.fabric_of(system, ways)
            for fabric in system.fabrics:
                names[system.wired(fabric)] = system.id if fabric == joined else None
        return self.companions.renamed(names) if names else self.companions
