"""Planted faults: a plan made from other inputs than it is judged by is refused, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planner.api import solve_inputs
from planner.inputs import Inputs
from planner.schema.catalog import Figure
from planner.schema.plan import Plan, RackGroup
from planner.schema.prices import ExchangeRate
from planner.verifier import verify
from tests.test_verify import everything
from tests.world.catalog import figures, hardware, inputs_of, problem
from tests.world.known_plans import full, sync_bundle, two_of_each, vendor_rule
from tests.world.tampering import DataPath, disagreements, put


def of(value: Any) -> Figure[Any]:
    return Figure(value=value, source="sheet", confidence="high")


EUR = ExchangeRate.model_validate({"usd": 3.0, "on": "2026-11-01", "source": "a bank"})
JOB = ("jobs", 0)
# what was misread | part of the inputs | where | value it should have had | what is named
PLANTED: list[tuple[str, str, DataPath, Any, str]] = [
    ("PUE of air", "problem", ("site", "pue", "air"), 1.5, "facility_power_kw"),
    ("PUE of liquid", "problem", ("site", "pue", "liquid"), 1.2, "facility_power_kw"),
    ("feeds", "problem", ("site", "feeds", "redundancy"), "2N", "facility_power: broken limit"),
    ("liquid plant", "problem", ("site", "cooling", "liquid_limit_kw"), 50.0, "heat_liquid: brok"),
    ("air plant", "problem", ("site", "cooling", "air_limit_kw"), 50.0, "heat_air: broken limit"),
    ("CDU redundancy", "problem", ("site", "cooling", "redundancy"), "2N", "lines.pump.quantity"),
    ("PDU redundancy", "problem", ("site", "rack", "pdu", "redundancy"), "2N", "lines.strip."),
    ("rack weight", "problem", ("site", "rack", "weight_kg"), 300.0, "lines.gpu_a.racks"),
    ("rack height", "problem", ("site", "rack_classes", "network", "height_ru"), 30.0, "height_ru"),
    ("hall", "problem", ("site", "racks"), 2, "racks: broken limit"),
    ("IT power", "problem", ("site", "it_power_kw"), 100.0, "it_power: broken limit"),
    ("support budget", "problem", ("budget", "support_usd_per_year"), 1.0, "support: broken"),
    ("subscriptions", "problem", ("budget", "subscriptions_usd_per_year"), 1.0, "subscriptions: b"),
    ("energy budget", "problem", ("budget", "energy_usd_per_year"), 1.0, "energy: broken limit"),
    ("colocation", "problem", ("budget", "colocation_usd_per_year"), 1.0, "colocation: broken"),
    ("GPU-hour", "problem", ("budget", "per_useful_gpu_hour_usd"), 0.01, "per_useful_gpu_hour: br"),
    ("tokens", "problem", ("budget", "per_million_tokens_usd"), 1e-6, "per_million_tokens: broken"),
    ("lead time", "problem", ("targets", "max_lead_time_days"), 150.0, "lead_time: broken limit"),
    ("annuity", "problem", ("term", "discount_rate"), 0.0, "totals.tco_usd: plan says"),
    ("term", "problem", ("term", "years"), 4.0, "totals.tco_usd: plan says"),
    ("energy price", "problem", ("term", "electricity_usd_per_kwh"), 0.09, "energy_usd_per_year"),
    ("energy basis", "problem", ("term", "energy_basis"), "maximum", "energy_usd_per_year"),
    ("colocation price", "problem", ("term", "colocation_usd_per_kw_month"), 90.0, "colocation_"),
    ("support years", "problem", ("term", "support_years"), None, "support_years: plan says"),
    ("spares", "problem", ("spares",), {}, "lines.optic.spares"),
    ("spares of GPUs", "problem", ("spares", "gpu_system"), 0.5, "lines.gpu_a.spares"),
    ("stock", "problem", ("items", "gpu_a", "stock"), 3, "stock.gpu_a: broken limit"),
    ("owned", "problem", ("items", "weave", "installed"), 2, "lines.weave.installed"),
    ("hot spares", "problem", (*JOB, "gpus", "hot_spares"), 12, "hot_spares.gpu_a: broken limit"),
    ("vendors", "problem", ("policy", "require_vendors"), ("Drum",), "require_vendor.0: broken"),
    ("forbidden", "problem", ("policy", "forbid_vendors"), ("Weft",), "vendor Weft is forbidden"),
    ("split", "problem", ("policy", "split", 0, "max_share"), 0.9, "split.0: broken limit"),
    ("families", "problem", ("storage", "exact_families"), 2, "exact_families: broken limit"),
    ("units down", "problem", ("storage", "tolerate_down"), 2, "jobs.degraded_write_gb_per_s"),
    ("delivered", "problem", ("storage", "delivered_fraction", "write"), 0.7, "delivered_write"),
    ("fill limit", "problem", ("storage", "fill_limit"), 0.5, "jobs.capacity_needed_tb"),
    ("manager", "problem", ("network", "compute", "manager", "ports"), 3, "system_links: plan"),
    ("slots", "problem", ("network", "compute", "manager", "slots"), 5, "compute.weave.units"),
    ("uplinks", "problem", ("network", "out_of_band", "uplinks"), 1, "in_band.mesh.endpoints"),
    ("reserve", "problem", ("network", "out_of_band", "reserve_ports"), 0, "out_of_band."),
    ("oversubscription", "problem", ("network", "storage", "oversubscription"), 3.0, "uplinks_"),
    ("no fabric", "problem", ("network", "storage"), None, "the problem has no such fabric"),
    ("software", "problem", ("software",), ("suite",), "lines.pool: not needed"),
    ("extras", "problem", ("extras", "keeper", "every"), 2, "lines.keeper.quantity"),
    ("currency", "problem", ("currency",), "EUR", "currency"),
    ("parameters", "problem", (*JOB, "parameters"), 71e9, "jobs.checkpoint_gb"),
    ("bytes", "problem", (*JOB, "bytes_per_parameter"), 12.0, "jobs.checkpoint_gb"),
    ("failures", "problem", (*JOB, "failures"), "rsc1", "jobs.failures_per_gpu_day"),
    ("restart", "problem", (*JOB, "restart", "remote_s"), 60.0, "jobs.restart_s"),
    ("MFU", "problem", (*JOB, "training", "mfu"), 0.5, "jobs.useful_pflops"),
    ("data set", "problem", (*JOB, "dataset_tb"), 200.0, "jobs.other_data_tb"),
    ("price", "prices", ("gpu_a", "list_usd"), 12.34, "lines.gpu_a.unit_list_usd"),
    ("pack", "prices", ("fibre", "pack"), 7, "lines.fibre.pack"),
    ("least order", "prices", ("copper", "min_order"), 999, "lines.copper.purchased"),
    ("support", "prices", ("weave", "support_per_year"), None, "lines.weave.support_usd_per"),
    ("subscription", "prices", ("suite", "per_year_usd"), 9.0, "lines.suite.subscription_usd"),
    ("discount", "discounts", (0, "discount"), 0.5, "lines.weave.discount"),
    ("draw", "items", ("gpu_a", "consumes", "it_power"), of(9.0), "lines.gpu_a.unit_it_power_kw"),
    ("typical", "items", ("gpu_a", "consumes", "typical_power"), of(7.0), "typical_power_kw"),
    ("liquid", "items", ("gpu_a", "consumes", "liquid_share"), of(0.5), "gpu_a.liquid_share"),
    ("weight", "items", ("gpu_a", "consumes", "weight"), of(9.0), "lines.gpu_a.unit_weight_kg"),
    ("optic draw", "items", ("optic", "consumes", "it_power"), of(0.02), "lines.optic.unit_it_"),
    ("feed", "items", ("strip", "provides", "feed"), of(5.0), "lines.strip.quantity"),
    ("cooling", "items", ("pump", "provides", "cooling"), of(9.0), "lines.pump.quantity"),
    ("bandwidth", "items", ("box", "provides", "write"), of(60.0), "lines.box.write_gb_per_s"),
    ("capacity", "items", ("box", "provides", "usable"), of(60.0), "lines.box.usable_tb"),
    ("fail units", "items", ("box", "fail_units"), of(1), "jobs.degraded_write_gb_per_s"),
    ("GPUs", "items", ("gpu_a", "provides", "gpus"), of(4), "jobs.gpus_used"),
    ("peak", "items", ("gpu_a", "gpu", "bf16_dense"), of(900.0), "jobs.tflops_per_gpu"),
    ("ports", "items", ("box", "ports", "storage", "count"), 2, "fabrics.storage.mesh.endpoints"),
    ("rails", "items", ("gpu_a", "ports", "compute", "rails"), 8, "fabrics.compute.weave"),
    ("optics", "items", ("weave", "switch", "ports", 0, "link", "switch_end"), None, "twin_optic"),
    ("splitter", "items", ("weave", "switch", "ports", 0, "link", "links"), 2, "lines.fibre"),
    ("radix", "items", ("weave", "switch", "ports", 0, "count"), 24, "fabrics.compute.weave"),
]  # fmt: skip


def misread(inputs: Inputs, part: str, path: DataPath, value: Any) -> Inputs:
    """Return the inputs with one value that the plan was not made from."""
    if part == "items":
        sku, *rest = path
        items = (put(i, tuple(rest), value) if i.id == sku else i for i in inputs.items)
        return replace(inputs, items=tuple(items))
    ours = put(inputs.problem, ("exchange",), {"EUR": EUR})
    inputs = replace(inputs, problem=ours)
    return replace(inputs, **{part: put(getattr(inputs, part), path, value)})


@pytest.mark.parametrize(
    ("part", "path", "value", "says"), [row[1:] for row in PLANTED], ids=[row[0] for row in PLANTED]
)
def test_a_planted_fault_is_named(part: str, path: DataPath, value: Any, says: str) -> None:
    inputs, plan = everything()
    assert says in disagreements(misread(inputs, part, path, value), plan)


LIMITS = [
    ("full", "capex", ("budget", "capex_usd"), 1e7),
    ("full", "opex", ("budget", "opex_usd_per_year"), 1e6),
    ("full", "tco", ("budget", "tco_usd"), 1.5e7),
    ("full", "overlap", (*JOB, "checkpoint", "max_overlap"), 1e-3),
    ("full", "restore_time", (*JOB, "restore", "max_time_s"), 1.0),
    ("full", "capacity", ("storage", "fill_limit"), 0.1),
    ("full", "ingest", (*JOB, "ingest_per_gpu_gb_per_s"), 1.0),
    ("full", "replica_fits", (*JOB, "parallelisms", "pipeline"), 64),
    ("full", "gpus_min", (*JOB, "gpus", "min"), 321),
    ("full", "gpus_max", (*JOB, "gpus", "max"), 319),
    ("full", "min_gpus", ("targets", "min_gpus"), 321),
    ("full", "min_goodput", ("targets", "min_goodput"), 0.999),
    ("full", "min_useful_gpus", ("targets", "min_useful_gpus"), 319.9),
    ("full", "min_useful_pflops", ("targets", "min_useful_pflops"), 130.0),
    ("full", "max_days_to_train", ("targets", "max_days_to_train"), 10.0),
    ("full", "items.box.min", ("items", "box", "min"), 4),
    ("full", "items.box.max", ("items", "box", "max"), 2),
    ("full", "min_units.gpu_a", ("gpu_a", "min_units"), of(41)),
    ("full", "max_units.gpu_a", ("gpu_a", "max_units"), of(39)),
    ("full", "endurance", ("box", "provides", "endurance"), of(10.0)),
    ("sync_bundle", "blocking", (*JOB, "checkpoint", "max_blocking"), 1e-3),
    ("sync_bundle", "items.bundle.fixed", ("items", "bundle", "fixed"), 0),
    ("vendor_rule", "rule_read", ("storage", "rule"), "high"),
    ("vendor_rule", "rule_write", ("storage", "rule"), "high"),
    ("vendor_rule", "drain_fits", (*JOB, "checkpoint", "stall_s"), 500.0),
]
MAKE = {make.__name__: make for make in (full, sync_bundle, vendor_rule, two_of_each)}


@pytest.mark.parametrize(("name", "limit", "path", "value"), LIMITS)
def test_a_broken_limit_is_named(name: str, limit: str, path: DataPath, value: Any) -> None:
    made = MAKE[name]()
    part = "items" if isinstance(value, Figure) else "problem"
    text = disagreements(misread(made.inputs, part, path, value), made.plan)
    assert f"{limit}: broken limit" in text


def test_a_broken_limit_of_a_family_is_named() -> None:
    made = two_of_each()
    families = [
        put(family, ("max_units",), of(4)) if family.id == "drum_fs" else family
        for family in made.inputs.families
    ]
    text = disagreements(replace(made.inputs, families=tuple(families)), made.plan)
    assert "family_max_units.drum_fs: broken limit" in text
    assert "limits.family_max_units.drum_fs: missing" in text


COMPANIONS = ("weave", "mesh", "tick", "fibre", "thin_fibre", "copper", "optic", "twin_optic")
COMPANIONS += ("thin_optic", "keeper", "pump", "suite", "pool", "frame", "strip")


@pytest.mark.parametrize("sku", COMPANIONS)
def test_a_companion_too_few_or_left_out_is_named(sku: str) -> None:
    inputs, plan = everything()
    index = next(i for i, line in enumerate(plan.lines) if line.sku == sku)
    count = plan.lines[index].quantity
    rest = tuple(line for line in plan.lines if line.sku != sku)
    text = disagreements(inputs, put(plan, ("lines",), rest))
    assert f"lines.{sku}: missing, {count} needed" in text
    text = disagreements(inputs, put(plan, ("lines", index, "quantity"), count - 1))
    assert f"lines.{sku}.quantity: plan says {count - 1}, recomputed {count}" in text


def racks(*, tall: bool = False) -> tuple[Plan, int, RackGroup]:
    """Return a plan, and a group of its racks with two devices or more, or of GPUs."""
    _, plan = everything()
    for index, group in enumerate(plan.racks):
        if len(group.devices) > 1 if tall else group.rack_class == "gpu":
            return plan, index, group
    raise AssertionError


@pytest.mark.parametrize("position_ru", [None, 0.0, 48.0])
def test_a_device_that_overlaps_or_sticks_out_is_named(position_ru: float | None) -> None:
    plan, index, group = racks(tall=True)
    low = group.devices[0].position_ru if position_ru is None else position_ru
    moved = put(plan, ("racks", index, "devices", 1, "position_ru"), low)
    says = "overlaps" if position_ru is None else "below the bottom or above the top"
    assert says in disagreements(everything()[0], moved)


def test_a_device_without_a_rack_or_in_two_is_named() -> None:
    plan, index, group = racks(tall=True)
    last = group.devices[-1]
    twice = last.model_copy(update={"position_ru": last.position_ru + last.rack_units})
    for devices in (group.devices[:-1], (*group.devices, twice)):
        changed = put(plan, ("racks", index, "devices"), devices)
        assert f"racks: devices {last.sku}" in disagreements(everything()[0], changed)


def test_racks_too_many_empty_or_shared_wrongly_are_named() -> None:
    inputs, (plan, index, group) = everything()[0], racks()
    text = disagreements(inputs, put(plan, ("racks", index, "count"), group.count + 1))
    assert "first: plan says" in text and "racks: racks of gpu_a" in text
    last = plan.racks[-1]
    cleared = {"first": last.first + last.count, "devices": (), "count": 1}
    more = last.model_copy(update=cleared | {"it_power_kw": 0.0, "weight_kg": 0.0})
    text = disagreements(inputs, put(plan, ("racks",), (*plan.racks, more)))
    assert f"racks.{more.first}: empty" in text
    guest = group.devices[0].model_copy(update={"sku": "tick", "rack_units": 1.0})
    text = disagreements(inputs, put(plan, ("racks", index, "devices"), (*group.devices, guest)))
    assert "devices that do not share a rack" in text


def test_more_shared_racks_than_first_fit_takes_are_named() -> None:
    inputs, plan = everything()
    found: list[RackGroup] = []
    for group in plan.racks:
        alone = [(device,) for device in group.devices]
        for devices in alone if group.rack_class == "network" else [group.devices]:
            first = found[-1].first + found[-1].count if found else 1
            found.append(group.model_copy(update={"first": first, "devices": devices}))
    text = disagreements(inputs, put(plan, ("racks",), tuple(found)))
    assert "racks: racks of network devices: plan says" in text and "at most" in text


def test_a_fabric_left_out_twice_or_too_small_is_named() -> None:
    inputs, plan = everything()
    first = plan.fabrics[0]
    name = f"fabrics.{first.network}"
    assert name in disagreements(inputs, put(plan, ("fabrics",), plan.fabrics[1:]))
    twice = disagreements(inputs, put(plan, ("fabrics",), (*plan.fabrics, first)))
    assert name in twice or "not in one compute fabric" in twice
    small = put(plan, ("fabrics", 0, "capacity"), first.endpoints - 1)
    assert f"{name}.{first.switch_sku}.capacity" in disagreements(inputs, small)
    fewer = put(plan, ("fabrics", 0, "spine_switches"), first.spine_switches - 1)
    assert f"{name}.{first.switch_sku}.spine" in disagreements(inputs, fewer)


def test_a_job_across_two_fabrics_is_named() -> None:
    asked = problem(network={"compute": {"switches": ("weave",)}})
    asked["jobs"] = ({**asked["jobs"][0], "gpus": {"max_types": 2}},)
    asked["items"] = {"gpu_a": {"fixed": 4}, "gpu_b": {"fixed": 4}}
    asked["site"] = {**asked["site"], "cooling": {}}
    inputs = inputs_of(asked)
    plan = solve_inputs(inputs)
    verify(inputs, plan)
    types = put(plan, ("jobs", 0, "gpu_types"), ("gpu_a", "gpu_b"))
    types = put(types, ("jobs", 0, "systems_by_type"), {"gpu_a": 4, "gpu_b": 4})
    types = put(types, ("jobs", 0, "systems_used"), 8)
    assert "jobs.gpu_types: not in one compute fabric" in disagreements(inputs, types)


def test_a_product_that_is_a_rack_and_shares_it_is_named() -> None:
    items = hardware()
    consumes = {**items["gpu_a"]["consumes"], **figures(racks=2, rack_units="90 RU")}
    items["gpu_a"] |= {"consumes": consumes}
    inputs = inputs_of(problem(consider={"gpu_systems": ("gpu_a",)}), items)
    plan = solve_inputs(inputs)
    index = next(i for i, group in enumerate(plan.racks) if group.product)
    group = plan.racks[index]
    assert (group.height_ru, group.pdus, len(group.devices)) == (45.0, 0, 1)
    wrong = {"product": False, "pdus": 1, "height_ru": 48.0, "weight_limit_kg": 1400.0}
    for field, value in {**wrong, "devices": group.devices * 2}.items():
        text = disagreements(inputs, put(plan, ("racks", index, field), value))
        assert f"racks.{group.first}" in text
