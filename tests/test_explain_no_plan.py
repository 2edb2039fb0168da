"""`planner explain` of problems without a plan: screen, JSON, workbook, what may be changed."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from planner.api import Options, solve_with
from planner.infeasible import Decision, Oracle, off
from planner.inputs import Change, Inputs
from planner.levers import Lever, levers
from planner.optimizer.search import Effort
from planner.schema.analysis import Explanation
from planner.schema.plan import Infeasibility, Step
from tests.infeasible.plant import Planted, check_one, check_together, written
from tests.world.commands import once, ran
from tests.world.solved import solve

TIGHT = (
    "jobs.0.gpus={min: 480}", "budget.capex=12 MUSD", "site.facility_power=600 kW",
)  # fmt: skip
"""60 systems draw 752.8 kW with storage and cost 17.2 MUSD: power and money are both short."""
GPUS, MONEY, POWER = "jobs.0.gpus.min", "budget.capex", "site.facility_power"


def tight(problem: str, *options: str) -> tuple[str, ...]:
    return (problem, *(word for setting in TIGHT for word in ("--set", setting)), *options)


def why(*arguments: str) -> Infeasibility:
    done = once("explain", *arguments, "--json")
    assert (done.code, done.err) == (3, "")
    found = Explanation.model_validate_json(done.out)
    assert found.marginals == ()
    assert found.why_not is None
    assert found.value is None
    assert found.plan.infeasibility is not None
    return found.plan.infeasibility


def ends(problem: str, settings: tuple[str, ...], steps: tuple[Step, ...]) -> str:
    """Return how the problem ends with steps made, as a user makes them."""
    made = tuple(setting for step in steps for setting in step.settings)
    return solve(problem, settings=(*settings, *made), explain=False).status


def short_of(step: Step) -> Step:
    """Return a step that is too small by the last digit."""
    return step.model_copy(update={"settings": (f"{step.path}={step.not_enough_text}",)})


# Screen and workbook.


def test_screen_and_workbook_say_the_same(small: str, tmp_path: Path) -> None:
    arguments = tight(small, "--weight", f"{GPUS}=10")
    found = why(*arguments)
    done = ran("explain", *arguments, "-o", str(tmp_path))
    file = tmp_path / f"{Path(arguments[0]).stem}.explanation.xlsx"
    assert done.code == 3 and str(file) in done.err
    assert done.out == once("explain", *arguments).out
    said = " ".join(done.out.split())
    assert "(no plan)" in said
    assert max(map(len, done.out.splitlines())) <= 100
    book = openpyxl.load_workbook(file)
    assert book.sheetnames == ["Explanation"]
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert all(cell.data_type != "f" for cell in cells)
    texts = {str(cell.value) for cell in cells}
    for conflict in found.conflicts:
        for limit in conflict:
            assert limit.in_words in said
            assert any(limit.in_words in text for text in texts)
    combined = found.combined.steps if found.combined else ()
    assert found.changes
    for step in (*found.changes, *combined):
        assert step.in_words in said
        assert any(step.in_words in text for text in texts)
        if step.value is None:
            assert any(all(setting in text for setting in step.settings) for text in texts)


# What is proposed helps, and a little less does not.


def test_each_proposal_is_tried_like_a_user_would(small: str) -> None:
    found = why(*tight(small, "--weight", f"{GPUS}=10"))
    assert found.changes
    for step in found.changes:
        assert ends(small, TIGHT, (step,)) == "optimal"
        assert ends(small, TIGHT, (short_of(step),)) == "infeasible"
    assert found.combined is not None
    assert ends(small, TIGHT, found.combined.steps) == "optimal"
    for step in found.combined.steps:
        others = tuple(short_of(one) if one is step else one for one in found.combined.steps)
        assert ends(small, TIGHT, others) == "infeasible"


# --keep and --weight.


@pytest.mark.parametrize("kept", [(GPUS, MONEY), (GPUS, POWER), (GPUS, MONEY, POWER)])
def test_where_all_that_helps_is_kept_nothing_is_proposed(
    kept: tuple[str, ...], small: str
) -> None:
    found = why(*tight(small, *(word for path in kept for word in ("--keep", path))))
    assert found.changes == ()
    assert found.combined is None
    assert found.conflicts
    assert found.undecided == ()


# Time.


def claims_hold(inputs: Inputs, found: Infeasibility) -> None:
    """Every claim that was made is true, asked of the exhaustive enumeration."""
    for step in found.changes:
        check_one(inputs, step)
    if found.combined is not None:
        check_together(inputs, found.combined.steps)


def stop_after(monkeypatch: pytest.MonkeyPatch, questions: int) -> None:
    """Let what may be asked run out after so many questions."""
    answer = Oracle._answer

    def some(oracle: Oracle, changes: tuple[Change, ...]) -> Decision:
        return answer(oracle, changes) if len(oracle._known) < questions else Decision(None)

    monkeypatch.setattr(Oracle, "_answer", some)


def check_conflicts(inputs: Inputs, found: Infeasibility, oracle: Oracle) -> None:
    """Every conflict is one, and none without any of its limits; asked with time to spare."""
    known = {lever.path: lever for lever in levers(inputs)}
    given_up: list[Lever] = []
    for conflict in found.conflicts:
        named = [known[limit.path] for limit in conflict]
        others = [lever for lever in known.values() if lever not in named]
        assert oracle.possible(off([*others, *given_up])) is False, conflict
        for lever in named:
            assert oracle.possible(off([*others, *given_up, lever])) is True, (lever, conflict)
        given_up.append(named[-1])


PLANTED = [planted for planted in written() if planted.seed % 9 == 0][:6]


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_whenever_time_runs_out_what_is_said_is_true(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = planted.inputs
    whole = solve_with(inputs, Options()).infeasibility
    assert whole is not None
    oracle = Oracle(inputs, Effort())  # it knows what it was asked before
    for questions in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55):
        with monkeypatch.context() as patch:
            stop_after(patch, questions)
            found = solve_with(inputs, Options()).infeasibility
        assert found is not None
        claims_hold(inputs, found)
        check_conflicts(inputs, found, oracle)
        complete = (found.conflicts, found.changes) == (whole.conflicts, whole.changes)
        assert complete or found.undecided, questions
