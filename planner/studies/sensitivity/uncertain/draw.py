"""What is drawn: which inputs, from which distributions, how often and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from planner.case import Case, resolve
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.loader.vary.axis import Axis, refuse_overlap
from planner.loader.vary.place import NoPlaceError
from planner.paths import job_path
from planner.schema.catalog import Confidence
from planner.sizing.goodput import FAILURES_PER_GPU_DAY, LOST_TIME
from planner.studies.sensitivity.uncertain.distributions import (
    Field,
    Numbers,
    Unknown,
    describe,
    unknown,
)

Usual = tuple[str, str, str]
"""A path, its distribution as it would be written, and the reason."""

_PRICES: dict[Confidence, tuple[str, str]] = {
    "low": (
        "triangular(x0.6, x1, x1.4)",
        "estimates of low confidence; published prices of one GPU rack are 0.6 to 1.4 times the "
        "one in the shipped price book",
    ),
    "medium": (
        "triangular(x0.8, x1, x1.2)",
        "prices of medium confidence, which third parties restate",
    ),
    "high": ("uniform(x0.95, x1.05)", "prices of high confidence, until the order is signed"),
}
_CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")

_POWER = (
    "triangular(x0.8, x1, x1.1)",
    "typical draw is 0.74 to 0.95 of the maximum where the shipped catalogs have both, and sources "
    "of one GPU rack go from 0.85 to 1.09 of the figure there",
)
_LEAST_WRITTEN, _MOST_WRITTEN = 0.16, 0.40
"""Write bandwidth of production systems as shares of nameplate: arXiv 2605.09370, 2104.04473."""
_OWN_RATE = (
    "loguniform(x0.5, x2)",
    "a rate of one's own, of as few failures as one cluster has",
)
_LEAST_BYTES, _MOST_BYTES = 10.0, 14.0
"""Bytes per parameter of training recipes: bf16 moments, and mixed precision with Adam."""


def usual_inputs(inputs: Inputs, case: Case) -> tuple[Unknown, ...]:
    """Return the inputs that a problem has and that are usually not known, with distributions."""
    found = []
    for path, text, reason in _usual(inputs, case):
        try:
            found.append(describe(inputs, Field(inputs, path), text, reason))
        except NoPlaceError:
            continue  # nothing states it: it does not apply
    return tuple(found)


def _usual(inputs: Inputs, case: Case) -> Iterator[Usual]:
    yield from _prices(inputs, case)
    yield "catalog.*.consumes.it_power", *_POWER
    yield _failures(inputs)
    if "lost_time" not in inputs.problem.job.model_fields_set:
        yield _lost_time()
    yield _delivered(inputs)
    yield from _size(inputs)


def _prices(inputs: Inputs, case: Case) -> Iterator[Usual]:
    """Yield all prices, as little known as the least known of what may be chosen."""
    priced = {inputs.prices[o.id].confidence for o in case.offers() if o.id in inputs.prices}
    for confidence in _CONFIDENCES:
        if confidence in priced:
            yield "prices.*.list", *_PRICES[confidence]
            return


def _failures(inputs: Inputs) -> Usual:
    job, path = inputs.problem.job, job_path("failures.per_gpu_day")
    stated = any(item.gpu.failures_per_day is not None for item in inputs.items)
    if job.failure_rate is None and stated:
        return "catalog.*.gpu.failures_per_day", *_OWN_RATE
    if isinstance(job.failure_rate, float):
        return path, *_OWN_RATE
    rates = [preset.value for preset in FAILURES_PER_GPU_DAY.values()]
    reason = f"failures per GPU and day in published clusters: {min(rates):.3g} to {max(rates):.3g}"
    if job.failure_rate in (None, "llama3"):
        return path, "loguniform(x0.6, x6)", reason
    return path, f"loguniform({min(rates)}, {max(rates)})", reason


def _lost_time() -> Usual:
    reason = f"published runs lost {100 * LOST_TIME.low:g} to {100 * LOST_TIME.high:g} %"
    return job_path("lost_time"), f"uniform({LOST_TIME.low:g}, {LOST_TIME.high:g})", reason


def _delivered(inputs: Inputs) -> Usual:
    assumed = inputs.problem.storage.delivered_fraction.write
    low, high = min(_LEAST_WRITTEN, assumed), max(_MOST_WRITTEN, assumed)
    reason = (
        f"production systems wrote at {_LEAST_WRITTEN} to {_MOST_WRITTEN:.2f} of nameplate, "
        f"{assumed:g} is assumed"
    )
    return "storage.delivered_fraction.write", f"uniform({low:g}, {high:g})", reason


def _size(inputs: Inputs) -> Iterator[Usual]:
    """Yield the checkpoint's size, in bytes per parameter where it follows from them."""
    job = inputs.problem.job
    middle = (_LEAST_BYTES + _MOST_BYTES) / 2.0
    low, high = _LEAST_BYTES / middle, _MOST_BYTES / middle
    recipes = f"recipes write {_LEAST_BYTES:g} to {_MOST_BYTES:g} bytes per parameter"
    if job.checkpoint.size_gb is not None:
        if job.parameters is None or "bytes_per_parameter" not in job.model_fields_set:
            yield job_path("checkpoint.size"), f"uniform(x{low:.2f}, x{high:.2f})", recipes
        return
    path = job_path("bytes_per_parameter")
    each = Field(inputs, path).base
    if each is not None and _LEAST_BYTES <= each <= _MOST_BYTES:
        yield path, f"uniform({_LEAST_BYTES:g}, {_MOST_BYTES:g})", recipes
    else:
        yield path, f"uniform(x{low:.2f}, x{high:.2f})", f"{recipes}, a sixth more or less"


Method = Literal["lhs", "sobol"]
LEAST, MOST = 2, 1_000_000
EDGE = 1e-9
"""How near to 0 and 1 a point may come: some distributions have no end there."""


def points(method: Method, inputs: int, samples: int, seed: int) -> Numbers:
    """Return a point for each sample, a coordinate for each input.

    Args:
        method: how they are spread.
        inputs: how many coordinates they have.
        samples: how many there are; a power of two for a Sobol sequence.
        seed: the same one gives the same points.
    """
    if method == "lhs":
        made = latin_hypercube(inputs, samples, seed)
    else:
        from scipy.stats import qmc

        sequence = qmc.Sobol(inputs, rng=np.random.default_rng(seed))
        made = sequence.random_base2(samples.bit_length() - 1)
    return np.clip(made, EDGE, 1.0 - EDGE)


def latin_hypercube(inputs: int, samples: int, seed: int) -> Numbers:
    """Return points of which each coordinate lies once in each of as many equal parts as there are.

    They are those of `scipy.stats.qmc`, whose import takes a second.
    """
    draw = np.random.default_rng(seed).spawn(1)[0]
    within = draw.uniform(size=(samples, inputs))
    parts = np.tile(np.arange(1, samples + 1), (inputs, 1))
    for column in parts:
        draw.shuffle(column)
    return (parts.T - within) / samples


def power_of_two(samples: int) -> int:
    """Return the largest power of two that is no more than a number of samples."""
    return 1 << (samples.bit_length() - 1)


@dataclass(frozen=True)
class Draw:
    """How scenarios are drawn, how many, from which seed, and whether more are for indices."""

    method: Method = "lhs"
    samples: int = 256
    seed: int = 1
    indices: bool = False

    def scenarios(self, inputs: int) -> int:
        """Return how many scenarios there are to solve with so many inputs."""
        more = power_of_two(self.samples) * (inputs + 2) if self.indices else 0
        return self.samples + more


def unknowns(inputs: Inputs, dists: Sequence[str], draw: Draw) -> tuple[Unknown, ...]:
    """Return the inputs that a study draws.

    Args:
        dists: ``PATH=DISTRIBUTION`` of each; none for what is usually not known.

    Raises:
        InputError: a distribution or the way to draw cannot be.
    """
    _refuse_draw(draw)
    if not dists:
        return usual_inputs(inputs, resolve(inputs))
    found = tuple(unknown(inputs, dist) for dist in dists)
    try:
        refuse_overlap(Axis((), (each.field.variable,), 1) for each in found)
    except InputError as error:
        message = error.findings[0].message.replace("varied", "drawn")
        fix = "give one distribution for it"
        raise InputError(Finding("dist", message, "--dist", fix=fix)) from None
    return found


def _refuse_draw(draw: Draw) -> None:
    if not LEAST <= draw.samples <= MOST:
        message = f"{draw.samples:,} samples are not between {LEAST} and {MOST:,}"
        raise InputError(Finding("samples", message, "--samples", fix="write for example 256"))
    if draw.seed < 0:
        raise InputError(Finding("seed", f"{draw.seed} is negative", "--seed", fix="write 1"))
    low = power_of_two(draw.samples)
    if draw.method == "sobol" and draw.samples != low:
        message = f"a Sobol sequence takes a power of two of samples, not {draw.samples:,}"
        raise InputError(Finding("samples", message, "--samples", fix=f"write {low} or {2 * low}"))
