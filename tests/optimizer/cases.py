"""Cases and small models that the optimiser's tests share."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from planner.case import Case, resolve
from planner.loader import Inputs
from planner.optimizer.model import Linear, Model, Variable, combination, total
from planner.optimizer.solver import Outcome, Session
from tests.oracle.generate import Case as Drawn
from tests.oracle.generate import random_case
from tests.oracle.hardware import Raw

FOREVER = math.inf


def inputs_of(drawn: Drawn) -> Inputs:
    return Inputs.from_parts(
        problem=drawn.problem,
        items=drawn.items,
        families=drawn.families,
        prices=drawn.prices,
        discounts=drawn.discounts,
    )


def resolved(seed: int) -> Case:
    return resolve(inputs_of(random_case(seed)))


def merged(base: Raw, over: Raw) -> Raw:
    """Return ``base`` with ``over`` laid on it, mapping by mapping."""
    result = dict(base)
    for key, value in over.items():
        both = isinstance(result.get(key), dict) and isinstance(value, dict)
        result[key] = merged(result[key], value) if both else value
    return result


def solve(session: Session, *, relaxed: bool = False, deadline: float = FOREVER) -> Outcome:
    return session.solve(relaxed=relaxed, gap=1e-7, relative=True, deadline=deadline)


def market_split(slack: bool) -> tuple[Model, Linear]:
    """Return a market split problem: 40 binaries that must hit 5 sums exactly.

    Solvers enumerate nearly everything, so that none of them is done within a second. With
    ``slack`` any choice is feasible and what it misses is minimised.
    """
    random = Random(5)
    model = Model("market_split", False)
    chosen = [model.var(f"x{j}", 0.0, 1.0, True) for j in range(40)]
    missed: list[Variable] = []
    for i in range(5):
        weights = [float(random.randrange(100)) for _ in chosen]
        left: Any = combination(zip(weights, chosen, strict=True))
        if slack:
            over, under = model.var(f"over{i}", 0.0, None), model.var(f"under{i}", 0.0, None)
            missed += [over, under]
            left = left + over - under
        model.row(f"sum{i}", left, "==", float(int(sum(weights) / 2)))
    return model, total(missed or chosen)
