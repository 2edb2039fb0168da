"""The first screen: one page that answers, and what the next GPU systems would need and give."""

from __future__ import annotations

import re

import pytest

from planner import api, terminal
from planner.case.resolve import resolve
from planner.outputs import answer, console
from planner.outputs.audience import for_audience
from planner.outputs.why_text import needed
from planner.outputs.words import about, duration, proof, quantity, size, years
from planner.schema.plan import LimitReport, NextStep, Plan
from planner.terminal import STANDARD
from tests.world.gear_plans import plan as made
from tests.world.random_cases import inputs_of
from tests.world.requests import Request
from tests.world.setups import CASES
from tests.world.solved import solved as shipped

PAGE = 45
"""Lines that a terminal of a laptop shows at once."""


def hall(**site: str) -> Request:
    """Return a hall for five systems of 8 GPUs and 10 kW, storage beside them."""
    request = Request(maximize="goodput")
    request.job["training"] = {"mfu": "40 %"}
    request.site |= site
    return request


def solved(request: Request) -> tuple[api.Inputs, Plan]:
    inputs = inputs_of(request.case())
    plan = api.solve_inputs(inputs, explain=False)
    assert plan.status == "optimal", plan.message
    return inputs, plan


def step_of(plan: Plan) -> NextStep:
    assert plan.next_step is not None
    return plan.next_step


@pytest.mark.parametrize("name", sorted(CASES))
def test_it_fits_a_page_and_says_what_more_there_is(name: str) -> None:
    shown = answer.render(made(CASES[name]))
    lines = shown.splitlines()
    assert len(lines) <= PAGE
    assert max(map(len, lines)) <= STANDARD
    for label in ("Objective", "Power", "Checkpoint", "More"):
        assert [line for line in lines if line.startswith(f"{label} ")], label
    assert "HiGHS" not in shown
    assert "--show lines" in " ".join(lines[-2:])


def test_what_is_asked_is_no_part_of_what_is_known() -> None:
    _, plan = solved(hall(weight_limit="60 t"))
    assert any(limit.label == "weight, known part" for limit in plan.limits)
    assert "60,000 kg of weight" in (said := answer.question_text(plan, plan.jobs[0]))
    assert "known part" not in said


@pytest.mark.parametrize("part", answer.PARTS)
def test_a_part_is_the_one_of_the_whole_screen(part: str) -> None:
    plan = made(CASES["complete"])
    asked = answer.render(plan, [part])
    added = asked.removeprefix(asked[: len(asked) - len(console.render_parts(plan, [part]))])
    assert added
    assert added.strip("\n") in console.render(plan)
    assert part not in asked.split(added)[0].split("More ")[-1].split()


def test_all_parts_are_the_whole_screen() -> None:
    plan = made(CASES["complete"])
    told = console.render_parts(plan, answer.PARTS)
    whole = console.render(plan).split("\n\n")
    assert sorted(told.strip("\n").split("\n\n")) == sorted(part.strip("\n") for part in whole[1:])


def test_the_first_notes_take_a_line_each() -> None:
    plan = made(CASES["complete"]).model_copy(update={"warnings": tuple(["long " * 60] * 9)})
    shown = answer.render(plan)
    assert shown.count("- long") == shown.count("…") == 3
    assert "notes (all 9)" in " ".join(shown.split())
    assert "- long" not in answer.render(plan, ["lines", "notes"]).split("Read this too")[0]


@pytest.mark.parametrize(
    ("value_s", "said"),
    [(118.125, "118.1 s of 3.0 min"), (171.0, "2.9 of 3.0 min")],
)
def test_what_is_reached_stands_without_its_unit_only_where_the_limit_has_the_same(
    value_s: float, said: str
) -> None:
    limit = LimitReport(
        name="restore_time", label="restore time", value=value_s, sense="<=", limit=180.0,
        unit="s", slack=180.0 - value_s, binding=True, source=None,
    )  # fmt: skip
    plan = made(CASES["async"]).model_copy(update={"limits": (limit,), "next_step": None})
    assert said in " ".join(answer.render(plan).split())


def test_money_per_work_keeps_the_digits_that_tell_plans_apart() -> None:
    """A plan of 0.2472 USD was proven to be best by a bound of 0.25 USD."""
    goal = made(CASES["async"]).objective.model_copy(
        update={"name": "usd_per_million_tokens", "sense": "minimize", "unit": "USD",
                "value": 0.247234, "best": 0.247234, "bound": 0.247229, "given_away": None}
    )  # fmt: skip
    assert "0.2472 USD; no plan has less than 0.2472 USD" in proof(goal)
    assert [quantity(usd, "USD") for usd in (0.247234, 0.0, 2.5)] == [
        "0.2472 USD", "0.00 USD", "2.50 USD",
    ]  # fmt: skip


def test_the_next_step_needs_what_it_takes_and_gives_what_it_gives() -> None:
    inputs, plan = solved(hall(it_power="53 kW"))
    step = step_of(plan)
    (need,) = step.needs
    assert (step.systems, step.gpus) == (1, 8)
    assert need.name == "it_power"
    assert need.value == pytest.approx(plan.totals.it_power_kw + 10.0 if plan.totals else 0.0)
    assert need.limit == 53.0
    more = solved(hall(it_power=f"{need.value} kW"))[1]
    assert more.objective.value is not None
    assert plan.objective.value is not None
    assert plan.objective.value < step.value <= more.objective.value * (1 + 1e-6)
    assert "1 Alpha gpu more would need" in " ".join(answer.render(plan).split())
    assert resolve(inputs).maximise


def test_no_next_step_where_less_is_asked_for_or_nothing_gives_way() -> None:
    request = hall(it_power="53 kW")
    request.more["objective"] = {"minimize": "power", "indifference": 0}
    request.more["targets"] = {"min_gpus": 16}
    assert solved(request)[1].next_step is None
    request = hall(it_power="200 kW")
    request.more["items"] = {"gpu": {"stock": 2}}
    assert solved(request)[1].next_step is None
    request = hall(it_power="53 kW")
    assert solved(request)[1].next_step is not None
    request.more["items"] = {"gpu": {"max": 4}}
    assert solved(request)[1].next_step is None
    request = hall(it_power="53 kW")
    request.job["gpus"] = {"max": 32}
    assert solved(request)[1].next_step is None


def test_no_next_step_that_the_storage_does_not_feed() -> None:
    """Power was said to be all that a fifth system needs; 40 GPUs read more than is delivered."""
    request = hall(it_power="53 kW")
    request.job["ingest_per_gpu"] = "0.22 GB/s"
    plan = solved(request)[1]
    assert plan.jobs[0].delivered_read_gb_per_s / 40 < 0.22
    assert plan.next_step is None


def test_the_customer_does_not_see_it() -> None:
    _, plan = solved(hall(it_power="53 kW"))
    assert for_audience(plan, "customer").next_step is None


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0021, "0.0021"), (0.5, "0.5"), (8.5, "8.5"), (9.96, "10"), (12.4, "12"), (3521.4, "3,521")],
)
def test_a_little_is_never_said_to_be_nothing(value: float, said: str) -> None:
    assert about(value) == said


def test_small_times_and_sizes_are_never_0() -> None:
    assert (duration(0.004), duration(0.3), size(0.012), size(0.4)) == (
        "0.004 s", "0.3 s", "0.012 GB", "0.4 GB"
    )  # fmt: skip
    assert (years(1.0), years(3.5)) == ("1 year", "3.5 years")


def test_a_floor_names_its_unit_once() -> None:
    request = hall(it_power="53 kW")
    request.more["targets"] = {
        "min_gpus": 8,
        "min_useful_gpus": 4,
        "min_useful_pflops": 1.0,
    }
    _, plan = solved(request)
    said = answer.question_text(plan, plan.jobs[0])
    assert "with at least 8 GPUs in use, at least 4 useful GPUs and at least 1 PFLOP/s of " in said


def test_a_rule_is_part_of_what_storage_must_do() -> None:
    plan = shipped("light_rule")
    found, rule = plan.storage_options, {limit.name: limit.limit for limit in plan.limits}
    assert found is not None
    read, write = (f"{rule[f'rule_{side}']:,.0f} GB/s of {side}" for side in ("read", "write"))
    assert f", by its rule {read} and {write} of nameplate, " in needed(plan, found)
    assert "rule" not in needed(shipped("10MW"), found)


def test_what_the_field_has_seen_is_set_against_what_is_needed() -> None:
    """A rule sizes storage: a drain may take the whole interval, not a tenth of it."""
    often = "jobs.0.checkpoint.interval={policy: fixed, every: 5 min}"
    by_rule, by_need = shipped("light_rule", often), shipped("10MW", often)
    assert by_need.jobs[0].checkpoint_gb / 300.0 < 200.0 < by_need.jobs[0].checkpoint_gb / 30.0
    assert "systems were seen to use" in "\n".join(by_need.warnings)
    assert "systems were seen to use" not in "\n".join(by_rule.warnings)


def test_spares_are_left_out_once() -> None:
    plan = shipped("gpt3_octet")
    (job,) = plan.jobs
    assert job.repair is None and "spares" in plan.not_counted and plan.totals is not None
    told = dict(answer.answer_lines(plan, plan.totals, job))["Excluded"]
    assert told.endswith("repair and spares") and told.count("spares") == 1


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("name", ["10MW", "enterprise_1MW", "gpt3_octet"])
def test_no_line_is_wider_than_the_screen(
    name: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "_columns", columns)
    shown = answer.render(shipped(name), answer.PARTS)
    assert max(map(len, shown.splitlines())) <= columns


def test_the_parts_of_the_purchase_add_up_to_its_total() -> None:
    plan = shipped("10MW")
    assert plan.totals is not None and plan.totals.capex_usd is not None
    rows = answer.render(plan).split("\nBuy\n")[1].split("\n\n")[0].splitlines()[1:]
    musd = [float(re.findall(r"\d+\.\d\d", row)[0]) for row in rows]
    assert musd[-1] == pytest.approx(sum(musd[:-1]), abs=0.03)
    assert musd[-1] == pytest.approx(plan.totals.capex_usd / 1e6, abs=0.006)


def test_what_binds_stands_first_with_a_full_bar() -> None:
    plan = shipped("10MW")
    rows = answer.render(plan).split("\nLimits\n")[1].split("\n\n")[0].splitlines()
    binding = [row for row in rows if row.endswith("binding")]
    assert binding and rows[: len(binding)] == binding
    assert all("·" not in row for row in binding if " of " in row)
