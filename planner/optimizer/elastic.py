"""Limits that may be missed at a price: the least weighted change that lets a plan exist.

    minimise  sum_k w_k s_k;   ceilings:  amount_k <= limit_k (1 + s_k),
    floors in whole numbers:  amount_k >= limit_k (1 - s_k),
    times, shares and useful work:  |log(amount_k / limit_k)| <= s_k

Amounts that are linear in the counts give linear rows; the others are linear in the logarithms. A
small change counts the same in all of them: its share of the limit.
"""

from __future__ import annotations

import math

from planner.case import Case
from planner.case.model import Elastic
from planner.limits import BY_NAME, Limit
from planner.optimizer.context import Build
from planner.optimizer.model import Linear, total
from planner.optimizer.objective import log_useful_gpus, log_useful_pflops


def can_be_missed(case: Case, name: str) -> bool:
    """Say whether a limit can be missed at a price.

    Not where its amount grows with log N: a model that bounds N by tangents cannot hold it there.
    A bandwidth rule takes the place of the overlap limit, which then is none.
    """
    if name == "overlap" and case.rule is not None:
        return False
    if name == "restore_time":
        return case.job.fan_out_terms()[1] == 0.0
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
    return frozenset({"blocking" if build.mode == "async" else "overlap"})


def _log_amount(build: Build, name: str) -> Linear:
    case = build.case
    log_size = math.log(case.job.checkpoint_gb)
    if name in ("overlap", "blocking"):
        return log_size - build.safe_b - build.i
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
    a, _ = build.case.job.fan_out_terms()
    return math.log(a * build.case.job.checkpoint_gb) - build.safe_q
