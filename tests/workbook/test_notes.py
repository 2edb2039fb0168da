"""Notes say what a plan counts by what it has; Assumptions hold inputs alone."""

from __future__ import annotations

import pytest

from planner.currency import Currency, shown_in
from planner.outputs.audience import Audience
from planner.outputs.workbook.notes import nine_digits
from tests.workbook.test_cover import opened, told
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import ASYNC, COMPLETE, SYNC

HEADINGS = (
    "What the plan counts and what it does not",
    "Warnings",
    "How this plan was made",
)


def test_the_notes_hold_what_is_no_input() -> None:
    notes = told(opened(plan(ASYNC)), "Notes")
    book = opened(plan(ASYNC), appendix=True)
    assert [key for key in notes if key in HEADINGS] == list(HEADINGS)
    assert notes["1"] == "prices are estimates"
    assert told(book, "Left out")["other"] == "no price"
    assert notes["Price books"] == "estimates.yaml"
    assert notes["Solver"] == "highs, 3 iterations"
    assumptions = " ".join(
        str(cell.value) for row in book["Assumptions"].iter_rows() for cell in row
    )
    assert "Failures per GPU and day" in assumptions
    for text in ("prices are estimates", "no price", "estimates.yaml", "Warnings"):
        assert text not in assumptions


def test_the_notes_follow_what_the_bill_has() -> None:
    plain, full = (told(opened(plan(setup)), "Notes") for setup in (ASYNC, COMPLETE))
    assert str(plain["The bill"]).startswith("GPU systems and storage only.")
    assert str(plain["Network"]).startswith("No fabric is planned")
    assert "Edited quantities" not in plain and "Racks" not in plain and "Heat" not in plain
    assert "Network, Optics & cables, Racks & power, Software" in str(full["The bill"])
    assert str(full["Network"]).startswith("Fabrics are fat trees")
    assert "solve again" in str(full["Edited quantities"])
    assert "first-fit" not in str(full["Racks"]) and "position" in str(full["Racks"])
    assert "1 storage appliance down" in str(full["Storage that fails"])
    assert "energy on typical draw" in str(full["Cost over the term"])
    assert "energy on maximum draw" in str(plain["Cost over the term"])
    assert "80 % of the rated bandwidth for writing" in str(plain["Storage bandwidth"])


def test_the_proven_bound_is_grouped_as_its_currency_is() -> None:
    rupees = Currency("INR", 0.0125, "2026-11-20", "RBI")
    goal = plan(ASYNC).objective.model_copy(update={"bound": 5_012_345_678.0, "unit": "USD"})
    made = plan(ASYNC).model_copy(update={"objective": goal})
    assert told(opened(made), "Notes")["Proven bound"] == "5,012,345,680 USD"
    with shown_in(rupees):
        assert nine_digits(5_012_345_678.0, "INR") == "5,01,23,45,680 INR"


def test_a_network_that_is_not_planned_is_named() -> None:
    document = plan(COMPLETE)
    fabrics = tuple(entry for entry in document.fabrics if entry.network != "in_band")
    notes = told(opened(document.model_copy(update={"fabrics": fabrics})), "Notes")
    assert str(notes["Network"]).endswith("Not planned: in-band network.")


def test_terms_are_those_on_the_sheets_in_order() -> None:
    plain, full = (
        list(told(opened(plan(setup), appendix=True), "Terms")) for setup in (SYNC, COMPLETE)
    )
    for notes in (plain, full):
        first, last = notes.index("Terms") + 1, notes.index("How figures are meant")
        assert notes[first:last] == sorted(notes[first:last], key=str.casefold)
        assert {"Goodput", "Overlap", "Drain", "Stall", "MTTI", "MFU", "PUE", "Fan-out", "RU"} <= (
            set(notes[first:last])
        )
    only_full = {"CDU", "PDU", "Oversubscription", "Cold spares", "Discounting"}
    assert only_full <= set(full) and not only_full & set(plain)


@pytest.mark.parametrize("audience", ["internal", "customer"])
def test_a_plan_without_lines_has_notes_too(audience: Audience) -> None:
    notes = told(opened(infeasible(), audience), "Notes")
    assert "The bill" not in notes and "Network" not in notes
    assert ("Price books" in notes) == (audience == "internal")
    assert ("Message" in notes) == (audience == "internal")
    assert ("Terms" in notes) == (audience == "customer")


def test_outside_the_notes_explain_the_terms_and_tell_nothing_of_the_making() -> None:
    notes = told(opened(plan(COMPLETE), "customer"), "Notes")
    assert {"Terms", "How figures are meant", "Goodput"} <= set(notes)
    inside = {"Warnings", "How this plan was made", "Solver", "Gap", "Binding limit", "Prices"}
    assert not inside & set(notes)
