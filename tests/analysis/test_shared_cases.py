"""What rows of a table share: plans in figures alone."""

from __future__ import annotations

from typing import Any

import pytest

from planner import shipped
from planner.analysis import sweep
from planner.analysis import variants as solving
from planner.analysis.request import SweepOptions
from planner.analysis.variants import Scenario
from planner.case import resolve
from planner.case.resolve import limit_at, limits_of
from planner.errors import VerificationError
from planner.inputs import Change, Inputs, changed
from planner.limits import SUPPLIES
from planner.loader import load
from planner.optimizer.optimise import Certificate, optimise
from planner.plan import assemble
from planner.plan.racks import rack_groups
from planner.schema.plan import Plan, RackGroup
from planner.verifier import confirms, verify
from tests.analysis.rows import rows_of
from tests.optimizer.limited import everything_limited
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import figure
from tests.world.requests import Bill, companion
from tests.world.tampering import other, put

GAP = 1e-3


def test_a_limit_follows_from_its_value_as_from_a_problem_with_it() -> None:
    inputs = inputs_of(everything_limited().case())
    feeds = inputs.problem.site.feeds
    assert feeds is not None
    for limit in SUPPLIES:
        for value in (3, round(feeds.usable_kw) - 1, round(feeds.usable_kw) + 1, 10**6):
            after = limits_of(changed(inputs, limit.path, value).problem)
            found = limit_at(inputs.problem, limit.path, value)
            assert found == after[limit.field], limit.path
    assert limit_at(inputs.problem, "site.facility_power", 1e6) == feeds.usable_kw


def best(inputs: Inputs, *, drawn: bool) -> Plan:
    """Return the best plan of a problem, with or without its racks, cables and next step."""
    case = resolve(inputs)
    found = optimise(case, gap=GAP, ties=False)
    return assemble(inputs, case, found, solver="highs", gap=GAP, drawn=drawn)


@pytest.mark.parametrize("name", ["10MW", "full_bill", "local_level", "space_limited"])
def test_a_plan_in_figures_has_those_of_the_whole_plan(name: str) -> None:
    inputs = load(shipped.problem_files()[name])
    whole, figures = best(inputs, drawn=True), best(inputs, drawn=False)
    verify(inputs, whole)
    assert confirms(inputs, figures)
    for part in ("totals", "jobs", "limits", "lines", "fabrics", "objective"):
        assert getattr(figures, part) == getattr(whole, part)
    assert whole.assumptions and not (figures.assumptions or figures.racks)


@pytest.mark.parametrize("part", ["totals", "jobs", "limits", "lines"])
def test_a_wrong_figure_is_not_confirmed(part: str) -> None:
    inputs = load(shipped.problem_files()["full_bill"])
    plan, found = best(inputs, drawn=False), 0
    figures = {
        "totals": (("it_power_kw", "facility_power_kw", "racks", "capex_usd", "opex_usd_per_year",
                    "tco_usd", "gpus"), ()),
        "jobs": (("gpus_used", "interval_s", "stall_s", "drain_s", "overlap", "restore_s", "mtti_s",
                  "goodput", "useful_gpus", "useful_pflops", "delivered_write_gb_per_s",
                  "delivered_read_gb_per_s"), (0,)),
        "limits": (("value", "limit"), (0,)),
        "lines": (("quantity", "purchased", "spares", "extended_net_usd"), (0,)),
    }  # fmt: skip
    names, place = figures[part]
    for name in names:
        value: Any = getattr(plan.totals if part == "totals" else getattr(plan, part)[0], name)
        if value is not None:
            found += 1
            assert not confirms(inputs, put(plan, (part, *place, name), other(value))), name
    assert found >= 2


def two_sizes(racks: int) -> Inputs:
    """Return a request for the cheapest plan with two devices of 0.4 and four of 0.3 of a rack.

    First-fit begins 4 + 4 and 3 + 3 + 3 of 10 and takes three racks; twice 4 + 3 + 3 is two.
    """
    request = Bill(minimize="cost")
    request.more["items"] = {"gpu": {"fixed": 2}}
    request.site |= {"it_power": "100 kW", "rack": {"height": "200 RU"}, "racks": 2 + racks}
    request.site["rack_classes"] = {"network": {"height": "10 RU"}}
    for name, height, count in (("large", 4, 2), ("small", 3, 4)):
        item = companion(name, "management", "0.1 kW")
        item["consumes"]["rack_units"] = figure(f"{height} RU")
        request.add(item, "10")
        request.more.setdefault("extras", {})[name] = {"count": count}
    return inputs_of(request.case())


def test_racks_that_first_fit_does_not_reach_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, drawn = two_sizes(2), list[tuple[RackGroup, ...]]()

    def recorded(*given: Any) -> tuple[RackGroup, ...]:
        drawn.append(rack_groups(*given))
        return drawn[-1]

    monkeypatch.setattr(solving, "rack_groups", recorded)
    figures = best(inputs, drawn=False)
    assert not confirms(inputs, figures)
    (row,) = rows_of(inputs, [Scenario(0, ())], SweepOptions(GAP))
    assert (row["status"], row["racks"], len(drawn)) == ("optimal", 4, 1)
    placed = figures.model_copy(update={"racks": drawn.pop()})
    assert confirms(inputs, placed)
    for group in placed.racks:
        fewer = tuple(each for each in placed.racks if each is not group)
        assert not confirms(inputs, placed.model_copy(update={"racks": fewer}))
    rows_of(load(shipped.problem_files()["10MW"]), [Scenario(0, ())], SweepOptions(GAP))
    assert not drawn


def test_a_wrong_row_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = load(shipped.problem_files()["10MW"])
    case = resolve(inputs)
    found = optimise(case, gap=GAP, ties=False)
    assert found.operation is not None and found.value is not None
    forged = Certificate("optimal", found.operation, found.value * 1.01, found.bound, 0.0, 0, 0.0,
                         False)  # fmt: skip
    with pytest.raises(VerificationError, match=r"objective\.value"):
        solving.confirmed(inputs, case, forged, GAP)


def test_a_plan_keeps_the_limits_of_each_of_its_scenarios() -> None:
    inputs, path = load(shipped.problem_files()["10MW"]), "site.facility_power"
    powers_kw = (9000.0, 8000.0, 10000.0)
    (group,) = solving.groups(
        Scenario(n, (Change(path, power_kw, ""),)) for n, power_kw in enumerate(powers_kw)
    )
    asked = solving.prepare(inputs, group, SweepOptions(GAP))
    answers = solving.solve(asked)
    assert [row["status"] for row in sweep.rows_of(asked, answers)] == ["optimal"] * 3
    forged = [answers[0]._replace(scenario=each.scenario) for each in answers]
    first, second, third = sweep.rows_of(asked, forged)
    assert second["status"] == "failed" and "facility_power" in second["reason"]
    assert first["status"] == third["status"] == "optimal"
    forged = [answers[2]._replace(scenario=each.scenario) for each in answers]
    first, *_ = sweep.rows_of(asked, forged)  # the verifier reads the first one's limits itself
    assert first["status"] == "failed" and "facility_power: broken limit" in first["reason"]
