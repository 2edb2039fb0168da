"""Plans that verify clean, together listing every kind of limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planner.inputs import Inputs
from planner.schema.plan import Device, Line, Plan, RackGroup
from tests.factory import Choice, Made
from tests.factory import finish as finish_without_room

DELIVERED = {"read": 0.8, "write": 0.8}
SITE = {
    "facility_power": "1 MW",
    "it_power": "800 kW",
    "pue": 1.25,
    "racks": 60,
    "rack": {"height": "48 RU", "power": "45 kW"},
}


def finish(choice: Choice, **by_item: Any) -> Made:
    """Return the plan of a choice, with the figures of the room and of time filled in."""
    made = finish_without_room(choice, **by_item)
    return replace(made, plan=with_room(made.inputs, made.plan))


def with_room(inputs: Inputs, plan: Plan) -> Plan:
    """Return the plan with typical draw, heat, meter, placement, ratios; all is cooled by air."""
    pue, term, totals = inputs.problem.site.pue_air, inputs.problem.term, plan.totals
    years = term.years if term else None
    lines = tuple(_with_room(inputs, line, pue, years) for line in plan.lines)
    top = [line for line in lines if line.parent is None]
    assert totals is not None
    hour = tokens = None
    if term is not None and totals.tco_usd is not None:
        hours, job = term.years * 8760, plan.jobs[0]
        hour = totals.tco_usd / (job.useful_gpus * hours)
        if job.useful_pflops is not None:
            flops = job.useful_pflops * 1e15 * hours * 3600
            tokens = totals.tco_usd / (flops / 6 / inputs.problem.job.parameters / 1e6)
    leads = [line.lead_time_days for line in top if line.lead_time_days and line.purchased]
    sections = {line.section: 0.0 for line in top}
    for line in top:
        sections[line.section] += line.extended_net_usd or 0.0
    more = {
        "typical_power_kw": totals.it_power_kw,
        "heat_air_kw": totals.it_power_kw,
        "heat_liquid_kw": 0.0,
        "heat_air_btu_per_h": totals.heat_btu_per_h,
        "heat_liquid_btu_per_h": 0.0,
        "subscriptions_usd_per_year": 0.0,
        "colocation_usd_per_year": 0.0 if term else None,
        "usd_per_useful_gpu_hour": hour,
        "usd_per_million_tokens": tokens,
        "lead_time_days": max(leads, default=None),
        "critical_skus": tuple(
            line.sku for line in top if leads and line.lead_time_days == max(leads)
        ),
        "capex_by_section_usd": sections,
    }
    return plan.model_copy(
        update={
            "lines": lines,
            "totals": totals.model_copy(update=more),
            "site": plan.site.model_copy(update={"pue_liquid": pue}),
            "racks": _racks(inputs, lines) if inputs.problem.site.rack else (),
        }
    )


def _with_room(inputs: Inputs, line: Line, pue: float, years: float | None) -> Line:
    item = next(item for item in inputs.items if item.id == line.sku)
    price = inputs.prices.get(line.sku)
    more = {
        "category": item.category,
        "unit_typical_power_kw": line.unit_it_power_kw,
        "typical_power_kw": line.it_power_kw,
        "facility_power_kw": (line.it_power_kw or 0.0) * pue,
    }
    if line.parent is None:
        more["rack_class"] = "gpu" if item.category == "gpu_system" else "storage"
        more["support_years"] = years
        more["lead_time_days"] = price.lead_time_days if price else None
    return line.model_copy(update=more)


def _racks(inputs: Inputs, lines: tuple[Line, ...]) -> tuple[RackGroup, ...]:
    """Fill each line's racks from the bottom up, as many devices as fit in the order given."""
    groups: list[RackGroup] = []
    for line in lines:
        if line.parent is not None:
            continue
        parts = [part for part in lines if part.parent == line.sku] or [line]
        racks: list[list[Device]] = [[] for _ in range(line.racks or 0)]
        for part in parts:
            for _ in range(part.quantity):
                _put(inputs, racks, part)
        for devices in racks:
            groups.append(_group(inputs, line, devices, 1 + len(groups)))
    return tuple(groups)


def _put(inputs: Inputs, racks: list[list[Device]], part: Line) -> None:
    rack = inputs.problem.site.rack
    assert rack is not None and part.unit_rack_units is not None
    for devices in racks:
        height_ru = sum(device.rack_units for device in devices)
        power_kw = sum(device.it_power_kw for device in devices) + (part.unit_it_power_kw or 0.0)
        tall = height_ru + part.unit_rack_units > rack.height_ru
        if not tall and power_kw <= (rack.power_kw or power_kw):
            device = Device(
                sku=part.sku, position_ru=height_ru + 1, rack_units=part.unit_rack_units,
                it_power_kw=part.unit_it_power_kw or 0.0, weight_kg=part.unit_weight_kg,
            )  # fmt: skip
            devices.append(device)
            return
    raise AssertionError(f"no rack for {part.sku}")


def _group(inputs: Inputs, line: Line, devices: list[Device], first: int) -> RackGroup:
    rack, weights = inputs.problem.site.rack, [device.weight_kg for device in devices]
    assert rack is not None and line.rack_class is not None
    known = [weight for weight in weights if weight is not None]
    return RackGroup(
        first=first, count=1, rack_class=line.rack_class, product=False,
        height_ru=rack.height_ru, power_limit_kw=rack.power_kw, weight_limit_kg=None,
        it_power_kw=sum(device.it_power_kw for device in devices),
        weight_kg=sum(known) if len(known) == len(weights) else None, pdus=0,
        devices=tuple(devices),
    )  # fmt: skip


def full(interval_s: float | None = None) -> Made:
    """Everything limited, asynchronous, best interval, discounts, installed units."""
    job: dict[str, Any] = {
        "name": "train",
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
