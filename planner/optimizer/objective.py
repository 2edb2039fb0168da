"""The objectives and tie-breaks: on the model, on an operation, and as limits missed at a price.

Goodput and useful GPUs are maximised by their logarithm, which is where they are concave; money per
useful work is minimised by its own, log C - log U. Sums over the bill follow from their figures;
money is in millions of USD.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import sha256

from planner.case import Case, Way
from planner.case.model import Elastic, Offer
from planner.case.money import SUMS
from planner.figures import FIGURES, OBJECTIVES, RATIOS, Figure
from planner.limits import BY_NAME, MILLION, Limit
from planner.optimizer import purchase
from planner.optimizer.context import LEAST_TCO_MUSD, Build
from planner.optimizer.model import Linear, total
from planner.optimizer.operate import Run, missed_by

# The objectives: one function each, on the model, scaled as ``scale`` and ``natural`` say.


def log_useful_gpus(build: Build) -> Linear:
    """Return log(N E)."""
    return build.n + build.goodput


def log_useful_pflops(build: Build) -> Linear:
    """Return log(useful PFLOP/s) = log(N f mfu scale(N) E / 1000)."""
    assert build.case.job.mfu is not None
    rate = build.of_way("flops", lambda way: way.tflops_per_gpu, -1)
    work = build.n + rate + build.goodput + math.log(build.case.job.mfu / 1000.0)
    return work if build.case.job.scale is None else work + build.scale


def gpus(build: Build) -> Linear:
    """Return N."""
    return build.gpus + 0


def log_usd_per_useful_gpu_hour(build: Build) -> Linear:
    """Return log(TCO / (h N E)), h the hours of the term."""
    worth = log_useful_gpus(build) + math.log(build.case.rates.hours / MILLION)
    return build.log_tco - worth


def log_usd_per_million_tokens(build: Build) -> Linear:
    """Return log(TCO / million tokens trained in the term)."""
    worth = log_useful_pflops(build) + math.log(build.case.million_tokens_per_pflops() / MILLION)
    return build.log_tco - worth


def count(build: Build) -> Linear:
    """Return the number of units."""
    return total(build.units[offer.id] for offer in build.case.offers())


def storage_units(build: Build) -> Linear:
    """Return the units of storage."""
    return total(build.units[item.id] for item in build.case.storage)


def gpu_systems(build: Build) -> Linear:
    """Return the units of GPU systems."""
    return total(build.units[system.id] for system in build.case.systems)


def systems_in_use(build: Build) -> Linear:
    """Return the GPU systems in use: idle ones are easily many."""
    return total(build.used.values())


def bought_write(build: Build) -> Linear:
    """Return what the storage bought would deliver in writing, GB/s, whatever clients can move."""
    return build.case.delivered_write * total(build.nameplate_write.values())


def disliked(build: Build) -> Linear:
    """Return the units from vendors that are not preferred."""
    return total(build.units[name] for name in build.case.policy.disliked)


def name_weight(item_id: str) -> float:
    """Return a fixed number between 1 and 2 for an item id.

    It orders plans that nothing else tells apart, in the same way whatever else is in the catalogs.
    """
    return 1.0 + int.from_bytes(sha256(item_id.encode()).digest()[:2], "big") / 65_536.0


def named(build: Build) -> Linear:
    """Return the units weighted by their names."""
    offers = build.case.offers()
    return total(name_weight(offer.id) * build.units[offer.id] for offer in offers)


def scale(figure: Figure) -> float:
    """Return how many of a figure's unit the model counts as one."""
    return MILLION if figure.money else 1.0


def _sum(figure: Figure) -> Callable[[Build], Linear]:
    return lambda build: build.sum(figure.name, scale(figure))


EXPRESSIONS: dict[str, Callable[[Build], Linear]] = {
    **{name: _sum(asked.figure) for name, asked in OBJECTIVES.items() if asked.figure.name in SUMS},
    "goodput": log_useful_pflops,
    "useful_gpus": log_useful_gpus,
    "gpus": gpus,
    "usd_per_useful_gpu_hour": log_usd_per_useful_gpu_hour,
    "usd_per_million_tokens": log_usd_per_million_tokens,
    "fewest_storage": storage_units,
    "most_storage": lambda build: -1 * storage_units(build),
    "fewest_systems": gpu_systems,
    "most_systems": lambda build: -1 * systems_in_use(build),
    "least_meter": _sum(FIGURES["facility_power_kw"]),
    "least_write": bought_write,
    "most_write": lambda build: -1 * bought_write(build),
}
TIE_BREAKS: dict[str, Callable[[Build], Linear]] = {
    "capex": _sum(FIGURES["capex_usd"]),
    "power": _sum(FIGURES["it_power_kw"]),
    "units": count,
    "name": named,
}
AGAIN = "again"
"""The tie-break that is the objective itself."""


def tie_breaks(case: Case) -> tuple[str, ...]:
    """Return what ties are broken by, in order.

    Where something is owned and a share of the objective may be given away, the best objective goes
    before the fewest units: of equal money and power, owned units that help are not left idle.
    """
    names = [*TIE_BREAKS]
    if case.indifference and any(offer.installed for offer in case.offers()):
        names.insert(names.index("units"), AGAIN)
    return tuple(names)


LOGARITHMIC = frozenset({"goodput", "useful_gpus"}) | RATIOS
"""Objectives that the model knows by the logarithm of their value."""


def natural(name: str, value: float) -> float:
    """Return an objective's value as the model scales it in the objective's own unit."""
    if name in LOGARITHMIC:
        return math.exp(value)
    return value * scale(OBJECTIVES[name].figure) if name in OBJECTIVES else value


# Limits that may be missed at a price: the least weighted change that lets a plan exist.
#
#     minimise  sum_k w_k s_k;   ceilings:  amount_k <= limit_k (1 + s_k),
#     floors in whole numbers:  amount_k >= limit_k (1 - s_k),
#     times, shares and useful work:  |log(amount_k / limit_k)| <= s_k
#
# Amounts that are linear in the counts give linear rows; the others are linear in the logarithms. A
# small change counts the same in all of them: its share of the limit.


def can_be_missed(case: Case, name: str) -> bool:
    """Say whether a limit can be missed at a price.

    Not where its amount grows with log N: a model that bounds N by tangents cannot hold it there.
    A bandwidth rule takes the place of the overlap limit, which then is none.
    """
    if name == "overlap" and case.rule is not None:
        return False
    if name == "restore_time":
        return all(case.job.fan_out_terms(way.replica_gpus)[1] == 0.0 for way in case.ways)
    if name in ("overlap", "blocking"):
        return case.job.interval.policy != "lost_work"
    return name in BY_NAME and BY_NAME[name].elastic != ""


def overrun(build: Build) -> Linear:
    """Return the weighted sum of what each elastic limit is missed by, with its rows."""
    parts = [limit.weight * _missed(build, limit) for limit in build.case.elastic]
    return total(parts)


def _missed(build: Build, limit: Elastic) -> Linear:
    """Return a variable that is at least the share by which a limit is missed."""
    name, row = f"missed_{limit.name}", BY_NAME[limit.name]
    if limit.name in _mode_of(build):
        return 0.0 * build.gpus
    missed = build.model.var(name, 0.0, None)
    if row.elastic == "log":
        log = _log_amount(build, limit.name) - math.log(limit.value)
        build.model.row(name, row.looser * log - missed, "<=", 0.0)
        return missed
    amount = _amount(build, row, limit.scale)
    right = limit.value / limit.scale
    build.model.row(name, amount - row.looser * missed, row.sense, right)
    return missed


def _amount(build: Build, row: Limit, scale: float) -> Linear:
    """Return what is linear in the counts, in so many of its unit."""
    if row.group == "supply":
        return build.sum(row.figure, scale)
    reached = build.gpus + 0
    if row.name == "capacity":
        reached = total(item.usable_tb * build.units[item.id] for item in build.case.storage)
    return (1.0 / scale) * reached


def _mode_of(build: Build) -> frozenset[str]:
    """Return the limits of the mode that is not in use."""
    return frozenset({"overlap" if build.mode == "sync" else "blocking"})


def _log_amount(build: Build, name: str) -> Linear:
    case = build.case
    log_size = math.log(case.job.checkpoint_gb)
    if name in ("overlap", "blocking"):
        return log_size - build.safe_b - build.remote_i
    if name in ("interval_max", "interval_min"):
        return build.i
    if name == "min_goodput":
        return build.goodput
    if name == "min_useful_gpus":
        return log_useful_gpus(build)
    if name == "min_useful_pflops":
        return log_useful_pflops(build)
    if name == "max_days_to_train":
        return math.log(case.days_at_one_pflops()) - log_useful_pflops(build)
    return _log_restore(build)


def _log_restore(build: Build) -> Linear:
    """Return the log of the restore time where every GPU gets one copy that is passed on."""
    a, _ = build.case.job.fan_out_terms(build.case.ways[0].replica_gpus)
    return math.log(a * build.case.job.checkpoint_gb) - build.safe_q


# What an operation is worth in each objective and tie-break.


def measure(case: Case, name: str) -> Callable[[Run], float]:
    """Return the value of an objective or tie-break on an operation, scaled as in the model."""
    mfu = case.job.mfu or 0.0
    summed = {"capex": "capex_usd", "least_meter": "facility_power_kw"}
    summed |= {key: asked.figure.name for key, asked in OBJECTIVES.items()}
    if name in summed and summed[name] in SUMS:
        figure = FIGURES[summed[name]]
        return lambda o: purchase.bill(case, o.units, o.ways)[figure.name] / scale(figure)
    measures: dict[str, Callable[[Run], float]] = {
        "goodput": lambda o: math.log(o.useful_pflops(mfu)),
        "useful_gpus": lambda o: math.log(o.useful_gpus),
        "gpus": lambda o: float(o.gpus),
        "usd_per_useful_gpu_hour": lambda o: math.log(_tco(case, o) / useful_hours(case, o)),
        "usd_per_million_tokens": lambda o: math.log(_tco(case, o) / million_tokens(case, o)),
        "overrun": lambda o: missed_by(case, o),
        "disliked": lambda o: float(sum(o.units[name] for name in case.policy.disliked)),
        "fewest_storage": lambda o: _count(case.storage, o),
        "most_storage": lambda o: -_count(case.storage, o),
        "fewest_systems": lambda o: _count(case.systems, o),
        "most_systems": lambda o: -float(sum(o.used.values())),
        "least_write": lambda o: purchase.bought_write_gb_per_s(case, o.units),
        "most_write": lambda o: -purchase.bought_write_gb_per_s(case, o.units),
        "units": lambda o: float(sum(o.units.values())),
        AGAIN: lambda o: (-1.0 if case.maximise else 1.0) * measure(case, case.objective)(o),
        "name": lambda o: sum(name_weight(name) * count for name, count in o.units.items()),
    }
    return measures[name]


def work_of_one_gpu(case: Case, name: str, way: Way) -> float:
    """Return the useful work of the term, in what a ratio counts, of a GPU that never stops."""
    if name == "usd_per_useful_gpu_hour":
        return case.rates.hours
    pflops = way.tflops_per_gpu * (case.job.mfu or 0.0) / 1000.0
    return pflops * case.million_tokens_per_pflops()


def useful_hours(case: Case, operation: Run) -> float:
    """Return the useful GPU-hours of the term."""
    return operation.useful_gpus * case.rates.hours


def work_of_ratio(case: Case, operation: Run) -> float:
    """Return the useful work of the term that the case's objective pays for: hours, or tokens."""
    hours = case.objective == "usd_per_useful_gpu_hour"
    return useful_hours(case, operation) if hours else million_tokens(case, operation)


def million_tokens(case: Case, operation: Run) -> float:
    """Return the million tokens trained in the term."""
    return operation.useful_pflops(case.job.mfu or 0.0) * case.million_tokens_per_pflops()


def _tco(case: Case, operation: Run) -> float:
    """Return the TCO of an operation, USD: where nothing is paid at all, a least amount."""
    return max(
        purchase.bill(case, operation.units, operation.ways)["tco_usd"], LEAST_TCO_MUSD * MILLION
    )


def _count(offers: Sequence[Offer], operation: Run) -> float:
    return float(sum(operation.units[offer.id] for offer in offers))
