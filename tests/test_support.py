"""Support by line: which level, for how many years, what it costs, and what nobody sells."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.inputs import Change, Inputs, applied, changed, inputs_from_text, inputs_to_text
from planner.loader import load
from planner.report.exports import bill
from planner.schema.plan import Plan
from planner.verifier import recheck
from tests.world.files import BOOK, CATALOG, PROBLEM
from tests.world.files import changed as edited
from tests.world.solved import solve

LEVELS = """\
    support_level: business
    support_levels:
      business: {per_year: 8 %}
      critical: {per_year: 50000 USD, included_years: 1}
"""
TERM = "term: {years: 4, electricity: 0.1 USD/kWh, support_years: 3%s}\n"


def written(tmp_path: Path, *, term: str = "", items: str = "", book: str = LEVELS) -> Path:
    problem = re.sub(r"^(term|items):.*\n(  .*\n)*", "", PROBLEM, flags=re.MULTILINE)
    own = f"items:\n  gpu_box: {{{items}}}\n" if items else ""
    (tmp_path / "problem.yaml").write_text(problem + TERM % term + own, "utf-8")
    (tmp_path / "own.yaml").write_text(CATALOG, "utf-8")
    prices = edited(BOOK, "    support_per_year: 8 %\n  quick_store:", book + "  quick_store:")
    (tmp_path / "book.yaml").write_text(prices, "utf-8")
    return tmp_path / "problem.yaml"


def solved(path: Path) -> tuple[Inputs, Plan]:
    inputs = load(path)
    return inputs, solve(inputs)


@pytest.mark.parametrize(
    ("term", "items", "level", "each_usd", "since", "years"),
    [
        ("", "", "business", 22_800.0, 0.0, 3.0),
        (", support_level: critical", "", "critical", 50_000.0, 1.0, 2.0),
        ("", "support_level: critical", "critical", 50_000.0, 1.0, 2.0),
        ("", "support_level: critical, support_years: 4", "critical", 50_000.0, 1.0, 3.0),
        (", support_level: critical", "support_level: business", "business", 22_800.0, 0.0, 3.0),
        ("", "support_level: none", "none", 0.0, 0.0, 3.0),
        (", support_level: none", "", "none", 0.0, 0.0, 3.0),
    ],
)
def test_level_and_term_by_line(
    tmp_path: Path,
    term: str,
    items: str,
    level: str,
    each_usd: float,
    since: float,
    years: float,
) -> None:
    inputs, plan = solved(written(tmp_path, term=term, items=items))
    line = next(line for line in plan.lines if line.sku == "gpu_box")
    assert line.unit_net_usd == 285_000.0  # after the discount of the book
    assert line.support_level == level
    assert line.support_usd_per_year == each_usd * line.purchased
    assert (line.support_from_years, line.support_years) == (since, years)
    assert plan.totals is not None
    yearly = sum(one.support_usd_per_year or 0.0 for one in plan.lines)
    assert plan.totals.support_usd_per_year == pytest.approx(yearly)
    energy = plan.totals.energy_usd_per_year or 0.0
    spans = sum((one.support_usd_per_year or 0) * (one.support_years or 0) for one in plan.lines)
    assert plan.totals.tco_usd == pytest.approx((plan.totals.capex_usd or 0) + 4 * energy + spans)
    assert recheck(inputs, plan).disagreements == ()
    row = next(row for row in bill(plan).lines if row.sku == "gpu_box")
    assert row.support_level == level
    assert row.support_per_year == line.support_usd_per_year
    assert row.support_from_years == (since if each_usd else None)
    outside = next(row for row in bill(plan, "customer").lines if row.sku == "gpu_box")
    assert outside.support_level is None


@pytest.mark.parametrize("level", ["critical", "business", "none"])
def test_a_level_changed_in_memory_is_that_of_the_file(tmp_path: Path, level: str) -> None:
    path = written(tmp_path)
    asked = load(path, settings=(f"items.gpu_box.support_level={level}",))
    before = load(path)
    for moved in (
        changed(before, "items.gpu_box.support_level", level),
        applied(before, [Change("items.gpu_box.support_level", level, level)]),
        inputs_from_text(inputs_to_text(asked)),
        changed(
            changed(before, "items.gpu_box.support_level", "none"),
            "items.gpu_box.support_level",
            level,
        ),
    ):
        price, other = moved.prices["gpu_box"], asked.prices["gpu_box"]
        assert price.support_per_year == other.support_per_year
        if level != "none":
            assert price.support_included_years == other.support_included_years
