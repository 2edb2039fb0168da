"""What comes with GPU systems and storage: fabrics, racks, PDUs, CDUs, software, extras."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from planner.schema.catalog import FormLink, Item, Link, Port
from planner.schema.problem import EthernetFabric, Extra
from planner.verifier.fabric import by_speed
from tests.oracle import fabric, facility
from tests.oracle.fabric import Edge, Parts
from tests.oracle.facility import Whole
from tests.oracle.money import RACKS, RESOURCES, Array, Market, Mask
from tests.oracle.netracks import NetworkRacks


@dataclass
class Bill:
    """The companions of one choice of GPU systems with each storage purchase (rows)."""

    rows: int
    possible: Mask
    counts: dict[str, Whole] = field(default_factory=dict)
    fabric_switches: Whole | int = 0

    def add(self, name: str, units: Whole | int) -> None:
        """Put more of an item in place."""
        self.counts[name] = self.counts.get(name, np.zeros(self.rows, dtype=np.int64)) + units


class Companions:
    """Everything that follows from the counts of GPU systems and storage."""

    def __init__(self, market: Market, items: Sequence[Item]) -> None:
        self.market = market
        self.problem = market.problem
        self.catalog = market.catalog
        self.items = items
        self.standings = [facility.standing(i, market.basis) for i in items]
        self.racks_network = NetworkRacks(market)

    @property
    def any(self) -> bool:
        """Whether the problem names companions at all."""
        site, network = self.problem.site, self.problem.network
        fabrics = (network.compute, network.storage, network.in_band, network.out_of_band)
        rack = (site.rack.item, site.rack.pdu) if site.rack is not None else ()
        named = (*fabrics, *rack, site.cooling.cdu)
        lists = (
            self.problem.software,
            self.problem.services,
            self.problem.extras,
            self._of_items(),
        )
        return any(name is not None for name in named) or any(lists)

    def _of_items(self) -> list[str]:
        """Return what items need of themselves: parts of their clusters, spare parts."""
        families = {item.family for item in self.items}
        clusters = [f.cluster for f in self.market.families if f.id in families and f.cluster]
        spares = [p.id for i in self.items for p in i.components]
        return [part.item for cluster in clusters for part in cluster.parts] + spares

    def consumption(self, counts: Whole) -> tuple[Array, Mask]:
        """Return what companions consume, and where they are possible, for counts of the items."""
        bill = self.bill(counts)
        consumed, possible = np.zeros((bill.rows, RESOURCES)), bill.possible
        racks = self.racks_network.by_item(bill.counts)
        for name, units in bill.counts.items():
            item = self.catalog[name]
            own = racks.get(name, np.zeros(bill.rows, dtype=np.int64))
            consumed += self.market.consumption(item, units, own)
            possible = possible & self.market.available(item, units)
        consumed[:, RACKS] += self.racks_network.shared(bill.counts, bill.rows)
        parts: dict[str, Whole] = {}
        for item, units in zip(self.items, counts.T, strict=True):
            for name, spare in self.market.spare_parts(item, units).items():
                parts[name] = parts.get(name, np.zeros(bill.rows, dtype=np.int64)) + spare
        for name, spare in parts.items():
            consumed += self.market.in_store(self.catalog[name], spare)
            possible = possible & self.market.in_stock(self.catalog[name], spare)
        return consumed, possible

    def bill(self, counts: Whole) -> Bill:
        """Return the companions in place, a column of ``counts`` for each item."""
        bill = Bill(len(counts), np.ones(len(counts), dtype=bool))
        racks = self._racks(counts)
        self._compute(bill, counts)
        storage = self.problem.network.storage
        if storage is not None and not storage.carries_in_band:
            self._edge(bill, storage, self._parts("storage", counts), "storage")
        extras = self._extras(bill, counts, racks)
        clustered = self._clusters(bill, counts)
        uplinks = self._out_of_band(bill, counts, racks, extras, clustered)
        of_in_band = self._in_band(bill, counts, extras, uplinks)
        self._cdus(bill, counts)
        self._software(bill, counts)
        self._rack_items(bill, racks)
        self._late_consoles(bill, of_in_band, uplinks)
        self._services(bill, counts, racks)
        return bill

    def _racks(self, counts: Whole) -> Whole:
        """Return the racks of each item, 0 where they are not known."""
        there = [self.market.in_place(i, n) for i, n in zip(self.items, counts.T, strict=True)]
        pairs = zip(self.standings, there, strict=True)
        columns = [np.zeros_like(n) if s is None else s.racks(n) for s, n in pairs]
        return np.stack(columns, axis=1)

    def _compute(self, bill: Bill, counts: Whole) -> None:
        wanted = self.problem.network.compute
        if wanted is None:
            return
        shared: dict[fabric.Design, Whole] = defaultdict(lambda: np.zeros(bill.rows, dtype=int))
        for item, units in zip(self.items, counts.T, strict=True):
            design = fabric.design(item, self.market.basis)
            if design is not None and item.category == "gpu_system":
                shared[design] = shared[design] + units
                end = fabric.system_end(item, wanted, design)
                if end is not None:
                    bill.add(end.item, -(-design.ports // end.links) * units)
        for design, systems in shared.items():
            known = {0: Parts(0, {})} | {
                n: fabric.compute_fabric(design, wanted, n) for n in map(int, {*systems} - {0})
            }
            bill.fabric_switches = bill.fabric_switches + _lay(bill, known, systems)
            if wanted.manager.transceiver is not None:
                bill.add(wanted.manager.transceiver, wanted.manager.ports * (systems > 0))

    def _parts(self, network: str, counts: Whole) -> list[tuple[Port, Whole]]:
        """Return the ports of the items on a network, with how many items have them."""
        ports = [getattr(item.ports, network) for item in self.items]
        pairs = zip(ports, counts.T, strict=True)
        return [(p, n) for p, n in pairs if p is not None and n.any()]

    def _edge(
        self,
        bill: Bill,
        wanted: EthernetFabric | None,
        devices: Sequence[tuple[Port, Whole]],
        network: str,
    ) -> Whole | int:
        """Add a storage or in-band fabric and return its switches."""
        if wanted is None:
            return 0
        edge = Edge(wanted, self.catalog[wanted.switch])
        parts = np.zeros(bill.rows, dtype=np.int64)
        ports = defaultdict[tuple[int, str], Whole | int](int)
        links: dict[tuple[int, str], Link | None] = {}
        for port, units in devices:
            parts = parts + edge.parts(port) * units
            group, link = edge.served(port) or (edge.groups[-1], None)
            form = link.form if isinstance(link, FormLink) else ""
            ports[group.count, form] = ports[group.count, form] + port.count * units
            links[group.count, form] = link
            end = (None if form else port.transceiver) or (link.system_end if link else None)
            if end is not None:
                bill.add(end.item, -(-port.count // end.links) * units)
        _pull(bill, links, ports)
        switches = _lay(bill, {n: edge.core(n) for n in map(int, {*parts})}, parts)
        if network == "storage":
            bill.fabric_switches = bill.fabric_switches + switches
        return switches

    def _late_consoles(self, bill: Bill, in_band: Whole | int, oob: Whole | None) -> None:
        """Add cables to the consoles that use reserved ports: late switches, PDUs beside them."""
        wanted = self.problem.network.out_of_band
        if wanted is None or oob is None:
            return
        groups = by_speed(self.catalog[wanted.switch])
        link = groups[0].link
        pdus: Whole | int = 0
        if self.problem.site.rack is not None and self.problem.site.rack.pdu is not None:
            _, pdus = self.racks_network.racks_and_pdus(bill.counts, bill.rows)
        if link is not None:
            bill.add(link.cable, oob + in_band + pdus)

    def _sum(self, counts: Whole, category: str, per_unit: Sequence[float]) -> Array:
        """Return the sum of a figure over the items of a category."""
        total = np.zeros(len(counts))
        for item, units, each in zip(self.items, counts.T, per_unit, strict=True):
            total += each * units if item.category == category else 0.0
        return total

    @cached_property
    def _gpus(self) -> list[float]:
        return [float(i.provides.gpus.value) if i.provides.gpus else 0.0 for i in self.items]

    def _extras(self, bill: Bill, counts: Whole, racks: Whole) -> dict[str, Whole]:
        """Add the extras and return their counts."""
        ones = [1.0] * len(self.items)
        amounts = {
            "gpu": self._sum(counts, "gpu_system", self._gpus),
            "gpu_system": self._sum(counts, "gpu_system", ones),
            "storage_unit": self._sum(counts, "storage", ones),
            "rack": racks.sum(axis=1).astype(float),
            "switch": np.zeros(bill.rows) + bill.fabric_switches,
        }
        found = {}
        for name, extra in self.problem.extras.items():
            found[name] = _extra_count(extra, amounts, bill.rows)
            bill.add(name, found[name])
        return found

    def _clusters(self, bill: Bill, counts: Whole) -> dict[str, Whole]:
        """Add what each cluster of a storage family needs, and return the counts."""
        found: dict[str, Whole] = {}
        for family in self.market.families:
            members = [item.family == family.id for item in self.items]
            if family.cluster is None or not any(members):
                continue
            units = counts[:, members].sum(axis=1)
            clusters = -(-units // family.cluster.max_units.value)
            if family.cluster.alone is not None:
                clusters = np.where(units <= family.cluster.alone.value, 0, clusters)
            for part in family.cluster.parts:
                own = clusters * part.quantity
                found[part.item] = found.get(part.item, np.zeros_like(own)) + own
                bill.add(part.item, own)
        return found

    def _out_of_band(
        self,
        bill: Bill,
        counts: Whole,
        racks: Whole,
        extras: dict[str, Whole],
        clustered: dict[str, Whole],
    ) -> Whole | None:
        """Add the out-of-band switches and return how many there are."""
        wanted = self.problem.network.out_of_band
        if wanted is None:
            return None
        ports = np.zeros(bill.rows, dtype=np.int64) + bill.fabric_switches
        devices = self._parts("out_of_band", counts) + self._of_extras("out_of_band", extras)
        for port, units in devices + self._of_extras("out_of_band", clustered):
            ports = ports + port.count * units
        for standing, own in zip(self.standings, racks.T, strict=True):
            ports = ports + (0 if standing is None else standing.pdus) * own
        groups = by_speed(self.catalog[wanted.switch])
        slowest = groups[0]
        switches = -(-ports // (slowest.count - wanted.reserve_ports))
        bill.add(wanted.switch, switches)
        if slowest.link is not None:
            bill.add(slowest.link.cable, ports)
        return switches

    def _of_extras(self, network: str, extras: dict[str, Whole]) -> list[tuple[Port, Whole]]:
        pairs = [(getattr(self.catalog[name].ports, network), n) for name, n in extras.items()]
        return [(port, n) for port, n in pairs if port is not None]

    def _in_band(
        self, bill: Bill, counts: Whole, extras: dict[str, Whole], oob: Whole | None
    ) -> Whole | int:
        """Add the in-band fabric, or that which storage shares with it; return its switches."""
        network = self.problem.network
        devices = self._parts("in_band", counts) + self._of_extras("in_band", extras)
        if oob is not None and network.out_of_band is not None and network.out_of_band.uplinks:
            fastest = by_speed(self.catalog[network.out_of_band.switch])[-1]
            speed = fastest.speed_gbit_per_s
            port: dict[str, object] = {"speed": f"{speed} Gb/s"}
            port["count"] = network.out_of_band.uplinks
            if fastest.link is not None and fastest.link.switch_end is not None:
                port["transceiver"] = fastest.link.switch_end.model_dump()
            uplink = Port.model_validate(port | {"source": "made_up", "confidence": "low"})
            devices.append((uplink, oob))
        if network.storage is not None and network.storage.carries_in_band:
            devices += self._parts("storage", counts)
            return self._edge(bill, network.storage, devices, "in_band")
        return self._edge(bill, network.in_band, devices, "in_band")

    def _cdus(self, bill: Bill, counts: Whole) -> None:
        cooling = self.problem.site.cooling
        if cooling.cdu is None:
            return
        liquid_kw = np.zeros(bill.rows)
        for item, units in zip(self.items, counts.T, strict=True):
            there = self.market.in_place(item, units)
            liquid_kw += facility.liquid_kw(item, self.market.basis) * there
        provided = self.catalog[cooling.cdu].provides.cooling
        if provided is None:
            raise ValueError(f"{cooling.cdu}: no cooling")
        needed = facility.up(liquid_kw / provided.value)
        spare = {"N": 0 * needed, "N+1": np.minimum(needed, 1), "2N": needed}
        more = spare[cooling.redundancy]
        bill.add(cooling.cdu, needed + more)

    def _software(self, bill: Bill, counts: Whole) -> None:
        for name in self.problem.software:
            licence = self.catalog[name].licence
            if licence is None:
                raise ValueError(f"{name}: no licence")
            covered = [licence.vendors is None or i.vendor in licence.vendors for i in self.items]
            per = licence.per
            category = "gpu_system" if per.startswith("gpu") else "storage"
            each = [1.0] * len(self.items)
            if per == "gpu":
                each = self._gpus
            elif per == "usable_tb":
                each = [i.provides.usable.value if i.provides.usable else 0.0 for i in self.items]
            each = [e if c else 0.0 for e, c in zip(each, covered, strict=True)]
            bill.add(name, facility.up(self._sum(counts, category, each)))

    def _services(self, bill: Bill, counts: Whole, racks: Whole) -> None:
        """Add services, each counted from all that is there without any of them."""
        zero = np.zeros(bill.rows)
        ones = [1.0] * len(self.items)
        before = dict(bill.counts)
        heat_kw, every_rack = zero.copy(), racks.sum(axis=1) + zero
        for item, units in zip(self.items, counts.T, strict=True):
            heat_kw += facility.liquid_kw(item, self.market.basis) * self.market.in_place(
                item, units
            )
        every_rack += self.racks_network.shared(before, bill.rows)
        every_rack += sum(self.racks_network.by_item(before).values(), zero)
        amounts = {
            "order": zero + 1.0,
            "gpu_system": self._sum(counts, "gpu_system", ones),
            "gpu": self._sum(counts, "gpu_system", self._gpus),
            "storage_unit": self._sum(counts, "storage", ones),
            "rack": every_rack,
            "liquid_kw": heat_kw,
        }
        for name in self.problem.services:
            service = self.catalog[name].service
            if service is None:
                raise ValueError(f"{name}: no service")
            if service.per in amounts:
                bill.add(name, facility.up(amounts[service.per]))
                continue
            kinds = [n for n in before if self.catalog[n].category == service.per]
            counted = sum((before[n] for n in kinds), np.zeros(bill.rows, dtype=np.int64))
            if service.per == "hardware":
                counted = -(-self._hardware_cents(before, counts) // 10_000)
            bill.add(name, counted)

    def _hardware_cents(self, before: dict[str, Whole], counts: Whole) -> Whole:
        """Return what the hardware in place costs in cents, without what is owned."""
        total = np.zeros(counts.shape[0], dtype=np.int64)
        columns = zip(self.items, counts.T, strict=True)
        placed = [(item, self.market.in_place(item, units)) for item, units in columns]
        placed += [(self.catalog[name], units) for name, units in before.items()]
        for item, units in placed:
            if item.category not in ("software", "service"):
                each = round(100 * self.market.unit_net_usd(item))
                total += each * np.maximum(0, units - self.market.owned(item))
        return total

    def _rack_items(self, bill: Bill, racks: Whole) -> None:
        """Add racks and PDUs, for the items and for what stands in network racks."""
        rack = self.problem.site.rack
        if rack is None:
            return
        total, pdus = self.racks_network.racks_and_pdus(bill.counts, bill.rows)
        for standing, own in zip(self.standings, racks.T, strict=True):
            if standing is not None and not standing.own:
                total, pdus = total + own, pdus + standing.pdus * own
        if rack.item is not None:
            bill.add(rack.item, total)
        if rack.pdu is not None:
            bill.add(rack.pdu.item, pdus)


def _pull(
    bill: Bill, links: Mapping[tuple[int, str], Link | None], ports: Mapping[Any, Whole | int]
) -> None:
    """Add cables and switch ends of ports by group and form."""
    for key, used in ports.items():
        link = links[key]
        if link is not None:
            bill.add(link.cable, -(-used // link.links))
            if link.switch_end is not None:
                bill.add(link.switch_end.item, -(-used // link.switch_end.links))


def _lay(bill: Bill, known: dict[int, Parts | None], sizes: Whole) -> Whole:
    """Add a fabric whose parts depend on its size, and return its switches, row by row."""
    names = {name for parts in known.values() if parts is not None for name in parts.counts}
    for name in sorted(names):
        table = {n: parts.counts.get(name, 0) if parts else 0 for n, parts in known.items()}
        bill.add(name, _looked_up(table, sizes))
    bill.possible = bill.possible & np.array([known[int(n)] is not None for n in sizes], dtype=bool)
    return _looked_up({n: parts.switches if parts else 0 for n, parts in known.items()}, sizes)


def _looked_up(table: dict[int, int], keys: Whole) -> Whole:
    distinct, places = np.unique(keys, return_inverse=True)
    return np.array([table[int(n)] for n in distinct], dtype=np.int64)[places]


def _extra_count(extra: Extra, amounts: dict[str, Array], rows: int) -> Whole:
    if extra.count is not None or extra.per is None:
        return np.full(rows, extra.count or 0, dtype=np.int64)
    return facility.up(amounts[extra.per] / extra.every)
