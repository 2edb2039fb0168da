"""Cables by length: parts, prices and counts; and the links of a schedule, where one is given.

Which port a link joins is the schedule's choice. Checked are its ends (a port once, a device where
the racks say), its run, and that what the plan orders is the least that these links need.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal

from planner.schema.beside import Cable, CableEnd
from planner.schema.catalog import Item, PortGroup
from planner.schema.plan import Plan, RackGroup
from planner.verifier.basis import RACK_UNIT_M, Basis, Either, Findings

STEP_M = 5
Network = Literal["compute", "storage", "converged", "in_band", "out_of_band"]
Order = tuple[str, str, str | None, float | None, int]
"""SKU of the line that counts it, own SKU, part number, length (m), cables it replaces."""


def check_cables(
    found: Findings, basis: Basis, plan: Plan, links: Sequence[Cable] | None = None
) -> None:
    """Check the parts by length of a plan: each by its catalog, all by their line and the links."""
    floor = basis.problem.site.floor
    if basis.hall_m() is None or floor is None:
        found.require(not plan.cabling, "cabling: the problem gives no rows of its hall")
        return
    ordered: Counter[Order] = Counter()
    counted: Counter[str] = Counter()
    lines = {line.sku: line for line in plan.lines if line.parent is None}
    for part in plan.cabling:
        length = "" if part.length_m is None else f" of {part.length_m:g} m"
        name, item = f"cabling.{part.counted_as}.{part.sku}{length}", basis.items.get(part.sku)
        order = part.counted_as, part.sku, part.part_number, part.length_m, part.in_place_of
        found.require(order not in ordered, f"{name}: listed twice")
        ordered[order] += part.quantity
        if item is None or part.counted_as not in lines:
            found.fail(f"{name}: not in the catalogs or not in the bill")
            continue
        if item.category == "cable":
            counted[part.counted_as] += part.quantity * part.in_place_of
        net = basis.sale(item).net_usd
        model = (item.lengths.model if item.lengths else None) or item.model
        own = {"vendor": item.vendor, "category": item.category, "model": model}
        found.expect(name, part, {**own, "unit_net_usd": Either(net) if net else None})
        found.require(_is_sold(item, part.part_number, part.length_m), f"{name}: not on offer")
    if sum(group.count for group in plan.racks) <= (floor.rows or 0) * floor.racks_per_row:
        for sku, line in lines.items():
            bought = line.category == "cable" and not line.installed
            if bought and sku not in basis.problem.extras:
                found.expect(f"cabling.{sku}: cables", counted[sku], line.quantity)
    if links is not None:
        _Schedule(found, basis, plan, links).check(ordered)


def _is_sold(item: Item, number: str | None, length_m: float | None) -> bool:
    """Whether a part number and length are on offer; a run beyond all of them has no number."""
    offered = item.lengths.offered if item.lengths else ()
    if length_m is None or not offered:
        return number == item.part_number and (length_m is None or length_m % STEP_M == 0)
    known = any((one.length_m, one.part_number) == (length_m, number) for one in offered)
    return known or (number is None and length_m > offered[-1].length_m)


class _Schedule:
    """The links of a plan, held to its racks, fabrics and parts by length."""

    def __init__(self, found: Findings, basis: Basis, plan: Plan, links: Sequence[Cable]) -> None:
        self.found, self.basis, self.plan, self.links = found, basis, plan, links
        self.group_of: dict[int, RackGroup] = {}
        self.devices: set[tuple[int | None, float]] = set()
        for group in plan.racks:
            for rack in range(group.first, group.first + group.count):
                self.group_of[rack] = group
                self.devices |= {(rack, device.position_ru) for device in group.devices}

    def check(self, ordered: Counter[Order]) -> None:
        """Check ends, counts and runs, then compare the orders."""
        found, reports = self.found, self.plan.fabrics
        ends = [end for link in self.links for end in (link.lower, link.upper)]
        free = ("customer", "no free out-of-band port")
        for (device, port), times in Counter((end.device, end.port) for end in ends).items():
            once = times == 1 or device in free
            found.require(once, f"cabling: port {port} of {device} has {times} links")
        for end in ends:
            there = end.position_ru is None or (end.rack, end.position_ru) in self.devices
            stands = end.rack is None or (end.rack in self.group_of and there)
            found.require(stands, f"cabling: {end.device} is not where its links end")
        radix = {each: max(r.radix for r in reports if r.network == each) for each in self._links()}
        for link in self.links:
            number = int(link.upper.port.partition("/")[0] or 1)
            inside = 1 <= number <= radix.get(link.network, 0)
            found.require(inside, f"cabling: {link.upper.device} has no port {number}")
            run = self._run_m(link.lower, link.upper)
            found.expect(f"cabling: run of a {link.network} link", link.length_m, run)
        placed = Counter(link.network for link in self.links)
        for network, own in self._links().items():
            if network != "out_of_band":
                found.expect(f"cabling: {network} links", placed[network], own)
        expected = self._orders()
        for order in sorted({*ordered, *expected}, key=repr):
            name = f"cabling.{order[0]}.{order[1]} {order[3] or ''} m ({order[2]})"
            found.expect(name, ordered[order], expected[order])

    def _links(self) -> Counter[Network]:
        """Return the links of each network, as its fabrics count them."""
        counts: Counter[Network] = Counter()
        for r in self.plan.fabrics:
            counts[r.network] += r.system_links + r.leaf_spine_links + r.spine_core_links
        return counts

    def _run_m(self, one: CableEnd, other: CableEnd) -> int | None:
        """Return the run between two ends in whole metres, None where one has no place."""
        floor = self.basis.problem.site.floor
        if floor is None or one.rack is None or other.rack is None:
            return None
        if one.rack == other.rack:
            apart = abs((one.position_ru or 0.0) - (other.position_ru or 0.0))
            way_m = apart * RACK_UNIT_M + floor.rack_width_m
        else:
            (row, along), (to_row, to_along) = self._place(one.rack), self._place(other.rack)
            way_m = abs(row - to_row) * floor.row_pitch_m
            way_m += abs(along - to_along) * floor.rack_width_m
            for end in (one, other):
                top = self.group_of[end.rack or 0].height_ru - (end.position_ru or 1.0)
                way_m += floor.riser_m + max(0.0, top) * RACK_UNIT_M
        return math.ceil(way_m * (1.0 + floor.slack) - 1e-9)

    def _place(self, rack: int) -> tuple[int, int]:
        """Return the row and the place in it of a rack."""
        floor = self.basis.problem.site.floor
        assert floor is not None
        return divmod(rack - 1, floor.racks_per_row)

    def _orders(self) -> Counter[Order]:
        """Return the least parts on offer that the links need, copper where it serves."""
        basis, orders, spared = self.basis, Counter[Order](), Counter[tuple[str, str]]()
        cables: defaultdict[tuple[str, object], list[Cable]] = defaultdict(list)
        for link in self.links:
            if link.counted_as is not None:
                cables[link.counted_as, self._cage(link) or link.number].append(link)
        for (fibre, key), links in cables.items():
            runs = [self._run_m(link.lower, link.upper) for link in links]
            longest = max((run for run in runs if run is not None), default=None)
            group = self._group(links[0]) if isinstance(key, tuple) else None
            copper = None
            if group is not None and None not in runs and longest is not None:
                copper = self._copper(group, fibre, len(links), longest)
            if copper is not None and group is not None and group.link and group.link.switch_end:
                orders[fibre, copper.id, *_sold(copper, longest), len(links)] += 1
                spared[fibre, basis.reaching(group.link.switch_end.item)] += 2
                continue
            for run in runs if isinstance(key, tuple) else [longest]:
                orders[fibre, fibre, *_sold(basis.items[fibre], run), 1] += 1
        return self._bought(orders, spared)

    def _bought(self, orders: Counter[Order], spared: Counter[tuple[str, str]]) -> Counter[Order]:
        """Return the orders of lines without owned units whose cables are all known."""
        lines = {line.sku: line for line in self.plan.lines if line.parent is None}
        pulled: Counter[str] = Counter()
        for order, count in orders.items():
            pulled[order[0]] += count * order[4]
        whole = {sku for sku, n in pulled.items() if sku in lines and lines[sku].quantity == n}
        whole -= {sku for sku, line in lines.items() if line.installed}
        bought = Counter({order: n for order, n in orders.items() if order[0] in whole})
        modules: Counter[str] = Counter()
        for (fibre, sku), count in spared.items():
            modules[sku] += count if fibre in whole else 0
        for sku, count in (+modules).items():
            if sku in lines and not lines[sku].installed:
                number = self.basis.items[sku].part_number
                bought[sku, sku, number, None, 1] = lines[sku].quantity - count
        return bought

    def _cage(self, link: Cable) -> tuple[str, int, str, int] | None:
        """Return the two cages that a link between switches joins, None of other links."""
        group = self._group(link) if link.lower.port.isdigit() else None
        end = group.link.switch_end if group is not None and group.link is not None else None
        if group is None or end is None or not group.copper or group.link is None:
            return None
        if group.link.links != 1:
            return None
        lower, upper = (int(one.port) - 1 for one in (link.lower, link.upper))
        return link.lower.device, lower // end.links, link.upper.device, upper // end.links

    def _group(self, link: Cable) -> PortGroup | None:
        """Return the ports that a link between switches joins."""
        for report in self.plan.fabrics:
            switch = self.basis.items[report.switch_sku].switch
            for group in switch.ports if switch and report.network == link.network else ():
                reaches = group.link and self.basis.reaching(group.link.cable) == link.counted_as
                if reaches and group.count == report.radix:
                    return group
        return None

    def _copper(self, group: PortGroup, fibre: str, links: int, run_m: int) -> Item | None:
        """Return the cheapest copper that reaches and costs no more than the parts it spares."""
        end = group.link.switch_end if group.link else None
        assert end is not None
        one_usd, module_usd = (self._net_usd(sku) for sku in (fibre, self.basis.reaching(end.item)))
        offers: list[tuple[float, int, Item]] = []
        for number, copper in enumerate(group.copper):
            item, usd = self.basis.items[copper.cable], self._net_usd(copper.cable)
            lengths = item.lengths.offered if item.lengths else ()
            reaches = any(one.length_m >= run_m for one in lengths)
            reaches &= item.reach is None or item.reach.value >= run_m
            if None in (usd, one_usd, module_usd) or not reaches:
                continue
            spared_usd = links * (one_usd or 0.0) + 2 * (module_usd or 0.0)
            if links == copper.links == end.links and (usd or 0.0) <= spared_usd:
                offers.append((usd or 0.0, number, item))
        return min(offers)[2] if offers else None

    def _net_usd(self, sku: str) -> float | None:
        stated = (line.unit_net_usd for line in self.plan.lines if line.sku == sku)
        return next(stated, min(self.basis.sale(self.basis.items[sku]).net_usd, default=None))


def _sold(item: Item, run_m: int | None) -> tuple[str | None, float | None]:
    """Return part number and length of the least on offer for a run."""
    if run_m is None:
        return item.part_number, None
    offered = item.lengths.offered if item.lengths else ()
    if not offered:
        return item.part_number, float(-(-run_m // STEP_M) * STEP_M)
    least = next((one for one in offered if one.length_m >= run_m), None)
    return (None, float(run_m)) if least is None else (least.part_number, least.length_m)
