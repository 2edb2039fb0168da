"""The customer's edition of a plan: every field decided, nothing that speaks of money."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from planner.outputs.audience import (
    HIDDEN_OBJECTIVE,
    RULES,
    MoneyWords,
    OutsideWords,
    Prices,
    for_audience,
)
from planner.schema.base import PlanModel
from planner.schema.plan import LimitReport, ObjectiveReport, Plan
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
        assert all(value in (None, 0, 0.0, "", (), {}) for value in rule.removed.values())


def test_prices_pass_where_they_are_asked_for_alone() -> None:
    """A partner sees all that a customer may; no field that is no price ever passes as one."""
    for model, rule in RULES.items():
        shown = [rule.priced.get(prices, frozenset()) for prices in ORDER]
        assert shown[0] == frozenset()
        assert all(less <= more for less, more in itertools.pairwise(shown)), model
        assert all("usd" in name or name in ("discount", "support_share") for name in shown[-1])
        assert shown[-1] <= set(rule.removed)


ORDER: tuple[Prices, ...] = ("none", "net", "list+net", "discount")


@pytest.mark.parametrize("name", sorted(CASES))
def test_numbers_of_the_plan_pass_and_what_is_inside_does_not(name: str) -> None:
    whole = plan(CASES[name])
    shown = for_audience(whole, "customer", "none")
    assert for_audience(whole, "internal") is whole
    assert for_audience(shown, "customer", "none") == shown
    assert (shown.jobs, shown.fabrics, shown.racks) == (whole.jobs, whole.fabrics, whole.racks)
    assert len(shown.lines) == len(whole.lines)
    for line, before in zip(shown.lines, whole.lines, strict=True):
        for field in RULES[type(line)].kept:
            assert getattr(line, field) == getattr(before, field)
        assert (line.unit_list_usd, line.discount, line.price, line.notes) == (None, 0.0, None, ())
    assert shown.totals is not None
    assert shown.totals.it_power_kw == whole.totals.it_power_kw
    assert (shown.totals.capex_usd, shown.totals.capex_by_section_usd) == (None, {})
    kept = [limit.name for limit in whole.limits if "USD" not in limit.unit]
    assert [limit.name for limit in shown.limits] == kept
    assert (shown.objective.name, shown.objective.value) == (
        whole.objective.name, whole.objective.value,
    )  # fmt: skip
    assert (shown.objective.gap, shown.objective.bound) == (None, None)
    assert (shown.warnings, shown.assumptions, shown.not_considered) == ((), (), ())
    assert (shown.provenance.price_books, shown.provenance.solver) == ((), "")
    assert shown.provenance.input_sha256 == whole.provenance.input_sha256


@pytest.mark.parametrize("name", sorted(CASES))
def test_prices_are_those_of_the_plan(name: str) -> None:
    whole = plan(CASES[name])
    net = for_audience(whole, "customer")
    both = for_audience(whole, "customer", "list+net")
    partner = for_audience(whole, "partner")
    for before, line, listed, known in zip(
        whole.lines, net.lines, both.lines, partner.lines, strict=True
    ):
        assert (line.unit_net_usd, line.extended_net_usd) == (
            before.unit_net_usd, before.extended_net_usd,
        )  # fmt: skip
        assert (line.unit_list_usd, line.discount) == (None, 0.0)
        assert (listed.unit_list_usd, listed.discount) == (before.unit_list_usd, 0.0)
        assert (known.unit_list_usd, known.discount) == (before.unit_list_usd, before.discount)
        assert (line.price, listed.price, known.price) == (None, None, None)
    assert whole.totals is not None
    for shown in (net, both, partner):
        assert shown.totals is not None
        assert shown.totals.capex_usd == whole.totals.capex_usd
        assert (shown.totals.tco_usd, shown.totals.opex_usd_per_year) == (None, None)
        assert shown.site.electricity_usd_per_kwh is None
        assert not [limit for limit in shown.limits if "USD" in limit.unit]


def test_a_plan_without_lines_passes_too() -> None:
    text = "no plan is possible; there is one without the capital budget (budget.capex)"
    shown = for_audience(infeasible().model_copy(update={"message": text}), "customer")
    assert (shown.status, shown.message, shown.totals) == ("infeasible", None, None)
    assert for_audience(infeasible(), "customer").message == "the racks hold no GPU system"


def with_lists(**changes: object) -> Plan:
    return for_audience(plan(CASES["async"], **changes), "customer")


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
    assert shown == dict.fromkeys(("split.1", "lead_time", "it_power", "racks"))


def test_texts_that_give_something_away_go_and_others_stay() -> None:
    whole = plan(CASES["async"]).model_copy(update={"problem": "Hall for 450 MUSD"})
    first = whole.lines[0].model_copy(
        update={
            "notes": ("10 kW",),
            "description": "8 GPUs",
            "role": "guess",
            "vendor": "Rival Ltd",
        }
    )
    shown = for_audience(whole.model_copy(update={"lines": (first, *whole.lines[1:])}), "customer")
    assert shown.problem == "Plan"
    line = shown.lines[0]
    assert (line.notes, line.description, line.role, line.vendor) == ((), "8 GPUs", None, "")
    assert shown.lines[1].model == whole.lines[1].model


def test_an_objective_of_money_is_not_named() -> None:
    goal = ObjectiveReport(
        name="tco", sense="minimize", value=91e6, unit="USD", bound=9e7, gap=0.01, gap_asked=0.02
    )
    shown = with_lists(objective=goal).objective
    assert (shown.name, shown.unit, shown.value) == (HIDDEN_OBJECTIVE, "", None)


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


OUTSIDE = OutsideWords((310_000.55,))


@pytest.mark.parametrize(
    "text",
    [
        "optimal by HiGHS", "gap 0.01 %", "an estimate", "guessed", "from a broker note",
        "third-party listing", "a market tracker says", "low confidence", "our rivals",
        "beats the competition", "lost on price", "worse than DDN", "internal only",
        "CONFIDENTIAL", "do not show", "negotiable later: negotiate", "poor", "TODO", "hall.yaml",
        "see /home/x/y", "C:\\deals\\x", "--set budget", "https://example.com/a",
        "jobs.gpus.max", "a list of 310,000.55", "the price", "ｉｎｔｅｒｎａｌ", "inter\u200bnal",
    ],
)  # fmt: skip
def test_what_stays_inside(text: str) -> None:
    assert OUTSIDE(text)


@pytest.mark.parametrize(
    "text",
    [
        "8-GPU air-cooled Blackwell system",
        "Storage node, 14 x 7.68 TB TLC",
        "10 weeks",
        "compute: 128 leaf, 128 spine, 64 core",
        "one per 144 gpus",
        "N+1 in every rack",
        "Rack of 48 RU for air-cooled systems, without PDUs",
        "920-9B210-00FN-0M0",
        "International hall",
        "Sourcewell hall 3",
        "power at the meter",
        "drain overlap",
        "Twin-port OSFP transceiver, finned top, 2 x 400 Gb/s",
        "WEKApod Nitro 155",
        "losslessly",
    ],
)
def test_what_may_leave_the_house(text: str) -> None:
    assert not OUTSIDE(text)


def test_no_product_of_the_shipped_example_loses_its_name_for_nothing() -> None:
    whole = solved("10MW")
    shown = for_audience(whole, "customer")
    for line, before in zip(shown.lines, whole.lines, strict=True):
        assert (line.vendor, line.model, line.part_number, line.description) == (
            before.vendor, before.model, before.part_number, before.description,
        )  # fmt: skip
        assert (line.role, line.lead_time, line.unit) == (
            before.role, before.lead_time, before.unit,
        )  # fmt: skip
    labels = [limit.label for limit in whole.limits if "USD" not in limit.unit]
    assert [limit.label for limit in shown.limits] == labels
