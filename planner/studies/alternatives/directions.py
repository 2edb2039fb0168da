"""Where to look for other plans: what to ask for, with the objective kept within the tolerance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import get_args

from planner.case import Case, resolve
from planner.case.model import CountName
from planner.inputs import Change, Inputs
from planner.schema.alternatives import DirectionName
from planner.schema.problem import Objective
from planner.studies.changes import apply, no_worse

LABELS: dict[DirectionName, str] = {
    "storage_vendor": "another storage vendor",
    "gpu_type": "another GPU system",
    "least_capex": "least capex",
    "least_tco": "least TCO",
    "least_power": "least power",
    "fewest_storage": "fewest storage units",
    "most_storage": "most storage units",
    "fewest_systems": "fewest GPU systems",
    "most_systems": "most GPU systems in use",
}
FLOOR_MARGIN = 2e-7
"""Floors are asked for a little tighter, because plans may miss them by less."""


@dataclass(frozen=True)
class Extreme:
    """The extreme plan of one direction: the changes of the problem, and the count that is least.

    ``count`` is None where the changed problem says by itself what is to be least.
    """

    name: DirectionName
    changes: tuple[Change, ...]
    count: CountName | None = None

    def case(self, inputs: Inputs) -> Case:
        """Return the case of the direction.

        Raises:
            InputError: the changed problem demands what cannot be planned.
        """
        case = resolve(apply(inputs, self.changes))
        if self.count is None:
            return case
        policy = replace(case.policy, within=0.0, disliked=())
        return replace(case, objective=self.count, indifference=0.0, policy=policy)


def extremes(inputs: Inputs, case: Case, worst: float) -> Iterator[Extreme]:
    """Yield every direction that leads to an extreme plan of the problem.

    Args:
        inputs: the problem.
        case: the same in numbers.
        worst: the worst value of its objective that will do.
    """
    floor = no_worse(inputs, case.objective, worst, FLOOR_MARGIN)
    money: tuple[tuple[DirectionName, str, str], ...] = (
        ("least_capex", "cost", "{minimize: cost}"),
        ("least_tco", "tco", "{minimize: tco}"),
        ("least_power", "power", "{minimize: power, indifference: 0}"),
    )
    for name, objective, text in money:
        if objective == case.objective or (objective == "tco" and inputs.problem.term is None):
            continue
        least = Objective.model_validate({"minimize": objective, "indifference": 0})
        yield Extreme(name, (floor, Change("objective", least, text)))
    for count in get_args(CountName):
        yield Extreme(count, (floor,), count)
