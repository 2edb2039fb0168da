"""The screen of hand-made plans, as text: read the difference before a golden file changes."""

from __future__ import annotations

import pytest

from planner import terminal
from planner.report.views.plan import render, whole
from planner.schema.plan import Plan
from planner.terminal import STANDARD
from tests.world.shown import CASES, plan


@pytest.mark.parametrize("name", sorted(CASES))
def test_no_line_is_wider_than_the_screen(name: str) -> None:
    assert max(map(len, whole(plan(CASES[name])).splitlines())) <= STANDARD


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
        line.model_copy(update={"model": name}) if line.sku == "gpu_a" else line
        for line in document.lines
    ]
    changed = document.model_copy(update={"warnings": (long,), "lines": tuple(lines)})
    monkeypatch.setattr(terminal, "_columns", columns)
    shown = render(changed, ("lines", "notes"))
    assert max(map(len, shown.splitlines())) <= columns
    said = shown.rpartition("More")[2].split("Notes\n")
    assert "and its end" in " ".join(said[1].split()) and " ..." not in said[1]
    bill = said[0].split("Total")[0]
    assert all(word in bill.split() for word in name.split())


def test_nothing_in_a_name_steers_the_terminal() -> None:
    document = complete()
    lines = tuple(line.model_copy(update={"model": "\x1b[2Jmodel\r\n"}) for line in document.lines)
    shown = whole(document.model_copy(update={"lines": lines}))
    assert "\x1b" not in shown and "\r" not in shown
