"""Pages of plans and studies: what each edition shows, in which currency."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.commands.deliver import EDITIONS
from planner.commands.deliver import plan_page as page_of_plan
from planner.schema.plan import Plan
from tests.report.charts.samples import report
from tests.report.samples_sensitivity import (
    cost_frontier,
    power_sweep,
    storage_frontier,
    tornado,
    uncertain,
)
from tests.world.commands import ran
from tests.world.solved import write_plan

PROBLEM = Path(__file__).parents[3] / "problems" / "10MW.yaml"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return write_plan(tmp_path_factory.mktemp("plans") / "10MW.plan.json", PROBLEM)


@pytest.mark.exhaustive(keep=0)
def test_one_page_of_everything() -> None:
    studies = [*((each, None) for each in (storage_frontier(), cost_frontier(), tornado(),
                                           uncertain())), power_sweep(21)]  # fmt: skip
    text = report("10 MW", (), studies)
    assert text.count('class="plot"') == 4 + 4 + 3 + 4 and "<h1>10 MW</h1>" in text
    assert report("10 MW", (), studies) == text


def test_a_sweep_without_rows_is_on_a_page() -> None:
    study, rows = power_sweep(3)
    empty = study.model_copy(update={"rows": 0, "statuses": {}})
    assert "No scenario was solved." in report("x", None, [(empty, {name: [] for name in rows})])


@pytest.mark.parametrize(
    ("edition", "seen", "unseen"),
    [
        ("internal", ("unit net, USD", "TCO", "Storage alternatives", "10MW.yaml"), ()),
        ("customer", ("unit net, USD",), ("TCO", "discount", "alternatives", "10MW.yaml")),
        ("customer-no-prices", ("part number",), ("USD", "capex", "10MW.yaml", "alternatives")),
        ("partner", ("unit net, USD",), ("TCO", "10MW.yaml", "incumbent")),
    ],
)
def test_a_page_shows_what_its_audience_may_see(
    plan: Plan, edition: str, seen: tuple[str, ...], unseen: tuple[str, ...]
) -> None:
    text = page_of_plan(plan, EDITIONS[edition]).decode()
    assert [word for word in seen if word not in text] == []
    assert [word for word in unseen if word in text] == []


def test_commands_write_pages(small: str, tmp_path: Path) -> None:
    assert ran("solve", small, "--html", "-q", "-o", str(tmp_path)).code == 0
    assert "<h1>Small hall</h1>" in (tmp_path / "problem.html").read_text("utf-8")
