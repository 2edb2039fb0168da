"""The sizing model once more, in plain arithmetic; shares nothing with the workbook's formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any


def _cents(usd: float) -> float:
    return math.floor(usd * 100 + 0.5) / 100


@dataclass(frozen=True)
class Gear:
    """One product in the plan; ``parts`` are (sku, count per unit, kW, RU, kg)."""

    sku: str
    section: str
    quantity: int
    list_usd: float | None = None
    discount: float = 0.0
    installed: int = 0
    support_usd: float = 0.0
    support_share: float | None = None
    kw: float | None = 1.0
    rack_units: float | None = 2.0
    per_rack: int | None = 4
    kg: float | None = 100.0
    gpus: int = 0
    read: float = 0.0
    write: float = 0.0
    usable: float | None = None
    parts: tuple[tuple[str, int, float, float, float], ...] = ()
    vendor: str = "Vendor"
    model: str = "Model"
    part_number: str | None = "0012"
    description: str | None = None
    notes: tuple[str, ...] = ()
    category: str = ""
    role: str | None = None
    unit: str = "each"
    rack_class: str | None = None
    liquid: float = 0.0
    typical: float | None = None
    spares: int = 0
    pack: int = 1
    least: int = 0
    per_year_usd: float | None = None
    support_from: float = 0.0
    support_years: float | None = None
    lead: tuple[str, float | None] = ("8-16 weeks", None)

    @property
    def purchased(self) -> int:
        need = max(0, self.quantity + (self.spares if self.quantity else 0) - self.installed)
        packs = -(-need // self.pack) * self.pack
        return max(packs, self.least) if packs else 0

    @property
    def core(self) -> bool:
        return self.section in ("Compute", "Storage")

    @property
    def typical_kw(self) -> float | None:
        return self.kw if self.typical is None else self.typical

    @property
    def net_usd(self) -> float | None:
        if self.list_usd is None:
            return None
        return _cents(self.list_usd * (1 - self.discount))

    @property
    def support_each_usd(self) -> float:
        """Support per unit and year: an amount, or a share of the net price to the cent."""
        if self.support_share is None:
            return self.support_usd
        return _cents(self.support_share * (self.net_usd or 0.0))

    @property
    def yearly_usd(self) -> float | None:
        return (
            None if self.per_year_usd is None else _cents(self.per_year_usd * (1 - self.discount))
        )

    @property
    def racks(self) -> int | None:
        return None if self.per_rack is None else -(-self.quantity // self.per_rack)


@dataclass(frozen=True)
class Setup:
    """A cluster, its job and its site."""

    gear: tuple[Gear, ...]
    mode: str = "async"
    checkpoint_gb: float = 13800.0
    stall_s: float = 5.0
    interval_s: float = 1234.5
    failures: float = 4.74e-4
    idle: int = 0
    replica_gpus: int | None = 512
    fan_out: str = "broadcast"
    bytes_per_parameter: float = 14.0
    writers_at_most: int | None = None
    readers_at_most: int | None = None
    client_write: float = 8.0
    client_read: float = 16.0
    fraction_write: float = 0.8
    fraction_read: float = 0.9
    slowdown: float = 0.0
    restart_s: float = 600.0
    tflops: float = 989.0
    mfu: float | None = 0.4
    flop: float | None = 6 * 1.008e12 * 15e12
    ingest_per_gpu: float = 0.01
    held: int = 3
    other_data_tb: float = 298.6
    fill_limit: float = 0.85
    pue: float = 1.25
    years: float | None = 4.0
    electricity: float | None = 0.08
    pue_liquid: float | None = None
    colocation: float = 0.0
    rate: float = 0.0
    typical_energy: bool = False
    shared_racks: int = 0
    active_parameters: float | None = 1.008e12
    down: int = 0
    lost_write: float = 0.0
    lost_read: float = 0.0
    limits: dict[str, tuple[str, float, str]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    fabrics: tuple[Any, ...] = ()
    rack_groups: tuple[Any, ...] = ()

    @property
    def active(self) -> float | None:
        return self.active_parameters

    @property
    def needed_tb(self) -> float:
        return (self.other_data_tb + self.held * self.checkpoint_gb / 1000) / self.fill_limit

    def change(self, sku: str, **changes: object) -> Setup:
        """Return the set-up with one product changed."""
        gear = tuple(replace(item, **changes) if item.sku == sku else item for item in self.gear)
        return replace(self, gear=gear)


def _sum(values: list[float | None]) -> float:
    return math.fsum(value for value in values if value is not None)


def totals(setup: Setup) -> dict[str, float | None]:
    """Return the sums over the known figures of all products."""
    gear = setup.gear
    result: dict[str, float | None] = {
        "it_power_kw": _sum([g.kw and g.kw * g.quantity for g in gear]),
        "rack_units": _sum([g.rack_units and g.rack_units * g.quantity for g in gear]),
        "racks": float(sum(g.racks or 0 for g in gear) + setup.shared_racks),
        "weight_kg": _sum([g.kg and g.kg * g.quantity for g in gear]),
        "gpus": float(sum(g.gpus * g.quantity for g in gear)),
        "nameplate_read": _sum([g.read * g.quantity for g in gear]),
        "nameplate_write": _sum([g.write * g.quantity for g in gear]),
        "usable_tb": _sum([g.usable and g.usable * g.quantity for g in gear]),
        "capex_usd": _sum([g.net_usd and round(g.net_usd * g.purchased, 2) for g in gear]),
        "support": _sum([round(g.support_each_usd * g.purchased, 2) for g in gear if g.list_usd]),
    }
    power = result["it_power_kw"] or 0.0
    result["heat"] = power * 3412.14
    result["facility_power_kw"] = _sum([_metered(setup, g, g.kw) for g in gear])
    result["typical_kw"] = _sum([g.typical_kw and g.typical_kw * g.quantity for g in gear])
    result["heat_liquid"] = _sum([g.kw and g.kw * g.quantity * g.liquid for g in gear])
    result["heat_air"] = power - result["heat_liquid"]
    result["lead_days"] = max((g.lead[1] or 0.0 for g in gear if g.purchased), default=0.0)
    result["needed_tb"] = setup.needed_tb
    return result | _running(setup, result)


def _metered(setup: Setup, gear: Gear, kw: float | None) -> float | None:
    pue = setup.pue if setup.pue_liquid is None else setup.pue_liquid
    each = gear.liquid * pue + (1 - gear.liquid) * setup.pue
    return None if kw is None else kw * gear.quantity * each


def worth(start: float, end: float, rate: float) -> float:
    """Return A(start, end) as it is defined: year by year, each paid at its end."""
    return math.fsum(
        max(0.0, min(end, year) - max(start, year - 1)) / (1 + rate) ** year
        for year in range(1, math.ceil(end) + 1)
    )


def support_span(setup: Setup, gear: Gear) -> tuple[float, float]:
    """Return from when to when in the term a product's support is paid."""
    years = setup.years or 0.0
    length = years if gear.support_years is None else gear.support_years
    start = min(gear.support_from, years)
    return start, min(start + length, years)


def _running(setup: Setup, sums: dict[str, float | None]) -> dict[str, float | None]:
    """Return what is paid by the year and over the term."""
    gear = setup.gear
    result: dict[str, float | None] = {"energy": None, "opex": None, "tco": None}
    result["subscriptions"] = _sum(
        [g.yearly_usd and round(g.yearly_usd * g.purchased, 2) for g in gear]
    )
    result["colocation"] = (sums["it_power_kw"] or 0.0) * 12 * setup.colocation
    if setup.electricity is None:
        return result
    drawn = [(g, g.typical_kw if setup.typical_energy else g.kw) for g in gear]
    metered = _sum([_metered(setup, g, kw) for g, kw in drawn])
    result["energy"] = metered * 8760 * setup.electricity
    yearly = result["energy"] + (result["subscriptions"] or 0.0) + (result["colocation"] or 0.0)
    result["opex"] = yearly + (sums["support"] or 0.0)
    if setup.years is None:
        return result
    paid = _sum(
        [
            round(g.support_each_usd * g.purchased, 2) * worth(*support_span(setup, g), setup.rate)
            for g in gear
            if g.list_usd is not None
        ]
    )
    running = worth(0, setup.years, setup.rate) * yearly
    result["tco"] = (sums["capex_usd"] or 0.0) + paid + running
    return result


def job(setup: Setup) -> dict[str, float | None]:
    """Return every figure of the sizing model."""
    sums = totals(setup)
    per_system = next(g.gpus for g in setup.gear if g.gpus)
    gpus = int(sums["gpus"] or 0) - setup.idle
    systems = math.ceil(gpus / per_system)
    writing = setup.writers_at_most or systems
    reading = setup.readers_at_most or systems
    client_write, client_read = writing * setup.client_write, reading * setup.client_read
    rated_write = setup.fraction_write * (sums["nameplate_write"] or 0.0)
    rated_read = setup.fraction_read * (sums["nameplate_read"] or 0.0)
    write, read = min(rated_write, client_write), min(rated_read, client_read)
    client_data = systems * setup.client_read
    sync = setup.mode == "sync"
    save_s = setup.checkpoint_gb / write
    stall, drain = (save_s, 0.0) if sync else (setup.stall_s, save_s)
    charged = stall + setup.slowdown * drain
    mtti = 86400 / setup.failures / gpus
    replicas = gpus / setup.replica_gpus if setup.replica_gpus else None
    fan_out = _fan_out(setup, replicas)
    restore = fan_out * setup.checkpoint_gb / read
    goodput, loss = _goodput(setup, charged, drain, restore, mtti)
    pflops = gpus * setup.tflops * setup.mfu * goodput / 1000 if setup.mfu else None
    days = setup.flop / (pflops * 1e15) / 86400 if pflops and setup.flop else None
    lost = (setup.restart_s + restore + setup.interval_s / 2 + drain) / mtti
    young = math.sqrt(2 * charged * mtti)
    ratio = charged / (2 * mtti)
    return {
        "gpus": gpus,
        "systems": systems,
        "writing": writing,
        "reading": reading,
        "client_write": client_write,
        "client_read": client_read,
        "client_data": client_data,
        "data": min(rated_read, client_data),
        "write": write,
        "read": read,
        "write_by_appliances": rated_write <= client_write,
        "read_by_appliances": rated_read <= client_read,
        "stall_s": stall,
        "drain_s": drain,
        "overlap": drain / setup.interval_s,
        "blocking": stall / setup.interval_s,
        "mtti_s": mtti,
        "replicas": replicas,
        "fan_out": fan_out,
        "restore_s": restore,
        "goodput": goodput,
        "understated": setup.slowdown
        * drain
        / mtti
        * math.exp(-(setup.restart_s + restore + setup.interval_s + drain) / mtti),
        "first_order": (1 - charged / setup.interval_s) * (1 - lost),
        "young_s": young,
        "daly_s": young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - charged,
        "exact_s": mtti * _best_z(charged / mtti),
        "useful_gpus": gpus * goodput,
        "useful_pflops": pflops,
        "days": days,
        "ingest": gpus * setup.ingest_per_gpu,
        "volume": setup.checkpoint_gb * 86.4 / setup.interval_s,
        **loss,
        **_degraded(setup, sums, client_write, client_read, fan_out),
    }


def _degraded(
    setup: Setup,
    sums: dict[str, float | None],
    client_write: float,
    client_read: float,
    fan_out: float,
) -> dict[str, float | None]:
    """Return the figures with ``down`` appliances down; without any lost they are the full ones."""
    rated_write = (sums["nameplate_write"] or 0.0) - setup.lost_write
    rated_read = (sums["nameplate_read"] or 0.0) - setup.lost_read
    write = min(setup.fraction_write * rated_write, client_write)
    read = min(setup.fraction_read * rated_read, client_read)
    save_s = setup.checkpoint_gb / write
    sync = setup.mode == "sync"
    stall, drain = (save_s, 0.0) if sync else (setup.stall_s, save_s)
    return {
        "write_down": write,
        "read_down": read,
        "drain_down": save_s,
        "overlap_down": drain / setup.interval_s,
        "blocking_down": stall / setup.interval_s,
        "fits_down": stall + drain,
        "restore_down": fan_out * setup.checkpoint_gb / read,
    }


def ratios(setup: Setup) -> dict[str, float | None]:
    """Return what a useful GPU-hour and a million tokens cost over the term."""
    figures, tco = job(setup), totals(setup)["tco"]
    result: dict[str, float | None] = {"per_gpu_hour": None, "per_million": None}
    if tco is None or setup.years is None:
        return result
    hours = 8760 * setup.years
    result["per_gpu_hour"] = tco / ((figures["useful_gpus"] or 0.0) * hours)
    if figures["useful_pflops"] and setup.active_parameters:
        flop = figures["useful_pflops"] * 1e15 * hours * 3600
        result["per_million"] = tco / (flop / (6 * setup.active_parameters) / 1e6)
    return result


def _fan_out(setup: Setup, replicas: float | None) -> float:
    if replicas is None or setup.fan_out == "broadcast":
        return 1.0
    if setup.fan_out == "every_replica":
        return replicas
    size = setup.bytes_per_parameter
    return ((size - 2) + 2 * replicas) / size


def _goodput(
    setup: Setup, charged: float, drain: float, restore: float, mtti: float
) -> tuple[float, dict[str, float | None]]:
    z = setup.interval_s / mtti
    logs = {
        "stall": -math.log(1 - charged / setup.interval_s),
        "rework": math.log(math.expm1(z) / z),
        "drain": drain / mtti,
        "restart": setup.restart_s / mtti,
        "restore": restore / mtti,
    }
    total = math.fsum(logs.values())
    goodput = math.exp(-total)
    return goodput, {f"loss_{name}": log * (1 - goodput) / total for name, log in logs.items()}


def _best_z(stall_per_mtti: float) -> float:
    """Bisect z - (1 - exp(-z)) = s/M."""
    low, high = 0.0, 2 + stall_per_mtti
    for _ in range(200):
        middle = (low + high) / 2
        if middle + math.expm1(-middle) < stall_per_mtti:
            low = middle
        else:
            high = middle
    return low
