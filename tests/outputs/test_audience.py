"""The customer's edition of a plan: every field decided, nothing that speaks of money."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planner.outputs.audience import HIDDEN_OBJECTIVE, RULES, MoneyWords, for_audience
from planner.schema.base import PlanModel
from planner.schema.plan import (
    Assumption,
    LimitReport,
    NotConsidered,
    ObjectiveReport,
    Plan,
)
from tests.world.gear_plans import infeasible, plan
from tests.world.setups import CASES
from tests.world.solved import solved

# Every field is decided.


def models(base: type[PlanModel] = PlanModel) -> Iterator[type[PlanModel]]:
    for model in base.__subclasses__():
        if model.__module__.startswith("planner."):
            yield model
            yield from models(model)


@pytest.mark.parametrize("model", sorted(models(), key=lambda m: m.__name__))
def test_every_field_of_a_plan_is_decided(model: type[PlanModel]) -> None:
    """Where this fails: say in planner/outputs/audience_rules.py whether a customer may see it."""
    rule = RULES[model]
    decided = [*rule.kept, *rule.texts, *rule.removed]
    assert sorted(decided) == sorted(model.model_fields)


def test_what_stands_for_removed_fields_says_nothing() -> None:
    for rule in RULES.values():
        assert all(value in (None, 0.0, (), {}) for value in rule.removed.values())


@pytest.mark.parametrize("name", sorted(CASES))
def test_nothing_but_money_and_its_words_is_taken_out(name: str) -> None:
    whole = plan(CASES[name])
    shown = for_audience(whole, "customer")
    assert for_audience(whole, "internal") is whole
    assert for_audience(shown, "customer") == shown
    assert (shown.jobs, shown.fabrics, shown.racks) == (whole.jobs, whole.fabrics, whole.racks)
    assert len(shown.lines) == len(whole.lines)
    for line, before in zip(shown.lines, whole.lines, strict=True):
        for field in RULES[type(line)].kept:
            assert getattr(line, field) == getattr(before, field)
        assert (line.unit_list_usd, line.discount, line.price) == (None, 0.0, None)
    assert shown.totals is not None
    assert shown.totals.it_power_kw == whole.totals.it_power_kw
    assert (shown.totals.capex_usd, shown.totals.capex_by_section_usd) == (None, {})
    kept = [limit.name for limit in whole.limits if "USD" not in limit.unit]
    assert [limit.name for limit in shown.limits] == kept
    assert shown.objective == whole.objective
    assert shown.provenance.price_books == ()
    assert shown.provenance.input_sha256 == whole.provenance.input_sha256


def test_a_plan_without_lines_passes_too() -> None:
    text = "no plan is possible; there is one without the capital budget (budget.capex)"
    shown = for_audience(infeasible().model_copy(update={"message": text}), "customer")
    assert (shown.status, shown.message, shown.totals) == ("infeasible", None, None)
    assert for_audience(infeasible(), "customer").message == "the racks hold no GPU system"


def with_lists(**changes: object) -> Plan:
    return for_audience(plan(CASES["async"], **changes), "customer")


def assumption(name: str, label: str = "x", unit: str = "", **more: object) -> Assumption:
    fields: dict[str, object] = {"value": 1.0, "source": "hall.yaml:3"}
    return Assumption(name=name, label=label, unit=unit, **(fields | more))  # type: ignore[arg-type]


def test_assumptions_of_money_are_left_out() -> None:
    given = (
        assumption("electricity", "what the meter takes", "USD/kWh"),
        assumption("colocation", "for a kW", "1/month"),
        assumption("discount_rate", "yearly rate", "share"),
        assumption("years", "term", "years"),
        assumption("a", "price of power"),
        assumption("b", "how it is bought", value="at cost"),
        assumption("c", source="Sheet of costs, 2024"),
        assumption("d", source="--set term={years: 4, electricity: 0.08 USD/kWh}"),
        assumption("e", note="12 kW; 1,000 USD cheaper elsewhere"),
        assumption("f", note="12 kW"),
    )
    shown = {entry.name: entry for entry in with_lists(assumptions=given).assumptions}
    assert list(shown) == ["years", "c", "d", "e", "f"]
    assert shown["c"].source == "not shown"
    assert shown["d"].source == "set for this run"
    assert (shown["e"].note, shown["f"].note) == (None, "12 kW")


def test_limits_of_money_are_left_out_and_lead_time_stays() -> None:
    def limit(name: str, unit: str, **more: object) -> LimitReport:
        fields = {"label": name, "value": 1.0, "sense": "<=", "limit": 2.0, "slack": 1.0}
        fields |= {"binding": False, "source": "hall.yaml:7"}
        return LimitReport(name=name, unit=unit, **(fields | more))  # type: ignore[arg-type]

    given = (
        limit("capex", "USD"),
        limit("opex", "USD/year"),
        limit("per_useful_gpu_hour", "USD/h"),
        limit("split.0", "share", label="largest vendor's share of storage money"),
        limit("split.1", "share", label="largest vendor's share of storage units"),
        limit("lead_time", "days"),
        limit("it_power", "kW", source="--set budget={capex: 1 MUSD}"),
        limit("racks", "racks", source="low_budget.yaml:12"),
    )
    shown = {entry.name: entry.source for entry in with_lists(limits=given).limits}
    assert shown == {
        "split.1": "hall.yaml:7",
        "lead_time": "hall.yaml:7",
        "it_power": "set for this run",
        "racks": None,
    }


def test_texts_that_speak_of_money_go_and_others_stay() -> None:
    whole = plan(CASES["async"])
    whole = whole.model_copy(
        update={
            "problem": "Hall for 450 MUSD",
            "description": "a hall with a low budget",
            "warnings": ("storage is 0.7% of capex", "no ports are stated", "list 412,345.67 each"),
            "not_considered": (
                NotConsidered(sku="a", reason="no price in the price books"),
                NotConsidered(sku="b", reason="excluded by items"),
            ),
            "provenance": whole.provenance.model_copy(
                update={
                    "overrides": ("site.racks=4", "budget.capex=9 USD"),
                    "problem_file": "quotes/hall.yaml",
                    "scenario": "half_power",
                    "catalogs": ("systems", "systems with prices"),
                }
            ),
        }
    )
    first = whole.lines[0].model_copy(
        update={"notes": ("10 kW", "sold at 361,627 before"), "description": "8 GPUs"}
    )
    shown = for_audience(whole.model_copy(update={"lines": (first, *whole.lines[1:])}), "customer")
    assert (shown.problem, shown.description) == ("Plan", None)
    assert shown.warnings == ("no ports are stated",)
    reasons = [entry.reason for entry in shown.not_considered]
    assert reasons == ["not on offer", "excluded by items"]
    made = shown.provenance
    assert (made.overrides, made.problem_file, made.scenario) == ((), "", "half_power")
    assert made.catalogs == ("systems",)
    assert (shown.lines[0].notes, shown.lines[0].description) == (("10 kW",), "8 GPUs")


def test_an_objective_of_money_keeps_its_gap_only() -> None:
    goal = ObjectiveReport(
        name="tco", sense="minimize", value=91e6, unit="USD", bound=9e7, gap=0.01, gap_asked=0.02
    )
    shown = with_lists(objective=goal).objective
    assert (shown.name, shown.unit, shown.gap) == (HIDDEN_OBJECTIVE, "", 0.01)
    assert (shown.value, shown.bound, shown.log_value, shown.log_bound) == (None,) * 4


# What speaks of money.

AMOUNTS = MoneyWords((310_000.55, 42_345_678.9, 0.1234, 0.08, 1_450.0, 145.0, 28.75, 0.0))


@pytest.mark.parametrize(
    "text",
    [
        "the price", "PRICES", "unit_price", "capex_usd", "150MUSD", "usd 3", "5 kUSD", "10 $",
        "€ 4", "at a margin of 10 %", "discounted", "budgetary", "a quote", "total cost",
        "TCO over 4 years", "pr\x00ice", "pr\u202eice", "ＵＳＤ", "３１００００.55",
        "310000.55", "310,000.55", "310 000,55", "310.000,55", "310'000.55", "310\u202f000.55",
        "310,001", "310 k", "310k", "310.0 k", "0.31 M and more", "42.3 M", "42.35 million",
        "about 42,345,679", "42,346 thousand", "12.34 %", "12.34%", "12.3 %", "8 %", "8 per cent",
        "1450", "1,450 each", "x 1,450.00", "145 in the list", "28.75", "0.1234",
    ],
)  # fmt: skip
def test_what_speaks_of_money(text: str) -> None:
    assert AMOUNTS(text)


@pytest.mark.parametrize(
    "text",
    [
        "enterprise", "priceless", "accost", "Marginal", "3 GPUs", "H1450", "v1.450", "1,450 kW",
        "1450 GB/s", "145 units", "1,450 days", "28.75 kg", "1.450 TB", "310,500", "80 %",
        "12.4 %", "12.34", "8", "145.5", "14.5", "1:1", "2025", "MMA4Z00-NS400", "42 M parameters",
        "checkpoints every 662 s need 208 GB/s", "a fabric with 144 leaf switches",
    ],
)  # fmt: skip
def test_what_does_not_speak_of_money(text: str) -> None:
    assert not AMOUNTS(text)


def test_no_warning_of_the_shipped_example_is_lost_for_nothing() -> None:
    whole = solved("10MW")
    shown = for_audience(whole, "customer")
    gone = [text for text in whole.warnings if text not in shown.warnings]
    words = ("price", "capex", "quote")
    assert gone
    assert [text for text in gone if not any(word in text for word in words)] == []
    kept = {entry.name for entry in shown.assumptions}
    assert [e.name for e in whole.assumptions if e.name not in kept] == ["electricity"]
    assert [line.notes for line in shown.lines] == [line.notes for line in whole.lines]
