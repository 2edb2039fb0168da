"""What the workbook works out from a plan because the plan does not say it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.outputs.workbook import formulas
from planner.outputs.workbook.bom import columns
from planner.outputs.workbook.bom.columns import Column, least_order, paid_support
from planner.outputs.workbook.checkpoint.model import degraded_inputs
from planner.outputs.workbook.evaluate import (
    Evaluator,
)
from planner.outputs.workbook.functions import (
    Scalar,
)
from planner.schema.plan import LimitReport, Line, Plan
from tests.workbook.conftest import written, written_afresh
from tests.workbook.office import to_read
from tests.world.gear import Gear, Setup, worth
from tests.world.gear_plans import plan
from tests.world.setups import COMPLETE

YEARS = st.floats(0.0, 30.0)


class Term:
    """A grid of the three cells that the formula of a yearly payment reads."""

    def __init__(self, until: float, since: float, rate: float) -> None:
        self.cells = {"A1": until, "B1": since, "C1": rate}

    def at(self, sheet: str, row: int, column: int) -> float:
        return float(self.cells[f"{'ABC'[column]}{row + 1}"])

    def area(self, sheet: str, top: int, left: int, bottom: int, right: int) -> list[Scalar]:
        raise NotImplementedError

    def formulas(self, sheet: str, top: int, left: int, bottom: int, right: int) -> list[bool]:
        raise NotImplementedError

    def address(self, name: str) -> str:
        return {"discount_rate": "C1"}[name]


def discounted(until: float, since: float, rate: float) -> float:
    """Return what the workbook's formula of a yearly payment comes to."""
    value = Evaluator(Term(until, since, rate)).value(formulas.years("A1", "B1"), "TCO")
    assert isinstance(value, float)
    return value


@given(YEARS, YEARS, st.one_of(st.just(0.0), st.floats(1e-6, 1.0)))
def test_the_closed_form_is_the_sum_over_the_years(one: float, other: float, rate: float) -> None:
    start, end = sorted((one, other))
    assert discounted(end, start, rate) == pytest.approx(worth(start, end, rate), abs=1e-7)


def test_known_answers() -> None:
    assert discounted(5, 0, 0.0) == 5
    assert discounted(2, 0, 0.1) == pytest.approx(1 / 1.1 + 1 / 1.21)
    assert discounted(2.5, 1, 0.1) == pytest.approx(1 / 1.21 + 0.5 / 1.331)


def line(document: Plan, sku: str, **changes: object) -> Line:
    found = next(line for line in document.lines if line.sku == sku)
    return found.model_copy(update=changes)


def test_support_that_ends_with_the_term_follows_the_term() -> None:
    document = plan(COMPLETE)
    whole = paid_support(document, line(document, "ai400x3"))
    part = paid_support(document, line(document, "hgx_b300_liquid"))
    assert (whole.until_years, whole.whole) == (4.5, True)
    assert (part.since_years, part.until_years, part.whole) == (1.0, 4.0, False)
    gone = line(document, "ai400x3", support_from_years=9.0, support_years=0.0)
    never = paid_support(document, gone)
    assert never.until_years == never.since_years and not never.whole


def test_the_least_order_is_what_is_bought_beyond_need() -> None:
    document = plan(COMPLETE)
    assert least_order(line(document, "cat6")) == 200
    assert least_order(line(document, "fibre_10m")) == 0


def lost(setup: Setup) -> list[object]:
    document = plan(setup)
    return [entry.value for entry in degraded_inputs(document, document.jobs[0])]


def test_what_is_lost_with_appliances_down_is_found_again() -> None:
    assert lost(COMPLETE) == pytest.approx([45.0, 60.0])
    assert lost(replace(COMPLETE, down=0)) == []


def test_a_loss_that_the_clients_hide_is_never_more_than_they_hide() -> None:
    # 31 systems write at most 31 GB/s: of 360 GB/s at 80 % all but 38.75 may go unseen.
    hidden = replace(COMPLETE, client_write=1.0)
    assert lost(hidden)[0] == pytest.approx(90.0)
    hidden = replace(hidden.change("ai400x3", quantity=1), lost_write=20.0, lost_read=10.0)
    assert lost(hidden)[0] == pytest.approx(90.0 - 31 / 0.8)


def follows(document: Plan) -> dict[str, tuple[object, object]]:
    """Return the formula of every limit's value, and whether it follows edits, by its id."""
    sheet = to_read(written(document))["Checks"]
    return {str(row[11].value): (row[1].value, row[8].value) for row in sheet.iter_rows(9)}


def test_hot_spares_of_two_types_count_what_each_uses() -> None:
    setup = Setup(
        gear=(
            Gear("one", "Compute", 12, list_usd=1.0, gpus=8),
            Gear("other", "Compute", 6, list_usd=1.0, gpus=8),
            Gear("box", "Storage", 2, list_usd=1.0, read=50.0, write=50.0, usable=9.0),
        ),
        replica_gpus=None,
    )
    document = plan(setup)
    job = document.jobs[0].model_copy(update={"systems_by_type": {"one": 10, "other": 6}})
    limit = LimitReport(
        name="hot_spares.one", label="hot spares", value=2.0, sense=">=", limit=1.0,
        unit="systems", slack=1.0, binding=False, source=None,
    )  # fmt: skip
    found = follows(document.model_copy(update={"jobs": (job,), "limits": (limit,)}))
    assert found["hot_spares.one"] == ("=bom_quantity_1-10", "the value")


def test_a_limit_that_means_something_else_keeps_the_planners_number() -> None:
    document = plan(COMPLETE)
    changed = tuple(
        limit.model_copy(update={"value": 1.01 * limit.value + 1.0}) for limit in document.limits
    )
    found = follows(document.model_copy(update={"limits": changed}))
    assert {kind for _, kind in found.values()} <= {"no: as solved"}


def test_a_column_that_names_a_field_of_a_line_needs_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A text and a number, of every line and of the parts of bundles."""
    more = (
        Column("category", "More", "Kind of thing", 14, field="category"),
        Column("facility_each", "More", "kW there", 9, field="facility_power_kw"),
    )
    monkeypatch.setattr(columns, "ALL", (*columns.ALL, *more))
    document = plan(COMPLETE)
    sheet = to_read(written_afresh(document))["BOM"]
    heads = {str(cell.value): cell.column_letter for cell in sheet[7]}
    shown = {
        sheet[f"{heads['Catalog id']}{row}"].value: (
            sheet[f"{heads['Kind of thing']}{row}"].value,
            sheet[f"{heads['kW there']}{row}"].value,
        )
        for row in range(8, sheet.max_row + 1)
    }
    assert len(document.lines) > 5
    for line in document.lines:
        kind, kw = shown[line.sku]
        assert kind == (line.category or None)
        assert kw == pytest.approx(line.facility_power_kw)
