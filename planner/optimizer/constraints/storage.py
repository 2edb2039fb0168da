"""Storage: delivered bandwidth, capacity, restores, vendors' rules, and bandwidth that is held."""

from __future__ import annotations

import math
from collections.abc import Mapping

from planner.case import Way
from planner.optimizer.context import Build
from planner.optimizer.model import Linear, NegativeExp, Variable, combination, total
from planner.optimizer.objective import bought_write

# Delivered bandwidth: the lesser of what appliances and clients move, for writing and reading.
#
#     B <= eta * sum_k nameplate_k
#     B_safe <= eta * (sum_k nameplate_k - loss_j) for every j bought
#     B <= f * C,   C = sum_k c_k u_k  or  sum_k ceil(m/G_k) c_k y_k
#
# f is the client factor of the family that serves; with several families the least of theirs.
# loss_j is what item j loses with appliances down. One more unit of eta * nameplate is one more
# GB/s delivered, until the clients are the limit.


def add_bandwidth(build: Build) -> None:
    """Add the rows for both directions."""
    case, job = build.case, build.case.job
    write = case.delivered_write * total(build.nameplate_write.values())
    read = case.delivered_read * total(build.nameplate_read.values())
    build.model.row("appliance_write", build.write - write, "<=", 0.0)
    build.model.row("appliance_read", build.read - read, "<=", 0.0)
    if case.tolerate_down:
        _with_appliances_down(build)
    write_clients = {s.id: s.client_write_gb_per_s for s in case.systems}
    write_factors = {f.id: f.write_factor for f in case.families}
    _clients(build, "write", build.write, write_clients, write_factors, job.one_replica_writes)
    _readers(build, "read", build.read, job.one_replica_reads)


def _with_appliances_down(build: Build) -> None:
    """Add what is delivered when each item that is bought, one at a time, has lost its share."""
    case, model = build.case, build.model
    sides = (
        ("write", build.write, build.safe_write, case.delivered_write, build.nameplate_write),
        ("read", build.read, build.safe_read, case.delivered_read, build.nameplate_read),
    )
    for side, delivered, safe, share, plates in sides:
        model.row(f"safe_{side}", safe - delivered, "<=", 0.0)
        for item in case.storage:
            left = total(plates.values()) - build.losses[item.id][side]
            row = safe - share * left
            model.row(f"safe_{side}_{item.id}", row, "<=", 0.0)


def _readers(build: Build, name: str, delivered: Variable, one_replica: bool) -> None:
    limits = {s.id: s.client_read_gb_per_s for s in build.case.systems}
    factors = {f.id: f.read_factor for f in build.case.families}
    _clients(build, name, delivered, limits, factors, one_replica)


def _clients(
    build: Build,
    name: str,
    delivered: Variable,
    limits: Mapping[str, float],
    factors: Mapping[str, float],
    one_replica: bool,
) -> None:
    if not limits or not factors:
        return
    groups = sorted(set(factors.values()))
    enough = delivered.upBound / groups[0]  # a system with more is never the limit
    limits = {name: min(limit, enough) for name, limit in limits.items()}
    base, most = _base(build, name, limits, one_replica)
    if len(groups) == 1:
        build.model.row(f"client_{name}", delivered - groups[0] * base, "<=", 0.0)
        return
    flags = _least_factor(build, name, groups, factors)
    shares = []
    for number, flag in enumerate(flags):
        share = build.model.var(f"client_{name}__{number}", 0.0, most)
        build.model.row(f"client_{name}_group_{number}", share - most * flag, "<=", 0.0)
        shares.append(share)
    build.model.row(f"client_{name}_base", total(shares) - base, "<=", 0.0)
    limit = combination(zip(groups, shares, strict=True))
    build.model.row(f"client_{name}", delivered - limit, "<=", 0.0)


def _least_factor(
    build: Build, name: str, groups: list[float], factors: Mapping[str, float]
) -> list[Variable]:
    """Return one flag per factor; the one set is no larger than any serving family's factor."""
    flags = [
        build.model.var(f"client_{name}_factor__{number}", 0.0, 1.0, True)
        for number in range(len(groups))
    ]
    build.model.row(f"client_{name}_factor", total(flags), "==", 1.0)
    for family, factor in factors.items():
        lower = [flag for group, flag in zip(groups, flags, strict=True) if group <= factor]
        row = total(lower) - build.serves[family]
        build.model.row(f"client_{name}_factor_{family}", row, ">=", 0.0)
    return flags


def _base(
    build: Build, name: str, limits: Mapping[str, float], one_replica: bool
) -> tuple[Linear, float]:
    """Return what the clients move before the factor, and the most that can be, GB/s."""
    systems = build.case.systems
    if not one_replica:
        base = combination((limits[s.id], build.used[s.id]) for s in systems)
        return base, sum(limits[s.id] * max(build.caps[s.id], s.low) for s in systems)
    each = {w.id: _replica_systems(w) * limits[s.id] for s in systems for w in s.ways}
    most = max(each.values())
    if build.case.job.max_types == 1:
        return combination((each[key], build.way_used[key]) for key in each), most
    slowest = build.model.var(f"client_{name}_slowest", 0.0, most)
    for key, moved in each.items():
        slack = most - moved
        row = slowest + slack * build.way_used[key]
        build.model.row(f"client_{name}_slowest_{key}", row, "<=", most)
    return slowest, most


def _replica_systems(way: Way) -> int:
    assert way.replica_gpus is not None
    return math.ceil(way.replica_gpus / way.usable_gpus)


# Usable capacity, ingest and write endurance.
#
#     sum_k usable_k x_k >= TB needed;   N g <= Bd;   86400 S / I <= sum_k endurance_k x_k
#
# All systems in use read training data, so Bd is Br as if all of them read in a restore, too.
# Endurance counts where every storage item bought states it: one unit of an item that does not
# lifts the limit. One more unit of capacity needed is one more TB of appliances.


DAY_S = 86_400.0


def add_capacity(build: Build) -> None:
    """Add the rows."""
    case, job = build.case, build.case.job
    usable = total(item.usable_tb * build.units[item.id] for item in case.storage)
    build.model.row("capacity", usable, ">=", job.capacity_needed_tb)
    if job.ingest_per_gpu_gb_per_s > 0:
        row = _data(build) - job.ingest_per_gpu_gb_per_s * build.gpus
        build.model.row("ingest", row, ">=", 0.0)
    if any(item.endurance_tb_per_day is not None for item in case.storage):
        _endurance(build)


def _data(build: Build) -> Variable:
    """Return the bandwidth of training data, GB/s: that of a restore where all systems read."""
    if not build.case.job.one_replica_reads:
        return build.read
    data = build.model.var("data", 0.0, build.read_range[1])
    stored = build.case.delivered_read * total(build.nameplate_read.values())
    build.model.row("appliance_data", data - stored, "<=", 0.0)
    _readers(build, "data", data, False)
    return data


def _volume_tb_per_day(build: Build) -> Linear:
    """Return TB written per day: a constant, linear in N, or a convex function of log I."""
    job = build.case.job
    shortest, longest = build.interval_range_s
    per_interval = job.checkpoint_gb / 1000.0 * DAY_S
    known = job.interval.policy == "fixed" or (
        job.interval.policy == "optimal" and not build.case.needs_goodput
    )
    if known and build.mode != "local":
        return combination([], per_interval / longest)
    most = per_interval / shortest
    volume = build.model.var("write_volume", 0.0, most)
    log_volume = math.log(per_interval) - build.remote_i
    domain = (math.log(per_interval / longest / build.most_every), math.log(most))
    build.model.link("write_volume", -1 * volume, log_volume, NegativeExp(), domain)
    return volume


def _endurance(build: Build) -> None:
    most = build.case.job.checkpoint_gb / 1000.0 * DAY_S / build.interval_range_s[0]
    endured = total(
        (most if item.endurance_tb_per_day is None else item.endurance_tb_per_day)
        * build.units[item.id]
        for item in build.case.storage
    )
    row = endured - _volume_tb_per_day(build)
    build.model.row("endurance", row, ">=", 0.0)


# A restore reads F times the checkpoint in time: F(N) S <= T Br, F = a + c N, so linear.
#
# One more second of restore time is that much less read bandwidth.


def add_restore(build: Build) -> None:
    """Add the row, where the job limits restore time."""
    job = build.case.job
    if job.max_restore_s is None:
        return
    terms = {way.id: job.fan_out_terms(way.replica_gpus) for way in build.case.ways}
    per_gb = job.checkpoint_gb / job.max_restore_s
    if len(set(terms.values())) == 1:
        a, c = next(iter(terms.values()))
        copies = (c * per_gb) * build.gpus
    else:  # replicas of several sizes: GPUs in use are those of one of them
        a = next(iter(terms.values()))[0]
        pairs = ((system, way) for system in build.case.systems for way in system.ways)
        copies = total((terms[w.id][1] * per_gb) * build.gpus_in(s, w) for s, w in pairs)
    build.model.row("restore_time", build.safe_read - copies, ">=", a * per_gb)


# A vendor's bandwidth rule: nameplate bandwidth for every so many GPUs bought.
#
#     sum_k read_k x_k >= r U,  sum_k write_k x_k >= w U,  U >= sum_k G_k x_k / unit
#
# U is continuous for per-GPU rules and whole for per-unit rules. One GPU more is r and w more.


def add_rules(build: Build) -> None:
    """Add the rows, where a rule replaces the demand law."""
    rule = build.case.rule
    if rule is None:
        return
    units = _units(build, rule.per_gpus)
    read, write = total(build.nameplate_read.values()), total(build.nameplate_write.values())
    row = read - rule.read_gb_per_s * units
    build.model.row("rule_read", row, ">=", 0.0)
    row = write - rule.write_gb_per_s * units
    build.model.row("rule_write", row, ">=", 0.0)


def _units(build: Build, per_gpus: int) -> Linear:
    systems = build.case.systems
    bought = total(float(s.gpus) * build.units[s.id] for s in systems)
    if per_gpus == 1:
        return bought
    most = sum(s.gpus * max(build.caps[s.id], s.low) for s in systems) // per_gpus + 1
    units = build.model.var("rule_units", 0.0, float(most), True)
    build.model.row("rule_units", float(per_gpus) * units - bought, ">=", 0.0)
    return units


# The write bandwidth of the storage bought, held for a question about the problem.
#
#     eta * sum_k nameplate_k >= least;   eta * sum_k nameplate_k <= most
#
# What clients can move is no part of it. There is no unit of it to have one more of.


def add_held_write(build: Build) -> None:
    """Add the rows that are asked for."""
    limits = build.case.limits
    least, most = limits["least_write_gb_per_s"], limits["most_write_gb_per_s"]
    if least is not None:
        build.model.row("least_write", bought_write(build), ">=", least)
    if most is not None:
        build.model.row("most_write", bought_write(build), "<=", most)
