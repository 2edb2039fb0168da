"""`planner explain`, with a plan and without: screen, JSON, workbook, proposals, wrong usage."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from planner import shipped
from planner.api import Options, solve_with
from planner.infeasible import Decision, Oracle, removing_changes
from planner.inputs import Change, Inputs
from planner.levers import Lever, levers
from planner.loader import load
from planner.optimizer.search import Effort
from planner.schema.analysis import Explanation, Marginal
from planner.schema.plan import Infeasibility, Plan, Step
from tests.infeasible.plant import Planted, check_one, check_together, written
from tests.world.commands import once, ran
from tests.world.solved import solve

PROBLEMS = {
    name: str(shipped.problem_files()[name])
    for name in ("megatron_1t", "gpt3_octet", "enterprise_1MW")
}
NAMES = ("small", "megatron_1t", "gpt3_octet")
CLOSE = 2e-5


@pytest.fixture(params=NAMES)
def problem(request: pytest.FixtureRequest, small: str) -> str:
    return PROBLEMS.get(request.param, small)


def explained(*arguments: str) -> Explanation:
    done = once("explain", *arguments, "--json")
    assert done.err == ""
    return Explanation.model_validate_json(done.out)


def solved(problem: str, *settings: str) -> Plan:
    return solve(problem, settings=("objective.indifference=0", *settings), explain=False)


def row_of(found: Explanation, path: str) -> Marginal:
    (row,) = [row for row in found.marginals if row.path == path]
    return row


def test_marginals_are_the_movable_levers_of_the_problem(problem: str) -> None:
    found, inputs = explained(problem), load(Path(problem))
    movable = {lever.path: lever for lever in levers(inputs) if lever.value is not None}
    assert {row.path for row in found.marginals} == set(movable)
    tight = {limit.name for limit in found.plan.limits if limit.binding}
    for row in found.marginals:
        lever = movable[row.path]
        assert (row.label, row.value, row.source) == (lever.label, lever.value, lever.place)
        assert row.text == lever.text(row.value)
        assert row.binding == (lever.limit in tight)
    binding = [row.binding for row in found.marginals]
    assert binding == sorted(binding, reverse=True)


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("small", "items.gpu_box.max"),
        ("small", "jobs.0.checkpoint.stall"),
        ("megatron_1t", "jobs.0.restore.restart"),
        ("megatron_1t", "jobs.0.gpus.min"),
        ("gpt3_octet", "budget.capex"),
        ("enterprise_1MW", "targets.max_days_to_train"),
    ],
)
def test_settings_of_a_marginal_give_its_value(name: str, path: str, small: str) -> None:
    problem = PROBLEMS.get(name, small)
    found = explained(problem)
    row = row_of(found, path)
    for moved in (row.looser, row.tighter):
        plan = solved(problem, moved.setting)
        if moved.known == "no_plan":
            assert plan.status == "infeasible"
        else:
            assert found.value is not None and moved.change is not None
            assert plan.objective.value == pytest.approx(found.value + moved.change, rel=CLOSE)


# The workbook.


def book_of(path: Path) -> Workbook:
    return openpyxl.load_workbook(path)


def no_formula(book: Workbook) -> bool:
    return all(cell.data_type != "f" for sheet in book for row in sheet.iter_rows() for cell in row)


@pytest.mark.parametrize("name", ["small", "gpt3_octet", "megatron_1t"])
def test_the_workbook_has_every_limit_and_item(name: str, small: str, tmp_path: Path) -> None:
    problem = PROBLEMS.get(name, small)
    done, found = ran("explain", problem, "-o", str(tmp_path / "new")), explained(problem)
    stem = Path(problem).stem
    path = tmp_path / "new" / f"{stem}.explanation.xlsx"
    assert done.code == 0 and str(path) in done.err
    assert done.out == once("explain", problem).out
    ends = {each.name.removeprefix(f"{stem}.explanation.") for each in path.parent.iterdir()}
    assert ends == {"json", "html", "xlsx"}
    book = book_of(path)
    assert book.sheetnames == ["Explanation"]
    assert no_formula(book)
    texts = {str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row}
    for row in found.marginals:
        assert {row.label, row.text} <= texts
    assert found.why_not is not None
    assert {item.model for item in found.why_not.items} <= texts


# `planner explain` of problems without a plan: screen, JSON, workbook, what may be changed.


TIGHT = (
    "jobs.0.gpus={min: 480}",
    "budget.capex=12 MUSD",
    "site.facility_power=600 kW",
)
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
    arguments = tight(small, "--keep", GPUS)
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
    assert found.combined is not None
    for step in (*found.changes, *found.combined.steps):
        assert step.in_words in said
        assert any(step.in_words in text for text in texts)
        if step.value is None:
            assert any(all(setting in text for setting in step.settings) for text in texts)


# What is proposed helps, and a little less does not.


def test_each_proposal_is_tried_like_a_user_would(small: str) -> None:
    changes = why(*tight(small)).changes
    assert changes
    for step in changes:
        assert ends(small, TIGHT, (step,)) == "optimal"
        assert ends(small, TIGHT, (short_of(step),)) == "infeasible"
    combined = why(*tight(small, "--keep", GPUS)).combined
    assert combined is not None
    assert ends(small, TIGHT, combined.steps) == "optimal"
    for step in combined.steps:
        others = tuple(short_of(one) if one is step else one for one in combined.steps)
        assert ends(small, TIGHT, others) == "infeasible"


# --keep.


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
        assert oracle.possible(removing_changes([*others, *given_up])) is False, conflict
        for lever in named:
            assert oracle.possible(removing_changes([*others, *given_up, lever])) is True, (
                lever,
                conflict,
            )
        given_up.append(named[-1])


PLANTED = [planted for planted in written() if planted.seed % 9 == 0][:6]


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_claims_hold_whenever_time_runs_out(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = planted.inputs
    whole = solve_with(inputs, Options()).infeasibility
    assert whole is not None
    oracle = Oracle(inputs, Effort())  # it knows what it was asked before
    for questions in (0, 1, 3, 8, 21, 55):
        with monkeypatch.context() as patch:
            stop_after(patch, questions)
            found = solve_with(inputs, Options()).infeasibility
        assert found is not None
        claims_hold(inputs, found)
        check_conflicts(inputs, found, oracle)
        complete = (found.conflicts, found.changes) == (whole.conflicts, whole.changes)
        assert complete or found.undecided, questions
