"""Ports of items and of switches: what fits, and the compute fabrics that a GPU system may join."""

from __future__ import annotations

import math
from typing import NamedTuple

from planner.inputs import Inputs
from planner.schema.catalog import Item, Port, PortGroup, Switch


def group_for(switch: Switch, speed_gbit_per_s: float, form: str | None = None) -> PortGroup | None:
    """The slowest port group that takes a port, None for none.

    Of a switch with links for the form of a port only the groups that have one are tried.
    """
    made_for = [group for group in switch.ports if group.made_for(form)]
    taking = [group for group in made_for or switch.ports if group.takes(speed_gbit_per_s)]
    return min(taking, key=lambda group: group.speed_gbit_per_s, default=None)


def base_group(switch: Switch) -> PortGroup:
    """The fastest port group: the ports that others are parts of."""
    return max(switch.ports, key=lambda group: group.speed_gbit_per_s)


def slowest_group(switch: Switch) -> PortGroup:
    """The slowest port group, which takes consoles."""
    return min(switch.ports, key=lambda group: group.speed_gbit_per_s)


def parts_per_panel(switch: Switch) -> int:
    """Parts of a whole front panel, so that every port is a whole number of them."""
    return math.lcm(*(group.count for group in switch.ports))


def compute_port(item: Item, planes: int) -> Port | None:
    """Compute ports of a GPU system in a fabric of several planes.

    Ports that can be split into as many are several slower ones each, one to a plane.
    """
    port = item.ports.compute
    if port is None or port.split is None or port.split.into != planes:
        return port
    return port.model_copy(
        update={
            "count": port.count * planes,
            "speed_gbit_per_s": port.speed_gbit_per_s / planes,
            "transceiver": port.split.transceiver,
        }
    )


def speaks(switch: Switch, port: Port) -> bool:
    """Whether a switch has the protocol of a port; a port without one takes any."""
    return port.protocol in (None, switch.protocol)


class FabricKey(NamedTuple):
    """GPU types with the same key can share a compute fabric."""

    switch: str
    speed_gbit_per_s: float
    ports: int
    rails: int
    rail_group: int
    planes: int
    oversubscription: float


def _groups(port: Port, inputs: Inputs) -> list[tuple[str, PortGroup]]:
    """Switches of the compute fabric that take a port, with their port group."""
    fabric = inputs.problem.network.compute
    taking = []
    for name in fabric.switches if fabric is not None else ():
        switch = inputs.by_id[name].switch
        assert switch is not None
        group = group_for(switch, port.speed_gbit_per_s) if speaks(switch, port) else None
        if group is not None:
            taking.append((name, group))
    return taking


def fabric_keys(item: Item, inputs: Inputs) -> tuple[FabricKey, ...]:
    """The compute fabrics that a GPU system may join, sorted: none without any."""
    fabric = inputs.problem.network.compute
    if item.category != "gpu_system" or fabric is None:
        return ()
    keys = set()
    for planes in fabric.planes_allowed:
        port = compute_port(item, planes)
        if port is None or port.count % (port.rails * planes):
            continue
        of_port = port.count, port.rails, port.rail_group or 0, planes
        keys |= {
            FabricKey(switch, group.speed_gbit_per_s, *of_port, ratio)
            for switch, group in _groups(port, inputs)
            for ratio in fabric.oversubscriptions
        }
    return tuple(sorted(keys))


def no_compute_fabric(item: Item, inputs: Inputs) -> str | None:
    """Why a GPU system cannot join the compute fabric, None where it can."""
    fabric = inputs.problem.network.compute
    if fabric is None or item.category != "gpu_system" or fabric_keys(item, inputs):
        return None
    port = compute_port(item, fabric.planes_allowed[0])
    if port is None:
        return "not known: compute ports, for network.compute"
    if not _groups(port, inputs):
        kind = f"{port.protocol} " if port.protocol else ""
        return f"no switch of network.compute has {kind}ports of {port.speed_gbit_per_s:g} Gb/s"
    planes = " or ".join(map(str, fabric.planes_allowed))
    return (
        f"its {port.count} compute ports do not spread evenly over {port.rails} rails "
        f"of {planes} planes"
    )


def no_port_group(item: Item, inputs: Inputs) -> str | None:
    """Why a storage or in-band port fits no port of its switch, None where it does."""
    network = inputs.problem.network
    in_band = network.in_band or network.converged
    for name, fabric in (("storage", network.storage), ("in_band", in_band)):
        port: Port | None = getattr(item.ports, name)
        if fabric is None or port is None:
            continue
        switch = inputs.by_id[fabric.switch]
        assert switch.switch is not None
        if not speaks(switch.switch, port):
            kind = name.replace("_", "-")
            return f"{switch.id}, which its {kind} ports go to, has no {port.protocol} ports"
        if group_for(switch.switch, port.speed_gbit_per_s, port.form) is None:
            made = any(group.made_for(port.form) for group in switch.switch.ports)
            form = f" made for {port.form} ends" if made else ""
            return f"no port of {switch.id}{form} takes one of {port.speed_gbit_per_s:g} Gb/s"
    return None
