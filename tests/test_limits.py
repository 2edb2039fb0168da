"""The table of limits is complete: each is a row, a lever, a check, a cell, or says why not."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, get_args

import pytest

from planner.case.figures import SUMS
from planner.case.items import BillItem
from planner.case.model import Rates
from planner.figures import (
    FIGURES,
    HEAT_TO_LIQUID,
    ITEM_UNITS,
    OBJECTIVES,
    STATED,
    capital,
    objective_label,
    objective_unit,
)
from planner.inputs import Inputs
from planner.levers import levers
from planner.limits import BY_NAME, LIMITS
from planner.paths import value_at
from planner.schema import Unit
from planner.schema.catalog import Item
from planner.schema.operation import BulkPlan, BurstPlan, JobPlan, Loss, Repair, ShrunkPlan
from planner.schema.plan import Plan, Site, Totals
from planner.units import Dimension
from planner.workbook import write
from tests.optimizer.cases import everything_limited
from tests.world.random_cases import inputs_of
from tests.world.requests import Request
from tests.world.solved import solve

LOCAL = {
    name: "of the local level of checkpoints" for name in ("local_fits", "local_lag", "local_room")
}
BULK = {name: "of the bulk tier" for name in ("bulk_capacity", "bulk_read", "staging")}
BULK["burst_recovery"] = "of storage with write buffers"
NOT_NOW = {
    "blocking": "of the other way to save checkpoints",
    **LOCAL,
    **BULK,
    "rule_read": "of a vendor's rule",
    "rule_write": "of a vendor's rule",
    "gpu_types": "where the user asks for a number of types",
}
WITHOUT_LEVER = {
    "drain_fits": "follows from interval, stall and bandwidth",
    "endurance": "follows from products",
    "replica_fits": "follows from the parallelism, which has levers of its own",
    **NOT_NOW,
}
TRY = "give {} a value in everything_limited() of tests/optimizer/cases.py"


def test_labels_units_and_needs_of_figures() -> None:
    titles = {"gpus": "GPUs in place", "it_power_kw": "IT load, kW", "goodput": "goodput"}
    assert {name: FIGURES[name].title for name in titles} == titles
    assert capital("useful work") == "Useful work"
    assert [*map(objective_label, ("cost", "least_meter"))] == ["capex", "least meter"]
    assert [*map(objective_unit, ("power", "least_meter"))] == ["kW", ""]
    assert (OBJECTIVES["power"].counted, OBJECTIVES["cost"].counted) == ("kW of IT load", "capex")
    assert FIGURES[OBJECTIVES["cost"].figure.name].money and not FIGURES["gpus"].money
    assert HEAT_TO_LIQUID.asked == ("consumes.it_power",) and HEAT_TO_LIQUID.follows_draw
    assert not STATED["weight_kg"].follows_draw
    assert {"rack", "transceiver"} <= STATED["rack_units"].none_of
    assert STATED["weight_kg"].none_of == {"cable", "software", "service", "transceiver"}
    assert (ITEM_UNITS["consumes.weight"], ITEM_UNITS["gpu.tdp"]) == ("kg", "kW")


def test_each_limit_has_its_place_in_the_file() -> None:
    for limit in LIMITS:
        if limit.path and "*" not in limit.path:
            value_at(everything().problem, limit.path)  # KeyError where there is none


@cache
def everything() -> Inputs:
    request = everything_limited()
    request.job["gpus"] |= {"max_types": 1}
    request.checkpoint["interval"] = {"policy": "optimal", "min": "60 s", "max": "4 h"}
    return inputs_of(request.case())


@cache
def solved() -> Plan:
    return solve(everything(), explain=False)


SINGLE = [limit for limit in LIMITS if "*" not in limit.name]


def test_each_limit_is_reported() -> None:
    reports = {each.name: each for each in solved().limits}
    unreported = {"blocking", "rule_read", "rule_write", *LOCAL, *BULK}
    for limit in SINGLE:
        if limit.figure != "interval_s" and limit.name not in unreported:
            report = reports[limit.name]
            assert (report.unit, report.sense) == (limit.unit, limit.sense), limit.name
            assert report.label.startswith(limit.label)


def test_each_limit_is_a_lever() -> None:
    known = {lever.limit: lever for lever in levers(everything())}
    for limit in SINGLE:
        lever = known.get(limit.name)
        if lever is None:
            assert limit.name in WITHOUT_LEVER, f"{limit.name}: {TRY.format(limit.path)}"
        elif lever.path == limit.path and limit.group != "storage":
            assert (lever.looser, lever.label) == (limit.looser, limit.demand)
            assert lever.text(lever.value or 0.0)


def test_each_editable_limit_is_a_cell_and_no_other() -> None:
    book = write(solved(), io.BytesIO(), created=datetime(2026, 3, 1))
    keys = {each.of.key for each in book.inputs if each.of.kind == "limit"}
    reported = {limit.name for limit in solved().limits}
    assert {name for name in reported if name in BY_NAME and BY_NAME[name].editable} == {
        key for key in keys if key in BY_NAME
    }
    assert "weight" in keys


HUNGRY = BillItem(
    id="good", vendor="V", installed=0, unit_net_usd=1.0, support_usd_per_year=1.0,
    subscription_usd_per_year=1.0, support_factor=1.0, it_power_kw=4.0, meter_kw=6.0,
    energy_kw=5.0, liquid_kw=1.0, stated=dict.fromkeys(STATED, 1.0), spare_share=0.0, pack=1,
    min_order=0, stock=None,
)  # fmt: skip


@pytest.mark.parametrize("figure", SUMS)
def test_a_sum_needs_the_inputs_of_its_parts(figure: str) -> None:
    """What the table of figures says it needs is what its value hangs on."""
    left = {name: 0.0 if row.follows_draw else 1.0 for name, row in STATED.items()}
    fed = replace(HUNGRY, it_power_kw=0.0, meter_kw=0.0, energy_kw=0.0, liquid_kw=0.0, stated=left)
    paid, free = Rates(1.0, 1.0, 1.0, 1.0), Rates(0.0, 0.0, 0.0, 0.0)

    def value(item: BillItem, rates: Rates) -> float:
        return sum(part.addend(item, rates) for part in SUMS[figure])

    hangs = {
        "draw": value(HUNGRY, paid) != value(fed, paid),
        "term": value(HUNGRY, paid) != value(HUNGRY, free),
    }
    assert {what for what, there in hangs.items() if there} == set(FIGURES[figure].needs)


# Which limits bind: what more GPUs would break, whatever kind of limit it is.


def hall(maximize: str = "useful_gpus", **more: Any) -> Request:
    """Return a hall with power for 499 systems, and four boxes of storage at most."""
    request = Request(maximize=maximize)
    request.site["it_power"] = "5 MW"
    request.checkpoint["size"] = "1 GB"  # one box less changes nothing of the goodput
    request.more |= {"items": {"box": {"fixed": 4}}} | more
    return request


def binding(request: Request) -> set[str]:
    plan = solve(inputs_of(request.case()))
    assert plan.status == "optimal"
    return {limit.name for limit in plan.limits if limit.binding} - {"items.box.fixed"}


@pytest.mark.parametrize("maximize", ["useful_gpus", "gpus"])
@pytest.mark.parametrize("gpus", [None, 300])
def test_a_target_that_more_gpus_would_miss_binds(maximize: str, gpus: int | None) -> None:
    request = hall(maximize, targets={"min_goodput": 0.9})
    request.more["items"]["gpu"] = {"max": gpus}
    assert binding(request) == {"min_goodput"}


def test_storage_demand_of_more_gpus_binds() -> None:
    request = hall()
    request.job["ingest_per_gpu"] = "0.01 GB/s"
    assert binding(request) == {"ingest"}
    request = hall()
    request.job["parallelism"] = {"tensor": 8, "pipeline": 1}
    request.job["restore"] |= {"max_time": "4 s", "fan_out": "every_replica"}
    assert binding(request) == {"restore_time"}


# One name, one label, one unit for one figure, wherever the product shows it.


NOT_FIGURES = {
    "name", "gpu_type", "gpu_types", "storage_family", "storage_families", "mode",
    "interval_policy", "writers", "whole_replicas", "repair", "repair.unit", "repair.shrunk",
    "repair.in_rack", "repair.decided",
    "loss", "critical_skus", "capex_by_section_usd", "systems_by_type", "usable_gpus_by_type",
    "per_system_gpus", "bulk", "burst", "local", "derived_stall", "ways", "energy_basis",
    "tensor_gpus",
}  # fmt: skip
"""Fields of a plan's totals, jobs and site that are names, choices, limits or groups of figures."""
OTHER_UNITS = {
    "GPUs": "gpus gpus_used useful_gpus replica_gpus repair.unit_gpus",
    "systems": "gpu_systems systems_used reading_systems writing_systems",
    "units": "repair.load repair.spares storage_units",
    "": "shrunk.least_replicas pue pue_liquid",
    "USD": "usd_per_useful_gpu_hour usd_per_million_tokens", "TFLOP/s": "tflops_per_gpu",
    "days": "days_to_train", "replicas": "replicas", "tokens": "tokens", "1/day":
    "failures_per_gpu_day", "parameters": "active_parameters", "B": "bytes_per_parameter",
    "times": "fan_out", "checkpoints": "checkpoints_held", "appliances": "tolerate_down",
    "RU": "rack_units", "racks": "racks", "years": "years", "USD/kWh": "electricity_usd_per_kwh",
    "USD/kW/month": "colocation_usd_per_kw_month",
}  # fmt: skip
"""Units of figures whose names end in none; all others without one are shares."""
OF_STUDIES = {
    "gpu_systems",
    "storage_units",
    "budget.stall",
    "budget.slowdown",
    "budget.shrunk",
}
"""Figures that only studies state."""

ENDINGS = {
    "_kw": "kW", "_usd": "USD", "_usd_per_year": "USD/year", "_tb": "TB", "_gb": "GB", "_s": "s",
    "_gb_per_s": "GB/s", "_tb_per_day": "TB/day", "_kg": "kg", "_btu_per_h": "BTU/h",
    "_pflops": "PFLOP/s", "lead_time_days": "days",
}  # fmt: skip


def fields() -> list[str]:
    lost = (f"loss.{name}" for name in Loss.model_fields)
    mended = [f"repair.{name}" for name in Repair.model_fields]
    mended += [f"shrunk.{name}" for name in ShrunkPlan.model_fields]
    bulk = [f"bulk.{name}" for name in BulkPlan.model_fields]
    bulk += [f"burst.{name}" for name in BurstPlan.model_fields]
    return [*Totals.model_fields, *JobPlan.model_fields, *lost, *mended, *bulk, *Site.model_fields]


def test_each_field_is_a_figure_or_known_to_be_none_and_the_reverse() -> None:
    assert [name for name in fields() if (name in FIGURES) == (name in NOT_FIGURES)] == []
    assert set(FIGURES) | NOT_FIGURES == set(fields()) | OF_STUDIES


def test_each_figure_has_the_unit_of_its_name() -> None:
    own = {name: unit for unit, names in OTHER_UNITS.items() for name in names.split()}
    for name, figure in FIGURES.items():
        ends = max((end for end in ENDINGS if name.endswith(end)), key=len, default="")
        assert figure.unit == ENDINGS.get(ends, own.get(name, "share")), name
        assert figure.money == ("usd" in name or name == "discount_rate"), name


def dimension_of(kind: Any) -> Dimension | None:
    """Return the dimension in which a field of the schema is read."""
    inner = getattr(kind, "__pydantic_generic_metadata__", {}).get("args", ())
    for part in (*get_args(kind), *inner):
        found = part.dimension if isinstance(part, Unit) else dimension_of(part)
        if found is not None:
            return found
    return None


def test_a_figure_of_the_catalog_has_the_unit_in_which_it_is_read() -> None:
    """An item's power would be shown as so many days, and its bandwidth without a unit."""
    for path, unit in ITEM_UNITS.items():
        group, _, name = path.rpartition(".")
        kind: Any = Item.model_fields[group].annotation if group else Item
        model = next(each for each in (kind, *get_args(kind)) if hasattr(each, "model_fields"))
        dimension = dimension_of(model.model_fields[name].annotation)
        assert dimension is None or dimension.unit in (unit, "1"), path


def test_a_label_means_one_figure_in_one_unit() -> None:
    called: dict[tuple[str, str], list[str]] = {}
    for figure in FIGURES.values():
        called.setdefault((figure.label, figure.unit), []).append(figure.name)
    assert {label: names for label, names in called.items() if len(names) > 1} == {}
