"""Edits of a workbook: figures follow in three engines alike, and the audit finds each of them."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from planner.schema.analysis import Audit
from planner.workbook import write
from planner.workbook.audit import audit
from planner.workbook.book import Book
from planner.workbook.formulas import Scalar
from tests.workbook.conftest import CREATED, Made, shipped
from tests.workbook.excel import Excel, same, saved_with, typed_into
from tests.workbook.office import convert, needs_office, values
from tests.workbook.test_plan_figures import EUROS, VARIANTS

Edits = dict[tuple[str, str], Scalar]
OWN = "Own lines"
GPUS, STORE = "nvidia_dgx_b200", "wekapod_nitro_155"

KINDS: dict[str, Edits] = {
    "more systems": {("quantity", GPUS): 512},
    "fewer systems": {("quantity", GPUS): 500},
    "more storage": {("quantity", STORE): 12},
    "price": {("unit_list", GPUS): 430000.0},
    "discount with many digits": {("discount", STORE): 0.0375},
    "own line": {  # without a quantity, with a discount
        ("own_line", f"{OWN}|3|model"): "Freight",
        ("own_line", f"{OWN}|3|unit_list"): 99999.99,
        ("own_line", f"{OWN}|3|discount"): 0.1,
    },
    "checkpoint size": {("figure", "checkpoint_gb"): 9000.0},
    "interval": {("figure", "interval_s"): 900.0},
    "stall": {("figure", "async_stall_s"): 3.0},
    "slowdown": {("figure", "drain_slowdown"): 0.05},
    "failures": {("figure", "failures_per_gpu_day"): 8.13e-4},
    "restart": {("figure", "restart_s"): 300.0},
    "hardware share": {("figure", "repair.hardware_share"): 0.5},
    "replacement": {("figure", "repair.swap_s"): 120.0},
    "hot spares": {("figure", f"hot_spares.{GPUS}"): 13},
    "delivered write": {("figure", "delivered_fraction_write"): 0.85},
    "delivered read": {("figure", "delivered_fraction_read"): 0.4},
    "fill limit": {("figure", "fill_limit"): 0.7},
    "MFU": {("figure", "mfu"): 0.35},
    "tokens": {("figure", "tokens_trillion"): 20.0},
    "parameters": {("figure", "active_parameters_billion"): 500.0},
    "PUE": {("figure", "pue"): 1.2},
    "electricity": {("figure", "electricity_usd_per_kwh"): 0.11},
    "term": {("figure", "years"): 6.0},
    "overlap limit": {("figure", "max_overlap"): 0.12},
    "restore limit": {("figure", "max_restore_s"): 20.0},
    "power limit": {("limit", "facility_power"): 9500.0},
    "rack limit": {("limit", "racks"): 200},
    "budget": {("limit", "capex"): 250e6},
    "budget removed": {("limit", "capex"): None},
}


def places(source: Made, edits: Edits) -> dict[tuple[str, str], Scalar]:
    """Return values by sheet and address."""
    found = {source.input(*key): value for key, value in edits.items()}
    return {entry.place: value for entry, value in found.items()}


def recomputed(source: Made, edits: Edits) -> Book:
    """Return the cells of a workbook with edits, as planner computes them."""
    return write(source.plan, io.BytesIO(), created=CREATED, typed=places(source, edits))


def typed_into_excel(source: Made, edits: Edits) -> Excel:
    engine = Excel(source.content)
    for place, value in places(source, edits).items():
        engine.write(*place, value)
    return engine


def unlike(book: Book, engine: Excel) -> dict[str, tuple[object, object]]:
    """Return the named figures that an engine computes otherwise."""
    shown = {name: engine.value(*place) for name, place in book.places.items()}
    return {
        name: (cell.value, shown[name])
        for name, cell in book.names.items()
        if not same(cell.value, shown[name])
    }


@pytest.mark.parametrize("kind", KINDS)
def test_figures_follow_an_edit_as_excel_computes_them(kind: str) -> None:
    source = shipped("hall_10MW")
    assert unlike(recomputed(source, KINDS[kind]), typed_into_excel(source, KINDS[kind])) == {}


def figures_that_differ(found: Audit) -> dict[str, tuple[float, float]]:
    """Return figures of the file that the re-computed plan has otherwise, for no known reason.

    Waiting for repairs stays as planned on the sheet, so what rests on it may be stale.
    """
    assert found.edited is not None
    stale = found.stale
    waits = found.edited.jobs[0].loss.waiting != found.solved.jobs[0].loss.waiting
    rests = {"goodput", "useful_gpus", "useful_pflops", "days_to_train"}
    rests |= {"usd_per_useful_gpu_hour", "usd_per_million_tokens"}
    return {name: pair for name, pair in stale.items() if not waits or name not in rests}


def test_the_best_plan_under_an_edited_limit_is_found(tmp_path: Path) -> None:
    source = shipped("hall_10MW")
    edits = places(source, KINDS["power limit"])
    found = audit(saved_with(source.content, tmp_path / "edited.xlsx", edits))
    assert [breach.name for breach in found.breaches] == ["facility_power"]
    assert found.best is not None and found.best.totals is not None
    assert found.best.totals.facility_power_kw <= 9500.0
    assert found.shortfall is not None and found.shortfall < 0


def test_an_edited_mfu_scales_measured_rates(tmp_path: Path) -> None:
    source = shipped("10MW")
    edits = places(source, {("figure", "mfu"): 0.3})
    found = audit(saved_with(source.content, tmp_path / "x.xlsx", edits), solve_again=False)
    assert found.edited is not None
    assert found.edited.jobs[0].mfu == pytest.approx(0.3)
    assert figures_that_differ(found) == {}


def test_missing_companions_are_listed_as_shortages(tmp_path: Path) -> None:
    source = shipped("hall_10MW")
    edits = places(source, {("quantity", GPUS): 560})
    found = audit(saved_with(source.content, tmp_path / "x.xlsx", edits), solve_again=False)
    short = {sku: needed - listed for sku, (listed, needed) in found.shortages.items()}
    assert short["nvidia_sn5600"] > 0
    assert GPUS not in short


def test_the_banner_counts_edits_and_names_what_is_stale() -> None:
    source = shipped("hall_10MW")
    banner = next(
        place for place, text in source.book.cells.items() if '"As planned: nothing' in str(text)
    )
    engine = typed_into_excel(source, {})
    assert str(engine.value(*banner)).startswith("As planned")
    for kind, words in (
        ("price", "lines 1, inputs 0"),
        ("own line", "lines 1, inputs 0"),
        ("more systems", "switches, optics, cables and racks"),
        ("failures", "checkpoint interval, waiting for repairs"),
        ("power limit", "lines 0, inputs 1"),
    ):
        shown = str(typed_into_excel(source, KINDS[kind]).value(*banner))
        assert shown.startswith("EDITED") and words in shown, kind
    for kind in ("price", "power limit", "PUE", "electricity", "term"):
        shown = str(typed_into_excel(source, KINDS[kind]).value(*banner))
        assert "Stays as planned" not in shown, kind


def test_the_banner_names_a_scaling_efficiency_that_stays_as_planned() -> None:
    source = shipped("10MW")
    banner = next(
        place for place, text in source.book.cells.items() if '"As planned: nothing' in str(text)
    )
    gpus = next(each for each in source.book.inputs if each.of.kind == "quantity")
    shown = typed_into_excel(source, {("quantity", gpus.of.key): 52}).value(*banner)
    assert "scaling efficiency" in str(shown)


OTHERS: dict[str, tuple[str, ...]] = {
    **{name: VARIANTS[name] for name in ("sync", "over_time", "units_down", "two_types")},
    "local level": (),
    "euros": EUROS,
}


@pytest.mark.parametrize("name", OTHERS)
def test_random_edits_of_other_plans_are_found(name: str, tmp_path: Path) -> None:
    problem = {"local level": "local_level", "euros": "enterprise_1MW"}.get(name, "hall_10MW")
    source, draw = shipped(problem, *OTHERS[name]), random.Random(name)
    entries = [each for each in source.book.inputs if each.of.kind in ("quantity", "figure")]
    entries += [each for each in source.book.inputs if each.of.kind in ("unit_list", "discount")]
    edits: Edits = {}
    for entry in draw.sample(entries, 6):
        value = entry.value
        assert isinstance(value, (int, float))
        new = value + 1 if entry.of.allowed.whole else value * 1.05 if value else 0.05
        if entry.of.allowed.takes(new):
            edits[entry.of.kind or "", entry.of.key] = new
    assert unlike(recomputed(source, edits), typed_into_excel(source, edits)) == {}
    path = saved_with(source.content, tmp_path / "edited.xlsx", places(source, edits))
    found = audit(path, solve_again=False)
    rate = source.plan.shown_in.usd
    expected = {
        key: value * rate if "USD" in source.input(*key).of.unit else value  # type: ignore[operator]
        for key, value in edits.items()
    }
    after = {(edit.kind, edit.key): edit.after for edit in found.edits}
    assert after == pytest.approx(expected)


WAITING = ("more systems", "failures", "hardware share", "hot spares")
"""Edits that change the waiting for repairs, which stays as planned on the sheet."""
OTHER_VALUES = ("fewer systems", "budget removed")
TOGETHER = {
    "waiting": WAITING,
    "other values": OTHER_VALUES,
    "rest": tuple(kind for kind in KINDS if kind not in WAITING + OTHER_VALUES),
}
"""Edits that go into one workbook: LibreOffice is slow."""


@needs_office
def test_libreoffice_follows_edits_and_its_files_are_audited(tmp_path: Path) -> None:
    source, files = shipped("hall_10MW"), {}
    for name, kinds in TOGETHER.items():
        edits = {key: value for kind in kinds for key, value in KINDS[kind].items()}
        files[tmp_path / f"{name}.xlsx"] = edits
        typed_into(source.content, tmp_path / f"{name}.xlsx", places(source, edits))
    for result, edits in zip(convert(tmp_path, [*files]), files.values(), strict=True):
        book, shown = recomputed(source, edits), values(result)
        wrong = {
            name: (cell.value, shown.get(book.places[name]))
            for name, cell in book.names.items()
            if not same(cell.value, shown.get(book.places[name]))
        }
        assert wrong == {}, result.name
        found = audit(result, solve_again=False)
        assert {(each.kind, each.key): each.after for each in found.edits} == edits
        assert figures_that_differ(found) == {}, result.name
