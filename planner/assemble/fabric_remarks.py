"""What a reader is told of fabrics: where one ends a plan, and what another design would take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from planner.case import Case
from planner.case.bounds import cap
from planner.case.fabrics import WORDS
from planner.case.model import Fabric
from planner.case.quantities import total
from planner.inputs import Inputs
from planner.optimizer.bill import bill
from planner.optimizer.operate import Run
from planner.sizing.fabric import (
    FabricSize,
    PortDesign,
    compute_sizes,
    port_sizes,
    smallest,
)

FULL_FROM = 0.98
"""Share of what it connects from which on the largest fabric is what ends a plan."""


def largest_fabrics(inputs: Inputs, case: Case, operation: Run) -> Iterator[str]:
    """Say where what ends a plan, or keeps GPU types out of it, is no limit of the problem but the
    largest fabric that its switches make."""
    models = {item.id: item.model for item in inputs.items}
    values = _standing(case, operation)
    for fabric in case.companions.fabrics:
        if not fabric.sizes or fabric.kinds or fabric.network == "out_of_band":
            continue
        most = fabric.sizes[-1].capacity
        if _sizes(inputs, fabric, most + 1)[-1].capacity > most:
            continue
        switch, words = models[fabric.switch], WORDS[fabric.network]
        ports = f"{most / fabric.parts_per_port:,.0f} ports"
        counted = f"{most:,} systems" if fabric.design is not None else ports
        if total(fabric.amount, values) > FULL_FROM * most:
            yield (
                f"the {words} fabric is the largest that {switch} makes in three tiers: {counted}, "
                "whatever power, racks and money allow; more take a switch with more ports "
                f"({_asked(fabric)})"
            )
            continue
        short = ", ".join(_kept_out(case, operation, fabric, most, models))
        if short:
            yield (
                f"{short} could not do as much as this plan: {switch} connects at most {most:,} "
                f"in three tiers; more take a switch with more ports ({_asked(fabric)})"
            )


def _standing(case: Case, operation: Run) -> Mapping[str, float]:
    return bill(case, operation.units, operation.ways).counts


def _asked(fabric: Fabric) -> str:
    """Return where the problem names the switches of a fabric."""
    if fabric.design is not None:
        return "network.compute.switches"
    return f"network.{'in_band' if fabric.network == 'in_band' else 'storage'}.switch"


def _kept_out(
    case: Case, operation: Run, fabric: Fabric, most: int, models: dict[str, str]
) -> Iterator[str]:
    """Yield the GPU types of which nothing but their compute fabric, with ``most`` systems, keeps
    the job from as many FLOP/s as the plan has."""
    chosen = [s.way(operation.ways) for s in case.systems if operation.used.get(s.id)]
    if fabric.design is None or not chosen:
        return
    planned = operation.gpus * min(way.tflops_per_gpu for way in chosen)
    built = {each.prefix: each.sizes[-1].capacity for each in case.companions.fabrics if each.sizes}
    for system in case.systems:
        if system.id not in fabric.serves or operation.used.get(system.id):
            continue
        if any(built.get(f"compute{number}", 0) > most for number in system.fabrics):
            continue  # another switch connects more of them
        reached, allowed = (
            max(way.most_gpus(count) * way.tflops_per_gpu for way in system.ways)
            for count in (most, cap(case, system))
        )
        if reached < planned <= allowed:
            yield models[system.id]


def fabric_remarks(inputs: Inputs, case: Case, operation: Run) -> Iterator[str]:
    """Yield what a reader would ask about the fabrics of a purchase."""
    yield from _uneven_uplinks(inputs, case, operation)
    yield from _consoles_on_reserve(case, operation)
    yield from _manager_links(inputs, case, operation)


def _uneven_uplinks(inputs: Inputs, case: Case, operation: Run) -> Iterator[str]:
    """Say where a few more uplinks of each leaf would take fewer switches, and block less.

    Uplinks are spread evenly, so spines are a divisor of them: 29 go to 29 spines or none.
    """
    values = _standing(case, operation)
    for fabric in case.companions.fabrics:
        amount = round(total(fabric.amount, values))
        size = smallest(fabric.sizes, amount) if fabric.sizes and not fabric.kinds else None
        grouped = fabric.design is not None and fabric.design.rail_group
        if size is None or size.tree.tiers < 2 or grouped:
            continue
        up, now = size.tree.uplinks_per_leaf, _switches(size)
        found = []
        for more in range(up + 1, fabric.radix // 2 + 1):
            # Two digits, rounded up, give as many uplinks again, or it is left out below.
            ratio = math.ceil(100 * (fabric.radix - more) / more - 1e-9) / 100
            other = _with_ratio(inputs, fabric, ratio, amount)
            if other is not None and other.tree.uplinks_per_leaf == more:
                found.append((_switches(other), more, ratio))
        fewest, more, ratio = min(found, default=(now, up, 1.0))
        if fewest < now:
            yield (
                f"{up} uplinks of each leaf of the {WORDS[fabric.network]} fabric "
                f"(oversubscription {fabric.oversubscription:g}) spread evenly over "
                f"{size.tree.spines} spines: it has {fabric.planes * now:,} switches. With "
                f"oversubscription {ratio:g}, {more} uplinks, it would have "
                f"{fabric.planes * fewest:,} and block less"
            )


def _switches(size: FabricSize) -> int:
    return size.tree.leaves + size.tree.spines + size.tree.cores


def _with_ratio(inputs: Inputs, fabric: Fabric, ratio: float, amount: int) -> FabricSize | None:
    """Return the size of a fabric for as much, at another oversubscription; None for none."""
    sizes = _sizes(inputs, replace(fabric, oversubscription=ratio), amount)
    return smallest(sizes, amount) if sizes and sizes[-1].capacity >= amount else None


def _sizes(inputs: Inputs, fabric: Fabric, amount: int) -> tuple[FabricSize, ...]:
    """Return every size of a fabric, at its oversubscription, for up to so much."""
    ratio = fabric.oversubscription
    if fabric.design is not None:
        return compute_sizes(replace(fabric.design, oversubscription=ratio), amount)
    asked = inputs.problem.network
    named = asked.in_band if fabric.network == "in_band" else asked.storage
    least = 2 if named is None else named.min_switches
    return port_sizes(PortDesign(fabric.radix, fabric.parts_per_port, ratio, least), amount)


def _consoles_on_reserve(case: Case, operation: Run) -> Iterator[str]:
    """Say where more consoles use free ports of management switches than there are."""
    companions = case.companions
    managing = [fabric for fabric in companions.fabrics if fabric.network == "out_of_band"]
    values = _standing(case, operation)
    late = ("in_band", "converged", "out_of_band")
    consoles = sum(
        values[f"{fabric.prefix}.switches"]
        for fabric in companions.fabrics
        if fabric.network in late
    )
    if companions.shared is not None:
        consoles += companions.shared_pdus_per_rack * values[companions.shared.name]
    for fabric in managing:
        ports = values[f"{fabric.prefix}.switches"] * fabric.radix
        free = ports - total(fabric.amount, values)
        if consoles > free:
            yield (
                f"{consoles:,.0f} consoles of in-band and management switches and of PDUs beside "
                f"them have {free:,.0f} free out-of-band ports: raise "
                "network.out_of_band.reserve_ports"
            )


def _manager_links(inputs: Inputs, case: Case, operation: Run) -> Iterator[str]:
    """Say where the fabric manager is plugged into ports that link no slower ones: what its own
    ports are nobody states."""
    values, known = _standing(case, operation), inputs.by_id
    for fabric in case.companions.fabrics:
        switch = known[fabric.switch].switch
        if fabric.design is None or not fabric.design.manager_ports or switch is None:
            continue
        lowest = {group.slowest_gbit_per_s for group in switch.ports if group.count == fabric.radix}
        if None not in lowest and total(fabric.amount, values):
            yield (
                f"the {fabric.design.manager_ports} links of the fabric manager are counted like "
                f"all others, but ports of {known[fabric.switch].model} link none below "
                f"{max(filter(None, lowest)):g} Gb/s: ask the vendor which modules connect it "
                "(network.compute.manager)"
            )
