"""Concave functions of several variables in the model, kept by tangent planes: one for each choice.

``low <= f(arguments)`` where the choice is made, ``low = 0`` where it is not: with the flag v of
the choice and variables x that are 0 without it,

    low <= f(p) v + f'(p) (x - p v)

for every point p at which a tangent stands. That is the hull of both cases, so nothing is lost to
large constants, and each choice has a function of its own that need not be concave over all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.optimizer.model import (
    Linear,
    Model,
    Point,
    Row,
    Surface,
    Variable,
    combination,
    evaluate,
    total,
)

NEGLIGIBLE = 1e-8
"""Solvers drop coefficients near 1e-9: what a slope below this adds at most stands in for it."""
NEAREST = 1e-9
CHOSEN = 1.0 - 1e-6
NOT_CHOSEN = 1e-6


@dataclass
class SurfaceLink:
    """``low <= surface(arguments)`` of a choice, kept by tangents; ``at`` holds where they stand.

    ``parts`` are the arguments where the choice is made, else 0; without a ``flag`` they are the
    arguments themselves. ``domain`` bounds each argument.
    """

    name: str
    low: Variable
    arguments: tuple[Linear, ...]
    parts: tuple[Linear, ...]
    flag: Variable | None
    surface: Surface
    domain: tuple[tuple[float, float], ...]
    at: list[Point] = field(default_factory=list)

    def point(self, values: Mapping[str, float]) -> Point | None:
        """Return where the values stand, None where they do not make the choice."""
        share = 1.0 if self.flag is None else values[self.flag.name]
        if share < NOT_CHOSEN:
            return None
        if share > CHOSEN:
            where = tuple(evaluate(each, dict(values)) for each in self.arguments)
        else:
            where = tuple(evaluate(each, dict(values)) / share for each in self.parts)
        inside = zip(where, self.domain, strict=True)
        return self.surface.nearest(tuple(min(max(x, low), high) for x, (low, high) in inside))

    def violation(self, values: Mapping[str, float]) -> float:
        """Return by how much the values break the link (negative: they do not)."""
        point = self.point(values)
        if point is None:
            return 0.0
        share = 1.0 if self.flag is None else values[self.flag.name]
        slopes, reached = self.surface.slopes(point), self.surface.value(point) * share
        for slope, part, at in zip(slopes, self.parts, point, strict=True):
            reached += slope * (evaluate(part, dict(values)) - at * share)
        return float(values[self.low.name] - reached)

    def tangent_at(self, model: Model, values: Mapping[str, float]) -> Row | None:
        """Add the tangent where the values stand; None where one stands there, or no choice."""
        point = self.point(values)
        return None if point is None else self.tangent(model, point)

    def tangent(self, model: Model, point: Point) -> Row | None:
        """Add the tangent at a point; None where one stands there already."""
        near = NEAREST * (1.0 + math.hypot(*point))
        if any(math.dist(point, other) <= near for other in self.at):
            return None
        self.at.append(point)
        slopes, height = self.surface.slopes(point), self.surface.value(point)
        kept: list[tuple[float, Linear]] = []
        for slope, part, at, (low, high) in zip(
            slopes, self.parts, point, self.domain, strict=True
        ):
            if abs(slope) < NEGLIGIBLE:
                height += max(slope * (low - at), slope * (high - at))
            else:
                height -= slope * at
                kept.append((slope, part))
        scale = 1.0 / max(1.0, *(abs(slope) for slope in slopes))
        left = scale * self.low - total((scale * slope) * part for slope, part in kept)
        model.cuts += 1
        name = f"{self.name}_tangent_{model.cuts}"
        if self.flag is None:
            return model.row(name, left, "<=", scale * height)
        return model.row(name, left - (scale * height) * self.flag, "<=", 0.0)


def link(
    model: Model,
    name: str,
    arguments: Sequence[Linear],
    surfaces: Sequence[tuple[Variable | None, Surface]],
    domain: Sequence[tuple[float, float]],
    seeds: Sequence[Point],
) -> Linear:
    """Return an expression that is at most the surface of the choice that is made.

    Args:
        model: takes variables, rows and links.
        name: what names them.
        arguments: the arguments of the surfaces.
        surfaces: the choices' flags, of which one is 1, and their surfaces, none above 0; one
            without a flag is no choice.
        domain: bounds of each argument.
        seeds: where first tangents stand.
    """
    lows = []
    parts: list[list[Variable]] = []
    for number, (flag, surface) in enumerate(surfaces):
        low = model.var(f"{name}__{number}", None, 0.0)
        own: tuple[Linear, ...] = tuple(arguments)
        if flag is not None:
            own = _parts(model, f"{name}_{number}", flag, domain)
            parts.append(list(own))
        kept = SurfaceLink(name, low, tuple(arguments), own, flag, surface, tuple(domain))
        model.links.append(kept)
        for seed in seeds:
            kept.tangent(model, surface.nearest(seed))
        lows.append(low)
    for place, argument in enumerate(arguments if parts else ()):
        whole = total(own[place] for own in parts)
        model.row(f"{name}_whole_{place}", whole - argument, "==", 0.0)
    return total(lows) if len(lows) > 1 else combination([(1.0, lows[0])])


def _parts(
    model: Model, name: str, flag: Variable, domain: Sequence[tuple[float, float]]
) -> tuple[Variable, ...]:
    """Return variables that are within the domain where a flag is 1, and 0 where it is 0."""
    parts = []
    for place, (low, high) in enumerate(domain):
        part = model.var(f"{name}__{place}", min(low, 0.0), max(high, 0.0))
        model.row(f"{name}_{place}_low", part - low * flag, ">=", 0.0)
        model.row(f"{name}_{place}_high", part - high * flag, "<=", 0.0)
        parts.append(part)
    return tuple(parts)
