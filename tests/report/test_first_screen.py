"""First screens: the answer on one page, at any width; notes, proof and all the rest on request."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from planner import terminal
from planner.case import resolve
from planner.inputs import Inputs
from planner.report.blocks import Block, Column, Facts, Table, Text, notes_block
from planner.report.plan import render
from planner.report.screen import show
from planner.report.sweep import best, stretches
from planner.results import view_of
from planner.schema.analysis import Sweep
from planner.schema.plan import NextStep, Plan
from tests.report import studies as samples
from tests.report.hostile import TEXTS
from tests.world.known_plans import CASES, plan
from tests.world.random_cases import inputs_of
from tests.world.requests import Request
from tests.world.solved import solve

A_PAGE = 42
"""Lines that a page may have: so many at 60 columns, fewer at 80."""


def blocks_of(study: Any) -> list[Block]:
    """Return a study's blocks."""
    rows = {"rows": samples.power_sweep()[1]} if isinstance(study, Sweep) else {}
    return view_of(study).blocks(study, **rows)


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("name", samples.everything())
def test_a_first_screen_fits_a_page(
    name: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "_columns", columns)
    lines = show(blocks_of(samples.everything()[name])).splitlines()
    assert max(map(len, lines)) <= columns
    assert len(lines) <= A_PAGE
    assert any(line.startswith("More  --full") for line in lines[-4:])


@pytest.mark.parametrize("name", samples.everything())
def test_nothing_is_lost_under_full(name: str) -> None:
    blocks = blocks_of(samples.everything()[name])
    text = " ".join(show(blocks, full=True).split())
    for block in blocks:
        if isinstance(block, Facts):
            assert all(f"{label} {said}" in text for label, said in block.shown)
        elif isinstance(block, Table) and block.count:
            assert block.title in text
        elif isinstance(block, Text):
            assert all(said in text for said in block.texts)


@pytest.mark.parametrize("name", sorted(set(TEXTS) - {"long_astral"}))
def test_nothing_in_a_name_steers_a_terminal(name: str) -> None:
    for study in (samples.tornado(), samples.uncertain()):
        blocks = blocks_of(samples.saying(study, TEXTS[name]))
        for full in (False, True):
            text = show(blocks, full=full)
            assert all(line.isprintable() for line in text.split("\n"))


def test_a_column_of_figures_says_their_unit() -> None:
    """The one they are written in, below the label; words do not."""
    table = Table(
        "What it costs",
        (
            Column("years of the term", (1.0, 2.0)),
            Column("TCO", (28_294_532.7, 31_067_628.6), "USD"),
            Column("note", ("dear", "dearer"), words=True),
        ),
    )
    assert show([table]).splitlines() == [
        "What it costs",
        "  years of the    TCO",
        "          term   MUSD  note",
        "             1  28.29  dear",
        "             2  31.07  dearer",
    ]


def test_a_wide_table_is_split_and_no_figure_is_cut() -> None:
    """The leading words are repeated beside each part of the columns."""
    columns = [Column("plan", ("the first plan", "the second plan"), words=True)]
    columns += [Column(f"figure {at}", (at * 1_000_001, at * 2_000_003)) for at in range(1, 15)]
    shown = show([Table("Many figures", tuple(columns))], full=True)
    assert max(map(len, shown.splitlines())) <= terminal.STANDARD
    parts = [line for line in shown.splitlines() if "the first plan" in line]
    assert len(parts) > 1
    assert all(f"{at * 1_000_001:,}" in " ".join(parts) for at in range(1, 15))


def test_a_first_screen_names_the_option_for_the_rest() -> None:
    blocks: list[Block] = [
        Facts((("Best", "1 PFLOP/s"), ("Empty", ""))),
        Table("Points", (Column("x", tuple(range(9))),), first=3, rows="points"),
        Table("Details: of all", (Column("x", (1,)),), detail=True),
        notes_block([f"note {at}" for at in range(7)]),
    ]
    short, full = show(blocks), show(blocks, full=True)
    assert short.splitlines()[0] == "Best  1 PFLOP/s"
    assert "Points: 3 of 9\n" in short and "Empty" not in full
    assert short.splitlines()[-1] == "More  --full"
    assert "note 6" in full and "note 6" not in short and "More" not in full


def test_stretches_cover_every_row_once() -> None:
    study, rows = samples.power_sweep()
    found = stretches(study, rows, samples.POWER)
    assert (found[0][0], found[-1][1]) == (0, study.rows - 1)
    assert [first for first, _ in found[1:]] == [last + 1 for _, last in found[:-1]]
    systems = rows["units.nvidia_gb200_nvl72"]
    assert all(systems[first] == systems[last] for first, last in found)
    assert all(systems[one] != systems[other] for (one, _), (other, _) in pairwise(found))
    assert best(study, rows) == 100
    assert best(study.model_copy(update={"sense": "minimize"}), rows) == 7


@pytest.mark.parametrize("columns", [60, 80])
def test_on_a_narrow_screen_no_name_and_no_note_is_cut(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, name = plan(CASES["complete"]), "Sixteen way system with a tail"
    long = "a note of many words " * 30 + "and its end"
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
    assert all(word in said[0].split("Total")[0].split() for word in name.split())


# The first screen: one page that answers, and what the next GPU systems would need and give.


def hall(**site: str) -> Request:
    """Return a hall for five systems of 8 GPUs and 10 kW, storage beside them."""
    request = Request(maximize="goodput")
    request.job["training"] = {"mfu": "40 %"}
    request.site |= site
    return request


def solved(request: Request) -> tuple[Inputs, Plan]:
    inputs = inputs_of(request.case())
    plan = solve(inputs, explain=False)
    assert plan.status == "optimal", plan.message
    return inputs, plan


def step_of(plan: Plan) -> NextStep:
    assert plan.next_step is not None
    return plan.next_step


def test_the_next_step_needs_what_it_takes_and_gives_what_it_gives() -> None:
    inputs, plan = solved(hall(it_power="53 kW"))
    step = step_of(plan)
    (need,) = step.needs
    assert step.systems == 1
    assert need.label == "IT load"
    assert need.value == pytest.approx(plan.totals.it_power_kw + 10.0 if plan.totals else 0.0)
    more = solved(hall(it_power=f"{need.value} kW"))[1]
    assert more.objective.value is not None
    assert plan.objective.value is not None
    assert plan.objective.value < step.value <= more.objective.value * (1 + 1e-6)
    assert "Next step +1 Alpha gpu: +" in " ".join(render(plan).split())
    assert resolve(inputs).maximise


def test_no_next_step_where_less_is_asked_for_or_nothing_gives_way() -> None:
    request = hall(it_power="53 kW")
    request.more["objective"] = {"minimize": "power", "indifference": 0}
    request.job["gpus"] = {"min": 16}
    assert solved(request)[1].next_step is None
    request = hall(it_power="200 kW")
    request.more["items"] = {"gpu": {"stock": 2}}
    assert solved(request)[1].next_step is None
    request = hall(it_power="53 kW")
    assert solved(request)[1].next_step is not None
    request.more["items"] = {"gpu": {"max": 4}}
    assert solved(request)[1].next_step is None
    request = hall(it_power="53 kW")
    request.job["gpus"] = {"max": 32}
    assert solved(request)[1].next_step is None
