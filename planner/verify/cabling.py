"""What is ordered by length: every part on offer, no link without one, nothing dearer than counted.

Which link is how long follows from the wiring and the placement, which the tests hold to each
other; here the parts are held to the bill, the catalogs and the hall.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from planner.schema.catalog import Item
from planner.schema.plan import Line, PartByLength, Plan
from planner.verify.basis import Basis
from planner.verify.ledger import Ledger
from planner.verify.money import unit_money

_STEP_M = 5.0


def check_cabling(ledger: Ledger, basis: Basis, plan: Plan) -> None:
    """Check the parts by length of a plan.

    Args:
        ledger: takes the disagreements.
        basis: the problem and the catalogs.
        plan: the plan to check.
    """
    longest_m = basis.hall_m()
    if longest_m is None:
        ledger.require(not plan.cabling, "cabling: the problem does not give the rows of its hall")
        return
    lines = {line.sku: line for line in plan.lines if line.parent is None}
    parts: defaultdict[str, list[PartByLength]] = defaultdict(list)
    for part in plan.cabling:
        name = f"cabling.{part.counted_as}.{part.sku}"
        line, item = lines.get(part.counted_as), basis.items.get(part.sku)
        if line is None or item is None:
            ledger.fail(f"{name}: neither in the bill nor in the catalogs")
            continue
        parts[part.counted_as].append(part)
        _check_part(ledger, basis, name, part, item, longest_m)
    spared: Counter[str] = Counter()
    for sku, own in parts.items():
        if lines[sku].category == "cable":
            _check_cables(ledger, basis, lines[sku], own, spared)
    for sku, count in spared.items():
        left = sum(part.quantity for part in parts.get(sku, ()))
        ledger.equal(f"cabling.{sku}.quantity", left, lines[sku].quantity - count)
    for sku in parts:
        ledger.require(
            lines[sku].category == "cable" or sku in spared,
            f"cabling.{sku}: no copper goes in its place",
        )


def _check_part(
    ledger: Ledger, basis: Basis, name: str, part: PartByLength, item: Item, longest_m: float
) -> None:
    """Check one part: what its catalog says of it, and that it is on offer in that length."""
    for field in ("vendor", "category"):
        ledger.equal(f"{name}.{field}", getattr(part, field), getattr(item, field))
    without = None if item.lengths is None else item.lengths.model
    ledger.equal(f"{name}.model", part.model, without or item.model)
    ledger.require(part.quantity >= 0, f"{name}.quantity: {part.quantity}")
    price = basis.prices.get(item.id)
    net_usd = (None,) if price is None else unit_money(basis, item, price).net_usd
    ledger.one_of(f"{name}.unit_net_usd", part.unit_net_usd, net_usd)
    if part.length_m is None:
        ledger.equal(f"{name}.part_number", part.part_number, item.part_number)
        return
    offered = item.lengths.offered if item.lengths is not None else ()
    numbers = {one.length_m: one.part_number for one in offered}
    if part.length_m in numbers:
        ledger.equal(f"{name}.part_number", part.part_number, numbers[part.length_m])
    elif numbers:  # longer than any that is sold
        ledger.equal(f"{name}.part_number", part.part_number, None)
        ledger.require(part.length_m > max(numbers), f"{name}.length_m: not on offer")
    else:
        ledger.equal(f"{name}.part_number", part.part_number, item.part_number)
        ledger.require(part.length_m % _STEP_M == 0.0, f"{name}.length_m: not in steps of 5 m")
    # A metre for the rounding up; of what is on offer the next longer one.
    shorter = [length for length in numbers if length < part.length_m]
    needed = max(shorter, default=0.0) if numbers else part.length_m - _STEP_M
    ledger.require(needed <= longest_m + 1.0, f"{name}.length_m: no run in the hall is so long")


def _check_cables(
    ledger: Ledger, basis: Basis, line: Line, parts: list[PartByLength], spared: Counter[str]
) -> None:
    """Check that each cable that is counted is ordered once, in some length or in copper."""
    name = f"cabling.{line.sku}"
    covered = sum(part.quantity * part.in_place_of for part in parts)
    ledger.equal(f"{name}: cables", covered, line.quantity)
    for part in parts:
        if part.sku == line.sku:
            ledger.equal(f"{name}.in_place_of", part.in_place_of, 1)
            continue
        module = _spared_by(basis, line.sku, part)
        if module is None:
            ledger.fail(f"{name}.{part.sku}: no switch takes it in place of {part.in_place_of}")
            continue
        spared[module] += 2 * part.quantity
        reach = basis.items[part.sku].reach
        far = reach is not None and part.length_m is not None and part.length_m > reach.value
        ledger.require(not far, f"{name}.{part.sku}: longer than it reaches")
        usd = [_unit_usd(basis, sku) for sku in (line.sku, module, part.sku)]
        known = [each for each in usd if each is not None]
        if len(known) < len(usd):
            ledger.fail(f"{name}.{part.sku}: a price is missing")
            continue
        fibre, end, copper = known
        dearer = copper > part.in_place_of * fibre + 2.0 * end + 0.02
        ledger.require(not dearer, f"{name}.{part.sku}: dearer than what the bill counts")


def _unit_usd(basis: Basis, sku: str) -> float | None:
    price = basis.prices.get(sku)
    return None if price is None else min(unit_money(basis, basis.items[sku], price).net_usd)


def _spared_by(basis: Basis, fibre: str, part: PartByLength) -> str | None:
    """Return the transceiver of which copper spares one at each end, None where it cannot go."""
    for item in basis.items.values():
        for group in () if item.switch is None else item.switch.ports:
            link = group.link
            if link is None or link.switch_end is None:
                continue
            fits = any(c.cable == part.sku and c.links == part.in_place_of for c in group.copper)
            whole = link.links == 1 and link.switch_end.links == part.in_place_of
            if fits and whole and basis.through_the_hall(link.cable) == fibre:
                return basis.through_the_hall(link.switch_end.item)
    return None
