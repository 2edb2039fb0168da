"""The sheet Sensitivity: every condition is what plain arithmetic and the sizing model say."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.workbook import Workbook

from planner.figures import FIGURES
from planner.sizing.goodput import best_interval_s, daly_s, goodput, mtti_s
from tests.workbook.conftest import written
from tests.workbook.excel import saved_after
from tests.workbook.office import named, needs_office, to_read, values
from tests.workbook.test_edits import row_of
from tests.world.gear import Setup, job, totals
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import ASYNC, CASES, COMPLETE, SYNC

Files = dict[str, tuple[Path, Path]]
Row = dict[str, object]

DETAILS, RANGE = "What each condition does", "One at a time: where it matters to be right"
BANDWIDTH, INTERVAL = (
    "Storage bandwidth: what more of it buys",
    "Checkpoint interval: shorter and longer",
)
SHARE_WRITE = "Delivered share of the rated write bandwidth"
SHARE_READ = "Delivered share of the rated read bandwidth"


def table(source: Path | bytes, sheet: str, heading: str) -> list[Row]:
    """Return the rows of a table by header, from the headers under its heading to a blank row."""
    content = source.read_bytes() if isinstance(source, Path) else source
    cells = [list(row) for row in to_read(content, data_only=True)[sheet].values]
    start = next(row for row, entry in enumerate(cells) if str(entry[0]).startswith(heading))
    header = next(row for row in range(start, len(cells)) if cells[row][1] is not None)
    titles = [str(title).replace("-\n", "") for title in cells[header]]
    rows: list[Row] = []
    for entry in cells[header + 1 :]:
        if all(value in (None, "") for value in entry[:4]):
            break
        row: Row = {}
        for title, value in zip(titles, entry, strict=True):
            row.setdefault(title, value)
        rows.append(row)
    return rows


def conditions(setup: Setup, by: dict[str, tuple[float, float]] | None = None) -> dict[str, Setup]:
    """Return the set-up of every condition by 'label, side'.

    Args:
        setup: what the workbook is of.
        by: factors that were edited, by label.
    """
    changes: dict[str, tuple[tuple[float, float], Callable[[float], Setup]]] = {
        "Failures per GPU and day": (
            (0.5, 2.0), lambda x: replace(setup, failures=setup.failures * x)),
        "Checkpoint size": (
            (0.5, 2.0), lambda x: replace(setup, checkpoint_gb=setup.checkpoint_gb * x)),
        SHARE_WRITE: (
            (0.5, 1.25), lambda x: replace(setup, fraction_write=min(1, setup.fraction_write * x))),
        SHARE_READ: (
            (0.75, 1.25), lambda x: replace(setup, fraction_read=min(1, setup.fraction_read * x))),
        "Stall of one checkpoint": (
            (0.5, 2.0), lambda x: replace(setup, stall_s=setup.stall_s * x)),
        "Restart without the read": (
            (0.5, 2.0), lambda x: replace(setup, restart_s=setup.restart_s * x)),
        "Slowdown of the GPUs while draining": (
            (0.5, 2.0), lambda x: replace(setup, slowdown=min(1, setup.slowdown * x))),
        "Model FLOP/s utilisation (MFU)": (
            (0.75, 1.25), lambda x: replace(setup, mfu=min(1, (setup.mfu or 0) * x))),
    }  # fmt: skip
    skipped = set()
    if setup.mode == "sync" or not setup.stall_s:
        skipped.add("Stall of one checkpoint")
    if setup.mode == "sync" or not setup.slowdown:
        skipped.add("Slowdown of the GPUs while draining")
    if not setup.mfu:
        skipped.add("Model FLOP/s utilisation (MFU)")
    result = {"As it stands": setup}
    for label, (factors, changed) in changes.items():
        if label not in skipped:
            low, high = (by or {}).get(label, factors)
            result |= {f"{label}, low": changed(low), f"{label}, high": changed(high)}
    return result


def details(source: Path | bytes) -> dict[str, Row]:
    """Return the rows of all conditions by 'label, side'."""
    found, label = {}, ""
    for row in table(source, "Sensitivity", DETAILS):
        label = str(row["Condition"] or label)
        side = str(row["Case"] or "")
        found[f"{label}, {side}" if side else label] = row
    return found


def expect(row: Row, setup: Setup, value: float | None, title: str) -> None:
    """Compare a cell with a figure; one that is not known shows so."""
    if value is None:
        assert row[title] == "n/a", title
    else:
        assert row[title] == pytest.approx(value, rel=1e-9, abs=1e-12), title


def expect_condition(row: Row, setup: Setup) -> None:
    """Compare what a condition does with plain arithmetic and with the sizing model."""
    f = job(setup)
    saving = "blocking" if setup.mode == "sync" else "overlap"
    for title, key in (
        ("Goodput", "goodput"),
        ("Useful GPUs", "useful_gpus"),
        (FIGURES[saving].heading, saving),
        ("Restore time, s", "restore_s"),
    ):
        expect(row, setup, f[key], title)
    if "Days to train" in row:
        expect(row, setup, f["days"], "Days to train")
    assert row["Goodput"] == pytest.approx(modelled(setup, setup.interval_s), rel=1e-9)


def modelled(setup: Setup, interval_s: float) -> float:
    """Return goodput by the sizing model of the planner."""
    f = job(setup)
    stall, drain, restore, gpus = (f[k] or 0.0 for k in ("stall_s", "drain_s", "restore_s", "gpus"))
    mtti = mtti_s(setup.failures, gpus)
    restart_s = setup.restart_s + restore
    return goodput(interval_s, stall, drain, restart_s, mtti, setup.slowdown)


def anew(setup: Setup) -> float:
    """Return the interval by Daly's formula, no shorter than the limits on saving allow."""
    f = job(setup)
    stall, drain = f["stall_s"] or 0.0, f["drain_s"] or 0.0
    charged, mtti = stall + setup.slowdown * drain, f["mtti_s"] or 0.0
    shortest = [daly_s(charged, mtti) + charged, f["fits_down"] or 0.0]
    for limit, figure in (("overlap", "overlap_down"), ("blocking", "blocking_down")):
        if limit in setup.limits:
            shortest.append((f[figure] or 0.0) * setup.interval_s / setup.limits[limit][1])
    return max(shortest)


@needs_office
@pytest.mark.parametrize("name", sorted(CASES))
def test_conditions_are_those_of_plain_arithmetic(name: str, recalculated: Files) -> None:
    found, expected = details(recalculated[f"{name}.appendix"][1]), conditions(CASES[name])
    assert list(found) == list(expected)
    for label, setup in expected.items():
        expect_condition(found[label], setup)


@needs_office
@pytest.mark.parametrize("name", sorted(CASES))
def test_an_interval_chosen_anew_is_next_to_the_best(name: str, recalculated: Files) -> None:
    for label, row in details(recalculated[f"{name}.appendix"][1]).items():
        setup = conditions(CASES[name])[label]
        interval_s = anew(setup)
        assert row["Interval chosen anew, s"] == pytest.approx(interval_s, rel=1e-9)
        best = modelled(setup, interval_s)
        assert row["Goodput at that interval"] == pytest.approx(best, rel=1e-9)
        gpus = job(setup)["gpus"] or 0.0
        assert row["Useful GPUs at that interval"] == pytest.approx(best * gpus, rel=1e-9)
        f = job(setup)
        charged = (f["stall_s"] or 0.0) + setup.slowdown * (f["drain_s"] or 0.0)
        if charged:
            bound = best_interval_s(charged, f["mtti_s"] or 0.0, 1e-3, 1e9)
            assert modelled(setup, max(bound, interval_s)) <= best * (1 + 1e-6)


@needs_office
@pytest.mark.parametrize("name", sorted(CASES))
def test_the_swing_is_from_low_to_high(name: str, recalculated: Files) -> None:
    setup = CASES[name]
    useful = {label: job(each)["useful_gpus"] or 0.0 for label, each in conditions(setup).items()}
    rows = table(recalculated[f"{name}.appendix"][1], "Sensitivity", RANGE)
    assert len(rows) == (len(useful) - 1) // 2
    for row in rows:
        low, high = useful[f"{row['Input']}, low"], useful[f"{row['Input']}, high"]
        base = useful["As it stands"]
        assert row["Useful GPUs, low"] == pytest.approx(low, rel=1e-9)
        assert row["Change of useful GPUs, low"] == pytest.approx(low - base, abs=0.00501)
        assert row["Change of useful GPUs, high"] == pytest.approx(high - base, abs=0.00501)
        assert row["Swing of useful GPUs"] == pytest.approx(abs(high - low), abs=0.00501)


@needs_office
@pytest.mark.parametrize("name", sorted(CASES))
def test_ranges_of_bandwidth_and_interval(name: str, recalculated: Files) -> None:
    setup, source = CASES[name], recalculated[f"{name}.appendix"][1]
    base = job(setup)["useful_gpus"] or 0.0
    rows = table(source, "Sensitivity", BANDWIDTH)
    assert [row["Times what is bought"] for row in rows] == [n / 4 for n in range(1, 9)]
    for row in rows:
        share = float(str(row["Times what is bought"]))
        scaled = with_bandwidth(setup, share)
        expect_condition(row, scaled)
        expect(row, scaled, job(scaled)["write"], "Delivered write bandwidth, GB/s")
        change = (job(scaled)["useful_gpus"] or 0.0) - base
        assert row["Change in useful GPUs"] == pytest.approx(change, abs=0.00501)
    rows = table(source, "Sensitivity", INTERVAL)
    shares = [float(str(row["Times the plan's"])) for row in rows]
    assert (len(rows), shares[0], shares[7], shares[-1]) == (15, 0.25, 1.0, 4.0)
    for row, share in zip(rows, shares, strict=True):
        interval_s = setup.interval_s * share
        assert row["Checkpoint interval, s"] == pytest.approx(interval_s)
        assert row["Interval, min"] == pytest.approx(interval_s / 60.0)
        assert row["Goodput"] == pytest.approx(modelled(setup, interval_s), rel=1e-9)
        lost = 1 - modelled(setup, interval_s)
        assert row["Time lost (1 - goodput)"] == pytest.approx(lost, abs=1e-9)


def with_bandwidth(setup: Setup, share: float) -> Setup:
    """Return the set-up with all storage at a share of its rated bandwidth."""
    gear = tuple(replace(g, read=g.read * share, write=g.write * share) for g in setup.gear)
    return replace(setup, gear=gear)


@needs_office
@pytest.mark.parametrize("name", ["async", "complete"])
def test_power_and_cost_of_the_site(name: str, recalculated: Files) -> None:
    setup = CASES[name]
    rows = table(recalculated[f"{name}.appendix"][1], "Sensitivity", "Power and cost")
    liquid = setup.pue if setup.pue_liquid is None else setup.pue_liquid
    low, high = (
        replace(setup, pue=1 + x * (setup.pue - 1), pue_liquid=1 + x * (liquid - 1))
        for x in (0.5, 1.5)
    )
    price = setup.electricity or 0.0
    cheap, dear = (replace(setup, electricity=price * x) for x in (0.5, 2.0))
    for row, each in zip(rows, (setup, low, high, cheap, dear), strict=True):
        sums = totals(each)
        assert row["Power at the meter, kW"] == pytest.approx(sums["facility_power_kw"], rel=1e-9)
        assert row["Energy, million USD/year"] == pytest.approx(sums["energy"], rel=1e-9)
        assert row["TCO, million USD"] == pytest.approx(sums["tco"], rel=1e-9)


@dataclass(frozen=True)
class Edit:
    """Names and values to type into a case's workbook, and the set-up that gives."""

    case: str
    after: Setup
    inputs: tuple[tuple[str, object], ...]
    by: tuple[tuple[str, tuple[float, float]], ...] = ()
    appliances: int | None = None


TIGHT = replace(ASYNC, limits=ASYNC.limits | {"overlap": ("<=", 0.02, "share")})
EDITS = {
    "factors": Edit(
        "async",
        ASYNC,
        (("sensitivity_failures_high", 8.0), ("sensitivity_share_write_low", 0.02)),
        (("Failures per GPU and day", (0.5, 8.0)), (SHARE_WRITE, (0.02, 1.25))),
    ),
    "tight": Edit("async", TIGHT, (("max_overlap", 0.02),)),
    "interval": Edit("complete", replace(COMPLETE, interval_s=300.0), (("interval_s", 300.0),)),
    "storage": Edit("async", ASYNC.change("ai400x2", quantity=1), (), appliances=1),
}


@pytest.fixture(scope="module")
def after(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("sensitivity")

    def typed(edit: Edit) -> Callable[[Workbook], None]:
        def change(book: Workbook) -> None:
            for name, value in edit.inputs:
                type_into(book, name, value)
            if edit.appliances is not None:
                book["BOM"][f"F{row_of(book, 'ai400x2')}"].value = edit.appliances

        return change

    changes = {name: (edit.case, typed(edit)) for name, edit in EDITS.items()}
    changes["blank"] = ("async", clear)
    return {
        name: saved_after(folder / f"{case}.appendix.xlsx", base / f"{name}.xlsx", change)
        for name, (case, change) in changes.items()
    }


def type_into(book: Workbook, name: str, value: object) -> None:
    """Type a value into a named cell, which must be unlocked."""
    sheet, address = next(iter(book.defined_names[name].destinations))
    cell = book[sheet][address.replace("$", "")]
    assert not cell.protection.locked, name
    cell.value = value


def clear(book: Workbook) -> None:
    """Blank every input of the sizing model that may be blank."""
    for name in ("mfu", "max_overlap", "max_restore_s", "sensitivity_size_low", "pue"):
        type_into(book, name, None)


@pytest.mark.exhaustive(keep=0)
@pytest.mark.parametrize("name", sorted(EDITS))
def test_conditions_follow_edits(name: str, after: dict[str, Path]) -> None:
    edit = EDITS[name]
    found = details(after[name])
    for label, setup in conditions(edit.after, dict(edit.by)).items():
        expect_condition(found[label], setup)


@pytest.mark.exhaustive(keep=0)
def test_an_interval_chosen_anew_heeds_the_limit_on_overlap(after: dict[str, Path]) -> None:
    found = details(after["tight"])
    for label, setup in conditions(TIGHT).items():
        assert found[label]["Interval chosen anew, s"] == pytest.approx(anew(setup), rel=1e-9)
    drain_s = job(TIGHT)["drain_s"] or 0.0
    assert found["As it stands"]["Interval chosen anew, s"] == pytest.approx(drain_s / 0.02)


@needs_office
@pytest.mark.exhaustive(keep=0)
def test_limits_that_do_not_hold_are_named(after: dict[str, Path], recalculated: Files) -> None:
    solved = {
        label: row[LIMITS] for label, row in details(recalculated["async.appendix"][1]).items()
    }
    assert set(solved.values()) == {"OK"}
    factors = details(after["factors"])
    assert factors[f"{SHARE_WRITE}, low"][LIMITS] == "OVER: overlap, interval"
    assert factors["Failures per GPU and day, high"][LIMITS] == "OK"
    # 3800 GB over 0.8 x (360 - 45) GB/s are 15 s of 300 s; twice the size is over 10 % of them.
    interval = details(after["interval"])
    assert interval["As it stands"][LIMITS] == "OK"
    assert interval["Checkpoint size, high"][LIMITS] == "OVER: overlap"
    ranges = table(after["interval"], "Sensitivity", INTERVAL)
    assert [row["Limits of the job"] for row in ranges[:2]] == ["OVER", "OVER"]


LIMITS = "Limits of the job, at the interval of the plan"


@pytest.mark.exhaustive(keep=0)
def test_blank_inputs_give_no_error_values(after: dict[str, Path]) -> None:
    cells = values(after["blank"])
    wrong = [at for at, value in cells.items() if str(value).startswith(("#", "Err:"))]
    assert wrong == []
    found = details(after["blank"])
    assert found["As it stands"]["Days to train"] == "n/a"
    assert found["Model FLOP/s utilisation (MFU), low"]["Value"] == "n/a"
    assert found["As it stands"][LIMITS] == "OK"
    assert found["As it stands"]["Goodput"] == pytest.approx(job(ASYNC)["goodput"], rel=1e-9)
    power = table(after["blank"], "Sensitivity", "Power and cost")
    assert power[1]["Power at the meter, kW"] == "n/a"


@pytest.mark.exhaustive(keep=0)
def test_questions_are_no_edits_of_the_plan(after: dict[str, Path]) -> None:
    banner = named(after["factors"], values(after["factors"]))["plan_banner"]
    assert str(banner).startswith("As solved: proven best")


def test_factors_are_inputs_of_their_sheet() -> None:
    book = openpyxl.load_workbook(io.BytesIO(written(plan(ASYNC), appendix=True)))
    names = [name for name in book.defined_names if name.startswith("sensitivity_")]
    assert len(names) == 2 * 10
    for name in names:
        sheet, address = next(iter(book.defined_names[name].destinations))
        assert sheet == "Sensitivity"
        assert not book[sheet][address.replace("$", "")].protection.locked


def test_each_chart_has_titles_and_reads_this_sheet() -> None:
    sheet: Any = openpyxl.load_workbook(io.BytesIO(written(plan(COMPLETE), appendix=True)))[
        "Sensitivity"
    ]
    charts = sheet._charts
    assert len(charts) == 3
    for chart in charts:
        assert chart.title is not None
        assert chart.x_axis.title is not None or chart.y_axis.title is not None
        for series in chart.series:
            reference = (series.val or series.yVal).numRef.f
            assert reference.startswith("Sensitivity!"), reference


def test_a_synchronous_plan_asks_what_matters_to_it() -> None:
    rows = table(written(plan(SYNC), appendix=True), "Sensitivity", RANGE)
    inputs = {row["Input"] for row in rows}
    assert "Stall of one checkpoint" not in inputs
    assert {"Failures per GPU and day", "Checkpoint size", SHARE_WRITE} <= inputs


def test_no_plan_no_sheet() -> None:
    names = openpyxl.load_workbook(io.BytesIO(written(infeasible(), appendix=True))).sheetnames
    assert not {"Sensitivity", "Alternatives"} & set(names)
