"""Money per useful work: TCO <= limit * useful GPU-hours, TCO <= limit * tokens trained.

    TCO <= c h N E;    TCO <= c t f N E     (h hours of the term, t tokens per useful FLOP/s)

N E is log-concave, so it is bounded from above by chords of the exponential, on which the search
splits. One more dollar of the limit is one more dollar per hour, or per million tokens.
"""

from __future__ import annotations

import math

from planner.limits import MILLION
from planner.optimizer.context import Build
from planner.optimizer.objective import log_useful_gpus, log_useful_pflops, tco_musd

LEAST_LOG_GOODPUT = -15.0


def add(build: Build) -> None:
    """Add a row for each ratio the budget limits."""
    case, limits = build.case, build.case.limits
    low, high = (math.log(gpus) for gpus in build.gpus_range)
    limit = limits.per_useful_gpu_hour
    if limit is not None:
        domain = (low + LEAST_LOG_GOODPUT, high)
        rate = limit * case.rates.hours / MILLION
        build.model.ratio(
            "per_useful_gpu_hour", tco_musd(build), rate, log_useful_gpus(build), domain
        )
    limit = limits.per_million_tokens
    if limit is not None:
        rates = [math.log(s.tflops_per_gpu * (case.job.mfu or 0.0) / 1000.0) for s in case.systems]
        domain = (low + LEAST_LOG_GOODPUT + min(rates), high + max(rates))
        rate = limit * case.million_tokens_per_pflops() / MILLION
        build.model.ratio(
            "per_million_tokens", tco_musd(build), rate, log_useful_pflops(build), domain
        )
