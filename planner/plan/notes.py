"""Notes of a plan (cautions), its verdict (reasons not to build it), and its assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from planner.case import Case, figures
from planner.case.fabrics import WORDS
from planner.case.figures import CLIENT_GB_PER_S_PER_GPU
from planner.case.items import total
from planner.case.model import Fabric
from planner.case.ways import ASSUMED
from planner.figures import FIGURES, ITEM_UNITS, STATED
from planner.inputs import Inputs, needs
from planner.limits import SUPPLIES
from planner.loader.catalogs import catalog_figures
from planner.loader.prices import OLD_MONTHS, is_old, latest_day, today
from planner.optimizer.bill import bill
from planner.optimizer.operate import Run
from planner.paths import job_path, of_job
from planner.plan.job import is_stated, ways_in_use
from planner.schema.catalog import Item
from planner.schema.job import DEFAULT_FAILURES
from planner.schema.operation import JobPlan
from planner.schema.plan import Assumption, FabricReport, LimitReport, Line, Plan, Verdict
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.sizing.fabric import FabricSize, PortDesign, compute_sizes, port_sizes
from planner.sizing.goodput import FAILURES_PER_GPU_DAY, LOST_TIME

FULL_FROM = 0.98
"""Share of its capacity from which on the largest fabric limits a plan."""
SUPPORT_SHARE = 0.12
"""Support per year, as a share of capex, above which it is pointed out."""
FAR_FROM_MEASURED = 2.0
"""GPUs in use over the GPUs of a measurement above which a scale law is missed."""

LEAST_GOODPUT = 0.8
LEAST_USED = 0.75
"""Share of the nearest supply that a plan of the most work uses, where no limit binds."""
MOST_STORAGE = 0.1
"""Share of storage in capex."""
REACHED = 0.99
_OF_COUNTS = ("gpus_max", "replica_fits", "min_goodput")
"""Limits on the GPUs in use that are no supplies; more GPUs lower goodput."""


class Facts(NamedTuple):
    """A plan so far, for its notes; ``lines`` without components of bundles."""

    inputs: Inputs
    case: Case
    run: Run
    lines: list[Line]
    job: JobPlan
    fabrics: Sequence[FabricReport]

    def model(self, sku: str) -> str:
        """Model name of an item."""
        return self.inputs.by_id[sku].model


def notes(facts: Facts) -> tuple[str, ...]:
    """Every note of a plan, the most important first."""
    groups = (
        _fabrics,
        _prices,
        _price_dates,
        _rates,
        _support,
        _rent,
        _job,
        _weak_sources,
        _idle_systems,
        _endurance,
        _missing_figures,
        _liquid,
    )
    return (*facts.inputs.warnings, *(text for group in groups for text in group(facts)))


# Objective, job and rates.


def _rates(facts: Facts) -> Iterator[str]:
    """Uncertainty of the training rate, of power set points and of lost time."""
    inputs, run, plan = facts.inputs, facts.run, facts.job
    job, types = inputs.problem.job, len(facts.case.systems)
    if job.training.mfu is not None and types > 1 and needs(inputs.problem, "rate"):
        yield (
            f"MFU of {100.0 * job.training.mfu:g} % assumed for {types} GPU types; set "
            f"{of_job('training.model', job.name)} to use measured rates"
        )
    for system, choice in ways_in_use(inputs, facts.case, run) if is_stated(inputs) else ():
        row, model = choice.measured, facts.model(system.id)
        if row is not None and row.source == ASSUMED:
            yield f"the rate of {model} is assumed: {row.note}"
            continue
        unscaled = row is not None and job.training.scale is None
        if row is not None and unscaled and run.gpus > FAR_FROM_MEASURED * row.gpus:
            yield (
                f"the rate of {model} was measured on {row.gpus:,} GPUs and counts for "
                f"{run.gpus:,} as it is; {of_job('training.scale', job.name)} takes off what "
                "scale costs"
            )
    if plan.lost_time and "lost_time" not in job.model_fields_set:
        lost = plan.lost_time / (1.0 - plan.lost_time)
        work = f"{plan.useful_gpus * lost:,.0f} useful GPUs"
        if plan.useful_pflops is not None:
            work = f"{plan.useful_pflops * lost:,.0f} PFLOP/s"
        yield (
            f"lost time besides failures of {100 * plan.lost_time:g} % assumed, worth {work}; "
            f"published {100 * LOST_TIME.low:g} to {100 * LOST_TIME.high:g} %: set "
            f"{of_job('lost_time', job.name)}"
        )


def _job(facts: Facts) -> Iterator[str]:
    """Repair unit, and local level not tried."""
    job, case, stated = facts.job, facts.case, facts.inputs.problem.job
    trays = stated.repair is not None and stated.repair.unit == "tray"
    if trays and job.repair is not None and job.repair.unit == "system":
        yield f"repair unit is the whole {facts.model(job.gpu_type)} (catalog lists no trays)"
    without = [facts.model(s.id) for s in case.systems if s.ways[0].drives is None]
    if stated.levels is not None and without:
        yield (
            f"the local level of checkpoints was not tried on {', '.join(without)}: missing in "
            "the catalog: local.write, local.capacity"
        )


# Fabrics.


def _fabrics(facts: Facts) -> Iterator[str]:
    """Fabrics that limit a plan, and items that no fabric connects for want of stated ports."""
    for fabric in largest_fabrics(facts):
        most = fabric.sizes[-1].capacity
        place, counted = "network.compute.switches", f"{most:,} systems"
        if fabric.design is None:
            named = "in_band" if fabric.network == "in_band" else "storage"
            place = f"network.{named}.switch"
            counted = f"{most / fabric.parts_per_port:,.0f} ports"
        yield (
            f"the {WORDS[fabric.network]} fabric is the largest that {facts.model(fabric.switch)} "
            f"makes in three tiers: {counted}, "
            f"whatever power, racks and money allow; more take a switch with more ports ({place})"
        )
    network, known = facts.inputs.problem.network, facts.inputs.by_id
    manager = None if network.compute is None else network.compute.manager
    for report in facts.fabrics if manager is not None and manager.ports else ():
        switch = known[report.switch_sku].switch
        groups = switch.ports if switch is not None and report.network == "compute" else ()
        lowest = [g.slowest_gbit_per_s for g in groups if g.count == report.radix]
        if manager is not None and lowest and all(lowest):
            yield (
                f"ports of {known[report.switch_sku].model} link none below "
                f"{max(speed or 0.0 for speed in lowest):g} Gb/s: ask the vendor which modules "
                f"connect the {manager.ports} links of the fabric manager"
            )
    chosen = [known[line.sku] for line in facts.lines if line.section in ("Compute", "Storage")]
    for name in ("storage", "in_band", "out_of_band"):
        silent = [item.model for item in chosen if getattr(item.ports, name) is None]
        there = getattr(network, name) or (network.converged if name == "in_band" else None)
        if there is not None and silent:
            words = name.replace("_", "-")
            yield f"{words} ports missing from the catalog, counted as 0: {', '.join(silent)}"


def largest_fabrics(facts: Facts) -> Iterator[Fabric]:
    """Yield the fabrics that are full, of whose switches no larger one can be made."""
    values = bill(facts.case, facts.run.units, facts.run.ways).counts
    for fabric in facts.case.companions.fabrics:
        if not fabric.sizes or fabric.network == "out_of_band":
            continue
        most = fabric.sizes[-1].capacity
        if total(fabric.amount, values) > FULL_FROM * most:
            if _sizes(facts.inputs, fabric, most + 1)[-1].capacity <= most:
                yield fabric


def _sizes(inputs: Inputs, fabric: Fabric, amount: int) -> tuple[FabricSize, ...]:
    """Every size of a fabric, at its oversubscription, up to an amount."""
    ratio = fabric.oversubscription
    if fabric.design is not None:
        return compute_sizes(replace(fabric.design, oversubscription=ratio), amount)
    network = inputs.problem.network
    named = network.in_band if fabric.network == "in_band" else network.storage
    least = 2 if named is None else named.min_switches
    return port_sizes(PortDesign(fabric.radix, fabric.parts_per_port, ratio, least), amount)


# The purchase.


def _idle_systems(facts: Facts) -> Iterator[str]:
    run, job = facts.run, facts.case.job
    for system in facts.case.systems:
        used = run.used.get(system.id, 0)
        idle = run.units[system.id] - used - job.hot(used)
        if used and job.repair is not None:  # they stand by, unless fewer are asked for
            idle -= job.spare_systems(system.way(run.ways), used)
        if idle > 0:
            yield f"{idle} x {facts.model(system.id)} idle: not used by the job"


def _endurance(facts: Facts) -> Iterator[str]:
    """Basis of write endurance that no catalog states."""
    rated = facts.inputs.problem.storage.dwpd.model_dump()
    for offer in facts.case.bought(facts.run.units):
        item = facts.inputs.item(offer.id)
        flash = [
            f"{raw_tb:,.4g} TB of {kind.upper()}, {rated[kind]:g} drive writes a day"
            for kind, raw_tb in figures.derived_endurance(item, facts.inputs)
        ]
        if flash:
            yield (
                f"write endurance of {item.model} is derived, no catalog states it: "
                f"{' and '.join(flash)} (storage.dwpd), before what protection writes besides"
            )


def _liquid(facts: Facts) -> Iterator[str]:
    """Heat to liquid in a hall that states no loop for it."""
    site = facts.inputs.problem.site
    stated = site.cooling.cdu is not None or site.cooling.liquid_limit_kw is not None
    cooled = [line for line in facts.lines if line.liquid_share]
    if cooled and not stated and site.pue_air == site.pue_liquid:
        kw = math.fsum((line.it_power_kw or 0.0) * line.liquid_share for line in cooled)
        names = ", ".join(dict.fromkeys(line.model for line in cooled))
        heat = f"{kw:,.{1 if kw < 100 else 0}f}".removesuffix(".0")
        yield (
            f"{heat} kW of heat goes to liquid ({names}), and nothing says "
            "that the hall has a loop for it: site.cooling.liquid_limit: 0 kW plans without"
        )


# Prices and support.


def _prices(facts: Facts) -> Iterator[str]:
    lines = facts.lines
    dear = [line for line in lines if line.price is None and line.purchased]
    if dear:
        names = ", ".join(f"{line.purchased:,} {line.model}" for line in dear)
        yield f"bought, but no price is known, so the cost leaves it out: {names}"
    weak = [line for line in lines if line.price is not None and line.price.confidence != "high"]
    if weak:
        parts = (f"{line.model} ({line.price.confidence})" for line in weak if line.price)
        yield f"prices are estimates, not quotes: {', '.join(parts)}"


def _price_dates(facts: Facts) -> Iterator[str]:
    """Stale and expired prices on the day of the plan; unknown lead times."""
    day, stale = today(), dict[str, list[str]]()
    expired = []
    for line in facts.lines:
        price = line.price
        if not line.purchased or price is None:
            continue
        if is_old(price.date, day):
            stale.setdefault(price.date, []).append(line.model)
        if price.valid_until is not None and latest_day(price.valid_until) < day:
            expired.append(f"{line.model} (until {price.valid_until})")
    if stale:
        parts = "; ".join(f"of {date}: {', '.join(names)}" for date, names in sorted(stale.items()))
        yield f"stale prices (over {OLD_MONTHS} months), request new quotes: {parts}"
    if expired:
        yield f"expired quotes: {', '.join(expired)}"
    unknown = [line.model for line in facts.lines if line.purchased and line.lead_time_days is None]
    if unknown and any(line.lead_time_days is not None for line in facts.lines):
        yield f"lead time not known, left out of the longest: {', '.join(unknown)}"


def _support(facts: Facts) -> Iterator[str]:
    prices, lines = facts.inputs.prices, facts.lines
    owned = [line.model for line in lines if line.installed and line.sku in prices]
    if owned and any(line.support_usd_per_year for line in lines):
        yield f"support of installed units is excluded: {', '.join(owned)}"
    capex = sum(line.extended_net_usd or 0.0 for line in lines)
    support = sum(line.support_usd_per_year or 0.0 for line in lines)
    if capex > 0 and support / capex > SUPPORT_SHARE:
        most = max(lines, key=lambda line: line.support_usd_per_year or 0.0)
        share = (most.support_usd_per_year or 0.0) / support
        yield (
            f"support is {support / capex:.0%} of capex a year, {share:.0%} of it for "
            f"{most.model}: ask for a quote"
        )


def _rent(facts: Facts) -> Iterator[str]:
    """Cost of renting the GPUs in use, beside the plan's own per useful GPU-hour."""
    goodput, money = facts.run.goodput, facts.inputs.problem.shown_in
    for sku in sorted(facts.run.used):
        price = facts.inputs.prices.get(sku)
        if price is None or price.rent is None or not goodput:
            continue
        rent = price.rent
        usd, low, high = (money.of(each) for each in (rent.usd, rent.low_usd, rent.high_usd))
        yield (
            f"renting {facts.model(sku)} GPUs: {usd:,.2f} {money.code} per GPU-hour "
            f"({low:,.2f} to {high:,.2f}, {rent.date}), "
            f"{usd / goodput:,.2f} {money.code} per useful GPU-hour at this goodput; "
            "energy, support and building included"
        )


# Catalog items.


def _missing_figures(facts: Facts) -> Iterator[str]:
    stated = ((name, row.figure.label) for name, row in STATED.items())
    for field, label in (("it_power_kw", "power draw"), *stated):
        missing = [line.model for line in facts.lines if getattr(line, field) is None]
        if missing:
            yield f"{label} not known, so left out of the totals: {', '.join(missing)}"


def _weak_sources(facts: Facts) -> Iterator[str]:
    for item in sorted(facts.inputs.items, key=lambda item: item.id):
        if not facts.run.units.get(item.id):
            continue
        checked = [(name, getattr(item.provides, name)) for name in ("read", "write", "usable")]
        checked.append(("power", item.consumes.it_power))
        weak = [name for name, fig in checked if fig is not None and fig.confidence == "low"]
        if weak:
            names = ", ".join(weak)
            yield f"{item.model}: weak sources for {names}; confirm before ordering"


# The verdict.


def verdict(plan: Plan, full: str | None = None, cut: str | None = None) -> tuple[Verdict, ...]:
    """Reasons against building a plan, or against calling it the best; none as a rule.

    Args:
        plan: with its lines, totals, job and limits.
        full: the largest fabric that its switches make, in words, where one is full.
        cut: cause that cut short the choice of the cheapest of equally good plans, if any.
    """
    if not plan.jobs or plan.totals is None:
        return ()
    job = plan.jobs[0]
    verdicts = [*_unused(plan, job, full), *_dear_storage(plan, job)]
    if job.goodput < LEAST_GOODPUT:
        text = f"goodput is {100 * job.goodput:.1f} %: {_largest_loss(job)}"
        verdicts.insert(0, Verdict(code="goodput", text=text))
    if cut is not None:
        text = f"{cut} came before the cheapest of the plans as good as this was found"
        verdicts.append(Verdict(code="search", text=text))
    return tuple(verdicts)


def full_fabric(facts: Facts) -> str | None:
    """The first of the largest fabrics, in words."""
    fabric = next(largest_fabrics(facts), None)
    if fabric is None:
        return None
    words = WORDS[fabric.network]
    return f"the {words} fabric is the largest that {facts.model(fabric.switch)} makes"


def _largest_loss(job: JobPlan) -> str:
    name, share = max(job.losses.items(), key=lambda each: each[1])
    takes = "takes" if name in ("rework", "waiting", "other") else "take"
    return f"{FIGURES[f'loss.{name}'].label} {takes} {100 * share:.1f} % of the time"


def _unused(plan: Plan, job: JobPlan, full: str | None) -> Iterator[Verdict]:
    """Much of every supply unused where no limit keeps the plan from more GPUs."""
    supplies = {limit.name for limit in SUPPLIES}
    given = [each for each in plan.limits if each.name in supplies and each.limit > 0]
    if plan.objective.sense != "maximize" or not given:
        return
    if any(_holds_gpus(each, supplies) for each in plan.limits):
        return
    nearest = max(given, key=lambda each: each.value / each.limit)
    used = nearest.value / nearest.limit
    if used < LEAST_USED:
        cause = full or f"more GPUs would do less work, {_largest_loss(job)}"
        text = f"{100 * (1 - used):.0f} % of {nearest.label} is unused and no limit binds: {cause}"
        yield Verdict(code="supply", text=text)


def _holds_gpus(limit: LimitReport, supplies: set[str]) -> bool:
    """True if a limit keeps a plan from more GPUs: it binds, or its GPUs are nearly reached."""
    if limit.name in _OF_COUNTS and limit.sense == "<=" and limit.value >= REACHED * limit.limit:
        return True
    of_items = limit.name.startswith(("items.", "stock."))
    return limit.binding and (of_items or limit.name in supplies or limit.name in _OF_COUNTS)


def _dear_storage(plan: Plan, job: JobPlan) -> Iterator[Verdict]:
    totals = plan.totals
    owned = any(line.installed for line in plan.lines if line.section == "Compute")
    if totals is None or not totals.capex_usd or owned:  # what is owned is no part of capex
        return
    share = totals.capex_by_section_usd.get("Storage", 0.0) / totals.capex_usd
    if share > MOST_STORAGE:
        asked = {each.name for each in plan.limits if each.binding}
        if asked & {"rule_read", "rule_write"}:
            cause = "a vendor's rule sizes it"
        elif "capacity" in asked and job.capacity_needed_tb:
            cause = f"{job.capacity_needed_tb:,.0f} TB are to be held"
        else:
            cause = (
                f"checkpoints of {job.checkpoint_gb / 1000:,.3g} TB every "
                f"{job.to_storage_s / 60:,.3g} min"
            )
        yield Verdict(code="storage", text=f"storage is {100 * share:.0f} % of capex: {cause}")


# Assumptions: inputs of the problem and catalog figures, with source and confidence.

CLIENT_LIMIT = Assumption(
    name="client_limit",
    label="client limit per GPU of a system, where nothing else is given",
    value=CLIENT_GB_PER_S_PER_GPU,
    unit="GB/s",
    source='S. Kartik and C. Tartow, VAST Data, "A Checkpoint on Checkpoints in LLMs", 2024-01-10',
    note="8 buffered writer threads move about 8 GB/s per 8-GPU system",
)


class _Input(NamedTuple):
    """An input of the problem at a path; ``preset``: the one it is from, if any."""

    name: str
    label: str
    value: float
    unit: str
    path: str
    note: str | None = None
    preset: str = ""


def assumptions(inputs: Inputs, case: Case, run: Run) -> tuple[Assumption, ...]:
    """The problem's assumptions, then those of each item in the plan."""
    result = []
    for each in (*_site_inputs(inputs, case), *_job_inputs(inputs, case, run)):
        fields = each._asdict()
        source = (inputs.where(fields.pop("path")) or "default") + fields.pop("preset")
        result.append(Assumption(source=source, **fields))
    result.append(CLIENT_LIMIT)
    counts = bill(case, run.units, run.ways).counts
    drives = case.job.derived_stall or run.mode == "local"
    for bought in (each for each in case.bill_items() if counts[each.id]):
        item = inputs.item(bought.id)
        result += _of_item(inputs, item, drives=drives)
        for part in item.components:
            result += _of_item(inputs, inputs.item(part.id), drives=False)
    return tuple(result)


def _site_inputs(inputs: Inputs, case: Case) -> Iterator[_Input]:
    for side, share, seen in (
        ("write", case.delivered_write, "0.16 to 0.40"),
        ("read", case.delivered_read, "0.2 to 1.0"),
    ):
        name, label = f"delivered_fraction.{side}", f"delivered share of nameplate {side}"
        note = f"observed in production: {seen}"
        yield _Input(name, label, share, "share", f"storage.{name}", note)
    site, label = inputs.problem.site, "power usage effectiveness"
    if site.pue_air == site.pue_liquid:
        yield _Input("pue", label, site.pue_air, "ratio", "site.pue")
    else:
        of_air, of_liquid = f"{label} of what heats the air", f"{label} of what heats a liquid"
        yield _Input("pue.air", of_air, site.pue_air, "ratio", "site.pue.air")
        yield _Input("pue.liquid", of_liquid, site.pue_liquid, "ratio", "site.pue.liquid")
    if (term := inputs.problem.term) is not None:
        price, label = term.electricity_usd_per_kwh, FIGURES["electricity_usd_per_kwh"].label
        yield _Input("electricity", label, price, "USD/kWh", "term.electricity")
        yield _Input("years", "term", term.years, "years", "term.years")


def _job_inputs(inputs: Inputs, case: Case, run: Run) -> Iterator[_Input]:
    job, stated = case.job, inputs.problem.job
    size = "checkpoint.size" if stated.checkpoint.size_gb else "bytes_per_parameter"
    stall, of_stall = "checkpoint.stall", "stall per asynchronous checkpoint"
    if job.derived_stall:
        stall, of_stall = "checkpoint.stall_overhead", f"{of_stall}, beside the copy to the hosts"
    rows = [
        _Input(
            "checkpoint_size",
            FIGURES["checkpoint_gb"].label,
            job.checkpoint_gb,
            "GB",
            size,
            _bytes_note(inputs),
        ),
        _failures(inputs, run),
        _Input(
            "stall", of_stall, job.stall_s, "s", stall, "reported: 0.3 to 7 s; see docs/sizing.md"
        ),
        _Input(
            "restart",
            FIGURES["restart_s"].label,
            job.restart_s,
            "s",
            "restore.restart",
            "reported: 120 to 1200 s",
        ),
    ]
    if job.lost_time:
        label, note = "lost time besides failures", f"{LOST_TIME.meaning} ({LOST_TIME.source})"
        rows.append(_Input("lost_time", label, job.lost_time, "share", "lost_time", note))
    if run.mode == "local" and job.levels is not None:
        label, restart_s = "restart from the local level, with the read", job.levels.local_restart_s
        note = "no times by level are published; try half and twice of it"
        rows.append(
            _Input("local_restart", label, restart_s, "s", "checkpoint.local.restart", note)
        )
        label, share = "interruptions that no local copy survives", job.levels.remote_share
        note = (
            "follows from the shares of the classes and what each recovers from; no measured split "
            "is published"
        )
        rows.append(_Input("remote_share", label, share, "share", "failures.shares", note))
    if (repair := stated.repair) is not None:
        label, note = (
            FIGURES["repair.hardware_share"].label,
            "Llama 3: 0.78 confirmed or suspected hardware (arXiv 2407.21783)",
        )
        rows.append(_Input("repair.share", label, repair.share, "share", "repair", note))
        label = f"repair time of a {repair.unit}, on average"
        note, hours = (
            "little is published: 2.5 h for a tray to days for a rack",
            repair.time_s / 3600,
        )
        rows.append(_Input("repair.time", label, hours, "h", "repair", note))
        label = "how much longer a restart takes with failed hardware"
        rows.append(_Input("repair.swap", label, repair.swap_s, "s", "repair"))
    yield from (each._replace(path=job_path(each.path)) for each in rows)
    bought = (inputs.item(item.id) for item in case.bought(run.units))
    note = "usual ratings over five years: TLC 1, QLC 0.3 to 0.6; no data sheet is compared"
    for kind in sorted({k for item in bought for k, _ in figures.derived_endurance(item, inputs)}):
        often, label = (
            getattr(inputs.problem.storage.dwpd, kind),
            f"drive writes a day of {kind.upper()} flash",
        )
        yield _Input(f"dwpd.{kind}", label, often, "per day", f"storage.dwpd.{kind}", note)


def _bytes_note(inputs: Inputs) -> str | None:
    each = inputs.problem.job.bytes_per_parameter
    if inputs.problem.job.checkpoint.size_gb is not None:
        return None
    if isinstance(each, str):
        preset = BYTES_PER_PARAMETER[each]
        return f"{preset.value:g} bytes per parameter: {preset.meaning} ({preset.source})"
    return f"{each:g} bytes per parameter"


def _failures(inputs: Inputs, run: Run) -> _Input:
    job = inputs.problem.job
    name = job.failure_rate if "failures" in job.model_fields_set else DEFAULT_FAILURES
    label, unit = "job-interrupting failures", "per GPU-day"
    row = _Input("failures", label, run.failures_per_gpu_day, unit, "failures")
    if not isinstance(name, str):
        return row
    preset = FAILURES_PER_GPU_DAY[name]
    return row._replace(note=f"{preset.meaning} ({preset.source})", preset=f": preset {name}")


def _of_item(inputs: Inputs, item: Item, *, drives: bool) -> Iterator[Assumption]:
    """Catalog figures of an item; those of its local drives where they count."""
    sources = inputs.item_sources.get(item.id, {})
    rows: list[tuple[str, str, Any, str, Any]] = [
        (name, name.split(".")[-1].replace("_", " "), each.value, ITEM_UNITS.get(name, ""), each)
        for name, each in catalog_figures(item)
        if not name.startswith("facts." if drives else ("facts.", "local."))
    ]
    if (table := item.sizes) is not None:
        few, most = table.rows[0].units, table.rows[-1].units
        value = f"{len(table.rows)} published sizes, {few} to {most} units"
        rows.append(("sizes", "bandwidth by number of units", value, "", table))
    for name, label, value, unit, stated in rows:
        yield Assumption(
            name=f"{item.id}.{name}",
            label=f"{item.model}: {label}",
            value=value if isinstance(value, (int, float, str)) else str(value),
            unit=unit,
            source=sources[stated.source].title if stated.source in sources else stated.source,
            confidence=stated.confidence,
            note=stated.note,
        )
