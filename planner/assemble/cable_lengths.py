"""Cables by length: what is ordered for the links of a plan, once it is known where devices stand.

The bill counts one part for each kind of link, so that a purchase is priced before it is placed.
After that every cable gets the least length on offer that its run needs, and between two switches
copper goes where it reaches, joins two whole cages and costs no more than the fibres and
transceivers in whose place it goes. So what is ordered never costs or draws more than what is
counted: limits that the bill keeps, the order keeps too. See docs/model.md.
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
from planner.schema.beside import Cable, CableSchedule
from planner.schema.catalog import Copper, Item, PortGroup
from planner.schema.plan import Line, PartByLength, Plan

STEP_M = 5.0
"""Lengths of cables of which no catalog lists any are told in such steps."""


def cut_to_length(
    inputs: Inputs, cables: Sequence[Cable], between: Mapping[int, PortGroup]
) -> list[Cable]:
    """Return the cables as they are ordered.

    Args:
        cables: the links with the parts that the bill counts.
        between: the ports of links between switches, by their place in ``cables``.
    """
    items = inputs.by_id
    cut = [replace(cable, counted_as=cable.sku) for cable in cables]
    for rows, copper, module in _copper(inputs, items, cables, between):
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
    return [_sold(cable, items, longest[cable.sku, cable.number]) for cable in cut]


def _sold(cable: Cable, items: Mapping[str, Item], run_m: int) -> Cable:
    """Return a cable in the least length on offer that its links need."""
    if cable.sku is None or cable.length_m is None:
        return cable
    lengths, model = items[cable.sku].lengths, _model(items[cable.sku])
    if lengths is None or not lengths.offered:
        return replace(cable, model=model, ordered_m=math.ceil(run_m / STEP_M) * STEP_M)
    fitting = (each for each in lengths.offered if each.length_m >= run_m)
    least = next(fitting, None)
    if least is None:
        return replace(cable, model=model, ordered_m=float(run_m), part_number=None)
    return replace(cable, model=model, ordered_m=least.length_m, part_number=least.part_number)


def _copper(
    inputs: Inputs,
    items: Mapping[str, Item],
    cables: Sequence[Cable],
    between: Mapping[int, PortGroup],
) -> Iterator[tuple[list[int], Copper, str]]:
    """Yield the links that a copper cable takes together, which one, and the module it spares."""
    cages: defaultdict[tuple[str, int, str, int], list[int]] = defaultdict(list)
    for row, group in between.items():
        each = group.link.switch_end if group.link is not None else None
        if group.copper and each is not None:
            lower, upper = cables[row].lower, cables[row].upper
            key = (
                lower.device,
                (int(lower.port) - 1) // each.links,
                upper.device,
                (int(upper.port) - 1) // each.links,
            )
            cages[key].append(row)
    for rows in cages.values():
        link = between[rows[0]].link
        assert link is not None
        assert link.switch_end is not None
        runs = [cables[row].length_m for row in rows]
        known = [run for run in runs if run is not None]
        if len(known) == len(runs):
            module = part_that_reaches(link.switch_end.item, items, longest_run_m(inputs))
            best = _cheapest(inputs, items, between[rows[0]], (len(rows), module), max(known))
            if best is not None:
                yield rows, best, module


def _cheapest(
    inputs: Inputs,
    items: Mapping[str, Item],
    group: PortGroup,
    fitted: tuple[int, str],
    run_m: int,
) -> Copper | None:
    """Return the copper for two cages of so many links and a module, None if fibres cost less."""
    link, (links, end) = group.link, fitted
    if link is None or link.switch_end is None or link.links != 1:
        return None
    counted = part_that_reaches(link.cable, items, longest_run_m(inputs))
    fibre, module = (_net_usd(inputs, items[name]) for name in (counted, end))
    if fibre is None or module is None:
        return None
    found: tuple[float, Copper] | None = None
    for copper in group.copper:
        item = items[copper.cable]
        lengths = item.lengths.offered if item.lengths is not None else ()
        reaches = any(each.length_m >= run_m for each in lengths)
        if item.reach is not None and item.reach.value < run_m:
            reaches = False
        net_usd = _net_usd(inputs, item)
        whole = links == copper.links == link.switch_end.links
        if whole and reaches and net_usd is not None and net_usd <= links * fibre + 2 * module:
            if found is None or net_usd < found[0]:
                found = net_usd, copper
    return None if found is None else found[1]


def _net_usd(inputs: Inputs, item: Item) -> float | None:
    price = inputs.prices.get(item.id)
    if price is None:
        return None
    return unit_net_usd(item, price, inputs.discounts, inputs.problem.shown_in)


def parts_by_length(
    inputs: Inputs, plan: Plan, schedule: CableSchedule
) -> tuple[PartByLength, ...]:
    """Return what is ordered for the cables and transceivers that the bill counts.

    Lines of which units are owned are left out: nobody knows the lengths of these.
    """
    if longest_run_m(inputs) is None:
        return ()
    items = inputs.by_id
    pulled = _pulled(schedule)
    counted: defaultdict[str, Counter[Order]] = defaultdict(Counter)
    spared: Counter[str] = Counter()
    for cable in pulled:
        order = cable.sku or "", cable.part_number, cable.ordered_m, cable.in_place_of
        counted[cable.counted_as or ""][order] += 1
    found: list[PartByLength] = []
    for line in plan.lines:
        if line.category == "cable" and not line.installed:
            parts = _of_cable(inputs, items, line, counted[line.sku])
            # Where the schedule has another number of cables, it says so itself.
            if sum(part.quantity * part.in_place_of for part in parts) == line.quantity:
                found += parts
    taken = {part.counted_as for part in found}
    for cable in pulled:
        if cable.spares is not None and cable.counted_as in taken:
            spared[cable.spares] += 2
    for line in plan.lines:
        if line.category == "transceiver" and spared[line.sku] and not line.installed:
            left = line.quantity - spared[line.sku]
            found.append(_part(inputs, items[line.sku], line, (line.part_number, None), left, 1))
    return tuple(found)


def _pulled(schedule: CableSchedule) -> list[Cable]:
    """Return a link of each cable, of a splitter's links one of which both ends have a place."""
    found: dict[tuple[str | None, str, int], Cable] = {}
    for cable in schedule.cables:
        if cable.sku is not None:
            key = cable.counted_as, cable.sku, cable.number
            if key not in found or cable.ordered_m is not None:
                found[key] = cable
    return list(found.values())


def _of_cable(
    inputs: Inputs, items: Mapping[str, Item], line: Line, rows: Counter[Order]
) -> list[PartByLength]:
    """Return the parts of one line, copper last."""
    parts = [
        _part(inputs, items[sku], line, (number, length_m), count, each)
        for (sku, number, length_m, each), count in sorted(
            rows.items(), key=lambda row: _key(row[0])
        )
    ]
    return sorted(parts, key=lambda part: part.sku != line.sku)


Order = tuple[str, str | None, float | None, int]
"""SKU, part number and length of a part as it is ordered, and the fibres it is in place of."""


def _key(order: Order) -> tuple[str, float, str, int]:
    sku, number, length_m, each = order
    return sku, math.inf if length_m is None else length_m, number or "", each


def _model(item: Item) -> str:
    """Return the name of a part without a length."""
    return item.lengths.model or item.model if item.lengths is not None else item.model


def _part(
    inputs: Inputs,
    item: Item,
    line: Line,
    sold: tuple[str | None, float | None],
    count: int,
    in_place_of: int,
) -> PartByLength:
    return PartByLength(
        counted_as=line.sku,
        sku=item.id,
        vendor=item.vendor,
        model=_model(item),
        part_number=sold[0],
        category=item.category,
        length_m=sold[1],
        quantity=count,
        in_place_of=in_place_of,
        unit_net_usd=_net_usd(inputs, item),
    )


def length_notes(plan: Plan, schedule: CableSchedule) -> Iterator[str]:
    """Yield what the owner of a plan should know of its cables by length.

    Args:
        plan: a plan with its parts by length.
    """
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
