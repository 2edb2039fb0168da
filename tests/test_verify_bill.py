"""A complete bill passes; one with anything missing, doubled, moved or mispriced is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from planner.api import solve_inputs
from planner.errors import VerificationError
from planner.inputs import Inputs
from planner.schema.plan import Device, LimitReport, Line, Plan, RackGroup
from planner.verifier import verify
from tests.world.catalog import figures, hardware, inputs_of, problem
from tests.world.tampering import DECIDED, disagreements, leaves, put, tampered


@cache
def solved() -> tuple[Inputs, Plan]:
    """Return the small cluster with everything, and its plan."""
    inputs = inputs_of()
    plan = solve_inputs(inputs)
    assert plan.status == "optimal"
    return inputs, plan


def refused(plan: Plan) -> str:
    return disagreements(solved()[0], plan)


def at(plan: Plan, sku: str) -> int:
    return next(i for i, line in enumerate(plan.lines) if line.sku == sku)


def line(sku: str) -> Line:
    plan = solved()[1]
    return plan.lines[at(plan, sku)]


def with_line(sku: str, **changes: Any) -> Plan:
    plan = solved()[1]
    changed = plan.lines[at(plan, sku)].model_copy(update=changes)
    return put(plan, ("lines", at(plan, sku)), changed)


def changed_problem(*path: str, value: Any) -> Inputs:
    inputs = solved()[0]
    return replace(inputs, problem=put(inputs.problem, path, value))


def test_a_complete_bill_passes() -> None:
    inputs, plan = solved()
    verify(inputs, plan)
    assert {line.section for line in plan.lines} == {
        "Compute", "Storage", "Network", "Optics & cables", "Racks & power", "Software",
    }  # fmt: skip
    assert {fabric.tiers for fabric in plan.fabrics} >= {1, 3}


def small(limit: LimitReport) -> bool:
    return limit.slack < 1e-3 * abs(limit.limit)


@pytest.mark.exhaustive(keep=0)
def test_no_figure_of_a_complete_bill_can_be_changed() -> None:
    inputs, plan = solved()
    for key, path in leaves("all", plan):
        if path[-1] == "slack" and small(plan.limits[int(path[1])]):
            continue  # a millionth of next to nothing is noise
        with pytest.raises(VerificationError) as caught:
            verify(inputs, tampered(plan, path))
            pytest.fail(f"{key} may be changed")
        field = str(path[-1])
        assert field in DECIDED or field in "\n".join(caught.value.disagreements), key


@pytest.mark.parametrize(
    "sku",
    ["weave", "mesh", "tick", "fibre", "thin_fibre", "copper", "optic", "twin_optic",
     "thin_optic", "keeper", "pump", "suite", "pool", "frame", "strip"],
)  # fmt: skip
def test_each_companion_is_needed_in_its_number(sku: str) -> None:
    plan = solved()[1]
    rest = tuple(each for each in plan.lines if each.sku != sku)
    text = refused(put(plan, ("lines",), rest))
    assert f"lines.{sku}: missing, the plan needs {line(sku).quantity}" in text
    text = refused(with_line(sku, quantity=line(sku).quantity - 1))
    assert f"lines.{sku}.quantity: the plan says {line(sku).quantity - 1}" in text


def test_what_nothing_needs_is_refused() -> None:
    inputs, plan = solved()
    bare = replace(inputs, problem=put(inputs.problem, ("software",), ("suite",)))
    text = disagreements(bare, plan)
    assert "lines.pool: nothing in the plan needs it" in text


@pytest.mark.parametrize(
    ("sku", "changes", "says"),
    [
        ("optic", {"spares": 0}, "lines.optic.spares: the plan says 0, expected 36"),
        ("twin_optic", {"pack": 1}, "lines.twin_optic.pack"),
        ("thin_fibre", {"purchased": 142}, "lines.thin_fibre.purchased: the plan says 142"),
        ("weave", {"support_years": 4.5}, "lines.weave.support_years: the plan says 4.5"),
        ("weave", {"support_from_years": 0.0}, "lines.weave.support_from_years"),
        ("weave", {"installed": 0}, "lines.weave.installed"),
        ("suite", {"subscription_usd_per_year": None}, "lines.suite.subscription_usd_per_year"),
        ("gpu_a", {"liquid_share": 0.0}, "lines.gpu_a.liquid_share"),
        ("pump", {"racks": 3}, "lines.pump.racks"),
        ("mesh", {"rack_class": None}, "lines.mesh.rack_class"),
        ("frame", {"rack_units": 48.0}, "lines.frame.rack_units"),
    ],
)
def test_a_wrong_line_is_named(sku: str, changes: dict[str, Any], says: str) -> None:
    assert says in refused(with_line(sku, **changes))


def test_energy_by_one_pue_or_on_maximum_draw_is_refused() -> None:
    plan = solved()[1]
    assert plan.totals is not None and plan.totals.energy_usd_per_year is not None
    for path, value in (
        (("site", "pue"), 1.4),
        (("term", "energy_basis"), "maximum"),
    ):
        text = disagreements(changed_problem(*path, value=value), plan)
        assert "totals.energy_usd_per_year: the plan says" in text


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("site", "feeds", "redundancy"), "2N", "facility_power: the plan breaks the limit"),
        (("site", "cooling", "liquid_limit_kw"), 50.0, "heat_liquid: the plan breaks"),
        (("site", "cooling", "air_limit_kw"), 50.0, "heat_air: the plan breaks"),
        (("site", "cooling", "redundancy"), "2N", "lines.pump.quantity"),
        (("site", "rack", "pdu", "redundancy"), "2N", "lines.strip.quantity"),
        (("site", "rack", "weight_kg"), 300.0, "lines.gpu_a.racks"),
        (("site", "rack_classes", "network", "height_ru"), 30.0, "height_ru: the plan says 42"),
        (("budget", "support_usd_per_year"), 1.0, "support: the plan breaks the limit"),
        (("budget", "subscriptions_usd_per_year"), 1.0, "subscriptions: the plan breaks"),
        (("budget", "energy_usd_per_year"), 1.0, "energy: the plan breaks the limit"),
        (("budget", "colocation_usd_per_year"), 1.0, "colocation: the plan breaks the limit"),
        (("budget", "per_useful_gpu_hour_usd"), 0.01, "per_useful_gpu_hour: the plan breaks"),
        (("budget", "per_million_tokens_usd"), 1e-6, "per_million_tokens: the plan breaks"),
        (("targets", "max_lead_time_days"), 150.0, "lead_time: the plan breaks the limit"),
        (("term", "discount_rate"), 0.0, "totals.tco_usd: the plan says"),
        (("term", "support_years"), None, "support_years: the plan says"),
        (("policy", "require_vendors"), ("Drum",), "require_vendor.0: the plan breaks"),
        (("policy", "forbid_vendors"), ("Weft",), "lines.weave: the policy forbids Weft"),
        (("storage", "exact_families"), 2, "exact_families: the plan breaks the limit"),
        (("storage", "tolerate_down"), 2, "jobs.degraded_write_gb_per_s"),
        (("spares",), {}, "lines.optic.spares"),
        (("network", "compute", "manager", "ports"), 3, "system_links: the plan says"),
        (("network", "out_of_band", "uplinks"), 1, "fabrics.in_band.mesh.endpoints"),
        (("network", "storage", "oversubscription"), 3.0, "fabrics.storage.mesh.uplinks_per"),
        (("network", "storage"), None, "fabrics.storage.mesh: the plan's systems have no such"),
    ],
)
def test_a_plan_for_another_problem_is_refused(
    path: tuple[str, ...], value: Any, says: str
) -> None:
    assert says in disagreements(changed_problem(*path, value=value), solved()[1])


def test_too_little_stock_is_named() -> None:
    asked = solved()[0].problem.items
    few = {**asked, "gpu_a": asked["gpu_a"].model_copy(update={"stock": 3})}
    text = disagreements(changed_problem("items", value=few), solved()[1])
    assert "stock.gpu_a: the plan breaks the limit" in text


def test_hot_spares_must_stand_ready() -> None:
    text = disagreements(changed_problem("jobs", value=_hot(12)), solved()[1])
    assert "hot_spares.gpu_a: the plan breaks the limit" in text
    assert "jobs.hot_spare_systems: the plan says 2, expected 12" in text


def _hot(systems: int) -> Any:
    job = solved()[0].problem.job
    return (put(job, ("gpus", "hot_spares"), systems),)


def test_a_split_is_by_units_or_by_money() -> None:
    rule = solved()[0].problem.policy.split[0]
    narrow = (rule.model_copy(update={"max_share": 0.9}),)
    text = disagreements(changed_problem("policy", "split", value=narrow), solved()[1])
    assert "split.0: the plan breaks the limit, 1 share" in text


def groups(plan: Plan, wanted: Callable[[RackGroup], bool]) -> int:
    return next(i for i, group in enumerate(plan.racks) if wanted(group))


def moved(devices: tuple[Device, ...], index: int, position_ru: float) -> tuple[Device, ...]:
    device = devices[index].model_copy(update={"position_ru": position_ru})
    return (*devices[:index], device, *devices[index + 1 :])


def tall(group: RackGroup) -> bool:
    return len(group.devices) >= 2


def test_a_device_may_neither_overlap_nor_stick_out() -> None:
    plan = solved()[1]
    index = groups(plan, tall)
    devices = plan.racks[index].devices
    path = ("racks", index, "devices")
    low = devices[0].position_ru
    text = refused(put(plan, path, moved(devices, 1, low)))
    assert "it overlaps" in text
    for position_ru in (0.0, plan.racks[index].height_ru):
        text = refused(put(plan, path, moved(devices, 1, position_ru)))
        assert "below the bottom or above the top" in text


def test_every_device_stands_somewhere_once() -> None:
    plan = solved()[1]
    index = groups(plan, tall)
    group = plan.racks[index]
    fewer = put(plan, ("racks", index, "devices"), group.devices[:-1])
    assert f"racks: devices {group.devices[-1].sku}" in refused(fewer)
    last = group.devices[-1]
    twice = last.model_copy(update={"position_ru": last.position_ru + last.rack_units})
    more = put(plan, ("racks", index, "devices"), (*group.devices, twice))
    assert f"racks: devices {last.sku}" in refused(more)


def test_racks_are_numbered_and_counted() -> None:
    plan = solved()[1]
    text = refused(put(plan, ("racks", 0, "count"), plan.racks[0].count + 1))
    assert "first: the plan says" in text and "racks: racks of gpu_a" in text
    without = tuple(g for g in plan.racks if all(d.sku != "pump" for d in g.devices))
    assert "racks: devices pump" in refused(put(plan, ("racks",), without))


def test_no_rack_stands_empty() -> None:
    plan = solved()[1]
    last = plan.racks[-1]
    cleared = {"first": last.first + last.count, "devices": (), "count": 1}
    more = last.model_copy(update=cleared | {"it_power_kw": 0.0, "weight_kg": 0.0})
    text = refused(put(plan, ("racks",), (*plan.racks, more)))
    assert f"racks.{more.first}: it stands empty" in text


def test_racks_are_no_more_than_first_fit_takes() -> None:
    plan = solved()[1]
    groups: list[RackGroup] = []
    for group in plan.racks:
        alone = [(device,) for device in group.devices]
        for devices in alone if group.rack_class == "network" else [group.devices]:
            first = groups[-1].first + groups[-1].count if groups else 1
            groups.append(group.model_copy(update={"first": first, "devices": devices}))
    text = refused(put(plan, ("racks",), tuple(groups)))
    assert "racks: network devices stand in" in text and "where" in text


def test_what_stands_alone_stands_alone() -> None:
    plan = solved()[1]
    index = groups(plan, lambda group: group.rack_class == "gpu")
    group = plan.racks[index]
    guest = group.devices[0].model_copy(update={"sku": "tick", "rack_units": 1.0})
    text = refused(put(plan, ("racks", index, "devices"), (*group.devices, guest)))
    assert "its devices do not share a rack by the rules" in text


def test_fabrics_are_reported_once_each() -> None:
    plan = solved()[1]
    first = plan.fabrics[0]
    name = f"fabrics.{first.network}.{first.switch_sku}"
    assert f"{name}: missing" in refused(put(plan, ("fabrics",), plan.fabrics[1:]))
    twice = put(plan, ("fabrics",), (*plan.fabrics, first))
    assert "or it is listed twice" in refused(twice)
    small = put(plan, ("fabrics", 0, "capacity"), first.endpoints - 1)
    assert f"{name}.capacity" in refused(small)


def test_a_job_runs_within_one_fabric() -> None:
    asked = problem(network={"compute": {"switches": ("weave",)}})
    asked["jobs"] = ({**asked["jobs"][0], "gpus": {"max_types": 2}},)
    asked["items"] = {"gpu_a": {"fixed": 4}, "gpu_b": {"fixed": 4}}
    asked["site"] = {**asked["site"], "cooling": {}}
    inputs = inputs_of(asked)
    plan = solve_inputs(inputs)
    verify(inputs, plan)
    types = put(plan, ("jobs", 0, "gpu_types"), ("gpu_a", "gpu_b"))
    assert "they are not in one compute fabric" in disagreements(inputs, types)


def test_a_product_that_is_a_rack_stands_alone_in_its_own() -> None:
    items = hardware()
    consumes = {**items["gpu_a"]["consumes"], **figures(racks=2, rack_units="90 RU")}
    items["gpu_a"] |= {"consumes": consumes}
    inputs = inputs_of(problem(consider={"gpu_systems": ("gpu_a",)}), items)
    plan = solve_inputs(inputs)
    index = groups(plan, lambda group: group.product)
    group = plan.racks[index]
    assert (group.height_ru, group.pdus, len(group.devices)) == (45.0, 0, 1)
    for field, value in (
        ("product", False),
        ("pdus", 1),
        ("height_ru", 48.0),
        ("weight_limit_kg", 1400.0),
        ("devices", group.devices * 2),
    ):
        assert f"racks.{group.first}.{field}" in disagreements(
            inputs, put(plan, ("racks", index, field), value)
        )


def test_appliances_down_are_the_worst_ones() -> None:
    plan = solved()[1]
    job = plan.jobs[0]
    boxes = line("box").quantity
    # Half a box of 65 GB/s is down: two nodes in each fail alone.
    assert job.degraded_write_gb_per_s == pytest.approx(
        min(0.8 * 65 * (boxes - 0.5), job.client_write_limit_gb_per_s)
    )
    for field in ("write_gb_per_s", "read_gb_per_s", "drain_s", "overlap", "restore_s"):
        for value in (None, 1.0):
            text = refused(put(plan, ("jobs", 0, f"degraded_{field}"), value))
            assert f"jobs.degraded_{field}: the plan says" in text
