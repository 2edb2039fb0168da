"""The screen of a plan: figures, purchase, limits as bars, answer, notes; further parts on request.

A plan without a purchase shows why there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence

from planner.currency import amount, bare, currency_among
from planner.figures import FIGURES, OBJECTIVES, objective_label
from planner.limits import SUPPLIES, of_group
from planner.report import formats as fmt
from planner.report.blocks import (
    Bar,
    BarList,
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    Tiles,
    figures,
    notes_block,
    read_values,
    words,
)
from planner.report.edition import (
    CORE_SECTIONS,
    HIDDEN_OBJECTIVE,
    can_run_short,
    in_currency,
    own_lines,
    part_number,
)
from planner.report.screen import show
from planner.schema.operation import JobPlan
from planner.schema.plan import (
    UNDECIDED,
    Infeasibility,
    LimitReport,
    Line,
    NextStep,
    Plan,
    Step,
    StorageOption,
    StorageOptions,
    Totals,
)
from planner.terminal import width

PARTS = ("lines", "notes", "proof")
"""Parts that may follow the first screen."""

_LABEL_WIDTH = 16
_TILES = (
    "useful_pflops",
    "useful_gpus",
    "gpus_used",
    "goodput",
    "capex_usd",
    "facility_power_kw",
    "days_to_train",
    "tco_usd",
    "racks",
    "delivered_write_gb_per_s",
    "interval_s",
    "usable_tb",
    "restore_s",
)
_MOST_TILES, _MOST_LIMITS, _MOST_NOTES = 5, 6, 3
_FAR = 0.9
"""Below this used share a binding limit says why it binds."""


def render(plan: Plan, parts: Collection[str] = (), *, styled: bool = False) -> str:
    """The first screen, and after it the requested parts.

    Args:
        plan: the plan; of one that buys nothing everything is shown.
        parts: further parts to show, of ``PARTS``.
        styled: with escape sequences for colours.
    """
    plan = in_currency(plan)
    if plan.totals is None or not plan.jobs:
        return show(no_plan(plan), full=True, styled=styled)
    text = show(_screen(plan, plan.totals, plan.jobs[0], parts), styled=styled)
    more = [block for part in PARTS if part in parts for block in _part(part, plan)]
    return f"{text}\n{show(more, full=True, styled=styled)}" if more else text


def headline(plan: Plan) -> str:
    """The problem with its scenario, and the quality of the plan."""
    scenario = plan.provenance.scenario
    name = plan.problem if scenario is None else f"{plan.problem}, scenario {scenario}"
    return f"{name}  ({status(plan)})"


def status(plan: Plan) -> str:
    """The quality of a plan: faults, or its proof and the distance from the best."""
    best, goal = fmt.STATUS_WORDS[plan.status], plan.objective
    against = [text for code, text in plan.verdict.items() if code != "search"]
    cut = [text for code, text in plan.verdict.items() if code == "search"]
    if against:
        unproven = [] if plan.status == "optimal" else [best]
        faults = [*unproven, *against, *(cut if not unproven else [])]
        return f"not to be built: {'; '.join(faults)}"
    if cut and plan.status == "optimal":
        return f"{OBJECTIVES[goal.name].label} proven, not the cost: {cut[0]}"
    if (
        plan.status != "optimal"
        or not fmt.has_near_optimal_loss(goal)
        or goal.near_optimal_loss is None
    ):
        return best
    side = "below" if goal.sense == "maximize" else "above"
    value = "" if goal.best is None else f" of {fmt.amount_of(goal.name, goal.best)}"
    return f"{fmt.gap(goal.near_optimal_loss)} {side} the {best}{value}"


# No plan.


def no_plan(plan: Plan) -> list[Block]:
    """The reasons for no plan, as blocks."""
    found, title = plan.infeasibility, Heading(headline(plan))
    return [title, *([Text((plan.message or "",))] if found is None else _reasons(found))]


def _reasons(found: Infeasibility) -> Iterator[Block]:
    """Yield conflicting constraints, and the changes that give a plan."""
    yield Text(found.reasons)
    for conflict in found.conflicts:
        title = "Conflicting constraints (minimal set; each is feasible without the others)"
        title = title if len(conflict) > 1 else "Infeasible constraint, whatever is bought"
        yield Text(tuple(limit.in_words for limit in conflict), title, points=True)
    title = "Each of these changes gives a plan"
    title = title if len(found.changes) > 1 else "This change gives a plan"
    yield Text(tuple(map(_change, found.changes)), title, points=True)
    both = found.combined
    if both is not None:
        title = "Smallest combined change that gives a plan"
        yield Text(tuple(map(_change, both.steps)), title, points=True)
        text = "sum of changes, each as a share of its limit: "
        bound = f"proven lower bound {fmt.percent(both.bound)}"
        yield Text((f"{text}{fmt.percent(both.share)}; {bound}",))
    if found.undecided:
        yield Text((f"{UNDECIDED}: {', '.join(found.undecided)}",))


def _change(step: Step) -> str:
    if step.value is not None:
        return step.in_words
    return f"{step.in_words}: {' '.join(f'--set {setting!r}' for setting in step.settings)}"


# First screen.


def _screen(plan: Plan, totals: Totals, job: JobPlan, parts: Collection[str]) -> list[Block]:
    rows = [(label, text) for label, text in answer_lines(plan, totals, job) if text]
    notes = [*idle_texts(plan), *plan.warnings]
    if "notes" not in parts:
        room = width() - _LABEL_WIDTH
        rows += [
            ("" if at else "Notes", f"- {fmt.cut_text(' '.join(text.split()), room)}")
            for at, text in enumerate(notes[:_MOST_NOTES])
        ]
    rows += [("More", _more_options(len(notes), parts))]
    return [
        Heading(headline(plan)),
        Tiles(tuple(tiles(totals, job, _MOST_TILES))),
        _purchase(plan, totals),
        limit_bars(plan, _MOST_LIMITS),
        Facts(tuple(rows)),
    ]


def tiles(totals: Totals, job: JobPlan, most: int) -> list[tuple[str, str]]:
    """The main figures of a plan, each with its label."""
    found = []
    for name in _TILES:
        value = getattr(job, name, None) or getattr(totals, name, None)
        if value is None or (name == "useful_gpus" and job.useful_pflops is not None):
            continue
        unit, label = FIGURES[name].unit, FIGURES[name].label
        text = fmt.tile_text(value, unit)
        found.append((text.removesuffix(f" {unit}") if unit in label else text, label))
    return found[:most]


def _purchase(plan: Plan, totals: Totals) -> Table:
    """The purchase, a line for each section beyond GPUs and storage."""
    lines = own_lines(plan)
    shown = fmt.result_scale([line.extended_net_usd for line in lines] + [totals.capex_usd], "USD")
    rows: list[tuple[str, ...]] = []
    for section in dict.fromkeys(line.section for line in lines):
        there = [line for line in lines if line.section == section]
        if section in CORE_SECTIONS:
            rows += [_line(line, shown.text(line.extended_net_usd)) for line in there]
            continue
        cost = _sum([line.extended_net_usd if line.purchased else 0.0 for line in there])
        kw = _sum([line.it_power_kw for line in there])
        count = f"{section}: {fmt.count_noun(len(there), 'item')}"
        yearly = sum(line.subscription_usd_per_year or 0.0 for line in there)
        price = f"{fmt.money(yearly)}/year" if cost == 0.0 and yearly else shown.text(cost)
        rows.append(("", count, price, fmt.number(kw), ""))
    units, items, prices, kws, leads = zip(*rows, strict=True) if rows else [()] * 5
    return Table(
        "Buy" if any(line.purchased for line in plan.lines) else "Run what is installed",
        (
            Column("", units),
            words("item", items, foot="Total"),
            Column(shown.unit, prices, foot=shown.text(totals.capex_usd)),
            Column("IT kW", kws, foot=fmt.number(totals.it_power_kw)),
            words("lead time", leads),
        ),
    )


def bill(plan: Plan) -> Table:
    """Every line, with sums; money has no column where the edition shows none."""
    lines, code = own_lines(plan), plan.shown_in.code
    kws = [line.it_power_kw for line in lines]
    columns = [
        words("item", map(fmt.product, lines), foot="Total"),
        words("part number", map(part_number, lines)),
        words("section", (line.section for line in lines)),
        figures("quantity", (line.quantity for line in lines), 0),
    ]
    if any(line.unit_net_usd is not None for line in lines):
        nets = [line.extended_net_usd for line in lines]
        columns.append(figures("bought", (line.purchased for line in lines), 0))
        if any(line.unit_list_usd not in (None, line.unit_net_usd) for line in lines):
            columns.append(_paid(f"unit list, {code}", [line.unit_list_usd for line in lines]))
        if any(line.discount for line in lines):
            columns.append(figures("discount", (x.discount or None for x in lines), fmt.percent))
        columns.append(_paid(f"unit net, {code}", [line.unit_net_usd for line in lines]))
        columns.append(_paid(f"net, {code}", nets, _total(nets, lambda usd: bare(usd, None))))
    total = _total(kws, lambda kw: f"{kw:,.2f}")
    columns.append(figures(FIGURES["it_power_kw"].title, kws, 2, foot=total))
    return Table("Bill", tuple(columns))


def _paid(label: str, amounts: Sequence[float | None], foot: str = "") -> Column:
    return figures(label, amounts, lambda usd: bare(usd, None), foot=foot)


def _total(values: Sequence[float | None], write: Callable[[float], str]) -> str:
    known = [value for value in values if value is not None]
    return write(math.fsum(known)) + (", known part" if len(known) < len(values) else "")


def _line(line: Line, price: str) -> tuple[str, ...]:
    """Units, product with its installed and idle units, price, power and lead time."""
    marks = {
        "in store": line.section == "Components",
        "idle": not line.working and line.section != "Components",
        f"{fmt.round_number(line.bulk_tb)} TB of bulk data": line.bulk_tb,
        f"{min(line.installed, line.quantity):,} installed": line.installed,
        f"{line.idle:,} idle": line.idle and line.working,
    }
    remarks = [text for text, holds in marks.items() if holds]
    units = "" if line.section == "Services" else f"{line.quantity or line.spares:,}"
    name = fmt.product(line) + (f" ({', '.join(remarks)})" if remarks else "")
    paid = price if line.purchased or line.section == "Components" else "-"
    return units, name, paid, fmt.number(line.it_power_kw), line.lead_time or ""


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def limit_bars(plan: Plan, most: int) -> BarList:
    """The limits as bars: all binding ones, then the nearest."""
    there = [limit for limit in plan.limits if can_run_short(limit)]
    ordered = sorted(there, key=lambda one: (not one.binding, -used_share(one)))
    most = max(most, sum(limit.binding for limit in there))
    bars = [
        Bar(limit.label, used_share(limit), reached(limit), limit.binding, binding_text(limit))
        for limit in ordered[:most]
    ]
    return BarList("Limits", tuple(bars))


def used_share(limit: LimitReport) -> float:
    """The used share of a ceiling, or the required share of a floor's value."""
    part, full = (limit.value, limit.limit) if limit.sense == "<=" else (limit.limit, limit.value)
    return min(1.0, part / full) if full else 1.0


def binding_text(limit: LimitReport) -> str:
    """That a limit binds, and why where much of it is left; empty where it does not."""
    if not limit.binding or used_share(limit) >= _FAR:
        return "binding" if limit.binding else ""
    return "one unit less breaks it" if limit.sense == ">=" else "one unit more or less breaks it"


def reached(limit: LimitReport) -> str:
    """The value of a limit beside its bound, the unit once."""
    unit = limit.unit
    if unit == "kW" and max(limit.value, limit.limit) > fmt.MW_FROM_KW:
        value, bound = (fmt.plain(each / 1000.0, "MW") for each in (limit.value, limit.limit))
    else:
        value, bound = fmt.quantity(limit.value, unit), fmt.quantity(limit.limit, unit)
    amount_text, _, unit = value.partition(" ")
    if limit.exact or limit.sense == ">=":
        how = "exactly" if limit.exact else "at least"
        return f"{value}, {how} {bound.removesuffix(f' {unit}')}"
    return f"{amount_text if bound.endswith(f' {unit}') else value} of {bound}"


def answer_lines(plan: Plan, totals: Totals, job: JobPlan) -> Iterator[tuple[str, str]]:
    """Yield the lines under the tables: a label and a text each, empty where there is nothing."""
    yield "Objective", question_text(plan, job)
    yield "Cost", _cost(plan, totals)
    yield "Facility power", _power(plan, totals)
    yield "Checkpoint", _checkpoint(plan, job)
    found = plan.storage_options
    if found is not None:
        *first, last = [_units(option) for option in found.options]
        text = f"{', '.join(first)} or {last}" if first else last
        if plan.objective.unit != "USD":
            text += f" within {fmt.gap(found.within)} of the best"
        yield "Storage", f"{text}; {storage_decided(found)}"
    step = plan.next_step
    yield "Next step", _next_step(plan, step) if step is not None and step.needs else ""
    excluded = [*plan.not_counted]
    if job.repair is None:
        excluded = [part for part in excluded if part != "spares"] + ["repair and spares"]
    yield "Excluded", fmt.join_words(excluded)


def question_text(plan: Plan, job: JobPlan) -> str:
    """The objective, the job, and the limits that people set; empty where it is not shown."""
    goal = plan.objective
    if goal.name == HIDDEN_OBJECTIVE:
        return ""
    within, floors = (
        [limit_text(limit) for limit in plan.limits if limit.name in {row.name for row in rows}]
        for rows in (SUPPLIES, of_group("target"))
    )
    text = f"{goal.sense} {objective_label(goal.name)}" + (f", job {job.name}" if job.name else "")
    text += f", with {fmt.join_words(floors)}" if floors else ""
    return text + (f", within {fmt.join_words(within)}" if within else "")


def limit_text(limit: LimitReport) -> str:
    """A limit that people set, with its label."""
    value, label = fmt.quantity(limit.limit, limit.unit), limit.label.removesuffix(", known part")
    value = value.removesuffix(f" {limit.unit}") if limit.unit in label.split() else value
    return f"{'at least ' if limit.sense == '>=' else ''}{value} {label}"


def _cost(plan: Plan, totals: Totals) -> str:
    if totals.capex_usd is None:
        return ""
    text = f"capex {fmt.money(totals.capex_usd)}"
    if totals.tco_usd is not None and plan.site.years is not None:
        text += f", opex {fmt.money(totals.opex_usd_per_year)}/year"
        text += f", TCO {fmt.money(totals.tco_usd)} ({fmt.years(plan.site.years)})"
    each = {
        "useful GPU-hour": totals.usd_per_useful_gpu_hour,
        "million tokens": totals.usd_per_million_tokens,
    }
    ratios = [
        f"{usd:{'.2f' if usd >= 1 else '.3g'}} {plan.shown_in.code} per {unit}"
        for unit, usd in each.items()
        if usd is not None
    ]
    lead = [f"longest lead time {fmt.days(d)}"] if (d := totals.lead_time_days) else []
    return "; ".join([text, *filter(None, [", ".join(ratios)]), *lead])


def _power(plan: Plan, totals: Totals) -> str:
    text = "not known in full"
    if totals.facility_power_kw is not None:
        pue = f"PUE {plan.site.pue:g}"
        if plan.site.pue_liquid != plan.site.pue:
            pue += f" air, {plan.site.pue_liquid:g} liquid"
        text = f"{fmt.quantity(round(totals.facility_power_kw), 'kW')} ({pue})"
    if totals.it_power_kw is not None and totals.facility_power_kw is not None:
        text += f", {fmt.quantity(round(totals.it_power_kw), 'kW')} IT load"
        typical = totals.typical_power_kw
        if typical is not None and typical != totals.it_power_kw:
            text += f", {fmt.quantity(round(typical), 'kW')} typical"
    return text + (f"; {totals.racks:,} racks" if totals.racks is not None else "")


def _checkpoint(plan: Plan, job: JobPlan) -> str:
    """Size and interval, and the requirement on any storage."""
    text = f"{fmt.significant(job.checkpoint_gb, 'GB')} every {fmt.duration(job.interval_s)}"
    if job.repair is not None and job.repair.spares and not job.repair.in_rack:
        kind = "system" if job.repair.unit == "system" else "tray"
        text += f"; {fmt.count_noun(job.repair.spares, f'hot spare {kind}')}"
    found = plan.storage_options
    if found is not None:
        return f"{text}; {_needed(found)}"
    busy = f"GPUs wait {fmt.duration(job.stall_s)}"
    if job.mode == "async":
        busy = f"drains in {fmt.duration(job.drain_s)}"
    return f"{text}; {fmt.round_number(job.delivered_write_gb_per_s)} GB/s write, {busy}"


def idle_texts(plan: Plan) -> list[str]:
    """Idle installed units with the reason, the first note of their line."""
    idle = (line for line in plan.lines if line.idle)
    return [f"{fmt.product(line)}: {(*line.notes, f'{line.idle:,} idle')[0]}" for line in idle]


def _more_options(notes: int, parts: Collection[str]) -> str:
    """The option that shows more, with its choices."""
    remarks = {
        "lines": "lines (the bill)",
        "notes": f"notes (all {notes})",
    }
    left = [remarks.get(p, p) for p in PARTS if p not in parts and (notes or p != "notes")]
    return f"--show {', '.join(left)}" if left else ""


def near_optimal_loss(plan: Plan) -> str:
    """Loss within the near-optimal tolerance and the money it saves; empty where there is none."""
    goal = plan.objective
    if not fmt.has_near_optimal_loss(goal) or goal.near_optimal_loss is None:
        return ""
    less = "less" if goal.sense == "maximize" else "more"
    text = (
        f"within tolerance: {fmt.gap(goal.near_optimal_loss)} {less} {OBJECTIVES[goal.name].label}"
    )
    capex = None if plan.totals is None else plan.totals.capex_usd
    if goal.best_capex_usd is not None and capex is not None:
        saved = goal.best_capex_usd - capex
        text += f" saves {fmt.money(saved)}" if saved >= 0 else f" costs {fmt.money(-saved)} more"
    return f"{text} (objective.indifference: 0 for none)"


def _next_step(plan: Plan, step: NextStep) -> str:
    """The next useful number of GPU systems: its gain and its needs."""
    goal = plan.objective
    models = {line.sku: fmt.product(line) for line in plan.lines}
    gain = step.value - (goal.value or 0.0)
    more = fmt.money(gain) if goal.unit == "USD" else f"{gain:+,.3g} {goal.unit}"
    needs = [
        fmt.quantity(need.value, need.unit) + ("" if need.unit == "racks" else f" {need.label}")
        for need in step.needs
    ]
    return f"+{step.systems:,} {models[step.sku]}: {more}, needs {fmt.join_words(needs)}"


# Storage alternatives.


def _needed(found: StorageOptions) -> str:
    """The bandwidth and capacity required of any storage."""
    writes = [option.write_demand_gb_per_s for option in found.options]
    write = " to ".join(
        dict.fromkeys((fmt.round_number(min(writes)), fmt.round_number(max(writes))))
    )
    reads = found.read_demand_gb_per_s
    read = f", {fmt.round_number(reads)} GB/s of read" if reads else ""
    return f"needs {write} GB/s of write{read}, {fmt.round_number(found.usable_tb)} TB"


def _units(option: StorageOption) -> str:
    """An option as units with their models."""
    parts = fmt.join_words([f"{item.units:,} × {item.model}" for item in option.items])
    less = option.fewer_systems
    return f"{parts} (beside {fmt.count_noun(less, 'GPU system')} less)" if less else parts


def storage_decided(found: StorageOptions) -> str:
    """The choice of storage, or the quote that decides it."""
    if len({frozenset(item.vendor for item in each.items) for each in found.options}) == 1:
        return "no other vendor's storage fits these GPU systems"
    if found.choice is not None:
        return f"{found.choice} is the cheapest over the whole range of prices"
    if not found.settled_by:
        two = [" and ".join(item.model for item in option.items) for option in found.options[:2]]
        return f"price-sensitive: request quotes of {fmt.join_words(two)}, no single one decides"
    known = {item.sku: (option, item) for option in found.options for item in option.items}
    option, item = known[found.settled_by[0]]
    price = f"list {bare(item.unit_list_usd)}, "
    price += f"expected {bare(item.unit_low_usd)} to {bare(item.unit_high_usd)}"
    return (
        f"price-sensitive: {item.vendor} wins at {amount(option.sure_usd, 0)} or less per "
        f"{item.model} ({price})"
    )


def storage_alternatives(plan: Plan, *, detail: bool = False) -> Iterator[Table]:
    """Yield the options of storage with their break-even prices; nothing where there are none."""
    found = plan.storage_options
    if found is None:
        return
    single = [each.items[0] if len(each.items) == 1 else None for each in found.options]
    names = [_units(each) + (" *" if each.chosen else "") for each in found.options]
    pairs = list(zip(found.options, single, strict=True))
    code = currency_among(each.list_usd for each in found.options).code
    columns = (
        words("option", names),
        figures("at list", (each.list_usd for each in found.options), fmt.money),
        figures(
            f"unit list price, {code}", read_values(single, lambda one: one.unit_list_usd), bare
        ),
        figures(f"break-even, {code}", (e.sure_usd if o else None for e, o in pairs), bare),
    )
    money_of = "purchase price"
    if found.counted != "purchase" and plan.site.years is not None:
        money_of = f"purchase, support and subscriptions over {fmt.years(plan.site.years)}"
    notes = (
        f"* in the plan; {_needed(found)}; money: {money_of}",
        storage_decided(found),
        "break-even: unit price at which it is the cheapest at every price of the others",
    )
    yield Table("Storage alternatives", columns, notes, detail=detail)


# Further parts.


def _part(name: str, plan: Plan) -> Iterator[Block]:
    if name == "lines":
        yield bill(plan)
        yield from storage_alternatives(plan)
    elif name == "notes":
        yield Text(tuple(idle_texts(plan)), "Idle", points=True)
        left = f"not counted: {', '.join(plan.not_counted)}; docs/bill.md has how to count them"
        repair = "repair and spares are excluded: set repair: {share, time} of the job"
        missing = (
            repair if plan.jobs[0].repair is None else "",
            left if plan.not_counted else "",
        )
        yield notes_block((*missing, *plan.warnings))
    else:
        yield Text(tuple(_proof(plan)), "Proof")


_SOLVERS = {"highs": "HiGHS", "cbc": "CBC"}


def _proof(plan: Plan) -> Iterator[str]:
    """Yield the bound by search and that by the integer program."""
    made, goal = plan.provenance, plan.objective
    by = "by enumeration"
    if made.iterations:
        by = f"{_SOLVERS[made.solver]}, {made.iterations} solves"
    yield f"{fmt.proof(goal)}; {by}; verified by independent arithmetic"
    yield near_optimal_loss(plan)
    if (found := goal.program) is not None:
        bound = (
            "no bound" if found.bound is None else f"bound {fmt.amount_of(goal.name, found.bound)}"
        )
        size_of = f"{found.variables:,} variables, {found.rows:,} rows"
        yield f"integer program (PuLP, {_SOLVERS[found.solver]}; {size_of}): {bound}"
