"""Changes of a problem that a study makes, in memory and as ``--set`` would take them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from planner.case import Case
from planner.case.model import ObjectiveName
from planner.currency import current
from planner.figures import OBJECTIVES, RATIOS
from planner.inputs import Change, Inputs, applied, value_at
from planner.limits import BY_NAME, COUNTED_IN
from planner.paths import job_path
from planner.schema.plan import Plan


def apply(inputs: Inputs, changes: Iterable[Change]) -> Inputs:
    """Return the inputs with every change made and recorded in the provenance of their plans."""
    return applied(inputs, changes, recorded=True)


def storage_of(case: Case, vendors: Collection[str]) -> tuple[Change, ...]:
    """Return what leaves only the storage of some vendors on offer."""
    members = {item.id for item in case.flash if item.vendor in vendors}
    families = tuple(sorted({item.family for item in case.flash if item.id in members}))
    changes = [Change("consider.storage_families", families, f"[{', '.join(families)}]")]
    for item in case.storage:
        if item.family in families and item.id not in members:
            changes.append(Change(f"items.{item.id}.exclude", True, "true"))
    return tuple(changes)


def systems_of(ids: Collection[str]) -> tuple[Change, ...]:
    """Return what leaves only some GPU systems on offer."""
    names = tuple(sorted(ids))
    return (Change("consider.gpu_systems", names, f"[{', '.join(names)}]"),)


def no_worse(inputs: Inputs, objective: ObjectiveName, worst: float, margin: float = 0.0) -> Change:
    """Return the change that lets no plan be worse than so in an objective.

    Args:
        inputs: the problem; what it asks for already stays asked for.
        objective: which of them.
        worst: the worst value that will do, in the objective's own unit.
        margin: how much tighter than that to ask, as a share.
    """
    asked = OBJECTIVES[objective]
    row = BY_NAME[asked.limit]
    own, worst = value_at(inputs, row.path), worst / asked.per
    if row.file_unit in COUNTED_IN:
        count = max(math.ceil(worst - 1e-6), own or 1)
        if row.sense == "<=":
            most = math.floor(worst + 1e-6)
            count = most if own is None else min(most, own)
        return Change(row.path, count, f"{count}")
    if row.sense == ">=":
        value = max(worst * (1.0 + margin), own or 0.0)
    else:
        value = min(worst * (1.0 - margin), own or math.inf)
    if asked.name in RATIOS:  # cents would be coarse
        return Change(row.path, value, f"{current().of(value):.9g} {current().code}")
    if asked.figure.money:
        return Change(row.path, value, f"{current().of(value):.2f} {current().code}")
    return Change(row.path, value, f"{value:.9g} {'kW' if row.file_unit == 'kW' else ''}".rstrip())


@dataclass(frozen=True)
class LeftOut:
    """A lever left out or fixed elsewhere: what that is called, and the change that does it."""

    label: str
    change: Change


def left_out(inputs: Inputs, plan: Plan) -> Iterator[LeftOut]:
    """Yield the problem's open levers, each left out, then its spares moved by one.

    A lever is left out by the change that fixes it where it would stand if nobody had thought of
    it: what it is worth is the rest. Spares moved by one say why there are so many.

    Args:
        plan: its best plan.
    """
    job = inputs.problem.job
    yield from _fabrics(inputs, plan)
    if job.power is not None and job.power.asked != (1.0,):
        yield LeftOut("GPUs at full power", Change(job_path("power.points"), 1.0, "100 %"))
    precision = job.training.precision
    if isinstance(precision, tuple) and len(precision) > 1:
        change = Change(job_path("training.precision"), precision[0], precision[0])
        yield LeftOut(f"{precision[0]} alone", change)
    local = job.checkpoint.local
    if local is not None and local.use != "no":
        change = Change(job_path("checkpoint.local.use"), "no", "no")
        yield LeftOut("checkpoints on storage alone", change)
    if job.repair is not None and job.repair.when_short == "shrink":
        change = Change(job_path("repair.when_short"), "wait", "wait")
        yield LeftOut("waiting where units are short", change)
    if any(limit.name == "endurance" for limit in plan.limits):
        yield LeftOut("drives written without limit", Change("storage.endurance", "off", "off"))
    repair = plan.jobs[0].repair if plan.jobs else None
    if repair is not None and repair.in_rack and job.gpus.most_of(plan.jobs[0].gpu_type) is None:
        item = inputs.item(plan.jobs[0].gpu_type)
        if item.provides.gpus is not None:
            every = item.provides.gpus.value
            change = Change(job_path("gpus.per_system"), every, f"{every}")
            yield LeftOut("every GPU of each system used", change)
    yield from _spares(inputs, None if repair is None or repair.in_rack else repair.spares)


def _fabrics(inputs: Inputs, plan: Plan) -> Iterator[LeftOut]:
    """Yield the compute fabrics that the plan could have chosen instead."""
    asked, path = inputs.problem.network.compute, "network.compute"
    built = [fabric for fabric in plan.fabrics if fabric.network == "compute"]
    if asked is None or not built:
        return
    chosen = {fabric.switch_sku for fabric in built}
    for name in sorted(set(asked.switches) - chosen):
        change = Change(f"{path}.switches", (name,), f"[{name}]")
        yield LeftOut(f"a compute fabric of {inputs.item(name).model}", change)
    for planes in sorted(set(asked.planes_allowed) - {fabric.planes for fabric in built}):
        yield LeftOut(f"{planes} planes of it", Change(f"{path}.planes", planes, f"{planes}"))
    for ratio in sorted(
        set(asked.oversubscriptions) - {fabric.oversubscription for fabric in built}
    ):
        change = Change(f"{path}.oversubscription", ratio, f"{ratio:g}")
        yield LeftOut(f"a compute fabric at {ratio:g}:1", change)


def _spares(inputs: Inputs, spares: int | None) -> Iterator[LeftOut]:
    repair = inputs.problem.job.repair
    if repair is None or repair.spares != "open" or spares is None:
        return
    path = job_path("repair.spares")
    if spares > 0:
        yield LeftOut("no spares", Change(path, 0, "0"))
    if spares > 1:
        yield LeftOut(f"one spare less ({spares - 1})", Change(path, spares - 1, f"{spares - 1}"))
    yield LeftOut(f"one spare more ({spares + 1})", Change(path, spares + 1, f"{spares + 1}"))
