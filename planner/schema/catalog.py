"""Catalogs: products, with source and confidence of every figure. No prices."""

import math
from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator

from planner.schema import (
    Bandwidth,
    Capacity,
    Compute,
    Date,
    Identifier,
    Length,
    LinkSpeed,
    Model,
    Number,
    PositiveShare,
    PositiveWhole,
    Power,
    PowerOrZero,
    RackUnitsOrZero,
    Seconds,
    Share,
    Size,
    Text,
    Weight,
    WriteVolume,
    refuse,
)

Confidence = Literal["high", "medium", "low"]
Category = Literal[
    "gpu_system",
    "storage",
    "component",
    "switch",
    "transceiver",
    "cable",
    "rack",
    "pdu",
    "cdu",
    "management",
    "software",
    "service",
]
Precision = Literal["bf16", "fp8", "nvfp4"]
Protocol = Literal["infiniband", "ethernet"]
Lifecycle = Literal["announced", "available", "end_of_sale"]
MediaType = Literal["tlc", "qlc", "scm", "hdd"]
Basis = Literal["nameplate", "certified", "measured"]
"""Vendor's own figure, certified floor, or benchmark result."""


T = TypeVar("T")


NO_PART_NUMBER = "none public"
"""Part number of an item whose vendor publishes none."""


class Source(Model):
    """Source of a figure and its publication date; ``read`` for sources without a date."""

    title: Text
    date: Date | None = None
    read: Date | None = None
    url: Text | None = None
    note: Text | None = None


class Cited(Model):
    """A figure or table with source, confidence and derivation."""

    source: Identifier
    confidence: Confidence
    note: Text | None = None


class Figure(Cited, Generic[T]):
    """A value with source, confidence and derivation."""

    value: T


class Throughput(Figure[Bandwidth]):
    """A bandwidth with its basis (default: nameplate) and, if measured, its benchmark."""

    basis: Basis | None = None
    benchmark: Text | None = None


class Provides(Model):
    """Supply of one unit; ``write`` is sustained, ``burst_write`` holds for ``burst_window``."""

    gpus: Figure[PositiveWhole] | None = None
    read: Throughput | None = None
    write: Throughput | None = None
    burst_write: Throughput | None = None
    burst_window: Figure[Seconds] | None = None
    usable: Figure[Capacity] | None = None
    endurance: Figure[WriteVolume] | None = None
    cooling: Figure[Power] | None = None
    feed: Figure[Power] | None = None


class Consumes(Model):
    """Demand of one unit; ``liquid_share``: share of its heat that goes to liquid."""

    it_power: Figure[PowerOrZero] | None = None
    rack_units: Figure[RackUnitsOrZero] | None = None
    weight: Figure[Weight] | None = None
    racks: Figure[PositiveWhole] | None = None
    typical_power: Figure[PowerOrZero] | None = None
    liquid_share: Figure[Share] | None = None


class LinkEnd(Model):
    """A transceiver at one end of links, and its number of links."""

    item: Identifier
    links: PositiveWhole = 1


class PortSplit(Model):
    """Each port as ``into`` ports of a share of its speed, one to each plane of a fabric."""

    into: Annotated[int, Field(ge=2, le=16)]
    transceiver: LinkEnd | None = None


class Port(Cited):
    """The ports of one unit on one network; ``rails`` separate leaves.

    The ports of ``rail_group`` systems on a rail stay on one leaf. ``split``: one port to each of
    several planes; ``form``: plug, where switches have links of their own.
    """

    count: PositiveWhole
    speed_gbit_per_s: LinkSpeed = Field(alias="speed")
    rails: PositiveWhole = 1
    rail_group: PositiveWhole | None = None
    split: PortSplit | None = None
    protocol: Protocol | None = None
    transceiver: LinkEnd | None = None
    form: Identifier | None = None


class Ports(Model):
    """The ports of one unit by network."""

    compute: Port | None = None
    storage: Port | None = None
    in_band: Port | None = None
    out_of_band: Port | None = None


class Link(Model):
    """Parts of a link of a switch; an end without a transceiver is part of the cable."""

    cable: Identifier
    links: PositiveWhole = 1
    switch_end: LinkEnd | None = None
    system_end: LinkEnd | None = None


class FormLink(Link):
    """A link to ports of one form, which the usual one of a switch does not fit."""

    form: Identifier


class PortGroup(Model):
    """One use of the whole front panel: ``count`` ports of one speed, none below ``down_to``."""

    speed_gbit_per_s: LinkSpeed = Field(alias="speed")
    slowest_gbit_per_s: LinkSpeed | None = Field(default=None, alias="down_to")
    count: PositiveWhole
    link: Link | None = None
    forms: tuple[FormLink, ...] = ()

    def made_for(self, form: str | None) -> FormLink | None:
        """The link for ports of a form, or None."""
        return next((link for link in self.forms if link.form == form), None)

    def takes(self, speed_gbit_per_s: float) -> bool:
        """True if a port of a speed links with a port of the group."""
        slowest = self.slowest_gbit_per_s or 0.0
        return slowest <= speed_gbit_per_s <= self.speed_gbit_per_s


class PowerPoint(Cited):
    """A published set point: remaining share of a job's rate under a GPU power cap."""

    gpu_cap: PositiveShare
    throughput: PositiveShare
    low: PositiveShare | None = None
    high: PositiveShare | None = None
    of: Literal["training", "inference"] = Field(default="training", alias="for")
    precision: Precision | None = None

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        inside = (self.low or 0.0) <= self.throughput <= (self.high or 1.0)
        refuse((not inside, "throughput lies between low and high"))
        return self


class Achieved(Cited):
    """Model FLOP/s of a GPU in training of a model or a class (``dense``, ``moe``), measured."""

    model: Text
    precision: Precision
    gpus: PositiveWhole
    rate_tflops: Compute = Field(alias="rate")
    low_tflops: Compute | None = Field(default=None, alias="low")
    high_tflops: Compute | None = Field(default=None, alias="high")

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        inside = (self.low_tflops or 0.0) <= self.rate_tflops <= (self.high_tflops or math.inf)
        refuse((not inside, "the rate lies between low and high"))
        return self


class Switch(Cited):
    """Protocol and port groups of a switch, each the whole front panel."""

    protocol: Protocol
    ports: tuple[PortGroup, ...] = Field(min_length=1)


class Licence(Model):
    """License unit of software, and the vendors whose items need it (all by default)."""

    per: Literal["gpu", "gpu_system", "storage_unit", "usable_tb"]
    vendors: tuple[Text, ...] | None = None


class ServiceCount(Model):
    """Counting unit of a service: per order, unit, rack, cable, kW or 100 USD of hardware."""

    per: Literal[
        "order",
        "gpu_system",
        "gpu",
        "storage_unit",
        "switch",
        "cable",
        "pdu",
        "rack",
        "liquid_kw",
        "hardware",
    ]


class Gpu(Model):
    """Per-GPU properties of a GPU system."""

    memory: Figure[Size] | None = None
    bf16_dense: Figure[Compute] | None = None
    fp8_dense: Figure[Compute] | None = None
    tdp: Figure[PowerOrZero] | None = None
    failures_per_day: Figure[Number] | None = None


class LocalDrives(Model):
    """Checkpoint drives of a GPU system; ``copy``: rate of one GPU to the memory of its host."""

    write: Figure[Bandwidth] | None = None
    capacity: Figure[Capacity] | None = None
    host_copy: Figure[Bandwidth] | None = Field(default=None, alias="copy")


class SpareUnit(Model):
    """Replaceable part of a GPU system: a tray with its number of GPUs."""

    tray: Figure[PositiveWhole]


class ClientLimits(Model):
    """Client write and read limit of one GPU system."""

    write: Figure[Bandwidth] | None = None
    read: Figure[Bandwidth] | None = None


class ClientFactor(Model):
    """Factor of a family's client software on the client limits."""

    write: Figure[Number]
    read: Figure[Number]


class Component(Model):
    """A part of a bundle."""

    id: Identifier
    quantity: PositiveWhole


class Media(Cited):
    """The drives of one unit: their type and raw capacity together, before any protection."""

    type: MediaType
    raw_tb: Capacity = Field(alias="raw")
    drives: Text | None = None


class ClusterPart(Cited):
    """Something that each cluster of a family needs for itself, such as its two switches."""

    item: Identifier
    quantity: PositiveWhole


class Cluster(Model):
    """Maximum units of one cluster, and the parts of each; ``alone`` units need none of them."""

    max_units: Figure[PositiveWhole]
    alone: Figure[PositiveWhole] | None = None
    parts: tuple[ClusterPart, ...] = ()


class Family(Model):
    """One file system: the items that serve one namespace together, ``max_units`` at most."""

    id: Identifier
    vendor: Text
    name: Text
    client_factor: ClientFactor | None = None
    max_units: Figure[PositiveWhole] | None = None
    cluster: Cluster | None = None
    note: Text | None = None


class Item(Model):
    """A product as its vendor describes it; ``reach``: longest link of a transceiver or cable."""

    id: Identifier
    vendor: Text
    model: Text
    part_number: Text | None = None
    description: Text | None = None
    category: Category
    lifecycle: Lifecycle = "available"
    family: Identifier | None = None
    tier: Literal["flash", "bulk"] = "flash"
    provides: Provides = Provides.model_construct()
    consumes: Consumes = Consumes.model_construct()
    gpu: Gpu = Gpu.model_construct()
    spare_unit: SpareUnit | None = None
    client: ClientLimits = ClientLimits.model_construct()
    local: LocalDrives = LocalDrives.model_construct()
    facts: dict[Identifier, Figure[str | int | float]] = {}
    min_units: Figure[PositiveWhole] | None = None
    max_units: Figure[PositiveWhole] | None = None
    fail_units: Figure[PositiveWhole] | None = None
    power_points: tuple[PowerPoint, ...] = ()
    achieved: tuple[Achieved, ...] = ()
    ports: Ports = Ports.model_construct()
    switch: Switch | None = None
    licence: Licence | None = None
    service: ServiceCount | None = None
    media: tuple[Media, ...] = ()
    reach: Figure[Length] | None = None
    components: tuple[Component, ...] = ()
    extends: Identifier | None = None
    notes: tuple[Text, ...] = ()

    @property
    def is_bulk(self) -> bool:
        """True for storage of the bulk tier."""
        return self.tier == "bulk"

    @property
    def product(self) -> str:
        """Manufacturer and model, the manufacturer once; of a generic product the model."""
        vendor = self.vendor.casefold()
        named = vendor == "generic" or self.model.casefold().startswith(vendor)
        return self.model if named else f"{self.vendor} {self.model}"

    @property
    def is_percentage(self) -> bool:
        """True if its price is a percentage of hardware cost, not rounded to cents."""
        return self.service is not None and self.service.per == "hardware"


class Catalog(Model):
    """One catalog file after its ``extends`` are resolved."""

    catalog: Text
    sources: dict[Identifier, Source] = {}
    families: tuple[Family, ...] = ()
    items: tuple[Item, ...] = ()
