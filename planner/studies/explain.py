"""Why this plan, what each limit is worth, why nothing else; or why there is none."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.api import FOR_THE_SEARCH, Options, solve_with
from planner.errors import Finding, InputError
from planner.inputs import Inputs
from planner.levers import levers
from planner.processes import Progress, Task, ignore
from planner.schema.explanation import Explanation, Without
from planner.schema.plan import Plan
from planner.studies.request import Found, Request
from planner.studies.why_not import most_asked, why_not
from planner.studies.workforce import SECONDS_ALONE, Waiting, run_tasks
from planner.studies.worth import Idle, Worths, check_names

FOR_THE_PLAN = 0.5
"""The share of a time limit that finding the plan may take; the rest is for questions about it."""
QUESTIONS = 4
"""A count and not a time, so that the same problem always gets the same explanation."""


EVERY = "what a step of each limit is worth"


@dataclass(frozen=True)
class Questions:
    """What is asked of a plan; each question is answered by itself, here or in another process.

    Attributes:
        worths: what changes are worth.
        asked: items whose absence is to be explained exactly.
        questions: how many proofs items that were not asked for may take, None for any number.
    """

    worths: Worths
    asked: tuple[str, ...]
    questions: int | None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, with the time limit as time of day: clocks of processes
        differ."""
        until = self.worths.options.deadline - time.monotonic() + time.time()
        return {"until": until, **self.__dict__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, its time limit on the clock of this process."""
        deadline = state.pop("until") - time.time() + time.monotonic()
        worths: Worths = state["worths"]
        if math.isfinite(deadline):
            worths = replace(worths, options=replace(worths.options, deadline=deadline))
        self.__dict__.update(state | {"worths": worths})

    def __call__(self, task: tuple[str, int, Idle | None]) -> Any:
        """Answer one question, given by kind and place, with what is known of idle limits."""
        kind, place, idle = task
        if kind == "idle":
            return self.worths.idle()
        if kind == "limit":
            assert idle is not None
            return self.worths.limit(place, idle)
        return self.worths.without(place) if kind == "without" else self._why_not()

    def _why_not(self) -> Any:
        worths, base = self.worths, self.worths.base
        known = () if base is None or base.operation is None else (base.operation,)
        return why_not(
            worths.inputs, worths.plan, worths.options,
            asked=self.asked, questions=self.questions, known=known,
        )  # fmt: skip

    def answers(self, progress: Progress, *, jobs: int, dask: str | None) -> dict[Hashable, Any]:
        """Return all answers by kind and place; where no limit can be asked for only why not."""
        worths = self.worths
        limits, open_ = range(len(worths.movable)), range(len(worths.open))
        most = most_asked(worths.inputs, worths.plan, worths.options, self.questions)
        sizes: dict[Hashable, int] = {("why_not", 0): most}
        first: list[Task] = [_task("why_not", 0)]
        if worths.base is not None:
            first = [_task("idle", 0), *(_task("without", place) for place in open_), *first]
            sizes |= {("idle", 0): 1} | {("without", place): 1 for place in open_}
            sizes |= {("limit", place): 1 for place in limits}
        waiting, found = Waiting(first), dict[Hashable, Any]()
        each = run_tasks(
            self, waiting, sizes, progress, jobs=jobs, dask=dask, alone_s=SECONDS_ALONE
        )
        for key, answer in each:
            found[key] = answer
            if key == ("idle", 0):
                waiting.first(_task("limit", place, answer) for place in limits)
        return found


def _task(kind: str, place: int, idle: Idle | None = None) -> Task:
    return (kind, place), (kind, place, idle)


def explain(
    inputs: Inputs,
    options: Options,
    *,
    steps: Mapping[str, str] | None = None,
    asked: tuple[str, ...] = (),
    questions: int | None = QUESTIONS,
    plan: Plan | None = None,
    progress: Progress = ignore,
    jobs: int = 1,
    dask: str | None = None,
) -> Explanation:
    """Return why the best plan of a problem is what it is.

    Args:
        steps: by how much to move a limit, by path, as the user wrote it.
        asked: items whose absence is to be explained exactly, with their break-even price.
        questions: how many proofs items that were not asked for may take, None for any number.
        plan: the best plan, where it is known.
        progress: is called with how many questions of how many are answered.
        jobs: how many processes to use, 0 for as many as there are cores.
        dask: the address of a Dask scheduler whose workers answer instead.

    Raises:
        InputError: a step names no limit of the problem, or what is asked for is no item.
        VerificationError: the plan does not agree with its independent re-computation.
    """
    options = options.started()
    plan = solve_with(inputs, options, search=FOR_THE_PLAN) if plan is None else plan
    options = options.searching(FOR_THE_SEARCH)
    worths = Worths.of(inputs, plan, options, steps or {})
    if not plan.jobs:
        return Explanation(plan=plan)
    found = Questions(worths, asked, questions).answers(progress, jobs=jobs, dask=dask)
    rows = [found["limit", place] for place in range(len(worths.movable)) if worths.base]
    others = [found["without", place] for place in range(len(worths.open))]
    undecided = [text for _, texts in rows for text in texts] if worths.base else [EVERY]
    undecided += [each for each in others if isinstance(each, str)]
    base = worths.base
    return Explanation(
        plan=plan,
        value=None if base is None else base.value,
        bound=None if base is None else base.bound,
        gpus_used=None if base is None else base.gpus_used,
        marginals=tuple(row for row, _ in rows),
        without=tuple(each for each in others if isinstance(each, Without)),
        undecided=tuple(undecided),
        why_not=found["why_not", 0],
    )


def run(
    request: Request,
    *,
    step: Sequence[str],
    why_not: Sequence[str],
    weight: Sequence[str],
    keep: Sequence[str],
) -> Found:
    """Explain the plan of a problem, or why there is none.

    Args:
        step: how far to move limits, each as ``path=value``.
        why_not: items whose absence to explain exactly.
        weight: without a plan, what a change counts beside others, each as ``path=number``.
        keep: without a plan, limits that must stay.

    Raises:
        InputError: the problem or what is asked of it is wrong.
    """
    options = request.running(weights=weights(weight), keep=tuple(keep))
    inputs = request.inputs
    check_names([name for name, _ in options.weights], levers(inputs), "--weight")
    check_names(list(options.keep), levers(inputs), "--keep")
    found = explain(
        inputs,
        options,
        steps=dict(pairs("--step", step)),
        asked=tuple(why_not),
        progress=request.progress,
        jobs=request.jobs,
        dask=request.dask,
    )
    plan = found.plan
    return Found((found,), (plan.status,), plan=lambda: plan, title=f"{plan.problem}: why")


def beside(inputs: Inputs, plan: Plan, options: Options) -> Explanation:
    """Return why a problem's plan is what it is, for its workbook."""
    return explain(inputs, options, plan=plan)


def pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return ``path=value`` texts as pairs.

    Raises:
        InputError: one is not of that form.
    """
    found = []
    for text in texts:
        path, separator, value = text.partition("=")
        if not separator or not path.strip() or not value.strip():
            fix = f"write for example {option} site.facility_power='100 kW'"
            raise InputError(Finding("option", f"'{text[:80]}' is not PATH=VALUE", option, fix=fix))
        found.append((path.strip(), value.strip()))
    return found


def weights(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return ``path=number`` texts as pairs.

    Raises:
        InputError: one is not of that form, or no positive number.
    """
    found = []
    for path, text in pairs("--weight", texts):
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0.0 < number < 1e6:
            fix = "give a number above 0, such as 2"
            raise InputError(Finding("weight", f"'{text[:40]}' is no weight", "--weight", fix=fix))
        found.append((path, number))
    return tuple(found)
