"""The plan, which every output reads, and why there is none.

Additive changes only, else ``schema_version`` counts up.
"""

from typing import Annotated, Literal

from pydantic import Field

from planner.currency import USD, Currency
from planner.schema.base import (
    Customer,
    Discounted,
    InItsUnit,
    InUnit,
    Listed,
    Net,
    PlanModel,
    Shown,
)
from planner.schema.beside import StorageOptions
from planner.schema.catalog import Category, Confidence, Lifecycle, Precision
from planner.schema.infeasibility import Infeasibility
from planner.schema.prices import ShownIn

SCHEMA_VERSION = 1
DEFAULT_GAP = 2e-6
"""It covers the proof and what preferring the cheaper of equally good plans may give away."""

Status = Literal["optimal", "feasible", "infeasible", "unbounded", "no_solution"]
Section = Literal[
    "Compute",
    "Storage",
    "Network",
    "Optics & cables",
    "Racks & power",
    "Software",
    "Services",
    "Components",
]
RackClassName = Literal["gpu", "storage", "network"]


def _is_none(value: object) -> bool:
    return value is None


def _is_empty(value: object) -> bool:
    return not value


def _is_default_gap(value: object) -> bool:
    return value == DEFAULT_GAP


class PriceNote(PlanModel):
    """Source of a unit price and the expected range of a quote, list and per year.

    An end that is not known is the price itself. ``currency`` is that of the list price where it is
    not USD.
    """

    source: str
    date: str
    confidence: str
    book: str
    note: str | None = None
    low_usd: float | None = Field(default=None, exclude_if=_is_none)
    high_usd: float | None = Field(default=None, exclude_if=_is_none)
    per_year_low_usd: float | None = Field(default=None, exclude_if=_is_none)
    per_year_high_usd: float | None = Field(default=None, exclude_if=_is_none)
    valid_until: str | None = Field(default=None, exclude_if=_is_none)
    currency: str | None = Field(default=None, exclude_if=_is_none)


class Line(PlanModel):
    """One line of the bill of materials. None means not known, never zero.

    ``parent`` is the SKU of the bundle a component belongs to; a component's money is in its
    parent's line and its power, height and weight are informative (also in the parent's).
    ``quantity`` is in place, ``idle`` of them owned units outside the cluster: they draw power and
    take racks, but give nothing. ``purchased`` are the units bought, cold ``spares`` and whole
    packs included, less what is installed. Cables, racks and software draw nothing: 0, not None.
    ``role`` is the purpose of a companion. ``support_share`` is support per year as a share of the
    net price, None where it is an amount. Support is paid for ``support_years`` of the term, from
    ``support_from_years`` on, after the included support. ``units_per_rack`` is how
    many units stand in one rack; None where a unit takes several racks, or shares them with others.
    ``support_level`` is the kind of support, where price book or problem name one; ``lifecycle`` is
    told where it is not available, ``min_order`` where there is one. ``public_notes`` stand in
    every edition; ``notes`` stay inside.
    """

    sku: Customer[str]
    site: Customer[str] = "site"
    period: Customer[int] = 0
    parent: Customer[str | None] = None
    section: Customer[Section]
    vendor: Customer[str]
    model: Customer[str]
    part_number: Customer[str | None]
    description: Customer[str | None]
    quantity: Customer[int]
    installed: Customer[int] = 0
    purchased: Customer[int]
    unit_list_usd: Listed[float | None]
    discount: Discounted[float]
    unit_net_usd: Net[float | None]
    extended_list_usd: Listed[float | None]
    extended_net_usd: Net[float | None]
    support_usd_per_year: Net[float | None]
    price: PriceNote | None
    lead_time: Customer[str | None] = None
    unit_it_power_kw: Customer[float | None]
    it_power_kw: Customer[float | None]
    unit_heat_btu_per_h: Customer[float | None]
    heat_btu_per_h: Customer[float | None]
    unit_rack_units: Customer[float | None]
    rack_units: Customer[float | None]
    racks: Customer[int | None]
    unit_weight_kg: Customer[float | None]
    weight_kg: Customer[float | None]
    gpus: Customer[int] = 0
    read_gb_per_s: Customer[float] = 0.0
    write_gb_per_s: Customer[float] = 0.0
    usable_tb: Customer[float | None] = None
    bulk_tb: Customer[float] = Field(default=0.0, exclude_if=_is_empty)
    notes: tuple[str, ...] = ()
    category: Customer[Category | Literal[""]] = ""
    role: Customer[str | None] = None
    unit: Customer[str] = "each"
    spares: Customer[int] = 0
    pack: Customer[int] = 1
    subscription_usd_per_year: Net[float | None] = None
    support_years: float | None = None
    support_from_years: float = 0.0
    lead_time_days: Customer[float | None] = None
    liquid_share: Customer[float] = 0.0
    facility_power_kw: Customer[float | None] = None
    unit_typical_power_kw: Customer[float | None] = None
    typical_power_kw: Customer[float | None] = None
    rack_class: Customer[RackClassName | None] = None
    support_share: Discounted[float | None] = None
    unit_subscription_list_usd: Discounted[float | None] = None
    units_per_rack: Customer[int | None] = None
    idle: Customer[int] = 0
    support_level: str | None = Field(default=None, exclude_if=_is_none)
    lifecycle: Customer[Lifecycle | None] = Field(default=None, exclude_if=_is_none)
    min_order: Customer[int | None] = Field(default=None, exclude_if=_is_none)
    country_of_origin: Customer[str | None] = Field(default=None, exclude_if=_is_none)
    hs_code: Customer[str | None] = Field(default=None, exclude_if=_is_none)
    export_class: Customer[str | None] = Field(default=None, exclude_if=_is_none)
    warranty_years: Customer[float | None] = Field(default=None, exclude_if=_is_none)
    public_notes: Customer[tuple[str, ...]] = Field(default=(), exclude_if=_is_empty)

    @property
    def is_percentage(self) -> bool:
        """Whether it counts every 100 USD of hardware, so that its price is no amount of cents."""
        return self.unit.startswith("100 USD")

    @property
    def working(self) -> int:
        """Units in the cluster: those in place without owned ones that stand idle."""
        return self.quantity - self.idle


class PartByLength(PlanModel):
    """Quantity of one part in one length, within a line of the bill.

    ``counted_as`` is the SKU of that line: its own, or that of the fibres in whose place copper
    goes, ``in_place_of`` of them for each. ``length_m`` is as sold, None of a transceiver and of a
    link whose end has no place. ``unit_net_usd`` is its net price; the money is in the line.
    """

    counted_as: Customer[str]
    sku: Customer[str]
    vendor: Customer[str]
    model: Customer[str]
    part_number: Customer[str | None]
    category: Customer[str]
    length_m: Customer[float | None]
    quantity: Customer[int]
    in_place_of: Customer[int] = 1
    unit_net_usd: Net[float | None] = None


class Totals(PlanModel):
    """Sums over the lines; None where a line's figure is not known.

    ``typical_power_kw`` takes the maximum where a line's typical draw is not known. The two ratios
    are None without a term (the second also without what is trained). ``critical_skus`` are the
    purchases with the longest lead time.
    """

    gpus: Customer[int]
    gpus_used: Customer[int]
    it_power_kw: Customer[float | None]
    facility_power_kw: Customer[float | None]
    heat_btu_per_h: Customer[float | None]
    rack_units: Customer[float | None]
    racks: Customer[int | None]
    weight_kg: Customer[float | None]
    capex_usd: Net[float | None]
    support_usd_per_year: Net[float | None]
    energy_usd_per_year: float | None
    opex_usd_per_year: float | None
    tco_usd: float | None
    read_gb_per_s: Customer[float]
    write_gb_per_s: Customer[float]
    usable_tb: Customer[float | None]
    typical_power_kw: Customer[float | None] = None
    heat_air_kw: Customer[float | None] = None
    heat_liquid_kw: Customer[float | None] = None
    heat_air_btu_per_h: Customer[float | None] = None
    heat_liquid_btu_per_h: Customer[float | None] = None
    subscriptions_usd_per_year: Net[float | None] = None
    colocation_usd_per_year: float | None = None
    usd_per_useful_gpu_hour: float | None = None
    usd_per_million_tokens: float | None = None
    lead_time_days: Customer[float | None] = None
    critical_skus: Customer[tuple[str, ...]] = ()
    capex_by_section_usd: Net[dict[str, float]] = {}


class Device(PlanModel):
    """A device in a rack: its lowest position (1 is the bottom), height and draw."""

    sku: Customer[str]
    position_ru: Customer[float]
    rack_units: Customer[float]
    it_power_kw: Customer[float]
    weight_kg: Customer[float | None]


class RackGroup(PlanModel):
    """``count`` racks with the same content, numbered from ``first`` on over the whole plan.

    A product that is a rack of its own stands in it as one device of the rack's height.
    """

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
    """One fabric: its switches by tier, its links, and how evenly they are spread.

    ``endpoints`` are ports of devices (of all planes), in parts of a base port where speeds differ
    (``parts_per_port`` to one). Links are counted over all planes; cables may carry several.
    """

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


class Loss(PlanModel):
    """Where wall-clock time goes, as shares of it; the parts sum to 1 - goodput.

    Swaps of failed hardware count in ``restart``; ``waiting`` is for repairs. ``other`` is lost
    besides failures and checkpoints.
    """

    stall: Customer[float]
    rework: Customer[float]
    drain: Customer[float]
    restart: Customer[float]
    restore: Customer[float]
    waiting: Customer[float] = Field(default=0.0, exclude_if=_is_empty)
    other: Customer[float] = Field(default=0.0, exclude_if=_is_empty)


class FailureClass(PlanModel):
    """A class of interruptions: its share of all, and the level the job comes back from."""

    name: str
    share: Customer[float]
    recovers: Customer[Literal["yes", "peer", "no"]]
    level: Customer[Literal["local", "remote"]]


class LocalPlan(PlanModel):
    """The local level of checkpoints, saved every ``JobPlan.interval_s``.

    Each ``every``-th local checkpoint drains on to storage (``drain_s``), every
    ``remote_interval_s``. A local one is safe ``drain_s`` after its stall. ``remote_share`` of all
    interruptions need the remote level: those of classes no local copy survives. ``part_gb`` is
    what one system writes per checkpoint with its peers' copies; ``room_tb`` what it holds of them.
    Of several GPU types in use each figure is the worst one's.
    """

    every: Customer[int]
    remote_interval_s: Customer[float]
    drain_s: Customer[float]
    restart_s: Customer[float]
    remote_share: Customer[float]
    classes: Customer[tuple[FailureClass, ...]]
    copies: Customer[int]
    keep: Customer[int]
    remote_drain: Customer[Literal["continues", "restarts"]]
    write_gb_per_s: Customer[float]
    part_gb: Customer[float]
    room_tb: Customer[float]
    capacity_tb: Customer[float]
    volume_tb_per_day: Customer[float]
    endurance_tb_per_day: Customer[float | None]


class StallPlan(PlanModel):
    """Parts of a derived stall: copy of a GPU's part to its host, and the rest.

    ``copy_gb_per_s`` is the slowest type's.
    """

    overhead_s: Customer[float]
    gpu_gb: Customer[float]
    copy_gb_per_s: Customer[float]
    copy_s: Customer[float]


class ShrunkPlan(PlanModel):
    """Average of a job in elastic training with fewer replicas while units are in repair.

    ``running`` is the share of its replicas that run, over all time, and ``failing`` the share of
    the failures of all of them that the work of those sees: the job's ``mtti_s`` counts these. For
    ``short_h_per_year`` fewer than all replicas run, for ``stopped_h_per_year`` fewer than
    ``least_replicas`` could, so that none does. ``restarts_per_year`` bring replicas back: each is
    planned, at a capture, and takes ``restart_s`` until it is safe and the job computes again.
    ``late`` is the loss while units that are back wait for that capture, or a failure, as a
    share of the work of all replicas.
    """

    running: Customer[float]
    failing: Customer[float]
    least_replicas: Customer[int]
    restarts_per_year: Customer[float]
    restart_s: Customer[float]
    short_h_per_year: Customer[float]
    stopped_h_per_year: Customer[float]
    late: Customer[float] = 0.0


class Repair(PlanModel):
    """Hardware in repair, and its spares.

    ``unit`` is the repair unit, of ``unit_gpus`` GPUs: a GPU system, or a tray of one.
    ``spares`` of them stand by, in any system of the type or, where they are ``in_rack``, in each
    system in use for it alone (then ``availability`` is a lower bound). ``load`` is how many units
    would be out on average if the job never waited, ``units_out`` how many are. A job that goes
    on with fewer replicas is ``shrunk``: ``availability`` and ``waiting_h_per_year`` then count
    what that takes of the work of all replicas, as if the whole job waited for so long.
    ``hardware_share`` of the interruptions take a unit out for ``repair_s`` on average, and make
    the restart longer by ``swap_s``. ``next_spare_gpus`` is the gain of one more spare to the
    useful GPUs, None in racks. ``decided`` is False where the problem gives the number of spares;
    where they are decided, ``other_waiting_h_per_year`` is what the same purchase would wait if
    ``other_unit`` were swapped instead: whole systems for trays, or trays where they are known.
    """

    unit: Customer[Literal["system", "tray"]]
    unit_gpus: Customer[int]
    in_rack: Customer[bool]
    spares: Customer[int]
    decided: Customer[bool]
    hardware_share: Customer[float]
    repair_s: Customer[float]
    swap_s: Customer[float]
    load: Customer[float]
    availability: Customer[float]
    units_out: Customer[float | None]
    waiting_h_per_year: Customer[float]
    next_spare_gpus: Customer[float | None]
    other_unit: Customer[Literal["system", "tray"] | None]
    other_waiting_h_per_year: Customer[float | None]
    shrunk: Customer[ShrunkPlan | None] = Field(default=None, exclude_if=_is_none)


def _is_one(value: object) -> bool:
    return value == 1.0


class WayPlan(PlanModel):
    """How the job runs on one type of GPU system, where the problem leaves that to the plan.

    The GPUs are capped at ``gpu_cap`` of their rated power, ``gpu_limit_w`` each, so that a system,
    rated ``rated_it_power_kw``, is provisioned for ``power_share`` of it. That leaves
    ``throughput`` of the job's rate, between ``throughput_low`` and ``throughput_high``, says
    ``curve``; None at full power. ``rate_tflops`` was measured on ``rate_gpus`` GPUs, says
    ``rate_source`` (``assumed``: nobody did), its published range from ``rate_low_tflops`` to
    ``rate_high_tflops``; None where the rate is the peak times an MFU. A replica is spread over
    ``tensor`` times ``pipeline`` times ``context`` GPUs, which leaves ``option_factor`` of the
    rate; at least ``min_replicas`` hold its state. Of a mixture of experts ``expert_parameters``
    are spread over ``experts`` groups of ``expert_tensor`` GPUs (None: of ``tensor``) in a stage.
    """

    id: Customer[str]
    gpu_type: Customer[str]
    precision: Customer[Precision]
    gpu_cap: Customer[float]
    gpu_limit_w: Customer[float | None]
    power_share: Customer[float]
    rated_it_power_kw: Customer[float | None]
    throughput: Customer[float]
    throughput_low: Customer[float]
    throughput_high: Customer[float]
    curve: str | None = None
    curve_confidence: Confidence | None = None
    curve_note: str | None = None
    rate_tflops: Customer[float | None] = None
    rate_low_tflops: Customer[float | None] = None
    rate_high_tflops: Customer[float | None] = None
    rate_gpus: Customer[int | None] = None
    rate_source: str | None = None
    rate_confidence: Confidence | None = None
    rate_note: str | None = None
    tensor: Customer[int | None] = None
    pipeline: Customer[int | None] = None
    context: Customer[int] = 1
    min_replicas: Customer[int] = 1
    option_factor: Customer[float] = 1.0
    experts: Customer[int] = Field(default=1, exclude_if=_is_one)
    expert_tensor: Customer[int | None] = Field(default=None, exclude_if=_is_none)
    expert_parameters: Customer[float | None] = Field(default=None, exclude_if=_is_none)


class BurstPlan(PlanModel):
    """How storage takes checkpoints in bursts, delivered: the rate until ``buffer_gb`` beyond the
    sustained rate are held, and the shortest interval in which buffers are empty again."""

    write_gb_per_s: Customer[float]
    sustained_gb_per_s: Customer[float]
    buffer_gb: Customer[float]
    recovery_s: Customer[float]


class BulkPlan(PlanModel):
    """The bulk tier: data set, milestones and exports, beside the flash tier.

    Training data leaves it at up to ``read_gb_per_s`` and is staged on flash at up to
    ``staging_gb_per_s``, beside checkpoints.
    """

    dataset_tb: Customer[float]
    archives_tb: Customer[float]
    staged_tb: Customer[float]
    needed_tb: Customer[float]
    usable_tb: Customer[float]
    read_gb_per_s: Customer[float]
    staging_gb_per_s: Customer[float]


class JobPlan(PlanModel):
    """How the job runs on the plan: every figure of the sizing model, and its inputs.

    ``checkpoints_held`` counts the one being written; ``other_data_tb`` are data set and exports.
    ``max_overlap`` limits the async, ``max_blocking`` the sync mode, whichever the plan is in.
    The job uses at most ``per_system_gpus`` of a system; ``usable_gpus_by_type`` are the GPUs of
    one system that its replicas can fill, ``idle_gpus`` those of systems in use that they do not.
    In the ``ways`` it runs, a GPU does ``rate_share`` of the rate: what its set point and, alone,
    ``scale_share``, the law of scale, leave of it.
    ``lost_time`` is the share of the time between restarts without progress.
    ``goodput`` is too low by ``goodput_understated``, a share of time: it charges a slowed drain to
    the first interval after each restart, which has none.
    """

    name: str
    gpu_type: Customer[str]
    gpu_types: Customer[tuple[str, ...]]
    storage_family: Customer[str | None]
    storage_families: Customer[tuple[str, ...]]
    mode: Customer[Literal["async", "sync"]]
    gpus_used: Customer[int]
    systems_used: Customer[int]
    systems_by_type: Customer[dict[str, int]] = {}
    replica_gpus: Customer[int | None]
    replicas: Customer[float | None]
    tflops_per_gpu: Customer[float]
    mfu: Customer[float | None]
    failures_per_gpu_day: Customer[float]
    checkpoint_gb: Customer[float]
    delivered_write_gb_per_s: Customer[float]
    delivered_read_gb_per_s: Customer[float]
    write_limited_by: Customer[Literal["appliances", "clients"]]
    read_limited_by: Customer[Literal["appliances", "clients"]]
    client_write_limit_gb_per_s: Customer[float]
    client_read_limit_gb_per_s: Customer[float]
    writing_systems: Customer[int]
    reading_systems: Customer[int]
    interval_s: Customer[float]
    interval_policy: Customer[Literal["fixed", "optimal"]]
    young_s: Customer[float]
    daly_s: Customer[float]
    exact_s: Customer[float]
    stall_s: Customer[float]
    drain_s: Customer[float]
    overlap: Customer[float]
    blocking: Customer[float]
    fan_out: Customer[float]
    restore_s: Customer[float]
    restart_s: Customer[float]
    drain_slowdown: Customer[float]
    mtti_s: Customer[float]
    goodput: Customer[float]
    goodput_first_order: Customer[float]
    loss: Customer[Loss]
    useful_gpus: Customer[float]
    useful_pflops: Customer[float | None]
    days_to_train: Customer[float | None]
    ingest_gb_per_s: Customer[float]
    capacity_needed_tb: Customer[float]
    write_volume_tb_per_day: Customer[float]
    hot_spare_systems: Customer[int] = 0
    tolerate_down: Customer[int] = 0
    degraded_write_gb_per_s: Customer[float | None] = None
    degraded_read_gb_per_s: Customer[float | None] = None
    degraded_drain_s: Customer[float | None] = None
    degraded_overlap: Customer[float | None] = None
    degraded_restore_s: Customer[float | None] = None
    fan_out_kind: Customer[Literal["broadcast", "sharded_optimizer", "every_replica"]] = "broadcast"
    bytes_per_parameter: Customer[float | None] = None
    writers: Customer[Literal["all", "one_replica"]] = "all"
    readers: Customer[Literal["all", "one_replica"]] = "all"
    checkpoints_held: Customer[int] = 0
    other_data_tb: Customer[float] = 0.0
    tokens: Customer[float | None] = None
    active_parameters: Customer[float | None] = None
    max_overlap: Customer[float | None] = None
    max_blocking: Customer[float | None] = None
    goodput_understated: Customer[float] = 0.0
    whole_replicas: Customer[bool] = False
    tensor_gpus: Customer[int | None] = None
    per_system_gpus: Customer[int | None] = None
    usable_gpus_by_type: Customer[dict[str, int]] = {}
    idle_gpus: Customer[int] = 0
    local: Customer[LocalPlan | None] = Field(default=None, exclude_if=_is_none)
    derived_stall: Customer[StallPlan | None] = Field(default=None, exclude_if=_is_none)
    repair: Customer[Repair | None] = Field(default=None, exclude_if=_is_none)
    ways: Customer[tuple[WayPlan, ...]] = Field(default=(), exclude_if=_is_empty)
    scale_share: Customer[float] = Field(default=1.0, exclude_if=_is_one)
    rate_share: Customer[float] = Field(default=1.0, exclude_if=_is_one)
    lost_time: Customer[float] = Field(default=0.0, exclude_if=_is_empty)
    burst: Customer[BurstPlan | None] = Field(default=None, exclude_if=_is_none)
    bulk: Customer[BulkPlan | None] = Field(default=None, exclude_if=_is_none)

    @property
    def spares_move(self) -> bool:
        """Whether spares of a common pool stand by, whose number the plan decided."""
        repair = self.repair
        return repair is not None and repair.decided and not repair.in_rack

    @property
    def losses(self) -> dict[str, float]:
        """Where wall-clock time goes, by cause; repairs and other losses where stated."""
        absent = {
            name
            for name, there in (("waiting", self.repair), ("other", self.lost_time))
            if not there
        }
        return {n: getattr(self.loss, n) for n in Loss.model_fields if n not in absent}

    @property
    def to_storage_s(self) -> float:
        """The interval at which storage gets checkpoints: with a local level each so many-th."""
        return self.interval_s if self.local is None else self.local.remote_interval_s

    def most_gpus(self, sku: str, systems: int) -> int:
        """Return the most GPUs that the job can use of so many systems of a type."""
        step = self.replica_gpus if self.whole_replicas and self.replica_gpus else 1
        return systems * self.usable_gpus_by_type[sku] // step * step


class LimitReport(PlanModel):
    """One limit: value, bound, whether it binds. An ``exact`` one asks
    for equality.

    ``sense`` is "<=" or ">="; ``slack`` is never negative in a verified plan. ``binding`` is True
    where the slack is too small for more GPUs of a type in use (a system, or as many as a replica
    takes), or for continuous limits below 1e-6 relative.
    """

    name: Customer[str]
    label: Customer[str]
    value: Customer[InItsUnit]
    sense: Customer[Literal["<=", ">="]]
    limit: Customer[InItsUnit]
    unit: Customer[str]
    slack: Customer[InItsUnit]
    binding: Customer[bool]
    source: str | None
    exact: Customer[bool] = False


class StepNeed(PlanModel):
    """Bound of a limit that the next step needs, in the limit's unit."""

    name: str
    label: str
    value: InItsUnit
    limit: InItsUnit
    unit: str


class NextStep(PlanModel):
    """The fewest GPU systems more that the job could use, and limits that have no room for them.

    They are of the type most of which is in place, with what comes with them and the storage as it
    is, which must do for them; ``value`` is the objective's then, at ``interval_s`` and, with a
    local level, ``every`` so many-th checkpoint to storage. The best plan under a looser limit may
    be another one.
    """

    sku: str
    systems: int
    gpus: int
    value: Annotated[float, InUnit("objective.unit")]
    interval_s: float
    every: int
    needs: tuple[StepNeed, ...]


class ProgramReport(PlanModel):
    """Proof of the plan by the integer program.

    With ``form`` tangents useful work is bounded by tangents, and ``bound`` is of every plan that
    runs in the way and with the spares of the best one; with demands the program was asked for the
    plan's own operating point; linear is a problem that asks for no useful work. ``capex_usd`` is
    the cheapest bill that is as good as the problem asks, ``capex_bound_usd`` what none passes.
    """

    form: Literal["tangents", "demands", "linear"]
    solver: str
    status: Literal["optimal", "limit"]
    value: InItsUnit | None
    bound: InItsUnit | None
    unit: str
    gap: float | None
    capex_usd: float | None
    capex_bound_usd: float | None
    capex_gap: float | None
    variables: int
    rows: int


class ObjectiveReport(PlanModel):
    """The objective with its certificate.

    ``gap`` is the proof's: from ``best``, the best value found, to ``bound``, relative to ``best``
    (share of useful work, of cost, ...). ``given_away`` is how much less than ``best`` the plan's
    own ``value`` is, as a share of ``best``: what ``indifference`` and preferred vendors took of
    it. ``best_capex_usd`` is what the cheapest plan costs that is as good as ``best``; None where
    nothing was given away. For goodput and useful GPUs ``log_value`` and ``log_bound`` are the
    natural logarithms the optimiser works with. ``program`` is the proof by the integer program.
    """

    name: Customer[str]
    sense: Customer[Literal["maximize", "minimize"]]
    value: Customer[InItsUnit | None]
    unit: Customer[str]
    bound: InItsUnit | None
    gap: float | None
    log_value: float | None = None
    log_bound: float | None = None
    gap_asked: float
    best: InItsUnit | None = None
    given_away: float | None = None
    best_capex_usd: float | None = None
    indifference: float = 0.0
    program: ProgramReport | None = Field(default=None, exclude_if=_is_none)


class Verdict(PlanModel):
    """A violation of a plan, with its cause.

    Nobody would build it for its ``goodput`` (under 80 %), a ``supply`` of which more than a
    quarter is unused though no limit binds, or its ``storage`` (over a tenth of capex); the
    ``search`` ended before the cheapest of equally good plans was chosen.
    """

    code: Literal["goodput", "supply", "storage", "search"]
    text: str


class Assumption(PlanModel):
    """One input the plan rests on: value, unit, source, confidence."""

    name: str
    label: str
    value: InItsUnit | str | None
    unit: str
    source: str
    date: str | None = None
    confidence: str | None = None
    note: str | None = None


class NotConsidered(PlanModel):
    """A catalog item that could not enter the plan, and why."""

    sku: str
    reason: str


class IdleUnits(PlanModel):
    """Installed idle units: cause, and changes that would use or retire them."""

    sku: Customer[str]
    units: Customer[int]
    reason: str
    fix: str


class Provenance(PlanModel):
    """Provenance of a plan. ``seconds`` is None for reproducible bytes.

    ``gap`` is the largest MIP gap asked for, as a share; a file states it unless it is the default.
    """

    tool: Customer[str]
    catalogs: tuple[str, ...]
    price_books: tuple[str, ...]
    problem_file: str
    scenario: str | None
    overrides: tuple[str, ...]
    input_sha256: Customer[str]
    solver: str
    versions: dict[str, str]
    iterations: int
    seconds: float | None
    gap: float = Field(default=DEFAULT_GAP, exclude_if=_is_default_gap)


class Site(PlanModel):
    """Site, budget and term for the outputs."""

    pue: Customer[float]
    it_power_limit_kw: Customer[float | None]
    facility_power_limit_kw: Customer[float | None]
    racks_limit: Customer[int | None]
    years: Customer[float | None]
    electricity_usd_per_kwh: float | None
    delivered_fraction_read: Customer[float]
    delivered_fraction_write: Customer[float]
    fill_limit: Customer[float]
    pue_liquid: Customer[float] = 1.0
    colocation_usd_per_kw_month: float = 0.0
    discount_rate: float = 0.0
    energy_basis: Customer[Literal["maximum", "typical"]] = "maximum"


class Plan(Shown, PlanModel):
    """A verified plan, or why there is none.

    ``not_counted`` lists exclusions: items the problem does not ask for.
    ``searched`` are the SKUs of GPU systems and storage that the search chose from.

    Its file is self-contained for checks: ``inputs`` are problem, catalogs and prices,
    compressed (zlib, base64); ``checksums`` are of every other part of the file, by its name. They
    show that something was changed, and are no signature.
    """

    schema_version: Customer[int] = SCHEMA_VERSION
    status: Customer[Status]
    problem: Customer[str]
    description: str | None
    message: str | None = None
    verdict: tuple[Verdict, ...] = Field(default=(), exclude_if=_is_empty)
    infeasibility: Infeasibility | None = None
    objective: Customer[ObjectiveReport]
    site: Customer[Site]
    lines: Customer[tuple[Line, ...]] = ()
    totals: Customer[Totals | None] = None
    jobs: Customer[tuple[JobPlan, ...]] = ()
    limits: Customer[tuple[LimitReport, ...]] = ()
    next_step: NextStep | None = Field(default=None, exclude_if=_is_none)
    fabrics: Customer[tuple[FabricReport, ...]] = ()
    racks: Customer[tuple[RackGroup, ...]] = ()
    assumptions: tuple[Assumption, ...] = ()
    not_considered: tuple[NotConsidered, ...] = ()
    searched: tuple[str, ...] = Field(default=(), exclude_if=_is_empty)
    idle: Customer[tuple[IdleUnits, ...]] = ()
    warnings: tuple[str, ...] = ()
    not_counted: Customer[tuple[str, ...]] = ()
    provenance: Customer[Provenance]
    storage_options: StorageOptions | None = Field(default=None, exclude_if=_is_none)
    cabling: Customer[tuple[PartByLength, ...]] = Field(default=(), exclude_if=_is_empty)
    currency: Customer[ShownIn | None] = Field(default=None, exclude_if=_is_none)
    public_notes: Customer[tuple[str, ...]] = Field(default=(), exclude_if=_is_empty)
    inputs: str | None = Field(default=None, exclude_if=_is_none)
    checksums: dict[str, str] | None = Field(default=None, exclude_if=_is_none)

    @property
    def shown_in(self) -> Currency:
        """The currency in which money is shown."""
        return USD if self.currency is None else self.currency.currency
