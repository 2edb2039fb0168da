"""What else could be: other storage (counts, money, who wins), and the next step of GPU systems.

What everything else costs beside another storage is taken as stated: each such plan was computed
again as a whole when it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.figures import OBJECTIVES
from planner.schema.beside import OptionItem, StorageOption, StorageOptions
from planner.schema.catalog import Item
from planner.schema.plan import JobPlan, Plan
from planner.verifier.basis import Basis, Ledger, nameplate_gb_per_s
from planner.verifier.companions import count_companions
from planner.verifier.decisions import Decisions, find_clients
from planner.verifier.job import compute_figures
from planner.verifier.money import (
    discount_share,
    present_years,
    purchased,
    sale,
)
from planner.verifier.placement import shared_racks

_PAID_FOR = {
    "usd_per_useful_gpu_hour": "useful_gpus", "usd_per_million_tokens": "useful_pflops",
}  # fmt: skip
"""What an objective of money per work pays for."""
_ENOUGH = 1e-6
"""By which share a bandwidth may miss what is needed: tolerances of the search."""
_WITHIN = 0.005
"""How far behind the best, as a share, other storage may be; indifference if that is more."""
_PLACED = 1e-3
"""How far power may be off, as a share, where devices are not placed anew."""
_CENTS = 0.03
"""What rounding of net price, support and subscription can make of one unit in a year, USD."""


def check_options(ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan) -> None:
    """Check every option of a plan, and who is said to win.

    Args:
        basis: the problem, the catalogs and the prices.
    """
    found = plan.storage_options
    if found is None:
        return
    job, term = plan.jobs[0], basis.problem.term
    counted = "purchase" if term is None or plan.objective.name == "cost" else "term"
    ledger.equal("storage_options.counted", found.counted, counted)
    indifferent = plan.objective.indifference
    ledger.same("storage_options.within", found.within, max(_WITHIN, indifferent))
    ledger.same("storage_options.usable_tb", found.usable_tb, job.capacity_needed_tb)
    read = job.gpus_used * basis.problem.job.ingest_per_gpu_gb_per_s
    most_s = basis.problem.job.restore.max_time_s
    if most_s is not None:
        read = max(read, job.fan_out * job.checkpoint_gb / most_s)
    ledger.same("storage_options.read_gb_per_s", found.read_gb_per_s, read)
    ledger.require(
        [option.chosen for option in found.options].count(True) == 1,
        "storage_options: not one option is the plan's own",
    )
    for option in found.options:
        _check_option(ledger, basis, decisions, plan, option)
        _check_shortfall(ledger, basis, decisions, plan, option)
    _check_winner(ledger, found)


def _check_option(
    ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan, option: StorageOption
) -> None:
    found = plan.storage_options
    assert found is not None
    name = f"storage_options.{option.family}"
    job = plan.jobs[0]
    read = write = usable = 0.0
    for each in option.items:
        item = basis.items.get(each.sku)
        if item is None or item.category != "storage":
            ledger.fail(f"{name}: no storage item {each.sku}")
            return
        _check_item(ledger, basis, name, item, each)
        plates = nameplate_gb_per_s(item, each.units)
        read, write = read + plates[0], write + plates[1]
        figure = item.provides.usable
        usable += 0.0 if figure is None else figure.value * each.units
    ledger.same(f"{name}.read_gb_per_s", option.read_gb_per_s, read)
    ledger.same(f"{name}.write_gb_per_s", option.write_gb_per_s, write)
    ledger.same(f"{name}.usable_tb", option.usable_tb, usable)
    families = sorted({str(basis.items[each.sku].family) for each in option.items})
    ledger.equal(f"{name}.family", option.family, " and ".join(families))
    _check_needs(ledger, basis, name, job, found, option)
    if option.chosen:
        _check_own(ledger, plan, name, option, decisions)
    _check_money(ledger, basis, name, found, option)


def _check_item(ledger: Ledger, basis: Basis, name: str, item: Item, each: OptionItem) -> None:
    price = basis.prices.get(item.id)
    ledger.equal(f"{name}.{item.id}.model", each.model, item.model)
    ledger.equal(f"{name}.{item.id}.vendor", each.vendor, item.vendor)
    ledger.equal(f"{name}.{item.id}.purchased", each.purchased, purchased(basis, item, each.units))
    ends = (None, None) if price is None else price.range_usd
    ledger.same(
        f"{name}.{item.id}.unit_list_usd",
        each.unit_list_usd,
        None if price is None else price.list_usd,
    )
    ledger.same(f"{name}.{item.id}.unit_low_usd", each.unit_low_usd, ends[0])
    ledger.same(f"{name}.{item.id}.unit_high_usd", each.unit_high_usd, ends[1])
    for side, stated in (("read", each.read_basis), ("write", each.write_basis)):
        figure = getattr(item.provides, side) if item.sizes is None else item.sizes
        kind = "nameplate" if figure is None or figure.basis is None else figure.basis
        if kind == "measured" and figure.benchmark is not None:
            kind = f"measured ({figure.benchmark})"
        ledger.equal(f"{name}.{item.id}.{side}_basis", stated, kind)


def _check_needs(
    ledger: Ledger,
    basis: Basis,
    name: str,
    job: JobPlan,
    found: StorageOptions,
    option: StorageOption,
) -> None:
    """Check that an option has what it needs at its own interval."""
    checkpoint = basis.problem.job.checkpoint
    share = checkpoint.max_blocking if job.mode == "sync" else checkpoint.max_overlap
    if job.mode == "async" and basis.problem.storage.rule != "demand":
        share = 1.0
    goes_s = option.interval_s * max(1, option.every)  # each so many-th local one goes to storage
    needed = job.checkpoint_gb / (goes_s * share) if goes_s > 0 else -1.0
    ledger.same(f"{name}.write_needed_gb_per_s", option.write_needed_gb_per_s, needed)
    delivered = basis.problem.storage.delivered_fraction
    for what, has, asked in (
        ("write bandwidth", delivered.write * option.write_gb_per_s, needed),
        ("read bandwidth", delivered.read * option.read_gb_per_s, found.read_gb_per_s),
        ("capacity", option.usable_tb, found.usable_tb),
    ):
        fewer = option.fewer_systems > 0 and what != "capacity"  # which need a little less
        ledger.require(fewer or has >= asked * (1 - _ENOUGH), f"{name}: too little {what}")
    ledger.require(
        0.0 <= option.shortfall <= found.within + _ENOUGH or option.chosen,
        f"{name}.shortfall: {option.shortfall} is not within {found.within}",
    )


def _check_shortfall(
    ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan, option: StorageOption
) -> None:
    """Run the job on an option and compare how far behind the bound it is, where work counts."""
    goal, name = plan.objective, f"storage_options.{option.family}.shortfall"
    if goal.name not in OBJECTIVES:
        ledger.fail(f"{name}: no such objective as {goal.name!r}")
        return
    asked = OBJECTIVES[goal.name]
    per_work = _PAID_FOR.get(goal.name)
    if asked.figure.money and per_work is None:
        ledger.same(name, option.shortfall, 0.0)
    known = {each.sku: each.units for each in option.items if each.sku in basis.items}
    best = goal.bound if per_work is None else getattr(plan.jobs[0], per_work)
    measured = per_work is not None or asked.sense == "maximize"
    if best is None or option.fewer_systems or not measured:
        return
    systems = {
        sku: count for sku, count in decisions.counts.items()
        if basis.items[sku].category == "gpu_system"
    }  # fmt: skip
    families = tuple(sorted({str(basis.items[sku].family) for sku in known}))
    changed = replace(
        decisions,
        counts={**systems, **known},
        families=families,
        interval_s=option.interval_s,
        every=option.every,
    )
    plates = [nameplate_gb_per_s(basis.items[sku], units) for sku, units in known.items()]
    if not plates or not all(read > 0 and write > 0 for read, write in plates):
        ledger.fail(f"{name}: the job cannot run on it")
        return
    figure = per_work or asked.figure.name
    value = _work(ledger, basis, changed, figure, plan.jobs[0], name)
    if value is None:
        return
    behind = max(0.0, best - value) / max(abs(best), 1e-12)
    ledger.require(
        abs(option.shortfall - behind) <= _ENOUGH,
        f"{name}: the plan says {option.shortfall:.12g}, computed {behind:.12g}",
    )


def _work(
    ledger: Ledger, basis: Basis, decisions: Decisions, figure: str, job: JobPlan, name: str
) -> float | None:
    """Return a figure of the job on other decisions, which must let it run; GPUs in use of none."""
    clients = find_clients(Ledger(), basis, decisions, job)
    if clients is None or decisions.interval_s <= 0:
        ledger.fail(f"{name}: the job cannot run on it")
        return None
    figures, _ = compute_figures(basis, decisions, clients)
    value: float | None = getattr(figures, figure, float(decisions.gpus_used))
    if value is None:
        ledger.fail(f"{name}: the job's work is not known")
    return value


def check_next_step(ledger: Ledger, basis: Basis, decisions: Decisions, plan: Plan) -> None:
    """Run the job on the systems of the next step, and count the power that they would take.

    Racks that network devices share are not placed anew, so power is compared to a thousandth,
    and of money and room only that it is more than the limit allows.

    Args:
        basis: the problem, the catalogs and the prices.
    """
    step, name = plan.next_step, "next_step"
    if step is None:
        return
    now = decisions.counts.get(step.sku, 0)
    if not now or step.systems < 1 or step.gpus < 1 or plan.objective.name not in OBJECTIVES:
        ledger.fail(f"{name}: {step.systems} more of {step.sku} are no step of the plan")
        return
    counts = {**decisions.counts, step.sku: now + step.systems}
    then = replace(
        decisions,
        counts=counts,
        standing=basis.standing(counts),
        gpus_used=decisions.gpus_used + step.gpus,
        systems_used=decisions.systems_used + step.systems,
        interval_s=step.interval_s,
        every=step.every,
    )
    ledger.equal(f"{name}.every", bool(step.every), bool(decisions.every))
    spread = plan.jobs[0].systems_by_type
    if spread:
        spread = {**spread, step.sku: spread.get(step.sku, 0) + step.systems}
    job = plan.jobs[0].model_copy(update={"systems_by_type": spread})
    figure = OBJECTIVES[plan.objective.name].figure.name
    value = _work(ledger, basis, then, figure, job, name)
    if value is not None:
        ledger.require(
            abs(step.value - value) <= _ENOUGH * abs(value),
            f"{name}.value: the plan says {step.value:.12g}, computed {value:.12g}",
        )
    limits = {limit.name: limit for limit in plan.limits}
    for need in step.needs:
        limit = limits.get(need.name)
        if limit is None or limit.sense == ">=" or not need.value > limit.limit == need.limit:
            ledger.fail(f"{name}.{need.name}: {need.value:.12g} is within what the plan may take")
    _check_power(ledger, basis, then, plan)


def _check_power(ledger: Ledger, basis: Basis, then: Decisions, plan: Plan) -> None:
    companions = count_companions(basis, then.counts, shared_racks(basis, plan))
    counts = {**then.standing, **companions.counts}
    items = [(basis.items[sku], count) for sku, count in counts.items() if count > 0]
    drawn_kw = {item.id: basis.drawn_kw(item) for item, _ in items}
    if None in drawn_kw.values():
        return
    sums = {
        "it_power": sum((drawn_kw[item.id] or 0.0) * n for item, n in items),
        "facility_power": sum(
            (drawn_kw[item.id] or 0.0) * n * basis.pue(item) for item, n in items
        ),
    }
    stated = {need.name: need.value for need in plan.next_step.needs} if plan.next_step else {}
    for name, computed in sums.items():
        if name in stated:
            ledger.require(
                abs(stated[name] - computed) <= _PLACED * computed,
                f"next_step.{name}: the plan says {stated[name]:.12g}, computed {computed:.12g}",
            )


def _check_own(
    ledger: Ledger, plan: Plan, name: str, option: StorageOption, decisions: Decisions
) -> None:
    lines = {
        line.sku: line.working
        for line in plan.lines
        if line.section == "Storage" and line.parent is None and line.working
    }
    ledger.equal(f"{name}.items", {each.sku: each.units for each in option.items}, lines)
    ledger.equal(f"{name}.fewer_systems", option.fewer_systems, 0)
    ledger.same(f"{name}.beside_usd", option.beside_usd, 0.0)
    ledger.same(f"{name}.interval_s", option.interval_s, decisions.interval_s)
    ledger.equal(f"{name}.every", option.every, decisions.every)


def _unit_usd(basis: Basis, item: Item, counted: str, list_usd: float, yearly_usd: float) -> float:
    """Return what a unit comes to at a list price and a subscription, USD; cents aside."""
    price, term = basis.prices.get(item.id), basis.problem.term
    if price is None:
        return 0.0
    paid = 1.0 - discount_share(basis, item)
    net = list_usd * paid
    if counted == "purchase" or term is None:
        return net
    sold = sale(basis, item)
    support = sold.support
    each_year = 0.0
    if support is not None:
        share = getattr(support, "share", None)
        each_year = share * net if share is not None else support.usd  # type: ignore[union-attr]
    rate = term.discount_rate
    return (
        net
        + each_year * sold.support_counts
        + yearly_usd * paid * present_years(0.0, term.years, rate)
    )


def _check_money(
    ledger: Ledger, basis: Basis, name: str, found: StorageOptions, option: StorageOption
) -> None:
    sums = {"low_usd": 0.0, "list_usd": 0.0, "high_usd": 0.0}
    loose = 0.0
    for each in option.items:
        price = basis.prices.get(each.sku)
        if price is None:
            continue
        item, (low, high) = basis.items[each.sku], price.range_usd
        least, most = price.per_year_range_usd
        ends = ((low, least), (price.list_usd, price.per_year_usd or 0.0), (high, most))
        for field, (usd, yearly) in zip(sums, ends, strict=True):
            unit = _unit_usd(basis, item, found.counted, usd, yearly)
            sums[field] += each.purchased * unit
        term = basis.problem.term
        loose += each.purchased * _CENTS * (1.0 if term is None else 1.0 + term.years)
    for field, usd in sums.items():
        stated = getattr(option, field)
        ledger.require(
            abs(stated - usd) <= loose + 1e-9 * abs(usd),
            f"{name}.{field}: the plan says {stated:.12g}, computed {usd:.12g}",
        )
    rivals = _rivals(option, found.options)
    at_list = [each.list_usd + each.beside_usd for each in rivals]
    at_low = [each.low_usd + each.beside_usd for each in rivals]
    for field, amounts in (("even_usd", at_list), ("sure_usd", at_low)):
        asked = getattr(option, field)
        if asked is None:
            continue
        ledger.require(bool(rivals) and len(option.items) == 1, f"{name}.{field}: of no meaning")
        if rivals:
            sku = option.items[0].sku
            yearly = basis.prices[sku].per_year_usd or 0.0
            unit = _unit_usd(basis, basis.items[sku], found.counted, asked, yearly)
            reached = option.items[0].purchased * unit + option.beside_usd
            ledger.require(
                abs(reached - min(amounts)) <= 2.0 * loose + 1e-9 * abs(reached),
                f"{name}.{field}: at {asked:.12g} it comes to {reached:.12g}",
            )


def _vendors(option: StorageOption) -> set[str]:
    return {each.vendor for each in option.items}


def _rivals(own: StorageOption, options: Sequence[StorageOption]) -> list[StorageOption]:
    return [each for each in options if _vendors(each) != _vendors(own)]


def _check_winner(ledger: Ledger, found: StorageOptions) -> None:
    """Check who is the choice over the whole range of prices, and whose quote settles it."""
    winners = set()
    for own in found.options:
        worst = own.high_usd + own.beside_usd
        rivals = _rivals(own, found.options)
        if rivals and not [r for r in rivals if r.low_usd + r.beside_usd < worst]:
            winners.add(" and ".join(sorted(_vendors(own))))
    if found.choice is None or not winners:
        ledger.require(
            found.choice is None and not winners, f"storage_options.choice: {found.choice}"
        )
    else:
        ledger.require(found.choice in winners, f"storage_options.choice: {found.choice}")
    settle = set()
    for option in found.options if found.choice is None else ():
        each = option.items[0]
        if option.sure_usd is not None and each.unit_low_usd is not None:
            if each.unit_low_usd <= option.sure_usd:
                settle.add(each.sku)
    ledger.equal("storage_options.settled_by", set(found.settled_by), settle)
