"""The request of an analysis: one form for all of them; options read from text."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from planner import units
from planner.api import Options
from planner.currency import USD
from planner.errors import Finding, InputError
from planner.report.words import clean
from planner.schema.analysis import EXACT_GAP
from planner.terminal import Progress, ignore

if TYPE_CHECKING:
    from planner.inputs import Inputs
    from planner.optimizer.solvers import SolverName
    from planner.schema.plan import Plan

PROBLEMS = (".yaml", ".yml")
"""Suffixes of problem files."""
SOLVERS: tuple[SolverName, ...] = ("highs", "cbc")
EACH_GAP = 1e-3
"""Gap of each of many scenarios."""
EXACT_ROWS = 500
"""Up to this number of rows a sweep without a gap states the plans that `solve` gives."""
ChoiceT = TypeVar("ChoiceT", bound=str)


@dataclass(frozen=True)
class Request:
    """Files of an analysis, changes, how to solve.

    Attributes:
        paths: the files, the first the one that is studied.
        settings, scenario: changes laid over a problem file.
        gap: largest MIP gap to prove; None for the one of the analysis.
        solving: how to solve; its gap does not count.
        begun_s: start of the command by ``time.monotonic``.
        models: problems and plans in memory by the path that stands for them; settings and the
            scenario are of files alone.
    """

    paths: tuple[Path, ...]
    settings: tuple[str, ...] = ()
    scenario: str | None = None
    gap: float | None = None
    solving: Options = field(default_factory=Options)
    progress: Progress = ignore
    begun_s: float = field(default_factory=time.monotonic)
    models: Mapping[Path, Inputs | Plan] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file that is studied."""
        return self.paths[0]

    @cached_property
    def inputs(self) -> Inputs:
        """The problem with its catalogs and prices.

        Raises:
            InputError: a file is wrong.
        """
        from planner.inputs import Inputs
        from planner.loader import load

        given = self.models.get(self.path)
        if isinstance(given, Inputs):
            return given
        return load(self.path, settings=self.settings, scenario=self.scenario)

    def each(self) -> Options:
        """Options of solving each of many scenarios."""
        return replace(self.solving, gap=EACH_GAP if self.gap is None else self.gap)

    def rows(self, scenarios: int) -> Options:
        """Options for rows of a sweep: few rows, and exact ones, are solved as by `solve`."""
        exact = EXACT_GAP if scenarios <= EXACT_ROWS else EACH_GAP
        gap = exact if self.gap is None else self.gap
        return replace(self.solving, gap=gap, ties=gap <= EXACT_GAP)

    def options(self, **more: Any) -> Options:
        """Options of solving, with the time limit for each solve."""
        gap = self.solving.gap if self.gap is None else self.gap
        return replace(self.solving, gap=gap, **more)

    def running(self, **more: Any) -> Options:
        """Options of solving, with one clock for the whole command."""
        return self.options(**more).started(self.begun_s)


# Options read from text; each raises an InputError


def _wrong(message: str, fix: str | None = None) -> InputError:
    return InputError(Finding("option", message, fix=fix))


def one_of(option: str, value: str, choices: Sequence[ChoiceT]) -> ChoiceT:
    """A word that is one of the choices."""
    for choice in choices:
        if value == choice:
            return choice
    raise _wrong(f"{option} {value!r} is not known", f"one of {', '.join(choices)}")


def whole(option: str, number: int, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if not isinstance(number, int) or number < least:
        raise _wrong(f"{option} {number} must be {least} or more")
    return number


def share(option: str, given: float | str) -> float:
    """A share between 0 and 1; texts may be in percent."""
    text = given if isinstance(given, str) else repr(given)
    value = _quantity(option, text, units.SHARE)
    if not 0 < value < 1:
        raise _wrong(f"{option} {text} must be more than 0 and less than 1")
    return value


def seconds(option: str, text: str) -> float:
    """A time in s, more than 0."""
    return _quantity(option, text, units.TIME)


def bandwidth(option: str, text: str) -> float:
    """A bandwidth in GB/s, more than 0."""
    return _quantity(option, text, units.BANDWIDTH)


def _quantity(option: str, text: str, dimension: units.Dimension) -> float:
    try:
        value = units.parse(text, dimension)
    except units.QuantityError as error:
        raise _wrong(f"{option}: {error}", error.fix) from None
    if value <= 0:
        raise _wrong(f"{option} {text} must be more than 0")
    return value


# Records and files


def head_of(inputs: Inputs, gap_asked: float) -> dict[str, Any]:
    """Fields of every record that describe its problem; ``gap_asked`` is a share."""
    from planner.figures import objective_unit

    problem = inputs.problem
    sold = [item for item in inputs.items if item.category in ("gpu_system", "storage")]
    return {
        "problem": problem.name,
        "problem_file": inputs.problem_file,
        "scenario": inputs.scenario,
        "overrides": inputs.overrides,
        "input_sha256": inputs.sha256,
        "currency": None if problem.shown_in == USD else problem.shown_in,
        "objective": problem.objective.name,
        "sense": problem.objective.sense,
        "unit": objective_unit(problem.objective.name),
        "gap_asked": gap_asked,
        "products": {item.id: item.product for item in sold},
    }


def stem_of(problem: Path, scenario: str | None) -> str:
    """Beginning of the names of a problem's files, without characters that a system refuses."""
    stem = problem.stem if scenario is None else f"{problem.stem}.{scenario}"
    return re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]', "_", clean(stem, limit=None))
