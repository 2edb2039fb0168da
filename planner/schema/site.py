"""The site: its power and how it is fed, racks and the positions they may stand at, cooling."""

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

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


class RackPositions(Model):
    """So many positions of a hall where a rack may draw so much and be so high.

    Positions are numbered group after group; ``name`` is their prefix.
    """

    count: PositiveWhole
    power_kw: Power | None = Field(default=None, alias="power")
    height_ru: RackUnits | None = Field(default=None, alias="height")
    name: Identifier | None = None

    def takes(self, power_kw: float | None, height_ru: float | None) -> bool:
        """Say whether a rack that may draw so much and is so high may stand here."""
        strong = self.power_kw is None or (power_kw is not None and power_kw <= self.power_kw)
        return strong and (
            self.height_ru is None or height_ru is None or height_ru <= self.height_ru
        )


def _racks_kind(value: object) -> str:
    return "positions" if isinstance(value, (list, tuple)) else "number"


AnyRacks = Annotated[
    Annotated[Whole, Tag("number")]
    | Annotated[tuple[RackPositions, ...], Field(min_length=1, max_length=8), Tag("positions")],
    Discriminator(_racks_kind),
]


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
    racks: AnyRacks | None = None
    weight_limit_kg: Weight | None = Field(default=None, alias="weight_limit")
    rack: Rack | None = None
    rack_classes: RackClasses = RackClasses.model_construct()
    cooling: Cooling = Cooling.model_construct()
    floor: Floor | None = None

    @property
    def positions(self) -> tuple[RackPositions, ...]:
        """The groups of rack positions, none where racks are only counted."""
        return self.racks if isinstance(self.racks, tuple) else ()

    @property
    def rack_count(self) -> int | None:
        """How many racks the hall takes."""
        if isinstance(self.racks, tuple):
            return sum(group.count for group in self.racks)
        return self.racks

    @property
    def weakest_position_kw(self) -> float | None:
        """Power limit of a rack at every position, the default for filling racks."""
        known = [group.power_kw for group in self.positions if group.power_kw is not None]
        return min(known, default=None)

    @property
    def whole_rack_limit_kw(self) -> float | None:
        """Power limit of a product that is a rack: its own, else the strongest position."""
        if self.rack is None or self.rack.whole_rack_power_kw is not None or not self.positions:
            return None if self.rack is None else self.rack.whole_rack_limit_kw
        known = [group.power_kw for group in self.positions]
        return None if None in known else max(power for power in known if power is not None)

    def class_power_kw(self, own: RackClass) -> float | None:
        """Power limit of a rack class, kW; None for no limit."""
        given = (
            self.rack.power_kw if self.rack is not None and own.power_kw is None else own.power_kw
        )
        return self.weakest_position_kw if given is None else given

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
            if self.rack_count is None:
                raise ValueError("floor.rows needs racks: how many the hall takes")
            if self.rack_count > places:
                raise ValueError(f"racks is {self.rack_count}; floor has places for {places}")
        if self.rack is None and self.rack_classes != RackClasses():
            raise ValueError("rack_classes needs rack: {height: 48 RU, power: 45 kW}")
        return self

    @model_validator(mode="after")
    def _positions_have_own_names(self) -> Self:
        named = [group.name for group in self.positions if group.name is not None]
        for name in named:
            if named.count(name) > 1:
                raise ValueError(f"two groups of racks are named {name}; give each its own name")
        return self

    @model_validator(mode="after")
    def _racks_have_a_place(self) -> Self:
        for name in RackClasses.model_fields if self.rack is not None and self.positions else ():
            own: RackClass = getattr(self.rack_classes, name)
            assert self.rack is not None
            power, height = self.class_power_kw(own), own.height_ru or self.rack.height_ru
            if not any(group.takes(power, height) for group in self.positions):
                raise ValueError(
                    f"racks of class {name}, {height:g} RU and "
                    f"{'any power' if power is None else f'up to {power:g} kW'}, fit no position; "
                    f"give rack_classes.{name} a power and a height that one has"
                )
        return self
