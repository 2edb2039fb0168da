"""How scenarios are solved, and what comes of one."""

from __future__ import annotations

from dataclasses import dataclass

from planner.optimizer.operate import Operation
from planner.optimizer.solver import Effort
from planner.schema.sensitivity import RowStatus
from planner.studies.sensitivity.scenario import Scenario

DEFAULT_GAP = 1e-3


@dataclass(frozen=True)
class SweepOptions:
    """How exactly to solve each scenario (a share), how long at most, in how many processes.

    0 of them: as many as there are cores.
    """

    gap: float = DEFAULT_GAP
    time_limit_s: float | None = None
    jobs: int = 0

    @property
    def effort(self) -> Effort:
        """How far to go from now on, for one scenario."""
        return Effort.within(self.time_limit_s)


@dataclass(frozen=True)
class Answer:
    """A scenario's best plan with its proof: value and bound in the objective's own unit.

    The optimum lies between ``value`` and ``bound``; ``gap`` is their distance as a share of the
    value. ``certificate`` says how the bound was proven: by work on this scenario ("search"), by
    what was proven for others ("reused"), or by optimising it by itself ("alone"). ``log_value``
    and ``log_bound`` are both as the model scales them.
    """

    scenario: Scenario
    status: RowStatus
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    operation: Operation | None = None
    certificate: str = ""
    reason: str = ""
    log_value: float | None = None
    log_bound: float | None = None
