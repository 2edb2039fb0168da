"""Whether what a problem wants to come with the systems exists and can be what it is meant for."""

from __future__ import annotations

from collections.abc import Iterator

from planner.errors import did_you_mean
from planner.inputs import Inputs, Usable, accept_any, named_fabrics, named_facilities
from planner.schema.catalog import Category, Item

Fault = tuple[str, str, str, str | None]
"""(code, path in the problem file, what is wrong, what would be right)"""
MOST_COPPER_GBIT_PER_S = 10.0
CHOSEN = frozenset({"gpu_system", "storage"})
EXTRAS = frozenset({"management", "switch", "transceiver", "cable", "rack", "pdu", "cdu"})


def companion_faults(inputs: Inputs) -> Iterator[Fault]:
    """Yield what is wrong with the companions and policies a problem names."""
    yield from _named(inputs)
    yield from _network(inputs)
    yield from _items(inputs)
    yield from _stock(inputs)
    yield from _policy(inputs)


def _named(inputs: Inputs) -> Iterator[Fault]:
    for path, name, category, usable in (*named_fabrics(inputs), *named_facilities(inputs)):
        yield from _reference(inputs, path, name, {category}, usable)
    for name in inputs.problem.extras:
        yield from _reference(inputs, f"extras.{name}", name, EXTRAS, accept_any)


def _reference(
    inputs: Inputs, path: str, name: str, categories: set[Category] | frozenset[str], usable: Usable
) -> Iterator[Fault]:
    item = next((item for item in inputs.items if item.id == name), None)
    fitting = [other.id for other in inputs.items if other.category in categories]
    what = " or ".join(sorted(categories)) if len(categories) == 1 else "companion"
    if item is None:
        hint = did_you_mean(name, fitting) or _known(fitting)
        yield "unknown-id", path, f"no {what} '{name}' in the catalogs in use", hint
    elif item.category not in categories:
        message = f"'{name}' is of category {item.category}, expected {what}"
        yield "category", path, message, _known(fitting)
    elif (fault := usable(item)) is not None:
        yield "figure", path, f"'{name}' {fault}", "name another item, or add the figure"


def _known(names: list[str]) -> str:
    if not names:
        return "the catalogs in use hold none: add network, facility or software to catalogs"
    return "known: " + ", ".join(names)


def _network(inputs: Inputs) -> Iterator[Fault]:
    network = inputs.problem.network
    known = {item.id: item for item in inputs.items}
    compute, managing = network.compute, network.out_of_band
    if compute is not None:
        if len(set(compute.switches)) < len(compute.switches):
            message = "a switch is listed twice"
            yield "twice", "network.compute.switches", message, "list each switch once"
        if compute.manager.ports and not compute.manager.slots:
            message = "manager ports need a system position: a full unit has no port left"
            fix = "give manager: {slots: 1, ports: 4}"
            yield "manager", "network.compute.manager", message, fix
    yield from _transceivers(inputs, known)
    if managing is not None and managing.switch in known:
        switch = known[managing.switch].switch
        ports = 0
        if switch is not None:
            ports = min(switch.ports, key=lambda group: group.speed_gbit_per_s).count
        speed = min((g.speed_gbit_per_s for g in switch.ports), default=0.0) if switch else 0.0
        if speed > MOST_COPPER_GBIT_PER_S:
            message = (
                f"'{managing.switch}' has no copper ports for consoles: {speed:g} Gb/s at least"
            )
            fix = "name a management switch, such as nvidia_sn2201"
            yield "ports", "network.out_of_band.switch", message, fix
        if managing.reserve_ports >= ports > 0:
            message = f"reserve_ports {managing.reserve_ports} leaves none of its {ports} ports"
            yield "ports", "network.out_of_band.reserve_ports", message, "reserve fewer"
        yield from _uplinks(inputs, known)


def _transceivers(inputs: Inputs, known: dict[str, Item]) -> Iterator[Fault]:
    """Yield what ports take that no catalog in use holds."""
    network = inputs.problem.network
    for key in ("compute", "storage", "in_band"):
        if getattr(network, key) is None:
            continue
        ports = {item.id: getattr(item.ports, key) for item in inputs.items}
        missing = {
            port.transceiver.item: name
            for name, port in ports.items()
            if port is not None and port.transceiver and port.transceiver.item not in known
        }
        for transceiver, name in sorted(missing.items()):
            message = f"the ports of '{name}' take '{transceiver}', which no catalog in use holds"
            yield "unknown-id", f"network.{key}", message, "add network to catalogs"


def _uplinks(inputs: Inputs, known: dict[str, Item]) -> Iterator[Fault]:
    network = inputs.problem.network
    if network.in_band is None or network.out_of_band is None or not network.out_of_band.uplinks:
        return
    upper = known.get(network.in_band.switch)
    lower = known.get(network.out_of_band.switch)
    if upper is None or lower is None or upper.switch is None or lower.switch is None:
        return
    fastest = max(group.speed_gbit_per_s for group in upper.switch.ports)
    top = max(lower.switch.ports, key=lambda group: group.speed_gbit_per_s)
    uplink, asked = top.speed_gbit_per_s, network.out_of_band.uplinks
    if asked > top.count:
        message = f"{lower.id} has {top.count} uplinks of {uplink:g} Gb/s, not {asked}"
        yield "ports", "network.out_of_band.uplinks", message, f"give {top.count} or fewer"
    if uplink > fastest:
        message = f"no port of {upper.id} is as fast as the {uplink:g} Gb/s uplinks of {lower.id}"
        yield "ports", "network.in_band.switch", message, "choose a faster switch"


def _items(inputs: Inputs) -> Iterator[Fault]:
    known = {item.id: item for item in inputs.items}
    for name, rule in inputs.problem.items.items():
        item = known.get(name)
        if item is None or item.category in CHOSEN or item.category == "component":
            continue
        counted = {"fixed", "min", "max", "required", "exclude"} & rule.model_fields_set
        if counted:
            key = sorted(counted)[0]
            message = f"the count of '{name}' follows from the systems and cannot be set"
            fix = "give only installed, retire, stock or support_years; or name it under extras"
            yield "companion", f"items.{name}.{key}", message, fix


def _stock(inputs: Inputs) -> Iterator[Fault]:
    """Yield counts that are demanded but cannot be had."""
    for name, rule in inputs.problem.items.items():
        price = inputs.prices.get(name)
        stock = rule.stock if rule.stock is not None else price.stock if price else None
        if stock is not None and rule.least > stock + rule.in_place:
            message = f"{rule.least} of '{name}' are demanded, but only {stock} can be had"
            if rule.in_place:
                message += f" beside {rule.in_place} installed"
            key = "stock" if rule.stock is not None else "fixed"
            yield "stock", f"items.{name}.{key}", message, "demand fewer, or raise the stock"


def _policy(inputs: Inputs) -> Iterator[Fault]:
    problem = inputs.problem
    policy, storage = problem.policy, problem.storage
    vendors = sorted({item.vendor for item in inputs.items})
    sellers = sorted({item.vendor for item in inputs.items if item.category in CHOSEN})
    named = (
        ("require_vendors", policy.require_vendors, sellers),
        ("forbid_vendors", policy.forbid_vendors, vendors),
        ("prefer.vendors", policy.prefer.vendors if policy.prefer else (), sellers),
    )
    for key, names, choices in named:
        for index, name in enumerate(names):
            if name not in choices:
                hint = did_you_mean(name, choices) or "known: " + ", ".join(choices)
                yield "unknown-id", f"policy.{key}.{index}", f"no vendor '{name}'", hint
    for name in sorted(set(policy.require_vendors) & set(policy.forbid_vendors)):
        message = f"vendor {name} is required and forbidden"
        yield "policy", "policy.require_vendors", message, "leave out the one or the other"
    exact = storage.exact_families
    if exact is not None and "max_families" in storage.model_fields_set:
        if storage.max_families != exact:
            message = f"exact_families {exact} does not go with max_families {storage.max_families}"
            yield "families", "storage.exact_families", message, "leave out max_families"
