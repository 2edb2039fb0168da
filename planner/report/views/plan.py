"""The screen of a plan: figures, purchase, limits as bars, answer, notes; further parts on request.

A plan without a purchase shows why there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from planner.figures import FIGURES, objective_label
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
    notes_block,
)
from planner.report.restated import in_its_currency
from planner.report.screen import show
from planner.report.views import infeasible, storage_options
from planner.report.views.operation import run_facts
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
    status,
    years,
)
from planner.schema.layout import FabricReport
from planner.schema.operation import JobPlan
from planner.schema.plan import (
    LimitReport,
    Line,
    Plan,
    Totals,
)
from planner.terminal import width

PARTS = ("lines", "run", "network", "notes", "proof")
"""Parts that may follow the first screen."""

_LABEL_WIDTH = 14
_TILES = (
    "useful_pflops", "useful_gpus", "gpus_used", "goodput", "capex_usd", "facility_power_kw",
    "days_to_train", "tco_usd", "racks", "delivered_write_gb_per_s", "interval_s", "usable_tb",
    "restore_s",
)  # fmt: skip
_MOST_TILES, _MOST_LIMITS, _MOST_NOTES, _MOST_CRITICAL = 5, 6, 3, 2
_FAR = 0.9
"""Below this used share a binding limit says why it binds."""
_LEAST_SHARE = 0.0005
_FABRICS = ("compute fabric", "storage fabric", "racks")
NOT_COUNTED_TAKES = (
    "in complete plans these take 11 to 17 % of capex, 8 to 12 % of the power and 15 to 49 % of "
    "the racks; docs/bill.md tells how to count them"
)

NO_REPAIR = (
    "repair and spares are excluded: failed hardware counts as back after the restart; set repair: "
    "{share, time} of the job"
)


@in_its_currency
def render(plan: Plan, parts: Collection[str] = (), *, styled: bool = False) -> str:
    """The first screen, and after it the parts asked for.

    Args:
        plan: the plan; of one that buys nothing everything is shown.
        parts: what else to show, of ``PARTS``.
        styled: with escape sequences for colours.
    """
    if plan.totals is None or not plan.jobs:
        return show(no_plan(plan), full=True, styled=styled)
    text = show(_screen(plan, plan.totals, plan.jobs[0], parts), styled=styled)
    more = _parts(plan, plan.totals, parts)
    return f"{text}\n{show(more, full=True, styled=styled)}" if more else text


def whole(plan: Plan) -> str:
    """The first screen with every part."""
    return render(plan, PARTS)


def no_plan(plan: Plan) -> list[Block]:
    """The reasons for no plan, as blocks."""
    if plan.infeasibility is None:
        return [Heading(headline(plan)), Text((plan.message or "",))]
    return [Heading(headline(plan)), *infeasible.blocks(plan.infeasibility)]


def headline(plan: Plan) -> str:
    """The problem with its scenario, and the quality of the plan."""
    scenario = plan.provenance.scenario
    name = plan.problem if scenario is None else f"{plan.problem}, scenario {scenario}"
    return f"{name}  ({status(plan)})"


# First screen


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
    title = "Buy" if any(line.purchased for line in plan.lines) else "Run what is installed"
    return Table(
        title,
        (
            Column("", units),
            Column("item", items, words=True, foot="Total"),
            Column(shown.unit, prices, foot=shown.text(totals.capex_usd)),
            Column("IT kW", kws, foot=number(totals.it_power_kw)),
            Column("lead time", leads, words=True, spare=1),
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
    yield "Power", _power(plan, totals)
    yield "Checkpoint", _checkpoint(plan, job)
    found = plan.storage_options
    if found is not None:
        decided = storage_options.decided(plan, found)
        yield "Storage", f"{storage_options.alternatives(plan, found)}; {decided}"
    step = plan.next_step
    yield "Next step", next_step(plan, step) if step is not None and step.needs else ""
    yield "Idle", standing_idle(plan)
    yield "Excluded", _excluded(plan, job)


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
    text = _facility(plan, totals)
    if totals.it_power_kw is not None and totals.facility_power_kw is not None:
        text += f", {power(round(totals.it_power_kw))} IT load"
        typical = totals.typical_power_kw
        if typical is not None and typical != totals.it_power_kw:
            text += f", {power(round(typical))} typical"
    return text + (f"; {totals.racks:,} racks" if totals.racks is not None else "")


def _facility(plan: Plan, totals: Totals) -> str:
    if totals.facility_power_kw is None:
        return "facility power not known in full"
    pue = f"PUE {plan.site.pue:g}"
    if scope.two_pues(plan):
        pue += f" air, {plan.site.pue_liquid:g} liquid"
    return f"{power(round(totals.facility_power_kw))} facility power ({pue})"


def _checkpoint(plan: Plan, job: JobPlan) -> str:
    """Size and interval, and the requirement on any storage."""
    text = f"{size(job.checkpoint_gb)} every {duration(job.interval_s)}"
    if job.repair is not None and job.repair.spares and not job.repair.in_rack:
        kind = "system" if job.repair.unit == "system" else "tray"
        text += f"; {job.repair.spares:,} hot spare {kind}{'s' if job.repair.spares > 1 else ''}"
    found = plan.storage_options
    if found is not None:
        return f"{text}; {storage_options.needed(plan, found)}"
    wait = "GPUs wait" if job.mode == "sync" else "drains in"
    busy_s = job.stall_s if job.mode == "sync" else job.drain_s
    return f"{text}; {about(job.delivered_write_gb_per_s)} GB/s write, {wait} {duration(busy_s)}"


def _excluded(plan: Plan, job: JobPlan) -> str:
    found = [*plan.not_counted]
    if job.repair is None:
        found = [part for part in found if part != "spares"] + ["repair and spares"]
    return listed(found)


def standing_idle(plan: Plan) -> str:
    """Idle installed units by name; empty where there are none."""
    models = {line.sku: product(line) for line in plan.lines}
    idle = [so_many(each.units, models[each.sku]) for each in plan.idle]
    return f"{listed(idle)}, owned, will stand idle" if idle else ""


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


# Further parts


def _parts(plan: Plan, totals: Totals, parts: Collection[str]) -> list[Block]:
    made: dict[str, Callable[[], list[Block]]] = {
        "lines": lambda: [
            _purchase(plan, totals, every=True),
            Facts(tuple(_sums(plan, totals))),
            *storage_options.blocks(plan),
        ],
        "run": lambda: [Facts(run_facts(plan, plan.jobs[0]), "Operation"), _binding(plan)],
        "network": lambda: [Facts(tuple(_fabric(plan, each) for each in plan.fabrics), "Networks")],
        "notes": lambda: [
            Text(tuple(idle_texts(plan, fix=True)), "Idle", points=True),
            notes_block((*_scope_notes(plan), *plan.warnings)),
        ],
        "proof": lambda: [Text(tuple(_proof(plan)), "Proof")],
    }
    return [block for part, make in made.items() if part in parts for block in make()]


def _sums(plan: Plan, totals: Totals) -> Iterator[tuple[str, str]]:
    """Yield shares of capex, power, heat, running cost and lead time."""
    yield "Tolerance", given_away(plan) or ""
    if scope.complete(plan) and totals.capex_usd:
        shares = [
            f"{section.lower()} {percent(usd / totals.capex_usd)}"
            for section, usd in totals.capex_by_section_usd.items()
            if usd / totals.capex_usd >= _LEAST_SHARE
        ]
        yield "Capex", ", ".join(shares)
    yield "Power", _power(plan, totals)
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
        critical = [names.get(sku, sku) for sku in totals.critical_skus]
        more = len(critical) - _MOST_CRITICAL
        text = ", ".join(critical[:_MOST_CRITICAL]) + (f" and {more} more" if more > 0 else "")
        yield "Lead time", f"{days(totals.lead_time_days)}" + (f": {text}" if text else "")


def _binding(plan: Plan) -> Facts:
    rows = [
        (limit.label, reached(limit) + (f" ({limit.source})" if limit.source else ""))
        for limit in plan.limits
        if limit.binding
    ]
    return Facts(tuple(rows) or (("", "none"),), "Binding limits")


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


def _scope_notes(plan: Plan) -> Iterator[str]:
    if plan.jobs[0].repair is None:
        yield NO_REPAIR
    if plan.not_counted:
        text = f"not counted: {', '.join(plan.not_counted)}"
        yield text + (f"; {NOT_COUNTED_TAKES}" if set(_FABRICS) & {*plan.not_counted} else "")


def _proof(plan: Plan) -> Iterator[str]:
    made = plan.provenance
    solver = {"highs": "HiGHS", "cbc": "CBC"}[made.solver]
    by = f"{solver}, {made.iterations} solves" if made.iterations else "by enumeration"
    seconds = "" if made.seconds is None else f", {made.seconds:.2f} s"
    yield f"{proof(plan.objective)}; {by}{seconds}; verified by independent arithmetic"
    yield program_proof(plan.objective) or ""
