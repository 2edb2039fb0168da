"""The master problem of a case: shared variables first, then every constraint family."""

from __future__ import annotations

import math

from planner.case import Case, FamilyOffer, Storage, System
from planner.case.bounds import cap, cap_in_use
from planner.case.model import Mode, Offer, Segment, degraded, with_loss
from planner.optimizer import constraints
from planner.optimizer.context import Build
from planner.optimizer.goodput import goodput
from planner.optimizer.model import Linear, Model, combination, total


def build(case: Case, mode: Mode) -> Build:
    """Return the master problem of ``case`` with every constraint family in it."""
    build = Build(case, mode, Model("planner", case.maximise))
    build.caps.update({offer.id: _cap(build, offer) for offer in case.offers()})
    for offer in case.offers():
        _add_counts(build, offer)
    for system in case.systems:
        _add_system(build, system)
    for family in case.families:
        _add_family(build, family)
    for item in case.storage:
        _add_bandwidth(build, item)
    low, high = build.gpus_range
    build.gpus = build.model.var("gpus", low, high)
    if case.job.gpus_max is not None and low > case.job.gpus_max:
        build.model.row("most_gpus", build.gpus + 0, "<=", float(case.job.gpus_max))
    build.write = build.model.var("write", 0.0, build.write_range[1])
    build.read = build.model.var("read", 0.0, build.read_range[1])
    build.safe_write, build.safe_read = build.write, build.read
    if case.tolerate_down:
        build.safe_write = build.model.var("safe_write", 0.0, build.write_range[1])
        build.safe_read = build.model.var("safe_read", 0.0, build.read_range[1])
    if case.needs_goodput and case.systems:
        build.goodput = goodput(build)
    for family_of_rows in constraints.families():
        family_of_rows(build)
    return build


def _cap(build: Build, offer: Offer) -> int:
    """Return the most units a plan needs; what the job need not use may be more than it can."""
    if isinstance(offer, System) and not _asked_for(build, offer):
        return cap_in_use(build.case, offer)
    return cap(build.case, offer)


def _add_counts(build: Build, offer: Offer) -> None:
    high = build.caps[offer.id]
    counts = []
    keys = build.case.keys(offer.id)
    # What is demanded may stand at any of the sites; beyond what limits allow the rows refuse it.
    low = float(offer.low) if len(keys) == 1 else 0.0
    for key in keys:
        name = f"x__{key.sku}__{key.site}__{key.period}"
        variable = build.model.var(name, low, float(max(high, offer.low)), True)
        build.counts[key] = variable
        counts.append(variable)
    build.units[offer.id] = total(counts)
    if len(keys) > 1:
        build.model.row(f"least_in_all_{offer.id}", build.units[offer.id], ">=", float(offer.low))
        most = float(max(high, offer.low))
        build.model.row(f"most_in_all_{offer.id}", build.units[offer.id], "<=", most)
    if offer.high is not None and offer.low > offer.high:
        build.model.row(f"demanded_{offer.id}", build.units[offer.id], "<=", offer.high)


def _add_system(build: Build, system: System) -> None:
    high = float(max(build.caps[system.id], system.low))
    most_used = float(min(high, cap_in_use(build.case, system)))
    used = build.model.var(f"used__{system.id}", 0.0, most_used, True)
    flag = build.model.var(f"type__{system.id}", 0.0, 1.0, True)
    build.used[system.id], build.type_used[system.id] = used, flag
    idle = _hot_spares(build, system, used, flag)
    build.model.row(f"used_{system.id}", used + idle - build.units[system.id], "<=", 0.0)
    # What the job does not use is bought only where the user asks for it.
    bought = used if _asked_for(build, system) else build.units[system.id]
    build.model.row(f"type_{system.id}", bought - high * flag, "<=", 0.0)
    build.model.row(f"type_used_{system.id}", used - flag, ">=", 0.0)


def _asked_for(build: Build, system: System) -> bool:
    """Say whether a GPU system may be bought although no job uses it.

    Where the policy names it, or where one more may make a fabric smaller.
    """
    case = build.case
    named = {item_id for ids in case.policy.required for item_id in ids}
    split = {item_id for split in case.policy.splits for item_id, _ in split.weights}
    return system.low > 0 or system.id in named | split or build.sizes_fall


def _hot_spares(build: Build, system: System, used: Linear, flag: Linear) -> Linear:
    """Return the systems that a type in use keeps idle."""
    job = build.case.job
    if job.hot_share == 0.0:
        return float(job.hot_spares) * flag
    most = job.hot_share * build.tops[system.id] + 1.0
    hot = build.model.var(f"hot__{system.id}", 0.0, math.ceil(most), True)
    build.model.row(f"hot_{system.id}", hot - job.hot_share * used, ">=", 0.0)
    return hot


def _add_family(build: Build, family: FamilyOffer) -> None:
    low = 1.0 if family.forced else 0.0
    build.serves[family.id] = build.model.var(f"family__{family.id}", low, 1.0, True)


def _add_bandwidth(build: Build, item: Storage) -> None:
    units = build.units[item.id]
    if not item.segments:
        build.nameplate_read[item.id] = item.read_gb_per_s * units
        build.nameplate_write[item.id] = item.write_gb_per_s * units
        if build.case.tolerate_down:
            _add_loss(build, item)
        return
    read, write, parts, chosen = [], [], [], []
    safe_read, safe_write = [], []
    pieces = with_loss(item) if build.case.tolerate_down else item.segments
    for number, piece in enumerate(pieces):
        flag = build.model.var(f"piece__{item.id}__{number}", 0.0, 1.0, True)
        count = build.model.var(f"units__{item.id}__{number}", 0.0, float(piece.high))
        name = f"piece_{item.id}_{number}"
        build.model.row(f"{name}_low", count - float(piece.low) * flag, ">=", 0.0)
        build.model.row(f"{name}_high", count - float(piece.high) * flag, "<=", 0.0)
        read_at_0 = piece.read_at_low - piece.read_slope * piece.low
        write_at_0 = piece.write_at_low - piece.write_slope * piece.low
        read.append(combination([(read_at_0, flag), (piece.read_slope, count)]))
        write.append(combination([(write_at_0, flag), (piece.write_slope, count)]))
        parts.append(count)
        chosen.append(flag)
        if build.case.tolerate_down:
            safe_read.append(_degraded(item, piece, 0, flag, count))
            safe_write.append(_degraded(item, piece, 1, flag, count))
    build.model.row(f"pieces_{item.id}", total(parts) - units, "==", 0.0)
    build.model.row(f"one_piece_{item.id}", total(chosen), "<=", 1.0)
    build.nameplate_read[item.id] = total(read)
    build.nameplate_write[item.id] = total(write)
    if build.case.tolerate_down:
        build.losses[item.id] = {
            "read": total(read) - total(safe_read),
            "write": total(write) - total(safe_write),
        }


def _add_loss(build: Build, item: Storage) -> None:
    """Add what an item without a table loses: its units down, once any of it is bought."""
    some = build.model.var(f"bought__{item.id}", 0.0, 1.0, True)
    most = float(build.tops[item.id])
    build.model.row(f"bought_{item.id}", build.units[item.id] - most * some, "<=", 0.0)
    build.losses[item.id] = {
        "read": item.units_lost * item.read_gb_per_s * some,
        "write": item.units_lost * item.write_gb_per_s * some,
    }


def _degraded(item: Storage, piece: Segment, side: int, flag: Linear, count: Linear) -> Linear:
    """Return what is left of a piece of a table with units down, which is straight on it."""
    at_low = degraded(item, piece.low)[side]
    if piece.high == piece.low:
        return at_low * flag
    slope = (degraded(item, piece.high)[side] - at_low) / (piece.high - piece.low)
    return combination([(at_low - slope * piece.low, flag), (slope, count)])
