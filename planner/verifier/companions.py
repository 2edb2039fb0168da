"""What must come with GPU systems and storage, counted from them alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from planner.schema.catalog import Licence, ServiceCount
from planner.schema.problem import Extra
from planner.verifier.basis import Basis, at_least, gpus
from planner.verifier.fabrics import compute_fabrics, oob_uplinks, out_of_band, plugged, port_fabric
from planner.verifier.links import Fabric, PartCounts, Plugged, slowest
from planner.verifier.money import sale
from planner.verifier.racks import Room, first_fit, network_racks, own_racks, pdus

_HALF_A_CENT = 0.005
"""What floats may be off by in a sum of prices, USD."""


class Companions(NamedTuple):
    """The companions by item, the fabrics, and the racks of everything.

    ``room`` is not complete where racks have no size or a figure is not known; ``problems`` says
    what could not be counted.
    """

    counts: Mapping[str, int]
    fabrics: tuple[Fabric, ...]
    room: Room
    problems: tuple[str, ...]
    extras: Mapping[str, int]
    of_clusters: Mapping[str, int]


def count_companions(basis: Basis, counts: Mapping[str, int], shared: int | None) -> Companions:
    """Return everything that follows from the counts of GPU systems and storage.

    Args:
        counts: units of GPU systems and storage in the cluster.
        shared: racks that the placement has for network devices, which is checked by itself;
            without one, as many as they take where each goes into the first that has room.
    """
    return _Counting(basis, counts).run(shared)


class _Counting:
    """One pass over the rules, in the order in which they build on one another."""

    def __init__(self, basis: Basis, counts: Mapping[str, int]) -> None:
        self.basis, self.problem = basis, basis.problem
        self.counts = {sku: count for sku, count in counts.items() if count > 0}
        self.bill = PartCounts(reaching=basis.through_the_hall)
        self.problems: list[str] = []
        self.fabrics: list[Fabric] = []
        self.standing = basis.standing(self.counts)
        self.own = own_racks(basis, self.standing)
        self.extras: dict[str, int] = {}
        self.of_clusters: dict[str, int] = {}

    def run(self, shared: int | None) -> Companions:
        """Count everything."""
        self._gpu_and_storage_fabrics()
        self._extras()
        self._clusters()
        self._management()
        self._cooling()
        self._software()
        if shared is None:
            shared = first_fit(self.basis, self.bill.units)
        standing = network_racks(self.basis, self.bill.units, shared)
        room = Room((*self.own.sets, *standing.sets), self.own.complete and standing.complete)
        self._console_cables(room)
        self._racks(room)
        self._services(room)
        return Companions(
            counts=dict(self.bill.units),
            fabrics=tuple(self.fabrics),
            room=room,
            problems=tuple(self.problems),
            extras=self.extras,
            of_clusters=self.of_clusters,
        )

    def _take(self, name: str, fabrics: list[Fabric] | None) -> None:
        if fabrics is None:
            self.problems.append(f"network.{name}: a port fits no switch, or it is too large")
        else:
            self.fabrics += fabrics

    def _gpu_and_storage_fabrics(self) -> None:
        network = self.problem.network
        self._take("compute", compute_fabrics(self.basis, self.counts, self.bill))
        if network.storage is not None and not network.storage.carries_in_band:
            devices = plugged(self.basis, self.counts, "storage")
            fabrics = port_fabric(self.basis, "storage", network.storage, devices, self.bill)
            self._take("storage", fabrics)

    def _extras(self) -> None:
        for sku, extra in self.problem.extras.items():
            count = extra.count if extra.count is not None else self._per(extra)
            self.extras[sku] = count
            self.bill.add(sku, count)

    def _per(self, extra: Extra) -> int:
        amounts = {
            "gpu_system": self._units("gpu_system"),
            "gpu": sum(gpus(self.basis.items[sku], n) for sku, n in self.counts.items()),
            "storage_unit": self._units("storage"),
            "rack": sum(each.racks for each in self.own.sets),
            "switch": sum(fabric.switches for fabric in self.fabrics),
        }
        return -(-amounts[extra.per or ""] // extra.every)

    def _units(self, category: str) -> int:
        items = self.basis.items
        return sum(n for sku, n in self.counts.items() if items[sku].category == category)

    def _clusters(self) -> None:
        """Count what each cluster of a storage family needs for itself."""
        for family in self.basis.families.values():
            items, cluster = self.basis.items, family.cluster
            units = sum(n for sku, n in self.counts.items() if items[sku].family == family.id)
            if cluster is None or units <= (cluster.alone.value if cluster.alone else 0):
                continue
            for part in cluster.parts:
                count = -(-units // cluster.max_units.value) * part.quantity
                self.of_clusters[part.item] = self.of_clusters.get(part.item, 0) + count
                self.bill.add(part.item, count)

    def _management(self) -> None:
        """Count the OOB switches, then the in-band fabric that they uplink to."""
        network, everything = self.problem.network, {**self.counts, **self.extras}
        uplinks: Plugged | None = None
        if network.out_of_band is not None:
            others = sum(fabric.switches for fabric in self.fabrics) + self._own_pdus()
            devices = plugged(self.basis, everything, "out_of_band")
            devices += plugged(self.basis, self.of_clusters, "out_of_band")
            found = out_of_band(self.basis, network.out_of_band, devices, others, self.bill)
            self._take("out_of_band", found)
            switches = sum(fabric.leaf_switches for fabric in found or ())
            uplinks = oob_uplinks(self.basis, network.out_of_band, switches)
        both = network.storage is not None and network.storage.carries_in_band
        asked = network.storage if both else network.in_band
        if asked is not None:
            name = "converged" if both else "in_band"
            devices = plugged(self.basis, self.counts, "storage") if both else []
            devices += plugged(self.basis, everything, "in_band")
            devices += [uplinks] if uplinks is not None else []
            self._take(name, port_fabric(self.basis, name, asked, devices, self.bill))

    def _console_cables(self, room: Room) -> None:
        """Count the cables of consoles that have no port of their own in the count."""
        asked = self.problem.network.out_of_band
        group = slowest(self.basis.items[asked.switch]) if asked is not None else None
        managed = ("in_band", "converged", "out_of_band")
        if group is None or group.link is None:
            return
        late = sum(f.switches for f in self.fabrics if f.network in managed)
        late += (pdus(self.basis, room.sets) or 0) - self._own_pdus()
        self.bill.add(self.bill.reaching(group.link.cable), late)

    def _own_pdus(self) -> int:
        count = pdus(self.basis, self.own.sets)
        return 0 if count is None else count

    def _cooling(self) -> None:
        cooling = self.problem.site.cooling
        if cooling.cdu is None:
            return
        provides = self.basis.items[cooling.cdu].provides.cooling
        heat_kw = 0.0
        for sku, count in self.standing.items():
            item = self.basis.items[sku]
            power_kw, share = self.basis.unit_it_power_kw(item), self.basis.liquid_share(item)
            if count and power_kw is None and share > 0:
                self.problems.append(f"site.cooling: the draw of {sku} is not known")
            heat_kw += (power_kw or 0.0) * share * count
        if provides is None:
            self.problems.append(f"site.cooling: {cooling.cdu} does not say what it cools")
            return
        least = at_least(heat_kw / provides.value)
        more = {"N": least, "N+1": least + 1, "2N": 2 * least}
        self.bill.add(cooling.cdu, more[cooling.redundancy] if least else 0)

    def _software(self) -> None:
        for sku in self.problem.software:
            licence = self.basis.items[sku].licence
            if licence is None:
                self.problems.append(f"software.{sku}: it does not say what it is licensed by")
            else:
                self.bill.add(sku, self._licences(sku, licence))

    def _licences(self, sku: str, licence: Licence) -> int:
        total = 0.0
        for each, count in self.counts.items():
            item = self.basis.items[each]
            if licence.vendors is not None and item.vendor not in licence.vendors:
                continue
            if licence.per == "gpu":
                total += gpus(item, count)
            elif licence.per == "gpu_system":
                total += count if item.category == "gpu_system" else 0
            elif item.category == "storage" and licence.per == "storage_unit":
                total += count
            elif item.category == "storage":
                usable = item.provides.usable
                if usable is None:
                    self.problems.append(f"software.{sku}: the capacity of {each} is not known")
                total += 0.0 if usable is None else usable.value * count
        return at_least(total)

    def _services(self, room: Room) -> None:
        """Count the services, all of them from what was there before the first."""
        before, counted = dict(self.bill.units), {}
        for sku in self.problem.services:
            service = self.basis.items[sku].service
            if service is None:
                self.problems.append(f"services.{sku}: it does not say what it is counted by")
            else:
                counted[sku] = self._served(service, before, room)
        for sku, count in counted.items():
            self.bill.add(sku, count)

    def _served(self, service: ServiceCount, before: Mapping[str, int], room: Room) -> int:
        items, per = self.basis.items, service.per
        if per == "order":
            return 1
        if per in ("gpu_system", "storage_unit"):
            return self._units("gpu_system" if per == "gpu_system" else "storage")
        if per == "gpu":
            return sum(gpus(items[sku], n) for sku, n in self.counts.items())
        if per == "rack":
            return sum(each.racks for each in room.sets)
        if per == "liquid_kw":
            heat_kw = 0.0
            for sku, count in self.standing.items():
                draw_kw = self.basis.unit_it_power_kw(items[sku]) or 0.0
                heat_kw += draw_kw * self.basis.liquid_share(items[sku]) * count
            return at_least(heat_kw)
        if per == "hardware":
            return self._hundreds_usd(service, before)
        return sum(n for sku, n in before.items() if items[sku].category == per)

    def _hundreds_usd(self, service: ServiceCount, before: Mapping[str, int]) -> int:
        """Return every 100 USD, or part of it, of hardware in place that was not owned before."""
        spent_usd = 0.0
        for sku, count in {**self.standing, **before}.items():
            item = self.basis.items[sku]
            known, soft = sale(self.basis, item), item.category in ("software", "service")
            if known.unit is None or (
                soft if service.of is None else item.category not in service.of
            ):
                continue
            bought = max(0, count - known.owned)
            # Half a cent goes up, as in the lines.
            spent_usd += max(known.unit.net_usd) * bought
        return math.ceil((spent_usd - _HALF_A_CENT) / 100)

    def _racks(self, room: Room) -> None:
        """Count the racks that are bought, and the PDUs in them."""
        rack = self.problem.site.rack
        if rack is None:
            return
        if rack.item is not None:
            self.bill.add(rack.item, sum(each.racks for each in room.sets if not each.product))
        if rack.pdu is not None:
            count = pdus(self.basis, room.sets)
            if count is None:
                self.problems.append("site.rack.pdu: its feed or a rack's load is not known")
            self.bill.add(rack.pdu.item, count or 0)
