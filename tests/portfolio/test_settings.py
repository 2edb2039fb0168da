"""Every setting of a problem file is honoured in a portfolio, or refused by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from planner.errors import InputError
from planner.portfolio.inputs import load
from planner.portfolio.plan import solve
from planner.portfolio.schema import Portfolio, PortfolioPlan, PortfolioSite, TrainingJob
from planner.schema.job import Checkpoint, DataSet, GpuRange, Repair, Restore, Training
from planner.schema.problem import Quantity, Storage
from tests.portfolio.small import ONE, SITE, A, B, S, Store, files, written

REFUSED = "refused"
UNKNOWN = "unknown"
"""Refused as a key that a portfolio does not have."""
JOB: dict[str, tuple[Any, str]] = {
    "parameters": ("70 B", "changes"),
    "bytes_per_parameter": ("weights_only", "changes"),
    "parallelism": ({"tensor": 8, "pipeline": 2}, "changes"),
    "checkpoint.size": ("500 GB", "changes"),
    "checkpoint.mode": ("sync", REFUSED),
    "checkpoint.stall": ("60 s", "changes"),
    "checkpoint.local": ({"use": "yes", "copies": 2, "recovers": ["gpu"]}, REFUSED),
    "checkpoint.writers": ("one_replica", "changes"),
    "checkpoint.max_overlap": (0.02, "changes"),
    "checkpoint.drain_slowdown": (0.3, REFUSED),
    "checkpoint.interval": ({"policy": "fixed", "every": "3000 s"}, "changes"),
    "checkpoint.keep_last": (50_000, "changes"),
    "restore.max_time": ("2 s", "changes"),
    "restore.fan_out": ("every_replica", "changes"),
    "restore.restart": ("3000 s", "changes"),
    "failures": ({"per_gpu_day": 0.2}, "changes"),
    "repair.share": ({"share": 1.0, "time": "48 h"}, "changes"),
    "repair.spares": ({"share": 1.0, "time": "48 h", "spares": 2}, "changes"),
    "repair.swap": ({"share": 1.0, "time": "1 h", "swap": "1 h"}, "changes"),
    "repair.when_short": ({"share": 1.0, "time": "1 h", "when_short": "shrink"}, REFUSED),
    "lost_time": (0.2, "changes"),
    "training.mfu": (0.5, "changes"),
    "training.tokens": ("1 T", REFUSED),
    "training.scale": ({"exponent": 0.2, "reference": 8}, "changes"),
    "power": ({"points": "open"}, REFUSED),
    "gpus.min": (32, "changes"),
    "gpus.max": (8, "changes"),
    "gpus.per_system": (4, "changes"),
    "gpus.max_types": (2, REFUSED),
    "dataset": ("20000 TB", "changes"),
    "dataset.tier": ({"size": "10 TB", "tier": "bulk"}, REFUSED),
    "ingest_per_gpu": ("8 GB/s", "changes"),
    "sites": (["x"], "changes"),
    "window": ({"from": 2}, "changes"),
    "weight": (0.5, "changes"),
    "tokens": ({"count": "900 T"}, "changes"),
    "min_useful_pflops": (60, "changes"),
    "storage_share": (0.95, "changes"),
}
JOB_ELSEWHERE = {
    "name", "kind", "optional", "moves", "priority",
    "dataset", "checkpoint", "restore", "repair",
    "training", "gpus", "checkpoint.stall_overhead", "checkpoint.max_blocking", "gpus.whole",
    "repair.time", "repair.unit", "dataset.size", "dataset.staged", "training.precision",
    "training.active_parameters", "training.model", "training.assumed_mfu", "training.rate_factor",
}  # fmt: skip
"""Tested elsewhere, of use beside others of the table alone, or no setting of a plan."""
STORAGE: dict[str, tuple[Any, str]] = {
    "delivered_fraction": ({"read": 0.8, "write": 0.4}, "changes"),
    "fill_limit": (0.0001, "changes"),
    "max_families": (2, "changes"),
    "tolerate_down": (1, REFUSED),
    "client_limit": ({"write": "1 GB/s", "read": "40 GB/s"}, "changes"),
    "rule": ("good", REFUSED),
}
STORAGE_ELSEWHERE = {"endurance", "dwpd"}
ITEM: dict[str, tuple[Any, str]] = {
    "fixed": (1, REFUSED),
    "min": (1, REFUSED),
    "max": (1, "changes"),
    "installed": (1, REFUSED),
    "retire": (True, REFUSED),
    "stock": (1, "changes"),
    "spares": (1.0, "changes"),
    "required": (True, REFUSED),
    "exclude": (True, "changes"),
}
WHOLE: dict[str, tuple[Any, str]] = {
    "services": (["x"], UNKNOWN),
    "policy": ({"vendor_rules": "x"}, UNKNOWN),
    "targets": ({"min_useful_gpus": 8}, UNKNOWN),
    "budget.opex_per_year": ("1 MUSD", UNKNOWN),
    "term.colocation": ("100 USD/kW", UNKNOWN),
    "restores": ("together", "changes"),
    "spares.gpu_system": (1.0, "changes"),
    "market.switch.retire": (True, REFUSED),
    "sites.y.it_power": ("20 kW", "changes"),
    "sites.y.weight_limit": ("20 kg", "changes"),
    "sites.y.pue": (2.0, "changes"),
    "sites.y.storage": ({"delivered_fraction": {"read": 0.8, "write": 0.4}}, "changes"),
}


def problem() -> dict[str, Any]:
    """Return two jobs at two sites over two periods on two kinds of storage."""
    job = {**ONE, "parameters": "140 B", "parallelism": {"tensor": 4, "pipeline": 2}}
    job |= {"sites": ["y"], "weight": 4.0}
    job["checkpoint"] = {k: v for k, v in ONE["checkpoint"].items() if k != "size"}
    other = json.loads(json.dumps(job)) | {"name": "two", "parameters": "35 B", "weight": 1.5}
    return {
        "sites": {"x": {**SITE, "facility_power": "50 kW"}, "y": {**SITE, "pue": 1.5}},
        "periods": {"count": 2},
        "budget": {"capex": {"total": "3.4 MUSD"}},
        "storage": {
            "delivered_fraction": {"read": 0.8, "write": 0.8},
            "endurance": "off",
            "client_limit": {"write": "40 GB/s", "read": "100 GB/s"},
        },
        "jobs": [job, other],
    }


STORES = (S, Store("t", 30.0, 60.0, 2.0, 2.0, 0.16, family="objects"))


def laid(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a problem with a value at a path."""
    data = json.loads(json.dumps(data))
    inner: Any = data
    *parents, last = path.split(".")
    for step in parents:
        inner = inner[int(step)] if step.isdigit() else inner.setdefault(step, {})
    inner[last] = value
    return data


def solved(folder: Path, data: dict[str, Any]) -> PortfolioPlan:
    """Return the plan of a problem."""
    return solve(load(written(folder, files((A, B), STORES, data))))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> PortfolioPlan:
    """The plan without any of the settings."""
    return solved(tmp_path_factory.mktemp("base"), problem())


def paths() -> list[tuple[str, Any, str]]:
    """Return every setting: its path, a value and what is expected."""
    found = []
    for name, (value, wanted) in JOB.items():
        nested = name.startswith("repair.") or name == "dataset.tier"
        found.append((f"jobs.0.{name.split('.')[0] if nested else name}", value, wanted))
    found += [(f"storage.{name}", *rest) for name, rest in STORAGE.items()]
    found += [(f"items.b.{name}", *rest) for name, rest in ITEM.items()]
    return found + [(name, *rest) for name, rest in WHOLE.items()]


def test_no_setting_is_missing_from_the_tables() -> None:
    def names(model: type[BaseModel], before: str = "") -> set[str]:
        return {before + (field.alias or name) for name, field in model.model_fields.items()}

    parts = (
        ("checkpoint.", Checkpoint), ("restore.", Restore), ("gpus.", GpuRange),
        ("repair.", Repair), ("training.", Training), ("dataset.", DataSet),
    )  # fmt: skip
    job = names(TrainingJob).union(*(names(model, before) for before, model in parts))
    assert job - JOB.keys() - JOB_ELSEWHERE == set()
    assert names(Storage) - STORAGE.keys() - STORAGE_ELSEWHERE == set()
    assert names(Quantity) - ITEM.keys() == set()
    assert {"services", "policy", "targets"}.isdisjoint(names(Portfolio))
    assert "it_power" in names(PortfolioSite)


@pytest.mark.parametrize(("path", "value", "wanted"), paths(), ids=lambda each: str(each)[:40])
def test_setting_is_honoured_or_refused(
    path: str, value: Any, wanted: str, base: PortfolioPlan, tmp_path: Path
) -> None:
    data = laid(problem(), path, value)
    if wanted in (REFUSED, UNKNOWN):
        with pytest.raises(InputError) as error:
            solved(tmp_path, data)
        assert path.split(".")[-1] in str(error.value)
        assert "problem.yaml:1" in str(error.value)
        return
    try:
        plan = solved(tmp_path, data)
    except InputError as error:
        assert "can run on no GPU system" in str(error)
        return
    assert plan.value is None or plan.value != pytest.approx(base.value, rel=1e-6)
