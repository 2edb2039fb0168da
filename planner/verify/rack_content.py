"""One rack: what stands in it, where, and whether it may."""

from __future__ import annotations

from itertools import pairwise

from planner.schema.plan import Device, RackGroup
from planner.verify.basis import Basis
from planner.verify.ledger import Ledger
from planner.verify.racks import Space, space

_NOISE = 1e-9


def check_content(ledger: Ledger, basis: Basis, name: str, group: RackGroup) -> None:
    """Check the devices of a rack, their sums, and that the rack holds them.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        name: the rack's place in the plan.
        group: the racks, all alike.
    """
    if group.product:
        _check_product(ledger, basis, name, group)
    else:
        rack = space(basis, group.rack_class)
        for device in group.devices:
            _check_device(ledger, basis, name, device, 1)
        if rack is not None:
            _check_size(ledger, name, group, rack)
    _check_sums(ledger, name, group)
    _check_positions(ledger, name, group)


def _check_product(ledger: Ledger, basis: Basis, name: str, group: RackGroup) -> None:
    """A product that is a rack stands alone, over its whole height."""
    rack = basis.problem.site.rack
    limit_kw = None
    if rack is not None:
        limit_kw = rack.power_kw if rack.whole_rack_power_kw is None else rack.whole_rack_power_kw
    ledger.same(f"{name}.power_limit_kw", group.power_limit_kw, limit_kw)
    ledger.same(f"{name}.weight_limit_kg", group.weight_limit_kg, None)
    if len(group.devices) != 1:
        ledger.fail(f"{name}.devices: a product that is a rack stands in it alone")
        return
    device = group.devices[0]
    item = basis.items.get(device.sku)
    if item is None or item.consumes.racks is None:
        ledger.fail(f"{name}.product: {device.sku} is not a rack of its own")
        return
    racks, height_ru = item.consumes.racks.value, basis.unit_rack_units(item)
    _check_device(ledger, basis, name, device, racks)
    ledger.same(f"{name}.height_ru", group.height_ru, device.rack_units)
    if height_ru:
        ledger.same(f"{name}.height_ru", group.height_ru, height_ru / racks)


def _check_device(ledger: Ledger, basis: Basis, name: str, device: Device, racks: int) -> None:
    """Compare a device with the catalog; ``racks`` is how many one unit is spread over."""
    item, place = basis.items.get(device.sku), f"{name}.devices.{device.sku}"
    if item is None:
        ledger.fail(f"{place}: no such item in the catalogs")
        return
    power_kw, weight_kg = basis.rack_power_kw(item), basis.unit_weight_kg(item)
    ledger.same(f"{place}.it_power_kw", device.it_power_kw, (power_kw or 0.0) / racks)
    weight_kg = None if weight_kg is None else weight_kg / racks
    ledger.same(f"{place}.weight_kg", device.weight_kg, weight_kg)
    if item.consumes.racks is None:
        height_ru = basis.unit_rack_units(item)
        ledger.same(f"{place}.rack_units", device.rack_units, height_ru)


def _check_size(ledger: Ledger, name: str, group: RackGroup, rack: Space) -> None:
    ledger.same(f"{name}.height_ru", group.height_ru, rack.height_ru)
    ledger.same(f"{name}.power_limit_kw", group.power_limit_kw, rack.power_kw)
    ledger.same(f"{name}.weight_limit_kg", group.weight_limit_kg, rack.weight_kg)


def _check_sums(ledger: Ledger, name: str, group: RackGroup) -> None:
    power_kw = sum(device.it_power_kw for device in group.devices)
    weights = [device.weight_kg for device in group.devices]
    known_kg = sum(weight for weight in weights if weight is not None)
    ledger.same(f"{name}.it_power_kw", group.it_power_kw, power_kw)
    weight_kg = None if None in weights else known_kg
    ledger.same(f"{name}.weight_kg", group.weight_kg, weight_kg)
    _check_most(ledger, f"{name}.it_power_kw", power_kw, group.power_limit_kw)
    _check_most(ledger, f"{name}.weight_kg", known_kg, group.weight_limit_kg)


def _check_most(ledger: Ledger, name: str, value: float, limit: float | None) -> None:
    if limit is not None and not value <= limit * (1 + _NOISE):
        ledger.fail(f"{name}: {value:.12g} is more than {limit:.12g}, which one rack allows")


def _check_positions(ledger: Ledger, name: str, group: RackGroup) -> None:
    """Devices stand above one another, from position 1 to the top."""
    spans = sorted(
        (device.position_ru - 1, device.position_ru - 1 + device.rack_units, device.sku)
        for device in group.devices
    )
    noise = _NOISE * max(1.0, group.height_ru)
    for low, high, sku in spans:
        if not (low >= -noise and high <= group.height_ru + noise):
            ledger.fail(f"{name}.devices.{sku}: it stands below the bottom or above the top")
    for (_, top, below), (bottom, _, above) in pairwise(spans):
        if bottom < top - noise:
            ledger.fail(f"{name}.devices.{above}: it overlaps {below}")
