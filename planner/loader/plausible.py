"""Plausibility bands of catalog figures and prices: ratios that no product on the market leaves.

Each band is about twice as wide as the range of the shipped catalogs, so that a slip of a factor of
two to ten shows. A figure outside is a warning: new products may leave a band.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from planner.schema.catalog import Item
from planner.schema.prices import Price


class Band(NamedTuple):
    """The usual range of a figure, or of one ``per`` another, for items of a category, or of the
    bulk tier."""

    category: str
    label: str
    figure: str
    per: str
    low: float
    high: float
    unit: str = ""


FAILURES = (5e-5, 1e-2)
"""Failures per GPU and day: published are 2.9e-4 to 3e-3, arXiv 2410.21680 and 2407.21783."""
BANDS = (
    Band("gpu_system", "draw per TDP of all GPUs", "draw_kw", "gpus_tdp_kw", 1.05, 2.6),
    Band("gpu_system", "draw per GPU", "draw_kw", "gpus", 0.4, 4.0, "kW"),
    Band("gpu_system", "draw per rack unit", "draw_kw", "rack_units", 0.5, 6.0, "kW"),
    Band("gpu_system", "weight per rack unit", "weight_kg", "rack_units", 5.0, 60.0, "kg"),
    Band("gpu_system", "bf16 rate per kW of TDP", "bf16", "tdp_kw", 400.0, 5000.0, "TFLOP/s"),
    Band("gpu_system", "fp8 per bf16 rate", "fp8", "bf16", 0.95, 4.1),
    Band("gpu_system", "memory per TFLOP/s of bf16", "memory_gb", "bf16", 0.035, 0.5, "GB"),
    Band("gpu_system", "failures per GPU and day", "failures", "", *FAILURES),
    Band("gpu_system", "list price per GPU", "usd", "gpus", 10_000.0, 150_000.0, "USD"),
    Band("storage", "draw per rack unit", "draw_kw", "rack_units", 0.2, 4.0, "kW"),
    Band("storage", "weight per rack unit", "weight_kg", "rack_units", 4.0, 40.0, "kg"),
    Band("storage", "read bandwidth per rack unit", "read", "rack_units", 3.0, 350.0, "GB/s"),
    Band("storage", "read bandwidth per speed of all ports", "read", "ports", 0.05, 1.0),
    Band("storage", "read bandwidth per kW", "read", "draw_kw", 4.0, 180.0, "GB/s"),
    Band("storage", "read per write bandwidth", "read", "write", 0.5, 12.0),
    Band("storage", "usable capacity per rack unit", "usable_tb", "rack_units", 8.0, 700.0, "TB"),
    Band("storage", "usable per raw capacity", "usable_tb", "raw_tb", 0.4, 1.0),
    Band("storage", "list price per GB/s of reading", "usd", "read", 700.0, 35_000.0, "USD"),
    Band("storage", "list price per usable TB", "usd", "usable_tb", 300.0, 5_000.0, "USD"),
    Band("bulk", "draw per rack unit", "draw_kw", "rack_units", 0.1, 1.5, "kW"),
    Band("bulk", "read bandwidth per rack unit", "read", "rack_units", 0.3, 60.0, "GB/s"),
    Band("bulk", "read bandwidth per speed of all ports", "read", "ports", 0.02, 1.0),
    Band("bulk", "usable capacity per rack unit", "usable_tb", "rack_units", 30.0, 2_000.0, "TB"),
    Band("bulk", "usable per raw capacity", "usable_tb", "raw_tb", 0.4, 1.0),
    Band("bulk", "list price per usable TB", "usd", "usable_tb", 15.0, 3_000.0, "USD"),
    Band("switch", "draw per rack unit", "draw_kw", "rack_units", 0.04, 3.0, "kW"),
    Band("switch", "weight per rack unit", "weight_kg", "rack_units", 3.0, 30.0, "kg"),
    Band("switch", "draw per Gb/s of all ports", "draw_kw", "switched", 8e-6, 7e-4, "kW"),
    Band("switch", "list price per Gb/s of all ports", "usd", "switched", 0.4, 20.0, "USD"),
    Band("transceiver", "draw", "draw_kw", "", 0.001, 0.06, "kW"),
    Band("transceiver", "list price", "usd", "", 20.0, 6_000.0, "USD"),
    Band("cable", "list price", "usd", "", 2.0, 4_000.0, "USD"),
)


def implausible(
    items: Mapping[str, Item], prices: Mapping[str, Price]
) -> Iterator[tuple[str, str]]:
    """Yield (item id, warning) of every figure or ratio outside its band."""
    for sku, item in items.items():
        known = _figures(item, prices.get(sku))
        for band in BANDS:
            part, whole = known.get(band.figure), known.get(band.per) if band.per else 1.0
            kind = "bulk" if item.is_bulk else item.category
            if band.category != kind or part is None or not whole:
                continue
            if not band.low <= part / whole <= band.high:
                unit = f" {band.unit}" if band.unit else ""
                usual = f"usually {band.low:g} to {band.high:g}"
                yield sku, f"{band.label} of '{sku}' is {part / whole:.3g}{unit}, {usual}"


def _figures(item: Item, price: Price | None) -> dict[str, float]:
    """Return what an item states, by the names that bands use."""
    consumes, provides, gpu = item.consumes, item.provides, item.gpu
    stated = {
        "draw_kw": consumes.it_power,
        "rack_units": consumes.rack_units,
        "weight_kg": consumes.weight,
        "gpus": provides.gpus,
        "read": provides.read,
        "write": provides.write,
        "usable_tb": provides.usable,
        "tdp_kw": gpu.tdp,
        "bf16": gpu.bf16_dense,
        "fp8": gpu.fp8_dense,
        "memory_gb": gpu.memory,
        "failures": gpu.failures_per_day,
    }
    found = {name: float(figure.value) for name, figure in stated.items() if figure is not None}
    found["gpus_tdp_kw"] = found.get("gpus", 0.0) * found.get("tdp_kw", 0.0)
    found["raw_tb"] = sum(media.raw_tb for media in item.media)
    port = item.ports.storage
    found["ports"] = 0.0 if port is None else port.count * port.speed_gbit_per_s / 8
    groups = item.switch.ports if item.switch else ()
    found["switched"] = max((g.count * g.speed_gbit_per_s for g in groups), default=0.0)
    return found if price is None else found | {"usd": price.list_usd}
