"""Notes of a plan: cautions on prices, rates, repairs, fabrics, storage and the bill."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from planner.case import Case, figures, suitability
from planner.case.bandwidth import write_needed_gb_per_s
from planner.case.fabrics import WORDS
from planner.case.model import Fabric
from planner.case.quantities import total
from planner.case.ways import ASSUMED, FULL, choices_on
from planner.figures import STATED
from planner.inputs import Inputs, needs
from planner.loader.prices import OLD_MONTHS, is_old, is_to_come, latest_day, today
from planner.optimizer.bill import bill
from planner.optimizer.operate import Run
from planner.paths import of_job
from planner.plan.ways import is_stated, ways_in_use
from planner.schema.layout import FabricReport
from planner.schema.operation import JobPlan
from planner.schema.plan import Line
from planner.sizing.fabric import FabricSize, PortDesign, compute_sizes, port_sizes
from planner.sizing.facility import HOURS_PER_YEAR
from planner.sizing.goodput import FIRST_ORDER_VALID_BELOW, LOST_TIME

BOUND_CLOSE_FROM = 0.98
"""Availability from which on the bound is close where spares stand in each rack."""
FULL_FROM = 0.98
"""Share of its capacity from which on the largest fabric limits a plan."""
NETWORK_SHARE = (0.07, 0.13)
STORAGE_SHARE = (0.01, 0.05)
"""Usual shares of capex; in a gigawatt hall 13 % and 1 to 1.5 % (Bernstein, 2025)."""
SUPPORT_SHARE = 0.12
"""Support per year, as a share of capex, above which it is pointed out."""
FIELD_GB_PER_S = 200.0
"""Upper end of the global checkpoint bandwidth seen in production (checkpoint survey, 2025)."""
FAR_FROM_MEASURED = 2.0
"""GPUs in use over the GPUs of a measurement above which a scale law is missed."""


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
        _hours_of_types,
        _beyond_the_term,
        _largest_fabrics,
        _named_but_unavailable,
        _prices,
        _rates,
        _lost_time,
        _support,
        _rent,
        _failures,
        _checkpoint_bandwidth,
        _weak_sources,
        _repairs,
        _idle_systems,
        _without_drives,
        _preference,
        _unusual_shares,
        _manager_links,
        _endurance,
        _missing_figures,
        _lead_times,
        _liquid,
        _ports,
        _incomplete_items,
        _price_notes,
    )
    return (*facts.inputs.warnings, *(text for group in groups for text in group(facts)))


# Objective, job and rates.


def _hours_of_types(facts: Facts) -> Iterator[str]:
    types = len(facts.case.systems)
    if facts.case.objective == "usd_per_useful_gpu_hour" and types > 1:
        yield (
            f"GPU-hours of different types are not comparable, and {types} types are "
            "on offer: minimize usd_per_million_tokens compares them by useful work"
        )


def _beyond_the_term(facts: Facts) -> Iterator[str]:
    term, days, name = facts.inputs.problem.term, facts.job.days_to_train, facts.job.name
    if term is None or days is None or days * 24.0 <= term.years * HOURS_PER_YEAR:
        return
    share = term.years * HOURS_PER_YEAR / (days * 24.0)
    yield (
        f"{name} trains in {days:,.0f} days, beyond the term of {term.years:g} years: "
        f"{share:.0%} of its tokens are trained by then; targets.max_days_to_train sets a time"
    )


def _rates(facts: Facts) -> Iterator[str]:
    """Uncertainty of the training rate and of power set points."""
    inputs, run = facts.inputs, facts.run
    job = inputs.problem.job
    types = len(facts.case.systems)
    if job.training.mfu is not None and types > 1 and needs(inputs.problem, "rate"):
        yield (
            f"MFU of {100.0 * job.training.mfu:g} % assumed for {types} GPU types; set "
            f"{of_job('training.model', job.name)} to use measured rates"
        )
    if not is_stated(inputs):
        return
    for system, choice in ways_in_use(inputs, facts.case, run):
        row, model = choice.measured, facts.model(system.id)
        if row is not None and row.source == ASSUMED:
            yield f"the rate of {model} is assumed: {row.note}"
            continue
        unscaled = row is not None and job.training.scale is None
        if row is not None and unscaled and run.gpus > FAR_FROM_MEASURED * row.gpus:
            yield (
                f"the rate of {model} was measured on {row.gpus:,} GPUs and counts for "
                f"{run.gpus:,} as it is; "
                f"{of_job('training.scale', job.name)} takes off what scale costs"
            )
        if choice.point is not FULL and choice.point.confidence == "low":
            yield f"the power curve of {model} has low confidence: see its range and source"
    if job.power is not None and job.power.asked != (1.0,):
        yield from _without_curve(facts)


def _without_curve(facts: Facts) -> Iterator[str]:
    inputs = facts.inputs
    names = [
        facts.model(system.id)
        for system in facts.case.systems
        if all(each.point is FULL for each in choices_on(inputs.item(system.id), inputs))
    ]
    if names:
        yield (
            f"no power curve is known for {', '.join(names)}: at full power only; "
            f"a catalog takes one (power_points)"
        )


def _lost_time(facts: Facts) -> Iterator[str]:
    """Lost time that nobody stated, and the work it takes."""
    job = facts.job
    if job.lost_time == 0.0 or "lost_time" in facts.inputs.problem.job.model_fields_set:
        return
    lost = job.lost_time / (1.0 - job.lost_time)
    work = f"{job.useful_gpus * lost:,.0f} useful GPUs"
    if job.useful_pflops is not None:
        work = f"{job.useful_pflops * lost:,.0f} PFLOP/s"
    yield (
        f"lost time besides failures of {100 * job.lost_time:g} % assumed, worth {work}; published "
        f"{100 * LOST_TIME.low:g} to {100 * LOST_TIME.high:g} %: set "
        f"{of_job('lost_time', job.name)}"
    )


def _failures(facts: Facts) -> Iterator[str]:
    job = facts.job
    outage = (job.restart_s + job.restore_s + job.interval_s / 2 + job.drain_s) / job.mtti_s
    if job.local is not None:
        outage = 1.0 - job.goodput_first_order / facts.case.job.progress
    if outage > FIRST_ORDER_VALID_BELOW:
        yield (
            f"failures cost {outage:.0%} of the mean time between them; first-order formulas "
            f"would say goodput {job.goodput_first_order:.3f} instead of {job.goodput:.3f}"
        )


def _checkpoint_bandwidth(facts: Facts) -> Iterator[str]:
    job, case = facts.job, facts.case
    if job.write_limited_by == "clients":
        yield "the GPU systems, not the appliances, limit write bandwidth"
    if job.read_limited_by == "clients":
        yield "the GPU systems, not the appliances, limit read bandwidth"
    by_rule = case.rule is not None
    demand = write_needed_gb_per_s(case.job, job.mode, job.to_storage_s, by_rule=by_rule)
    if demand > FIELD_GB_PER_S:
        yield (
            f"checkpoints every {job.to_storage_s:.0f} s need {demand:.0f} GB/s; production "
            "systems were seen to use 50 to 200 GB/s"
        )


def _repairs(facts: Facts) -> Iterator[str]:
    repair, stated = facts.job.repair, facts.inputs.problem.job.repair
    if repair is None or stated is None:
        return
    if repair.in_rack and repair.availability < BOUND_CLOSE_FROM:
        yield (
            f"repair wait of {1.0 - repair.availability:.1%} is overestimated: "
            "with spares in each rack the formula is accurate only up to 2 %"
        )
    if repair.shrunk is not None:
        yield (
            "fewer replicas go on where units are short: each with the batch it had, so the batch "
            "of a step is smaller meanwhile; stall, restore and rate are taken as with all of them"
        )
    if stated.unit == "tray" and repair.unit == "system":
        model = facts.model(facts.job.gpu_type)
        yield f"repair unit is the whole {model} (catalog lists no trays)"


# Fabrics.


def _largest_fabrics(facts: Facts) -> Iterator[str]:
    """Fabrics that limit a plan because their switches make no larger one."""
    values = bill(facts.case, facts.run.units, facts.run.ways).counts
    for fabric in facts.case.companions.fabrics:
        if not fabric.sizes or fabric.network == "out_of_band":
            continue
        most = fabric.sizes[-1].capacity
        if total(fabric.amount, values) <= FULL_FROM * most:
            continue
        if _sizes(facts.inputs, fabric, most + 1)[-1].capacity > most:
            continue
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


def _sizes(inputs: Inputs, fabric: Fabric, amount: int) -> tuple[FabricSize, ...]:
    """Every size of a fabric, at its oversubscription, up to an amount."""
    ratio = fabric.oversubscription
    if fabric.design is not None:
        return compute_sizes(replace(fabric.design, oversubscription=ratio), amount)
    network = inputs.problem.network
    named = network.in_band if fabric.network == "in_band" else network.storage
    least = 2 if named is None else named.min_switches
    return port_sizes(PortDesign(fabric.radix, fabric.parts_per_port, ratio, least), amount)


def _manager_links(facts: Facts) -> Iterator[str]:
    """A fabric manager on ports that link no slower ones, with ports that nobody states."""
    values, known = (
        bill(facts.case, facts.run.units, facts.run.ways).counts,
        facts.inputs.by_id,
    )
    for fabric in facts.case.companions.fabrics:
        switch = known[fabric.switch].switch
        if fabric.design is None or not fabric.design.manager_ports or switch is None:
            continue
        lowest = {group.slowest_gbit_per_s for group in switch.ports if group.count == fabric.radix}
        if None not in lowest and total(fabric.amount, values):
            yield (
                f"the {fabric.design.manager_ports} links of the fabric manager are counted like "
                f"all others, but ports of {known[fabric.switch].model} link none below "
                f"{max(filter(None, lowest)):g} Gb/s: ask the vendor which modules connect it "
                "(network.compute.manager)"
            )


def _ports(facts: Facts) -> Iterator[str]:
    """Items that the fabrics do not connect because nobody states their ports."""
    network, known = facts.inputs.problem.network, facts.inputs.by_id
    chosen = [known[line.sku] for line in facts.lines if line.section in ("Compute", "Storage")]
    for name in ("storage", "in_band", "out_of_band"):
        silent = [item.model for item in chosen if getattr(item.ports, name) is None]
        fabric = getattr(network, name) or (network.converged if name == "in_band" else None)
        if fabric is not None and silent:
            words = name.replace("_", "-")
            yield f"{words} ports missing from the catalog, counted as 0: {', '.join(silent)}"


# The purchase.


def _idle_systems(facts: Facts) -> Iterator[str]:
    run, job = facts.run, facts.case.job
    for system in facts.case.systems:
        used = run.used.get(system.id, 0)
        idle = run.units[system.id] - used - job.hot(used)
        if used and job.repair is not None:  # they stand by, unless fewer are asked for
            idle -= job.spare_systems(system.way(run.ways), used)
        if idle == 1:
            yield f"1 system of {facts.model(system.id)} is idle: the job does not use it"
        elif idle > 1:
            yield (
                f"{idle} systems of {facts.model(system.id)} are idle: the job does not use them"
            )


def _without_drives(facts: Facts) -> Iterator[str]:
    """GPU types on which the local level was not tried, for want of figures."""
    without = [facts.model(s.id) for s in facts.case.systems if s.ways[0].drives is None]
    if facts.inputs.problem.job.levels is not None and without:
        yield (
            f"the local level of checkpoints was not tried on {', '.join(without)}: missing in "
            "the catalog: local.write, local.capacity"
        )


def _preference(facts: Facts) -> Iterator[str]:
    policy = facts.case.policy
    if policy.disliked:
        yield (
            f"up to {100 * policy.within:.3g} % of the objective may go for units of preferred "
            "vendors (policy.prefer)"
        )


def _unusual_shares(facts: Facts) -> Iterator[str]:
    """Shares of network and storage in capex that a reader would wonder about."""
    spent = {line.section: 0.0 for line in facts.lines}
    for line in facts.lines:
        spent[line.section] += line.extended_net_usd or 0.0
    capex, job = sum(spent.values()), facts.job
    if capex == 0 or not facts.fabrics:
        return
    network = (spent.get("Network", 0.0) + spent.get("Optics & cables", 0.0)) / capex
    compute = next((fabric for fabric in facts.fabrics if fabric.network == "compute"), None)
    if compute is not None and not NETWORK_SHARE[0] <= network <= NETWORK_SHARE[1]:
        used = compute.endpoints / compute.capacity
        yield (
            f"network and optics are {network:.0%} of capex, where about a tenth is usual: the "
            f"compute fabric has {compute.tiers} tier{'s' if compute.tiers > 1 else ''} and is "
            f"{used:.0%} full, at {compute.oversubscription:g}:1"
        )
    storage = spent.get("Storage", 0.0) / capex
    bought = any(line.section == "Storage" and line.purchased for line in facts.lines)
    if bought and not STORAGE_SHARE[0] <= storage <= STORAGE_SHARE[1]:
        yield (
            f"storage is {storage:.1%} of capex, where 1 to 5 % is usual: the job asks for "
            f"{job.checkpoint_gb / 1000:.3g} TB every {job.to_storage_s:.0f} s and "
            f"{job.capacity_needed_tb:.0f} TB of room"
        )


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


# Prices, support and lead times.


def _prices(facts: Facts) -> Iterator[str]:
    lines = facts.lines
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
    yield from _price_dates(lines)


def _price_dates(lines: list[Line]) -> Iterator[str]:
    """Stale, future and expired prices; they depend on the day of the plan."""
    day = today()
    stale: dict[str, list[str]] = {}
    future, expired = [], []
    for line in lines:
        price = line.price
        if not line.purchased or price is None:
            continue
        if is_old(price.date, day):
            stale.setdefault(price.date, []).append(line.model)
        if is_to_come(price.date, day):
            future.append(f"{line.model} ({price.date})")
        if price.valid_until is not None and latest_day(price.valid_until) < day:
            expired.append(f"{line.model} (until {price.valid_until})")
    if stale:
        parts = "; ".join(f"of {date}: {', '.join(names)}" for date, names in sorted(stale.items()))
        yield f"stale prices (over {OLD_MONTHS} months), request new quotes: {parts}"
    if future:
        yield f"prices with a future date, to be checked: {', '.join(future)}"
    if expired:
        yield f"expired quotes: {', '.join(expired)}"


def _price_notes(facts: Facts) -> Iterator[str]:
    for line in facts.lines:
        price = line.price
        if price is not None and price.confidence != "high" and price.note and line.purchased:
            yield f"price of {line.model}: {price.note}"


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
        money, ends = facts.inputs.problem.shown_in, [0.0, 0.0]
        for line in (line for line in lines if line.sku in prices and line.unit_net_usd):
            span = prices[line.sku].support_range_usd(line.unit_net_usd or 0.0)
            ends = [sum_ + end * line.purchased for sum_, end in zip(ends, span, strict=True)]
        low, high = (_millions(money.of(end)) for end in ends)
        yield (
            f"support is {_millions(money.of(support))} M{money.code} a year, "
            f"{support / capex:.0%} of capex ({low} to {high} M{money.code} by source); "
            f"{share:.0%} of it is for {most.model}: ask for a quote"
        )


def _millions(amount: float) -> str:
    return f"{amount / 1e6:,.1f}" if amount >= 1e6 else f"{amount / 1e6:.2g}"


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


def _lead_times(facts: Facts) -> Iterator[str]:
    unknown = [line.model for line in facts.lines if line.purchased and line.lead_time_days is None]
    stated = any(line.lead_time_days is not None for line in facts.lines)
    if unknown and stated:
        shown = ", ".join(unknown[:4]) + (f" and {len(unknown) - 4} more" if unknown[4:] else "")
        yield f"no lead time is stated for {shown}; the longest one leaves them out"


# Catalog items.


def _named_but_unavailable(facts: Facts) -> Iterator[str]:
    """GPU systems that the problem names and cannot have, figures not missing."""
    named = facts.inputs.problem.consider.gpu_systems or ()
    for item in facts.inputs.items:
        if item.id in named and suitability.lacking(item, facts.inputs) is None:
            reason = suitability.why_not(item, facts.inputs)
            if reason is not None:
                yield f"{item.model} is to be considered and was not: {reason}"


def _incomplete_items(facts: Facts) -> Iterator[str]:
    models: dict[str, list[str]] = {}
    for item in facts.inputs.items:
        offered = item.category in ("gpu_system", "storage")
        lacking = suitability.lacking(item, facts.inputs) if offered else None
        if lacking is not None:
            models.setdefault(lacking, []).append(item.model)
    if models:
        parts = (f"{', '.join(names)} ({lacking})" for lacking, names in models.items())
        listed = "planner catalog --incomplete"
        yield f"known, but cannot be planned here ({listed}): {'; '.join(parts)}"


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
