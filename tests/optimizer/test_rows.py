"""The rows of every constraint family, word for word; PLANNER_GOLDEN=write renews the files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from planner.optimizer.build import build
from planner.optimizer.context import Build
from planner.optimizer.model import Row

from planner import limits as planner_limits
from planner.case import resolve
from planner.case.model import Case, Mode
from planner.limits import BY_NAME
from planner.optimizer import constraints
from planner.schema.problem import Budget, Targets
from tests.optimizer.cases import furnish
from tests.world.random_cases import inputs_of
from tests.world.random_hardware import Raw, figure
from tests.world.requests import Request, gpu_system, price, store

GOLDEN = Path(__file__).parent.parent / "golden"
FAMILIES = {each.__name__.removeprefix("add_"): each for each in constraints.families()}
TERM = {"years": 4, "electricity": "0.1 USD/kWh"}


def two_of_each(**objective: str) -> Request:
    """Return two GPU types, a store by table, and one of a family with faster clients."""
    request = Request(**objective)
    request.items.append(gpu_system("big", 16, "25 kW", "3000 TFLOP/s"))
    request.items.append(store("rival", "fast", draw="4 kW", write="2 GB/s"))
    request.families.append(
        {
            "id": "fast",
            "vendor": "Beta",
            "name": "fast",
            "client_factor": {"write": figure(1.7), "read": figure(1.6)},
            "max_units": figure(5),
        }
    )
    rows = [
        {"units": 2, "read": "4 GB/s", "write": "2 GB/s"},
        {"units": 6, "read": "8 GB/s", "write": "5 GB/s"},
        {"units": 8, "read": "9 GB/s", "write": "6 GB/s"},
    ]
    request.items[1]["sizes"] = {"source": "made_up", "confidence": "low", "rows": rows}
    request.prices |= {
        "big": price("300000", support_per_year="10 %"),
        "rival": price("15000", support_per_year="500 USD"),
    }
    request.job["parallelism"] = {"tensor": 4, "pipeline": 3}
    request.job["parameters"] = "7 B"
    return request


def everything_limited() -> tuple[Case, Mode]:
    request = two_of_each(maximize="goodput")
    request.site |= {"it_power": "200 kW", "racks": 12, "rack": {"height": "48 RU"}}
    request.items[0]["min_units"] = figure(2)
    for item in request.items[1], request.items[3]:
        item["provides"]["endurance"] = figure("3 TB/day")
    request.checkpoint["interval"] = {"policy": "optimal", "min": "60 s", "max": "4 h"}
    request.job |= {"ingest_per_gpu": "0.01 GB/s", "dataset": "120 TB"}
    request.job["restore"] = {"max_time": "5 min", "restart": "10 min"}
    request.job["training"] = {"mfu": 0.4, "tokens": "0.1 T"}
    request.more |= {
        "budget": {"capex": "4 MUSD", "opex_per_year": "0.6 MUSD", "tco": "6 MUSD"},
        "term": TERM,
        "items": {"gpu": {"installed": 3}},
        "targets": {
            "min_goodput": 0.5,
            "min_useful_gpus": 10,
            "min_useful_pflops": 3,
            "max_days_to_train": "60 days",
        },
    }
    return resolve(inputs_of(request.case())), "async"


def lost_work() -> tuple[Case, Mode]:
    request = two_of_each(maximize="useful_gpus")
    request.job.pop("failures")
    request.items[0]["gpu"]["failures_per_day"] = figure(0.02)
    request.items[2]["gpu"]["failures_per_day"] = figure(0.03)
    request.items[3]["provides"]["endurance"] = figure("3 TB/day")
    request.checkpoint |= {
        "interval": {"policy": "lost_work", "kappa": "5 %"},
        "writers": "one_replica",
        "stall": "20 s",
        "drain_slowdown": 0.2,
    }
    request.job["restore"] = {"max_time": "15 min", "fan_out": "every_replica"}
    request.job["gpus"] = {"whole": "replicas", "max": 100}
    return resolve(inputs_of(request.case())), "async"


def sync_with_two_of_everything() -> tuple[Case, Mode]:
    request = two_of_each(minimize="cost")
    request.storage |= {
        "max_families": 2,
        "rule": {"read": "2 GB/s", "write": "1 GB/s", "per_gpus": 32},
    }
    request.checkpoint |= {"mode": "sync", "max_blocking": 0.04, "writers": "one_replica"}
    request.job["restore"] = {
        "max_time": "5 min",
        "fan_out": "sharded_optimizer",
        "readers": "one_replica",
    }
    request.job["gpus"] = {"max_types": 2}
    case = resolve(inputs_of(request.case()))
    held = case.limits.with_values(least_write_gb_per_s=1.5, most_write_gb_per_s=400.0)
    return replace(case, must_use=("big", "rival"), limits=held), "sync"


def vendor_rule_per_gpu() -> tuple[Case, Mode]:
    request = Request(minimize="power")
    request.site.pop("it_power")
    request.storage["rule"] = {"read": "0.2 GB/s", "write": "0.1 GB/s"}
    request.job["training"] = {"mfu": 0.4}
    request.checkpoint["interval"] = {"policy": "optimal", "min": "4 s", "max": "1 h"}
    request.more["targets"] = {"min_useful_pflops": 3}
    return resolve(inputs_of(request.case())), "async"


def the_whole_bill() -> tuple[Case, Mode]:
    request = furnish(two_of_each(maximize="gpus"))
    request.items.pop(2)  # the larger system: it has no compute ports
    request.site |= {
        "it_power": "150 kW",
        "feeds": {"count": 4, "power": "60 kW", "redundancy": "N+1"},
        "pue": {"air": 1.5, "liquid": 1.25},
        "racks": 12,
    }
    request.site["cooling"] |= {"air_limit": "120 kW", "liquid_limit": "40 kW"}
    request.storage |= {"tolerate_down": 1, "max_families": 2, "exact_families": 2}
    request.items[2]["fail_units"] = figure(2)
    request.job["gpus"] = {"hot_spares": "25 %"}
    request.job["training"] = {"mfu": 0.4}
    request.prices["fibre"] |= {"pack": 5, "min_order": 12}
    request.prices["twin"]["stock"] = 900
    request.more |= {
        "budget": {
            "capex": "4 MUSD", "support_per_year": "50000 USD",
            "subscriptions_per_year": "40000 USD", "energy_per_year": "0.3 MUSD",
            "colocation_per_year": "0.4 MUSD", "tco": "6 MUSD",
            "per_useful_gpu_hour": "4 USD", "per_million_tokens": "0.5 USD",
        },
        "term": TERM | {"discount_rate": 0.08, "colocation": "120 USD/kW/month"},
        "items": {"spider": {"installed": 2, "stock": 30}, "gpu": {"max": 9}},
        "spares": {"cable": 0.1, "storage": 0.05},
        "policy": {
            "require_vendors": ["Beta"],
            "split": [{"category": "storage", "max_share": 0.75, "measure": "money"}],
        },
    }  # fmt: skip
    return resolve(inputs_of(request.case())), "async"


def repaired() -> tuple[Case, Mode]:
    request = two_of_each(maximize="useful_gpus")
    request.items[2]["spare_unit"] = {"tray": figure(2)}
    request.job["repair"] = {"share": 0.8, "time": "24 h", "swap": "10 min"}
    return resolve(inputs_of(request.case())), "async"


def of_two_options() -> tuple[Case, Mode]:
    request = two_of_each(maximize="useful_gpus")
    request.job["parallelism"] = [{"tensor": 4, "pipeline": 3}, {"tensor": 16, "pipeline": 1}]
    request.more["items"] = {"gpu": {"min": 1}}
    return resolve(inputs_of(request.case())), "async"


VARIANTS: Mapping[str, Callable[[], tuple[Case, Mode]]] = {
    function.__name__: function
    for function in (
        everything_limited,
        lost_work,
        sync_with_two_of_everything,
        vendor_rule_per_gpu,
        the_whole_bill,
        repaired,
        of_two_options,
    )
}


def text(row: Row) -> str:
    """Return a row as one line; terms in the order of their variables' names."""
    terms, right, sense = row.terms()
    named = sorted((variable.name, factor) for variable, factor in terms)
    left = " ".join(f"{factor:+.9g} {name}" for name, factor in named if factor)
    limit = BY_NAME.get(row.name)
    note = "; ".join(part for part in (limit.unit, limit.path) if part) if limit else ""
    symbol = {-1: "<=", 0: "==", 1: ">="}[sense]
    name = re.sub(r"_tangent_\d+$", "_tangent", row.name)  # the number counts over all families
    return f"{name}: {left} {symbol} {right + 0.0:.9g}{f'  [{note}]' if note else ''}"


def without_families(variant: str, monkeypatch: pytest.MonkeyPatch) -> Build:
    case, mode = VARIANTS[variant]()
    monkeypatch.setattr(constraints, "families", lambda: ())
    return build(case, mode)


def section(variant: str, rows: list[Row]) -> str:
    return "\n".join([f"# {variant.replace('_', ' ')}", *sorted(text(row) for row in rows)])


def compare(name: str, sections: list[str]) -> None:
    path, actual = GOLDEN / f"{name}.txt", "\n\n".join(sections) + "\n"
    if os.environ.get("PLANNER_GOLDEN") == "write":
        path.write_text(actual, encoding="utf-8")
    assert actual.splitlines() == path.read_text("utf-8").splitlines()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_rows_of_a_family(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sections, count = [], 0
    for variant in VARIANTS:
        master = without_families(variant, monkeypatch)
        before = len(master.model.rows)
        FAMILIES[family](master)
        added = master.model.rows[before:]
        sections.append(section(variant, added))
        count += len(added)
    assert count > 0, "no variant here makes the family add a row: its golden file says nothing"
    compare(family, sections)


def test_shared_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts, types, tables of sizes and, where it counts, goodput."""
    built = [(variant, without_families(variant, monkeypatch)) for variant in VARIANTS]
    compare("shared", [section(variant, master.model.rows) for variant, master in built])


def test_every_family_has_its_golden_file_and_no_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*FAMILIES, "shared"}


def test_every_family_is_in_the_model() -> None:
    assert len(constraints.families()) == len(FAMILIES)
    for variant in VARIANTS:
        names = [row.name for row in build(*VARIANTS[variant]()).model.rows]
        assert len(names) == len(set(names))


LIMITS: dict[str, tuple[Raw, str]] = {
    "site.it_power": ({"site": {"it_power": "90 kW"}}, "it_power"),
    "site.facility_power": ({"site": {"facility_power": "90 kW"}}, "facility_power"),
    "site.feeds": ({"site": {"feeds": {"count": 2, "power": "45 kW"}}}, "facility_power"),
    "cooling.air_limit": ({"site": {"cooling": {"air_limit": "90 kW"}}}, "heat_air"),
    "cooling.liquid_limit": ({"site": {"cooling": {"liquid_limit": "90 kW"}}}, "heat_liquid"),
    "site.racks": ({"site": {"racks": 9, "rack": {"height": "48 RU"}}}, "racks"),
    "site.weight_limit": ({"site": {"weight_limit": "9 t"}}, "weight"),
    "budget.capex": ({"budget": {"capex": "1 MUSD"}}, "capex"),
    "budget.opex_per_year": (
        {"budget": {"opex_per_year": "1 MUSD"}, "term": TERM},
        "opex",
    ),
    "budget.support_per_year": ({"budget": {"support_per_year": "1 MUSD"}}, "support"),
    "budget.subscriptions_per_year": (
        {"budget": {"subscriptions_per_year": "1 MUSD"}},
        "subscriptions",
    ),
    "budget.energy_per_year": (
        {"budget": {"energy_per_year": "1 MUSD"}, "term": TERM},
        "energy",
    ),
    "budget.colocation_per_year": (
        {"budget": {"colocation_per_year": "1 MUSD"}, "term": TERM},
        "colocation",
    ),
    "budget.per_useful_gpu_hour": (
        {"budget": {"per_useful_gpu_hour": "4 USD"}, "term": TERM},
        "per_useful_gpu_hour",
    ),
    "budget.per_million_tokens": (
        {
            "budget": {"per_million_tokens": "4 USD"},
            "term": TERM,
            "job": {"parameters": "7 B", "training": {"mfu": 0.5}},
        },
        "per_million_tokens",
    ),
    "policy.require_vendors": ({"policy": {"require_vendors": ["Beta"]}}, "require_vendor_0"),
    "policy.split": (
        {"policy": {"split": [{"category": "storage", "max_share": 1.0}]}},
        "split_0_0",
    ),
    "budget.tco": ({"budget": {"tco": "1 MUSD"}, "term": TERM}, "tco"),
    "targets.min_goodput": ({"targets": {"min_goodput": 0.5}}, "min_goodput"),
    "targets.min_useful_gpus": ({"targets": {"min_useful_gpus": 9}}, "min_useful_gpus"),
    "targets.min_useful_pflops": ({"targets": {"min_useful_pflops": 3}}, "min_useful_pflops"),
    "targets.max_days_to_train": (
        {
            "targets": {"max_days_to_train": "90 days"},
            "job": {"parameters": "7 B", "training": {"mfu": 0.5, "tokens": "0.1 T"}},
        },
        "min_useful_pflops",
    ),
    "restore.max_time": ({"job": {"restore": {"max_time": "5 min"}}}, "restore_time"),
    "ingest_per_gpu": ({"job": {"ingest_per_gpu": "0.1 GB/s"}}, "ingest"),
    "endurance": ({"box": {"provides": {"endurance": figure("9 TB/day")}}}, "endurance"),
    "storage.rule": (
        {"storage": {"rule": {"read": "1 GB/s", "write": "0 GB/s"}}},
        "rule_read",
    ),
    "min_units": ({"box": {"min_units": figure(3)}}, "least_box"),
    "family max_units": ({"family": {"max_units": figure(3)}}, "family_max_units_fs"),
}
BOUNDS: dict[str, tuple[Raw, str, tuple[float, float]]] = {
    "targets.min_gpus": ({"targets": {"min_gpus": 24}}, "gpus", (24, 32)),
    "gpus.min": ({"job": {"gpus": {"min": 9}}}, "gpus", (9, 32)),
    "gpus.max": ({"job": {"gpus": {"max": 20}}}, "gpus", (1, 20)),
    "parallelism": ({"job": {"parallelism": {"tensor": 8, "pipeline": 2}}}, "gpus", (16, 32)),
    "items.min": ({"items": {"box": {"min": 2}}}, "x__box__site__0", (2, 8)),
    "items.max": ({"items": {"box": {"max": 3}}}, "x__box__site__0", (0, 3)),
    "items.fixed": ({"items": {"box": {"fixed": 3}}}, "x__box__site__0", (3, 3)),
    "items.stock": ({"items": {"box": {"installed": 1, "stock": 2}}}, "x__box__site__0", (0, 3)),
    "targets.max_lead_time": (
        {"targets": {"max_lead_time": "83 days"}, "items": {"box": {"installed": 2}}},
        "x__box__site__0",
        (0, 2),
    ),
    "items.required": ({"items": {"box": {"required": True}}}, "x__box__site__0", (1, 8)),
    "max_units": ({"box": {"max_units": figure(4)}}, "x__box__site__0", (0, 4)),
}
ALWAYS = {"overlap", "drain_fits", "capacity", "gpu_types", "storage_families", "appliance_write"}


def model_with(changes: Raw, power: str | None = None, mode: Mode = "async") -> Build:
    request = Request(minimize="cost")
    request.site = {"pue": 1.25} | ({"it_power": power} if power else {}) | changes.get("site", {})
    request.job |= changes.get("job", {})
    request.storage |= changes.get("storage", {})
    request.checkpoint["mode"] = mode
    request.items[1] |= {k: v for k, v in changes.get("box", {}).items() if k != "provides"}
    request.items[1]["provides"] |= changes.get("box", {}).get("provides", {})
    request.families[0] |= changes.get("family", {})
    request.prices["box"]["lead_time"] = "4-12 weeks"  # 84 days
    top = ("budget", "targets", "term", "items", "policy")
    request.more |= {key: changes[key] for key in top if key in changes}
    return build(resolve(inputs_of(request.case())), mode)


@pytest.mark.parametrize("limit", LIMITS)
def test_a_declared_limit_has_its_row(limit: str) -> None:
    changes, name = LIMITS[limit]
    rows = {row.name: row for row in model_with(changes).model.rows}
    assert name in rows
    assert name not in {row.name for row in model_with({}).model.rows}
    kinds = {each.name.partition(".")[0] for each in planner_limits.LIMITS}
    assert (name.removesuffix("_0").removesuffix("_0") in kinds) == (
        limit not in ("min_units", "family max_units")
    )


@pytest.mark.parametrize("limit", BOUNDS)
def test_a_declared_count_is_a_bound(limit: str) -> None:
    changes, name, bounds = BOUNDS[limit]
    variables: dict[str, Any] = {
        variable.name: variable for variable in model_with(changes, "40 kW").model.variables
    }
    assert (variables[name].lowBound, variables[name].upBound) == bounds


def test_limits_that_always_hold_have_their_rows() -> None:
    assert {row.name for row in model_with({}).model.rows} >= ALWAYS
    in_sync = {row.name for row in model_with({}, mode="sync").model.rows}
    assert "blocking" in in_sync
    assert not {"overlap", "drain_fits"} & in_sync


def test_clients_without_a_limit_move_no_more_than_storage_sends() -> None:
    """A flag that is off by the solver's tolerance would else be worth much bandwidth."""
    request = two_of_each(maximize="useful_gpus")
    request.site |= {"it_power": "200 kW"}
    request.storage["client_limit"] = {"read": "1000000 GB/s", "write": "1000000 GB/s"}
    made = build(resolve(inputs_of(request.case())), "async")
    rows = [row for row in made.model.rows if row.name.startswith("client_")]
    assert len(rows) > 10
    most = max(abs(factor) for row in rows for _, factor in row.terms()[0])
    systems = sum(made.caps[system.id] for system in made.case.systems)
    assert most <= systems * max(made.write_range[1], made.read_range[1])


def test_no_limit_of_the_problem_file_is_forgotten_here() -> None:
    known = {*LIMITS, *BOUNDS}
    for section_name, model in (("budget", Budget), ("targets", Targets)):
        for name, field in model.model_fields.items():
            assert f"{section_name}.{field.alias or name}" in known
