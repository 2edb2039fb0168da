"""Which switch ports a device's ports use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from planner.inputs import Inputs
from planner.schema.catalog import Item, Port, PortGroup, Switch


@dataclass(frozen=True)
class Fit:
    """A switch and the way its front panel is used for a port."""

    switch: Item
    group: PortGroup


def group_for(switch: Switch, speed_gbit_per_s: float) -> PortGroup | None:
    """Return the port group of the least speed that is fast enough, or None."""
    fast = [g for g in switch.ports if g.speed_gbit_per_s >= speed_gbit_per_s]
    return min(fast, key=lambda group: group.speed_gbit_per_s, default=None)


def base_group(switch: Switch) -> PortGroup:
    """Return the port group of the highest speed: its ports are what others are parts of."""
    return max(switch.ports, key=lambda group: group.speed_gbit_per_s)


def parts_per_panel(switch: Switch) -> int:
    """Return how many parts a whole front panel has, so that every port is a whole number."""
    return math.lcm(*(group.count for group in switch.ports))


def compute_fit(item: Item, inputs: Inputs) -> Fit | None:
    """Return the first switch of the compute fabric that fits a GPU system, or None."""
    fabric, port = inputs.problem.network.compute, item.ports.compute
    if fabric is None or port is None:
        return None
    known = {other.id: other for other in inputs.items}
    for name in fabric.switches:
        fit = _fit(known[name], port)
        if fit is not None:
            return fit
    return None


def fits(switch: Item, port: Port) -> bool:
    """Say whether a switch has ports for a port: its protocol, and a speed that is enough."""
    return _fit(switch, port) is not None


def _fit(switch: Item, port: Port) -> Fit | None:
    assert switch.switch is not None
    if port.protocol is not None and port.protocol != switch.switch.protocol:
        return None
    group = group_for(switch.switch, port.speed_gbit_per_s)
    return None if group is None else Fit(switch, group)


class FabricKey(NamedTuple):
    """GPU types with the same key share a compute fabric."""

    switch: str
    speed_gbit_per_s: float
    ports: int
    rails: int


def fabric_key(item: Item, inputs: Inputs) -> FabricKey | None:
    """Return which compute fabric a GPU system joins; None without one."""
    fit, port = compute_fit(item, inputs), item.ports.compute
    if item.category != "gpu_system" or fit is None or port is None:
        return None
    return FabricKey(fit.switch.id, fit.group.speed_gbit_per_s, port.count, port.rails)


def no_compute_fabric(item: Item, inputs: Inputs) -> str | None:
    """Return why a GPU system cannot join the compute fabric, or None where it can."""
    fabric = inputs.problem.network.compute
    if fabric is None or item.category != "gpu_system":
        return None
    port = item.ports.compute
    if port is None:
        return "not known: compute ports, for network.compute"
    fit = compute_fit(item, inputs)
    if fit is None:
        kind = f"{port.protocol} " if port.protocol else ""
        return f"no switch of network.compute has {kind}ports of {port.speed_gbit_per_s:g} Gb/s"
    if port.count % (port.rails * fabric.planes):
        return (
            f"its {port.count} compute ports do not spread evenly over {port.rails} rails "
            f"of {fabric.planes} planes"
        )
    return None


def no_port_group(item: Item, inputs: Inputs) -> str | None:
    """Return which port of an item no switch of the problem is fast enough for, or None."""
    known = {other.id: other for other in inputs.items}
    network = inputs.problem.network
    for name, fabric in (("storage", network.storage), ("in_band", network.in_band)):
        port = getattr(item.ports, name)
        if fabric is None or port is None:
            continue
        switch = known[fabric.switch]
        assert switch.switch is not None
        if group_for(switch.switch, port.speed_gbit_per_s) is None:
            return f"no port of {switch.id} is as fast as {port.speed_gbit_per_s:g} Gb/s"
    return None
