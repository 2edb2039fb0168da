"""One name, one label, one unit for one figure, wherever the product shows it."""

from __future__ import annotations

from planner import units
from planner.figures import FIGURES
from planner.schema.operation import BulkPlan, BurstPlan, JobPlan, Loss, Repair, ShrunkPlan
from planner.schema.plan import Site, Totals
from planner.units import Dimension

NOT_FIGURES = {
    "name": "what the job is called",
    "gpu_type": "a name", "gpu_types": "names",
    "storage_family": "a name", "storage_families": "names",
    "mode": "a choice", "interval_policy": "a choice", "fan_out_kind": "a choice",
    "writers": "a choice", "whole_replicas": "a choice",
    "write_limited_by": "a choice", "read_limited_by": "a choice",
    "repair": "its parts are figures of their own", "repair.unit": "a choice",
    "repair.shrunk": "its parts are figures of their own",
    "repair.in_rack": "a choice", "repair.decided": "a choice",
    "loss": "its parts are figures of their own", "critical_skus": "names",
    "capex_by_section_usd": "parts of capex, by section",
    "systems_by_type": "parts of the GPU systems in use, by type",
    "usable_gpus_by_type": "what arithmetic needs, by type; no output shows it",
    "per_system_gpus": "what arithmetic needs; no output shows it",
    "bulk": "its parts are figures of their own", "burst": "its parts are figures of their own",
    "local": "the level of checkpoints on drives, with figures of its own",
    "derived_stall": "a choice",
    "ways": "choices, each with figures of its own",
    "energy_basis": "a choice",
    "tensor_gpus": "what arithmetic needs; no output shows it",
}  # fmt: skip
"""Fields of a plan's totals, jobs and site that are no figure, each with the reason."""

UNITS = {
    each.unit for each in vars(units).values() if isinstance(each, Dimension)
} | {
    "share", "USD/year", "1/year", "GPUs", "PFLOP/s", "days", "racks", "systems", "BTU/h", "TB/day",
    "replicas", "tokens", "parameters", "1/day", "h/year", "B", "times", "checkpoints",
    "appliances", "years", "units", "",
}  # fmt: skip
OF_STUDIES = {
    "gpu_systems", "storage_units", "budget.stall", "budget.slowdown",
    "budget.shrunk",
}  # fmt: skip
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


def test_each_field_is_a_figure_or_says_why_not() -> None:
    assert [name for name in fields() if (name in FIGURES) == (name in NOT_FIGURES)] == []


def test_the_table_has_nothing_that_no_plan_has() -> None:
    assert set(FIGURES) | set(NOT_FIGURES) == set(fields()) | OF_STUDIES


def test_a_unit_is_the_one_the_name_ends_in() -> None:
    for name, figure in FIGURES.items():
        assert figure.unit in UNITS, name
        longest = max((end for end in ENDINGS if name.endswith(end)), key=len, default=None)
        assert longest is None or figure.unit == ENDINGS[longest], name
        assert figure.money == ("usd" in name or name == "discount_rate"), name


def test_a_label_means_one_figure_in_one_unit() -> None:
    called: dict[tuple[str, str], list[str]] = {}
    for figure in FIGURES.values():
        called.setdefault((figure.label, figure.unit), []).append(figure.name)
    assert {label: names for label, names in called.items() if len(names) > 1} == {}
