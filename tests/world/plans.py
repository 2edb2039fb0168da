"""Finished plans made by hand, for tests that read plans.

`finish` works a plan out from its decisions by `planner.sizing`; nothing is optimised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from planner.case import resolve
from planner.inputs import Inputs
from planner.schema.catalog import Item
from planner.schema.plan import (
    Device,
    JobPlan,
    LimitReport,
    Line,
    Loss,
    NotConsidered,
    ObjectiveReport,
    Plan,
    PriceNote,
    Provenance,
    RackGroup,
    Site,
    Totals,
    Verdict,
)
from planner.schema.problem import FailureRate, Job, Objective, Problem
from planner.sizing import checkpoint as ckpt
from planner.sizing import demand, facility, goodput
from tests.world.catalog import ITEMS, inputs_of


@dataclass(frozen=True)
class Choice:
    """A problem, and the decisions of a plan for it."""

    problem: Mapping[str, Any]
    counts: Mapping[str, int]
    used: Mapping[str, int]
    families: tuple[str, ...]
    interval_s: float | None = None
    gpus_used: int | None = None
    mode: Literal["async", "sync"] = "async"
    limits: Mapping[str, tuple[str, float, str]] = field(default_factory=dict)
    discounts: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Made:
    """Inputs and a plan that fits them."""

    inputs: Inputs
    plan: Plan


def finish(
    choice: Choice,
    *,
    racks: Mapping[str, tuple[int, int | None]],
    discounts: Mapping[str, float],
) -> Made:
    """Return the plan of a choice; what is given per item is worked out by hand.

    Args:
        choice: what is bought.
        racks: how many racks it takes, and how many units stand in one.
        discounts: of each item that has one.
    """
    inputs = inputs_of(choice.problem, ITEMS, choice.discounts)
    return Made(inputs, with_room(inputs, _without_room(inputs, choice, racks, discounts)))


def _without_room(
    inputs: Inputs,
    choice: Choice,
    racks: Mapping[str, tuple[int, int | None]],
    discounts: Mapping[str, float],
) -> Plan:
    """Return the plan but for draw, heat, meter, placement and ratios."""
    lines = []
    for sku, count in choice.counts.items():
        lines.append(_line(inputs, sku, count, racks[sku], discounts.get(sku, 0.0)))
        lines += _components(inputs, sku, count)
    job = _job(inputs, choice, lines)
    totals = _totals(inputs, lines, job)
    value = {
        "goodput": job.useful_pflops,
        "useful_gpus": job.useful_gpus,
        "cost": totals.capex_usd,
        "tco": totals.tco_usd,
    }
    asked = inputs.problem.objective
    name = asked.maximize or asked.minimize or ""
    return Plan(
        status="optimal",
        problem=inputs.problem.name,
        description=inputs.problem.description,
        verdict=_verdict(job, totals, lines),
        objective=_objective(asked, value[name]),
        site=site(inputs.problem),
        lines=tuple(lines),
        totals=totals,
        jobs=(job,),
        limits=_limits(choice, inputs, totals, job),
        provenance=PROVENANCE,
        **_searched(inputs),
    )


def _verdict(job: JobPlan, totals: Totals, lines: Sequence[Line]) -> tuple[Verdict, ...]:
    """Say what a plan with little goodput, or with much storage, must say."""
    codes = ["goodput"] if job.goodput < 0.8 else []
    owned = any(line.installed for line in lines if line.section == "Compute")
    if totals.capex_usd and not owned:
        stores = (line.extended_net_usd or 0.0 for line in lines if line.section == "Storage")
        share = sum(stores) / totals.capex_usd
        codes += ["storage"] if share > 0.1 else []
    return tuple(Verdict(code=code, text="by hand") for code in codes)  # type: ignore[arg-type]


def _searched(inputs: Inputs) -> dict[str, Any]:
    """Return what was on offer, and what was not."""
    case = resolve(inputs)
    left_out = tuple(NotConsidered(sku=sku, reason=why) for sku, why in case.not_considered)
    skus = tuple(sorted(each.id for each in (*case.systems, *case.storage)))
    return {"searched": skus, "not_considered": left_out}


PROVENANCE = Provenance(
    tool="planner", catalogs=("hand",), price_books=("hand",), problem_file="hand.yaml",
    scenario=None, overrides=(), input_sha256="0" * 64, solver="none", versions={},
    iterations=1, seconds=None,
)  # fmt: skip


def site(problem: Problem) -> Site:
    term, share = problem.term, problem.storage.delivered_fraction
    return Site(
        pue=problem.site.pue,
        it_power_limit_kw=problem.site.it_power_kw,
        facility_power_limit_kw=problem.site.facility_power_kw,
        racks_limit=problem.site.racks,
        years=term.years if term else None,
        electricity_usd_per_kwh=term.electricity_usd_per_kwh if term else None,
        delivered_fraction_read=share.read,
        delivered_fraction_write=share.write,
        fill_limit=problem.storage.fill_limit,
    )


def _objective(asked: Objective, value: float | None) -> ObjectiveReport:
    assert value is not None
    name, sense = (
        asked.maximize or asked.minimize or "",
        "maximize" if asked.maximize else "minimize",
    )
    units = {"goodput": "PFLOP/s", "useful_gpus": "GPUs", "cost": "USD", "tco": "USD"}
    gap = 2e-7
    return ObjectiveReport.model_validate(
        {
            "name": name,
            "sense": sense,
            "value": value,
            "unit": units[name],
            "bound": value * (1 + gap if sense == "maximize" else 1 - gap),
            "gap": gap,
            "gap_asked": 1e-6,
            "best": value,
            "given_away": 0.0,
            "indifference": asked.indifferent,
        }
    )


def _line(
    inputs: Inputs, sku: str, count: int, racks: tuple[int, int | None], discount: float
) -> Line:
    entry = next(item for item in inputs.items if item.id == sku)
    price, demanded = inputs.prices[sku], inputs.problem.items.get(sku)
    installed = demanded.installed if demanded else 0
    purchased = max(0, count - installed)
    net = round(price.list_usd * (1 - discount), 2)
    storage = entry.category == "storage"
    return Line(
        sku=sku,
        section="Storage" if storage else "Compute",
        **_description(entry),
        quantity=count,
        installed=installed,
        purchased=purchased,
        unit_list_usd=price.list_usd,
        discount=discount,
        unit_net_usd=net,
        extended_list_usd=price.list_usd * purchased,
        extended_net_usd=net * purchased,
        support_usd_per_year=round(price.support_usd_per_year(net), 2) * purchased,
        support_share=getattr(price.support_per_year, "share", None),
        unit_subscription_list_usd=price.per_year_usd,
        price=PriceNote(
            source="sheet",
            date="2026-03",
            confidence="medium",
            book="hand",
            low_usd=price.low_usd,
            high_usd=price.high_usd,
            per_year_low_usd=price.per_year_low_usd,
            per_year_high_usd=price.per_year_high_usd,
        ),
        lead_time=price.lead_time,
        racks=racks[0],
        units_per_rack=racks[1],
        gpus=entry.provides.gpus.value * count if entry.provides.gpus else 0,
        read_gb_per_s=_rated(entry, "read", count),
        write_gb_per_s=_rated(entry, "write", count),
        usable_tb=entry.provides.usable.value * count if entry.provides.usable else None,
        **_consumption(inputs, entry, count),
    )


def _description(entry: Item) -> dict[str, Any]:
    names = ("vendor", "model", "part_number", "description")
    return {name: getattr(entry, name) for name in names}


def _rated(entry: Item, direction: str, count: int) -> float:
    if entry.category != "storage":
        return 0.0
    if entry.sizes is None:
        return float(getattr(entry.provides, direction).value) * count
    low, high = entry.sizes.rows
    part = (count - low.units) / (high.units - low.units)
    return float((1 - part) * getattr(low, direction) + part * getattr(high, direction))


def _consumption(inputs: Inputs, entry: Item, count: int) -> dict[str, float | None]:
    power = _consumed(inputs, entry, "it_power")
    height = _consumed(inputs, entry, "rack_units")
    weight = _consumed(inputs, entry, "weight")
    assert power is not None and height is not None
    return {
        "unit_it_power_kw": power,
        "it_power_kw": power * count,
        "unit_heat_btu_per_h": facility.heat_btu_per_h(power),
        "heat_btu_per_h": facility.heat_btu_per_h(power * count),
        "unit_rack_units": height,
        "rack_units": height * count,
        "unit_weight_kg": weight,
        "weight_kg": None if weight is None else weight * count,
    }


def _consumed(inputs: Inputs, entry: Item, resource: str) -> float | None:
    parts = {item.id: item for item in inputs.items}
    pieces = [(parts[c.id], c.quantity) for c in entry.components] or [(entry, 1)]
    found = [(getattr(part.consumes, resource), quantity) for part, quantity in pieces]
    if any(figure is None for figure, _ in found):
        return None
    return float(sum(figure.value * quantity for figure, quantity in found))


def _components(inputs: Inputs, sku: str, count: int) -> list[Line]:
    catalog = {item.id: item for item in inputs.items}
    lines = []
    for component in catalog[sku].components:
        entry, total = catalog[component.id], component.quantity * count
        lines.append(
            Line(
                sku=component.id, parent=sku, section="Components", **_description(entry),
                quantity=total, purchased=total, unit_list_usd=None, discount=0.0,
                unit_net_usd=None, extended_list_usd=None, extended_net_usd=None,
                support_usd_per_year=None, price=None, racks=None,
                **_consumption(inputs, entry, total),
            )
        )  # fmt: skip
    return lines


def _clients(
    inputs: Inputs, choice: Choice, direction: str, one_replica: bool
) -> tuple[float, int]:
    """Return the client limit in GB/s and the systems at work."""
    catalog = {item.id: item for item in inputs.items}
    factors = []
    for family in inputs.families:
        if family.id in choice.families:
            factor = family.client_factor
            factors.append(getattr(factor, direction).value if factor else 1.0)
    limits = []
    for sku, used in choice.used.items():
        entry = catalog[sku]
        assert entry.provides.gpus is not None
        own, each = getattr(entry.client, direction), float(entry.provides.gpus.value)
        each = (own.value if own else each) * min(factors)
        if one_replica:
            replica = inputs.problem.job.parallelism
            assert replica is not None
            used = -(-replica.replica_gpus // _usable(entry, inputs.problem.job))
        limits.append((used * each, used))
    if one_replica:
        return min(limits)
    return sum(limit for limit, _ in limits), sum(used for _, used in limits)


def _usable(entry: Item, job: Job) -> int:
    """Return the GPUs of a system that the job can use."""
    assert entry.provides.gpus is not None
    if job.parallelism is None or job.gpus.whole == "systems":
        return min(entry.provides.gpus.value, job.gpus.per_system or 10**9)
    tensor, replica = job.parallelism.tensor, job.parallelism.replica_gpus
    return ckpt.usable_gpus(entry.provides.gpus.value, tensor, replica, job.gpus.per_system)


def _job(inputs: Inputs, choice: Choice, lines: list[Line]) -> JobPlan:
    problem, job = inputs.problem, inputs.problem.job
    catalog = {item.id: item for item in inputs.items}
    types = [catalog[sku] for sku in choice.used]
    whole = sum(t.provides.gpus.value * choice.used[t.id] for t in types if t.provides.gpus)
    used = choice.gpus_used or whole
    share = problem.storage.delivered_fraction
    rated_write = share.write * sum(line.write_gb_per_s for line in lines)
    rated_read = share.read * sum(line.read_gb_per_s for line in lines)
    one_writes = job.checkpoint.writers == "one_replica"
    write_limit, writers = _clients(inputs, choice, "write", one_writes)
    read_limit, readers = _clients(inputs, choice, "read", job.restore.readers == "one_replica")
    data_limit, _ = _clients(inputs, choice, "read", False)
    apart = job.restore.readers == "one_replica" and job.ingest_per_gpu_gb_per_s > 0
    write, read = min(rated_write, write_limit), min(rated_read, read_limit)
    assert job.parameters is not None
    size_gb, bytes_each = _size(job)
    sync = choice.mode == "sync"
    write_s = ckpt.drain_s(size_gb, write)
    stall_s, drain_s = (write_s, 0.0) if sync else (job.checkpoint.stall_s, write_s)
    slowdown = 0.0 if sync else job.checkpoint.drain_slowdown
    rate = _rate(job, types)
    mtti_s = goodput.mtti_s(rate, used)
    stopped_s = stall_s + slowdown * drain_s
    low_s = max(stall_s + drain_s, drain_s / job.checkpoint.max_overlap)
    interval_s = choice.interval_s or goodput.best_interval_s(stopped_s, mtti_s, low_s, 14400.0)
    if choice.interval_s is not None and choice.interval_s < 1:
        interval_s = choice.interval_s * mtti_s
    replica = job.parallelism.replica_gpus if job.parallelism else None
    fan_out = ckpt.restore_fan_out(
        job.restore.fan_out, bytes_each, used / replica if replica else 1.0
    )
    restore_s = ckpt.restore_read_s(size_gb, fan_out, read)
    times = (interval_s, stall_s, drain_s)
    restart_s = job.restore.restart_s
    shares = goodput.goodput_loss(*times, restart_s, restore_s, mtti_s, slowdown)
    kept = goodput.goodput(*times, restart_s + restore_s, mtti_s, slowdown)
    missed = goodput.understated_goodput(
        interval_s, drain_s, restart_s + restore_s, mtti_s, slowdown
    )
    first = goodput.first_order_goodput(*times, restart_s + restore_s, mtti_s, slowdown)
    tflops = min(t.gpu.bf16_dense.value for t in types if t.gpu.bf16_dense)
    mfu, tokens, pflops, days = job.training.mfu, job.training.tokens, None, None
    if mfu is not None:
        pflops = goodput.useful_pflops(used, tflops, mfu, kept)
    if pflops is not None and tokens is not None:
        days = goodput.days_to_train(job.parameters, tokens, pflops)
    return JobPlan(
        name=job.name, gpu_type=types[0].id, gpu_types=tuple(choice.used),
        storage_family=choice.families[0], storage_families=choice.families, mode=choice.mode,
        gpus_used=used, systems_used=sum(choice.used.values()),
        systems_by_type=dict(choice.used), replica_gpus=replica,
        replicas=used / replica if replica else None,
        whole_replicas=replica is not None and job.gpus.whole != "systems",
        tensor_gpus=job.parallelism.tensor if job.parallelism else None,
        per_system_gpus=job.gpus.per_system,
        usable_gpus_by_type={entry.id: _usable(entry, job) for entry in types},
        idle_gpus=whole - used, tflops_per_gpu=tflops, mfu=mfu,
        failures_per_gpu_day=rate, checkpoint_gb=size_gb,
        delivered_write_gb_per_s=write, delivered_read_gb_per_s=read,
        write_limited_by="appliances" if rated_write < write_limit else "clients",
        read_limited_by="appliances" if rated_read < read_limit else "clients",
        client_write_limit_gb_per_s=write_limit, client_read_limit_gb_per_s=read_limit,
        client_data_limit_gb_per_s=data_limit if apart else None,
        writing_systems=writers, reading_systems=readers, interval_s=interval_s,
        interval_policy=job.checkpoint.interval.policy,
        young_s=goodput.young_s(stopped_s, mtti_s),
        daly_s=goodput.daly_s(stopped_s, mtti_s),
        exact_s=goodput.exact_period_s(stopped_s, mtti_s),
        stall_s=stall_s, drain_s=drain_s, overlap=ckpt.overlap(drain_s, interval_s),
        blocking=ckpt.blocking_share(stall_s, interval_s), fan_out=fan_out,
        restore_s=restore_s, restart_s=restart_s, drain_slowdown=slowdown, mtti_s=mtti_s,
        goodput=kept, goodput_first_order=first, loss=Loss(**vars(shares)),
        useful_gpus=used * kept, useful_pflops=pflops, days_to_train=days,
        ingest_gb_per_s=demand.ingest_gb_per_s(used, job.ingest_per_gpu_gb_per_s),
        capacity_needed_tb=demand.capacity_tb(
            job.dataset_tb, size_gb, job.checkpoint.keep_last, job.checkpoint.milestones,
            job.checkpoint.exports, job.parameters, problem.storage.fill_limit,
        ),
        write_volume_tb_per_day=demand.write_volume_tb_per_day(size_gb, interval_s),
        fan_out_kind=job.restore.fan_out, bytes_per_parameter=bytes_each,
        writers=job.checkpoint.writers, readers=job.restore.readers,
        checkpoints_held=job.checkpoint.keep_last + job.checkpoint.milestones + 1,
        other_data_tb=job.dataset_tb + 2e-12 * job.parameters * job.checkpoint.exports,
        tokens=tokens, active_parameters=job.training.active_parameters or job.parameters,
        max_overlap=job.checkpoint.max_overlap if problem.storage.rule == "demand" else None,
        max_blocking=job.checkpoint.max_blocking, goodput_understated=missed,
    )  # fmt: skip


def _size(job: Job) -> tuple[float, float]:
    """Return the checkpoint in GB and its bytes per trained parameter."""
    assert job.parameters is not None
    if job.checkpoint.size_gb is not None:
        trained = job.parameters * job.trained_share
        return job.checkpoint.size_gb, job.checkpoint.size_gb * 1e9 / trained
    assert isinstance(job.bytes_per_parameter, float)
    size_gb = ckpt.checkpoint_gb(job.parameters, job.bytes_per_parameter, job.trained_share)
    return size_gb, job.bytes_per_parameter


def _rate(job: Job, types: list[Item]) -> float:
    if isinstance(job.failures, FailureRate):
        return job.failures.per_gpu_day
    own = [t.gpu.failures_per_day for t in types]
    return max(rate.value if rate else 4.74e-4 for rate in own)


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _totals(inputs: Inputs, lines: list[Line], job: JobPlan) -> Totals:
    top = [line for line in lines if line.parent is None]
    storage = [line for line in top if line.section == "Storage"]
    power = _sum([line.it_power_kw for line in top]) or 0.0
    meter = power * inputs.problem.site.pue
    capex = _sum([line.extended_net_usd for line in top]) or 0.0
    support = _sum([line.support_usd_per_year for line in top]) or 0.0
    term = inputs.problem.term
    energy = meter * facility.HOURS_PER_YEAR * term.electricity_usd_per_kwh if term else None
    opex = None if energy is None else support + energy
    return Totals(
        gpus=sum(line.gpus for line in top),
        gpus_used=job.gpus_used,
        it_power_kw=power,
        facility_power_kw=meter,
        heat_btu_per_h=facility.heat_btu_per_h(power),
        rack_units=_sum([line.rack_units for line in top]),
        racks=sum(line.racks or 0 for line in top),
        weight_kg=_sum([line.weight_kg for line in top]),
        capex_usd=capex,
        support_usd_per_year=support,
        energy_usd_per_year=energy,
        opex_usd_per_year=opex,
        tco_usd=None if opex is None or term is None else capex + term.years * opex,
        read_gb_per_s=sum(line.read_gb_per_s for line in top),
        write_gb_per_s=sum(line.write_gb_per_s for line in top),
        usable_tb=_sum([line.usable_tb for line in storage]),
    )


def _limits(
    choice: Choice, inputs: Inputs, totals: Totals, job: JobPlan
) -> tuple[LimitReport, ...]:
    """Return the reports of the limits that the choice lists as (sense, limit, unit)."""
    values: dict[str, float | None] = {
        "it_power": totals.it_power_kw, "facility_power": totals.facility_power_kw,
        "racks": totals.racks, "capex": totals.capex_usd, "opex": totals.opex_usd_per_year,
        "tco": totals.tco_usd, "overlap": job.overlap, "drain_fits": job.stall_s + job.drain_s,
        "blocking": job.blocking, "restore_time": job.restore_s, "capacity": totals.usable_tb,
        "ingest": job.ingest_gb_per_s, "endurance": job.write_volume_tb_per_day,
        "rule_read": totals.read_gb_per_s, "rule_write": totals.write_gb_per_s,
        "min_gpus": job.gpus_used, "gpus_min": job.gpus_used, "gpus_max": job.gpus_used,
        "replica_fits": job.gpus_used, "min_goodput": job.goodput,
        "min_useful_gpus": job.useful_gpus, "min_useful_pflops": job.useful_pflops,
        "max_days_to_train": job.days_to_train,
    }  # fmt: skip
    rated_read = inputs.problem.storage.delivered_fraction.read * totals.read_gb_per_s
    data_limit = job.client_data_limit_gb_per_s
    computed = {
        "drain_fits": job.interval_s,
        "capacity": job.capacity_needed_tb,
        "ingest": job.delivered_read_gb_per_s
        if data_limit is None
        else min(rated_read, data_limit),
    }
    reports = []
    for name, (sense, limit, unit) in choice.limits.items():
        value = values[name] if name in values else _count(name, choice, inputs)
        assert value is not None
        limit = computed.get(name, limit)
        slack = limit - value if sense == "<=" else value - limit
        reports.append(
            LimitReport.model_validate(
                {
                    "name": name, "label": name, "value": value, "sense": sense, "limit": limit,
                    "unit": unit, "slack": slack, "source": None,
                    "exact": name.endswith(".fixed") or name == "exact_families",
                    "binding": slack <= 1e-6 * max(1.0, abs(limit)),
                }
            )
        )  # fmt: skip
    return tuple(reports)


def _count(name: str, choice: Choice, inputs: Inputs) -> int:
    kind, _, rest = name.partition(".")
    if kind == "family_max_units":
        members = {item.id for item in inputs.items if item.family == rest}
        return sum(n for sku, n in choice.counts.items() if sku in members)
    return choice.counts[rest.split(".")[0]]


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
