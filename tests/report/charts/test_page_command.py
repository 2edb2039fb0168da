"""Pages of plans and studies: what each edition shows, in which currency."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.commands.deliver import EDITIONS
from planner.commands.deliver import plan_page as page_of_plan
from planner.schema.plan import Plan
from tests.world.commands import ran
from tests.world.solved import write_plan

PROBLEM = Path(__file__).parents[3] / "problems" / "10MW.yaml"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return write_plan(tmp_path_factory.mktemp("plans") / "10MW.plan.json", PROBLEM)


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
