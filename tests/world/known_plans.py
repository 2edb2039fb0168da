"""Plans that verify clean, together listing every kind of limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.world.plans import Choice, Made, finish

DELIVERED = {"read": 0.8, "write": 0.8}
SITE = {
    "facility_power": "1 MW",
    "it_power": "800 kW",
    "pue": 1.25,
    "racks": 60,
    "rack": {"height": "48 RU", "power": "45 kW"},
}


def full(interval_s: float | None = None) -> Made:
    """Everything limited, asynchronous, best interval, discounts, installed units."""
    job: dict[str, Any] = {
        "name": "train",
        "lost_time": "none",
        "parameters": "70 B",
        "bytes_per_parameter": 14.0,
        "parallelism": {"tensor": 8, "pipeline": 4},
        "checkpoint": {"keep_last": 3, "milestones": 2, "exports": 5},
        "restore": {"max_time": "60 s"},
        "training": {"tokens": "2 T", "mfu": 0.4},
        "gpus": {"min": 64, "max": 512, "whole": "systems"},
        "dataset": "100 TB",
        "ingest_per_gpu": "0.1 GB/s",
    }
    problem = {
        "name": "full",
        "description": "all limits",
        "site": SITE,
        "budget": {"capex": "20 MUSD", "opex_per_year": "3 MUSD", "tco": "40 MUSD"},
        "term": {"years": 4, "electricity": "0.08 USD/kWh"},
        "items": {"box": {"installed": 1, "min": 2, "max": 9}, "gpu_a": {"required": True}},
        "storage": {"delivered_fraction": DELIVERED},
        "jobs": (job,),
        "objective": {"maximize": "goodput"},
        "targets": {
            "min_gpus": 100,
            "min_goodput": 0.5,
            "min_useful_gpus": 100,
            "min_useful_pflops": 1,
            "max_days_to_train": "2000 day",
        },
    }
    limits = {
        "it_power": ("<=", 800, "kW"), "facility_power": ("<=", 1000, "kW"),
        "racks": ("<=", 60, "racks"), "capex": ("<=", 20e6, "USD"),
        "opex": ("<=", 3e6, "USD/year"), "tco": ("<=", 40e6, "USD"),
        "overlap": ("<=", 0.1, "share"), "drain_fits": ("<=", 0, "s"),
        "restore_time": ("<=", 60, "s"), "capacity": (">=", 0, "TB"),
        "ingest": ("<=", 0, "GB/s"), "endurance": ("<=", 3 * 700, "TB/day"),
        "min_gpus": (">=", 100, "GPUs"), "gpus_min": (">=", 64, "GPUs"),
        "gpus_max": ("<=", 512, "GPUs"), "replica_fits": (">=", 32, "GPUs"),
        "min_goodput": (">=", 0.5, "share"), "min_useful_gpus": (">=", 100, "GPUs"),
        "min_useful_pflops": (">=", 1, "PFLOP/s"), "max_days_to_train": ("<=", 2000, "days"),
        "items.box.min": (">=", 2, "units"), "items.box.max": ("<=", 9, "units"),
        "items.gpu_a.min": (">=", 1, "units"), "min_units.gpu_a": (">=", 2, "units"),
        "max_units.gpu_a": ("<=", 400, "units"),
    }  # fmt: skip
    choice = Choice(
        problem, {"gpu_a": 40, "box": 3}, {"gpu_a": 40}, ("cask_fs",), interval_s,
        limits=limits,
        discounts=(
            {"vendor": "Anvil", "discount": "5 %"},
            {"category": "gpu_system", "discount": "1 %"},
            {"item": "box", "discount": "12.5 %"},
            {"vendor": "Cask", "discount": "50 %"},
        ),
    )  # fmt: skip
    # 45 kW feed four 10.2 kW systems: 10 racks; 20 boxes by power: 1 rack.
    return finish(choice, racks={"gpu_a": (10, 4), "box": (1, 20)},
                  discounts={"gpu_a": 0.05, "box": 0.125})  # fmt: skip


def sync_bundle(interval_s: float = 600.0) -> Made:
    """Synchronous at a fixed interval, one replica writes, a bundle that takes three racks."""
    job = {
        "name": "save",
        "lost_time": "none",
        "parameters": "7 B",
        "bytes_per_parameter": 14.0,
        "parallelism": {"tensor": 8, "pipeline": 2},
        "checkpoint": {
            "mode": "sync",
            "writers": "one_replica",
            "interval": {"policy": "fixed", "every": "10 min"},
        },
        "restore": {"readers": "one_replica"},
        "failures": {"per_gpu_day": 0.5},
    }
    problem = {
        "name": "bundle",
        "site": {"it_power": "300 kW", "pue": 1.3, "racks": 10, "rack": SITE["rack"]},
        "term": {"years": 3, "electricity": "0.1 USD/kWh"},
        "items": {"bundle": {"fixed": 1}},
        "storage": {"delivered_fraction": DELIVERED},
        "jobs": (job,),
        "objective": {"minimize": "tco"},
        "targets": {"min_gpus": 32},
    }
    limits = {
        "it_power": ("<=", 300, "kW"), "racks": ("<=", 10, "racks"),
        "blocking": ("<=", 0.05, "share"), "capacity": (">=", 0, "TB"),
        "replica_fits": (">=", 16, "GPUs"), "min_gpus": (">=", 32, "GPUs"),
        "items.bundle.fixed": ("<=", 1, "units"), "min_units.gpu_a": (">=", 2, "units"),
        "max_units.gpu_a": ("<=", 400, "units"), "family_max_units.ewer_fs": ("<=", 1, "units"),
    }  # fmt: skip
    choice = Choice(
        problem, {"gpu_a": 5, "bundle": 1}, {"gpu_a": 4}, ("ewer_fs",), interval_s=interval_s,
        mode="sync", limits=limits,
    )  # fmt: skip
    # First rack: 3 nodes and 15 drawers in 48 RU; the other 15 drawers fill 45 RU of the second.
    return finish(choice, racks={"gpu_a": (2, 4), "bundle": (2, None)}, discounts={})


def vendor_rule(kappa: float = 0.01) -> Made:
    """A rule per GPU bought, whole replicas, interval by lost work, a table of sizes."""
    job = {
        "name": "rule",
        "lost_time": "none",
        "parameters": "40 B",
        "trained_share": 0.5,
        "bytes_per_parameter": 14.0,
        "parallelism": {"tensor": 4, "pipeline": 3},
        "checkpoint": {"interval": {"policy": "lost_work", "kappa": 0.01}},
        "restore": {"fan_out": "every_replica", "max_time": "200 s"},
        "failures": {"per_gpu_day": 0.1},
        "gpus": {"whole": "replicas"},
    }
    problem = {
        "name": "rule",
        "site": {"pue": 1.2, "rack": {"height": "40 RU"}},
        "storage": {"delivered_fraction": DELIVERED, "rule": "light"},
        "jobs": (job,),
        "objective": {"minimize": "cost"},
        "targets": {"min_gpus": 84},
    }
    limits = {
        "drain_fits": ("<=", 0, "s"), "restore_time": ("<=", 200, "s"),
        "capacity": (">=", 0, "TB"), "rule_read": (">=", 88, "GB/s"),
        "rule_write": (">=", 66, "GB/s"), "min_gpus": (">=", 84, "GPUs"),
        "replica_fits": (">=", 12, "GPUs"), "min_units.gpu_a": (">=", 2, "units"),
        "max_units.gpu_a": ("<=", 400, "units"),
    }  # fmt: skip
    choice = Choice(
        problem, {"gpu_a": 11, "shelf": 7}, {"gpu_a": 11}, ("drum_fs",), interval_s=kappa,
        gpus_used=84, limits=limits,
    )  # fmt: skip
    return finish(choice, racks={"gpu_a": (3, 5), "shelf": (1, 40)}, discounts={})


def two_of_each() -> Made:
    """Two GPU types and two storage families, sharded restore, a slowdown while draining."""
    job = {
        "name": "mix",
        "lost_time": "none",
        "parameters": "40 B",
        "trained_share": 0.8,
        "parallelism": {"tensor": 8, "pipeline": 2},
        "checkpoint": {"size": "400 GB", "mode": "open", "drain_slowdown": 0.05},
        "restore": {"fan_out": "sharded_optimizer"},
        "gpus": {"max_types": 2, "whole": "systems"},
    }
    problem = {
        "name": "mix",
        "site": {"facility_power": "500 kW", "pue": 1.2, "rack": {"height": "48 RU"}},
        "storage": {"delivered_fraction": DELIVERED, "max_families": 2},
        "jobs": (job,),
        "objective": {"maximize": "useful_gpus"},
    }
    limits = {
        "facility_power": ("<=", 500, "kW"), "overlap": ("<=", 0.1, "share"),
        "drain_fits": ("<=", 0, "s"), "capacity": (">=", 0, "TB"),
        "replica_fits": (">=", 16, "GPUs"), "min_units.gpu_a": (">=", 2, "units"),
        "max_units.gpu_a": ("<=", 400, "units"),
    }  # fmt: skip
    choice = Choice(
        problem, {"gpu_a": 20, "gpu_b": 12, "box": 1, "shelf": 5}, {"gpu_a": 20, "gpu_b": 11},
        ("cask_fs", "drum_fs"), limits=limits,
    )  # fmt: skip
    racks = {"gpu_a": (4, 6), "gpu_b": (1, 12), "box": (1, 24), "shelf": (1, 48)}
    return finish(choice, racks=racks, discounts={})


def types_of_one_size() -> Made:
    """Two GPU types of eight GPUs each: the GPUs in use do not tell how many are of which."""
    job = {
        "name": "pair",
        "lost_time": "none",
        "parameters": "40 B",
        "bytes_per_parameter": 14.0,
        "gpus": {"max_types": 2},
    }
    problem = {
        "name": "pair",
        "site": {"facility_power": "1 MW", "pue": 1.2, "rack": {"height": "48 RU"}},
        "storage": {"delivered_fraction": DELIVERED},
        "jobs": (job,),
        "objective": {"maximize": "useful_gpus"},
    }
    limits = {
        "endurance": ("<=", 6 * 700, "TB/day"), "facility_power": ("<=", 1000, "kW"),
        "overlap": ("<=", 0.1, "share"),
        "drain_fits": ("<=", 0, "s"), "capacity": (">=", 0, "TB"),
        "min_units.gpu_a": (">=", 2, "units"), "max_units.gpu_a": ("<=", 400, "units"),
    }  # fmt: skip
    choice = Choice(
        problem, {"gpu_a": 12, "gpu_c": 9, "box": 6}, {"gpu_a": 11, "gpu_c": 5}, ("cask_fs",),
        limits=limits,
    )  # fmt: skip
    return finish(choice, racks={"gpu_a": (2, 6), "gpu_c": (2, 6), "box": (1, 24)}, discounts={})


PLANS: dict[str, Callable[[], Made]] = {
    make.__name__: make for make in (full, sync_bundle, vendor_rule, two_of_each, types_of_one_size)
}
