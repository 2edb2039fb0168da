"""Pages of plans and studies: what each edition shows, in which currency."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.commands.files import EDITIONS, page_of
from planner.commands.results import shown_study
from planner.schema.plan import Plan
from tests.report.charts.test_rules_chart import table
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


def page(plans: list[tuple[str, Plan]], *studies: object, edition: str = "internal") -> str:
    record_rows = [each if isinstance(each, tuple) else (each, None) for each in studies]
    shown = [shown_study(*each) for each in record_rows]
    (content,) = page_of(Path("x.html"), plans, shown, EDITIONS[edition]).values()
    return content.decode()


@pytest.mark.exhaustive(keep=0)
def test_one_page_of_everything(plan: Plan) -> None:
    studies = (storage_frontier(), cost_frontier(), tornado(), uncertain(), power_sweep(21))
    text = page([("10MW", plan)], *studies)
    assert text.count('class="plot"') == 4 + 4 + 3 + 4 and "<h1>10 MW training hall</h1>" in text
    assert page([("10MW", plan)], *studies) == text


def test_a_sweep_without_rows_is_on_a_page() -> None:
    study, rows = power_sweep(3)
    empty = study.model_copy(update={"rows": 0, "statuses": {}})
    assert "No scenario was solved." in page([], (empty, {name: [] for name in rows}))


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
    text = page([("10MW", plan)], edition=edition)
    assert [word for word in seen if word not in text] == []
    assert [word for word in unseen if word in text] == []


def parts_of(text: str) -> dict[str, str]:
    """Return the sections of a page with a heading of the second level, by their place."""
    found = re.split(r'<section id="([\w-]+)"><h2>', text)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_compared_plans_use_the_first_plans_currency(plan: Plan, tmp_path: Path) -> None:
    own = tmp_path / "euros.yaml"
    rate = "exchange: {EUR: {usd: 2, on: 2026-11-20, source: ECB}}\ncurrency: EUR\n"
    own.write_text(PROBLEM.read_text("utf-8") + rate)
    dollars, euros = ("dollars", plan), ("euros", write_plan(tmp_path / "euros.plan.json", own))
    assert plan.totals is not None and plan.totals.capex_usd is not None
    capex = {code: f"{plan.totals.capex_usd / usd / 1e6:,.2f} M{code}"
             for code, usd in (("EUR", 2.0), ("USD", 1.0))}  # fmt: skip
    told = "1 EUR = 2 USD on 2026-11-20 (ECB)"
    for plans, codes in (((euros, dollars), ("EUR", "USD")), ((dollars, euros), ("USD", "EUR"))):
        parts = parts_of(page([*plans], table()))
        said = f"Amounts side by side are in {codes[0]}, the currency of the first plan ({told})."
        pairs = zip(plans, codes, strict=True)
        each = ", ".join(f"{name} in {code}" for (name, _), code in pairs)
        assert f"{said} Below, each plan is in its own: {each}." in parts["plans"]
        assert parts["plans"].count(capex[codes[0]]) >= 2
        assert capex[codes[1]] not in parts["plans"]
        for number, code in enumerate(codes, 1):
            inside = parts[f"plan-{number}"]
            assert inside.count(told) == (code == "EUR")
            inside = inside.replace(told, "")
            assert {"EUR", "USD"} & set(re.findall(r"[A-Z]{3}", inside)) == {code}
            assert capex[code] in inside and f"unit net, {code}" in inside
        assert "+3.00 MUSD" in parts["study-1"] and "EUR" not in parts["study-1"]
    assert "ECB" not in page([euros, dollars], edition="customer")
    outside = page([euros], edition="customer")
    assert "unit net, EUR" in outside and "USD" not in outside and "ECB" not in outside


def test_commands_write_pages(small: str, tmp_path: Path) -> None:
    assert ran("solve", small, "--html", "-q", "-o", str(tmp_path)).code == 0
    plan_file = str(tmp_path / "problem.plan.json")
    assert ran("compare", small, plan_file, "-o", str(tmp_path / "two"), "-q").code == 0
    assert "side by side" in (tmp_path / "two/compare.html").read_text("utf-8")
    assert "<h1>Small hall</h1>" in (tmp_path / "problem.html").read_text("utf-8")
