"""What is varied where nothing is asked for: every number of a problem that may matter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from planner.inputs import Inputs, needs_energy_cost
from planner.levers import levers
from planner.loader.vary.place import NoPlaceError
from planner.studies.sensitivity.tornado.span import Span, around
from planner.studies.sensitivity.uncertain.unknown import Field

Bounds = tuple[str, float, float]
"""A path, and how low and how high it may go."""

_FOLLOWING = ("jobs.0.parallelism.",)
"""Numbers that hang together with others."""


def defaults(inputs: Inputs, by: float, counts: Mapping[str, int]) -> list[Span]:
    """Return the spans of a problem's numbers, each by a share to either side.

    Limits, demands and facts of the job come first, then what is assumed of storage and failures,
    then prices and draws: all of them at once, and those of what the best plan buys one by one.

    Args:
        inputs: the problem.
        by: the share.
        counts: units by item of the best plan, nothing where there is none.
    """
    found: dict[str, Span] = {}
    for path, least, most in _numbers(inputs, counts):
        try:
            span = around(inputs, Field(inputs, path), by, least, most)
        except NoPlaceError:
            continue  # nothing states it: it does not apply
        if span is not None:
            found.setdefault(span.path, span)
    return list(found.values())


def _numbers(inputs: Inputs, counts: Mapping[str, int]) -> Iterator[Bounds]:
    for lever in levers(inputs):
        fixed = lever.between and lever.path.startswith("items.")
        if lever.value is not None and not fixed and not lever.path.startswith(_FOLLOWING):
            yield lever.path, lever.least, lever.most
    for path in _facts(inputs):
        yield path, -math.inf, math.inf
    bought = sorted(name for name, count in counts.items() if count)
    for figures in ("prices.{}.list", "catalog.{}.consumes.it_power"):
        for name in ("*", *bought):
            yield figures.format(name), -math.inf, math.inf


def _facts(inputs: Inputs) -> Iterator[str]:
    """Yield what is assumed of the job, of storage and of the site, and is no limit."""
    job = inputs.problem.job
    yield "storage.delivered_fraction.write"
    yield "storage.delivered_fraction.read"
    own = any(item.gpu.failures_per_day is not None for item in inputs.items)
    stated = "failures" in job.model_fields_set
    yield "catalog.*.gpu.failures_per_day" if own and not stated else "jobs.0.failures.per_gpu_day"
    sized, counted = job.checkpoint.size_gb is not None, job.parameters is not None
    if not (sized and counted):  # both have to agree
        yield "jobs.0.checkpoint.size" if sized else "jobs.0.bytes_per_parameter"
    yield "jobs.0.checkpoint.stall"
    yield "jobs.0.restore.restart"
    yield "jobs.0.training.mfu"
    yield "site.pue"
    yield "site.pue.air"
    yield "site.pue.liquid"
    if needs_energy_cost(inputs.problem):
        yield "term.electricity"
