"""Building the model: variables, goodput, then every family of rows."""

from __future__ import annotations

import itertools
import math

from planner.case import Case, FamilyOffer, Storage, System
from planner.case.bandwidth import degraded, with_loss
from planner.case.bounds import cap, cap_in_use
from planner.case.model import Mode, Offer, Segment
from planner.optimizer import constraints, levels
from planner.optimizer.constraints.repair import add_spare_units, log_available
from planner.optimizer.constraints.shrinking import add_running
from planner.optimizer.context import Build
from planner.optimizer.model import (
    Linear,
    Log,
    LogOneMinusExp,
    LogRework,
    Model,
    NegativeExp,
    NegativeSoftplus,
    Variable,
    combination,
    total,
)
from planner.sizing.throughput import ScaleLaw, most_of_each_share

# Goodput E as a concave function of the logarithms.
#
#     log E = log(1 - s/I) - e^mu (R0 + S/Bw + F S/Br) - log((e^z - 1)/z)
#     mu = log(N lambda),  z = I/M = e^(mu + i)
#
# Each term is a concave function of one linear expression (sizing formula 7 on log N, log B,
# log I), so tangents bound E from above everywhere and exactly where they touch.


MOST = math.log(60.0)
LEAST = math.log(1e-7)
LEAST_PRODUCTIVE = 1e-3
"""Intervals that leave less than this share between stalls are cut off: E would be below it too."""


def goodput(build: Build) -> Linear:
    """Return an expression that is at most log E, with the links that keep it so."""
    job = build.case.job
    if build.mode == "local":
        terms = [levels.goodput(build, _productive(build))]
    else:
        terms = _on_one_level(build)
    if job.repair is not None:
        terms += log_available(build, job.repair)
    return sum(terms[1:], terms[0])


def _on_one_level(build: Build) -> list[Linear]:
    """Return terms whose sum is at most log E where each checkpoint goes to storage."""
    job = build.case.job
    terms = [_productive(build), _rework(build)]
    if job.restart_s > 0:
        terms.append(_failures(build, "restart", build.nu + math.log(job.restart_s)))
    log_size = math.log(job.checkpoint_gb)
    if build.mode == "async":
        terms.append(_failures(build, "drain", build.mu + log_size - build.b))
    a, c = job.fan_out_terms(build.case.ways[0].replica_gpus)
    if a > 0:
        terms.append(_failures(build, "restore", build.nu + math.log(a) + log_size - build.q))
    if c > 0:
        each = build.of_way("fan_out", lambda way: job.fan_out_terms(way.replica_gpus)[1], 1)
        argument = build.nu + build.n + each + log_size - build.q
        terms.append(_failures(build, "restore_replicas", argument))
    return terms


def _failures(build: Build, name: str, log_lost: Linear) -> Linear:
    """Return an expression that is at most -exp(log_lost): time lost per failure over MTTI."""
    lost = build.model.var(f"lost_{name}", 0.0, None)
    build.model.link(f"lost_{name}", -1 * lost, log_lost, NegativeExp(), (LEAST, MOST))
    return -1 * lost


def _rework(build: Build) -> Linear:
    low, high = build.interval_range_s
    job = build.case.job
    if job.interval.policy == "lost_work":
        return combination([], LogRework().value(math.log(job.interval.kappa)))
    rates = [way.failures_per_gpu_day / 86_400.0 for way in build.case.ways]
    gpus = build.running_range
    least = math.log(min(rates) * gpus[0] * low)
    most = min(math.log(max(rates) * gpus[1] * high), math.log(700.0))
    kept = build.model.var("log_kept", None, 0.0)
    domain = (max(LEAST, min(least, most)), max(most, LEAST))
    build.model.link("kept", kept, build.mu + build.i, LogRework(), domain)
    return kept


def _productive(build: Build) -> Linear:
    """Return an expression that is at most log(1 - (s + alpha D)/I), with two levels D/k for D."""
    job, waits = build.case.job, build.mode == "sync"
    slowed = job.checkpoint_gb * (1.0 if waits else job.drain_slowdown)
    shares: dict[str, tuple[float, Linear]] = {}  # e^(shift - argument) of an interval each
    if not waits and job.stall_s > 0.0:
        shares["stalled"] = math.log(job.stall_s), build.i
    if not waits and job.derived_stall:
        shares["copied"] = math.log(job.checkpoint_gb), build.i + levels.log_copy(build)
    if slowed > 0.0:
        shares["slowed"] = math.log(slowed), build.b + build.remote_i
    if not shares:
        return combination([], 0.0)
    productive = build.model.var("log_productive", math.log(LEAST_PRODUCTIVE), 0.0)
    if len(shares) == 1:
        ((shift, argument),) = shares.values()
        _one_share(build, productive, argument, shift)
        return productive
    rest = build.model.var("productive", LEAST_PRODUCTIVE, 1.0)
    parts = [build.share_of_interval(name, at - of) for name, (at, of) in shares.items()]
    build.model.row("productive", sum(parts, rest), "<=", 1.0)
    build.model.link("log_productive", productive, rest + 0, Log(), (LEAST_PRODUCTIVE, 1.0))
    return productive


def _one_share(build: Build, productive: Linear, argument: Linear, shift: float) -> None:
    # 1 - e^(shift - u) >= LEAST_PRODUCTIVE where u is at least this:
    least = shift - math.log1p(-LEAST_PRODUCTIVE)
    most = max(least, shift + 25.0)
    build.model.row("stalls_end", argument + 0, ">=", least)
    curve = LogOneMinusExp(shift)
    build.model.link("log_productive", productive, argument + 0, curve, (least, most), seeds=9)


# The law of scale: what N GPUs in one job leave of the rate of each, as a function of n = log N.
#
#     exponent: -e (n - log N0);   bubble: steps;   table: straight pieces in n
#
# The first is linear. Of a bubble the micro-batches m of each copy of the model are chosen, and
# with them the most GPUs that have so many and the log of their share, which does not depend on n;
# of very many the smooth curve -log(1 + b e^n) above them is kept. A table that is concave is the
# least of its pieces; of another one piece is chosen, so that the model holds the table itself.


LEAST_BUBBLE = 1e-15
MOST_SHARES = 400
"""So many numbers of micro-batches a copy are told apart in the model; a limit that is given up
leaves thousands."""


def scale(build: Build) -> Linear:
    """Return an expression that is at most the log of the law's share at N."""
    law = build.case.job.scale
    if law is None:
        return 0.0
    if law.table:
        return _table(build, law)
    if law.exponent:
        return -law.exponent * (build.n - math.log(law.reference))
    ends = _ends_of_steps(build)
    if sum(map(len, ends.values())) > MOST_SHARES:
        return _smooth(build)
    return _even(build, law, ends)


Ends = dict[tuple[float, int], list[int]]
"""The most GPUs of each number of micro-batches a copy has, by the bubble and what B fill."""


def _ends_of_steps(build: Build) -> Ends:
    steps: dict[tuple[float, int], int] = {}
    for way in build.case.ways:
        assert way.gpus_max is not None
        alike = way.bubble, way.gpus_max
        steps[alike] = math.gcd(steps.get(alike, 0), way.step_gpus)
    return {
        alike: list(most_of_each_share(alike[1], step, *build.gpus_range))
        for alike, step in steps.items()
    }


def _smooth(build: Build) -> Linear:
    left = build.model.var("log_scale", None, 0.0)
    bubble = build.of_way("bubble", lambda way: max(way.bubble, LEAST_BUBBLE), -1)
    low, high = build.gpus_range
    bubbles = [max(way.bubble, LEAST_BUBBLE) for way in build.case.ways]
    domain = (math.log(min(bubbles) * low), math.log(max(bubbles) * high))
    build.model.link("log_scale", left, build.n + bubble, NegativeSoftplus(), domain, seeds=9)
    return left


def _even(build: Build, law: ScaleLaw, ends: Ends) -> Linear:
    model, left = build.model, build.model.var("log_scale", None, 0.0)
    flags, tops, shares = [], [], []
    for place, (alike, gpus_of_steps) in enumerate(ends.items()):
        chosen = []
        for gpus in gpus_of_steps:
            flag = model.var(f"even__{place}_{alike[1] // gpus}", 0.0, 1.0, True)
            chosen.append(flag)
            tops.append(math.log(gpus) * flag)
            shares.append(math.log(law.share(gpus, *alike)) * flag)
        flags += chosen
        if len(ends) > 1:  # of which one way is in use
            ways = (way for way in build.case.ways if (way.bubble, way.gpus_max) == alike)
            used = total(build.way_used[way.id] for way in ways)
            model.row(f"even_{place}", total(chosen) - used, "==", 0.0)
    model.row("even", total(flags), "==", 1.0)
    model.row("even_gpus", build.n - total(tops), "<=", 0.0)
    model.row("log_scale", left - total(shares), "<=", 0.0)
    return left


def _table(build: Build, law: ScaleLaw) -> Linear:
    model, pieces = build.model, law.pieces()
    left = model.var("log_scale", None, 0.0)
    if all(one[2] >= other[2] for one, other in itertools.pairwise(pieces)):
        for number, (start, share, slope) in enumerate(pieces):
            right = share - slope * start
            model.row(f"log_scale_{number}", left - slope * build.n, "<=", right)
        return left
    top = max(math.log(build.gpus_range[1]), pieces[-1][0]) + 1.0
    ends = [piece[0] for piece in pieces[1:]] + [top]
    flags, parts, shares = [], [], []
    for number, ((start, share, slope), end) in enumerate(zip(pieces, ends, strict=True)):
        flag = model.var(f"scale__{number}", 0.0, 1.0, True)
        part = model.var(f"scale_part__{number}", 0.0, top)
        model.row(f"scale_{number}_low", part - start * flag, ">=", 0.0)
        model.row(f"scale_{number}_high", part - end * flag, "<=", 0.0)
        flags.append(flag)
        parts.append(part)
        shares.append(slope * part + (share - slope * start) * flag)
    model.row("scale_piece", total(flags), "==", 1.0)
    model.row("scale_parts", total(parts) - build.n, "==", 0.0)
    model.row("log_scale", left - total(shares), "<=", 0.0)
    return left


# The master problem of a case: shared variables first, then every constraint family.


def build(case: Case, mode: Mode) -> Build:
    """Return the master problem of ``case`` with every constraint family in it."""
    build = Build(case, mode, Model("planner", case.maximise))
    build.caps.update({offer.id: _cap(build, offer) for offer in case.offers()})
    for offer in case.offers():
        _add_counts(build, offer)
    for system in case.systems:
        _add_system(build, system)
    _add_wiring(build)
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
    add_spare_units(build)
    if case.needs_goodput and case.systems:
        add_running(build)
        build.goodput = goodput(build)
        build.scale = scale(build)
    for family_of_rows in constraints.families():
        family_of_rows(build)
    return build


def _cap(build: Build, offer: Offer) -> int:
    """Return the most units a plan needs; what the job need not use may be more than it can."""
    if isinstance(offer, System) and not build.may_idle(offer):
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
    _add_ways(build, system, used, flag, high)
    idle = _hot_spares(build, system, used, flag)
    build.model.row(f"used_{system.id}", used + idle - build.units[system.id], "<=", 0.0)
    # What the job does not use is bought only where the user asks for it.
    bought = used if build.may_idle(system) else build.units[system.id]
    build.model.row(f"type_{system.id}", bought - high * flag, "<=", 0.0)
    build.model.row(f"type_used_{system.id}", used - flag, ">=", 0.0)


def _add_ways(build: Build, system: System, used: Variable, flag: Variable, most: float) -> None:
    """Add one way of the type, the one in use, and the systems that stand at its set point.

    ``sum_w u_w = u``, ``sum_w y_w = y``, ``y_w <= u_w <= most y_w``; ``p_w <= most y_w`` and
    ``p_w <= systems in place``: what a lower set point spares counts of the way in use alone.
    """
    model = build.model
    if len(system.ways) == 1:
        build.way_used[system.ways[0].id], build.systems_of[system.ways[0].id] = flag, used
    else:
        parts, flags = [], []
        for way in system.ways:
            part = model.var(f"used_in__{way.id}", 0.0, used.upBound, True)
            chosen = model.var(f"way__{way.id}", 0.0, 1.0, True)
            model.row(f"way_{way.id}", part - most * chosen, "<=", 0.0)
            model.row(f"way_used_{way.id}", part - chosen, ">=", 0.0)
            build.way_used[way.id], build.systems_of[way.id] = chosen, part
            parts.append(part)
            flags.append(chosen)
        model.row(f"ways_used_{system.id}", total(parts) - used, "==", 0.0)
        model.row(f"one_way_{system.id}", total(flags) - flag, "==", 0.0)
    capped = [way for way in system.ways if way.power_share != 1.0]
    room = float(max(most, system.installed))
    for way in capped:
        standing = model.var(f"standing__{way.id}", 0.0, room)
        model.row(f"standing_{way.id}", standing - room * build.way_used[way.id], "<=", 0.0)
        build.units[way.standing] = standing + 0
    if capped:
        standing = total(build.units[way.standing] for way in capped)
        model.row(f"standing_all_{system.id}", standing - build.units[system.place], "<=", 0.0)


def _add_wiring(build: Build) -> None:
    """Add the systems that each compute fabric joins, of types that may join several.

    ``sum_f o_f = x``, ``o_f <= most j_f``, j_f whether the job's fabric is of the design of f: a
    type that the job does not use joins its first fabric where it cannot join one of that design.
    """
    for system in build.case.rewired:
        most = float(max(build.caps[system.id], system.low))
        parts = []
        flags = [build.is_built(design) for design in system.designs]
        for fabric, flag in zip(system.fabrics, flags, strict=True):
            name = system.wired(fabric)
            part = build.model.var(f"wired__{system.id}__{fabric}", 0.0, most)
            build.units[name] = part + 0
            if fabric == system.fabrics[0]:
                row = part + most * total(flags[1:])
                build.model.row(f"wired_{system.id}_{fabric}", row, "<=", most)
            else:
                row = part - most * flag
                build.model.row(f"wired_{system.id}_{fabric}", row, "<=", 0.0)
            parts.append(part)
        row = total(parts) - build.units[system.id]
        build.model.row(f"wired_all_{system.id}", row, "==", 0.0)


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
