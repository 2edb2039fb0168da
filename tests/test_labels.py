"""Wherever a number is a figure of a plan, it is called as its figure and stands in its unit."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from openpyxl.workbook import Workbook
from pydantic import BaseModel

from planner.figures import FIGURES
from planner.limits import LIMITS
from planner.schema.plan import Plan
from tests.test_figures import LARGER, UNITS
from tests.workbook.conftest import written
from tests.workbook.office import to_read
from tests.world.gear_plans import plan
from tests.world.setups import CASES
from tests.world.solved import solved

TOLD_BY_DIGITS = 4
"""A number of so many digits is that of its figure, and of no other by chance."""

PARTS = {name.partition(".")[0] for name in FIGURES if "." in name}
"""Fields whose figures are named after them."""

OF_LIMITS = {limit.label.casefold() for limit in LIMITS}
"""A limit has a name of its own where it compares no figure alone."""

ALSO = {
    # Heads of `BOM` and of the bill on `Summary`, under a group that says the rest.
    "extended net": "capex_usd", "extended list": "capex_usd", "net, usd": "capex_usd",
    "kw total": "it_power_kw", "it kw": "it_power_kw", "typical kw total": "typical_power_kw",
    "kw at the meter": "facility_power_kw", "btu/h total": "heat_btu_per_h",
    "liquid kw": "heat_liquid_kw", "kg total": "weight_kg",
    "support, subscription per year": "support_usd_per_year",
    # Years add up: an amount per year stands in the column of its kind, sums beside it.
    "energy": "energy_usd_per_year", "colocation": "colocation_usd_per_year",
    "support": "support_usd_per_year", "together": "opex_usd_per_year tco_usd capex_usd",
    "discounted": "capex_usd tco_usd", "cumulative": "capex_usd tco_usd",
    "usd": "capex_usd",  # of a kind, over the term
    # Sums, of which the other part is nothing in some plans.
    "share of the interval lost to checkpoints": "blocking",
    "stall and drain together": "stall_s drain_s degraded_drain_s",
    "stall plus slowdown x drain": "stall_s degraded_drain_s",
    "stall of one asynchronous checkpoint": "stall_s",
    "delivered bandwidth of training data": "delivered_read_gb_per_s",
    # Beside a limit: what is left of it, and what it was.
    "slack": "delivered_read_gb_per_s", "allowed, as solved": "mtti_s",
    "stall and local drain within the inter…": "interval_s",
}  # fmt: skip
"""What sheets call figures beside their labels: a word, and the figures that it stands for."""


def tells(value: object) -> bool:
    """Return whether a value is a number with digits enough to tell what it is."""
    if not isinstance(value, float) or not math.isfinite(value) or value.is_integer():
        return False
    return len(f"{abs(value):.9g}".replace(".", "").strip("0")) >= TOLD_BY_DIGITS


def figures_of(parts: Iterable[Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield every figure that parts of a result state, by its name in the table."""
    for part in parts:
        for name in type(part).model_fields:
            value = getattr(part, name)
            if isinstance(value, BaseModel) and name in PARTS:
                yield from figures_of((value,), f"{name}.")
            elif prefix + name in FIGURES and tells(value):
                yield prefix + name, value


ANY_UNIT = (UNITS | {"W", "MW", "GW", "lb", "t", "h", "min", "TB", "PB", "MUSD"}) - {""}
AFTER = 3
"""Columns after a number in which its unit may stand."""


class Shown(NamedTuple):
    """A number that is shown: where, what stands beside and over it, and in which unit."""

    place: str
    value: float
    called: tuple[str, ...]
    unit: str


def cells(book: Workbook) -> Iterator[Shown]:
    """Yield each number of a workbook with what it is called: in its row, over it, under it."""
    for sheet in book:
        heads: dict[int, str] = {}
        rows = list(sheet.iter_rows())
        for row, below in zip(rows, [*rows[1:], ()], strict=True):
            words = {cell.column: cell.value for cell in row if isinstance(cell.value, str)}
            under = {c.column: c.value for c in below if isinstance(c.value, str)}
            for cell in row:
                if tells(cell.value):
                    at = cell.column
                    beside = [text for column, text in words.items() if column < at][-2:]
                    called = (*beside, heads.get(at, ""), under.get(at, ""))
                    after = (words.get(at + step, "") for step in range(1, AFTER + 1))
                    unit = next((text for text in after if text in ANY_UNIT), "")
                    yield Shown(f"{sheet.title}!{cell.coordinate}", cell.value, called, unit)
            heads |= words


def miscalled(parts: Iterable[Any], shown: Iterator[Shown]) -> list[tuple[str, ...]]:
    """Return the numbers that are figures of some parts and called otherwise, or in other units."""
    known: dict[str, set[str]] = {}
    for name, value in figures_of(parts):
        known.setdefault(f"{value:.9g}", set()).add(name)
    wrong = []
    for each in shown:
        names = known.get(f"{each.value:.9g}", set())
        texts = [text.casefold() for text in each.called]
        labels = [FIGURES[name].label.casefold() for name in names]
        there = {*labels, *OF_LIMITS}
        there |= {words for words, some in ALSO.items() if names & set(some.split())}
        if names and not any(label in text for label in there for text in texts):
            wrong.append((each.place, *sorted(names), "called", *each.called))
        units = {FIGURES[name].unit for name in names}
        larger = {there for here, there in LARGER if here in units}
        heads = (text for text in each.called if any(label in text.casefold() for label in labels))
        for unit in (each.unit, *(text.rpartition(", ")[2] for text in heads)):
            if names and unit in ANY_UNIT - units - larger:
                wrong.append((each.place, *sorted(names), "in", unit))
    return wrong


def said(made: Plan) -> list[tuple[str, ...]]:
    assert made.totals is not None
    book = to_read(written(made), data_only=True)
    return miscalled((made.totals, *made.jobs, made.site), cells(book))


@pytest.mark.parametrize("case", sorted(CASES))
def test_a_number_of_a_workbook_is_called_as_its_figure(case: str) -> None:
    assert said(plan(CASES[case])) == []


@pytest.mark.parametrize("problem", ["full_bill", "local_level"])
def test_a_number_of_a_shipped_workbook_is_called_as_its_figure(problem: str) -> None:
    assert said(solved(problem)) == []


NO_FIGURES = {
    "GPU systems": "what is bought: a kind of item", "Storage units": "a kind of item",
    "rack units": "what a catalog lacks", "Rack Units": "what vendors call it in a quote",
    "Support per year": "of one line", "Heat to liquid": "of one line, as a share",
    "useful GPUs": "a unit",
    "Useful work": "over a part of a sheet", "Waiting for repairs": "over a part of a sheet",
    "Useful GPUs": "what a word means", "IT power": "what a word means",
    "Hot spares": "what a word means",
}  # fmt: skip
"""Texts that are labels of figures, and what they stand for where the product writes them."""


def test_no_label_is_written_twice() -> None:
    """Who shows a figure takes its label, of several words or with a unit, from the table."""
    labels = {text.casefold() for figure in FIGURES.values() if " " in figure.label
              for text in (figure.label, f"{figure.label}, {figure.unit}")}  # fmt: skip
    root, again = Path(__file__).parents[1] / "planner", []
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
                 for part in node.values}  # fmt: skip
        again += [
            (path.relative_to(root).as_posix(), node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and id(node) not in parts and node.value.casefold() in labels
        ]  # fmt: skip
    tables = {"figures.py", "limits.py"}
    assert [each for each in again if each[0] not in tables and each[1] not in NO_FIGURES] == []
    assert NO_FIGURES.keys() <= {text for _, text in again}
