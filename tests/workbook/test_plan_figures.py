"""Every figure of the sheets is the plan's, and every formula computes what its cell shows."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from planner.report.edition import in_currency
from planner.schema.plan import LimitReport, Plan
from planner.workbook import performance, write
from planner.workbook.book import Book
from planner.workbook.formulas import V
from tests.workbook.conftest import CREATED, SOLVABLE, Made, made, shipped
from tests.workbook.excel import same, unlike
from tests.workbook.office import convert, needs_office, values
from tests.world.known_plans import KNOWN, infeasible
from tests.world.solved import solved

VARIANTS = {
    "sync": ("jobs.0.checkpoint.mode=sync",),
    "replicas": (
        "jobs.0.restore.fan_out=every_replica",
        "jobs.0.checkpoint.writers=one_replica",
        "jobs.0.gpus.whole=replicas",
        "jobs.0.checkpoint.drain_slowdown=0.1",
    ),
    "over_time": (
        "term.discount_rate=0.07",
        "term.support_years=2.5",
        "term.years=4.5",
        "term.energy_basis=typical",
        "site.pue={air: 1.3, liquid: 1.1}",
        "term.colocation=100 USD/kW/month",
    ),
    "units_down": (
        "storage.tolerate_down=1",
        "jobs.0.repair={share: 78 %, time: 24 h, spares: 1}",
    ),
    "two_types": ("jobs.0.repair=null", "jobs.0.gpus.max_types=2", "storage.max_families=2"),
}


def all_books() -> dict[str, Made]:
    """Return the workbooks of shipped problems, variants of one, and of small ones."""
    found = {problem: shipped(problem) for problem in SOLVABLE}
    for name, settings in VARIANTS.items():
        found[name] = shipped("10MW", *settings)
    found |= {f"known {name}": made(known().plan) for name, known in KNOWN.items()}
    return found


@pytest.fixture(scope="module")
def books() -> dict[str, Made]:
    return all_books()


def unlike_plan(source: Made) -> list[tuple[str, float, object]]:
    """Return the figures of a workbook that are not those of its plan."""
    stated, wrong = in_currency(source.plan), []
    job = stated.jobs[0]
    for name, cell in source.book.names.items():
        value = getattr(job, name, getattr(stated.totals, name, None))
        value = job.losses[name.removeprefix("loss.")] if name.startswith("loss.") else value
        if value is not None and not same(value, cell.value):
            wrong.append((name, value, cell.value))
    return wrong


def test_figures_are_those_of_the_plan(books: dict[str, Made]) -> None:
    assert {name: wrong for name, each in books.items() if (wrong := unlike_plan(each))} == {}


def test_limits_are_those_of_the_plan(
    books: dict[str, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, tuple[float, object]] = {}
    reached = performance.reached

    def noted(sheet: performance.Performance, totals: dict[str, V], limit: LimitReport) -> V | None:
        cell = reached(sheet, totals, limit)
        if cell is not None:
            found[limit.name] = (limit.value, cell.value)
        return cell

    monkeypatch.setattr(performance, "reached", noted)
    for name, each in books.items():
        if name in SOLVABLE:  # their limits are among those of the variants
            continue
        found.clear()
        write(each.plan, io.BytesIO(), created=CREATED)
        wrong = {limit: pair for limit, pair in found.items() if not same(*pair)}
        assert wrong == {}, name


def test_formulas_compute_in_excel_what_their_cells_show(books: dict[str, Made]) -> None:
    assert {name: wrong for name, each in books.items() if (wrong := unlike(each.content))} == {}


@needs_office
def test_libreoffice_recalculates_every_cell_alike(books: dict[str, Made], tmp_path: Path) -> None:
    files = []
    for name, each in books.items():
        if name not in SOLVABLE:  # their formulas are among those of the variants
            files.append(tmp_path / f"{name.replace(' ', '_')}.xlsx")
            files[-1].write_bytes(each.content)
    for source, result in zip(files, convert(tmp_path, files), strict=True):
        before, after = values(source), values(result)
        wrong = {
            place: (value, after.get(place))
            for place, value in before.items()
            if not same(value, after.get(place))
        }
        assert wrong == {}, source.stem


EUROS = ("currency=EUR", "exchange.EUR={usd: 1.08, on: 2026-02-20, source: ECB}")


def test_a_currency_shows_in_every_amount() -> None:
    source = shipped("enterprise_1MW", *EUROS)
    assert unlike_plan(source) == []
    assert unlike(source.content) == []
    shown = [str(text) for (sheet, _), text in source.book.cells.items() if sheet != "Basis"]
    assert not [text for text in shown if "USD" in text]


def test_a_workbook_without_a_plan_states_the_reason() -> None:
    source = made(infeasible())
    assert any("1 kW cannot be met" in str(text) for text in source.book.cells.values())


def long_plan(count: int) -> Plan:
    """Return a plan whose bill has very many lines."""
    source = solved("10MW")
    companion = source.lines[-1]
    more = tuple(
        companion.model_copy(update={"sku": f"line_{at}", "model": f"Product {at}"})
        for at in range(count)
    )
    return source.model_copy(update={"lines": (*source.lines, *more)})


def test_formulas_of_many_lines_stay_short() -> None:
    begun = time.process_time()
    book: Book = made(long_plan(2_000)).book
    assert time.process_time() - begun < 30  # a guard against what grows with the square
    assert max(len(str(text)) for text in book.cells.values()) < 8_000
