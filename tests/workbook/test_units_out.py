"""Plans that go on with fewer replicas: what the workbook makes of edits, and what an audit says.

The law is summed up over a table of units out, on a sheet of its own; plans of all kinds (one level
of checkpoints or two, systems or trays, spares given or decided) are drawn and edited at random.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from random import Random

import pytest
from openpyxl import load_workbook

from planner import api
from planner.assemble.ways import live
from planner.auditor import audit
from planner.errors import InputError
from planner.inputs import Inputs, inputs_to_text
from planner.loader import load
from planner.outputs.workbook import recalculated, units_out, write
from planner.outputs.workbook.book import Book as Sheets
from planner.schema.plan import Plan
from tests.audit.books import PROBLEMS, Book, Edits, book, edited
from tests.test_shrinking import by_hand, mixed, request
from tests.workbook.excel import Excel
from tests.workbook.office import convert, named, needs_office, values
from tests.world.random_cases import inputs_of

CREATED = datetime(2026, 3, 1)
TWO_LEVELS = 31
"""A seed whose plan keeps checkpoints on two levels."""


@dataclass(frozen=True)
class Made:
    """A workbook with what it was made from."""

    inputs: Inputs
    book: Book

    def after(self, edits: Edits) -> Sheets:
        """Return the sheets as the evaluator works them out after the edits."""
        cells = {self.book.cell(*which): value for which, value in edits.items()}
        typed = {(cell.sheet, cell.cell): value for cell, value in cells.items()}
        carried = live(self.inputs, self.book.plan)
        return recalculated(self.book.plan, typed, created=CREATED, live=carried)


def made(inputs: Inputs, plan: Plan) -> Made:
    stream, text = io.BytesIO(), inputs_to_text(inputs)
    cells = write(plan, stream, created=CREATED, inputs=text, live=live(inputs, plan))
    return Made(inputs, Book(plan, stream.getvalue(), cells))


@lru_cache
def drawn(seed: int) -> Made | None:
    inputs = inputs_of(mixed(seed))
    try:
        plan = api.solve_inputs(inputs, explain=False)
    except InputError:
        return None
    return made(inputs, plan) if plan.jobs else None


@lru_cache
def hand() -> Made:
    return made(*by_hand())


def figures(plan: Plan) -> dict[str, float]:
    """Return what the cells must show of a plan."""
    job, repair = plan.jobs[0], plan.jobs[0].repair
    assert repair is not None and repair.shrunk is not None
    return {
        "gpus_in_use": job.gpus_used,
        "failing_share": repair.shrunk.failing,
        "idle_share": 1.0 - repair.shrunk.running,
        "late_share": repair.shrunk.late,
        "grows_per_year": repair.shrunk.restarts_per_year,
        "time_waiting": 1.0 - repair.availability,
        "mtti_s": job.mtti_s,
        "goodput": job.goodput,
        "loss_waiting": job.loss.waiting,
        "useful_gpus": job.useful_gpus,
        "useful_pflops": job.useful_pflops,
    }


def agree(sheets: Sheets, plan: Plan) -> None:
    for name, value in figures(plan).items():
        assert sheets.value(name) == pytest.approx(value, rel=1e-9, abs=1e-15), name


def random_edits(book: Book, random: Random) -> Edits:
    """Return values for some of the cells that the law depends on."""
    job, keys = book.plan.jobs[0], {cell.key for cell in book.cells if cell.kind == "figure"}
    repair = job.repair
    assert repair is not None
    # Spares that are asked for must be there; those that are decided move what runs.
    fewer = repair.spares + random.choice((-1, 1, 2) if repair.decided else (-1, 0))
    typed = {
        "hardware_share": random.uniform(0.2, 1.0),
        "repair_s": repair.repair_s * random.choice((0.3, 2.0, 3.0)),
        "failures_per_gpu_day": job.failures_per_gpu_day * random.uniform(0.3, 2.0),
        "swap_s": 30.0,
        "interval_s": job.interval_s * random.uniform(0.7, 1.5),
        "restart_s": job.restart_s * random.uniform(0.5, 2.0),
        "spares": float(max(0, fewer)),
    }
    return {("figure", key): value for key, value in typed.items()
            if key in keys and random.random() < 0.6}  # fmt: skip


def test_next_to_nothing_is_not_taken_for_an_edit() -> None:
    """Seed 51 loses 1e-9 GPUs to something: too little to compare, too much to leave out of sums.

    Writing holds what the banner says against what the fingerprint comes to.
    """
    found = drawn(51)
    assert found is not None
    summary = load_workbook(io.BytesIO(found.book.content), data_only=True)["Summary"]
    figures = [each for row in summary.iter_rows(values_only=True) for each in row]
    assert any(isinstance(each, float) and 1e-10 < abs(each) < 1e-9 for each in figures)
    assert str(summary["A3"].value).startswith("As solved")


@pytest.mark.exhaustive(keep=8, most=20)
@pytest.mark.parametrize("seed", range(60))
def test_the_sheet_follows_the_law(seed: int, tmp_path: Path) -> None:
    """As solved, and after edits, of which an audit says what the sizing model makes of them."""
    found = drawn(seed)
    if found is None:
        return
    agree(found.after({}), found.book.plan)
    edits = random_edits(found.book, Random(seed))
    told = audit(edited(found.book, tmp_path / "e.xlsx", edits), solve_again=False)
    if told.edited is None:
        assert told.reason == "no GPUs are in use"
        return
    agree(found.after(edits), told.edited)
    assert not told.stale


SESSION: dict[str, Edits] = {
    "as_it_is": {},
    "more_stand_by": {("figure", "spares"): 4.0},
    "none_stands_by": {("figure", "spares"): 0.0},
    "repairs_take_four_days": {("figure", "repair_s"): 345_600.0},
    "they_fail_twice_as_often": {("figure", "failures_per_gpu_day"): 0.02},
    "less_of_it_is_hardware": {("figure", "hardware_share"): 0.3},
    "another_interval": {("figure", "interval_s"): 1234.0, ("figure", "restart_s"): 900.0},
    "the_gpus_wait_for_storage": {("figure", "save_mode"): "sync"},
}


@pytest.mark.parametrize("name", SESSION)
def test_an_engine_that_follows_excel_shows_the_same(name: str) -> None:
    source, edits = hand().book, SESSION[name]
    excel, sheets = Excel(source.content), hand().after(edits)
    for which, value in edits.items():
        excel.write(source.cell(*which).sheet, source.cell(*which).cell, value)
    for cell in figures(source.plan):
        sheet, _, address = sheets.address(cell).partition("!")
        shown = excel.value(sheet.strip("'"), address.replace("$", ""))
        assert shown == pytest.approx(sheets.value(cell), rel=1e-9), cell


@needs_office
@pytest.mark.exhaustive(keep=0)
def test_libreoffice_shows_the_same(tmp_path: Path) -> None:
    two = drawn(TWO_LEVELS)
    assert two is not None and two.book.plan.jobs[0].local is not None
    asked = [(hand(), edits) for edits in SESSION.values()] + [(two, {}), (two, HALF)]
    files = [edited(m.book, tmp_path / f"{n}.xlsx", edits) for n, (m, edits) in enumerate(asked)]
    for (source, edits), file in zip(asked, convert(tmp_path, files), strict=True):
        cells, sheets = values(file), source.after(edits)
        assert not [cell for cell, x in cells.items() if str(x).startswith(("#", "Err:"))]
        found = named(file, cells)
        for cell in figures(source.book.plan):
            assert found[cell] == pytest.approx(sheets.value(cell), rel=1e-9), cell


HALF: Edits = {("figure", "hardware_share"): 0.5, ("figure", "failures_per_gpu_day"): 0.01}


def test_hours_of_the_table_are_those_of_the_plan() -> None:
    """All rows together are a year; those with fewer replicas are what the screen says."""
    plan, sheets = hand().book.plan, hand().after({})
    repair = plan.jobs[0].repair
    assert repair is not None and repair.shrunk is not None
    rows = range(7, 8 + units_out.most_out(repair))
    table = [[sheets.at(units_out.SHEET, row, column) for column in (0, 1, 2)] for row in rows]
    assert [row[0] for row in table] == list(range(len(table)))
    hours = {out: (runs, float(h or 0.0)) for out, runs, h in table}
    assert sum(h for _, h in hours.values()) == pytest.approx(8760.0)
    short = sum(h for runs, h in hours.values() if runs != hours[0.0][0])
    assert short == pytest.approx(repair.shrunk.short_h_per_year, rel=1e-9)
    assert hours[0.0][0] == plan.jobs[0].replicas


def hall() -> Made:
    """Return the 10 MW of B200 whose GPUs may be capped, in replicas of 64 over eight systems."""
    inputs = load(PROBLEMS / "10MW.yaml", settings=SETTINGS)
    return Made(inputs, book("10MW", *SETTINGS))


SETTINGS = (
    "consider={gpu_systems: [nvidia_dgx_b200]}",
    "jobs.0.power={points: open, curve: [{gpu_cap: 85 %, throughput: 97 %}]}",
    "jobs.0.repair={share: 78 %, time: 24 h, when_short: shrink}",
)


@pytest.mark.parametrize(
    "edits",
    [
        {("figure", "way"): "bf16 at 100 % power", ("figure", "spares"): 10.0},
        {("quantity", "nvidia_dgx_b200"): 480.0, ("figure", "repair_s"): 259_200.0},
    ],
    ids=["full_power_and_more_spares", "fewer_systems_and_three_days"],
)
def test_caps_and_counts_of_a_hall(edits: Edits, tmp_path: Path) -> None:
    source = hall()
    agree(source.after({}), source.book.plan)
    told = audit(edited(source.book, tmp_path / "e.xlsx", edits), solve_again=False)
    assert told.edited is not None, told.reason
    agree(source.after(edits), told.edited)


def test_too_few_rows_are_told_not_hidden() -> None:
    """Repairs so long that more units are out than there are rows: what is lost is not known."""
    sheets = hall().after({("figure", "repair_s"): 86_400.0 * 4})
    assert sheets.number("beyond_share") <= 1e-12 and sheets.number("goodput") > 0.5
    sheets = hall().after({("figure", "repair_s"): 86_400.0 * 30})
    assert sheets.number("beyond_share") > 1e-12
    assert sheets.value("time_waiting") == sheets.value("goodput") == "n/a"


@pytest.mark.parametrize("when_short", ["wait", "shrink"])
def test_spares_that_are_asked_for_and_not_there(when_short: str, tmp_path: Path) -> None:
    inputs = inputs_of(request(spares=1, when_short=when_short).case())
    source = made(inputs, api.solve_inputs(inputs, explain=False)).book
    edits: Edits = {("figure", "spares"): 9.0}
    found = audit(edited(source, tmp_path / "e.xlsx", edits), solve_again=False)
    assert found.edited is None
    assert found.reason == "9 spares are to stand by, and the GPUs in use leave 1"


def test_a_restart_of_the_problem_s_own_is_edited(tmp_path: Path) -> None:
    """`restart.remote` comes before `restore.restart`: an edit of the cell is one of it."""
    case = request()
    case.job["restart"] = {"remote": "400 s"}
    inputs = inputs_of(case.case())
    source = made(inputs, api.solve_inputs(inputs, explain=False)).book
    edits: Edits = {("figure", "restart_s"): 900.0}
    found = audit(edited(source, tmp_path / "e.xlsx", edits), solve_again=False)
    assert found.edited is not None and found.edited.jobs[0].restart_s == 900.0
