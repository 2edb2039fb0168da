"""What charts show: figures at their places, and in words what cannot be drawn."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from planner.outputs.charts.model import (
    Band,
    Bars,
    Chart,
    HeatMap,
    Line,
    Panel,
    Points,
    Steps,
    Whiskers,
    is_wide,
    powers,
    x_ends,
    y_ends,
)
from planner.outputs.charts.scenarios import spread
from tests.outputs.charts import samples
from tests.outputs.charts.samples import charts
from tests.outputs.samples_sensitivity import (
    FAILURES,
    POWER,
    answer,
    cost_frontier,
    end,
    grid_sweep,
    power_sweep,
    rule_sweep,
    storage_frontier,
    sweep,
    swing,
    tornado,
    uncertain,
)

LayerT = TypeVar("LayerT")


def one(study: Any, rows: Any = None) -> Chart:
    (chart,) = charts(study, rows)
    return chart


def layers(panel: Panel, kind: type[LayerT]) -> list[LayerT]:
    return [layer for layer in panel.layers if isinstance(layer, kind)]


def test_a_frontier_names_its_knee_and_its_best() -> None:
    study = storage_frontier()
    (panel,) = one(study).panels
    knee, best = panel.marks
    assert study.knee is not None and study.best is not None
    assert (knee.x, knee.y) == (study.points[study.knee].x, study.points[study.knee].y)
    assert (best.x, best.y) == (study.points[study.best].x, study.points[study.best].y)
    assert knee.text == "Knee: 3,938 PFLOP/s\nat 102.4 GB/s"
    assert best.text.startswith("Best: 4,101 PFLOP/s") and best.above and not knee.above
    assert panel.x.log and panel.x.title == "delivered write bandwidth, GB/s"


def test_a_frontier_that_is_best_at_its_knee_has_one_mark() -> None:
    study = storage_frontier().model_copy(update={"knee": 3, "best": 3})
    (mark,) = one(study).panels[0].marks
    assert mark.text.startswith("Best and knee: ")


def test_a_frontier_tells_each_plan_with_its_proof() -> None:
    plans = layers(one(storage_frontier()).panels[0], Points)[0]
    assert len(plans.hovers) == len(storage_frontier().points)
    first = plans.hovers[0].split("\n")
    assert first[:2] == ["34 × nvidia_gb200_nvl72", "1 × wekapod_nitro_155"]
    assert "no plan has more than 2,396 PFLOP/s (gap 0.05 %)" in plans.hovers[0]


def test_a_frontier_of_money_is_in_millions_on_a_plain_axis() -> None:
    (panel,) = one(cost_frontier()).panels
    assert not panel.x.log and panel.x.unit == "MUSD"
    assert layers(panel, Points)[0].x[-1] == pytest.approx(237.7)


def test_the_bound_is_drawn_where_it_can_be_seen() -> None:
    near = storage_frontier()
    points = tuple(point.model_copy(update={"bound": point.y * 1.1}) for point in near.points)
    far = near.model_copy(update={"points": points})
    assert not layers(one(near).panels[0], Band)
    (band,) = layers(one(far).panels[0], Band)
    assert max(height for height in band.high if height is not None) == max(p.bound for p in points)
    assert "No plan is more than 0.05 % above the line." in one(near).subtitle


def test_a_frontier_is_stepped_and_says_where_plans_are_left_out() -> None:
    study = cost_frontier()
    (steps,) = layers(one(study).panels[0], Steps)
    assert steps.starts[0] == pytest.approx(study.points[0].x / 1e6)
    assert "Where the line slants" in one(study).subtitle
    ends = [*(point.x for point in study.points[1:]), None]
    whole = tuple(
        point.model_copy(update={"to_x": to_x})
        for point, to_x in zip(study.points, ends, strict=True)
    )
    assert "slants" not in one(study.model_copy(update={"points": whole})).subtitle


def test_rules_that_come_to_one_plan_stand_together() -> None:
    study = storage_frontier()
    light = study.marks[0]
    twin = light.model_copy(update={"name": "good", "label": "good rule"})
    chart = one(study.model_copy(update={"marks": (light, twin)}))
    (_, both) = layers(chart.panels[0], Points)
    assert both.name.startswith("light rule and good rule: ")


def test_vendor_rules_stand_beside_the_curve_or_in_words() -> None:
    chart = one(storage_frontier())
    light, high = layers(chart.panels[0], Points)[1:]
    assert (light.x, light.y) == ((2483.2,), (3988.0,)) and light.shape != high.shape
    assert light.name.startswith("light rule: ")
    assert "Best rule: no plan: no plan meets every limit." in chart.subtitle


@pytest.mark.parametrize("message", [None, "the time limit was reached"])
def test_a_frontier_without_points_says_so(message: str | None) -> None:
    update = {"points": (), "knee": None, "best": None, "message": message}
    chart = one(storage_frontier().model_copy(update=update))
    assert not chart.panels
    assert chart.subtitle == (message or "There is no plan to draw.")


def test_an_unfinished_frontier_says_so() -> None:
    study = storage_frontier().model_copy(update={"complete": False})
    assert "Not every plan of the curve" in one(study).subtitle


def test_a_tornado_ends_at_its_plans_with_the_inputs_own_words() -> None:
    study = tornado()
    (panel,) = one(study).panels
    low, high = layers(panel, Bars)
    assert low.ends[0] == 3218.4 and low.texts[0] == "8 MW"
    assert high.ends[0] == 4873.9 and high.texts[0] == "12 MW"
    assert set(low.starts) == {study.base} == {panel.references[0].value}
    assert low.hatched != high.hatched
    assert panel.rows[0] == "power at the meter, now 10 MW"


def test_bars_to_one_side_do_not_cover_each_other() -> None:
    (panel,) = one(tornado()).panels
    low, high = layers(panel, Bars)
    budget = [row for row, text in zip(low.rows, low.texts, strict=True) if text == "200 MUSD"]
    other = [row for row, text in zip(high.rows, high.texts, strict=True) if text == "600 MUSD"]
    assert other[0] - budget[0] >= (low.thickness + high.thickness) / 2
    assert low.rows[0] == high.rows[0]  # to both sides: in one line


def test_an_end_without_a_plan_is_told_in_its_row() -> None:
    chart = one(tornado())
    assert chart.panels[0].rows[-1] == "restore time, now 5 min; low 1 min: no plan"
    assert (
        len(layers(chart.panels[0], Bars)[0].rows) == len(tornado().swings) - 2
    )  # one moves nothing


def test_a_tornado_shows_the_widest_and_says_so() -> None:
    swings = tuple(
        swing(f"a.{n}", f"input {n}", "", "1", end("0", 0.0, 4000.0 + n), end("2", 2.0, 4100.0))
        for n in range(30)
    )
    chart = one(tornado().model_copy(update={"swings": swings}))
    assert len(chart.panels[0].rows) == 20
    assert "30 inputs" in chart.subtitle and "the 20 widest shown" in chart.subtitle


def test_a_tornado_without_a_base_says_why() -> None:
    chart = one(tornado().model_copy(update={"base": None, "message": "no plan at all"}))
    assert not chart.panels and chart.subtitle == "no plan at all"


def test_an_uncertain_study_has_a_chart_for_each_thing_it_holds() -> None:
    study = uncertain()
    assert [chart.name for chart in charts(study)] == [
        "outcomes", "breaks", "candidates", "indices",
    ]  # fmt: skip
    bare = study.model_copy(update={"indices": (), "breaks": ()})
    assert [chart.name for chart in charts(bare)] == ["outcomes", "candidates"]
    gone = {"outcomes": (), "candidates": (), "least_regret": None, "best_worst_case": None}
    nothing = bare.model_copy(update={**gone, "message": "no plan"})
    (chart,) = charts(nothing)
    assert not chart.panels and chart.subtitle == "no plan"


def test_boxes_are_percentiles_the_nominal_plan_below() -> None:
    study = uncertain()
    first = charts(study)[0].panels[0]
    best, nominal = layers(first, Bars)
    assert (best.starts[0], best.ends[0]) == (study.outcomes[0].p25, study.outcomes[0].p75)
    assert nominal.starts[0] == study.nominal_outcomes[0].p25 and nominal.rows[0] > best.rows[0]
    assert first.title == "Useful work"
    assert [len(panel.rows) for panel in charts(study)[0].panels] == [2, 2, 1, 1]


def test_broken_limits_come_first_the_most_often_broken() -> None:
    (panel,) = charts(uncertain())[1].panels
    (bars,) = layers(panel, Bars)
    assert bars.ends == pytest.approx((100 * 118 / 512, 100 * 31 / 512, 0.0))
    assert bars.texts[0] == "23.0 % (118)" and panel.rows[0] == "Capital budget"


def test_candidates_that_are_best_at_something_have_a_shape_and_a_name() -> None:
    (panel,) = charts(uncertain())[2].panels
    found = {points.name: points for points in layers(panel, Points)}
    assert set(found) == {
        "breaks a limit in some scenario", "nominal plan (nominal)",
        "least regret and best worst case (plan 2)",
    }  # fmt: skip
    shapes = {(points.shape, points.hollow) for points in found.values()}
    assert len(shapes) == len(found)
    assert found["nominal plan (nominal)"].y == (100.0,)


def test_indices_have_their_confidence() -> None:
    (panel,) = charts(uncertain())[3].panels
    first, total = layers(panel, Whiskers)
    assert (first.lows[0], first.highs[0]) == pytest.approx((0.54, 0.68))
    assert (total.lows[0], total.highs[0]) == pytest.approx((0.60, 0.76))


def test_a_sweep_of_a_number_shades_where_there_is_no_plan_and_says_it() -> None:
    study, rows = samples.with_a_hole()
    chart = one(study, rows)
    (panel,) = chart.panels
    first, second = panel.stretches
    assert (first.start, first.end) == (500.0, 1125.0)  # to halfway to the first plan
    assert (second.start, second.end) == (5125.0, 6125.0)
    assert "No plan from 500 kW to 1,000 kW (3 scenarios)." in chart.subtitle
    assert "No plan from 5,250 kW to 6,000 kW (4 scenarios)." in chart.subtitle
    (line,) = layers(panel, Line)
    assert line.y.count(None) == 7 and panel.references[0].value == study.base


def test_many_stretches_are_counted() -> None:
    study, rows = sweep(
        (POWER,), [(float(n),) for n in range(20)], lambda n: answer(9000.0 if n % 2 else 0.0)
    )
    chart = one(study, rows)
    assert len(chart.panels[0].stretches) == 10
    assert "No plan in 7 more stretches." in chart.subtitle
    assert "No plan at 2 kW (1 scenario)." in chart.subtitle


def test_a_long_sweep_is_thinned_the_same_way_each_time() -> None:
    study, rows = power_sweep(5001)
    chart = one(study, rows)
    assert "1,500 of 5,001 scenarios, spread evenly." in chart.subtitle
    assert chart == one(study, rows)


def test_a_grid_becomes_a_map() -> None:
    study, rows = grid_sweep(4, 3)
    (panel,) = one(study, rows).panels
    (cells,) = layers(panel, HeatMap)
    assert [len(row) for row in cells.values] == [4, 4, 4]
    place = next(
        at for at in range(12)
        if rows[POWER.name][at] == 3400.0 and rows[FAILURES.name][at] == pytest.approx(3e-5)
    )  # fmt: skip
    assert cells.values[2][3] == rows["objective"][place]
    assert cells.texts[0][0] == "no plan" and cells.values[0][0] is None
    assert cells.texts[0][3].startswith("★ ")
    assert [text for _, text in panel.x.ticks] == ["1,000", "1,800", "2,600", "3,400"]


def test_a_large_map_marks_its_best_cell() -> None:
    study, rows = grid_sweep(20, 20)
    chart = one(study, rows)
    (mark,) = chart.panels[0].marks
    assert (mark.x, mark.y, mark.shape) == (19.0, 0.0, "star")
    assert "20 scenarios without a plan are crossed out." in chart.subtitle


def test_a_scattered_pair_is_no_map() -> None:
    study, rows = sweep(
        (POWER, FAILURES), [(1e3 + 37.0 * n, 1e-5 + 1e-7 * n) for n in range(60)], answer
    )
    assert [panel.x.label for panel in one(study, rows).panels] == [POWER.label, FAILURES.label]


def test_more_inputs_have_a_panel_each_on_the_axis_that_suits() -> None:
    study, rows = samples.many()
    chart = one(study, rows)
    logs = {panel.title: panel.x.log for panel in chart.panels}
    assert logs == {
        "power at the meter": False, "delivered share of write bandwidth": False,
        "failures per GPU and day": True, "what sizes storage": False,
    }  # fmt: skip
    assert set(chart.panels[3].rows) == set(samples.RULES)
    assert "without a plan left out." in chart.subtitle
    assert chart.panels[1].x.unit == "%"


def test_a_choice_is_a_list_with_what_each_gives() -> None:
    (panel,) = one(*rule_sweep()).panels
    assert panel.rows[0].startswith("demand: ") and panel.rows[0].endswith(" PFLOP/s")
    study, rows = sweep(
        (samples.RULE,), [("light",), ("high",)], lambda name: answer(9e3 if name == "light" else 0)
    )
    assert one(study, rows).panels[0].rows[1] == "high: no plan"


def test_a_sweep_without_any_plan_or_any_row_says_so() -> None:
    study, rows = samples.without_a_plan()
    chart = one(study, rows)
    assert not chart.panels and chart.subtitle == "None of 3 scenarios has a plan (3 no plan)."
    assert one(study, {}).subtitle == "The table has no rows."


def test_rows_that_were_not_read_are_told() -> None:
    study, rows = power_sweep(11)
    chart = one(study.model_copy(update={"rows": 500}), rows)
    assert chart.subtitle.startswith("The first 11 of 500 scenarios.")


def test_a_single_scenario_is_a_point() -> None:
    study, rows = sweep((POWER,), [(9000.0,)], answer)
    (points,) = layers(one(study, rows).panels[0], Points)
    assert points.x == (9000.0,)


def test_what_is_spread_over_a_grid_favours_no_row_of_it() -> None:
    kept = spread(64 * 64, 512)
    assert kept == spread(64 * 64, 512) and len(set(kept)) == 512
    for period in (2, 4, 8, 64):
        counts = [sum(place % period == rest for place in kept) for rest in range(period)]
        assert max(counts) <= 2 * min(counts), period


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((25.6, 9523.0), ["30", "100", "300", "1,000", "3,000", "10,000"]),
        ((1e-6, 1e-4), ["0.000001", "0.00001", "0.0001"]),
        ((90.0, 110.0), ["100"]),
        ((2.0, 9.0), ["2", "3", "4", "5", "7", "10"]),
    ],
)
def test_logarithmic_axes_have_few_round_places(
    values: tuple[float, float], words: list[str]
) -> None:
    assert [text for _, text in powers(values)] == words


def test_only_what_is_spread_like_a_logarithm_is_drawn_on_one() -> None:
    assert is_wide([1e-6, 1e-5, 1e-4])
    assert not is_wide([float(n) for n in range(1, 100)])
    assert not is_wide([0.0, 1.0, 100.0]) and not is_wide([])


def test_axes_hold_everything_drawn_and_room_for_words() -> None:
    for study, rows in samples.all_kinds():
        for chart in charts(study, rows):
            for panel in chart.panels:
                low, high = x_ends(panel, 900.0)
                assert low < high
                for layer in layers(panel, Bars):
                    assert all(low <= value <= high for value in (*layer.starts, *layer.ends))
                bottom, top = y_ends(panel)
                assert (bottom > top) == bool(panel.rows)
