"""One piece of work: scenarios in, answers or rows out; the same whoever does it, and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.errors import InputError, PlannerError
from planner.inputs import Inputs
from planner.studies.sensitivity.alike import Asked, prepare, reason, solve
from planner.studies.sensitivity.groups import Group, groups
from planner.studies.sensitivity.options import Answer, SweepOptions
from planner.studies.sensitivity.reasons import explained
from planner.studies.sensitivity.rows import blank, rows
from planner.studies.sensitivity.scenario import Row, Scenario


@dataclass(frozen=True)
class Work:
    """What every piece of a study needs: the inputs of each base by name, and how to solve."""

    bases: Mapping[str, Inputs]
    options: SweepOptions

    def answers(self, scenarios: Sequence[Scenario]) -> list[Answer]:
        """Return the answers of scenarios in their order."""
        found = {}
        for group in _groups(scenarios):
            for answer in self._solved(group)[1]:
                found[answer.scenario.index] = answer
        return [found.get(each.index) or _refused(each) for each in scenarios]

    def rows(self, scenarios: Sequence[Scenario]) -> list[Row]:
        """Return the rows of scenarios in their order, without the columns of inputs."""
        found: dict[int, Row] = {}
        for group in _groups(scenarios):
            found |= self._rows(group)
        return [found.get(each.index) or blank(_refused(each)) for each in scenarios]

    def _rows(self, group: Group) -> dict[int, Row]:
        asked, answers = self._solved(group)
        if asked is None:
            return {each.scenario.index: blank(each) for each in answers}
        try:
            answers = explained(asked, answers)
            made = list(rows(asked, answers))
        except Exception as error:
            return {each.index: blank(_failed(each, error)) for each in group.scenarios}
        return {a.scenario.index: row for a, row in zip(answers, made, strict=True)}

    def _solved(self, group: Group) -> tuple[Asked | None, list[Answer]]:
        try:
            asked = prepare(self.bases[group.base], group, self.options)
        except InputError as error:
            said = reason(error)
            return None, [Answer(each, "invalid", reason=said) for each in group.scenarios]
        try:
            return asked, solve(asked)
        except Exception as error:
            if len(group.scenarios) == 1:
                return None, [_failed(group.scenarios[0], error)]
        # One of them brought the solver down; the others are not to suffer for it.
        alone = [self._solved(part) for part in _apart(group)]
        answers = [answer for _, some in alone for answer in some]
        return asked, answers


def _groups(scenarios: Sequence[Scenario]) -> list[Group]:
    return groups(scenario for scenario in scenarios if not scenario.refused)


def _apart(group: Group) -> Iterator[Group]:
    for scenario in group.scenarios:
        yield Group(group.base, group.shared, group.paths, (scenario,))


def _failed(scenario: Scenario, error: Exception) -> Answer:
    """Return what is told of a scenario that an error of planner's own ended."""
    said = str(error)
    if not isinstance(error, PlannerError):
        said = f"internal error: {type(error).__name__}: {said}"
    return Answer(scenario, "failed", reason=said)


def _refused(scenario: Scenario) -> Answer:
    return Answer(scenario, "invalid", reason=scenario.refused)
