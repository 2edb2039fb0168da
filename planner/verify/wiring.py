"""What fabrics are made of: switches, cables, and the transceivers at both ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from planner.schema.catalog import Item, Link, LinkEnd, Port, PortGroup


@dataclass
class Bill:
    """Units by item, added up fabric by fabric."""

    units: Counter[str] = field(default_factory=Counter)

    def add(self, sku: str, count: int) -> None:
        """Add units of an item; none leave no trace."""
        if count > 0:
            self.units[sku] += count

    def cables(self, link: Link | None, links: int) -> None:
        """Add the cables of one kind that carry so many links."""
        if link is not None:
            self.add(link.cable, -(-links // link.links))

    def optics(self, end: LinkEnd | None, ports: int, devices: int = 1) -> None:
        """Add the transceivers of so many ports on each of ``devices``."""
        if end is not None:
            self.add(end.item, -(-ports // end.links) * devices)

    def switch_ends(self, link: Link | None, ports: int, devices: int = 1) -> None:
        """Add the transceivers at the switch end of links."""
        self.optics(link.switch_end if link else None, ports, devices)

    def system_ends(
        self, link: Link | None, own: LinkEnd | None, ports: int, devices: int = 1
    ) -> None:
        """Add the transceivers at the device end of links: its own, or the switch's usual."""
        self.optics(own or (link.system_end if link else None), ports, devices)


@dataclass(frozen=True)
class Fabric:
    """One fabric as it follows from the counts, under the names the plan gives its figures.

    ``serves`` are the GPU systems and storage it connects; ``endpoints`` and ``capacity`` are in
    parts of a base port.
    """

    network: str
    switch_sku: str
    serves: frozenset[str]
    planes: int
    tiers: int
    units: int
    radix: int
    leaf_switches: int
    spine_switches: int
    core_switches: int
    endpoints: int
    parts_per_port: int
    capacity: int
    uplinks_per_leaf: int
    system_links: int
    leaf_spine_links: int
    spine_core_links: int

    @property
    def switches(self) -> int:
        """All its switches."""
        return self.leaf_switches + self.spine_switches + self.core_switches


def group_for(switch: Item, port: Port) -> PortGroup | None:
    """Return the group of the least speed that serves a port, None where none is fast enough."""
    speed = port.speed_gbit_per_s
    return slowest(switch, speed)


def slowest(switch: Item, least_gbit_per_s: float = 0.0) -> PortGroup | None:
    """Return the slowest group of at least a speed."""
    groups = () if switch.switch is None else switch.switch.ports
    enough = [group for group in groups if group.speed_gbit_per_s >= least_gbit_per_s]
    return min(enough, key=lambda group: group.speed_gbit_per_s, default=None)


def fastest(switch: Item) -> PortGroup | None:
    """Return the fastest group of a switch."""
    groups = () if switch.switch is None else switch.switch.ports
    return max(groups, key=lambda group: group.speed_gbit_per_s, default=None)
