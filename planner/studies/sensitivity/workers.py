"""Pieces of scenarios: how they are solved, in which process, and what is done where one fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

from planner.errors import InputError, PlannerError
from planner.inputs import Inputs
from planner.loader.vary import checked
from planner.processes import Lost, Progress, ignore
from planner.studies.request import DEFAULT_GAP, SweepOptions
from planner.studies.sensitivity.scenarios import Row, Scenario
from planner.studies.sensitivity.solve import (
    Answer,
    Group,
    PreparedGroup,
    blank,
    groups,
    pieces,
    prepare,
    reason,
    rows,
    solve,
    with_reasons,
)
from planner.studies.workforce import SECONDS_ALONE, Workforce


@dataclass(frozen=True)
class Work:
    """What every piece of a study needs: the inputs of each base by name, and how to solve."""

    bases: Mapping[str, Inputs]
    options: SweepOptions

    @cached_property
    def _last(self) -> list[PreparedGroup]:
        """The group solved last in this process; the next takes over what is the same."""
        return []

    def __getstate__(self) -> dict[str, object]:
        """Return what another process needs."""
        return {"bases": self.bases, "options": self.options}

    def answers(self, scenarios: Sequence[Scenario]) -> list[Answer]:
        """Return the answers of scenarios in their order."""
        found: dict[int, Answer] = {}
        for group in _groups(scenarios):
            for _, answers in self._solved(group):
                found |= {answer.scenario.index: answer for answer in answers}
        return [found.get(each.index) or _refused(each) for each in scenarios]

    def rows(self, scenarios: Sequence[Scenario]) -> list[Row]:
        """Return the rows of scenarios in their order, without the columns of inputs."""
        found: dict[int, Row] = {}
        for group in _groups(scenarios):
            for asked, answers in self._solved(group):
                found |= _rows(asked, answers)
        return [found.get(each.index) or blank(_refused(each)) for each in scenarios]

    def _solved(self, group: Group) -> Iterator[tuple[PreparedGroup | None, list[Answer]]]:
        """Yield what is asked of a group with its answers, in parts where one has to stand apart.

        What was checked of the group before is not checked again.
        """
        like = self._last[0] if self._last else None
        try:
            asked = prepare(self.bases[group.base], group, self.options, like)
            self._last[:] = [asked]
        except InputError as error:
            yield from self._checked(group, error)
            return
        try:
            yield asked, solve(asked)
        except Exception as error:
            if len(group.scenarios) == 1:
                yield None, [_failed(group.scenarios[0], error)]
                return
            # One of them brought the solver down; the others are not to suffer for it.
            for part in _apart(group):
                yield from self._solved(part)

    def _checked(
        self, group: Group, error: InputError
    ) -> Iterator[tuple[PreparedGroup | None, list[Answer]]]:
        """Yield the answers of a group whose loosest limits contradict something: tighter ones may
        not."""
        if len(group.scenarios) == 1:
            yield None, [Answer(group.scenarios[0], "invalid", reason=reason(error))]
            return
        sound, refused = [], []
        for each in group.scenarios:
            try:
                checked(self.bases[group.base], each.changes)
                sound.append(each)
            except InputError as own:
                refused.append(Answer(each, "invalid", reason=reason(own)))
        yield None, refused
        whole = replace(group, scenarios=tuple(sound))
        for part in [whole] if refused and sound else _apart(whole):
            yield from self._solved(part)


def _rows(asked: PreparedGroup | None, answers: Sequence[Answer]) -> dict[int, Row]:
    if asked is None:
        return {each.scenario.index: blank(each) for each in answers}
    try:
        answers = with_reasons(asked, answers)
        made = list(rows(asked, answers))
    except Exception as error:
        return {each.scenario.index: blank(_failed(each.scenario, error)) for each in answers}
    return {a.scenario.index: row for a, row in zip(answers, made, strict=True)}


def _groups(scenarios: Sequence[Scenario]) -> list[Group]:
    return groups(scenario for scenario in scenarios if not scenario.refused)


def _apart(group: Group) -> Iterator[Group]:
    for scenario in group.scenarios:
        yield Group(group.base, group.shared, group.paths, (scenario,))


def _failed(scenario: Scenario, error: Exception) -> Answer:
    """Return the row of a scenario that ended in an internal error."""
    text = str(error)
    if not isinstance(error, PlannerError):
        text = f"internal error: {type(error).__name__}: {text}"
    return Answer(scenario, "failed", reason=text)


def _refused(scenario: Scenario) -> Answer:
    return Answer(scenario, "invalid", reason=scenario.refused)


Piece = tuple[Scenario, ...]
Numbered = tuple[int, Piece]
What = Literal["answers", "rows"]
REASON_LOST = "the process that worked on this scenario was ended again and again"


def lost(what: What, piece: Piece, reason: str = "") -> list[Any]:
    """Return the rows of a piece whose worker ended or failed."""
    answers = [Answer(scenario, "failed", reason=reason or REASON_LOST) for scenario in piece]
    return [blank(answer) for answer in answers] if what == "rows" else answers


def _done(work: Work, task: tuple[What, Piece]) -> list[Any]:
    """Return the answers or rows of a piece."""
    what, piece = task
    return work.rows(piece) if what == "rows" else work.answers(piece)


class Workers(Workforce):
    """Solves pieces of scenarios."""

    def __init__(
        self,
        work: Work,
        pieces: int | None = None,
        *,
        alone_s: float | None = SECONDS_ALONE,
        kept: bool = False,
    ) -> None:
        options = work.options
        super().__init__(
            partial(_done, work),
            jobs=options.jobs,
            tasks=pieces,
            dask=options.dask,
            alone_s=alone_s,
            kept=kept,
        )

    def answers(self, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Answer]]]:
        """Yield the answers of each piece under its number, as they come."""
        return self._run("answers", pieces)

    def rows(self, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Row]]]:
        """Yield the rows of each piece under its number, as they come."""
        return self._run("rows", pieces)

    def _run(self, what: What, pieces: Iterable[Numbered]) -> Iterator[tuple[int, list[Any]]]:
        tasks = ((number, (what, piece)) for number, piece in pieces)
        for (number, (_, piece)), found in self.results(tasks):
            assert isinstance(number, int)
            gone = isinstance(found, Lost)
            yield number, lost(what, piece, found.reason) if gone else found


__all__ = ["DEFAULT_GAP", "Answer", "SweepOptions", "answers"]


MOST_WHOLE = 600
"""Scenarios that are kept as they are, 200 kB each; those of further answers are packed."""


def answers(
    inputs: Inputs,
    scenarios: Sequence[Scenario],
    options: SweepOptions,
    progress: Progress = ignore,
) -> list[Answer]:
    """Return an answer for each scenario, in order."""
    parts = pieces(scenarios)
    found: dict[int, Answer] = {}
    with Workers(Work({"": inputs}, options), len(parts)) as workers:
        for _, done in workers.answers(enumerate(parts)):
            many = len(found) >= MOST_WHOLE
            found |= {each.scenario.index: each.packed() if many else each for each in done}
            progress(len(found), len(scenarios))
    return [found[scenario.index] for scenario in scenarios]
