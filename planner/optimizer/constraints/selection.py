"""Which GPU types and storage families a plan may hold.

    sum_k y_k <= types per job;  N = sum_k g_k u_k  (whole systems)  or, for whole replicas,
    N = sum_k m v_k,  m v_k <= g_k u_k <= m v_k + (g_k - 1) y_k:  the fewest systems that hold them
    type_k <= fabric_g(k),  sum_g fabric_g <= 1:  a job runs within one compute fabric
    sum_f z_f <= families (or = exactly so many);  x_k <= cap_k z_f(k)
    x_k = 0 or x_k >= least order

One more unit of a limit here means one more GPU type or storage vendor in the plan.
"""

from __future__ import annotations

from planner.optimizer.context import Build
from planner.optimizer.model import total


def add(build: Build) -> None:
    """Add the rows."""
    _types(build)
    _one_fabric(build)
    _gpus(build)
    _families(build)
    _least_orders(build)


def _types(build: Build) -> None:
    flags = list(build.type_used.values())
    job = build.case.job
    build.model.row("gpu_types", total(flags), "<=", job.max_types)
    build.model.row("some_gpu_type", total(flags), ">=", 1.0)


def _one_fabric(build: Build) -> None:
    fabrics = {system.fabric for system in build.case.systems if system.fabric is not None}
    if len(fabrics) < 2 or build.case.job.max_types == 1:
        return
    flags = {f: build.model.var(f"fabric__{f}", 0.0, 1.0, True) for f in sorted(fabrics)}
    build.model.row("one_fabric", total(flags.values()), "<=", 1.0)
    for system in build.case.systems:
        if system.fabric is not None:
            row = build.type_used[system.id] - flags[system.fabric]
            build.model.row(f"fabric_of_{system.id}", row, "<=", 0.0)


def _gpus(build: Build) -> None:
    systems, job = build.case.systems, build.case.job
    usable = {s.id: float(s.usable_gpus) * build.used[s.id] for s in systems}
    if not job.whole_replicas:
        build.model.row("gpus_in_use", build.gpus - total(usable.values()), "==", 0.0)
        return
    assert job.replica_gpus is not None
    held = []
    for system in systems:
        most = job.most_gpus(system, max(build.caps[system.id], system.low)) // job.replica_gpus
        replicas = build.model.var(f"replicas__{system.id}", 0.0, float(most), True)
        held.append(float(job.replica_gpus) * replicas)
        gpus, spare = usable[system.id], float(system.usable_gpus - 1)
        build.model.row(f"replicas_{system.id}", held[-1] - gpus, "<=", 0.0)
        fewest = gpus - held[-1] - spare * build.type_used[system.id]
        build.model.row(f"fewest_{system.id}", fewest, "<=", 0.0)
    build.model.row("whole_replicas", build.gpus - total(held), "==", 0.0)


def _families(build: Build) -> None:
    serving = total(build.serves.values())
    exact = build.case.exact_families
    if exact is None:
        build.model.row("storage_families", serving, "<=", build.case.max_families)
    else:
        build.model.row("storage_families", serving, "==", exact)
    build.model.row("some_storage", serving, ">=", 1.0)
    for item in build.case.storage:
        units = build.units[item.id] - float(build.caps[item.id]) * build.serves[item.family]
        build.model.row(f"family_of_{item.id}", units, "<=", 0.0)
    for family in build.case.families:
        members = [build.units[i.id] for i in build.case.storage if i.family == family.id]
        build.model.row(
            f"served_by_{family.id}", total(members) - build.serves[family.id], ">=", 0.0
        )
        if family.max_units is not None:
            build.model.row(f"family_max_units_{family.id}", total(members), "<=", family.max_units)


def _least_orders(build: Build) -> None:
    for offer in build.case.offers():
        if offer.min_units <= 1:
            continue
        bought = build.model.var(f"some__{offer.id}", 0.0, 1.0, True)
        units, most = build.units[offer.id], float(max(build.caps[offer.id], offer.low))
        build.model.row(f"least_{offer.id}", units - float(offer.min_units) * bought, ">=", 0.0)
        build.model.row(f"none_or_{offer.id}", units - most * bought, "<=", 0.0)
