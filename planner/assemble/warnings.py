"""What a plan rests on, and what the reader must know before trusting it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from planner.assemble.fabric_remarks import fabric_remarks, largest_fabrics
from planner.assemble.shrinking import off_by
from planner.assemble.ways import way_warnings
from planner.case import Case, figures, suitability
from planner.case.bandwidth import write_needed_gb_per_s
from planner.case.figures import CLIENT_GB_PER_S_PER_GPU
from planner.figures import FIGURES, ITEM_UNITS, STATED
from planner.inputs import Inputs
from planner.loader.catalog_checks import catalog_figures
from planner.loader.price_building import OLD_MONTHS, is_old, is_to_come, latest_day, today
from planner.optimizer.bill import bill
from planner.optimizer.operate import Run
from planner.paths import job_path, of_job
from planner.schema.catalog import Figure, Item, Source
from planner.schema.plan import Assumption, FabricReport, JobPlan, Line
from planner.schema.running import DEFAULT_FAILURES
from planner.sizing.checkpoint import BYTES_PER_PARAMETER
from planner.sizing.facility import HOURS_PER_YEAR
from planner.sizing.goodput import FAILURES_PER_GPU_DAY, FIRST_ORDER_VALID_BELOW, LOST_TIME

CLOSE = 0.003
"""What the formula of a job that goes on with fewer replicas may be off by untold."""
BOUND_CLOSE_FROM = 0.98
"""Availability from which on the bound is close where spares stand in each rack."""

# What the plan rests on: every input that matters, with value, unit, source and confidence.


def assumptions(inputs: Inputs, case: Case, operation: Run) -> tuple[Assumption, ...]:
    """Return the assumptions of a plan: the problem's, then those of each item in it."""
    known = inputs.by_id
    result = [*_problem(inputs, case, operation)]
    counts = bill(case, operation.units, operation.ways).counts
    for bill_item in case.bill_items():
        if counts[bill_item.id]:
            item = known[bill_item.id]
            drives = case.job.derived_stall or operation.mode == "local"
            result += _item(inputs, item, drives=drives)
            for part in item.components:
                result += _item(inputs, known[part.id])
    return tuple(result)


def _problem(inputs: Inputs, case: Case, operation: Run) -> Iterator[Assumption]:
    problem, job = inputs.problem, case.job
    origin = _where(inputs)
    yield _given("delivered_fraction.write", "delivered share of nameplate write",
                 case.delivered_write, "share", origin("storage.delivered_fraction.write"),
                 "observed in production: 0.16 to 0.40")  # fmt: skip
    yield _given("delivered_fraction.read", "delivered share of nameplate read",
                 case.delivered_read, "share", origin("storage.delivered_fraction.read"),
                 "observed in production: 0.2 to 1.0")  # fmt: skip
    yield from _pue(inputs, origin)
    yield _given("checkpoint_size", FIGURES["checkpoint_gb"].label, job.checkpoint_gb, "GB",
                 origin(job_path("checkpoint.size")) if problem.job.checkpoint.size_gb
                 else origin(job_path("bytes_per_parameter")), _bytes_note(inputs))  # fmt: skip
    yield _failures(inputs, operation, origin(job_path("failures")))
    label, path = "stall per asynchronous checkpoint", job_path("checkpoint.stall")
    if job.derived_stall:
        label += ", beside the copy to the hosts"
        path = job_path("checkpoint.stall_overhead")
    yield _given("stall", label, job.stall_s, "s", origin(path),
                 "reported: 0.3 to 7 s; see docs/sizing.md")  # fmt: skip
    given = problem.job.restart.remote_s is not None
    path = job_path("restart.remote" if given else "restore.restart")
    yield _given("restart", FIGURES["restart_s"].label, job.restart_s, "s",
                 origin(path), "reported: 120 to 1200 s")  # fmt: skip
    if job.lost_time:
        yield _given(
            "lost_time",
            "lost time besides failures",
            job.lost_time,
            "share",
            origin(job_path("lost_time")),
            f"{LOST_TIME.meaning} ({LOST_TIME.source})",
        )
    if operation.mode == "local":
        yield from _local(inputs, case, origin)
    yield from _repair(inputs, origin)
    yield from _drive_writes(inputs, case, operation, origin)
    yield _given("client_limit", "client limit per GPU of a system, where nothing else is given",
                 CLIENT_GB_PER_S_PER_GPU, "GB/s",
                 'S. Kartik and C. Tartow, VAST Data, "A Checkpoint on Checkpoints in LLMs", '
                 "2024-01-10",
                 "8 buffered writer threads move about 8 GB/s per 8-GPU system")  # fmt: skip
    if problem.term is not None:
        yield _given("electricity", FIGURES["electricity_usd_per_kwh"].label,
                     problem.term.electricity_usd_per_kwh, "USD/kWh",
                     origin("term.electricity"))  # fmt: skip
        yield _given("years", "term", problem.term.years, "years", origin("term.years"))


def _local(inputs: Inputs, case: Case, origin: Callable[[str], str]) -> Iterator[Assumption]:
    """Yield what the local level of checkpoints rests on: no measured split is published."""
    levels = case.job.levels
    assert levels is not None
    yield _given("local_restart", "restart from the local level, with the read",
                 levels.local_restart_s, "s", origin(job_path("restart.local")),
                 "no times by level are published; try half and twice of it")  # fmt: skip
    yield _given("remote_share", "interruptions that no local copy survives", levels.remote_share,
                 "share", origin(job_path("failures.shares")),
                 "follows from the shares of the classes and what each recovers from; no measured "
                 "split is published")  # fmt: skip


def _repair(inputs: Inputs, origin: Callable[[str], str]) -> Iterator[Assumption]:
    repair = inputs.problem.job.repair
    if repair is None:
        return
    source = origin(job_path("repair"))
    share, hours = repair.hardware_share, repair.out_s / repair.hardware_share / 3600.0
    yield _given("repair.share", FIGURES["repair.hardware_share"].label, share, "share", source,
                 "Llama 3: 0.78 confirmed or suspected hardware (arXiv 2407.21783)")  # fmt: skip
    yield _given("repair.time", f"repair time of a {repair.unit}, on average", hours, "h", source,
                 "little is published: 2.5 h for a tray to days for a rack")  # fmt: skip
    yield _given("repair.swap", "how much longer a restart takes with failed hardware",
                 repair.swap_s, "s", source)  # fmt: skip


def _drive_writes(
    inputs: Inputs, case: Case, operation: Run, origin: Callable[[str], str]
) -> Iterator[Assumption]:
    """Yield how often a day flash is written whose endurance is derived, by kind."""
    rated = inputs.problem.storage.dwpd.model_dump()
    bought = (inputs.item(item.id) for item in case.bought(operation.units))
    kinds = {kind for item in bought for kind, _ in figures.derived_endurance(item, inputs)}
    for kind in sorted(kinds):
        yield _given(f"dwpd.{kind}", f"drive writes a day of {kind.upper()} flash", rated[kind],
                     "per day", origin(f"storage.dwpd.{kind}"),
                     "usual ratings over five years: TLC 1, QLC 0.3 to 0.6; no data sheet of these "
                     "drives is compared")  # fmt: skip


def _pue(inputs: Inputs, origin: Callable[[str], str]) -> Iterator[Assumption]:
    site = inputs.problem.site
    if site.pue_air == site.pue_liquid:
        label = "power usage effectiveness"
        yield _given("pue", label, site.pue_air, "ratio", origin("site.pue"))
        return
    label = "power usage effectiveness of what heats the air"
    yield _given("pue.air", label, site.pue_air, "ratio", origin("site.pue.air"))
    label = "power usage effectiveness of what heats a liquid"
    yield _given("pue.liquid", label, site.pue_liquid, "ratio", origin("site.pue.liquid"))


def _where(inputs: Inputs) -> Callable[[str], str]:
    def origin(path: str) -> str:
        return inputs.where(path) or "default"

    return origin


def _given(
    name: str, label: str, value: float | str, unit: str, source: str, note: str | None = None
) -> Assumption:
    return Assumption(name=name, label=label, value=value, unit=unit, source=source, note=note)


def _bytes_note(inputs: Inputs) -> str | None:
    each = inputs.problem.job.bytes_per_parameter
    if inputs.problem.job.checkpoint.size_gb is not None:
        return None
    if isinstance(each, str):
        preset = BYTES_PER_PARAMETER[each]
        return f"{preset.value:g} bytes per parameter: {preset.meaning} ({preset.source})"
    return f"{each:g} bytes per parameter"


def _failures(inputs: Inputs, operation: Run, source: str) -> Assumption:
    job = inputs.problem.job
    given = job.failure_rate if "failures" in job.model_fields_set else DEFAULT_FAILURES
    note = None
    if isinstance(given, str):
        preset = FAILURES_PER_GPU_DAY[given]
        source, note = f"{source}: preset {given}", f"{preset.meaning} ({preset.source})"
    value = operation.failures_per_gpu_day
    return _given("failures", "job-interrupting failures", value, "per GPU-day", source, note)


def _item(inputs: Inputs, item: Item, *, drives: bool = False) -> Iterator[Assumption]:
    sources = inputs.item_sources.get(item.id, {})
    for name, figure in catalog_figures(item):
        if not name.startswith("facts." if drives else ("facts.", "local.")):
            yield _figure(item, name, figure, sources)
    if item.sizes is not None:
        source = sources.get(item.sizes.source)
        rows = item.sizes.rows
        yield Assumption(
            name=f"{item.id}.sizes",
            label=f"{item.model}: bandwidth by number of units",
            value=f"{len(rows)} published sizes, {rows[0].units} to {rows[-1].units} units",
            unit="",
            source=source.title if source else item.sizes.source,
            confidence=item.sizes.confidence,
            note=item.sizes.note,
        )


def _figure(
    item: Item, name: str, figure: Figure[object], sources: Mapping[str, Source]
) -> Assumption:
    source = sources.get(figure.source)
    value = figure.value
    return Assumption(
        name=f"{item.id}.{name}",
        label=f"{item.model}: {name.split('.')[-1].replace('_', ' ')}",
        value=value if isinstance(value, (int, float, str)) else str(value),
        unit=ITEM_UNITS.get(name, ""),
        source=source.title if source else figure.source,
        confidence=figure.confidence,
        note=figure.note,
    )


# What a reader would ask about a bill: idle systems, other switches, running costs, lead times.


NETWORK_SHARE = (0.07, 0.13)
STORAGE_SHARE = (0.01, 0.05)
"""Usual shares of capex; in a gigawatt hall 13 % and 1 to 1.5 % (Bernstein, 2025)."""
SUPPORT_SHARE = 0.12
"""Support per year, as a share of capex, above which it is pointed out."""


def remarks(
    inputs: Inputs,
    case: Case,
    operation: Run,
    lines: list[Line],
    job: JobPlan,
    fabrics: Sequence[FabricReport],
) -> Iterator[str]:
    """Yield what a reader would ask about the purchase."""
    yield from _idle(case, operation, lines)
    yield from _without_drives(inputs, case)
    yield from _preference(case)
    yield from _unusual_shares(lines, job, fabrics)
    yield from fabric_remarks(inputs, case, operation)
    yield from _endurance(inputs, case, operation)
    yield from _design_power(inputs, operation)


def _idle(case: Case, operation: Run, lines: list[Line]) -> Iterator[str]:
    models = {line.sku: line.model for line in lines}
    for system in case.systems:
        bought, used = operation.units[system.id], operation.used.get(system.id, 0)
        idle = bought - used - case.job.hot(used)
        if used and case.job.repair is not None:  # they stand by, unless fewer are asked for
            idle -= case.job.spare_systems(system.way(operation.ways), used)
        if idle > 0:
            model = models[system.id]
            yield (
                f"1 system of {model} stands idle: the job does not use it"
                if idle == 1
                else f"{idle} systems of {model} stand idle: the job does not use them"
            )


def _without_drives(inputs: Inputs, case: Case) -> Iterator[str]:
    """Name what the local level was not tried on, for want of figures."""
    models = {item.id: item.model for item in inputs.items}
    ways = [(system, system.ways[0]) for system in case.systems]
    without = [models[system.id] for system, way in ways if way.drives is None]
    if inputs.problem.job.levels is not None and without:
        yield (
            f"the local level of checkpoints was not tried on {', '.join(without)}: no catalog "
            "states what their drives write and hold (local.write, local.capacity)"
        )


def _preference(case: Case) -> Iterator[str]:
    if case.policy.disliked:
        given = f"{100 * case.policy.within:.3g} %"
        yield (
            f"up to {given} of the objective may go for units of preferred vendors (policy.prefer)"
        )


def _unusual_shares(
    lines: list[Line], job: JobPlan, fabrics: Sequence[FabricReport]
) -> Iterator[str]:
    """Explain a share of the bill that a reader would wonder about."""
    spent = {line.section: 0.0 for line in lines}
    for line in lines:
        spent[line.section] += line.extended_net_usd or 0.0
    whole = sum(spent.values())
    if whole == 0 or not fabrics:
        return
    network = (spent.get("Network", 0.0) + spent.get("Optics & cables", 0.0)) / whole
    compute = next((fabric for fabric in fabrics if fabric.network == "compute"), None)
    if compute is not None and not NETWORK_SHARE[0] <= network <= NETWORK_SHARE[1]:
        used = compute.endpoints / compute.capacity
        yield (
            f"network and optics are {network:.0%} of capex, where about a tenth is usual: the "
            f"compute fabric has {compute.tiers} tier{'s' if compute.tiers > 1 else ''} and is "
            f"{used:.0%} full, at {compute.oversubscription:g}:1"
        )
    storage = spent.get("Storage", 0.0) / whole
    bought = any(line.section == "Storage" and line.purchased for line in lines)
    if bought and not STORAGE_SHARE[0] <= storage <= STORAGE_SHARE[1]:
        yield (
            f"storage is {storage:.1%} of capex, where 1 to 5 % is usual: the job asks for "
            f"{job.checkpoint_gb / 1000:.3g} TB every {job.to_storage_s:.0f} s and "
            f"{job.capacity_needed_tb:.0f} TB of room"
        )


def _endurance(inputs: Inputs, case: Case, operation: Run) -> Iterator[str]:
    """Name the basis of write endurance that no catalog states."""
    rated = inputs.problem.storage.dwpd.model_dump()
    for offer in case.bought(operation.units):
        item = inputs.item(offer.id)
        flash = [
            f"{raw_tb:,.4g} TB of {kind.upper()} at {rated[kind]:g} drive writes a day"
            for kind, raw_tb in figures.derived_endurance(item, inputs)
        ]
        if flash:
            yield (
                f"write endurance of {item.model} is derived, no catalog states it: "
                f"{' and '.join(flash)} (storage.dwpd), before what protection writes besides"
            )


def _design_power(inputs: Inputs, operation: Run) -> Iterator[str]:
    """Say what reference designs provide beyond the draw that the plan counts."""
    for item in inputs.items:
        units, designed = operation.units.get(item.id, 0), item.consumes.design_power
        counted = figures.it_power_kw(item, inputs)
        if not units or designed is None or not counted or designed.value <= counted:
            continue
        more = units * (designed.value - counted)
        at_meter = more * figures.meter_kw(item, inputs) / counted
        yield (
            f"{item.model} counts {counted:g} kW; its reference design provides {designed.value:g} "
            f"kW (site.power_basis: design), {more:,.0f} kW more for {units} of them, "
            f"{at_meter:,.0f} kW at the meter"
        )


def _millions(amount: float) -> str:
    """Return an amount in millions, of less than one with two digits."""
    return f"{amount / 1e6:,.1f}" if amount >= 1e6 else f"{amount / 1e6:.2g}"


def _support(inputs: Inputs, lines: list[Line]) -> Iterator[str]:
    owned = [line.model for line in lines if line.installed and line.sku in inputs.prices]
    if owned and any(line.support_usd_per_year for line in lines):
        yield f"support of installed units is excluded: {', '.join(owned)}"
    capex = sum(line.extended_net_usd or 0.0 for line in lines)
    support = sum(line.support_usd_per_year or 0.0 for line in lines)
    if capex > 0 and support / capex > SUPPORT_SHARE:
        most = max(lines, key=lambda line: line.support_usd_per_year or 0.0)
        share = (most.support_usd_per_year or 0.0) / support
        money, ends = inputs.problem.shown_in, [0.0, 0.0]
        for line in (line for line in lines if line.sku in inputs.prices and line.unit_net_usd):
            span = inputs.prices[line.sku].support_range_usd(line.unit_net_usd or 0.0)
            ends = [sum_ + end * line.purchased for sum_, end in zip(ends, span, strict=True)]
        low, high = (_millions(money.of(end)) for end in ends)
        yield (
            f"support is {_millions(money.of(support))} M{money.code} a year, "
            f"{support / capex:.0%} of capex ({low} to {high} M{money.code} by source); "
            f"{share:.0%} of it is for {most.model}: ask for a quote"
        )


def _rent(inputs: Inputs, case: Case, operation: Run) -> Iterator[str]:
    """Yield the cost of renting the GPUs in use, beside the plan's own per useful GPU-hour."""
    kept, money = operation.goodput, inputs.problem.shown_in
    for sku in sorted(operation.used):
        price = inputs.prices.get(sku)
        if price is None or price.rent is None or not kept:
            continue
        rent = price.rent
        usd, low, high = (money.of(each) for each in (rent.usd, rent.low_usd, rent.high_usd))
        yield (
            f"renting {inputs.by_id[sku].model} GPUs: {usd:,.2f} {money.code} per GPU-hour "
            f"({low:,.2f} to {high:,.2f}, {rent.date}), "
            f"{usd / kept:,.2f} {money.code} per useful GPU-hour at this goodput; "
            "energy, support and building included"
        )


def _lead_times(lines: list[Line]) -> Iterator[str]:
    unknown = [line.model for line in lines if line.purchased and line.lead_time_days is None]
    stated = any(line.lead_time_days is not None for line in lines)
    if unknown and stated:
        shown = ", ".join(unknown[:4]) + (f" and {len(unknown) - 4} more" if unknown[4:] else "")
        yield f"no lead time is stated for {shown}; the longest one leaves them out"


# What the reader must know before trusting a plan.


FIELD_GB_PER_S = 200.0
"""Upper end of the global checkpoint bandwidth seen in production (checkpoint survey, 2025)."""


def warnings(
    inputs: Inputs,
    case: Case,
    operation: Run,
    bill: Iterable[Line],
    job: JobPlan,
    fabrics: Sequence[FabricReport],
) -> tuple[str, ...]:
    """Return the warnings of a plan, most important first."""
    lines = [line for line in bill if line.parent is None]
    groups = (
        _hours(case),
        _beyond_the_term(inputs, job),
        largest_fabrics(inputs, case, operation),
        _named_in_vain(inputs),
        _prices(lines),
        way_warnings(inputs, case, operation),
        _lost_time(inputs, job),
        _support(inputs, lines),
        _rent(inputs, case, operation),
        _job(case, job),
        _figures(inputs, operation),
        _repair_warnings(job, inputs, case, operation),
        remarks(inputs, case, operation, lines, job, fabrics),
        _unknown(lines),
        _lead_times(lines),
        _liquid(inputs, lines),
        _ports(inputs, lines),
        _not_considered(inputs),
        _price_notes(lines),
    )
    return (*inputs.warnings, *(text for group in groups for text in group))


def _hours(case: Case) -> Iterator[str]:
    """Say that hours of several GPU types are not worth the same, where hours are what counts."""
    if case.objective == "usd_per_useful_gpu_hour" and len(case.systems) > 1:
        yield (
            f"an hour of one GPU type is not worth an hour of another, and {len(case.systems)} are "
            "on offer: minimize usd_per_million_tokens compares them by the work they do"
        )


def _not_considered(inputs: Inputs) -> Iterator[str]:
    """Yield which products on offer are left out because nobody states a price or a figure."""
    models: dict[str, list[str]] = {}
    for item in inputs.items:
        offered = item.category in ("gpu_system", "storage")
        lacking = suitability.lacking(item, inputs) if offered else None
        if lacking is not None:
            models.setdefault(lacking, []).append(item.model)
    if models:
        parts = (f"{', '.join(names)} ({lacking})" for lacking, names in models.items())
        listed = "planner catalog --incomplete"
        yield f"known, but cannot be planned here ({listed}): {'; '.join(parts)}"


def _named_in_vain(inputs: Inputs) -> Iterator[str]:
    """Yield which GPU systems the problem names and cannot have, and why: whoever names one waits
    for it. Those that lack a price or a figure are told with all others."""
    named = inputs.problem.consider.gpu_systems or ()
    for item in inputs.items:
        if item.id in named and suitability.lacking(item, inputs) is None:
            reason = suitability.why_not(item, inputs)
            if reason is not None:
                yield f"{item.model} is to be considered and was not: {reason}"


def _liquid(inputs: Inputs, lines: list[Line]) -> Iterator[str]:
    """Yield that a plan needs a loop of liquid where nothing says that the hall has one."""
    site = inputs.problem.site
    liquid_stated = site.cooling.cdu is not None or site.cooling.liquid_limit_kw is not None
    cooled = [line for line in lines if line.liquid_share]
    if cooled and not liquid_stated and site.pue_air == site.pue_liquid:
        kw = math.fsum((line.it_power_kw or 0.0) * line.liquid_share for line in cooled)
        names = ", ".join(dict.fromkeys(line.model for line in cooled))
        heat = f"{kw:,.{1 if kw < 100 else 0}f}".removesuffix(".0")
        yield (
            f"{heat} kW of heat goes to liquid ({names}), and nothing says "
            "that the hall has a loop for it: site.cooling.liquid_limit: 0 kW plans without"
        )


def _ports(inputs: Inputs, lines: list[Line]) -> Iterator[str]:
    """Yield what the fabrics do not connect because nobody states its ports."""
    network = inputs.problem.network
    known = inputs.by_id
    chosen = [known[line.sku] for line in lines if line.section in ("Compute", "Storage")]
    for name in ("storage", "in_band", "out_of_band"):
        silent = [item.model for item in chosen if getattr(item.ports, name) is None]
        fabric = getattr(network, name) or (network.converged if name == "in_band" else None)
        if fabric is not None and silent:
            words = name.replace("_", "-")
            yield f"no {words} ports are stated, so none are counted, for: {', '.join(silent)}"


def _prices(lines: list[Line]) -> Iterator[str]:
    unpriced = [line.model for line in lines if line.price is None and line.purchased == 0]
    if unpriced:
        yield f"no price for what is installed already: {', '.join(unpriced)}"
    dear = [line for line in lines if line.price is None and line.purchased]
    if dear:
        names = ", ".join(f"{line.purchased:,} {line.model}" for line in dear)
        yield f"bought, but no price is known, so the cost leaves it out: {names}"
    weak = [line for line in lines if line.price is not None and line.price.confidence != "high"]
    if weak:
        parts = (f"{line.model} ({line.price.confidence})" for line in weak if line.price)
        yield f"prices are estimates, not quotes: {', '.join(parts)}"
    yield from _old_prices(lines)


def _price_notes(lines: list[Line]) -> Iterator[str]:
    """Yield what the price book says of each weak price that is paid."""
    for line in lines:
        price = line.price
        if price is not None and price.confidence != "high" and price.note and line.purchased:
            yield f"price of {line.model}: {price.note}"


def _old_prices(lines: list[Line]) -> Iterator[str]:
    """Name the prices that are older than half a year; bytes change on the day one becomes so."""
    day = today()
    dated: dict[str, list[str]] = {}
    for line in lines:
        if line.purchased and line.price is not None and is_old(line.price.date, day):
            dated.setdefault(line.price.date, []).append(line.model)
    if dated:
        parts = "; ".join(f"of {date}: {', '.join(names)}" for date, names in sorted(dated.items()))
        yield f"prices older than {OLD_MONTHS} months, to be asked for anew: {parts}"
    to_come = [
        f"{line.model} ({line.price.date})"
        for line in lines
        if line.purchased and line.price is not None and is_to_come(line.price.date, day)
    ]
    if to_come:
        yield f"prices of a day to come, to be looked at: {', '.join(to_come)}"
    expired = [
        f"{line.model} (until {line.price.valid_until})"
        for line in lines
        if line.purchased and line.price is not None and line.price.valid_until is not None
        and latest_day(line.price.valid_until) < day
    ]  # fmt: skip
    if expired:
        yield f"prices that are no longer good, to be asked for anew: {', '.join(expired)}"


def _unknown(lines: list[Line]) -> Iterator[str]:
    stated = ((name, row.figure.label) for name, row in STATED.items())
    for field, label in (("it_power_kw", "power draw"), *stated):
        missing = [line.model for line in lines if getattr(line, field) is None]
        if missing:
            yield f"{label} not known, so left out of the totals: {', '.join(missing)}"


def _figures(inputs: Inputs, operation: Run) -> Iterator[str]:
    for item in sorted(inputs.items, key=lambda item: item.id):
        if not operation.units.get(item.id):
            continue
        weak = [
            name
            for name in ("read", "write", "usable")
            if (figure := getattr(item.provides, name)) is not None and figure.confidence == "low"
        ]
        if item.consumes.it_power is not None and item.consumes.it_power.confidence == "low":
            weak.append("power")
        if weak:
            names = ", ".join(weak)
            yield f"{item.model}: weak sources for {names}; confirm before ordering"


def _repair_warnings(job: JobPlan, inputs: Inputs, case: Case, operation: Run) -> Iterator[str]:
    """What a reader of the time waited for repairs must know of it."""
    asked = inputs.problem.job.repair
    if job.repair is None or asked is None:
        return
    if job.repair.in_rack and job.repair.availability < BOUND_CLOSE_FROM:
        yield (
            f"the time waited for repairs, {1.0 - job.repair.availability:.1%}, is told too high: "
            "where spares stand in each rack the formula is close only up to 2 %"
        )
    if job.repair.shrunk is not None:
        yield from _shrinking(case, operation)
    if asked.unit == "tray" and job.repair.unit == "system":
        model = inputs.by_id[job.gpu_type].model
        yield f"whole systems of {model} are swapped: the catalog states no trays of it"


def _shrinking(case: Case, operation: Run) -> Iterator[str]:
    """What a reader of a job that goes on with fewer replicas must know."""
    yield (
        "fewer replicas go on where units are short: each with the batch it had, so the batch "
        "of a step is smaller meanwhile; stall, restore and rate are taken as with all of them"
    )
    off = off_by(case, operation)
    if off is None:
        yield (
            "so many units are out at once that the goodput is not worked out for each number of "
            "them: that of the formula may be off by more than 0.3 %"
        )
    elif abs(off) > CLOSE:
        words = "more than its goodput says: that is on the safe side"
        if off < 0.0:
            words = "less than its goodput says, which takes means of states that differ much"
        yield (
            "worked out for each number of units out and of replicas that run, the job keeps "
            f"{abs(off):.1%} {words}"
        )


def _beyond_the_term(inputs: Inputs, job: JobPlan) -> Iterator[str]:
    """Say where training ends after the years that the plan is paid for."""
    term, days = inputs.problem.term, job.days_to_train
    if term is None or days is None or days * 24.0 <= term.years * HOURS_PER_YEAR:
        return
    share = term.years * HOURS_PER_YEAR / (days * 24.0)
    yield (
        f"{job.name} trains in {days:,.0f} days, beyond the term of {term.years:g} years: "
        f"{share:.0%} of its tokens are trained by then; targets.max_days_to_train sets a time"
    )


def _lost_time(inputs: Inputs, job: JobPlan) -> Iterator[str]:
    """Name the lost time that nobody stated, and its worth."""
    if job.lost_time == 0.0 or "lost_time" in inputs.problem.job.model_fields_set:
        return
    worth = job.lost_time / (1.0 - job.lost_time)
    work = f"{job.useful_gpus * worth:,.0f} useful GPUs"
    if job.useful_pflops is not None:
        work = f"{job.useful_pflops * worth:,.0f} PFLOP/s"
    place = of_job("lost_time", job.name)
    yield (
        f"lost time besides failures of {100 * job.lost_time:g} % assumed, worth {work}; published "
        f"{100 * LOST_TIME.low:g} to {100 * LOST_TIME.high:g} %: set {place}"
    )


def _job(case: Case, job: JobPlan) -> Iterator[str]:
    outage = (job.restart_s + job.restore_s + job.interval_s / 2 + job.drain_s) / job.mtti_s
    if job.local is not None:
        outage = 1.0 - job.goodput_first_order / case.job.progress
    if outage > FIRST_ORDER_VALID_BELOW:
        yield (
            f"failures cost {outage:.0%} of the mean time between them; first-order formulas "
            f"would say goodput {job.goodput_first_order:.3f} instead of {job.goodput:.3f}"
        )
    apart = " of a restore" if job.client_data_limit_gb_per_s is not None else ""
    for side, limited in (("write", job.write_limited_by), ("read", job.read_limited_by)):
        if limited == "clients":
            of_what = apart if side == "read" else ""
            yield f"the GPU systems, not the appliances, limit {side} bandwidth{of_what}"
    needed = write_needed_gb_per_s(
        case.job, job.mode, job.to_storage_s, by_rule=case.rule is not None
    )
    if needed > FIELD_GB_PER_S:
        yield (
            f"checkpoints every {job.to_storage_s:.0f} s need {needed:.0f} GB/s; production "
            "systems were seen to use 50 to 200 GB/s"
        )
