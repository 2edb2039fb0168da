"""The screen of a plan: figures, purchase, limits as bars, answer, notes; further parts on request.

A plan without a purchase shows why there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from planner.currency import amount, bare
from planner.figures import FIGURES, RATIOS, objective_label
from planner.limits import SUPPLIES, of_group
from planner.report import scope
from planner.report.audience import HIDDEN_OBJECTIVE
from planner.report.blocks import (
    Bar,
    Bars,
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    Tiles,
    figures,
    notes_block,
    values_of,
    words,
)
from planner.report.restated import restated
from planner.report.screen import show
from planner.report.words import (
    MW_FROM_KW,
    NETWORKS,
    about,
    days,
    duration,
    fitted,
    given_away,
    listed,
    megawatts,
    money,
    next_step,
    number,
    percent,
    power,
    product,
    program_proof,
    proof,
    quantity,
    results,
    size,
    so_many,
    some,
    status,
    valued,
    years,
)
from planner.schema.layout import FabricReport, StorageOption, StorageOptions
from planner.schema.operation import JobPlan
from planner.schema.plan import UNDECIDED, Infeasibility, LimitReport, Line, Plan, Step, Totals
from planner.terminal import width

PARTS = ("lines", "run", "network", "notes", "proof")
"""Parts that may follow the first screen."""

_LABEL_WIDTH = 16
_TILES = (
    "useful_pflops", "useful_gpus", "gpus_used", "goodput", "capex_usd", "facility_power_kw",
    "days_to_train", "tco_usd", "racks", "delivered_write_gb_per_s", "interval_s", "usable_tb",
    "restore_s",
)  # fmt: skip
_MOST_TILES, _MOST_LIMITS, _MOST_NOTES, _MOST_CRITICAL = 5, 6, 3, 2
_FAR = 0.9
"""Below this used share a binding limit says why it binds."""
_LEAST_SHARE = 0.0005


def render(plan: Plan, parts: Collection[str] = (), *, styled: bool = False) -> str:
    """The first screen, and after it the parts asked for.

    Args:
        plan: the plan; of one that buys nothing everything is shown.
        parts: what else to show, of ``PARTS``.
        styled: with escape sequences for colours.
    """
    plan = restated(plan)
    if plan.totals is None or not plan.jobs:
        return show(no_plan(plan), full=True, styled=styled)
    text = show(_screen(plan, plan.totals, plan.jobs[0], parts), styled=styled)
    more = [block for part in PARTS if part in parts for block in _part(part, plan, plan.totals)]
    return f"{text}\n{show(more, full=True, styled=styled)}" if more else text


def whole(plan: Plan) -> str:
    """The first screen with every part."""
    return render(plan, PARTS)


def headline(plan: Plan) -> str:
    """The problem with its scenario, and the quality of the plan."""
    scenario = plan.provenance.scenario
    name = plan.problem if scenario is None else f"{plan.problem}, scenario {scenario}"
    return f"{name}  ({status(plan)})"


# No plan.


def no_plan(plan: Plan) -> list[Block]:
    """The reasons for no plan, as blocks."""
    found = plan.infeasibility
    if found is None:
        return [Heading(headline(plan)), Text((plan.message or "",))]
    return [Heading(headline(plan)), *_reasons(found)]


def _reasons(found: Infeasibility) -> Iterator[Block]:
    """Yield conflicting constraints, and the changes that give a plan."""
    yield Text(found.reasons)
    for conflict in found.conflicts:
        count = len(conflict.limits)
        rest = "either is feasible alone" if count == 2 else "each is feasible without the others"
        title = f"Conflicting constraints (minimal set; {rest})"
        title = "Infeasible constraint, whatever is bought" if count == 1 else title
        yield Text(tuple(limit.in_words for limit in conflict.limits), title, points=True)
    each = "Each of these changes gives a plan"
    title = each if len(found.changes) > 1 else "This change gives a plan"
    yield Text(tuple(map(_change, found.changes)), title, points=True)
    both = found.combined
    if both is not None:
        title = "Smallest combined change that gives a plan"
        yield Text(tuple(map(_change, both.steps)), title, points=True)
        text = "each change is the smallest beside the others; another choice may be smaller in sum"
        if both.weighted is not None and both.bound is not None:
            text = f"sum of changes, each as a share of its limit: {percent(both.weighted)}; "
            text += f"proven lower bound {percent(both.bound)}"
        yield Text((text,))
    if found.undecided:
        yield Text((f"{UNDECIDED}: {', '.join(found.undecided)}",))


def _change(step: Step) -> str:
    text = step.in_words
    if step.because:
        limits = listed([f"{limit.label} {limit.text}".rstrip() for limit in step.because])
        text += f"; no smaller change because of {limits}"
    if step.value is None:
        text += f": {' '.join(f'--set {setting!r}' for setting in step.settings)}"
    return text


# First screen.


def _screen(plan: Plan, totals: Totals, job: JobPlan, parts: Collection[str]) -> list[Block]:
    rows = [(label, text) for label, text in answer_lines(plan, totals, job) if text]
    notes = [*idle_texts(plan), *plan.warnings]
    if "notes" not in parts:
        room = width() - _LABEL_WIDTH
        rows += [
            ("" if at else "Notes", f"- {fitted(' '.join(text.split()), room)}")
            for at, text in enumerate(notes[:_MOST_NOTES])
        ]
    rows += [("More", _more(len(notes), parts, networks=bool(plan.fabrics)))]
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
        found.append((_figure(name, value), FIGURES[name].label))
    return found[:most]


def _figure(name: str, value: float) -> str:
    """A figure of a plan with its unit, short enough for a tile."""
    unit, label = FIGURES[name].unit, FIGURES[name].label
    if unit == "share":
        return percent(value, 2)
    if unit == "kW" and value >= 1e3:
        return f"{value / 1e3:,.2f} MW"
    if unit in ("USD", "s") or "USD" in unit:
        return quantity(value, unit)
    digits = 1 if name == "days_to_train" else 0
    return f"{value:,.{digits}f} {unit if unit not in label else ''}".rstrip()


def _purchase(plan: Plan, totals: Totals, *, every: bool = False) -> Table:
    """The bill: every line, or a line for each section beyond GPUs and storage."""
    lines = scope.own_lines(plan)
    shown = results([line.extended_net_usd for line in lines] + [totals.capex_usd], "USD")
    shown = shown._replace(digits=min(2, shown.digits))
    rows: list[tuple[str, ...]] = []
    for section in dict.fromkeys(line.section for line in lines):
        there = [line for line in lines if line.section == section]
        if every or section in scope.CORE_SECTIONS:
            rows += [_line(line, shown.text(line.extended_net_usd)) for line in there]
            continue
        cost = _sum([line.extended_net_usd if line.purchased else 0.0 for line in there])
        kw = _sum([line.it_power_kw for line in there])
        count = f"{section}: {len(there)} item{'s' if len(there) > 1 else ''}"
        yearly = sum(line.subscription_usd_per_year or 0.0 for line in there)
        price = f"{money(yearly)}/year" if cost == 0.0 and yearly else shown.text(cost)
        rows.append(("", count, price, number(kw), ""))
    units, items, prices, kws, leads = zip(*rows, strict=True) if rows else [()] * 5
    return Table(
        "Buy" if any(line.purchased for line in plan.lines) else "Run what is installed",
        (
            Column("", units),
            words("item", items, foot="Total"),
            Column(shown.unit, prices, foot=shown.text(totals.capex_usd)),
            Column("IT kW", kws, foot=number(totals.it_power_kw)),
            words("lead time", leads),
        ),
    )


def _line(line: Line, price: str) -> tuple[str, ...]:
    """Units, product with its installed and idle units, price, power and lead time."""
    remarks = []
    if line.section == "Components":
        remarks.append("in store")
    elif not line.working:
        remarks.append("idle")
    if line.bulk_tb:
        remarks.append(f"{about(line.bulk_tb)} TB of bulk data")
    if line.installed:
        remarks.append(f"{min(line.installed, line.quantity):,} installed")
    if line.idle and line.working:
        remarks.append(f"{line.idle:,} idle")
    units = "" if line.section == "Services" else f"{line.quantity or line.spares:,}"
    name = product(line) + (f" ({', '.join(remarks)})" if remarks else "")
    paid = price if line.purchased or line.section == "Components" else "-"
    return units, name, paid, number(line.it_power_kw), line.lead_time or ""


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def limit_bars(plan: Plan, most: int) -> Bars:
    """The limits as bars: all binding ones, then the nearest."""
    there = [limit for limit in plan.limits if scope.can_run_short(limit)]
    ordered = sorted(there, key=lambda one: (not one.binding, -used_share(one)))
    most = max(most, sum(limit.binding for limit in there))
    bars = [
        Bar(limit.label, used_share(limit), reached(limit), limit.binding, binding_text(limit))
        for limit in ordered[:most]
    ]
    return Bars("Limits", tuple(bars))


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
    """The value of a limit beside what is allowed, the unit once."""
    value, bound = quantity(limit.value, limit.unit), quantity(limit.limit, limit.unit)
    if limit.unit == "kW" and max(limit.value, limit.limit) > MW_FROM_KW:
        value, bound = megawatts(limit.value), megawatts(limit.limit)
    amount, _, unit = value.partition(" ")
    if limit.exact:
        return f"{value}, exactly {bound.removesuffix(f' {unit}')}"
    if limit.sense == ">=":
        return f"{value}, at least {bound.removesuffix(f' {unit}')}"
    return f"{amount if bound.endswith(f' {unit}') else value} of {bound}"


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
        yield "Storage", f"{text}{_near(plan, found)}; {storage_decided(plan, found)}"
    step = plan.next_step
    yield "Next step", next_step(plan, step) if step is not None and step.needs else ""
    models = {line.sku: product(line) for line in plan.lines}
    idle = [so_many(each.units, models[each.sku]) for each in plan.idle]
    yield "Idle", f"{listed(idle)}, owned, will stand idle" if idle else ""
    excluded = [*plan.not_counted]
    if job.repair is None:
        excluded = [part for part in excluded if part != "spares"] + ["repair and spares"]
    yield "Excluded", listed(excluded)


def question_text(plan: Plan, job: JobPlan) -> str:
    """The objective, the job, and the limits that people set; empty where it is not shown."""
    goal = plan.objective
    if goal.name == HIDDEN_OBJECTIVE:
        return ""
    within, floors = (
        [of_limit(limit) for limit in plan.limits if limit.name in {row.name for row in rows}]
        for rows in (SUPPLIES, of_group("target"))
    )
    text = f"{goal.sense} {objective_label(goal.name)}" + (f", job {job.name}" if job.name else "")
    text += f", with {listed(floors)}" if floors else ""
    return text + (f", within {listed(within)}" if within else "")


def of_limit(limit: LimitReport) -> str:
    """A limit with its label where its unit leaves that open."""
    value = quantity(limit.limit, limit.unit).replace(".00 ", " ")
    if limit.name in ("facility_power", "racks", "capex"):
        return value + (" facility power" if limit.name == "facility_power" else "")
    if limit.name == "max_days_to_train":
        return f"training in {value}"
    label = limit.label.removesuffix(", known part")  # of the plan, not of the problem
    text = f"{value} of {label}"
    if limit.unit in label.split():  # GPUs in use, useful GPUs
        text = f"{value.removesuffix(limit.unit)}{label}"
    return f"{'at least ' if limit.sense == '>=' else ''}{text}"


def _cost(plan: Plan, totals: Totals) -> str:
    if totals.capex_usd is None:
        return ""
    text = f"capex {money(totals.capex_usd)}"
    if totals.tco_usd is not None and plan.site.years is not None:
        text += f", opex {money(totals.opex_usd_per_year)}/year"
        text += f", TCO {money(totals.tco_usd)} ({years(plan.site.years)})"
    each = (
        ("per_useful_gpu_hour", totals.usd_per_useful_gpu_hour, "useful GPU-hour"),
        ("per_million_tokens", totals.usd_per_million_tokens, "million tokens"),
    )
    code = plan.shown_in.code
    ratios = [
        f"{f'{usd:,.2f}' if usd >= 1 else f'{usd:.3g}'} {code} per {unit}"
        for name, usd, unit in each
        if usd is not None and scope.tells_ratio(plan, name)
    ]
    lead = [f"longest lead time {days(d)}"] if (d := totals.lead_time_days) else []
    return "; ".join([text, *filter(None, [", ".join(ratios)]), *lead])


def _power(plan: Plan, totals: Totals) -> str:
    text = "not known in full"
    if totals.facility_power_kw is not None:
        pue = f"PUE {plan.site.pue:g}"
        if scope.two_pues(plan):
            pue += f" air, {plan.site.pue_liquid:g} liquid"
        text = f"{power(round(totals.facility_power_kw))} ({pue})"
    if totals.it_power_kw is not None and totals.facility_power_kw is not None:
        text += f", {power(round(totals.it_power_kw))} IT load"
        typical = totals.typical_power_kw
        if typical is not None and typical != totals.it_power_kw:
            text += f", {power(round(typical))} typical"
    return text + (f"; {totals.racks:,} racks" if totals.racks is not None else "")


def _checkpoint(plan: Plan, job: JobPlan) -> str:
    """Size and interval, and the requirement on any storage."""
    text = f"{size(job.checkpoint_gb)} every {duration(job.interval_s)}"
    if job.repair is not None and job.repair.spares and not job.repair.in_rack:
        kind = "system" if job.repair.unit == "system" else "tray"
        text += f"; {job.repair.spares:,} hot spare {kind}{'s' if job.repair.spares > 1 else ''}"
    found = plan.storage_options
    if found is not None:
        return f"{text}; {_needed(plan, found)}"
    wait = "GPUs wait" if job.mode == "sync" else "drains in"
    busy_s = job.stall_s if job.mode == "sync" else job.drain_s
    return f"{text}; {about(job.delivered_write_gb_per_s)} GB/s write, {wait} {duration(busy_s)}"


def idle_texts(plan: Plan, *, fix: bool = False) -> list[str]:
    """Idle installed units with the reason, and with ``fix`` what would use them."""
    models = {line.sku: product(line) for line in plan.lines}
    return [
        f"{each.units:,} {models[each.sku]}, owned: {each.reason or 'not in use'}"
        + (f"; {each.fix}" if fix and each.fix else "")
        for each in plan.idle
    ]


def _more(notes: int, parts: Collection[str], *, networks: bool) -> str:
    """The option that shows more, with its choices."""
    options = {
        "lines": "lines (the bill)",
        "run": "run (operation)",
        "network": "network" if networks else "",
        "notes": f"notes (all {notes})" if notes else "",
        "proof": "proof",
    }
    left = [text for part, text in options.items() if text and part not in parts]
    return f"--show {', '.join(left)}" if left else ""


def bought_text(plan: Plan) -> str:
    """The GPU systems and the storage of a plan."""
    return ", ".join(f"{line.working:,} × {line.model}" for line in scope.decided_lines(plan))


# Storage alternatives.


def _needed(plan: Plan, found: StorageOptions) -> str:
    """The bandwidth and capacity required of any storage."""
    kinds = {"rule_write": "write", "rule_read": "read"}
    rule = [
        f"{about(limit.limit)} GB/s of {kinds[limit.name]}"
        for limit in plan.limits
        if limit.name in kinds and limit.limit > 0.0
    ]
    nameplate = f", by its rule {listed(rule)} of nameplate" if rule else ""
    writes = [option.write_needed_gb_per_s for option in found.options]
    write = " to ".join(dict.fromkeys((about(min(writes)), about(max(writes)))))
    read = f", {about(found.read_gb_per_s)} GB/s of read" if found.read_gb_per_s else ""
    return f"needs {write} GB/s of write{read}{nameplate}, {about(found.usable_tb)} TB"


def _near(plan: Plan, found: StorageOptions) -> str:
    """The tolerance of the options; of an objective of money alone there is none."""
    if plan.objective.name in RATIOS:
        return f" within {percent(found.within)} of the work"
    return "" if plan.objective.unit == "USD" else f" within {percent(found.within)} of the best"


def _units(option: StorageOption) -> str:
    """An option as units with their models."""
    parts = listed([so_many(item.units, item.model) for item in option.items])
    if option.fewer_systems == 0:
        return parts
    systems = "system" if option.fewer_systems == 1 else "systems"
    return f"{parts} (beside {option.fewer_systems} GPU {systems} less)"


def storage_decided(plan: Plan, found: StorageOptions) -> str:
    """The choice of storage, or the quote that decides it."""
    if len({frozenset(item.vendor for item in each.items) for each in found.options}) == 1:
        return f"no other vendor's storage fits these GPU systems{_near(plan, found)}"
    if found.choice is not None:
        return f"{found.choice} is the cheapest over the whole range of prices"
    if not found.settled_by:
        two = [" and ".join(item.model for item in option.items) for option in found.options[:2]]
        return f"price-sensitive: request quotes of {listed(two)}, no single one decides"
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
    columns = (
        words("option", names),
        figures("at list", (each.list_usd for each in found.options), money),
        figures("everything else", (each.beside_usd for each in found.options), _beside),
        figures("unit list price", values_of(single, lambda one: one.unit_list_usd), bare),
        figures("break-even", (each.even_usd if one else None for each, one in pairs), bare),
        figures("break-even, worst case", (e.sure_usd if o else None for e, o in pairs), bare),
    )
    counted = "purchase price"
    if found.counted != "purchase" and plan.site.years is not None:
        counted = f"purchase, support and subscriptions over {years(plan.site.years)}"
    notes = (
        f"* in the plan; {_needed(plan, found)}; money: {counted}",
        storage_decided(plan, found),
        "break-even: unit price at which it is the cheapest with the others at list; worst case: "
        "at every price of the others",
    )
    yield Table("Storage alternatives", columns, notes, detail=detail)


def _beside(usd: float) -> str:
    return f"{'+' if usd > 0 else '-'}{money(abs(usd))}" if abs(usd) >= 0.5 else "="


# Further parts.


def _part(name: str, plan: Plan, totals: Totals) -> Iterator[Block]:
    if name == "lines":
        yield _purchase(plan, totals, every=True)
        yield Facts(tuple(_sums(plan, totals)))
        yield from storage_alternatives(plan)
    elif name == "run":
        yield Facts(tuple(_ways(plan, plan.jobs[0])), "Operation")
        yield _operation(plan.jobs[0])
        binding = [limit for limit in plan.limits if limit.binding]
        sources = [f" ({limit.source})" if limit.source else "" for limit in binding]
        pairs = zip(binding, sources, strict=True)
        rows = tuple((limit.label, f"{reached(limit)}{source}") for limit, source in pairs)
        yield Facts(rows or (("", "none"),), "Binding limits")
    elif name == "network":
        yield Facts(tuple(_fabric(plan, each) for each in plan.fabrics), "Networks")
    elif name == "notes":
        yield Text(tuple(idle_texts(plan, fix=True)), "Idle", points=True)
        left = f"not counted: {', '.join(plan.not_counted)}; docs/bill.md has how to count them"
        repair = "repair and spares are excluded: set repair: {share, time} of the job"
        missing = (
            repair if plan.jobs[0].repair is None else "",
            left if plan.not_counted else "",
        )
        yield notes_block((*missing, *plan.warnings))
    else:
        yield Text(tuple(_proof(plan)), "Proof")


def _sums(plan: Plan, totals: Totals) -> Iterator[tuple[str, str]]:
    """Yield shares of capex, power, heat, running cost and lead time."""
    yield "Tolerance", given_away(plan)
    if scope.complete(plan) and totals.capex_usd:
        shares = [
            f"{section.lower()} {percent(usd / totals.capex_usd)}"
            for section, usd in totals.capex_by_section_usd.items()
            if usd / totals.capex_usd >= _LEAST_SHARE
        ]
        yield "Capex", ", ".join(shares)
    if totals.heat_liquid_kw and totals.heat_air_kw is not None:
        yield "Heat", f"{totals.heat_air_kw:,.0f} kW to air, {totals.heat_liquid_kw:,.0f} to liquid"
    if totals.tco_usd is not None and plan.site.years is not None:
        parts = [
            ("energy", totals.energy_usd_per_year),
            ("support", totals.support_usd_per_year),
            ("subscriptions", totals.subscriptions_usd_per_year),
            ("colocation", totals.colocation_usd_per_year),
        ]
        text = ", ".join(f"{name} {money(usd)}" for name, usd in parts if usd)
        yield "Opex", f"{money(totals.opex_usd_per_year)}/year ({text or 'nothing counted'})"
        rate = plan.site.discount_rate
        discounted = f", discounted at {100 * rate:g} % a year" if rate else ""
        yield "TCO", f"{money(totals.tco_usd)} over {years(plan.site.years)}{discounted}"
    if totals.lead_time_days:
        names = {line.sku: product(line) for line in plan.lines}
        text = some([names.get(sku, sku) for sku in totals.critical_skus], _MOST_CRITICAL)
        yield "Lead time", f"{days(totals.lead_time_days)}" + (f": {text}" if text else "")


def _ways(plan: Plan, job: JobPlan) -> Iterator[tuple[str, str]]:
    """Yield job, set points and rates by GPU type, and the levels of checkpoints."""
    models = {line.sku: line.model for line in plan.lines}
    yield "Job", job.name
    for way in job.ways:
        text = f"{models.get(way.gpu_type, way.gpu_type)}: {way.precision}"
        if way.gpu_cap < 1.0:
            text += f", GPUs capped at {100.0 * way.gpu_cap:.4g} % of their power"
            text += f", {percent(way.throughput)} of the rate ({way.curve})"
        if way.tensor is not None:
            text += f", tensor {way.tensor} x pipeline {way.pipeline}"
            text += f" x context {way.context}" if way.context > 1 else ""
            text += f" x experts {way.experts}" if way.experts > 1 else ""
        yield "Set point", text
        if way.rate_tflops is not None:
            source = way.rate_note if way.rate_source == "assumed" else way.rate_source
            yield "Rate", f"{way.rate_tflops:,.0f} TFLOP/s per GPU at full power ({source})"
    if (local := job.local) is not None:
        every = "each" if local.every == 1 else f"one in {local.every}"
        text = f"on local drives after {duration(local.drain_s)}; {every} checkpoint to storage, "
        text += f"for {percent(local.remote_share)} of interruptions"
        yield "Local level", text


_UNTOLD = {"goodput_understated", "tokens"}


def _operation(job: JobPlan) -> Table:
    """Every figure of the job that is not 0, in the order of `planner.figures`."""
    rows = []
    for figure in FIGURES.values():
        part: object = job
        for name in figure.name.split("."):
            part = getattr(part.repair if name == "shrunk" and part is job else part, name, None)
        group = figure.group in ("work", "checkpoint", "loss", "storage")
        if group and figure.name not in _UNTOLD and isinstance(part, (int, float)) and part:
            rows.append((figure, part))
    return Table(
        "",
        (
            words("figure", (figure.label for figure, _ in rows)),
            figures("value", rows, lambda row: valued(row[1], row[0].unit)),
            words("", (figure.note for figure, _ in rows)),
        ),
    )


def _fabric(plan: Plan, fabric: FabricReport) -> tuple[str, str]:
    """A fabric with its switches by tier, oversubscription and used ports."""
    model = next((line.model for line in plan.lines if line.sku == fabric.switch_sku), "")
    model = model or fabric.switch_sku
    planes = f"{fabric.planes} planes, " if fabric.planes > 1 else ""
    tiers = (
        (fabric.leaf_switches, "leaf"),
        (fabric.spine_switches, "spine"),
        (fabric.core_switches, "core"),
    )
    switches = " + ".join(f"{count:,} {name}" for count, name in tiers if count)
    if fabric.tiers > 1:
        shape = f"{fabric.tiers} tiers, {switches} {model}, {fabric.oversubscription:g}:1"
    else:
        shape = f"{fabric.leaf_switches:,} {model}"
    full = f", {percent(fabric.endpoints / fabric.capacity, 0)} full" if fabric.capacity else ""
    return NETWORKS[fabric.network], f"{planes}{shape}{full}"


def _proof(plan: Plan) -> Iterator[str]:
    made = plan.provenance
    solver = {"highs": "HiGHS", "cbc": "CBC"}[made.solver]
    by = f"{solver}, {made.iterations} solves" if made.iterations else "by enumeration"
    seconds = "" if made.seconds is None else f", {made.seconds:.2f} s"
    yield f"{proof(plan.objective)}; {by}{seconds}; verified by independent arithmetic"
    yield program_proof(plan.objective)
