"""What is drawn: which inputs, from which distributions, how often and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.case import resolve
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.loader.vary.axis import Axis, refuse_overlap
from planner.studies.sensitivity.uncertain.defaults import usual
from planner.studies.sensitivity.uncertain.distributions import unknown
from planner.studies.sensitivity.uncertain.sample import LEAST, MOST, Method, power_of_two
from planner.studies.sensitivity.uncertain.unknown import Unknown


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
        inputs: the problem, catalogs and prices.
        dists: ``PATH=DISTRIBUTION`` of each; none for what is usually not known.
        draw: how they are to be drawn.

    Raises:
        InputError: a distribution or the way to draw cannot be.
    """
    _refuse_draw(draw)
    if not dists:
        return usual(inputs, resolve(inputs))
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
