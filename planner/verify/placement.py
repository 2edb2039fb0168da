"""The racks of the plan: everything stands somewhere, once, and every rack holds what it may."""

from __future__ import annotations

from collections import Counter

from planner.schema.plan import Plan, RackGroup
from planner.verify.basis import Basis
from planner.verify.companions import Companions
from planner.verify.decisions import Decisions
from planner.verify.ledger import Ledger
from planner.verify.rack_content import check_content
from planner.verify.room import first_fit, pdus_per_rack

Key = tuple[str | None, str]
"""What stands in racks (None for the mixed ones of the network), and their class."""


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
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        decisions: what the plan decided.
        companions: what must come with it, and the racks that both take.
        plan: the plan to check.
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
    counted: Counter[Key] = Counter()
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


def _kinds(basis: Basis, companions: Companions, group: RackGroup) -> set[Key]:
    """Return the kinds of racks that a group may be of: of one item, or mixed."""
    skus, name = {device.sku for device in group.devices}, group.rack_class
    network = name == "network"
    kinds: set[Key] = {(None, name)} if network and skus <= set(companions.counts) else set()
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
