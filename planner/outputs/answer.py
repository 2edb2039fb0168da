"""The first screen of a plan: what was asked, the answer in a few lines, what to know of it.

All of it is in `planner.outputs.console`, part by part; this is what fits one page of a terminal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from planner.figures import objective_label
from planner.limits import SUPPLIES, of_group
from planner.outputs import console, scope, why_text
from planner.outputs.blocks import MOST_NOTES, labelled, note_lines
from planner.outputs.restated import in_its_currency
from planner.outputs.run_text import spares_standing_by
from planner.outputs.words import (
    about,
    duration,
    listed,
    money,
    next_step,
    number,
    percent,
    product,
    quantity,
    size,
    so_many,
    years,
)
from planner.schema.plan import JobPlan, LimitReport, Plan, Totals

NEAR = 0.95
"""From this share on a limit that does not bind is worth naming where none does."""
PARTS = ("lines", "run", "network", "notes", "proof")
"""What may follow the first screen."""

LABELS = ("Asked", "Buy", "Work", "Money", "Power", "Binds", "Storage", "Left out", "Notes", "More")
"""What its lines begin with."""

_INDENT = max(len(label) for label in LABELS) + 2
_MOST_BINDING = 3


@in_its_currency
def render(plan: Plan, parts: Collection[str] = ()) -> str:
    """Return the first screen, and after it the parts that were asked for.

    Args:
        plan: the plan; of one that buys nothing all is told that `console.render` tells.
        parts: what else to tell.
    """
    if plan.totals is None or not plan.jobs:
        return console.render(plan)
    lines = [console.headline(plan), ""]
    for label, text in answer_lines(plan, plan.totals, plan.jobs[0]):
        lines += labelled(label, text, _INDENT)
    if "notes" not in parts:
        lines += note_lines([*console.idle_texts(plan), *plan.warnings])
    if len(parts) < len(PARTS):
        lines += labelled("More", _more(plan, parts), _INDENT)
    text = "\n".join(lines) + "\n"
    more = console.render_parts(plan, parts)
    return text + (f"\n{more}" if more else "")


def answer_lines(plan: Plan, totals: Totals, job: JobPlan) -> Iterator[tuple[str, str]]:
    """Yield what the first screen says: a label and a sentence each."""
    yield "Asked", question_text(plan, job)
    yield "Buy", _buy(plan, totals)
    yield "Work", _work(plan, totals, job)
    if totals.capex_usd is not None:
        yield "Money", _money(plan, totals)
    yield "Power", _power(plan, totals)
    yield "Binds", _binds(plan)
    yield "Storage", _storage(plan, job)
    left_out = [*plan.not_counted]
    if job.repair is None:
        left_out = [part for part in left_out if part != "spares"] + ["repair and spares"]
    if left_out:
        yield "Left out", listed(left_out)


def question_text(plan: Plan, job: JobPlan) -> str:
    """Return the objective, the job and the limits that people set, in a line."""
    goal = plan.objective
    most = "the most" if goal.sense == "maximize" else "the least"
    within, floors = (
        [of_limit(limit) for limit in plan.limits if limit.name in {row.name for row in rows}]
        for rows in (SUPPLIES, of_group("target"))
    )
    text = f"{most} {objective_label(goal.name)} of {job.name}"
    text += f", with {listed(floors)}" if floors else ""
    return text + (f", within {listed(within)}" if within else "")


def of_limit(limit: LimitReport) -> str:
    """Return a limit in words: its unit often says what it is."""
    value = quantity(limit.limit, limit.unit).replace(".00 ", " ")
    if limit.name in ("facility_power", "racks", "capex"):
        return value + (" at the meter" if limit.name == "facility_power" else "")
    if limit.name == "max_days_to_train":
        return f"training in {value}"
    label = limit.label.removesuffix(", known part")  # of the plan, not of what is asked
    text = f"{value} of {label}"
    if limit.unit in label.split():  # GPUs in use, useful GPUs
        text = f"{value.removesuffix(limit.unit)}{label}"
    return f"{'at least ' if limit.sense == '>=' else ''}{text}"


def _buy(plan: Plan, totals: Totals) -> str:
    """Return GPU systems and storage by name, the rest by how many."""
    own = scope.own_lines(plan)
    systems, storage = (
        [so_many(line.working, product(line)) for line in scope.decided_lines(plan, section)]
        for section in ("Compute", "Storage")
    )
    text = f"{listed(systems)} ({totals.gpus:,} GPUs)" if systems else ""
    text = f"{text} and {listed(storage)}" if text and storage else text or listed(storage)
    beside = []
    switches = sum(f.leaf_switches + f.spine_switches + f.core_switches for f in plan.fabrics)
    if switches:
        beside.append(f"{switches:,} switches")
    if totals.racks is not None:
        beside.append("1 rack" if totals.racks == 1 else f"{totals.racks:,} racks")
    owned = sum(min(line.installed, line.working) for line in own)
    text += f"; in all {listed(beside)}" if beside else ""
    text += f"; {owned:,} of the units are installed already" if owned else ""
    return text + (f"; {standing_idle(plan)}" if plan.idle else "")


def standing_idle(plan: Plan) -> str:
    """Return what is owned and not used, by name; nothing where all of it is."""
    models = {line.sku: product(line) for line in plan.lines}
    idle = [so_many(each.units, models[each.sku]) for each in plan.idle]
    return f"{listed(idle)}, owned, will stand idle" if idle else ""


def _work(plan: Plan, totals: Totals, job: JobPlan) -> str:
    """Return what the job gets done, and how far that is from the best there is."""
    work = f"{job.useful_gpus:,.0f} useful GPUs"
    if job.useful_pflops is not None:
        work = f"{about(job.useful_pflops)} useful PFLOP/s"
    text = f"{work} from {job.gpus_used:,} GPUs at {percent(job.goodput, 2)} goodput"
    if job.repair is not None and job.repair.spares and not job.repair.in_rack:
        text += f"; {spares_standing_by(job.repair)}"
    elif totals.gpus != job.gpus_used:
        text += f" of {totals.gpus:,} in place"
    if job.days_to_train is not None:
        text += f"; trains in {about(job.days_to_train)} days"
    return text


def _money(plan: Plan, totals: Totals) -> str:
    text = f"{money(totals.capex_usd)} to buy"
    if totals.tco_usd is not None and plan.site.years is not None:
        text += f", {money(totals.opex_usd_per_year)} a year to run"
        text += f"; {money(totals.tco_usd)} over {years(plan.site.years)}"
    return text + console.ratios(plan, totals)


def _power(plan: Plan, totals: Totals) -> str:
    text = console.facility(plan, totals)
    if totals.it_power_kw is not None and totals.facility_power_kw is not None:
        text += f", of IT {number(totals.it_power_kw)} kW"
        typical = totals.typical_power_kw
        if typical is not None and typical != totals.it_power_kw:
            text += f", {number(typical)} kW of it typically drawn"
    return text


def _binds(plan: Plan) -> str:
    """Return what holds the plan, and what the next GPU systems would need and give."""
    binding = scope.binding_limits(plan)
    texts = [f"{limit.label} ({_reached(limit)})" for limit in binding[:_MOST_BINDING]]
    left = len(binding) - _MOST_BINDING
    text = listed([*texts, *([f"{left} more"] if left > 0 else [])]) or _nearest(plan)
    step = plan.next_step
    return f"{text}; {next_step(plan, step)}" if step is not None and step.needs else text


def _nearest(plan: Plan) -> str:
    """Return that no limit holds the plan, and which one is nearly used up, if any is."""
    used = [
        (each.value / each.limit, each)
        for each in plan.limits
        if each.sense == "<=" and each.limit > 0.0 and scope.can_run_short(each)
    ]
    share, nearest = max(used, key=lambda one: one[0], default=(0.0, None))
    if nearest is None or share < NEAR:
        return "no limit"
    return f"no limit; nearest is {nearest.label} ({_reached(nearest)})"


def _reached(limit: LimitReport) -> str:
    value, most = quantity(limit.value, limit.unit), quantity(limit.limit, limit.unit)
    if limit.sense == ">=":
        if value == most:
            return value
        return f"{value}; a unit fewer would miss {most}"
    amount, _, unit = value.partition(" ")
    return f"{amount if most.endswith(f' {unit}') else value} of {most}"


def _storage(plan: Plan, job: JobPlan) -> str:
    """Return what the checkpoints need, who could give it, and whether prices decide."""
    each = f"a checkpoint of {size(job.checkpoint_gb)} every {duration(job.interval_s)}"
    found = plan.storage_options
    if found is None:
        drain = "GPUs wait" if job.mode == "sync" else "it drains"
        busy_s = job.stall_s if job.mode == "sync" else job.drain_s
        write = f"{about(job.delivered_write_gb_per_s)} GB/s of write"
        return f"{each}; with {write} {drain} in {duration(busy_s)}"
    *_, close = why_text.needs(plan, found).partition(": ")
    return f"{each} {why_text.needed(plan, found)}: {close}; {why_text.decided(plan, found)}"


def _more(plan: Plan, parts: Collection[str]) -> str:
    """Return the option that shows more, with its choices."""
    notes = len(plan.warnings) + len(plan.idle)
    options = {
        "lines": "lines (the bill)",
        "run": "run (operation)",
        "network": "network" if plan.fabrics else "",
        "notes": f"notes (all {notes})" if notes > MOST_NOTES else "",
        "proof": "proof",
    }
    left = [text for part, text in options.items() if text and part not in parts]
    return f"--show {', '.join(left)}" if left else ""
