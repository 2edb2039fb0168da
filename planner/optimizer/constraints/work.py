"""The work of the job: checkpoints, floors on useful work, money per useful work."""

from __future__ import annotations

import math

from planner.limits import MILLION
from planner.optimizer import levels
from planner.optimizer.context import Build
from planner.optimizer.model import Linear
from planner.optimizer.objective import log_useful_gpus, log_useful_pflops
from planner.sizing.throughput import concave_above

# Checkpoints drain within the allowed overlap and before the next one begins.
#
#     async: S/(B I) <= overlap,  s + S/B <= I;      sync: S/(B I) <= blocking share
#
# With a fixed interval both are linear in B; with I = kappa M they are linear in B and N; with a
# free interval they are linear in the logarithms. One more percent of overlap is that much less
# bandwidth. A vendor's rule replaces the overlap limit, not the drain's end. B is what is delivered
# with appliances down, where the problem asks for that.


def add_checkpoint(build: Build) -> None:
    """Add the rows of the mode in use."""
    case, job = build.case, build.case.job
    if build.mode == "local":
        levels.add_levels(build)
    elif build.mode == "sync":
        _share(build, "blocking", job.max_blocking)
    else:
        if case.rule is None:
            _share(build, "overlap", job.max_overlap)
        _drain_fits(build)


def _share(build: Build, name: str, limit: float) -> None:
    """Add S / (B I) <= limit."""
    job, policy = build.case.job, build.case.job.interval.policy
    demand = job.checkpoint_gb / limit
    if policy == "lost_work":
        _share_of_mtti(build, name, demand / job.interval.kappa)
        return
    # Exact for a fixed interval; for a free one no interval is longer than the longest.
    need = demand / build.longest_interval_s
    build.model.row(name, build.safe_write, ">=", need)
    if policy == "optimal" and build.case.needs_goodput:
        left = build.safe_b + build.i
        build.model.row(f"{name}_log", left, ">=", math.log(demand))


def _share_of_mtti(build: Build, name: str, per_rate: float) -> None:
    """Add B >= per_rate * failures per second, with the worst rate of the types in use."""
    rates = {way.id: way.failures_per_gpu_day / 86_400.0 for way in build.case.ways}
    if len(set(rates.values())) == 1:
        row = build.safe_write - per_rate * next(iter(rates.values())) * build.gpus
        build.model.row(name, row, ">=", 0.0)
        return
    for key, rate in rates.items():
        factor = per_rate * rate
        slack = factor * build.gpus_range[1]
        row = build.safe_write - factor * build.gpus - slack * build.way_used[key]
        build.model.row(f"{name}_{key}", row, ">=", -slack)


def _drain_fits(build: Build) -> None:
    """Add s + S/B <= I."""
    job, policy = build.case.job, build.case.job.interval.policy
    longest = build.longest_interval_s
    if job.derived_stall:
        drain = build.share_of_interval("drain_share", levels.log_drain(build) - build.i)
        build.model.row("drain_fits", drain + levels.stalled(build), "<=", 1.0)
        return
    if longest <= job.stall_s:
        impossible = 2 * build.write_range[1]
        build.model.row("drain_fits", build.safe_write, ">=", impossible)
        return
    if policy == "fixed" or (policy == "optimal" and not build.case.needs_goodput):
        need = job.checkpoint_gb / (longest - job.stall_s)
        build.model.row("drain_fits", build.safe_write, ">=", need)
        return
    shortest = build.interval_range_s[0]
    if build.case.rule is None and job.stall_s <= (1.0 - job.max_overlap) * shortest:
        return  # implied by the overlap limit
    log_drain = math.log(job.checkpoint_gb) - build.safe_b
    drain = build.share_of_interval("drain_share", log_drain - build.i)
    stall: Linear = 0.0
    if job.stall_s > 0:
        stall = build.share_of_interval("stall_share", math.log(job.stall_s) - build.i)
    build.model.row("drain_fits", drain + stall, "<=", 1.0)


# Floors: goodput, useful GPUs, useful PFLOP/s (days to train), each linear in the logarithms.
#
#     n + log E >= log U;   log f + n + log E >= log F;   log E >= log E_min
#
# One unit less of a floor is one more plan that may be chosen. The floor on GPUs in use is a bound
# of N itself.


def add_targets(build: Build) -> None:
    """Add a row for each floor the problem gives."""
    limits = build.case.limits
    if build.goodput is None:
        return
    if limits["min_goodput"] is not None:
        floor = math.log(limits["min_goodput"])
        build.model.row("min_goodput", build.goodput, ">=", floor)
    if limits["min_useful_gpus"] is not None:
        left, floor = log_useful_gpus(build), math.log(limits["min_useful_gpus"])
        build.model.row("min_useful_gpus", left, ">=", floor)
    pflops = build.case.useful_pflops_floor()
    if pflops is not None:
        left, floor = log_useful_pflops(build), math.log(pflops)
        build.model.row("min_useful_pflops", left, ">=", floor)


# Money per useful work: TCO <= limit * useful GPU-hours, TCO <= limit * tokens trained.
#
#     TCO <= c h N E;    TCO <= c t f N E     (h hours of the term, t tokens per useful FLOP/s)
#
# N E is log-concave, so it is bounded from above by chords of the exponential, on which the search
# splits. One more dollar of the limit is one more dollar per hour, or per million tokens.


LEAST_LOG_GOODPUT = -15.0


def add_ratios(build: Build) -> None:
    """Add a row for each ratio the budget limits."""
    case, limits = build.case, build.case.limits
    low, high = (math.log(gpus) for gpus in build.gpus_range)
    limit = limits["per_useful_gpu_hour"]
    if limit is not None:
        domain = (low + LEAST_LOG_GOODPUT, high)
        rate = limit * case.rates.hours / MILLION
        build.model.ratio(
            "per_useful_gpu_hour", build.tco_musd, rate, log_useful_gpus(build), domain
        )
    limit = limits["per_million_tokens"]
    if limit is not None:
        rates = [math.log(w.tflops_per_gpu * (case.job.mfu or 0.0) / 1000.0) for w in case.ways]
        least, most = _scale_range(build)
        domain = (low + LEAST_LOG_GOODPUT + min(rates) + least, high + max(rates) + most)
        rate = limit * case.million_tokens_per_pflops() / MILLION
        build.model.ratio(
            "per_million_tokens", build.tco_musd, rate, log_useful_pflops(build), domain
        )


def _scale_range(build: Build) -> tuple[float, float]:
    """Return the least and the most log of what the law of scale leaves of a GPU's rate."""
    law, (low, high) = build.case.job.scale, build.gpus_range
    if law is None:
        return 0.0, 0.0
    ways = [(way.bubble, way.gpus_max) for way in build.case.ways]
    least = min(law.share(high, *way) for way in ways)
    return math.log(least), math.log(max(concave_above(law).share(low, *way) for way in ways))
