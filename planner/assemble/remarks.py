"""What a reader would ask about a bill: idle systems, other switches, running costs, lead times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.case import Case
from planner.case.figures import fits
from planner.inputs import Inputs
from planner.optimizer.operate import Operation
from planner.schema.plan import FabricReport, JobPlan, Line

NETWORK_SHARE = (0.07, 0.13)
STORAGE_SHARE = (0.01, 0.05)
"""Usual shares of capex; in a gigawatt hall 13 % and 1 to 1.5 % (Bernstein, 2025)."""
SUPPORT_SHARE = 0.12
"""Support per year, as a share of capex, above which it is pointed out."""


def remarks(
    inputs: Inputs,
    case: Case,
    operation: Operation,
    lines: list[Line],
    job: JobPlan,
    fabrics: Sequence[FabricReport],
) -> Iterator[str]:
    """Yield the remarks on a plan, most important first."""
    yield from _idle(case, operation, lines)
    yield from _preference(case)
    yield from _unusual_shares(lines, job, fabrics)
    yield from _other_switches(inputs, fabrics)
    yield from _support(lines)
    yield from _lead_times(lines)


def _idle(case: Case, operation: Operation, lines: list[Line]) -> Iterator[str]:
    models = {line.sku: line.model for line in lines}
    for system in case.systems:
        bought, used = operation.units[system.id], operation.used.get(system.id, 0)
        idle = bought - used - case.job.hot(used)
        if idle > 0:
            systems = "system" if idle == 1 else "systems"
            yield f"{idle} {systems} of {models[system.id]} stand idle: the job does not use them"


def _preference(case: Case) -> Iterator[str]:
    if case.policy.disliked:
        given = f"{100 * case.policy.within:.3g} %"
        yield (
            f"up to {given} of the objective may go for units of preferred vendors (policy.prefer)"
        )


def _unusual_shares(
    lines: list[Line], job: JobPlan, fabrics: Sequence[FabricReport]
) -> Iterator[str]:
    """Explain a share of the bill that a reader would wonder about."""
    spent = {line.section: 0.0 for line in lines}
    for line in lines:
        spent[line.section] += line.extended_net_usd or 0.0
    whole = sum(spent.values())
    if whole == 0 or not fabrics:
        return
    network = (spent.get("Network", 0.0) + spent.get("Optics & cables", 0.0)) / whole
    compute = next((fabric for fabric in fabrics if fabric.network == "compute"), None)
    if compute is not None and not NETWORK_SHARE[0] <= network <= NETWORK_SHARE[1]:
        used = compute.endpoints / compute.capacity
        yield (
            f"network and optics are {network:.0%} of capex, where about a tenth is usual: the "
            f"compute fabric has {compute.tiers} tier{'s' if compute.tiers > 1 else ''} and is "
            f"{used:.0%} full, at {compute.oversubscription:g}:1"
        )
    storage = spent.get("Storage", 0.0) / whole
    bought = any(line.section == "Storage" and line.purchased for line in lines)
    if bought and not STORAGE_SHARE[0] <= storage <= STORAGE_SHARE[1]:
        yield (
            f"storage is {storage:.1%} of capex, where 1 to 5 % is usual: the job asks for "
            f"{job.checkpoint_gb / 1000:.3g} TB every {job.interval_s:.0f} s and "
            f"{job.capacity_needed_tb:.0f} TB of room"
        )


def _other_switches(inputs: Inputs, fabrics: Sequence[FabricReport]) -> Iterator[str]:
    """Say which other switches of the list would fit: the first that fits is taken."""
    known = {item.id: item for item in inputs.items}
    compute = inputs.problem.network.compute
    for fabric in fabrics if compute is not None else ():
        if fabric.network != "compute" or compute is None:
            continue
        port = known[fabric.serves[0]].ports.compute
        others = [
            known[name].model
            for name in compute.switches
            if name != fabric.switch_sku and port is not None and fits(known[name], port)
        ]
        if others:
            yield (
                f"the compute fabric is built of the first switch that fits, "
                f"{known[fabric.switch_sku].model}; {', '.join(others)} would fit as well: another "
                "order of network.compute.switches may give another plan"
            )


def _support(lines: list[Line]) -> Iterator[str]:
    capex = sum(line.extended_net_usd or 0.0 for line in lines)
    support = sum(line.support_usd_per_year or 0.0 for line in lines)
    if capex > 0 and support / capex > SUPPORT_SHARE:
        most = max(lines, key=lambda line: line.support_usd_per_year or 0.0)
        share = (most.support_usd_per_year or 0.0) / support
        yield (
            f"support is {support / 1e6:,.1f} MUSD a year, {support / capex:.0%} of capex; "
            f"{share:.0%} of it is for {most.model}: ask for a quote"
        )


def _lead_times(lines: list[Line]) -> Iterator[str]:
    unknown = [line.model for line in lines if line.purchased and line.lead_time_days is None]
    stated = any(line.lead_time_days is not None for line in lines)
    if unknown and stated:
        shown = ", ".join(unknown[:4]) + (f" and {len(unknown) - 4} more" if unknown[4:] else "")
        yield f"no lead time is stated for {shown}; the longest one leaves them out"
