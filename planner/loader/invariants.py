"""What hardware cannot be: ranges that catch a slipped unit or a swapped column."""

from __future__ import annotations

from collections.abc import Iterator

from planner.schema.catalog import Item

KW_PER_RACK_UNIT = 6.0
RANGES = {
    "provides.gpus": (1, 1024),
    "provides.read": (0.5, 5000.0),
    "provides.write": (0.2, 5000.0),
    "provides.usable": (1.0, 100_000.0),
    "consumes.it_power": (0.0, 300.0),
    "consumes.rack_units": (0.0, 60.0),
    "consumes.weight": (0.0, 5000.0),
    "consumes.typical_power": (0.0, 300.0),
    "provides.cooling": (1.0, 20_000.0),
    "provides.feed": (0.5, 500.0),
    "gpu.memory": (8.0, 2000.0),
    "gpu.bf16_dense": (50.0, 50_000.0),
    "gpu.fp8_dense": (50.0, 100_000.0),
    "gpu.tdp": (0.1, 5.0),
}


def broken(item: Item) -> Iterator[tuple[str, str]]:
    """Yield (item id, what cannot be) for figures out of range or at odds with one another."""
    from planner.loader.catalog_checks import figures

    known = {name: figure.value for name, figure in figures(item)}
    for name, (low, high) in RANGES.items():
        value = known.get(name)
        if isinstance(value, (int, float)) and not low <= value <= high:
            yield item.id, f"{name} = {value:g} is outside {low:g} to {high:g}"
    bf16, fp8 = item.gpu.bf16_dense, item.gpu.fp8_dense
    if bf16 is not None and fp8 is not None and fp8.value < bf16.value:
        yield item.id, f"fp8 {fp8.value:g} is slower than bf16 {bf16.value:g} TFLOP/s"
    power, height = item.consumes.it_power, item.consumes.rack_units
    if (
        power is not None
        and height is not None
        and 0 < height.value * KW_PER_RACK_UNIT < power.value
    ):
        yield item.id, f"{power.value:g} kW in {height.value:g} RU is denser than anything sold"
    typical = item.consumes.typical_power
    if typical is not None and power is not None and typical.value > power.value:
        yield item.id, f"typical power {typical.value:g} kW is more than {power.value:g} kW"
    tdp, gpus = item.gpu.tdp, item.provides.gpus
    if power is not None and tdp is not None and gpus is not None:
        gpus_kw = tdp.value * gpus.value
        if gpus_kw > power.value:
            yield item.id, f"the GPUs alone draw {gpus_kw:g} kW of {power.value:g} kW"
