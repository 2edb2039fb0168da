"""The screen of hand-made plans, as text."""

from __future__ import annotations

import pytest

from planner import terminal
from planner.outputs import console
from planner.schema.plan import Plan
from planner.terminal import STANDARD
from tests.world.gear_plans import plan
from tests.world.setups import CASES

NEW_WORDS = (
    "Connect",
    "discounted",
    "per useful GPU-hour",
    "liquid",
    "down:",
)


@pytest.mark.parametrize("name", sorted(CASES))
def test_no_line_is_wider_than_the_screen(name: str) -> None:
    assert max(map(len, console.render(plan(CASES[name])).splitlines())) <= STANDARD


@pytest.mark.parametrize("name", ["async", "sync", "minimal"])
def test_a_plan_without_companions_says_nothing_of_them(name: str) -> None:
    shown = console.render(plan(CASES[name]))
    assert not [word for word in NEW_WORDS if word in shown]


def complete(**changes: object) -> Plan:
    return plan(CASES["complete"]).model_copy(update=changes)


@pytest.mark.parametrize("columns", [60, 80])
def test_on_a_narrow_screen_no_name_and_no_note_is_cut(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = complete()
    long = "a note of many words " * 30 + "and its end"
    name = "Sixteen way system with a tail"
    lines = [
        line.model_copy(update={"model": name}) if line.sku == "hgx_b300_liquid" else line
        for line in document.lines
    ]
    changed = document.model_copy(update={"warnings": (long,), "lines": tuple(lines)})
    monkeypatch.setattr(terminal, "_columns", columns)
    shown = console.render_parts(changed, ("lines", "notes"))
    assert max(map(len, shown.splitlines())) <= columns
    said = shown.split("Read this too")
    assert "and its end" in " ".join(said[1].split()) and " ..." not in said[1]
    bill = said[0].split("Total")[0]
    assert all(word in bill.split() for word in name.split())


def test_several_critical_items_are_counted() -> None:
    document = complete()
    assert document.totals is not None
    skus = ("qm9700", "sn2201", "sn4700", "mma4z00")
    totals = document.totals.model_copy(update={"critical_skus": skus, "lead_time_days": 61.0})
    shown = console.render(document.model_copy(update={"totals": totals}))
    assert "longest lead time 61 days: NVIDIA Quantum-2 QM9700, NVIDIA SN2201 and 2 more" in shown


def test_nothing_in_a_name_steers_the_terminal() -> None:
    document = complete()
    lines = tuple(line.model_copy(update={"model": "\x1b[2Jmodel\r\n"}) for line in document.lines)
    shown = console.render(document.model_copy(update={"lines": lines}))
    assert "\x1b" not in shown and "\r" not in shown


@pytest.mark.parametrize(("understated", "said"), [(4e-5, False), (6e-5, True), (0.0118, True)])
def test_a_goodput_that_is_too_low_says_by_how_much(understated: float, said: bool) -> None:
    solved = plan(CASES["async"])
    job = solved.jobs[0].model_copy(update={"goodput_understated": understated})
    shown = console.render(solved.model_copy(update={"jobs": (job,)}))
    note = f"goodput is too low by {100 * understated:.2g} points: drains slow the GPUs"
    assert (note in shown) == said
