"""Cables by length: the order for the links of a plan, once the places of devices are known.

The bill counts one part for each kind of link, so that a purchase is priced before it is placed.
After that every cable gets the least length on offer that its run needs, and between two switches
copper goes where it reaches, joins two whole cages and costs no more than the fibres and
transceivers in whose place it goes. So the order never costs or draws more than the bill counts:
limits that the bill keeps, the order keeps too. See docs/model.md.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from planner import currency
from planner.case.cabling import longest_run_m, part_that_reaches
from planner.case.money import unit_net_usd
from planner.inputs import Inputs
from planner.schema.catalog import Copper, Item, PortGroup
from planner.schema.layout import Cable, CableSchedule, PartByLength
from planner.schema.plan import Line, Plan

STEP_M = 5.0
"""Steps of lengths of cables of which no catalog lists any."""
Order = tuple[str, str | None, float | None, int]
"""SKU, part number and length of a part as it is ordered, and the fibres it is in place of."""


def _net_usd(inputs: Inputs, item: Item) -> float | None:
    price, shown_in = inputs.prices.get(item.id), inputs.problem.shown_in
    return None if price is None else unit_net_usd(item, price, inputs.discounts, shown_in)


def _model(item: Item) -> str:
    """Name of a part without a length."""
    return item.lengths.model or item.model if item.lengths is not None else item.model


# Each cable in its length.


def cut_to_length(
    inputs: Inputs, cables: Sequence[Cable], between: Mapping[int, PortGroup]
) -> list[Cable]:
    """The cables as they are ordered.

    Args:
        cables: the links with the parts that the bill counts.
        between: the ports of links between switches, by their place in ``cables``.
    """
    items = inputs.by_id
    cut = [replace(cable, counted_as=cable.sku) for cable in cables]
    for rows, copper, module in _copper(inputs, cables, between):
        item = items[copper.cable]
        for row in rows:
            cut[row] = replace(
                cut[row],
                sku=item.id,
                model=_model(item),
                medium="copper",
                number=cables[rows[0]].number,
                in_place_of=copper.links,
                spares=module,
            )
    longest: dict[tuple[str | None, int], int] = {}
    for cable in cut:
        key = cable.sku, cable.number
        longest[key] = max(longest.get(key, 0), cable.length_m or 0)
    return [_ordered(cable, items, longest[cable.sku, cable.number]) for cable in cut]


def _ordered(cable: Cable, items: Mapping[str, Item], run_m: int) -> Cable:
    """A cable in the least length on offer that its links need."""
    if cable.sku is None or cable.length_m is None:
        return cable
    lengths, model = items[cable.sku].lengths, _model(items[cable.sku])
    if lengths is None or not lengths.offered:
        return replace(cable, model=model, ordered_m=math.ceil(run_m / STEP_M) * STEP_M)
    least = next((each for each in lengths.offered if each.length_m >= run_m), None)
    if least is None:
        return replace(cable, model=model, ordered_m=float(run_m), part_number=None)
    return replace(cable, model=model, ordered_m=least.length_m, part_number=least.part_number)


def _copper(
    inputs: Inputs, cables: Sequence[Cable], between: Mapping[int, PortGroup]
) -> Iterator[tuple[list[int], Copper, str]]:
    """Yield the links that a copper cable takes together, which one, and the module it spares."""
    run_m = longest_run_m(inputs)
    cages: defaultdict[tuple[str, int, str, int], list[int]] = defaultdict(list)
    for row, group in between.items():
        end = group.link.switch_end if group.link is not None else None
        if group.copper and end is not None:
            (one, port), (other, far) = (
                (place.device, (int(place.port) - 1) // end.links)
                for place in (cables[row].lower, cables[row].upper)
            )
            cages[one, port, other, far].append(row)
    for rows in cages.values():
        group = between[rows[0]]
        runs = [cables[row].length_m for row in rows]
        known = [run for run in runs if run is not None]
        if group.link is None or group.link.switch_end is None or len(known) < len(runs):
            continue
        module = part_that_reaches(group.link.switch_end.item, inputs.by_id, run_m)
        best = _cheapest_copper(inputs, group, len(rows), module, max(known))
        if best is not None:
            yield rows, best, module


def _cheapest_copper(
    inputs: Inputs, group: PortGroup, links: int, module: str, run_m: int
) -> Copper | None:
    """The copper for two cages of a number of links and a module, None if fibres cost less."""
    link, items = group.link, inputs.by_id
    if link is None or link.switch_end is None or link.links != 1:
        return None
    fibre = part_that_reaches(link.cable, items, longest_run_m(inputs))
    fibre_usd, module_usd = (_net_usd(inputs, items[name]) for name in (fibre, module))
    if fibre_usd is None or module_usd is None:
        return None
    best: tuple[float, Copper] | None = None
    for copper in group.copper:
        item = items[copper.cable]
        offered = item.lengths.offered if item.lengths is not None else ()
        reaches = any(each.length_m >= run_m for each in offered)
        if item.reach is not None and item.reach.value < run_m:
            reaches = False
        net_usd = _net_usd(inputs, item)
        whole = links == copper.links == link.switch_end.links
        if not whole or not reaches or net_usd is None:
            continue
        if net_usd <= links * fibre_usd + 2 * module_usd and (best is None or net_usd < best[0]):
            best = net_usd, copper
    return None if best is None else best[1]


# The order, part by part.


def parts_by_length(
    inputs: Inputs, plan: Plan, schedule: CableSchedule
) -> tuple[PartByLength, ...]:
    """The order for the cables and transceivers that the bill counts.

    Lines of which units are owned are left out: nobody knows the lengths of these.
    """
    if longest_run_m(inputs) is None:
        return ()
    pulled = _pulled(schedule)
    counted: defaultdict[str, Counter[Order]] = defaultdict(Counter)
    for cable in pulled:
        order = cable.sku or "", cable.part_number, cable.ordered_m, cable.in_place_of
        counted[cable.counted_as or ""][order] += 1
    parts: list[PartByLength] = []
    for line in plan.lines:
        if line.category == "cable" and not line.installed:
            orders = sorted(counted[line.sku].items(), key=lambda row: _key(row[0]))
            own = [_part(inputs, line, order, count) for order, count in orders]
            # Where the schedule has another number of cables, it says so itself.
            if sum(part.quantity * part.in_place_of for part in own) == line.quantity:
                parts += sorted(own, key=lambda part: part.sku != line.sku)  # copper last
    taken = {part.counted_as for part in parts}
    spared: Counter[str] = Counter()
    for cable in pulled:
        if cable.spares is not None and cable.counted_as in taken:
            spared[cable.spares] += 2
    for line in plan.lines:
        if line.category == "transceiver" and spared[line.sku] and not line.installed:
            order = line.sku, line.part_number, None, 1
            parts.append(_part(inputs, line, order, line.quantity - spared[line.sku]))
    return tuple(parts)


def _pulled(schedule: CableSchedule) -> list[Cable]:
    """A link of each cable, of a splitter's links one of which both ends have a place."""
    links: dict[tuple[str | None, str, int], Cable] = {}
    for cable in schedule.cables:
        if cable.sku is not None:
            key = cable.counted_as, cable.sku, cable.number
            if key not in links or cable.ordered_m is not None:
                links[key] = cable
    return list(links.values())


def _key(order: Order) -> tuple[str, float, str, int]:
    sku, number, length_m, each = order
    return sku, math.inf if length_m is None else length_m, number or "", each


def _part(inputs: Inputs, line: Line, order: Order, count: int) -> PartByLength:
    sku, number, length_m, in_place_of = order
    item = inputs.by_id[sku]
    return PartByLength(
        counted_as=line.sku,
        sku=item.id,
        vendor=item.vendor,
        model=_model(item),
        part_number=number,
        category=item.category,
        length_m=length_m,
        quantity=count,
        in_place_of=in_place_of,
        unit_net_usd=_net_usd(inputs, item),
    )


def length_notes(plan: Plan, schedule: CableSchedule) -> Iterator[str]:
    """Yield notes on the cables by length of a plan that has them."""
    if not plan.cabling:
        return
    lines = {line.sku: line for line in plan.lines if line.parent is None}
    copper = [part for part in plan.cabling if part.sku != part.counted_as]
    fewer = {
        part.sku: lines[part.sku].quantity - part.quantity
        for part in plan.cabling
        if part.category == "transceiver"
    }
    if copper:
        prices = [lines[sku].unit_net_usd or 0.0 for sku in fewer]
        spared_usd = sum(n * usd for n, usd in zip(fewer.values(), prices, strict=True))
        for part in copper:
            fibre_usd = lines[part.counted_as].unit_net_usd or 0.0
            spared_usd += part.quantity * (part.in_place_of * fibre_usd - (part.unit_net_usd or 0))
        spared_kw = sum(n * (lines[sku].unit_it_power_kw or 0.0) for sku, n in fewer.items())
        spared = currency.amount(plan.shown_in.of(spared_usd), 0)
        yield (
            f"{sum(part.quantity for part in copper):,} copper cables serve between switches: what "
            f"is ordered costs {spared} less and draws {spared_kw:,.1f} kW "
            "less than the bill counts"
        )
    long = [c for c in schedule.cables if c.part_number is None and c.ordered_m is not None]
    for sku in sorted({cable.sku for cable in long if cable.sku is not None}):
        runs = [cable.length_m or 0 for cable in long if cable.sku == sku]
        yield (
            f"{len(runs):,} links are longer than any length on offer of "
            f"{lines[sku].model}, up to {max(runs):,} m"
        )
    yield from (note for note in schedule.notes if "reach" in note)
