"""Every formula of every workbook, computed by an engine that follows Excel.

LibreOffice takes TRUE for 1 and much else as it is meant; Excel does not. What one of the two shows
and the other does not is found here: in the workbooks as written, and after edits.
"""

from __future__ import annotations

import io

import pytest

from planner.outputs.audience import Audience
from planner.outputs.workbook import write
from tests.audit.books import PROBLEMS, SOLVABLE, book
from tests.outputs.samples_sensitivity import everything
from tests.workbook.conftest import CREATED, written
from tests.workbook.excel import Excel, cached, unlike
from tests.workbook.test_sensitivity_sheets import adder
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import CASES

AUDIENCES: tuple[Audience, ...] = ("internal", "customer", "partner")


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("problem", SOLVABLE)
def test_shipped_workbooks(problem: str, audience: Audience) -> None:
    source = book(problem)
    content = source.content if audience == "internal" else written(source.plan, audience)
    assert len(cached(content)) > 300
    assert unlike(content) == []


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("name", [*CASES, "infeasible"])
def test_workbooks_of_every_branch(name: str, audience: Audience) -> None:
    document = infeasible() if name == "infeasible" else plan(CASES[name])
    assert unlike(written(document, audience)) == []


@pytest.mark.parametrize("name", [*CASES, "infeasible"])
def test_appendices_of_every_branch(name: str) -> None:
    document = infeasible() if name == "infeasible" else plan(CASES[name])
    assert unlike(written(document, appendix=True)) == []


def test_a_problem_without_a_plan_has_one_that_is_shipped() -> None:
    assert {path.stem for path in PROBLEMS.glob("*.yaml")} - set(SOLVABLE) == {"infeasible_restore"}


def test_sheets_of_studies_beside_the_plan_hold_no_formula() -> None:
    document, stream = plan(CASES["complete"]), io.BytesIO()
    names = ("Sweep", "Frontier storage", "Frontier cost", "Tornado", "Uncertainty")
    studies = [
        (name, adder(study)) for name, study in zip(names, everything().values(), strict=True)
    ]
    write(document, stream, created=CREATED, inputs="{}", studies=studies)
    formulas = cached(stream.getvalue())
    assert not {sheet for sheet, _ in formulas} & set(names)
    assert unlike(stream.getvalue()) == []


def test_a_condition_compared_with_a_number_is_caught() -> None:
    """The control: the slip that this engine is here for."""
    source = written(plan(CASES["async"]))
    excel, cell = Excel(source), ("Checks", "Z1")
    excel.formula(*cell, "=IF(ISNUMBER(years)=1,5,6)")
    assert excel.value(*cell) == 6
    excel.formula(*cell, "=IF(ISNUMBER(years),5,6)")
    assert excel.value(*cell) == 5
