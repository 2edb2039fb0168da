"""The problem in plain numbers, in canonical units; every name carries its unit.

The bill of materials has items of two kinds: offers, whose counts are decided, and companions,
whose counts follow from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar

from planner.case.quantities import Counts, Packed, Quantity, RackUse, Steps, Sum, Terms, ceil
from planner.case.repair import Repair, SpareUnit
from planner.figures import OBJECTIVES, RATIOS, STATED
from planner.limits import of_group
from planner.schema.problem import Maximized, Minimized
from planner.sizing.checkpoint import FanOut, fan_out_terms
from planner.sizing.fabric import ComputeDesign, FabricSize
from planner.sizing.facility import HOURS_PER_YEAR
from planner.sizing.throughput import ScaleLaw

Mode = Literal["async", "sync", "local"]
"""How checkpoints are saved: GPUs go on while storage drains them, or wait for that; ``local`` is
asynchronous by way of a level of checkpoints on drives of the GPU systems."""
CountName = Literal["fewest_storage", "most_storage", "fewest_systems", "most_systems"]
"""Objectives of questions about a problem, not of problem files: counts, all to be least."""
AmountName = Literal["least_meter", "least_write", "most_write"]
"""The same for amounts: power at the meter, and the write bandwidth of the storage bought."""
ObjectiveName = Literal[Maximized, Minimized, "overrun", CountName, AmountName]


class Key(NamedTuple):
    """What a count is of: an item, at a site, in a period.

    Problems have one site and one period today, which then need not be named.
    """

    sku: str
    site: str = "site"
    period: int = 0


_Number = TypeVar("_Number", int, float)


def by_item(counts: Iterable[tuple[Key, _Number]]) -> dict[str, _Number]:
    """Return how many there are of each item, wherever and whenever."""
    totals: dict[str, _Number] = {}
    for key, count in counts:
        totals[key.sku] = totals[key.sku] + count if key.sku in totals else count
    return totals


@dataclass(frozen=True)
class BillItem:
    """Anything in the bill: what one unit costs and draws, and how it is sold.

    ``support_factor`` is how many years of support count in the TCO, discounted. ``meter_kw`` is
    the draw at the meter, ``energy_kw`` the draw at the meter that energy is charged on. ``stated``
    is what a unit has by figure (`planner.figures.STATED`), 0 where catalogs do not state enough.
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
        """The name of the count that stands in place: of what follows from others its own."""
        return self.id

    @property
    def stands(self) -> bool:
        """Say whether its count is of what stands in place: of spare parts in store it is not."""
        return True

    @property
    def sold_plainly(self) -> bool:
        """Say whether what is purchased is what stands in place."""
        return (
            self.installed == 0
            and self.spare_share == 0.0
            and self.pack == 1
            and self.min_order <= 1
        )

    def purchased(self, count: int) -> int:
        """Return the units bought for ``count`` in place: spares, packs, least order."""
        return self.ordered(count + ceil(self.spare_share * count) - self.installed)

    def ordered(self, need: int) -> int:
        """Return the units bought where so many are missing: whole packs, the least order."""
        packs = -(-max(0, need) // self.pack)
        if packs:
            packs = max(packs, -(-self.min_order // self.pack))
        return packs * self.pack


@dataclass(frozen=True)
class Offer(BillItem):
    """One item that may be bought: the bounds of its count in the cluster, what it takes of room.

    What is owned stays in place, whether it is in the cluster or idle.
    """

    low: int
    high: int | None
    min_units: int
    rack_use: RackUse | None
    forced: bool

    @property
    def place(self) -> str:
        """The name of the count that stands in place: more than in the cluster, where owned."""
        return f"place.{self.id}" if self.installed else self.id


class Drives(NamedTuple):
    """The drives of one GPU system that can hold local checkpoints, all of them together."""

    write_gb_per_s: float
    capacity_tb: float
    endurance_tb_per_day: float | None


@dataclass(frozen=True)
class Way:
    """One way in which the job may run on a GPU system; the plan chooses one.

    Of each system the job uses ``usable_gpus``, in steps of ``step_gpus``: whole replicas, or
    whole systems. ``spare_unit`` is what of it is mended by itself. ``tflops_per_gpu`` is what
    ``Job.mfu`` applies to, at the power set point. ``power_share`` of its rated power is what a
    system is provisioned for, ``min_replicas`` the fewest whose memory holds what they share,
    of all types together, as are ``least_running`` of a job that goes on with fewer where units
    are out, ``bubble`` what its pipeline costs per GPU in use, ``tensor_gpus`` are the GPUs of a
    tensor group. ``option`` names the way a replica is spread, of a job that gives several.
    ``gpus_max`` is the most whose copies of the model have a micro-batch each, None where a step
    has no number of them. Without ``drives`` the job has no local level of checkpoints there;
    ``host_copy_gb_per_s`` is what a GPU copies to its host, where the stall is derived from it.
    ``fabric`` is the number of the compute fabric that joins the systems, None without one.
    ``choice`` is the id of what the way chooses of power, precision and parallelism.
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
    bubble: float = 0.0
    option: str | None = None
    gpus_max: int | None = None
    fabric: int | None = None
    choice: str = ""

    @property
    def standing(self) -> str:
        """The name of the count of systems that stand at this way's set point."""
        return f"at.{self.id}"

    @property
    def least_gpus(self) -> int:
        """The fewest GPUs that the job can use in this way."""
        return self.min_replicas * self.replica_gpus if self.replica_gpus else 1

    def most_gpus(self, systems: int) -> int:
        """Return the most GPUs that the job can use of so many systems."""
        return systems * self.usable_gpus // self.step_gpus * self.step_gpus

    def systems_for(self, gpus: int) -> int:
        """Return the fewest systems that hold so many GPUs in use."""
        return ceil(gpus / self.usable_gpus)


@dataclass(frozen=True)
class System(Offer):
    """A GPU system, and the ways in which the job may run on it: the first is as it is sold.

    ``fabrics`` are the numbers of the compute fabrics that it may join, rising; ``designs`` names
    of each the switch, with planes and oversubscription where they are open, too. ``options`` names
    the ways to spread a replica that find a place on it, of a job with several.
    """

    gpus: int
    ways: tuple[Way, ...]
    client_write_gb_per_s: float
    client_read_gb_per_s: float
    fabrics: tuple[int, ...] = ()
    designs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def wired(self, fabric: int) -> str:
        """Return the name of the count of its systems that a compute fabric joins."""
        return f"on.{self.id}.compute{fabric}" if len(self.fabrics) > 1 else self.id

    def way(self, chosen: Collection[str] = ()) -> Way:
        """Return the way that is among those chosen, by id; the first where none is."""
        return next((way for way in self.ways if way.id in chosen), self.ways[0])

    def at(self, way: Way) -> System:
        """Return the system as it is provisioned for at a way's set point."""
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
    """A storage item; with ``segments`` its bandwidth follows a table.

    Until ``buffer_gb`` of a unit is full it takes ``burst_gb_per_s``, and it empties at the
    sustained rate. One of the bulk tier has ``bulk_tb`` and ``bulk_read_gb_per_s``, no family, and
    gives nothing to checkpoints.
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
    """A storage family with at least one item on offer."""

    id: str
    write_factor: float
    read_factor: float
    max_units: int | None
    forced: bool


NetworkName = Literal["compute", "storage", "converged", "in_band", "out_of_band"]


@dataclass(frozen=True)
class Companion(BillItem):
    """Something the plan needs of itself; its count is the sum of its terms.

    ``roles`` says of each term what it is for. Of what is ``stored`` nothing is in place: its count
    are spare parts in store.
    """

    terms: Terms
    roles: tuple[str, ...]
    racks_each: int
    stored: bool = False

    @property
    def stands(self) -> bool:
        """Say whether its count is of what stands in place: of spare parts in store it is not."""
        return not self.stored


class LeafKind(NamedTuple):
    """Leaves of one ratio: the name of their count, and their ports to devices and to spines."""

    name: str
    down: int
    up: int


@dataclass(frozen=True)
class Fabric:
    """One fabric as the model sees it, with what a report of it needs.

    ``amount`` are the endpoints as terms: systems (compute) or port parts. ``ports`` are terms of
    the links to devices. ``planes`` copies of each size are built, of ``design`` (compute);
    ``ports_per_amount`` are the ports that one of ``amount`` stands for (out of band: the ports one
    switch can serve). With ``kinds`` of leaves the sizes are those of ``bundles`` of their uplinks.
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
    kinds: tuple[LeafKind, ...] = ()
    bundles: Terms = ()


@dataclass(frozen=True)
class Positions:
    """The racks that can stand in no other groups of positions than these, and how many those take.

    With every such set within its positions each rack has one (Hall, 1935).
    """

    name: str
    label: str
    racks: Terms
    count: int


@dataclass(frozen=True)
class Companions:
    """All companions of a problem, and the counts they follow from in working order.

    ``racks`` are terms of every rack in the room; ``shared`` are the racks that network devices
    share, where there are any. ``positions`` are the sets of racks that only some positions of the
    hall take.
    """

    quantities: tuple[Quantity, ...] = ()
    items: tuple[Companion, ...] = ()
    racks: Terms = ()
    positions: tuple[Positions, ...] = ()
    shared: Packed | None = None
    shared_pdus_per_rack: int = 0
    pdus_per_rack: tuple[tuple[str, int], ...] = ()
    fabrics: tuple[Fabric, ...] = ()
    missing: tuple[str, ...] = ()

    def values(self, units: Mapping[str, int]) -> dict[str, float]:
        """Return every count that follows from the units of GPU systems and storage.

        Raises:
            ValueError: a fabric would have to be larger than three tiers can be.
        """
        values = self._counts.values(units)
        for companion in self.items:
            values[companion.id] = round(values[companion.id])
        return values

    def renamed(self, names: Mapping[str, str | None]) -> Companions:
        """Return the companions with other names of counts, and without what follows from those
        alone that have none."""
        gone = {name for name, other in names.items() if other is None}

        def left(terms: Terms) -> Terms:
            return tuple((factor, names.get(n) or n) for factor, n in terms if n not in gone)

        quantities: list[Quantity] = []
        for quantity in self.quantities:
            terms = left(quantity.terms)
            if not terms and quantity.terms:
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
            roles = zip(item.terms, item.roles, strict=True)
            kept = tuple(role for (_, name), role in roles if name not in gone)
            if kept:
                items.append(replace(item, terms=left(item.terms), roles=kept))
        fabrics = tuple(
            replace(fabric, amount=left(fabric.amount), links=left(fabric.links))
            for fabric in self.fabrics
            if left(fabric.amount)
        )
        return replace(
            self,
            quantities=tuple(quantities),
            items=tuple(items),
            racks=left(self.racks),
            positions=tuple(replace(some, racks=left(some.racks)) for some in self.positions),
            shared=next((each for each in quantities if isinstance(each, Packed)), None),
            pdus_per_rack=tuple(each for each in self.pdus_per_rack if each[0] not in gone),
            fabrics=fabrics,
        )

    @cached_property
    def _counts(self) -> Counts:
        of_items = (Sum(item.id, item.terms) for item in self.items)
        return Counts((*self.quantities, *of_items))


class IntervalRule(NamedTuple):
    """How the interval is set: ``fixed`` (low = high), ``lost_work`` (kappa) or ``optimal``."""

    policy: Literal["fixed", "lost_work", "optimal"]
    low_s: float
    high_s: float
    kappa: float


@dataclass(frozen=True)
class BandwidthRule:
    """A vendor's rule: nameplate bandwidth per so many GPUs bought, whole units of them."""

    name: str
    read_gb_per_s: float
    write_gb_per_s: float
    per_gpus: int


@dataclass(frozen=True)
class Levels:
    """The local level of checkpoints: each of ``every`` so many-th of its checkpoints may go on.

    ``remote_share`` of all interruptions need the remote level. ``keep`` checkpoints in ``copies``
    take room at a time.
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

    ``mfu`` is 1 where rates are measured ones. ``stall_s`` is the whole stall of an asynchronous
    checkpoint, or with ``derived_stall`` what comes with the copy to the hosts. ``levels`` is there
    where mode ``local`` is.
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
    one_replica_reads: bool
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
        """Share of the write bandwidth that may stage data from the bulk tier: what is left while
        checkpoints drain for the largest share of the time."""
        return 1.0 - self.max_overlap

    @property
    def progress(self) -> float:
        """Share of the time between restarts that makes progress."""
        return 1.0 - self.lost_time

    @property
    def longest_local_restart_s(self) -> float:
        """A restart from local copies with the swap that may come with it, s."""
        assert self.levels is not None
        return self.levels.local_restart_s + (0.0 if self.repair is None else self.repair.swap_s)

    def gpus_max_in(self, *ways: Way) -> int | None:
        """Return the most GPUs that may be in use where the job runs in such ways, if any."""
        given = (self.gpus_max, *(way.gpus_max for way in ways))
        return min((most for most in given if most is not None), default=None)

    def spare_systems(self, way: Way, systems: int) -> int:
        """Return the systems beside those in use that any plan can gain something from."""
        if self.repair is None or way.spare_unit.in_rack:
            return self.hot(systems)
        gpus = systems * way.usable_gpus
        most = self.repair.most_useful(way.failures_per_gpu_day, gpus)
        return ceil(most / way.spare_unit.per_system)

    def hot(self, used: int) -> int:
        """Return the hot spares of a type with ``used`` systems in use."""
        return self.hot_spares + ceil(self.hot_share * used) if used else 0

    def fan_out_terms(self, replica_gpus: int | None) -> tuple[float, float]:
        """(a, c) of the fan-out a + c * GPUs: reads of the checkpoint in one restore."""
        return fan_out_terms(self.fan_out, self.bytes_per_parameter, replica_gpus)

    def fan_out_on(self, gpus: float) -> float:
        """Reads of the checkpoint in one restore, of the job's first parallelism option."""
        once, per_gpu = self.fan_out_terms(self.replica_gpus)
        return once + per_gpu * gpus


HELD = ("least_write_gb_per_s", "most_write_gb_per_s")
"""Limits of questions about a problem, not of problem files: they hold the write bandwidth of the
storage bought, as delivered."""


class Limits(dict[str, float | None]):
    """What may be used up, and the floors: None where there is none. Nothing is changed in place.

    By `planner.limits.Limit.field`, in the units there; besides what is ``HELD``.
    """

    @classmethod
    def from_values(cls, given: Mapping[str, float | None]) -> Limits:
        """Limits by field, None where not given."""
        fields = (limit.field for limit in of_group("supply", "ratio", "target"))
        return cls(dict.fromkeys((*fields, *HELD))).with_values(**given)

    def with_values(self, **changed: float | None) -> Limits:
        """Return the limits with some of them changed.

        Raises:
            KeyError: there is no such limit.
        """
        for name in changed:
            if name not in self:
                raise KeyError(name)
        return Limits({**self, **changed})

    def given(self, name: str) -> float:
        """Return a limit that is there."""
        limit = self[name]
        assert limit is not None
        return limit


class Elastic(NamedTuple):
    """A limit that may be missed: at ``weight`` for each ``scale`` of its unit it is missed by."""

    name: str
    value: float
    scale: float
    weight: float = 1.0


OF_USEFUL_WORK = frozenset({"goodput", "useful_gpus"}) | RATIOS
"""Objectives that depend on goodput."""
NEEDS_GOODPUT = frozenset(
    limit.name for limit in of_group("target", "ratio") if limit.figure != "gpus_used"
)
"""Limits that depend on goodput."""


@dataclass(frozen=True)
class Rates:
    """What a year costs: energy per kW at the meter, colocation per kW of IT power.

    ``factor`` is how many years of running costs count in the TCO, discounted.
    """

    energy_usd_per_kw_year: float
    colocation_usd_per_kw_year: float
    years: float
    factor: float

    @property
    def hours(self) -> float:
        """Return the hours of the term."""
        return self.years * HOURS_PER_YEAR


@dataclass(frozen=True)
class Split:
    """No vendor has more than a share of the weighted units of a category."""

    weights: tuple[tuple[str, float], ...]
    vendors: tuple[tuple[str, tuple[str, ...]], ...]
    max_share: float


@dataclass(frozen=True)
class Policy:
    """What the buyer wants of vendors: each set of items is to have at least one unit."""

    required: tuple[tuple[str, ...], ...] = ()
    splits: tuple[Split, ...] = ()
    disliked: tuple[str, ...] = ()
    within: float = 0.0


@dataclass(frozen=True, eq=False)
class Case:
    """A problem ready to be optimised. Items and families are sorted by id.

    ``standing`` is what is owned, stays in place and cannot be used. Of each item in ``must_use``
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
    exact_families: int | None
    tolerate_down: int
    rule: BandwidthRule | None
    rates: Rates
    companions: Companions
    policy: Policy
    indifference: float
    not_considered: tuple[tuple[str, str], ...]
    elastic: tuple[Elastic, ...] = ()
    must_use: tuple[str, ...] = ()
    sites: tuple[str, ...] = ("site",)
    periods: tuple[int, ...] = (0,)

    @property
    def maximise(self) -> bool:
        """Say whether more of the objective is better."""
        return self.objective in OBJECTIVES and OBJECTIVES[self.objective].sense == "maximize"

    @property
    def needs_goodput(self) -> bool:
        """Say whether the objective or a floor depends on goodput."""
        asked = any(self.limits[name] is not None for name in NEEDS_GOODPUT)
        asked = asked or any(limit.name in NEEDS_GOODPUT for limit in self.elastic)
        return self.objective in OF_USEFUL_WORK or asked

    @property
    def given_away(self) -> float:
        """The largest share of the objective that may go for something else than its best."""
        return max(self.indifference, self.policy.within)

    def bought(self, units: Mapping[str, int]) -> list[Storage]:
        """Return the storage of a purchase, in its order: few items of what may be a long list."""
        places = (self._places.get(name) for name, count in units.items() if count)
        return [self.storage[place] for place in sorted(p for p in places if p is not None)]

    @cached_property
    def bursts(self) -> bool:
        """Whether some storage takes checkpoints in bursts: not where units may be down."""
        return self.tolerate_down == 0 and any(item.burst_gb_per_s for item in self.storage)

    @cached_property
    def flash(self) -> tuple[Storage, ...]:
        """The storage that checkpoints may be on."""
        return tuple(item for item in self.storage if not item.is_bulk)

    def in_bulk(self, units: Mapping[str, int]) -> tuple[float, float]:
        """Return the capacity (TB) and the delivered read bandwidth (GB/s) of the bulk tier."""
        items = [(item, units.get(item.id, 0)) for item in self.storage if item.is_bulk]
        read = sum(item.bulk_read_gb_per_s * count for item, count in items)
        return sum(item.bulk_tb * count for item, count in items), self.delivered_read * read

    @cached_property
    def _places(self) -> dict[str, int]:
        return {item.id: place for place, item in enumerate(self.storage)}

    def there(self, units: Mapping[str, int]) -> list[tuple[Offer, int]]:
        """Return the offers of which a purchase has any, each with its units."""
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
        """Everything of which only so many can be bought."""
        return tuple(item for item in self.bill_items() if item.stock is not None)

    @cached_property
    def billed(self) -> Case:
        """The case with the same bills: itself, unless `billed_as` names another."""
        return self

    def under(self, limits: Limits) -> Case:
        """Return the case under other limits, with the same companions."""
        return replace(self, limits=limits).billed_as(self)

    def billed_as(self, other: Case) -> Case:
        """Return this case, marked as having for any purchase the bill of another."""
        self.__dict__["billed"] = other.billed
        return self

    @cached_property
    def rewired(self) -> tuple[System, ...]:
        """The GPU systems that may join more than one compute fabric."""
        return tuple(system for system in self.systems if len(system.fabrics) > 1)

    @cached_property
    def design_of(self) -> Mapping[int, str]:
        """The design of each compute fabric: types with other ports may have one of the same."""
        return {
            fabric: design
            for system in self.systems
            for fabric, design in zip(system.fabrics, system.designs, strict=True)
        }

    @cached_property
    def _design_by_way(self) -> dict[str, tuple[str, str]]:
        return {
            way.id: (system.id, self.design_of[way.fabric])
            for system in self.systems
            for way in system.ways
            if way.fabric is not None
        }

    def fabric_of(self, system: System, ways: Iterable[str]) -> int | None:
        """Return the compute fabric that joins a type where the job runs in some ways.

        That of its own way; else one of the job's design where it may join such, or its first.
        """
        chosen = [self._design_by_way[name] for name in ways if name in self._design_by_way]
        own = [design for owner, design in chosen if owner == system.id]
        others = (design for _, design in chosen if design in system.designs)
        design = next(iter((*own, *others, *system.designs)), None)
        return None if design is None else system.fabrics[system.designs.index(design)]

    def wired(self, units: Mapping[str, int], ways: Collection[str]) -> Mapping[str, int]:
        """Return units and the systems that each compute fabric joins: what companions follow from.

        Args:
            ways: the ways in which the job runs, by id.
        """
        return self.joined(units, tuple(self.fabric_of(each, ways) for each in self.rewired))

    def joined(
        self, units: Mapping[str, int], fabrics: tuple[int | None, ...]
    ) -> Mapping[str, int]:
        """Return the same where each type that may join several is in one of these fabrics."""
        if not fabrics:
            return units
        counts = dict(units)
        for system, chosen in zip(self.rewired, fabrics, strict=True):
            for fabric in system.fabrics:
                count = units.get(system.id, 0) if fabric == chosen else 0
                counts[system.wired(fabric)] = count
        return counts

    def companions_in(self, ways: Collection[str]) -> Companions:
        """Return the companions where the job runs in some ways: those of the fabrics that are
        built then, and counts of units alone."""
        names: dict[str, str | None] = {}
        for system in self.rewired:
            joined = self.fabric_of(system, ways)
            for fabric in system.fabrics:
                names[system.wired(fabric)] = system.id if fabric == joined else None
        return self.companions.renamed(names) if names else self.companions

    def keys(self, sku: str) -> tuple[Key, ...]:
        """Return what the counts of an item are of: each site in each period."""
        return tuple(Key(sku, site, period) for site in self.sites for period in self.periods)

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """Every way of every GPU system, in their order."""
        return tuple(way for system in self.systems for way in system.ways)

    @cached_property
    def unplaced(self) -> Mapping[str, tuple[str, ...]]:
        """By way, the GPU systems on which a replica spread like that finds no place, if any.

        None of them is in the cluster of a job that runs so, not even idle: where that is the
        only way to spread a replica they are not on offer.
        """
        found = {
            way.id: tuple(s.id for s in self.systems if way.option not in s.options)
            for way in self.ways
            if way.option is not None
        }
        return {name: ids for name, ids in found.items() if ids}

    @cached_property
    def capped(self) -> Mapping[str, tuple[System, Way]]:
        """Ways that are provisioned for another power than the system's own, by id."""
        pairs = ((system, way) for system in self.systems for way in system.ways)
        return {way.id: (system, way) for system, way in pairs if way.power_share != 1.0}

    @cached_property
    def by_every(self) -> tuple[Case, ...]:
        """The case with each k alone, each k-th local checkpoint going on to storage."""
        levels = self.job.levels
        if levels is None or len(levels.every) == 1:
            return (self,)
        alone = (replace(levels, every=(k,)) for k in levels.every)
        return tuple(replace(self, job=replace(self.job, levels=each)) for each in alone)

    def of_any_size(self) -> Case:
        """Return the case without what it asks for at least of GPUs in use."""
        if self.job.gpus_min == 1 and not any(way.min_replicas for way in self.ways):
            return self
        systems = (
            replace(system, ways=tuple(replace(way, min_replicas=0) for way in system.ways))
            for system in self.systems
        )
        return replace(self, systems=tuple(systems), job=replace(self.job, gpus_min=1))

    def in_use(self, used: Mapping[str, int], ways: Collection[str]) -> list[tuple[System, Way]]:
        """Return the GPU systems in use, each with the way that is chosen of it."""
        return [(system, system.way(ways)) for system in self.systems if used.get(system.id)]

    def offers(self) -> tuple[Offer, ...]:
        """Return everything that may be bought, and what is owned and only stands there."""
        return (*self.systems, *self.storage, *self.standing)

    def bill_items(self) -> tuple[BillItem, ...]:
        """Return everything that can stand in the bill: offers, then their companions."""
        return (*self.offers(), *self.companions.items)

    def million_tokens_per_pflops(self) -> float:
        """Return the million tokens that a useful PFLOP/s trains in the term."""
        assert self.job.active_parameters is not None
        seconds = self.rates.hours * 3600.0
        return 1e15 * seconds / (6.0 * self.job.active_parameters) / 1e6

    def days_at_one_pflops(self) -> float:
        """Return the days to train at one useful PFLOP/s."""
        assert self.job.active_parameters is not None
        assert self.job.tokens is not None
        return 6.0 * self.job.active_parameters * self.job.tokens / 86_400.0 / 1e15

    def useful_pflops_floor(self) -> float | None:
        """Return the floor on useful PFLOP/s that the targets imply, or None."""
        floors = []
        if self.limits["min_useful_pflops"] is not None:
            floors.append(self.limits["min_useful_pflops"])
        days = self.limits["max_days_to_train"]
        if days is not None:
            floors.append(self.days_at_one_pflops() / days)
        return max(floors) if floors else None
