"""Notes of a plan (cautions), its verdict (reasons not to build it), and its assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from planner.case import Case, figures
from planner.case.figures import CLIENT_GB_PER_S_PER_GPU
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
from planner.schema.plan import Assumption, LimitReport, Line, Plan
from planner.sizing.availability import FAILURES_PER_GPU_DAY, LOST_TIME
from planner.sizing.checkpoint import BYTES_PER_PARAMETER

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
    lines: Sequence[Line]
    job: JobPlan

    def model(self, sku: str) -> str:
        """Model name of an item."""
        return self.inputs.by_id[sku].model


def notes(facts: Facts) -> tuple[str, ...]:
    """Every note of a plan, the most important first."""
    groups = (_ports, _prices, _rates, _money, _job, _items)
    return (*facts.inputs.warnings, *(text for group in groups for text in group(facts)))


def _ports(facts: Facts) -> Iterator[str]:
    """Ports that no catalog states."""
    network, known = facts.inputs.problem.network, facts.inputs.by_id
    chosen = [known[line.sku] for line in facts.lines if line.section in ("Compute", "Storage")]
    for name in ("storage", "in_band", "out_of_band"):
        silent = [item.model for item in chosen if getattr(item.ports, name) is None]
        there = getattr(network, name) or (network.converged if name == "in_band" else None)
        if there is not None and silent:
            words = name.replace("_", "-")
            yield f"{words} ports missing from the catalog, counted as 0: {', '.join(silent)}"


def _prices(facts: Facts) -> Iterator[str]:
    """Unknown, estimated, stale and expired prices on the day of the plan; unknown lead times."""
    bought, day = [line for line in facts.lines if line.purchased], today()
    dear = [f"{line.purchased:,} {line.model}" for line in bought if line.price is None]
    if dear:
        yield f"bought, but no price is known, so the cost leaves it out: {', '.join(dear)}"
    weak = [
        f"{line.model} ({line.price.confidence})"
        for line in facts.lines
        if line.price is not None and line.price.confidence != "high"
    ]
    if weak:
        yield f"prices are estimates, not quotes: {', '.join(weak)}"
    stale, expired = dict[str, list[str]](), []
    for line in bought:
        if line.price is not None and is_old(line.price.date, day):
            stale.setdefault(line.price.date, []).append(line.model)
        until = line.price.valid_until if line.price is not None else None
        if until is not None and latest_day(until) < day:
            expired.append(f"{line.model} (until {until})")
    if stale:
        parts = "; ".join(f"of {date}: {', '.join(names)}" for date, names in sorted(stale.items()))
        yield f"stale prices (over {OLD_MONTHS} months), request new quotes: {parts}"
    if expired:
        yield f"expired quotes: {', '.join(expired)}"
    unknown = [line.model for line in bought if line.lead_time_days is None]
    if unknown and any(line.lead_time_days is not None for line in facts.lines):
        yield f"lead time not known, left out of the longest: {', '.join(unknown)}"


def _rates(facts: Facts) -> Iterator[str]:
    """Uncertainty of the training rate and of lost time."""
    inputs, run, plan = facts.inputs, facts.run, facts.job
    job, types = inputs.problem.job, len(facts.case.systems)
    if job.training.mfu is not None and types > 1 and needs(inputs.problem, "rate"):
        yield (
            f"MFU of {100.0 * job.training.mfu:g} % assumed for {types} GPU types; set "
            f"{of_job('training.model', job.name)} to use measured rates"
        )
    for system, choice in ways_in_use(inputs, facts.case, run) if is_stated(inputs) else ():
        row, model = choice.measured, facts.model(system.id)
        if row is None:
            continue
        if row.source == ASSUMED:
            yield f"the rate of {model} is assumed: {row.note}"
        elif job.training.scale is None and run.gpus > FAR_FROM_MEASURED * row.gpus:
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


def _money(facts: Facts) -> Iterator[str]:
    """Support of owned units; rent of the GPUs in use per useful GPU-hour."""
    prices, money = facts.inputs.prices, facts.inputs.problem.shown_in
    owned = [line.model for line in facts.lines if line.installed and line.sku in prices]
    if owned and any(line.support_usd_per_year for line in facts.lines):
        yield f"support of installed units is excluded: {', '.join(owned)}"
    for sku in sorted(facts.run.used):
        rent = prices[sku].rent if sku in prices else None
        if rent is None or not facts.run.goodput:
            continue
        usd, low, high = (money.convert(each) for each in (rent.usd, rent.low_usd, rent.high_usd))
        yield (
            f"renting {facts.model(sku)} GPUs: {usd:,.2f} {money.code} per GPU-hour "
            f"({low:,.2f} to {high:,.2f}, {rent.date}), "
            f"{usd / facts.run.goodput:,.2f} {money.code} per useful GPU-hour at this goodput; "
            "energy, support and building included"
        )


def _job(facts: Facts) -> Iterator[str]:
    """Repair unit."""
    job, stated = facts.job, facts.inputs.problem.job
    trays = stated.repair is not None and stated.repair.unit == "tray"
    if trays and job.repair is not None and job.repair.unit == "system":
        yield f"repair unit is the whole {facts.model(job.gpu_type)} (catalog lists no trays)"


def _items(facts: Facts) -> Iterator[str]:
    """Weak sources of decided items, derived endurance, heat to liquid, missing figures."""
    for item in facts.inputs.items:
        if facts.run.units.get(item.id):
            given = item.provides
            checked = (("read", given.read), ("write", given.write), ("usable", given.usable))
            rows = (*checked, ("power", item.consumes.it_power))
            weak = [name for name, each in rows if each is not None and each.confidence == "low"]
            if weak:
                yield f"{item.model}: weak sources for {', '.join(weak)}; confirm before ordering"
    rated = facts.inputs.problem.storage.dwpd.model_dump()
    for offer in facts.case.bought(facts.run.units):
        flash = [
            f"{raw_tb:,.4g} TB of {kind.upper()}, {rated[kind]:g} drive writes a day"
            for kind, raw_tb in figures.derived_endurance(facts.inputs.item(offer.id), facts.inputs)
        ]
        if flash:
            yield (
                f"write endurance of {facts.model(offer.id)} is derived, no catalog states it: "
                f"{' and '.join(flash)} (storage.dwpd), before what protection writes besides"
            )
    site = facts.inputs.problem.site
    stated = site.cooling.cdu is not None or site.cooling.liquid_limit_kw is not None
    cooled = [line for line in facts.lines if line.liquid_share]
    if cooled and not stated and site.pue_air == site.pue_liquid:
        kw = math.fsum((line.it_power_kw or 0.0) * line.liquid_share for line in cooled)
        names = ", ".join(dict.fromkeys(line.model for line in cooled))
        yield (
            f"{kw:,.{1 if kw < 100 else 0}f} kW of heat goes to liquid ({names}), "
            "no loop of the hall is stated: site.cooling.liquid_limit: 0 kW plans without"
        )
    labels = {name: row.figure.label for name, row in STATED.items()}
    for field, label in {"it_power_kw": "power draw", **labels}.items():
        missing = [line.model for line in facts.lines if getattr(line, field) is None]
        if missing:
            yield f"{label} not known, so left out of the totals: {', '.join(missing)}"


# The verdict.


def verdict(plan: Plan, cut: str | None = None) -> dict[str, str]:
    """Reasons against building a plan, or against calling it the best; none as a rule.

    Args:
        plan: with its lines, totals, job and limits.
        cut: cause that cut short the choice of the cheapest of equally good plans, if any.
    """
    if not plan.jobs or plan.totals is None:
        return {}
    job = plan.jobs[0]
    texts = {
        "goodput": f"goodput is {100 * job.goodput:.1f} %: {_largest_loss(job)}"
        if job.goodput < LEAST_GOODPUT
        else None,
        "supply": _unused(plan, job),
        "storage": _dear_storage(plan, job),
        "search": cut and f"{cut} came before the cheapest of the plans as good as this was found",
    }
    return {code: text for code, text in texts.items() if text}


def _largest_loss(job: JobPlan) -> str:
    name, share = max(job.losses.items(), key=lambda each: each[1])
    takes = "takes" if name in ("rework", "waiting", "other") else "take"
    return f"{FIGURES[f'loss.{name}'].label} {takes} {100 * share:.1f} % of the time"


def _unused(plan: Plan, job: JobPlan) -> str | None:
    """Much of every supply unused where no limit of the problem keeps the plan from more GPUs."""
    supplies = {limit.name for limit in SUPPLIES}
    given = [each for each in plan.limits if each.name in supplies and each.limit > 0]
    if plan.objective.sense != "maximize" or not given:
        return None
    nearest = max(given, key=lambda each: each.value / each.limit)
    used = nearest.value / nearest.limit
    if used >= LEAST_USED or any(_holds_gpus(each, supplies) for each in plan.limits):
        return None
    cause = f"no limit binds: more GPUs would do less work, {_largest_loss(job)}"
    for each in plan.limits:
        if each.binding and each.name.startswith("fabric."):
            cause = f"{each.limit:,.0f} {each.label} are taken"
    return f"{100 * (1 - used):.0f} % of {nearest.label} is unused: {cause}"


def _holds_gpus(limit: LimitReport, supplies: set[str]) -> bool:
    """True if a limit keeps a plan from more GPUs: it binds, or its GPUs are nearly reached."""
    if limit.name in _OF_COUNTS and limit.sense == "<=" and limit.value >= REACHED * limit.limit:
        return True
    of_items = limit.name.startswith(("items.", "stock."))
    return limit.binding and (of_items or limit.name in supplies or limit.name in _OF_COUNTS)


def _dear_storage(plan: Plan, job: JobPlan) -> str | None:
    totals = plan.totals
    owned = any(line.installed for line in plan.lines if line.section == "Compute")
    if totals is None or not totals.capex_usd or owned:  # owned units are no part of capex
        return None
    share = totals.capex_by_section_usd.get("Storage", 0.0) / totals.capex_usd
    if share <= MOST_STORAGE:
        return None
    binding = {each.name for each in plan.limits if each.binding}
    size_tb, minutes = job.checkpoint_gb / 1000, job.to_storage_s / 60
    cause = f"checkpoints of {size_tb:,.3g} TB every {minutes:,.3g} min"
    if binding & {"rule_read", "rule_write"}:
        cause = "a vendor's rule sizes it"
    elif "capacity" in binding and job.capacity_needed_tb:
        cause = f"{job.capacity_needed_tb:,.0f} TB are to be held"
    return f"storage is {100 * share:.0f} % of capex: {cause}"


# Assumptions: inputs of the problem and catalog figures, with source and confidence.


def assumptions(inputs: Inputs, case: Case, run: Run) -> tuple[Assumption, ...]:
    """The problem's assumptions, then those of each item in the plan."""
    result = [*_site_inputs(inputs, case), *_job_inputs(inputs, case, run)]
    client = Assumption(
        name="client_limit",
        label="client limit per GPU of a system, where nothing else is given",
        value=CLIENT_GB_PER_S_PER_GPU,
        unit="GB/s",
        source='S. Kartik and C. Tartow, VAST Data, "A Checkpoint on Checkpoints in LLMs", '
        "2024-01-10",
        note="8 buffered writer threads move about 8 GB/s per 8-GPU system",
    )
    result.append(client)
    for system, choice in ways_in_use(inputs, case, run):
        item, point, row = inputs.item(system.id), choice.point, choice.measured
        cited: list[tuple[str, str, float, str, str]] = []
        if row is not None:
            label = f"{item.model}: rate in {choice.precision}, {row.gpus:,} GPUs"
            cited.append(("rate", label, row.rate_tflops, "TFLOP/s", row.source))
        if point.source is not None:
            label = f"{item.model}: share of the rate at {100 * point.gpu_cap:g} % of the power"
            cited.append(("throughput", label, point.throughput, "share", point.source))
        for name, label, value, unit, source in cited:
            known, name = inputs.item_sources.get(item.id, {}).get(source), f"{item.id}.{name}"
            title = source if known is None else known.title
            result.append(Assumption(name=name, label=label, value=value, unit=unit, source=title))
    counts = bill(case, run.units, run.ways).counts
    drives = case.job.derived_stall or run.mode == "local"
    for item in (inputs.item(each.id) for each in case.bill_items() if counts[each.id]):
        result += _of_item(inputs, item, drives=drives)
        for part in item.components:
            result += _of_item(inputs, inputs.item(part.id), drives=False)
    return tuple(result)


def _given(
    inputs: Inputs, path: str, name: str, label: str, value: float, unit: str, note: str = ""
) -> Assumption:
    """An input of the problem at a path."""
    source, remark = inputs.where(path) or "default", note or None
    return Assumption(name=name, label=label, value=value, unit=unit, source=source, note=remark)


def _site_inputs(inputs: Inputs, case: Case) -> Iterator[Assumption]:
    given = partial(_given, inputs)
    for side, share, seen in (
        ("write", case.delivered_write_share, "0.16 to 0.40"),
        ("read", case.delivered_read_share, "0.2 to 1.0"),
    ):
        name, label = f"delivered_fraction.{side}", f"delivered share of nameplate {side}"
        note = f"observed in production: {seen}"
        yield given(f"storage.{name}", name, label, share, "share", note)
    site, label = inputs.problem.site, "power usage effectiveness"
    heats = {"pue": (label, site.pue_air)}
    if site.pue_air != site.pue_liquid:
        heats = {"pue.air": (f"{label} of what heats the air", site.pue_air)}
        heats["pue.liquid"] = f"{label} of what heats a liquid", site.pue_liquid
    for name, (label, value) in heats.items():
        yield given(f"site.{name}", name, label, value, "ratio")
    if (term := inputs.problem.term) is not None:
        price, label = term.electricity_usd_per_kwh, FIGURES["electricity_usd_per_kwh"].label
        yield given("term.electricity", "electricity", label, price, "USD/kWh")
        yield given("term.years", "years", "term", term.years, "years")


def _job_inputs(inputs: Inputs, case: Case, run: Run) -> Iterator[Assumption]:
    job, stated = case.job, inputs.problem.job

    def given(path: str, *fields: Any) -> Assumption:
        return _given(inputs, job_path(path), *fields)

    size, note = "checkpoint.size", ""
    if stated.checkpoint.size_gb is None:
        size, note = "bytes_per_parameter", f"{job.bytes_per_parameter:g} bytes per parameter"
        if isinstance(stated.bytes_per_parameter, str):
            preset = BYTES_PER_PARAMETER[stated.bytes_per_parameter]
            note += f": {preset.meaning} ({preset.source})"
    label = FIGURES["checkpoint_gb"].label
    yield given(size, "checkpoint_size", label, job.checkpoint_gb, "GB", note)
    rate = run.failures_per_gpu_day
    failures = given("failures", "failures", "job-interrupting failures", rate, "per GPU-day")
    if (name := _failure_preset(inputs)) is not None:
        preset = FAILURES_PER_GPU_DAY[name]
        known = {"note": f"{preset.meaning} ({preset.source})"}
        known["source"] = f"{failures.source}: preset {name}"
        failures = failures.model_copy(update=known)
    yield failures
    path, label = "checkpoint.stall", "stall per asynchronous checkpoint"
    if job.derived_stall:
        path, label = "checkpoint.stall_overhead", f"{label}, beside the copy to the hosts"
    note = "reported: 0.3 to 7 s; see docs/sizing.md"
    yield given(path, "stall", label, job.stall_s, "s", note)
    label, note = FIGURES["restart_s"].label, "reported: 120 to 1200 s"
    yield given("restore.restart", "restart", label, job.restart_s, "s", note)
    if job.lost_time_share:
        label, note = "lost time besides failures", f"{LOST_TIME.meaning} ({LOST_TIME.source})"
        yield given("lost_time", "lost_time", label, job.lost_time_share, "share", note)
    if run.mode == "local" and job.levels is not None:
        label, restart_s = "restart from the local level, with the read", job.levels.local_restart_s
        note = "no times by level are published; try half and twice of it"
        yield given("checkpoint.local.restart", "local_restart", label, restart_s, "s", note)
        label, share = "interruptions that no local copy survives", job.levels.remote_share
        note = "from the shares of the classes and their recovery; no measured split is published"
        yield given("failures.shares", "remote_share", label, share, "share", note)
    if (repair := stated.repair) is not None:
        label = FIGURES["repair.hardware_share"].label
        note = "Llama 3: 0.78 confirmed or suspected hardware (arXiv 2407.21783)"
        yield given("repair", "repair.share", label, repair.share, "share", note)
        label = f"repair time of a {repair.unit}, on average"
        note = "little is published: 2.5 h for a tray to days for a rack"
        yield given("repair", "repair.time", label, repair.time_s / 3600, "h", note)
        label = "how much longer a restart takes with failed hardware"
        yield given("repair", "repair.swap", label, repair.swap_s, "s")
    bought = [inputs.item(item.id) for item in case.bought(run.units)]
    note = "usual ratings over five years: TLC 1, QLC 0.3 to 0.6; no data sheet is compared"
    for kind in sorted({k for item in bought for k, _ in figures.derived_endurance(item, inputs)}):
        often, label = getattr(inputs.problem.storage.dwpd, kind), "drive writes a day of "
        path, label = f"dwpd.{kind}", f"{label}{kind.upper()} flash"
        yield _given(inputs, f"storage.{path}", path, label, often, "per day", note)


def _failure_preset(inputs: Inputs) -> str | None:
    """Name of the preset of the failure rate, None where a number is given."""
    job = inputs.problem.job
    name = job.failure_rate or DEFAULT_FAILURES
    return name if isinstance(name, str) else None


def _of_item(inputs: Inputs, item: Item, *, drives: bool) -> Iterator[Assumption]:
    """Catalog figures of an item; those of its local drives where they count."""
    sources = inputs.item_sources.get(item.id, {})
    rows: list[tuple[str, str, Any, str, Any]] = [
        (name, name.split(".")[-1].replace("_", " "), each.value, ITEM_UNITS.get(name, ""), each)
        for name, each in catalog_figures(item)
        if not name.startswith("facts." if drives else ("facts.", "local."))
    ]
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
