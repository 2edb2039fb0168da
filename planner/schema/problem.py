"""The problem file: site, budgets, storage rules, fabrics, policy, objective; the job is apart."""

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from planner import units
from planner.currency import USD, Currency
from planner.figures import OBJECTIVES
from planner.schema import (
    Bandwidth,
    BandwidthOrZero,
    Days,
    EnergyPrice,
    Identifier,
    Length,
    LengthOrZero,
    Model,
    Money,
    Number,
    PositiveShare,
    PositiveWhole,
    Power,
    PowerOrZero,
    PowerPrice,
    RackUnits,
    Share,
    Text,
    Unit,
    Weight,
    Whole,
    refuse,
)
from planner.schema.catalog import Category
from planner.schema.job import Job
from planner.schema.prices import CurrencyCode, Exchange

PueNumber = Annotated[float, Unit(units.NUMBER, low=1.0, high=5.0)]
Redundancy = Literal["N", "N+1", "2N"]


class Pdu(Model):
    """The rack PDU, and how much of them may fail."""

    item: Identifier
    redundancy: Redundancy = "N"


class Rack(Model):
    """Limits of one rack position; ``item`` and ``pdu`` are bought for every rack."""

    height_ru: RackUnits = Field(alias="height")
    power_kw: Power | None = Field(default=None, alias="power")
    weight_kg: Weight | None = Field(default=None, alias="weight")
    item: Identifier | None = None
    pdu: Pdu | None = None
    whole_rack_power_kw: Power | None = Field(default=None, alias="whole_rack_power")

    @property
    def whole_rack_limit_kw(self) -> float | None:
        """Power limit of a product that is a rack; by default that of any rack."""
        return self.power_kw if self.whole_rack_power_kw is None else self.whole_rack_power_kw


class RackClass(Model):
    """Racks of one class where they differ from ``site.rack``."""

    height_ru: RackUnits | None = Field(default=None, alias="height")
    power_kw: Power | None = Field(default=None, alias="power")
    weight_kg: Weight | None = Field(default=None, alias="weight")


class RackClasses(Model):
    """Racks for GPU systems, for storage, and for network and management."""

    gpu: RackClass = RackClass.model_construct()
    storage: RackClass = RackClass.model_construct()
    network: RackClass = RackClass.model_construct()


class Pue(Model):
    """Power usage effectiveness by where the heat goes."""

    air: PueNumber
    liquid: PueNumber


class Feeds(Model):
    """Feeds of the hall: remaining power when one (N+1) or half of them (2N) fail."""

    count: PositiveWhole
    power_kw: Power = Field(alias="power")
    redundancy: Redundancy = "N"

    @model_validator(mode="after")
    def _enough(self) -> Self:
        odd = self.redundancy == "2N" and self.count % 2
        refuse(
            (odd, f"2N needs an even count of feeds, not {self.count}"),
            (self.redundancy == "N+1" and self.count < 2, "N+1 needs at least 2 feeds"),
        )
        return self

    @property
    def usable_kw(self) -> float:
        """Power limit of the hall with redundancy kept, kW."""
        left = {"N": self.count, "N+1": self.count - 1, "2N": self.count // 2}
        return self.power_kw * left[self.redundancy]


class Cooling(Model):
    """CDUs of liquid cooling, and limits of the plant; no liquid: 0 kW."""

    cdu: Identifier | None = None
    redundancy: Redundancy = "N"
    air_limit_kw: Power | None = Field(default=None, alias="air_limit")
    liquid_limit_kw: PowerOrZero | None = Field(default=None, alias="liquid_limit")


class Floor(Model):
    """Layout of racks for cable lengths, ``riser`` above each end, ``slack`` as a share."""

    racks_per_row: PositiveWhole
    rack_width_m: Length = Field(alias="rack_width")
    row_pitch_m: Length = Field(alias="row_pitch")
    riser_m: LengthOrZero = Field(alias="riser")
    slack: Share = 0.0


class Site(Model):
    """Place of the cluster: power feed, overhead, room."""

    facility_power_kw: Power | None = Field(default=None, alias="facility_power")
    it_power_kw: Power | None = Field(default=None, alias="it_power")
    pue: PueNumber | Pue
    feeds: Feeds | None = None
    racks: Whole | None = None
    weight_limit_kg: Weight | None = Field(default=None, alias="weight_limit")
    rack: Rack | None = None
    rack_classes: RackClasses = RackClasses.model_construct()
    cooling: Cooling = Cooling.model_construct()
    floor: Floor | None = None

    def class_power_kw(self, own: RackClass) -> float | None:
        """Power limit of a rack class, kW; None for no limit."""
        inherits = self.rack is not None and own.power_kw is None
        return self.rack.power_kw if self.rack is not None and inherits else own.power_kw

    @property
    def pue_air(self) -> float:
        """PUE of the air-cooled load."""
        return self.pue.air if isinstance(self.pue, Pue) else self.pue

    @property
    def pue_liquid(self) -> float:
        """PUE of the liquid-cooled load."""
        return self.pue.liquid if isinstance(self.pue, Pue) else self.pue

    @property
    def facility_limit_kw(self) -> float | None:
        """Facility power limit, given or by redundancy of the feeds, kW."""
        return self.left_at_meter_kw(self.facility_power_kw)

    def left_at_meter_kw(self, stated_kw: float | None) -> float | None:
        """Facility power limit for another stated limit, kW."""
        limits = [stated_kw, self.feeds.usable_kw if self.feeds else None]
        return min((limit for limit in limits if limit is not None), default=None)

    @model_validator(mode="after")
    def _racks_have_a_size(self) -> Self:
        sized = self.racks is not None or self.rack_classes != RackClasses()
        message = "racks and rack_classes need rack: {height: 48 RU, power: 45 kW}"
        refuse((self.rack is None and sized, message))
        return self


Years = Annotated[float, Unit(units.NUMBER, high=50.0, open_low=True)]
MoreThanOne = Annotated[float, Unit(units.NUMBER, low=1.0, high=64.0)]
Indifference = Annotated[float, Unit(units.SHARE, high=0.1)]
Price = Annotated[float, Unit(units.MONEY, open_low=True)]


class Budget(Model):
    """Money that may be spent."""

    capex_usd: Money | None = Field(default=None, alias="capex")
    opex_usd_per_year: Money | None = Field(default=None, alias="opex_per_year")
    tco_usd: Money | None = Field(default=None, alias="tco")
    per_useful_gpu_hour_usd: Price | None = Field(default=None, alias="per_useful_gpu_hour")
    per_million_tokens_usd: Price | None = Field(default=None, alias="per_million_tokens")


class Term(Model):
    """Years of payment, price of energy, years of support."""

    years: Years
    electricity_usd_per_kwh: EnergyPrice = Field(alias="electricity")
    energy_basis: Literal["maximum", "typical"] = "maximum"
    colocation_usd_per_kw_month: PowerPrice = Field(default=0.0, alias="colocation")
    discount_rate: Share = 0.0
    support_years: Annotated[float, Unit(units.NUMBER, high=50.0)] | None = None


class ReadWrite(Model):
    """A share for reading and one for writing."""

    read: PositiveShare
    write: PositiveShare


class ClientLimit(Model):
    """Client write and read limit of one GPU system, before the storage client's factor."""

    write: Bandwidth | None = None
    read: Bandwidth | None = None


class CustomRule(Model):
    """A bandwidth rule of the user's own, for each GPU bought."""

    name: Text = "custom"
    read: BandwidthOrZero
    write: BandwidthOrZero


RuleName = Literal["demand", "light", "medium", "high", "good", "better", "best"]


class DriveWrites(Model):
    """Full writes of flash a day over five years (DWPD), by kind."""

    tlc: Number = 1.0
    qlc: Number = 0.5
    scm: Number = 30.0


class Storage(Model):
    """Storage requirements; ``endurance``: ``stated`` in catalogs, else from ``dwpd``."""

    delivered_fraction: ReadWrite
    fill_limit: PositiveShare = 0.85
    max_families: PositiveWhole = 1
    tolerate_down: Whole = 0
    client_limit: ClientLimit = ClientLimit.model_construct()
    rule: RuleName | CustomRule = "demand"
    endurance: Literal["derived", "stated", "off"] = "derived"
    dwpd: DriveWrites = DriveWrites.model_construct()


class Quantity(Model):
    """Bounds on one item's count, and its installed units, which stay unless they are retired."""

    fixed: Whole | None = None
    min: Whole | None = None
    max: Whole | None = None
    installed: Whole = 0
    retire: bool = False
    stock: Whole | None = None
    spares: Annotated[float, Unit(units.SHARE, high=100.0)] | None = None
    exclude: bool = False

    @property
    def in_place(self) -> int:
        """Units that are owned and stay."""
        return 0 if self.retire else self.installed

    @property
    def least(self) -> int:
        """Minimum units in place."""
        return self.min or 0 if self.fixed is None else self.fixed

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        least, most, fixed = self.min, self.max, self.fixed
        stay = f"the {self.in_place} installed stay; give at least {self.in_place}, or retire: true"
        demanded = fixed or least
        both = fixed is not None and (least is not None or most is not None)
        refuse(
            (any(n is not None and n < self.in_place for n in (fixed, most)), stay),
            (both, "fixed does not go with min or max; leave out the one or the other"),
            (most is not None and (least or 0) > most, f"min {least} is more than max {most}"),
            (self.exclude and demanded, "exclude does not go with fixed or min; leave one out"),
        )
        return self


class Consider(Model):
    """Narrow the catalogs: only these GPU systems, storage families and vendors."""

    gpu_systems: tuple[Identifier, ...] | None = None
    storage_families: tuple[Identifier, ...] | None = None
    vendors: tuple[Text, ...] | None = None
    lifecycle: tuple[Literal["announced", "available", "end_of_sale"], ...] = (
        "announced",
        "available",
    )


Maximized = Literal["goodput", "useful_gpus", "gpus"]
Minimized = Literal[
    "cost", "tco", "power", "heat", "usd_per_useful_gpu_hour", "usd_per_million_tokens"
]


class Objective(Model):
    """Objective: exactly one of the two; the cheapest of plans within ``indifference`` is taken."""

    maximize: Maximized | None = None
    minimize: Minimized | None = None
    indifference: Indifference | None = None

    @property
    def name(self) -> Maximized | Minimized:
        """Name of the measure."""
        name = self.maximize or self.minimize
        assert name is not None
        return name

    @property
    def sense(self) -> Literal["maximize", "minimize"]:
        """Direction of improvement."""
        return "minimize" if self.maximize is None else "maximize"

    @property
    def indifferent(self) -> float:
        """The share of the objective within which plans count as equal.

        None of ``minimize: cost``: the cheapest of plans that cost about the same is the best one.
        """
        if self.minimize == "cost":
            return 0.0
        if self.indifference is not None:
            return self.indifference
        money = self.minimize is not None and OBJECTIVES[self.minimize].figure.money
        return 0.0 if money else 0.005

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        names = (", ".join(get_args(each)) for each in (Maximized, Minimized))
        message = "give exactly one of maximize ({}) or minimize ({})".format(*names)
        refuse(((self.maximize is None) == (self.minimize is None), message))
        return self


class Targets(Model):
    """Floors the plan must reach, whatever the objective."""

    min_goodput: PositiveShare | None = None
    min_useful_gpus: Number | None = None
    min_useful_pflops: Number | None = None
    max_days_to_train: Days | None = None
    max_lead_time_days: Days | None = Field(default=None, alias="max_lead_time")


class Manager(Model):
    """Links of the fabric manager in a compute fabric; ``transceiver`` is at its own end."""

    slots: Whole = 0
    ports: Whole = 0
    transceiver: Identifier | None = None


class ComputeFabric(Model):
    """The fabric between the GPUs; the plan chooses among switches, planes, oversubscription."""

    switches: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    oversubscription: MoreThanOne | Annotated[tuple[MoreThanOne, ...], Field(min_length=1)] = 1.0
    planes: PositiveWhole | Annotated[tuple[PositiveWhole, ...], Field(min_length=1)] = 1
    manager: Manager = Manager.model_construct()

    @property
    def planes_allowed(self) -> tuple[int, ...]:
        """Allowed numbers of planes."""
        return self.planes if isinstance(self.planes, tuple) else (self.planes,)

    @property
    def oversubscriptions(self) -> tuple[float, ...]:
        """Allowed oversubscription ratios."""
        asked = self.oversubscription
        return asked if isinstance(asked, tuple) else (asked,)


class EthernetFabric(Model):
    """The storage or the in-band fabric: one switch model, leaves and spines."""

    switch: Identifier
    oversubscription: MoreThanOne = 1.0
    min_switches: Literal[1, 2] = 2


class StorageFabric(EthernetFabric):
    """The storage fabric; with ``carries_in_band`` in-band management is on it too."""

    carries_in_band: bool = False


class OutOfBand(Model):
    """Management ports of everything, on copper."""

    switch: Identifier
    reserve_ports: Whole = 4
    uplinks: Whole = 2


class Network(Model):
    """Fabrics of the systems; an omitted fabric is not in the bill."""

    compute: ComputeFabric | None = None
    storage: StorageFabric | None = None
    in_band: EthernetFabric | None = None
    out_of_band: OutOfBand | None = None

    @property
    def converged(self) -> StorageFabric | None:
        """The fabric of storage and in-band management together, where there is one."""
        return self.storage if self.storage is not None and self.storage.carries_in_band else None


class Extra(Model):
    """An additional item: a fixed count, or one per ``every`` units of something."""

    count: PositiveWhole | None = None
    per: Literal["gpu_system", "gpu", "storage_unit", "rack", "switch"] | None = None
    every: Annotated[int, Field(ge=1, le=1_000_000)] = 1

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        message = "give exactly one of count: 4 or per: gpu_system (with every: 32)"
        refuse(((self.count is None) == (self.per is None), message))
        return self


class Split(Model):
    """No vendor may have more than a share of the units of a category."""

    category: Literal["gpu_system", "storage"]
    max_share: PositiveShare


class Prefer(Model):
    """Vendors to buy from where it costs no more than a share of the objective."""

    vendors: Annotated[tuple[Text, ...], Field(min_length=1)]
    within: Annotated[float, Unit(units.SHARE, high=0.5)] = 0.0


class Policy(Model):
    """Vendor policy of the buyer."""

    require_vendors: tuple[Text, ...] = ()
    forbid_vendors: tuple[Text, ...] = ()
    prefer: Prefer | None = None
    split: tuple[Split, ...] = ()


class Problem(Model):
    """One problem file; ``currency`` is shown, ``exchange`` the rates to USD."""

    name: Text
    description: Text | None = None
    site: Site
    budget: Budget = Budget.model_construct()
    term: Term | None = None
    catalogs: tuple[Text, ...] | None = None
    prices: Text | tuple[Text, ...] | None = None
    consider: Consider = Consider.model_construct()
    items: dict[Identifier, Quantity] = {}
    storage: Storage
    jobs: Annotated[tuple[Job, ...], Field(min_length=1, max_length=1)]
    network: Network = Network.model_construct()
    software: tuple[Identifier, ...] = ()
    services: tuple[Identifier, ...] = ()
    extras: dict[Identifier, Extra] = {}
    spares: dict[Category, Share] = {}
    policy: Policy = Policy.model_construct()
    objective: Objective
    targets: Targets = Targets.model_construct()
    currency: CurrencyCode | None = None
    exchange: Exchange = {}

    @property
    def currencies(self) -> dict[str, Currency]:
        """The currencies that amounts may be in besides USD, by code."""
        return {code: rate.as_currency(code) for code, rate in self.exchange.items()}

    @property
    def shown_in(self) -> Currency:
        """The currency in which money is shown."""
        return self.currencies.get(self.currency or "", USD)

    def spare_share(self, item_id: str, category: Category) -> float:
        """The share of cold spares of an item: its own, or its category's."""
        own = self.items[item_id].spares if item_id in self.items else None
        return self.spares.get(category, 0.0) if own is None else own

    @property
    def job(self) -> Job:
        """The only job: several jobs on one cluster are not supported yet."""
        return self.jobs[0]
