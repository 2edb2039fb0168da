"""Checks of fabrics: every port that a problem needs exists, at its speed and protocol."""

from __future__ import annotations

from collections.abc import Iterator

from planner.inputs import Inputs
from planner.loader.contradictions import Fault
from planner.schema.catalog import Item, Switch

MOST_COPPER_GBIT_PER_S = 10.0


def network_faults(inputs: Inputs) -> Iterator[Fault]:
    """Contradictions inside ``network``, and ports that items need and switches lack."""
    network = inputs.problem.network
    compute, converged = network.compute, network.converged
    if compute is not None:
        if len(set(compute.switches)) < len(compute.switches):
            message = "a switch is listed twice"
            yield "twice", "network.compute.switches", message, "list each switch once"
        if compute.manager.ports and not compute.manager.slots:
            message = "manager ports need a system position: a full unit has no port left"
            fix = "give manager: {slots: 1, ports: 4}"
            yield "manager", "network.compute.manager", message, fix
    if converged is not None and network.in_band is not None:
        message = "network.storage carries in-band management, so it has no fabric of its own"
        fix = "leave out network.in_band, or storage.carries_in_band"
        yield "converged", "network.in_band", message, fix
    yield from _transceivers(inputs)
    yield from _edges(inputs)
    yield from _extras(inputs)
    yield from _consoles(inputs)


def _switch(inputs: Inputs, name: str | None) -> Switch | None:
    item = inputs.by_id.get(name or "")
    return None if item is None else item.switch


def _takes(switch: Switch, speed_gbit_per_s: float) -> bool:
    return any(group.takes(speed_gbit_per_s) for group in switch.ports)


def _in_band(inputs: Inputs) -> tuple[str, str, Switch] | None:
    """Key, item and switch of the fabric with in-band management."""
    network = inputs.problem.network
    fabric = network.in_band or network.converged
    switch = _switch(inputs, fabric.switch) if fabric is not None else None
    if fabric is None or switch is None:
        return None
    return "storage" if fabric is network.converged else "in_band", fabric.switch, switch


def _transceivers(inputs: Inputs) -> Iterator[Fault]:
    """Transceivers of ports that no catalog in use holds."""
    network = inputs.problem.network
    in_band = "storage" if network.in_band is None else "in_band"
    fabrics = (
        ("compute", "compute", network.compute),
        ("storage", "storage", network.storage),
        ("in_band", in_band, network.in_band or network.converged),
    )
    for key, place, fabric in fabrics:
        ends = [end for item in inputs.items for end in _ends(item, key)] if fabric else []
        missing = {end: name for name, end in ends if end not in inputs.by_id}
        for transceiver, name in sorted(missing.items()):
            message = f"the ports of '{name}' take '{transceiver}', which no catalog in use holds"
            yield "unknown-id", f"network.{place}", message, "add network to catalogs"


def _ends(item: Item, key: str) -> Iterator[tuple[str, str]]:
    """The item and each transceiver of its ports on a fabric."""
    port = getattr(item.ports, key)
    if port is not None:
        for end in (port.transceiver, port.split.transceiver if port.split else None):
            if end is not None:
                yield item.id, end.item


def _edges(inputs: Inputs) -> Iterator[Fault]:
    """Links to the customer's edge at a speed that no port of the switch takes."""
    network = inputs.problem.network
    for key, fabric in (("storage", network.storage), ("in_band", network.in_band)):
        switch = _switch(inputs, fabric.switch) if fabric is not None else None
        if fabric is None or fabric.edge is None or switch is None:
            continue
        speed = fabric.edge.speed_gbit_per_s
        if not _takes(switch, speed):
            speeds = ", ".join(f"{group.speed_gbit_per_s:g}" for group in switch.ports)
            message = (
                f"no port of {fabric.switch} takes {speed:g} Gb/s: its ports have {speeds} Gb/s"
            )
            fix = "give one of these, or another switch"
            yield "ports", f"network.{key}.edge.speed", message, fix


def _extras(inputs: Inputs) -> Iterator[Fault]:
    """In-band ports of extras that no port of the fabric takes."""
    in_band = _in_band(inputs)
    if in_band is None:
        return
    _, name, switch = in_band
    for extra in inputs.problem.extras:
        item = inputs.by_id.get(extra)
        port = item.ports.in_band if item is not None else None
        if port is None:
            continue
        speaks = port.protocol in (None, switch.protocol)
        if not (speaks and _takes(switch, port.speed_gbit_per_s)):
            kind = f"{port.protocol} " if port.protocol else ""
            message = (
                f"no port of {name} takes its {kind}in-band ports of {port.speed_gbit_per_s:g} Gb/s"
            )
            yield "ports", f"extras.{extra}", message, "choose another switch for that fabric"


def _consoles(inputs: Inputs) -> Iterator[Fault]:
    """Out-of-band switches without copper or free ports, and uplinks that nothing takes."""
    managing = inputs.problem.network.out_of_band
    lower = _switch(inputs, managing.switch) if managing is not None else None
    if managing is None or lower is None:
        return
    name, in_band, path = managing.switch, _in_band(inputs), "network.out_of_band"
    slow, fast = (
        pick(lower.ports, key=lambda group: group.speed_gbit_per_s) for pick in (min, max)
    )
    if slow.speed_gbit_per_s > MOST_COPPER_GBIT_PER_S:
        message = (
            f"'{name}' has no copper ports for consoles: {slow.speed_gbit_per_s:g} Gb/s at least"
        )
        yield "ports", f"{path}.switch", message, "name a management switch, such as nvidia_sn2201"
    if managing.reserve_ports >= slow.count:
        message = f"reserve_ports {managing.reserve_ports} leaves none of its {slow.count} ports"
        yield "ports", f"{path}.reserve_ports", message, "reserve fewer"
    if in_band is None or not managing.uplinks:
        return
    key, upper_name, upper = in_band
    speed = f"{fast.speed_gbit_per_s:g} Gb/s"
    if managing.uplinks > fast.count:
        message = f"{name} has {fast.count} uplinks of {speed}, not {managing.uplinks}"
        yield "ports", f"{path}.uplinks", message, f"give {fast.count} or fewer"
    if not _takes(upper, fast.speed_gbit_per_s):
        message = f"no port of {upper_name} takes the {speed} uplinks of {name}"
        yield "ports", f"network.{key}.switch", message, "choose another switch"
    if lower.protocol != upper.protocol:
        message = (
            f"the {lower.protocol} uplinks of {name} fit no {upper.protocol} port of {upper_name}"
        )
        fix = f"choose an {lower.protocol} switch, or out_of_band.uplinks: 0"
        yield "ports", f"network.{key}.switch", message, fix
