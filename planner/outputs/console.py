"""The screen that answers: what to buy, at what cost, how it runs, what binds, how far proven."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from planner.outputs import paint, scope, why_text
from planner.outputs.blocks import join_parts
from planner.outputs.restated import in_its_currency
from planner.outputs.run_text import run_part
from planner.outputs.scope import CORE_SECTIONS
from planner.outputs.why_text import explanation
from planner.outputs.words import (
    INDENT,
    NETWORKS,
    about,
    days,
    given_away,
    money,
    number,
    percent,
    points,
    product,
    program_proof,
    proof,
    quantity,
    results,
    status,
    wrapped,
    years,
)
from planner.schema.plan import (
    FabricReport,
    Line,
    Plan,
    Totals,
)
from planner.terminal import width

if TYPE_CHECKING:
    from rich.table import Table

_GAP = "  "
_RIGHT = (True, False, True, True, True, True)
_SHORTEST_SHARE = 0.0005
_SHORTEST_NAME = 12
_CRITICAL = 2
"""How many of the items with the longest lead time are named."""

FABRICS_NOT_COUNTED = ("compute fabric", "storage fabric", "racks")
NOT_COUNTED_TAKES = (
    "in complete plans these take 11 to 17 % of capex, 8 to 12 % of the power and 15 to 49 % of "
    "the racks; docs/bill.md tells how to count them"
)
"""As in the shipped problems with a complete bill; a test holds it against them."""

NO_REPAIR = (
    "repair and spares are not in these figures: hardware that fails counts as there again after "
    "the restart; repair: {share, time} of the job states how it is mended"
)

_MOST_LINES = 3
"""Lines of one note next to a long bill; the workbook has all of it."""


def bill(plan: Plan, totals: Totals) -> str:
    """Return every line of the bill, and its sums in words."""
    lines = [line for text in filter(None, [given_away(plan)]) for line in wrapped(text)]
    lines += [line for text in _texts(plan, totals) for line in wrapped(text)]
    title = "Buy" if any(line.purchased for line in plan.lines) else "Run what is installed"
    table = paint.rendered([purchase(plan, totals, every=True)])
    return "\n".join([title, table.rstrip("\n"), *lines])


def purchase(plan: Plan, totals: Totals, *, every: bool = False) -> Table:
    """Return the bill as a table: all lines, or a line for each section beyond GPUs and storage.

    Args:
        plan: the plan.
        totals: its sums.
        every: whether each line is shown.
    """
    lines = scope.own_lines(plan)
    shown = results([line.extended_net_usd for line in lines] + [totals.capex_usd], "USD")
    shown = shown._replace(digits=min(2, shown.digits))
    detailed = width() >= paint.WIDE
    rows: list[tuple[str, ...]] = []
    for section in dict.fromkeys(line.section for line in lines):
        there = [line for line in lines if line.section == section]
        if every or section in scope.CORE_SECTIONS:
            rows += [_line(line, shown.text(line.extended_net_usd)) for line in there]
        else:
            cost = _known([line.extended_net_usd if line.purchased else 0.0 for line in there])
            power = _known([line.it_power_kw for line in there])
            count = f"{section}: {len(there)} item{'s' if len(there) > 1 else ''}"
            yearly = sum(line.subscription_usd_per_year or 0.0 for line in there)
            price = f"{money(yearly)}/year" if cost == 0.0 and yearly else shown.text(cost)
            rows.append(("", count, price, number(power), ""))
    total = ("", "Total", shown.text(totals.capex_usd), number(totals.it_power_kw), "")
    keep = 5 if detailed else 3
    heads = ("", "item", shown.unit, "IT kW", "lead time")
    table = paint.grid(heads[:keep], [row[:keep] for row in rows], (1, 4))
    table.add_row(*(paint.words(cell, "bold") for cell in total[:keep]))
    return table


def _line(line: Line, price: str) -> tuple[str, ...]:
    """Return a line of the bill: units, product and what of it is installed, price, power."""
    said = []
    if line.section == "Components":
        said.append("in store")
    elif not line.working:
        said.append("idle")
    if line.bulk_tb:
        said.append(f"{about(line.bulk_tb)} TB of bulk data")
    if line.installed:
        said.append(f"{min(line.installed, line.quantity):,} installed")
    if line.idle and line.working:
        said.append(f"{line.idle:,} idle")
    units = "" if line.section == "Services" else f"{line.quantity or line.spares:,}"
    name = product(line) + (f" ({', '.join(said)})" if said else "")
    paid = price if line.purchased or line.section == "Components" else "-"
    return units, name, paid, number(line.it_power_kw), line.lead_time or ""


def _known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _texts(plan: Plan, totals: Totals) -> Iterator[str]:
    full = scope.complete(plan)
    if full and totals.capex_usd:
        yield _shares(totals, totals.capex_usd)
    at_meter = facility(plan, totals)
    money_text = _running(plan, totals)
    if full or scope.cooled_by_liquid(plan):
        yield "; ".join(text for text in (at_meter, _heat(totals)) if text)
        yield from [money_text] if money_text else []
    else:
        yield f"{at_meter}; {money_text}" if money_text else at_meter
    if full and totals.lead_time_days:
        yield _lead_time(plan, totals, totals.lead_time_days)


def _shares(totals: Totals, capex_usd: float) -> str:
    """Return how capex divides; a section without a visible share is left out."""
    shares = [
        f"{section.lower()} {percent(usd / capex_usd)}"
        for section, usd in totals.capex_by_section_usd.items()
        if usd / capex_usd >= _SHORTEST_SHARE
    ]
    return "capex: " + ", ".join(shares)


def facility(plan: Plan, totals: Totals) -> str:
    """Return the power at the meter with its PUE."""
    if totals.facility_power_kw is None:
        return "the power draw is not known in full"
    pue = f"PUE {plan.site.pue:g}"
    if scope.two_pues(plan):
        pue += f" air, {plan.site.pue_liquid:g} liquid"
    return f"{totals.facility_power_kw:,.0f} kW at the meter ({pue})"


def _heat(totals: Totals) -> str:
    parts = []
    if totals.typical_power_kw is not None and totals.typical_power_kw != totals.it_power_kw:
        parts.append(f"IT typically draws {totals.typical_power_kw:,.0f} kW")
    if totals.heat_liquid_kw and totals.heat_air_kw is not None:
        air, liquid = totals.heat_air_kw, totals.heat_liquid_kw
        parts.append(f"heat {air:,.0f} kW to air, {liquid:,.0f} kW to liquid")
    return "; ".join(parts)


def _running(plan: Plan, totals: Totals) -> str:
    """Return what it costs to run and in all; empty without a term."""
    if totals.tco_usd is None or plan.site.years is None:
        return ""
    parts = [
        ("energy", totals.energy_usd_per_year),
        ("support", totals.support_usd_per_year),
        ("subscriptions", totals.subscriptions_usd_per_year),
        ("colocation", totals.colocation_usd_per_year),
    ]
    what = "energy and support"
    if scope.complete(plan) or any(usd for _, usd in parts[2:]):
        what = ", ".join(f"{name} {money(usd)}" for name, usd in parts if usd)
    rate = plan.site.discount_rate
    discounted = f", discounted at {100 * rate:g} % a year" if rate else ""
    text = (
        f"{money(totals.opex_usd_per_year)} a year to run ({what}); "
        f"TCO over {years(plan.site.years)} {money(totals.tco_usd)}{discounted}"
    )
    return f"{text}{ratios(plan, totals)}"


def ratios(plan: Plan, totals: Totals) -> str:
    """Return what useful work costs, where that says something."""
    each = (
        ("per_useful_gpu_hour", totals.usd_per_useful_gpu_hour, "useful GPU-hour"),
        ("per_million_tokens", totals.usd_per_million_tokens, "million tokens"),
    )
    code = plan.shown_in.code
    shown = [
        f"{f'{usd:,.2f}' if usd >= 1 else f'{usd:.3g}'} {code} per {what}"
        for name, usd, what in each
        if usd is not None and scope.tells_ratio(plan, name)
    ]
    return f"; {', '.join(shown)}" if shown else ""


def _lead_time(plan: Plan, totals: Totals, longest_days: float) -> str:
    names = {line.sku: product(line) for line in plan.lines}
    critical = [names.get(sku, sku) for sku in totals.critical_skus]
    more = len(critical) - _CRITICAL
    listed = ", ".join(critical[:_CRITICAL]) + (f" and {more} more" if more > 0 else "")
    return f"longest lead time {days(longest_days)}" + (f": {listed}" if listed else "")


@in_its_currency
def render(plan: Plan) -> str:
    """Return the whole screen, at most as many columns as the terminal has wide."""
    parts = [_title(plan)]
    if plan.infeasibility is not None:
        parts.append(explanation(plan.infeasibility))
    elif plan.message:
        parts.append("\n".join(wrapped(plan.message)))
    if plan.totals is not None and plan.jobs:
        parts += [bill(plan, plan.totals), why_text.headline(plan)]
        parts += [standing_idle(plan), _fabrics(plan)]
        parts += [run_part(plan, plan.jobs[0]), _limits(plan)]
        parts += [_proof(plan), _notes(plan)]
    return join_parts(parts)


@in_its_currency
def render_parts(plan: Plan, parts: Collection[str]) -> str:
    """Return those parts of the screen that are named: lines, run, network, notes, proof."""
    assert plan.totals is not None
    totals, job = plan.totals, plan.jobs[0]
    writers: dict[str, Callable[[], list[str]]] = {
        "lines": lambda: [bill(plan, totals), why_text.headline(plan)],
        "run": lambda: [run_part(plan, job), _limits(plan)],
        "network": lambda: [_fabrics(plan)],
        "proof": lambda: [_proof(plan)],
        "notes": lambda: [standing_idle(plan), _notes(plan, whole=True)],
    }
    chosen = [text for part, tell in writers.items() if part in parts for text in tell()]
    return join_parts(chosen) if any(chosen) else ""


def headline(plan: Plan) -> str:
    """Return what the plan is of, and how good it is."""
    scenario = plan.provenance.scenario
    name = plan.problem if scenario is None else f"{plan.problem}, scenario {scenario}"
    if not plan.verdict:
        return f"{name}  ({status(plan)})"
    return "\n".join(wrapped(f"{name}  ({status(plan)})", ""))


def _title(plan: Plan) -> str:
    title = headline(plan)
    if plan.jobs and plan.jobs[0].repair is None:
        title = "\n".join([title, *wrapped(NO_REPAIR)])
    if not plan.not_counted:
        return title
    parts = f"not counted: {', '.join(plan.not_counted)}"
    if any(name in plan.not_counted for name in FABRICS_NOT_COUNTED):
        parts += f"; {NOT_COUNTED_TAKES}"
    return "\n".join([title, *wrapped(parts)])


def idle_texts(plan: Plan) -> list[str]:
    """Return what is owned and not used, and why."""
    models = {line.sku: product(line) for line in plan.lines}
    return [
        f"{each.units:,} {models[each.sku]}, owned: {each.reason or 'not in use'}"
        for each in plan.idle
    ]


def standing_idle(plan: Plan) -> str:
    """Return what is owned and not used: why, and what would use it or let it go."""
    lines = []
    for each, text in zip(plan.idle, idle_texts(plan), strict=True):
        lines += wrapped(text)
        lines += wrapped(each.fix, 2 * INDENT, 2 * INDENT) if each.fix else []
    return "Stand idle\n" + "\n".join(lines) if lines else ""


def _fabrics(plan: Plan) -> str:
    lines = [line for fabric in plan.fabrics for line in wrapped(_fabric(plan, fabric))]
    return "Connect\n" + "\n".join(lines) if lines else ""


def _fabric(plan: Plan, fabric: FabricReport) -> str:
    """Return one fabric in a line: its switches by tier, how even it is, how full."""
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
    return f"{NETWORKS[fabric.network]}: {planes}{shape}{full}"


def _limits(plan: Plan) -> str:
    binding = [limit for limit in plan.limits if limit.binding]
    if not binding:
        return "Binding limits\n" + f"{INDENT}none"
    lines = []
    for limit in binding:
        sense = "of at most" if limit.sense == "<=" else "of at least"
        if limit.exact:
            sense = "of exactly"
        source = f" ({limit.source})" if limit.source else ""
        value, most = quantity(limit.value, limit.unit), quantity(limit.limit, limit.unit)
        lines += wrapped(f"{limit.label}: {value} {sense} {most}{source}")
    return "Binding limits\n" + "\n".join(lines)


def _proof(plan: Plan) -> str:
    text = proof(plan.objective)
    made = plan.provenance
    solver = {"highs": "HiGHS", "cbc": "CBC"}[made.solver]
    by = f"{solver}, {made.iterations} solves" if made.iterations else "by enumeration"
    seconds = "" if made.seconds is None else f", {made.seconds:.2f} s"
    text += f"; {by}{seconds}; verified by independent arithmetic"
    lines = wrapped(text)
    program = program_proof(plan.objective)
    if program is not None:
        lines += wrapped(program)
    return "Proof\n" + "\n".join(lines)


def _notes(plan: Plan, *, whole: bool = False) -> str:
    """Return the warnings: whole, or without details of what comes with GPU systems and storage."""
    if whole:
        every = [line for text in plan.warnings for line in _note(text)]
        return "Read this too\n" + "\n".join(every) if every else ""
    companions = [line for line in scope.own_lines(plan) if line.section not in CORE_SECTIONS]
    details = tuple(f"price of {line.model}:" for line in companions)
    shown = [text for text in plan.warnings if not (details and text.startswith(details))]
    notes = [line for text in shown for line in _note(text, short=bool(companions))]
    left = len(plan.warnings) - len(shown)
    if left:
        notes += _note(f"{left} more notes on prices stand in the bill of the workbook")
    return "Read this too\n" + "\n".join(notes) if notes else ""


def _note(text: str, *, short: bool = False) -> list[str]:
    lines = points(text)
    if not short or len(lines) <= _MOST_LINES:
        return lines
    return [*lines[: _MOST_LINES - 1], lines[_MOST_LINES - 1][: width() - 4].rstrip(" ,") + " ..."]
