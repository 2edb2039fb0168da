"""Random problems that have a plan, and faults planted in them so that they have none."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from planner.inputs import Inputs, applied
from planner.levers import Lever, levers
from planner.schema.plan import Infeasibility, Step
from tests.oracle.enumerate import best
from tests.world.random_cases import inputs_of, random_case
from tests.world.solved import solve

TIGHT = (0.6, 0.3, 0.1, 0.03, 0.01)
"""How much of a limit is left, from little to much too little."""
SLOW_S = 0.1
"""Problems that take longer to enumerate would take the tests too long."""
FILE = Path(__file__).with_name("planted.json")
NOT_PLANTED = (".parallelism.", ".interval.", "items.", "storage.max_families", ".client_limit",
               "rack.power", "max_lead_time", ".stall", ".restart", ".repair.", ".local.",
               "tolerate_down")  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A problem without a plan, and the limits that were made too tight."""

    seed: int
    limits: Mapping[str, float]

    @cached_property
    def inputs(self) -> Inputs:
        """The problem with the faults: drawn when a test asks, not when tests are collected."""
        return _planted(drawn(self.seed), self.limits)

    @property
    def name(self) -> str:
        """What the test is called."""
        return f"{self.seed}-{'-'.join(self.limits)}"


def has_plan(inputs: Inputs) -> bool:
    """Say by exhaustive enumeration whether a problem has a plan."""
    found = best(inputs.problem, inputs.items, inputs.families, inputs.prices, inputs.discounts)
    return found is not None


def drawn(seed: int) -> Inputs:
    """Return the inputs of a seed."""
    return inputs_of(random_case(seed))


def written() -> tuple[Planted, ...]:
    """Return the problems of the file (written by `python -m tests.infeasible.plant`)."""
    entries = json.loads(FILE.read_text("utf-8"))
    return tuple(Planted(entry["seed"], entry["limits"]) for entry in entries)


def still_planted(planted: Planted) -> bool:
    """Say whether a problem has a plan without its faults, and none with them."""
    return has_plan(drawn(planted.seed)) and not has_plan(planted.inputs)


def _write() -> None:
    """Keep what still is planted; plant others in new seeds for what random problems lost."""
    known = written()
    unused = itertools.count(max(planted.seed for planted in known) + 1)
    kept = [old if still_planted(old) else faulty(unused, len(old.limits)) for old in known]
    lines = ",\n".join(json.dumps({"seed": each.seed, "limits": each.limits}) for each in kept)
    FILE.write_text(f"[\n{lines}\n]\n", "utf-8")


def faulty(seeds: Iterator[int], faults: int) -> Planted:
    """Return the next problem in which a number of faults can be planted."""
    while True:
        seed = next(seeds)
        inputs, started = drawn(seed), time.monotonic()
        if not has_plan(inputs) or time.monotonic() - started > SLOW_S:
            continue
        random = Random(seed)
        choices = [
            lever
            for lever in levers(inputs)
            if lever.value is not None and not any(part in lever.path for part in NOT_PLANTED)
        ]
        random.shuffle(choices)
        tight = ((lever.path, _too_tight(inputs, lever)) for lever in choices)
        chosen = dict(itertools.islice((pair for pair in tight if pair[1] is not None), faults))
        if len(chosen) == faults:
            return Planted(seed, chosen)


def _planted(inputs: Inputs, values: Mapping[str, float]) -> Inputs:
    for lever in levers(inputs):
        if lever.path in values and lever.value is not None:
            inputs = applied(inputs, lever.to(values[lever.path]))
    return inputs


def _too_tight(inputs: Inputs, lever: Lever) -> float | None:
    """Return a value at which the problem has no plan any more."""
    assert lever.value is not None
    for share in TIGHT:
        value = lever.value * share if lever.looser > 0 else lever.value / share
        if lever.unit == "share":
            value = min(value, 1.0)
        value = float(round(value)) if lever.whole else float(f"{value:.6g}")
        if value <= 0 or value == lever.value:
            continue
        if not has_plan(applied(inputs, lever.to(value))):
            return value
    return None


if __name__ == "__main__":
    _write()


# What must be true of an explanation, asked of the exhaustive enumeration.


def explained(planted: Planted) -> Infeasibility:
    plan = solve(planted.inputs)
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert not plan.infeasibility.undecided
    return plan.infeasibility


def named(found: Infeasibility) -> list[set[str]]:
    return [{limit.path for limit in conflict} for conflict in found.conflicts]


def lever_of(inputs: Inputs, step: Step) -> Lever:
    return next(
        lever
        for lever in levers(inputs)
        if lever.path == step.path
        and (step.least is None or (step.least - (step.value or 0.0)) * lever.looser > 0)
    )


def moved(inputs: Inputs, step: Step, value: float | None) -> Inputs:
    lever = lever_of(inputs, step)
    return applied(inputs, lever.off if value is None else lever.to(value))


def check_one(inputs: Inputs, step: Step) -> None:
    """A change is enough, and a little less is not."""
    assert has_plan(moved(inputs, step, step.least)), step
    if step.not_enough is not None:
        assert not has_plan(moved(inputs, step, step.not_enough)), step


def check_together(inputs: Inputs, steps: tuple[Step, ...]) -> None:
    """Changes together are enough, and none of them may be a little less."""
    whole = inputs
    for step in steps:
        whole = moved(whole, step, step.least)
    assert has_plan(whole), steps
    for step in steps:
        if step.not_enough is None:
            continue
        less = inputs
        for other in steps:
            less = moved(less, other, other.not_enough if other is step else other.least)
        assert not has_plan(less), (step, steps)
