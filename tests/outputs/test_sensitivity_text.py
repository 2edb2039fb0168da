"""Sensitivity studies on the screen: what they say, how wide they are, what they survive."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from planner.outputs import frontier_text, sweep_text, tornado_text, uncertain_text
from planner.outputs.blocks import screen
from planner.outputs.sweep_rows import best, reasons, stretches
from planner.outputs.words import decimals, scale
from planner.schema.sensitivity import Frontier, Sweep, Tornado
from planner.terminal import STANDARD
from tests.outputs import samples_sensitivity as samples
from tests.outputs.hostile import TEXTS
from tests.outputs.samples_sensitivity import NO_ROOM, POWER, everything, nothing, saying

VIEW: dict[type[Any], Any] = {
    Frontier: frontier_text.view,
    Tornado: tornado_text.view,
    Sweep: lambda study: sweep_text.view(study, samples.power_sweep()[1]),
}


def shown(study: Any) -> str:
    text = screen(VIEW.get(type(study), uncertain_text.view)(study))
    assert isinstance(text, str)
    return text


def line_of(text: str, word: str) -> str:
    return next(line for line in text.splitlines() if word in line)


# A sweep.


def test_a_sweep_says_what_was_varied_and_how_it_ended() -> None:
    study, rows = samples.power_sweep()
    text = " ".join(screen(sweep_text.view(study, rows)).split())
    assert "varied: power at the meter (site.facility_power), 500 to 10,500 kW, 101 values" in text
    assert "ended: 94 proven best and 7 no plan" in text
    assert f"{study.solved} needed a search, {study.reused} are certified by" in text
    assert "as the problem stands: useful work 4,055.68 PFLOP/s" in text
    assert "best of all: 4,408.03 PFLOP/s with power at the meter 10,500 kW" in text


def test_one_input_shows_where_the_plan_changes() -> None:
    study, rows = samples.power_sweep(21)
    text = screen(sweep_text.view(study, rows))
    assert line_of(text, "  no plan").split()[:3] == ["500", "1,000", "2"]
    assert "3 × DGX GB200 NVL72, 8 × WEKApod Nitro 155" in text
    assert f"- 500 to 1,000 kW: {NO_ROOM[:40]}" in text


def test_stretches_cover_every_row_once_and_differ_from_their_neighbours() -> None:
    study, rows = samples.power_sweep()
    found = stretches(study, rows, POWER)
    assert sum(each.rows for each in found) == study.rows
    assert [each.first for each in found[1:]] == [each.last + 1 for each in found[:-1]]
    systems = rows["units.nvidia_gb200_nvl72"]
    assert all(systems[each.first] == systems[each.last] for each in found)
    assert all(systems[one.first] != systems[other.first] for one, other in pairwise(found))


def test_stretches_do_not_depend_on_the_order_of_rows() -> None:
    study, rows = samples.power_sweep()
    turned = {name: list(reversed(column)) for name, column in rows.items()}
    places = [(s.first, s.last) for s in stretches(study, turned, POWER)]
    count = study.rows - 1
    expected = [(count - s.first, count - s.last) for s in stretches(study, rows, POWER)]
    assert places == expected


def test_many_stretches_are_shown_from_the_first_to_the_last() -> None:
    study, rows = samples.power_sweep()
    text = screen(sweep_text.view(study, rows))
    assert ": 20 of 64 stretches; the files have every row" in text
    table = text.split("buys\n")[1].split("\n\n")[0].splitlines()
    assert len(table) == sweep_text.MOST_ROWS
    assert table[0].split()[:2] == ["500", "1,100"] and table[-1].split()[0] == "10,500"


def test_several_inputs_show_their_first_rows_and_how_many_more_there_are() -> None:
    text = screen(sweep_text.view(*samples.grid_sweep()))
    assert "The first 20 scenarios" in text
    assert "in the files: 88 more rows" in text
    assert "- 9 scenarios, no plan: power at the meter" in text


def test_a_choice_shows_every_value() -> None:
    text = screen(sweep_text.view(*samples.rule_sweep()))
    assert "demand, light, medium and high" in text
    assert line_of(text, "52 × DGX").split()[0] == "demand"
    assert "more" not in text.split("Scenarios\n")[1]


def test_a_sweep_that_was_cut_short_says_so() -> None:
    study, rows = samples.power_sweep()
    text = screen(sweep_text.view(study.model_copy(update={"asked": 120}), rows))
    assert "19 scenarios of 120 not answered" in " ".join(text.split())


def test_what_is_not_a_number_is_not_known() -> None:
    study, rows = samples.power_sweep(21)
    there = {n: [float("nan") if v is None else v for v in c] for n, c in rows.items()}
    there |= {name: rows[name] for name in ("status", "reason", "binding", "certificate")}
    assert screen(sweep_text.view(study, there)) == screen(sweep_text.view(study, rows))


def test_reasons_that_differ_in_numbers_alone_are_told_once() -> None:
    study, rows = samples.power_sweep(21)
    said = [f"restore time {time} cannot be met" for time in ("60 s", "2 min")]
    rows = {**rows, "reason": [*said, *rows["reason"][2:]]}
    text = screen(sweep_text.view(study, rows))
    assert "- 500 to 1,000 kW: for example restore time 60 s cannot be met\n" in text
    (one,) = reasons(rows)
    assert (one.rows, one.example, one.status) == (2, True, "infeasible")


def test_an_input_that_is_not_there_everywhere_is_shown_as_a_choice() -> None:
    places = [(None,), (9000.0,), (8000.0,)]
    made = samples.sweep((POWER,), places, lambda kw: samples.answer(kw or 5000.0))
    text = screen(sweep_text.view(*made))
    assert "power at the meter (site.facility_power): -, 9,000 and 8,000" in text
    assert line_of(text, "26 × DGX").split()[0] == "-"


def test_the_best_row_follows_the_sense_of_the_objective() -> None:
    study, rows = samples.power_sweep()
    assert best(study, rows) == 100
    assert best(study.model_copy(update={"sense": "minimize"}), rows) == 7


def test_a_sweep_without_rows_or_without_a_plan() -> None:
    study, rows = samples.power_sweep(21)
    none = study.model_copy(update={"rows": 0, "asked": 0, "statuses": {}})
    assert "ended: no scenario" in screen(sweep_text.view(none, {name: [] for name in rows}))
    broke, without = samples.sweep(
        (POWER,), [(float(at),) for at in range(5)], lambda at: samples.answer(at)
    )
    assert "0 to 4 kW: " in screen(sweep_text.view(broke, without))


# A frontier.


def test_a_frontier_marks_the_knee_and_the_best_and_says_what_the_knee_means() -> None:
    text = shown(samples.storage_frontier())
    assert line_of(text, "knee  ").split()[:3] == ["4", "knee", "102.4"]
    assert line_of(text, "best  ").split()[:3] == ["10", "best", "614.4"]
    said = " ".join(text.split())
    assert (
        "it has 96.0 % of the best point's useful work with 16.7 % of its delivered write bandwidth"
        in said
    )
    assert "light rule: 2,483.2 GB/s, useful work 3,988.0 PFLOP/s, 2.8 % less than the best" in said
    assert "best rule: no plan: no plan meets every limit" in said


def test_a_frontier_of_money_is_in_millions() -> None:
    text = shown(samples.cost_frontier())
    assert line_of(text, "best  ").split()[:4] == ["11", "best", "237.7", "3,766.0"]
    assert "MUSD" in text


def test_many_points_keep_the_knee_the_best_and_the_ends() -> None:
    points = tuple(samples.point(10.0 * at, 1000.0 + at) for at in range(1, 301))
    study = samples.storage_frontier().model_copy(update={"points": points, "knee": 3, "best": 77})
    text = shown(study)
    assert "of 300 points; the files have all" in text
    for place in ("1  ", "4  knee", "78  best", "300  "):
        assert any(line.lstrip().startswith(place) for line in text.splitlines())


def test_knee_and_best_may_be_one_and_points_may_be_missing() -> None:
    study = samples.storage_frontier().model_copy(update={"knee": 9, "complete": False})
    text = " ".join(shown(study).split())
    assert "10 knee, best" in text and "it is the best point, too" in text
    assert "Not every plan of the curve" in text


# A tornado.


def bar_of(text: str, label: str) -> str:
    line = line_of(text, label)
    return line[line.index("|") - 12 : line.index("|") + 13]


def test_bars_point_to_the_side_of_the_change_and_are_as_long() -> None:
    text = shown(samples.tornado())
    assert bar_of(text, "power at the meter") == f"{'=' * 12}|{'#' * 12}"
    assert bar_of(text, "MFU") == f"     {'=' * 7}|{'#' * 7}     "
    assert bar_of(text, "capital budget").rstrip() == "   =========|"
    # Both ends below the base: the nearer one lies in front.
    assert bar_of(text, "what sizes storage").strip() == "==#|"
    assert bar_of(text, "failures per GPU and day").strip() == "#|="
    assert bar_of(text, "rack positions").strip() == "|"
    assert line_of(text, "what sizes storage").split()[-2:] == ["-204.7", "-67.68"]


def test_a_tornado_tells_ends_without_a_plan_and_ranks_that_are_not_sure() -> None:
    text = shown(samples.tornado())
    assert "restore time 1 min: no plan: what one GPU system can read" in text
    near = samples.swing("a.b", "nearly as wide", "", "1", samples.end("0", 0.0, 4000.0),
                         samples.end("2", 2.0, 4136.0))  # fmt: skip
    swings = samples.tornado().swings
    both = samples.tornado().model_copy(update={"swings": (*swings[:5], near, *swings[5:])})
    assert "what sizes storage and nearly as wide" in " ".join(shown(both).split())


def test_without_a_base_the_values_themselves_are_shown() -> None:
    text = shown(samples.tornado().model_copy(update={"base": None, "base_bound": None}))
    assert "|" not in text and "the problem as it stands has no plan" in text.lower()
    assert line_of(text, "power at the meter").split()[-2:] == ["3,218.4", "4,873.9"]


def test_money_has_its_unit() -> None:
    update: dict[str, Any] = {"objective": "cost", "unit": "USD", "sense": "minimize", "base": 16e6}
    low, high = samples.end("1", 1.0, 15.5e6), samples.end("2", 2.0, 16.4e6)
    study = samples.tornado().model_copy(
        update={**update, "swings": (samples.swing("a", "a price", "USD", "1", low, high),)}
    )
    text = shown(study)
    assert line_of(text, "a price").endswith("-500.00 kUSD  +400.00 kUSD")


# An uncertainty study.


def test_an_uncertainty_study_says_what_it_found() -> None:
    text = " ".join(shown(samples.uncertain()).split())
    for said in (
        "512 scenarios: 487 proven best and 25 no plan.",
        "useful work of 3,990.0 PFLOP/s or less in half of the scenarios that have one, between "
        "3,913.4 and 4,066.6 PFLOP/s in nine of ten",
        "most often breaks capital budget: in 23.0 % of the scenarios (118).",
        "Least regret: plan 2 (51 × nvidia_gb200_nvl72, 72 × wekapod_nitro_155), never more than "
        "15.30 % behind the best plan of a scenario, 11.80 % on average.",
        "Best worst case: plan 2",
        "Every scenario's plan is within 0.093 % of its bound.",
        "512 samples, Sobol sequence, seed 7",
    ):
        assert said in text


def test_percentiles_are_in_the_unit_that_suits_them() -> None:
    text = shown(samples.uncertain())
    assert line_of(text, "capex, MUSD").split()[2:] == [
        "214.88", "227.72", "237.70", "247.68", "260.52", "237.70", "487",
    ]  # fmt: skip
    assert line_of(text, "checkpoint interval, min").split()[3] == "7.68"


def test_inputs_are_ranked_by_what_they_explain_in_all() -> None:
    part = shown(samples.uncertain()).split("What explains the spread")[1].splitlines()[2:5]
    assert [line.split("  ")[1] for line in part] == [
        "failures per GPU and day", "price of DGX GB200 NVL72",
        "delivered share of write bandwidth",
    ]  # fmt: skip
    assert part[0].endswith("#" * 14) and not part[0].endswith("#" * 15)


def test_a_nominal_plan_that_breaks_nothing() -> None:
    study = samples.uncertain()
    study = study.model_copy(update={"breaks": study.breaks[2:]})
    assert "breaks no limit in any scenario" in shown(study)


# All of them.


@pytest.mark.parametrize("name", nothing())
def test_a_problem_without_a_plan_says_why(name: str) -> None:
    text = shown(nothing()[name])
    assert "the racks hold no GPU system" in text
    assert len(text.splitlines()) < 30


@pytest.mark.parametrize("name", everything())
def test_no_line_is_wider_than_the_screen(name: str) -> None:
    assert max(map(len, shown(everything()[name]).splitlines())) <= STANDARD


@pytest.mark.parametrize("name", everything())
@pytest.mark.parametrize("hostile", ["control", "lines", "override", "long", "escape", "hebrew"])
def test_no_name_steers_the_terminal_or_breaks_the_table(name: str, hostile: str) -> None:
    text = shown(saying(everything()[name], TEXTS[hostile]))
    assert all(c.isprintable() or c == "\n" for c in text)
    _, *lines = text.splitlines()  # the title is the problem's name, as long as it is
    assert max(map(len, lines)) <= STANDARD


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ((1.0, 2.0), 0), ((0.5, 1.0), 1), ((10_073.1, 10_073.2), 1), ((1 / 3, 2 / 3), 4),
        ((2.6e-5, 9e-5), 6), ((), 0), ((1e15, 2e15), 0),
    ],
)  # fmt: skip
def test_decimals_tell_figures_apart(values: tuple[float, ...], digits: int) -> None:
    assert decimals(values) == digits


@pytest.mark.parametrize(
    ("values", "unit", "text"),
    [
        ((4.95, 5.05), "s", "4.95 s"), ((600.0, 900.0), "s", "10 min"),
        ((30.0, 35.0, 120.0), "s", "30 s"), ((0.25,), "share", "25 %"),
        ((1.5e8, 1.504e8), "USD", "150.0 MUSD"), ((2.0,), "number", "2"), ((None, 3.0), "kW", "-"),
    ],
)  # fmt: skip
def test_figures_are_in_one_unit(values: tuple[float | None, ...], unit: str, text: str) -> None:
    shown_with_unit = scale(values, unit).with_unit(values[0])
    assert shown_with_unit.startswith(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("426.825216 kUSD", "426.8 kUSD"),
        ("0.0003792", "0.0003792"),
        ("0.00037921234", "0.00037921"),
        ("14.3 kW", "14.3 kW"),
        ("1234567890 kUSD", "123456789…"),
        ("sharded_optimizer", "sharded_o…"),
        ("1.2.3 of that", "1.2.3 of …"),
    ],
)
def test_an_end_of_a_swing_keeps_its_unit(text: str, shown: str) -> None:
    """A price of 426.825216 kUSD stood on the screen as 426.82521 and three dots."""
    assert tornado_text._brief(text, 10) == shown
