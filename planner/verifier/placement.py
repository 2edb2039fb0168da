"""The racks of the plan: everything stands somewhere, once, and every rack holds what it may."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from planner.schema.plan import Device, Plan, RackGroup
from planner.verifier.basis import Basis, Ledger
from planner.verifier.companions import Companions
from planner.verifier.decisions import Decisions
from planner.verifier.racks import Space, first_fit, pdus_per_rack, product_limit_kw, space

RackKind = tuple[str | None, str]
"""What stands in racks (None for the mixed ones of the network), and their class."""

_NOISE = 1e-9


def shared_racks(basis: Basis, plan: Plan) -> int:
    """Return the racks of class network that hold anything but products that are racks."""
    if basis.problem.site.rack is None:
        return 0
    groups = [g for g in plan.racks if g.rack_class == "network" and not g.product]
    return sum(max(0, group.count) for group in groups)


def check_placement(
    ledger: Ledger, basis: Basis, decisions: Decisions, companions: Companions, plan: Plan
) -> None:
    """Check every rack, that together they hold each device once, and that none is too many.

    Args:
        companions: what must come with it, and the racks that both take.
    """
    if basis.problem.site.rack is None:
        ledger.require(not plan.racks, "racks: there is no placement where racks have no size")
        return
    _check_numbers(ledger, plan)
    for group in plan.racks:
        ledger.require(bool(group.devices), f"racks.{group.first}: it stands empty")
        check_content(ledger, basis, f"racks.{group.first}", group)
    _check_devices(ledger, basis, decisions, companions, plan)
    _check_sets(ledger, basis, companions, plan)


def _check_numbers(ledger: Ledger, plan: Plan) -> None:
    number = 1
    for group in plan.racks:
        ledger.equal(f"racks.{group.first}.first", group.first, number)
        ledger.require(group.count >= 1, f"racks.{group.first}.count: {group.count} is no number")
        number = group.first + group.count


def _check_devices(
    ledger: Ledger, basis: Basis, decisions: Decisions, companions: Companions, plan: Plan
) -> None:
    """Require every device that stands in racks exactly once."""
    placed: Counter[str] = Counter()
    for group in plan.racks:
        for device in group.devices:
            placed[device.sku] += group.count
    expected: Counter[str] = Counter()
    standing = {each.sku for each in companions.room.sets}
    for sku, count in {**decisions.standing, **companions.counts}.items():
        item = basis.items[sku]
        if sku in decisions.counts and sku not in standing:
            continue  # nobody knows how many racks it takes
        if item.consumes.racks is not None:
            expected[sku] += item.consumes.racks.value * count
        elif item.components and sku in decisions.counts:
            for part in item.components:
                expected[part.id] += part.quantity * count
        elif sku in decisions.counts or basis.unit_rack_units(item):
            expected[sku] += count
    for sku in sorted({*placed, *expected}):
        ledger.equal(f"racks: devices {sku}", placed[sku], expected[sku])


def _check_sets(ledger: Ledger, basis: Basis, companions: Companions, plan: Plan) -> None:
    """Require as many racks of each kind as the rule says, each with its PDUs."""
    sets = {(each.sku, each.rack_class): each for each in companions.room.sets}
    counted: Counter[RackKind] = Counter()
    for group in plan.racks:
        name, kinds = f"racks.{group.first}", _kinds(basis, companions, group)
        fitting = [key for key in sets if key in kinds]
        if not fitting:
            ledger.fail(f"{name}: its devices do not share a rack by the rules")
            continue
        # Parts may belong to several bundles.
        room = [key for key in fitting if counted[key] < sets[key].racks]
        key = (room or fitting)[0]
        counted[key] += group.count
        ledger.equal(f"{name}.product", group.product, sets[key].product)
        ledger.equal(f"{name}.pdus", group.pdus, pdus_per_rack(basis, sets[key]))
    for key, each in sets.items():
        who = each.sku or "network devices"
        ledger.equal(f"racks: racks of {who}", counted[key], each.racks)
        if each.sku is None and each.racks > (enough := first_fit(basis, companions.counts)):
            ledger.fail(f"racks: network devices stand in {each.racks} racks, where {enough} do")


def _kinds(basis: Basis, companions: Companions, group: RackGroup) -> set[RackKind]:
    """Return the kinds of racks that a group may be of: of one item, or mixed."""
    skus, name = {device.sku for device in group.devices}, group.rack_class
    network = name == "network"
    kinds: set[RackKind] = {(None, name)} if network and skus <= set(companions.counts) else set()
    for each in companions.room.sets:
        if each.sku is None or not skus:
            continue
        parts = {part.id for part in basis.items[each.sku].components}
        if skus == {each.sku}:
            kinds = {(each.sku, name)}
        elif each.sku in skus:
            return set()
        elif skus <= parts and not group.product:
            kinds.add((each.sku, name))
    return kinds


def check_content(ledger: Ledger, basis: Basis, name: str, group: RackGroup) -> None:
    """Check the devices of a rack, their sums, and that the rack holds them.

    Args:
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
    ledger.same(f"{name}.power_limit_kw", group.power_limit_kw, product_limit_kw(basis))
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


def check_places(ledger: Ledger, basis: Basis, plan: Plan) -> None:
    """Require a position of the hall for every rack that may be there, and none for two."""
    groups = basis.problem.site.positions
    names = [group.name or f"group {n}" for n, group in enumerate(groups, 1)]
    taken: set[int] = set()
    for rack in plan.racks:
        name = f"racks.{rack.first}.places"
        if not groups:
            ledger.require(rack.places == (), f"{name}: the hall has no such positions")
            continue
        standing = sum(each.count for each in rack.places)
        within = all(limit.slack >= 0 for limit in plan.limits if limit.limit is not None)
        if within:
            ledger.equal(f"{name}: racks", standing, rack.count)
        for each in rack.places:
            if each.group not in names or each.first < 1 or each.count < 1:
                ledger.fail(f"{name}: no position {each.group}-{each.first:02d}")
                continue
            number = names.index(each.group)
            group = groups[number]
            before = sum(other.count for other in groups[:number])
            last = each.first + each.count - 1
            ledger.require(last <= group.count, f"{name}: no position {each.group}-{last:02d}")
            ledger.equal(f"{name}.hall_first", each.hall_first, before + each.first)
            power_kw, height_ru = _asked(basis, rack)
            fits = group.power_kw is None or (power_kw is not None and power_kw <= group.power_kw)
            low = group.height_ru is None or height_ru <= group.height_ru
            ledger.require(fits and low, f"{name}: {each.group} does not take such a rack")
            here = set(range(each.hall_first, each.hall_first + each.count))
            ledger.require(not here & taken, f"{name}: a position of {each.group} is taken twice")
            taken |= here


def _asked(basis: Basis, rack: RackGroup) -> tuple[float | None, float]:
    """Return what a rack asks of its position: the draw and the height of its class or its own."""
    if not rack.product:
        return rack.power_limit_kw, rack.height_ru
    item = basis.items[rack.devices[0].sku]
    spread = item.consumes.racks.value if item.consumes.racks is not None else 1
    draw_kw, height_ru = basis.unit_it_power_kw(item), basis.unit_rack_units(item)
    return (draw_kw or 0.0) / spread, (height_ru or 0.0) / spread


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
