"""How the job runs on its GPUs, in words: the cap to configure, the rate, and how sure both are."""

from __future__ import annotations

from collections.abc import Iterator

from planner.outputs.words import percent
from planner.schema.plan import JobPlan, Plan, WayPlan


def way_texts(plan: Plan, job: JobPlan) -> Iterator[str]:
    """Yield a sentence on the set point and one on the rate of each type, then what scale costs."""
    for way in job.ways:
        name = next((line.model for line in plan.lines if line.sku == way.gpu_type), way.gpu_type)
        yield _set_point(name, way)
        if way.rate_tflops is not None:
            yield _rate(name, way)
    if job.scale_share != 1.0:
        yield (
            f"scale: a GPU does {percent(job.scale_share, 1)} of that rate in a job of "
            f"{job.gpus_used:,}"
        )
    span = useful_range(job)
    if span is not None:
        low, high = span
        yield (
            f"the curve leaves the useful work of this plan between {low:,.0f} and {high:,.0f} "
            "PFLOP/s"
        )


def cap_words(way: WayPlan) -> str:
    """Return the cap to configure: '80 % of their power (960 W each)'."""
    each = "" if way.gpu_limit_w is None else f" ({way.gpu_limit_w:,.0f} W each)"
    return f"{100.0 * way.gpu_cap:.4g} % of their power{each}"


def useful_range(job: JobPlan) -> tuple[float, float] | None:
    """Return the useful PFLOP/s at both ends of the curve's range, of the same plan.

    None where no curve counts, its range is a point, or several types share the work.
    """
    if len(job.ways) != 1 or job.useful_pflops is None:
        return None
    (way,) = job.ways
    if way.throughput_low == way.throughput_high:
        return None
    whole = job.useful_pflops / way.throughput
    return whole * way.throughput_low, whole * way.throughput_high


def _set_point(name: str, way: WayPlan) -> str:
    if way.gpu_cap == 1.0:
        return f"{name}: GPUs at full power, {way.precision}{_spread(way)}"
    rated = ""
    if way.rated_it_power_kw is not None:
        provisioned = way.power_share * way.rated_it_power_kw
        rated = f": {provisioned:,.1f} of {way.rated_it_power_kw:,.1f} kW a system"
    span = ""
    if way.throughput_low != way.throughput_high:
        low, high = percent(way.throughput_low, 1), percent(way.throughput_high, 1)
        span = f" ({low} to {high})"
    sure = "" if way.curve_confidence is None else f", {way.curve_confidence} confidence"
    return (
        f"{name}: GPUs capped at {cap_words(way)}{rated}, which leaves "
        f"{percent(way.throughput, 1)} of the rate{span}; {way.precision}{_spread(way)}; curve: "
        f"{way.curve}{sure}"
    )


def _spread(way: WayPlan) -> str:
    """Return how a replica is spread: ', tensor 8 x pipeline 16, at 97 % of the rate'."""
    if way.tensor is None:
        return ""
    context = f" x context {way.context}" if way.context > 1 else ""
    if way.experts > 1:
        of = way.expert_tensor or way.tensor
        context += f", experts over {way.experts:,} groups of {of:,} GPUs in a stage"
    factor = "" if way.option_factor == 1.0 else f", at {percent(way.option_factor)} of the rate"
    least = f", at least {way.min_replicas:,} replicas" if way.min_replicas > 1 else ""
    return f", tensor {way.tensor} x pipeline {way.pipeline}{context}{factor}{least}"


def _rate(name: str, way: WayPlan) -> str:
    assert way.rate_tflops is not None
    return (
        f"{name}: {way.rate_tflops:,.0f} TFLOP/s a GPU at full power, measured in {way.precision} "
        f"on {way.rate_gpus or 0:,} GPUs ({way.rate_source}, {way.rate_confidence} confidence)"
    )
