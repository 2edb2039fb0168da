"""Names that must agree: rows of the model, limits that are checked, limits that are reported."""

from __future__ import annotations

import re
from dataclasses import replace

from planner.optimizer.build import build

from planner import api
from planner.case import resolve
from planner.case.model import BandwidthRule, Case
from planner.limits import BY_NAME
from planner.optimizer import purchase
from planner.schema.plan import Plan
from tests.optimizer.cases import furnish
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request

TERM = {"years": 4, "electricity": "0.1 USD/kWh", "colocation": "100 USD/kW/month"}
YEARLY = ("opex", "support", "subscriptions", "energy", "colocation")
BOUNDS = re.compile(
    r"replica_fits|min_gpus|gpus_min|gpus_max|micro_batches|max_units\..*|items\..*|lead_time"
    r"|stock\.(gpu|box)"
)
"""Limits that bound a variable of the model instead of adding a row."""
OTHER_NAMES = {
    "exact_families": "storage_families",
    "max_days_to_train": "min_useful_pflops",
    "endurance": "endurance",
    "hot_spares.gpu": "used_gpu",
    "min_units.box": "least_box",
    "family_max_units.fs": "family_max_units_fs",
}


def everything_limited(**more: Raw) -> Request:
    """Return a whole bill with every limit there is, each of them generous."""
    request = furnish(Request(maximize="useful_gpus"))
    request.site |= {
        "it_power": "200 kW", "racks": 40, "weight_limit": "900 t",
        "pue": {"air": 1.5, "liquid": 1.2},
        "feeds": {"count": 2, "power": "200 kW"},
    }  # fmt: skip
    request.site["cooling"] |= {"air_limit": "190 kW", "liquid_limit": "190 kW"}
    request.items[0]["consumes"]["weight"] = figure("130 kg")
    request.items[1]["provides"]["endurance"] = figure("90 TB/day")
    request.items[1] |= {"min_units": figure(2), "max_units": figure(30)}
    request.families[0]["max_units"] = figure(29)
    request.storage |= {"tolerate_down": 1, "exact_families": 1}
    request.prices["gpu"]["support_per_year"] = "5 %"
    request.job |= {
        "parameters": "7 B", "parallelism": {"tensor": 4, "pipeline": 2},
        "restore": {"max_time": "9 min", "restart": "600 s"}, "ingest_per_gpu": "0.01 GB/s",
        "training": {"mfu": 0.5, "tokens": "0.1 T", "scale": {"micro_batches": 900}},
        "gpus": {"hot_spares": 1, "min": 8, "max": 400}, "dataset": "10 TB",
    }  # fmt: skip
    yearly = {f"{name}_per_year": "90 MUSD" for name in YEARLY}
    request.more |= {
        "term": TERM,
        "budget": yearly
        | {"capex": "90 MUSD", "tco": "99 MUSD", "per_useful_gpu_hour": "99 USD",
           "per_million_tokens": "99 USD"},
        "targets": {
            "min_gpus": 8, "min_goodput": 0.1, "min_useful_gpus": 1, "min_useful_pflops": 0.1,
            "max_days_to_train": "900 days", "max_lead_time": "900 days",
        },
        "items": {"gpu": {"min": 1, "max": 40, "stock": 60}, "optic": {"stock": 900}},
        "policy": {
            "require_vendors": ["Beta"],
            "split": [{"category": "storage", "max_share": 1.0}],
        },
        **more,
    }  # fmt: skip
    return request


HELD = {"least_write_gb_per_s": 0.1, "most_write_gb_per_s": 1e6}
"""Limits of questions about a problem."""


def rows_of(case: Case) -> set[str]:
    return {row.name for row in build(case, "async").model.rows}


def test_a_row_that_whole_numbers_break_is_a_row_of_the_model() -> None:
    """Else the search could not hold the solver to it."""
    case = resolve(inputs_of(everything_limited().case()))
    rule = BandwidthRule("custom", 1e6, 1e6, 1)
    case = replace(case, rule=rule, job=replace(case.job, capacity_needed_tb=1e9))
    others = ("min_", "max_", "per_", *HELD)
    sums = [name for name in case.limits if not name.startswith(others)]
    limits = case.limits.with_values(**HELD)
    case = replace(case, limits=limits)
    tight = limits.with_values(**dict.fromkeys(sums, 0), **dict(zip(HELD, (1e9, 0.0), strict=True)))
    hopeless = replace(case, limits=tight)
    hopeless = replace(hopeless, policy=_impossible(case))
    broken = set(purchase.broken_rows(hopeless, {"gpu": 1, "box": 2}, ()))
    # What is held; capacity and the two sides of the rule; policies.
    assert len(broken) == len(sums) + len(HELD) + 3 + 2
    assert broken <= rows_of(case) | rows_of(replace(case, policy=_impossible(case)))


def _impossible(case: Case) -> object:
    """Return the case's policy with shares nobody can keep, and a vendor who sells nothing."""
    splits = tuple(replace(split, max_share=0.0) for split in case.policy.splits)
    return replace(case.policy, splits=splits, required=((),))


def limits_of(plan: Plan) -> set[str]:
    assert plan.status == "optimal"
    return {limit.name for limit in plan.limits}


def row_name(limit: str) -> str:
    """Return the name of the row behind a limit that a plan reports."""
    if limit in OTHER_NAMES:
        return OTHER_NAMES[limit]
    kind, _, rest = limit.partition(".")
    if kind == "split":
        return f"split_{rest}_0"
    return f"{kind}_{rest}" if rest else kind


def test_every_limit_that_is_reported_has_its_row() -> None:
    request = everything_limited()
    plan, case = (
        api.solve_inputs(inputs_of(request.case()), explain=False),
        resolve(inputs_of(request.case())),
    )
    limits, rows = limits_of(plan), rows_of(case)
    missing = {name for name in limits if not BOUNDS.fullmatch(name)}
    missing = {name for name in missing if row_name(name) not in rows}
    assert missing == set()
    assert len(limits) > 35


def test_every_limit_of_the_case_is_reported() -> None:
    """A row that may be dropped is one that a plan reports, under the same name or a known one."""
    request = everything_limited()
    plan, case = (
        api.solve_inputs(inputs_of(request.case()), explain=False),
        resolve(inputs_of(request.case())),
    )
    reported = {row_name(name) for name in limits_of(plan)}
    relaxable = rows_of(case) & set(BY_NAME) - {"gpu_types"}  # reported where the user asks
    assert relaxable <= reported
