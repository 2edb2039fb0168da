"""Answers to many scenarios of one problem, each with its own certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.inputs import Inputs
from planner.studies.sensitivity.groups import pieces
from planner.studies.sensitivity.options import DEFAULT_GAP, Answer, SweepOptions
from planner.studies.sensitivity.scenario import Scenario
from planner.studies.sensitivity.work import Work
from planner.studies.sensitivity.workers import Workers

__all__ = ["DEFAULT_GAP", "Answer", "SweepOptions", "answers"]


def answers(
    inputs: Inputs,
    scenarios: Sequence[Scenario],
    options: SweepOptions,
    told: Callable[[int], None] | None = None,
) -> list[Answer]:
    """Return an answer for each scenario, in order; ``told`` hears how many are done."""
    parts = pieces(scenarios)
    found: dict[int, Answer] = {}
    with Workers(Work({"": inputs}, options), options.jobs, len(parts)) as workers:
        for _, done in workers.answers(enumerate(parts)):
            found |= {answer.scenario.index: answer for answer in done}
            if told is not None:
                told(len(found))
    return [found[scenario.index] for scenario in scenarios]
