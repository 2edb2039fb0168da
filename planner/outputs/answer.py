"""The screen of a plan: figures, purchase, limits as bars, cost, storage, next step, notes.

What else there is to read is in `planner.outputs.console`, part by part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from planner.figures import FIGURES, objective_label
from planner.limits import SUPPLIES, of_group
from planner.outputs import console, paint, scope, why_text
from planner.outputs.restated import in_its_currency
from planner.outputs.words import (
    about,
    days,
    duration,
    fitted,
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
from planner.terminal import width

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

PARTS = ("lines", "run", "network", "notes", "proof")
"""What may follow the first screen."""
LABELS = ("Objective", "Cost", "Power", "Checkpoint", "Storage", "Next step", "Idle", "Excluded",
          "Notes", "More")  # fmt: skip
_TILES = ("useful_pflops", "useful_gpus", "gpus_used", "goodput", "capex_usd", "facility_power_kw",
          "days_to_train")  # fmt: skip
_MOST_TILES, _MOST_LIMITS, _MOST_NOTES = 5, 6, 3


@in_its_currency
def render(plan: Plan, parts: Collection[str] = (), *, styled: bool = False) -> str:
    """Return the first screen, and after it the parts asked for.

    Args:
        plan: the plan; of one that buys nothing everything is shown.
        parts: what else to show, of ``PARTS``.
        styled: with escape sequences for colours.
    """
    if plan.totals is None or not plan.jobs:
        return console.render(plan)
    text = paint.rendered(_screen(plan, plan.totals, plan.jobs[0], parts), styled=styled)
    more = console.render_parts(plan, parts)
    return text + (f"\n{more}" if more else "")


def _screen(
    plan: Plan, totals: Totals, job: JobPlan, parts: Collection[str]
) -> Iterator[RenderableType]:
    name, _, status = console.headline(plan).partition("  (")
    yield paint.words(name, "bold").append_text(paint.words(f"  ({status}", "not bold dim"))
    yield paint.tiles(list(tile_texts(totals, job)))
    yield from ("", paint.heading("Buy" if _buys(plan) else "Run what is installed"))
    yield console.purchase(plan, totals)
    yield from ("", paint.heading("Limits"), _limits(plan), "")
    rows = [(label, text) for label, text in answer_lines(plan, totals, job) if text]
    notes = [*console.idle_texts(plan), *plan.warnings]
    if "notes" not in parts:
        rows += _notes(notes)
    rows += [("More", _more(len(notes), parts, networks=bool(plan.fabrics)))]
    yield paint.grid(("", ""), [(paint.words(a, "bold"), b) for a, b in rows if b], (0, 1))


def _buys(plan: Plan) -> bool:
    return any(line.purchased for line in scope.own_lines(plan))


def tile_texts(totals: Totals, job: JobPlan) -> Iterator[tuple[str, str]]:
    """Yield the figures a plan is known by, each with its label."""
    found = []
    for name in _TILES:
        value = getattr(job, name, None) or getattr(totals, name, None)
        if value is None or (name == "useful_gpus" and job.useful_pflops is not None):
            continue
        label = "facility power" if name == "facility_power_kw" else FIGURES[name].label
        found.append((_figure(name, value), label))
    yield from found[:_MOST_TILES]


def _figure(name: str, value: float) -> str:
    unit = FIGURES[name].unit
    if unit == "USD":
        return money(value)
    if unit == "share":
        return percent(value, 2)
    if unit == "kW" and value >= 1e3:
        return f"{value / 1e3:,.2f} MW"
    return f"{value:,.0f} {unit if unit not in FIGURES[name].label else ''}".rstrip()


def _limits(plan: Plan) -> Table:
    """Return the limits as bars: those that bind, then the nearest."""
    there = [limit for limit in plan.limits if scope.can_run_short(limit)]
    ordered = sorted(there, key=lambda one: (not one.binding, -_share(one)))
    most = max(_MOST_LIMITS, sum(limit.binding for limit in there))
    length = paint.BAR if width() >= 100 else paint.BAR * 2 // 3
    length = length if width() >= paint.WIDE else paint.BAR // 2
    rows = [
        (
            paint.words(limit.label),
            paint.bar(_share(limit), binding=limit.binding, length=length),
            paint.words(reached(limit)),
            paint.words("binding", "bold red") if limit.binding else "",
        )
        for limit in ordered[:most]
    ]
    table = paint.grid(("", "", "", ""), rows, (0, 1, 2, 3))
    table.columns[1].no_wrap = True
    return table


def _share(limit: LimitReport) -> float:
    """Return the share of a ceiling that is used, or of what is there that a floor needs."""
    part, whole = (limit.value, limit.limit) if limit.sense == "<=" else (limit.limit, limit.value)
    return min(1.0, part / whole) if whole else 1.0


def reached(limit: LimitReport) -> str:
    """Return the value of a limit beside what is allowed, the unit once."""
    value, bound = quantity(limit.value, limit.unit), quantity(limit.limit, limit.unit)
    amount, _, unit = value.partition(" ")
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
        *_, close = why_text.needs(plan, found).partition(": ")
        yield "Storage", f"{close}; {why_text.decided(plan, found)}"
    step = plan.next_step
    yield "Next step", next_step(plan, step) if step is not None and step.needs else ""
    yield "Idle", standing_idle(plan)
    excluded = [*plan.not_counted]
    if job.repair is None:
        excluded = [part for part in excluded if part != "spares"] + ["repair and spares"]
    yield "Excluded", listed(excluded)


def question_text(plan: Plan, job: JobPlan) -> str:
    """Return the objective, the job, and the limits that people set, in a line."""
    goal = plan.objective
    within, floors = (
        [of_limit(limit) for limit in plan.limits if limit.name in {row.name for row in rows}]
        for rows in (SUPPLIES, of_group("target"))
    )
    text = f"{goal.sense} {objective_label(goal.name)}, job {job.name}"
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


def _cost(plan: Plan, totals: Totals) -> str:
    if totals.capex_usd is None:
        return ""
    text = f"capex {money(totals.capex_usd)}"
    if totals.tco_usd is not None and plan.site.years is not None:
        text += f", opex {money(totals.opex_usd_per_year)}/year"
        text += f", TCO {money(totals.tco_usd)} ({years(plan.site.years)})"
    text += console.ratios(plan, totals)
    return text + (f"; longest lead time {days(d)}" if (d := totals.lead_time_days) else "")


def _power(plan: Plan, totals: Totals) -> str:
    text = console.facility(plan, totals)
    if totals.it_power_kw is not None and totals.facility_power_kw is not None:
        text += f", {number(totals.it_power_kw)} kW IT load"
        typical = totals.typical_power_kw
        if typical is not None and typical != totals.it_power_kw:
            text += f", {number(typical)} kW typical"
    return text + (f"; {totals.racks:,} racks" if totals.racks is not None else "")


def _checkpoint(plan: Plan, job: JobPlan) -> str:
    """Return size and interval, and what any storage must deliver for them."""
    text = f"{size(job.checkpoint_gb)} every {duration(job.interval_s)}"
    if job.repair is not None and job.repair.spares and not job.repair.in_rack:
        kind = "system" if job.repair.unit == "system" else "tray"
        text += f"; {job.repair.spares:,} hot spare {kind}{'s' if job.repair.spares > 1 else ''}"
    found = plan.storage_options
    if found is not None:
        return f"{text}; {why_text.needed(plan, found)}"
    wait = "GPUs wait" if job.mode == "sync" else "drains in"
    busy_s = job.stall_s if job.mode == "sync" else job.drain_s
    return f"{text}; {about(job.delivered_write_gb_per_s)} GB/s write, {wait} {duration(busy_s)}"


def standing_idle(plan: Plan) -> str:
    """Return what is owned and not used, by name; nothing where all of it is."""
    models = {line.sku: product(line) for line in plan.lines}
    idle = [so_many(each.units, models[each.sku]) for each in plan.idle]
    return f"{listed(idle)}, owned, will stand idle" if idle else ""


def _notes(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the first notes, a line each."""
    room = width() - max(map(len, LABELS)) - 4
    for at, text in enumerate(texts[:_MOST_NOTES]):
        yield ("" if at else "Notes"), f"- {fitted(' '.join(text.split()), room)}"


def _more(notes: int, parts: Collection[str], *, networks: bool) -> str:
    """Return the option that shows more, with its choices."""
    options = {
        "lines": "lines (the bill)",
        "run": "run (operation)",
        "network": "network" if networks else "",
        "notes": f"notes (all {notes})" if notes else "",
        "proof": "proof",
    }
    left = [text for part, text in options.items() if text and part not in parts]
    return f"--show {', '.join(left)}" if left else ""
