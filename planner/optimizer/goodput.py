"""Goodput E as a concave function of the logarithms.

    log E = log(1 - s/I) - e^mu (R0 + S/Bw + F S/Br) - log((e^z - 1)/z)
    mu = log(N lambda),  z = I/M = e^(mu + i)

Each term is a concave function of one linear expression (sizing formula 7 on log N, log B, log I),
so tangents bound E from above everywhere and exactly where they touch.
"""

from __future__ import annotations

import math

from planner.optimizer.context import Build
from planner.optimizer.curves import Log, LogOneMinusExp, LogRework, NegativeExp
from planner.optimizer.model import Linear, combination

MOST = math.log(60.0)
LEAST = math.log(1e-7)
LEAST_PRODUCTIVE = 1e-3
"""Intervals that leave less than this share between stalls are cut off: E would be below it too."""


def goodput(build: Build) -> Linear:
    """Return an expression that is at most log E, with the links that keep it so."""
    job = build.case.job
    terms = [_productive(build), _rework(build)]
    if job.restart_s > 0:
        terms.append(_failures(build, "restart", build.mu + math.log(job.restart_s)))
    log_size = math.log(job.checkpoint_gb)
    if build.mode == "async":
        terms.append(_failures(build, "drain", build.mu + log_size - build.b))
    a, c = job.fan_out_terms()
    if a > 0:
        terms.append(_failures(build, "restore", build.mu + math.log(a) + log_size - build.q))
    if c > 0:
        argument = build.mu + build.n + math.log(c) + log_size - build.q
        terms.append(_failures(build, "restore_replicas", argument))
    return sum(terms[1:], terms[0])


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
    rates = [s.failures_per_gpu_day / 86_400.0 for s in build.case.systems]
    gpus = build.gpus_range
    least = math.log(min(rates) * gpus[0] * low)
    most = min(math.log(max(rates) * gpus[1] * high), math.log(700.0))
    kept = build.model.var("log_kept", None, 0.0)
    domain = (max(LEAST, min(least, most)), max(most, LEAST))
    build.model.link("kept", kept, build.mu + build.i, LogRework(), domain)
    return kept


def _productive(build: Build) -> Linear:
    """Return an expression that is at most log(1 - (s + alpha D)/I)."""
    job = build.case.job
    stall_s = job.stall_s if build.mode == "async" else 0.0
    slowed = job.drain_slowdown * job.checkpoint_gb if build.mode == "async" else job.checkpoint_gb
    if stall_s == 0.0 and slowed == 0.0:
        return combination([], 0.0)
    productive = build.model.var("log_productive", math.log(LEAST_PRODUCTIVE), 0.0)
    if stall_s == 0.0:
        _one_share(build, productive, build.b + build.i, math.log(slowed))
    elif slowed == 0.0:
        _one_share(build, productive, build.i, math.log(stall_s))
    else:
        rest = build.model.var("productive", LEAST_PRODUCTIVE, 1.0)
        stall = build.share_of_interval("stalled", math.log(stall_s) - build.i)
        drain = build.share_of_interval("slowed", math.log(slowed) - build.b - build.i)
        build.model.row("productive", rest + stall + drain, "<=", 1.0)
        build.model.link("log_productive", productive, rest + 0, Log(), (LEAST_PRODUCTIVE, 1.0))
    return productive


def _one_share(build: Build, productive: Linear, argument: Linear, shift: float) -> None:
    # 1 - e^(shift - u) >= LEAST_PRODUCTIVE where u is at least this:
    least = shift - math.log1p(-LEAST_PRODUCTIVE)
    most = max(least, shift + 25.0)
    build.model.row("stalls_end", argument + 0, ">=", least)
    curve = LogOneMinusExp(shift)
    build.model.link("log_productive", productive, argument + 0, curve, (least, most), seeds=9)
