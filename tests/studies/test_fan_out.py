"""Frontiers, explanations and draws on any workers: the same bytes, and progress from all."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from planner import api
from planner.currency import Currency, current, shown_in
from planner.errors import Finding, InputError, PlannerError, VerificationError
from planner.inputs import Inputs
from planner.processes import LOST, tell
from planner.studies import explain as explaining
from planner.studies import workforce
from planner.studies.explain import Questions, explain
from planner.studies.request import SweepOptions
from planner.studies.sensitivity import frontier, tornado
from planner.studies.sensitivity.uncertain import Draw
from planner.studies.sensitivity.uncertain import study as uncertain
from planner.studies.workforce import Waiting, run_tasks
from planner.studies.worth import Worths

Asked = Callable[[Inputs, int, str | None], str]


def _frontier(inputs: Inputs, jobs: int, dask: str | None) -> str:
    options = SweepOptions(jobs=jobs, dask=dask)
    return "".join(each.model_dump_json() for each in frontier.study(inputs, options, points=6))


def _explained(inputs: Inputs, jobs: int, dask: str | None) -> str:
    return explain(inputs, api.Options(), jobs=jobs, dask=dask).model_dump_json()


def _uncertain(inputs: Inputs, jobs: int, dask: str | None) -> str:
    options = SweepOptions(jobs=jobs, dask=dask)
    return uncertain(inputs, (), options, Draw(samples=4)).model_dump_json()


def _tornado(inputs: Inputs, jobs: int, dask: str | None) -> str:
    options = SweepOptions(jobs=jobs, dask=dask)
    return tornado.study(inputs, ("site.pue=1.1:1.3",), options).model_dump_json()


STUDIES = (_frontier, _explained, _uncertain, _tornado)


@pytest.mark.parametrize("study", STUDIES[:2])
def test_two_processes_answer_as_one(
    study: Asked, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = api.load(Path(small))
    one = study(inputs, 1, None)
    for module in (frontier, explaining):
        monkeypatch.setattr(module, "SECONDS_ALONE", None)  # both are processes, from the start
    assert study(inputs, 2, None) == one


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Yield the address of a scheduler with two workers."""
    from distributed import LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None,
            silence_logs=50, protocol="tcp",
        )  # fmt: skip
        with cluster:
            yield cluster.scheduler_address


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("study", STUDIES)
def test_a_cluster_answers_as_one_process(study: Asked, small: str, scheduler: str) -> None:
    inputs = api.load(Path(small))
    assert study(inputs, 1, scheduler) == study(inputs, 1, None)


def test_a_scheduler_that_is_not_there_is_told_in_a_line(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workforce, "SECONDS_TO_CONNECT", 0.5)
    inputs = api.load(Path(small))
    for study in STUDIES:
        with pytest.raises(InputError, match="no Dask scheduler answers") as caught:
            study(inputs, 1, "tcp://127.0.0.1:1")
        assert "--workers tcp://127.0.0.1:1" in str(caught.value)


def halves(task: int) -> int:
    if task == 7:
        raise InputError(Finding("seven", "no seven", fix="give another"))
    if task == 8:
        raise VerificationError(["eight"])
    tell(1)
    return 10 * task


def outcome(jobs: int, numbers: list[int], told: Callable[[int, int], None]) -> dict[Any, Any]:
    waiting = Waiting((number, number) for number in numbers)
    sizes: dict[Any, int] = dict.fromkeys((*numbers, 100), 2)
    found = {}
    each = run_tasks(halves, waiting, sizes, told, jobs=jobs, dask=None, alone_s=None)
    for key, result in each:
        found[key] = result
        if key == 1:
            waiting.first([(100, 100)])
    return found


@pytest.mark.parametrize("jobs", [1, 2])
def test_more_may_come_and_halves_are_told(jobs: int) -> None:
    told: list[tuple[int, int]] = []
    found = outcome(jobs, [1, 2, 3], lambda done, asked: told.append((done, asked)))
    assert found == {1: 10, 2: 20, 3: 30, 100: 1000}
    assert [asked for _, asked in told] == [8] * 8
    assert sorted(done for done, _ in told) == [done for done, _ in told] == list(range(1, 9))


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("number", "kind", "said"),
    [(7, InputError, "no seven; give another [seven]"),
     (8, VerificationError, "the plan failed verification: eight")],
)  # fmt: skip
def test_an_expected_failure_comes_back_as_it_was(
    jobs: int, number: int, kind: type[PlannerError], said: str
) -> None:
    with pytest.raises(kind) as caught:
        outcome(jobs, [number], lambda done, asked: None)
    assert str(caught.value) == said
    if isinstance(caught.value, InputError):
        assert caught.value.findings[0].code == "seven"


def currency_of(task: int) -> str:
    return f"{task} {current().code}"


@pytest.mark.parametrize("alone_s", [None, 600.0])
@pytest.mark.parametrize("jobs", [1, 2])
def test_money_is_shown_as_where_the_work_was_begun(jobs: int, alone_s: float | None) -> None:
    sizes: dict[Any, int] = {1: 1, 2: 1}
    tasks = Waiting([(1, 1), (2, 2)])
    with shown_in(Currency("EUR", 1.1)):
        told = run_tasks(
            currency_of, tasks, sizes, lambda done, asked: None,
            jobs=jobs, dask=None, alone_s=alone_s,
        )  # fmt: skip
        assert dict(told) == {1: "1 EUR", 2: "2 EUR"}


def test_a_part_that_is_given_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(self: Any, tasks: Any) -> Iterator[Any]:
        yield next(tasks), LOST

    monkeypatch.setattr(workforce.Workforce, "results", gone)
    with pytest.raises(PlannerError, match="were ended again and again"):
        outcome(1, [1], lambda done, asked: None)


def test_a_time_limit_goes_on_in_another_process(small: str) -> None:
    """Also where the clock of that process began at another time."""
    inputs = api.load(Path(small))
    plan = api.solve_with(inputs, api.Options())
    options = api.Options(time_limit_s=60.0).started()
    worths = Worths.of(inputs, plan, options, {})
    packed = pickle.dumps(Questions(worths, (), 4))
    there: Questions = pickle.loads(packed)
    assert there.worths.options.deadline == pytest.approx(options.deadline, abs=1.0)
    endless = replace(worths, options=api.Options())
    there = pickle.loads(pickle.dumps(Questions(endless, (), 4)))
    assert there.worths.options.deadline == api.Options().deadline
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", partial(_later, time.monotonic, 1000.0))
        later: Questions = pickle.loads(packed)
    assert later.worths.options.deadline == pytest.approx(options.deadline + 1000.0, abs=1.0)


def _later(clock: Callable[[], float], by_s: float) -> float:
    return clock() + by_s
