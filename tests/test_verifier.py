"""The verifier finds every planted fault, changed figure and broken limit, and names it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from planner import figures
from planner.analysis.verification import assembly_faults
from planner.case import Case
from planner.errors import VerificationError
from planner.inputs import Inputs
from planner.loader import load
from planner.schema.catalog import Figure, PortGroup
from planner.schema.job import Checkpoint, FixedInterval, Job, Parallelism
from planner.schema.plan import Plan, RackGroup
from planner.schema.prices import ExchangeRate, Price
from planner.schema.problem import Problem, Quantity, Rack, Site
from planner.sizing import availability, checkpoint
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.verifier import job, limits, recheck, unit_faults, verify
from planner.verifier.fabric import Devices, compute_leaves
from tests.world.known_plans import KNOWN, everything
from tests.world.solved import DENSE_HALL, solve, solved
from tests.world.tampering import JOB, DataPath, disagreements, leaves, put, tampered

EUR = ExchangeRate.model_validate({"usd": 3.0, "on": "2026-11-01", "source": "a bank"})


def of(value: Any) -> Figure[Any]:
    return Figure(value=value, source="sheet", confidence="high")


@pytest.mark.parametrize("name", KNOWN)
def test_no_figure_of_a_plan_can_be_changed(name: str) -> None:
    """What the verifier leaves open is told from the plan assembled again."""
    inputs, plan = KNOWN[name]()
    verify(inputs, plan)
    tried: dict[str, DataPath] = {f"{path[0]}.{path[-1]}": path for path in leaves(plan)}
    left = [path for path in tried.values() if not recheck(inputs, tampered(plan, path)).all]
    changed = plan
    for path in left:
        changed = tampered(changed, path)
    text = "\n".join(assembly_faults(inputs, changed))
    for path in left:
        place = re.sub(r"\.(\d+)", r"[\1]", ".".join(map(str, path)))
        assert place in text
    assert len(tried) > 150


# what was misread | part of the inputs | where | value it should have had | what is named
PLANTED: list[tuple[str, str, DataPath, Any, str]] = [
    ("PUE of air", "problem", ("site", "pue", "air"), 1.5, "facility_power_kw"),
    ("PUE of liquid", "problem", ("site", "pue", "liquid"), 1.2, "facility_power_kw"),
    ("feeds", "problem", ("site", "feeds", "redundancy"), "2N", "facility_power: broken limit"),
    ("CDU redundancy", "problem", ("site", "cooling", "redundancy"), "2N", "lines.pump.quantity"),
    ("PDU redundancy", "problem", ("site", "rack", "pdu", "redundancy"), "2N", "lines.strip."),
    ("rack weight", "problem", ("site", "rack", "weight_kg"), 300.0, "racks: racks: plan"),
    ("rack height", "problem", ("site", "rack_classes", "network", "height_ru"), 30.0, "height_ru"),
    ("hall", "problem", ("site", "racks"), 2, "racks: broken limit"),
    ("lead time", "problem", ("targets", "max_lead_time_days"), 150.0, "lead_time: broken limit"),
    ("annuity", "problem", ("term", "discount_rate"), 0.0, "totals.tco_usd: plan says"),
    ("energy basis", "problem", ("term", "energy_basis"), "maximum", "energy_usd_per_year"),
    ("support years", "problem", ("term", "support_years"), None, "totals.tco_usd: plan says"),
    ("spares", "problem", ("spares",), {}, "lines.optic.spares"),
    ("stock", "problem", ("items", "gpu_a", "stock"), 3, "stock.gpu_a: broken limit"),
    ("vendors", "problem", ("policy", "require_vendors"), ("Drum",), "require_vendor.0: broken"),
    ("forbidden", "problem", ("policy", "forbid_vendors"), ("Weft",), "vendor Weft is forbidden"),
    ("split", "problem", ("policy", "split", 0, "max_share"), 0.9, "split.0: broken limit"),
    ("units down", "problem", ("storage", "tolerate_down"), 2, "jobs.degraded_write_gb_per_s"),
    ("all down", "problem", ("storage", "tolerate_down"), 99, "nothing is left with appliances"),
    ("delivered", "problem", ("storage", "delivered_fraction", "write"), 0.7, "delivered_write"),
    ("manager", "problem", ("network", "compute", "manager", "ports"), 3, "system_links: plan"),
    ("reserve", "problem", ("network", "out_of_band", "reserve_ports"), 0, "out_of_band."),
    ("oversubscription", "problem", ("network", "storage", "oversubscription"), 3.0, "uplinks_"),
    ("no fabric", "problem", ("network", "storage"), None, "the problem has no such fabric"),
    ("extras", "problem", ("extras", "keeper", "every"), 2, "lines.keeper.quantity"),
    ("parameters", "problem", (*JOB, "parameters"), 71e9, "jobs.checkpoint_gb"),
    ("failures", "problem", (*JOB, "failures", "per_gpu_day"), "rsc1", "jobs.failures_per_gpu_day"),
    ("data set", "problem", (*JOB, "dataset"), 200.0, "jobs.capacity_needed"),
    ("price", "prices", ("gpu_a", "list_usd"), 12.34, "lines.gpu_a.unit_list_usd"),
    ("pack", "prices", ("fibre", "pack"), 7, "lines.fibre.purchased"),
    ("minimum order", "prices", ("copper", "min_order"), 999, "lines.copper.purchased"),
    ("support", "prices", ("weave", "support_per_year"), None, "lines.weave.support_usd_per"),
    ("subscription", "prices", ("suite", "per_year_usd"), 9.0, "lines.suite.subscription_usd"),
    ("discount", "discounts", (0, "discount"), 0.5, "lines.weave.unit_net_usd"),
    ("draw", "items", ("gpu_a", "consumes", "it_power"), of(9.0), "lines.gpu_a.unit_it_power_kw"),
    ("liquid", "items", ("gpu_a", "consumes", "liquid_share"), of(0.5), "gpu_a.liquid_share"),
    ("feed", "items", ("strip", "provides", "feed"), of(5.0), "lines.strip.quantity"),
    ("cooling", "items", ("pump", "provides", "cooling"), of(9.0), "lines.pump.quantity"),
    ("bandwidth", "items", ("box", "provides", "write"), of(60.0), "lines.box.nameplate_write_"),
    ("fail units", "items", ("box", "fail_units"), of(1), "jobs.degraded_write_gb_per_s"),
    ("peak", "items", ("gpu_a", "gpu", "bf16_dense"), of(900.0), "jobs.useful_pflops"),
    ("ports", "items", ("box", "ports", "storage", "count"), 2, "fabrics.storage.mesh.endpoints"),
    ("optics", "items", ("weave", "switch", "ports", 0, "link", "switch_end"), None, "twin_optic"),
    ("splitter", "items", ("weave", "switch", "ports", 0, "link", "links"), 2, "lines.fibre"),
    ("radix", "items", ("weave", "switch", "ports", 0, "count"), 24, "fabrics.compute.weave"),
]


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
    ("limited", "capex", ("budget", "capex_usd"), 1e6),
    ("limited", "opex", ("budget", "opex_usd_per_year"), 1e5),
    ("limited", "overlap", (*JOB, "checkpoint", "max_overlap"), 1e-4),
    ("limited", "restore_time", (*JOB, "restore", "max_time_s"), 1.0),
    ("limited", "replica_fits", (*JOB, "parallelisms", "pipeline"), 64),
    ("limited", "gpus_max", (*JOB, "gpus", "max"), 499),
    ("limited", "gpus_min", (*JOB, "gpus", "min"), 505),
    ("limited", "min_goodput", ("targets", "min_goodput"), 0.9999),
    ("limited", "max_days_to_train", ("targets", "max_days_to_train"), 10.0),
    ("limited", "items.box.min", ("items", "box", "min"), 4),
    ("limited", "min_units.gpu_a", ("gpu_a", "min_units"), of(64)),
    ("limited", "endurance", ("box", "provides", "endurance"), of(0.1)),
    ("sync_bundle", "blocking", (*JOB, "checkpoint", "max_blocking"), 1e-6),
    ("vendor_rule", "rule_write", ("storage", "rule"), "high"),
    ("two_types", "gpu_types", (*JOB, "gpus", "max_types"), 1),
]


@pytest.mark.parametrize(("name", "limit", "path", "value"), LIMITS)
def test_a_broken_limit_is_named(name: str, limit: str, path: DataPath, value: Any) -> None:
    inputs, plan = KNOWN[name]()
    part = "items" if isinstance(value, Figure) else "problem"
    text = disagreements(misread(inputs, part, path, value), plan)
    assert f"{limit}: broken limit" in text


@pytest.mark.parametrize("name", KNOWN)
def test_a_missing_limit_is_named(name: str) -> None:
    inputs, plan = KNOWN[name]()
    for report in plan.limits:
        rest = tuple(limit for limit in plan.limits if limit.name != report.name)
        if report.name == "gpu_types":
            continue  # listed only where it decides
        text = disagreements(inputs, put(plan, ("limits",), rest))
        assert f"limits.{report.name}: missing" in text


OPTION: DataPath = ("storage_options", "options", 0)
PROGRAM: DataPath = ("objective", "program")
# plan | where | value instead | what is named
WRONG: list[tuple[str, DataPath, Any, str]] = [
    ("limited", ("lines", 0, "sku"), "gpu_z", "parts are missing or wrong"),
    ("limited", ("totals",), None, "parts are missing or wrong"),
    ("limited", (*JOB, "gpus_used"), 0, "parts are missing or wrong"),
    ("limited", (*JOB, "systems_used"), 64, "jobs.systems_used, systems_by_type: not as"),
    ("limited", (*JOB, "interval_s"), math.nan, "jobs.goodput: plan says"),
    ("limited", (*JOB, "interval_s"), 20_000.0, "is outside 60 to 14400"),
    ("limited", (*JOB, "goodput"), math.nan, "jobs.goodput: plan says nan"),
    ("limited", ("objective", "bound"), 0.5, "objective: 0.5 is worse than"),
    ("limited", ("objective", "gap"), 1e-3, "objective.gap: plan says 0.001"),
    ("limited", ("objective", "log_value"), 5.0, "objective.log_value: plan says 5"),
    ("limited", ("objective", "best"), None, "objective.best: missing"),
    ("limited", ("status",), "infeasible", "a plan that is infeasible has none"),
    ("limited", ("message",), "no plan", "message: a plan has none"),
    ("sync_bundle", (*JOB, "interval_s"), 601.0, "jobs.interval_s: plan says 601 s"),
    ("sync_bundle", (*JOB, "mode"), "async", "jobs.mode: asked for"),
    ("two_types", (*JOB, "gpu_types"), ("gpu_a",), "jobs.systems_by_type"),
    ("two_types", (*JOB, "storage_families"), ("cask_fs",), "jobs.storage_families: not as the"),
    ("limited", ("objective", "gap_asked"), 0.01, "objective.gap_asked: plan says 0.01"),
    ("everything", ("searched",), ("gpu_a", "box"), "searched: gpu_b was not"),
    ("limited", (*OPTION, "items", 0, "purchased"), 9, "storage_options.options[0].box"),
    ("limited", (*OPTION, "items", 0, "unit_list_usd"), 9.0, "options[0].box.unit_list_usd: plan"),
    ("everything", ("totals", "capex_by_section_usd", "Storage"), 9.0, "section_usd.Storage"),
    ("everything", (*PROGRAM, "capex_usd"), 9e9, "objective.program.capex_usd: plan says 9"),
    ("everything", (*PROGRAM, "capex_bound_usd"), 9e9, "program.capex_bound_usd: plan says 9"),
    ("everything", ("objective", "best_capex_usd"), 9.0, "objective.best_capex_usd: of the"),
]


@pytest.mark.parametrize(("name", "path", "value", "says"), WRONG)
def test_a_plan_that_cannot_be_is_named(name: str, path: DataPath, value: Any, says: str) -> None:
    inputs, plan = KNOWN[name]()
    assert says in disagreements(inputs, put(plan, path, value))


@pytest.mark.parametrize("why", ["one unit does not fit", "not known: power draw", "not known: x"])
def test_a_type_lost_for_a_wrong_reason_is_named(why: str) -> None:
    inputs, plan = KNOWN["everything"]()
    searched = tuple(sku for sku in plan.searched if sku != "gpu_b")
    lost = put(plan, ("not_considered",), {**plan.not_considered, "gpu_b": why})
    lost = put(lost, ("searched",), searched)
    assert any(text.startswith("searched: gpu_b") for text in recheck(inputs, lost).all)


def test_heat_to_air_of_liquid_cooled_items_may_be_rounded() -> None:
    """All heat less that to liquid is rarely 0 to the last digit."""
    inputs = everything().inputs
    cooled = (put(each, ("consumes", "liquid_share"), of(1.0)) for each in inputs.items)
    inputs = replace(inputs, items=tuple(cooled))
    plan = solve(inputs)
    assert plan.totals is not None and abs(plan.totals.heat_air_kw or 0.0) < 1e-9
    verify(inputs, put(plan, ("totals", "heat_air_kw"), 1e-10))
    assert "heat_air" in disagreements(inputs, put(plan, ("totals", "heat_air_kw"), 1.0))


def test_a_line_of_a_bundle_left_out_or_twice_is_named() -> None:
    inputs, plan = KNOWN["sync_bundle"]()
    text = disagreements(inputs, put(plan, ("lines",), plan.lines[:-1]))
    assert "lines of components: plan says" in text
    text = disagreements(inputs, put(plan, ("lines",), (*plan.lines, plan.lines[-1])))
    assert "lines of components: plan says" in text


def test_a_leaf_too_small_for_one_system_is_refused() -> None:
    """Such a leaf was counted as if one system fitted all the same."""
    asked = everything().inputs.problem.network.compute
    assert asked is not None
    with pytest.raises(ValueError, match="too few ports for one system"):
        compute_leaves(asked, Devices("", 1, 512, 400.0), 8, 4)


@pytest.mark.parametrize("factor", [1.2, 1.003])  # as Young's is of the best one
def test_an_interval_that_is_not_the_best_is_named(factor: float) -> None:
    inputs, plan = KNOWN["limited"]()
    every = {"policy": "fixed", "every": f"{factor * plan.jobs[0].interval_s} s"}
    asked = FixedInterval.model_validate(every)
    path: DataPath = ("problem", *JOB, "checkpoint", "interval")
    fixed = replace(inputs, problem=put(inputs.problem, path[1:], asked))
    text = disagreements(inputs, solve(fixed))
    assert "s is not the best allowed interval" in text


def test_a_companion_too_few_or_left_out_is_named() -> None:
    inputs, plan = everything()
    decided = ("gpu_system", "storage")
    for index, line in enumerate(plan.lines):
        if line.category not in decided:
            rest = tuple(other for other in plan.lines if other.sku != line.sku)
            text = disagreements(inputs, put(plan, ("lines",), rest))
            assert f"lines.{line.sku}: missing, {line.quantity} needed" in text
            fewer = put(plan, ("lines", index, "quantity"), line.quantity - 1)
            assert f"lines.{line.sku}.quantity" in disagreements(inputs, fewer)


def racks(*, shared: bool = False) -> tuple[Plan, int, RackGroup]:
    """Return a plan, and a group of its racks with two devices or more, or of GPUs."""
    plan = everything().plan
    for index, group in enumerate(plan.racks):
        if len(group.devices) > 1 if shared else group.rack_class == "gpu":
            return plan, index, group
    raise AssertionError


@pytest.mark.parametrize("position_ru", [None, 0.0, 48.0])
def test_a_device_that_overlaps_or_sticks_out_is_named(position_ru: float | None) -> None:
    plan, index, group = racks(shared=True)
    low = group.devices[0].position_ru if position_ru is None else position_ru
    moved = put(plan, ("racks", index, "devices", 1, "position_ru"), low)
    assert "overlaps" in disagreements(everything().inputs, moved)


def test_a_device_without_a_rack_or_in_two_is_named() -> None:
    plan, index, group = racks(shared=True)
    last = group.devices[-1]
    twice = last.model_copy(update={"position_ru": last.position_ru + last.rack_units})
    for devices in (group.devices[:-1], (*group.devices, twice)):
        changed = put(plan, ("racks", index, "devices"), devices)
        assert f"racks: devices {last.sku}" in disagreements(everything().inputs, changed)


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
    assert "compute fabric" in disagreements(
        inputs, put(plan, ("fabrics",), (*plan.fabrics, first))
    )
    fewer = put(plan, ("fabrics", 0, "spine_switches"), first.spine_switches - 1)
    assert f"{name}.{first.switch_sku}.spine" in disagreements(inputs, fewer)


@pytest.mark.parametrize(
    ("sku", "path", "factor", "says"),
    [
        ("nvidia_dgx_b200", ("consumes", "it_power"), 1000.0, "it_power read back from '14.3 kW'"),
        ("wekapod_nitro_155", ("provides", "write"), 1.1, "provides.write read back from"),
    ],
)
def test_a_unit_that_was_misread_is_named(
    sku: str, path: tuple[str, str], factor: float, says: str
) -> None:
    inputs, plan = load(DENSE_HALL), solved("hall_10MW")
    assert unit_faults(inputs, plan) == ()
    value = getattr(getattr(inputs.by_id[sku], path[0]), path[1]).value * factor
    items = (put(i, (*path, "value"), value) if i.id == sku else i for i in inputs.items)
    (fault,) = unit_faults(replace(inputs, items=tuple(items)), plan)
    assert says in fault
    more = put(inputs.problem, (*JOB, "parameters"), 1.1 * (inputs.problem.job.parameters or 0.0))
    (fault,) = unit_faults(replace(inputs, problem=more), plan)
    assert "jobs.parameters read back from" in fault  # billions were read in no unit
    half = put(inputs.prices, ("wekapod_nitro_155", "list_usd"), 1e5)
    (fault,) = unit_faults(replace(inputs, prices=half), plan)
    assert fault.startswith("prices.wekapod_nitro_155 of its parts.list_usd: plan says 100000")


def test_tokens_of_a_year_counted_as_those_of_the_term_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where no limit of tokens binds, only the sums of the search are wrong."""
    of_term = Case.million_tokens_per_pflops
    years = 4.0
    monkeypatch.setattr(Case, "million_tokens_per_pflops", lambda case: of_term(case) / years)
    with pytest.raises(VerificationError, match="usd_per_million_tokens: plan says"):
        solve(everything().inputs)


def test_a_preset_that_was_not_published_is_named() -> None:
    rates = {name: preset.value for name, preset in availability.FAILURES_PER_GPU_DAY.items()}
    assert rates == job.FAILURES_PER_GPU_DAY
    sizes = {name: preset.value for name, preset in BYTES_PER_PARAMETER.items()}
    assert sizes == job.BYTES_PER_PARAMETER
    for name, rule in checkpoint.VENDOR_RULES.items():
        assert tuple(rule)[1:4] == limits.RULES[name]


# what the schema computes | a wrong value
SHARED: list[tuple[type, str, Any]] = [
    (Site, "facility_limit_kw", 1.0), (Site, "pue_air", 9.0), (Site, "pue_liquid", 9.0),
    (Site, "class_power_kw", lambda *_: 0.1), (Rack, "whole_rack_limit_kw", 0.1),
    (Quantity, "in_place", 7), (Problem, "spare_share", lambda *_: 9.0),
    (Parallelism, "replica_gpus", 3), (Parallelism, "parameters_per_gpu", lambda *_: 1e15),
    (Job, "failure_rate", 1.0), (Job, "lost_share", 0.5), (Job, "restart_s", 1e6),
    (Price, "support_usd_per_year", lambda *_: 1e9), (Price, "lead_time_days", 1.0),
    (PortGroup, "takes", lambda *_: False), (Checkpoint, "known_stall_s", 1e3),
]  # fmt: skip


@pytest.mark.parametrize("name", ["everything", "limited", "vendor_rule"])
def test_sums_of_the_schema_are_computed_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Feeds, spares, PUE and failures of the schema were believed: a fault there went unseen."""
    inputs, plan = KNOWN[name]()
    for owner, field, wrong in SHARED:
        fault = wrong if callable(wrong) else property(partial(lambda value, _: value, wrong))
        monkeypatch.setattr(owner, field, fault)
        assert not recheck(inputs, plan).all, field
        monkeypatch.undo()
    wrong = figures.OBJECTIVES["heat"]
    monkeypatch.setitem(figures.OBJECTIVES, inputs.problem.objective.name, wrong)
    assert not recheck(inputs, plan).all
