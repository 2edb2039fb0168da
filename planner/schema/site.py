"""The site: its power and how it is fed, racks, cooling, floor."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from planner import units
from planner.schema.base import (
    Identifier,
    Length,
    LengthOrZero,
    Model,
    PositiveWhole,
    Power,
    PowerOrZero,
    RackUnits,
    Share,
    Unit,
    Weight,
    Whole,
)

PueNumber = Annotated[float, Unit(units.NUMBER, low=1.0, high=5.0)]
Redundancy = Literal["N", "N+1", "2N"]


class Pdu(Model):
    """The rack PDU, and how much of them may fail."""

    item: Identifier
    redundancy: Redundancy = "N"


class Rack(Model):
    """One rack position: its limits, and the power limit of a product that is a rack.

    ``item`` and ``pdu`` are bought for every rack; without them racks are the site's.
    """

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


def _no_groups(value: object) -> object:
    if isinstance(value, (list, tuple)):
        raise ValueError(
            "groups of rack positions are gone; give the number of racks, and the power of dense "
            "ones as rack_classes.gpu.power or rack.whole_rack_power"
        )
    return value


class Pue(Model):
    """Power usage effectiveness by where the heat goes."""

    air: PueNumber
    liquid: PueNumber


def _pue_kind(value: object) -> str:
    return "by_cooling" if isinstance(value, (dict, Pue)) else "number"


AnyPue = Annotated[
    Annotated[PueNumber, Tag("number")] | Annotated[Pue, Tag("by_cooling")],
    Discriminator(_pue_kind),
]


class Feeds(Model):
    """Feeds of the hall: remaining power when one (N+1) or half of them (2N) fail."""

    count: PositiveWhole
    power_kw: Power = Field(alias="power")
    redundancy: Redundancy = "N"

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.redundancy == "2N" and self.count % 2:
            raise ValueError(f"2N needs an even count of feeds, not {self.count}")
        if self.redundancy == "N+1" and self.count < 2:
            raise ValueError("redundancy N+1 needs at least 2 feeds")
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
    """How racks stand, for the lengths of cables: rows of so many, side by side.

    Racks are numbered along the first row, then the next. A cable between racks rises by ``riser``
    above its rack at each end, and runs along rows and across them; ``slack`` is a share more.
    With ``rows``, how many there are, the longest run is known before anything is placed: links are
    then planned with modules that reach it, and the bill lists their cables by length.
    """

    racks_per_row: PositiveWhole
    rows: PositiveWhole | None = None
    rack_width_m: Length = Field(alias="rack_width")
    row_pitch_m: Length = Field(alias="row_pitch")
    riser_m: LengthOrZero = Field(alias="riser")
    slack: Share = 0.0


class Site(Model):
    """Where the cluster stands: the power feed, its overhead and the room."""

    facility_power_kw: Power | None = Field(default=None, alias="facility_power")
    it_power_kw: Power | None = Field(default=None, alias="it_power")
    pue: AnyPue
    feeds: Feeds | None = None
    racks: Annotated[Whole, BeforeValidator(_no_groups)] | None = None
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
        if self.racks is not None and self.rack is None:
            raise ValueError("racks needs rack: {height: 48 RU, power: 45 kW}")
        if self.floor is not None and self.floor.rows is not None:
            places = self.floor.rows * self.floor.racks_per_row
            if self.racks is None:
                raise ValueError("floor.rows needs racks: how many the hall takes")
            if self.racks > places:
                raise ValueError(f"racks is {self.racks}; floor has places for {places}")
        if self.rack is None and self.rack_classes != RackClasses():
            raise ValueError("rack_classes needs rack: {height: 48 RU, power: 45 kW}")
        return self
