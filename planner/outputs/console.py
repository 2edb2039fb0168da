"""The screen that answers: what to buy, at what cost, how it runs, what binds, how far proven."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import get_args

from planner import currency
from planner.outputs import scope, why_text
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
    in_money,
    money,
    number,
    percent,
    points,
    product,
    program_proof,
    proof,
    quantity,
    so_many,
    status,
    wrapped,
    years,
)
from planner.schema.plan import (
    FabricReport,
    Line,
    Plan,
    Section,
    Totals,
)
from planner.terminal import width

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
    """Return the bill: GPU systems and storage line by line, the rest a line per section."""
    known = scope.own_lines(plan)
    rows = [["", "item", "gives", "IT kW", "racks", "price"]]
    rows += [_row(line) for line in known if line.section in scope.CORE_SECTIONS]
    sections = _sections(plan, known)
    power = number(totals.it_power_kw, 1)
    if totals.it_power_kw is None:
        power = f"over {sum(line.it_power_kw or 0.0 for line in known):,.1f}"
    total = ["", "together", f"{totals.gpus:,} GPUs", power]
    total += [number(totals.racks), money(totals.capex_usd)]
    lines = _table(rows, sections, total)
    for text in (*filter(None, [given_away(plan)]), *_texts(plan, totals)):
        lines += wrapped(text)
    bought = any(line.purchased for line in known)
    return ("Buy\n" if bought else "Run what is installed\n") + "\n".join(lines)


def _row(line: Line) -> list[str]:
    if line.section == "Components":  # spare parts: in store, not in place
        return [
            f"{line.spares:,}",
            product(line)[:44],
            "in store",
            "",
            "",
            money(line.extended_net_usd),
        ]
    gives = f"{line.gpus:,} GPUs"
    if not line.working:
        gives = "stands idle"
    elif line.bulk_tb:
        gives = f"{about(line.bulk_tb)} TB of bulk data"
    elif line.section == "Storage":
        gives = f"{about(line.read_gb_per_s)}/{about(line.write_gb_per_s)} GB/s read/write"
    price = money(line.extended_net_usd)
    if line.installed:
        installed = f"{min(line.installed, line.quantity):,} installed"
        if line.idle and line.working:
            installed += f", {line.idle:,} idle"
        price = f"{price} ({installed})" if line.purchased else installed
    name = product(line)[:44]
    racks = "" if line.racks is None else f"{line.racks:,}"
    return [f"{line.quantity:,}", name, gives, number(line.it_power_kw, 1), racks, price]


Summed = tuple[str, list[str], list[str]]
"""A section: its name, what is in it by falling price, and its power, racks and price."""


def _sections(plan: Plan, known: Sequence[Line]) -> list[Summed]:
    """Return the sections beyond GPU systems and storage; shared racks count in the first."""
    shared = scope.shared_racks(plan)
    result: list[Summed] = []
    for section in get_args(Section):
        lines = [line for line in known if line.section == section]
        if not lines or section in scope.CORE_SECTIONS:
            continue
        lines.sort(key=lambda line: -(line.extended_net_usd or 0.0))
        racks = sum(line.racks or 0 for line in lines) + shared
        shared = 0
        power = _sum([line.it_power_kw for line in lines])
        price = _sum([line.extended_net_usd if line.purchased else 0.0 for line in lines])
        sums = [number(power, 1), f"{racks:,}" if racks else "", _price(lines, price)]
        result.append((section, [_counted(line) for line in lines], sums))
    return result


def _counted(line: Line) -> str:
    if line.section == "Services":  # counted by racks, by kW, by hundreds of dollars
        return line.model
    return so_many(line.quantity, line.model)


def _price(lines: Sequence[Line], price: float | None) -> str:
    """Return what a section costs: at once, or by the year where nothing is paid at once."""
    if price is None:  # some of it; what costs nothing known is told in the notes
        known = sum(line.extended_net_usd or 0.0 for line in lines)
        return f"over {money(known)}" if known else money(None)
    yearly = _sum([line.subscription_usd_per_year or 0.0 for line in lines])
    return f"{money(yearly)}/year" if price == 0.0 and yearly else money(price)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _table(rows: list[list[str]], sections: list[Summed], total: list[str]) -> list[str]:
    """Return the rows in columns; what a section holds spans the columns of item and gives."""
    widths = _widths([*rows, total], sections)
    if len(INDENT) + sum(widths) + len(_GAP) * (len(widths) - 1) > width():
        return _without_columns(rows[1:], sections, total)
    span = widths[1] + len(_GAP) + widths[2]
    lines = []
    for row in rows:  # a name that a narrow screen has no room for goes on under its line
        name, *rest = textwrap.wrap(row[1], widths[1]) or [""]
        lines.append(_joined([row[0], name, *row[2:]], widths, _RIGHT))
        lines += [_joined(["", part, "", "", "", ""], widths, _RIGHT) for part in rest]
    for name, parts, sums in sections:
        cells, spans = ["", _fitted(name, parts, span), *sums], [widths[0], span, *widths[3:]]
        lines.append(_joined(cells, spans, (True, False, True, True, True)))
    return [*lines, _joined(total, widths, _RIGHT)]


def _without_columns(rows: list[list[str]], sections: list[Summed], total: list[str]) -> list[str]:
    """Return the bill for a screen with no room for columns: figures stand under their name."""
    lines_above = [
        *rows,
        *(["", f"{name}: {', '.join(parts)}", "", *sums] for name, parts, sums in sections),
    ]
    most = max(len(row[0]) for row in rows) if rows else 0
    lines = []
    for count, name, gives, power, racks, price in [*lines_above, total]:
        under = INDENT + " " * (most + len(_GAP))
        lines += wrapped(name, f"{INDENT}{count:>{most}}{_GAP}", under)
        racks = racks and f"{racks} rack{'' if racks == '1' else 's'}"
        figures = (gives, power and f"{power} kW", racks, price)
        lines += wrapped(", ".join(filter(None, figures)), under, under)
    return lines


def _widths(rows: list[list[str]], sections: list[Summed]) -> list[int]:
    """Return the width of each column: room for what the sections hold, within the screen."""
    ends = [["", "", "", *sums] for _, _, sums in sections]
    widths = [max(len(row[column]) for row in [*rows, *ends]) for column in range(6)]
    spare = width() - len(INDENT) - sum(widths) - len(_GAP) * (len(widths) - 1)
    if spare < 0:
        widths[1] = max(_SHORTEST_NAME, widths[1] + spare)
    span = widths[1] + len(_GAP) + widths[2]
    wanted = max((len(f"{name}: {', '.join(parts)}") for name, parts, _ in sections), default=0)
    widths[2] += max(0, min(wanted - span, spare))
    return widths


def _joined(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    placed = zip(cells, widths, right, strict=True)
    text = _GAP.join(cell.rjust(width) if r else cell.ljust(width) for cell, width, r in placed)
    return f"{INDENT}{text}".rstrip()


def _fitted(name: str, parts: Sequence[str], width: int) -> str:
    """Return a section's name and as much of its content as fits."""
    for kept in range(len(parts), 0, -1):
        left = len(parts) - kept
        more = f", +{left} more" if left else ""
        text = f"{name}: {', '.join(parts[:kept])}{more}"
        if len(text) <= width:
            return text
    text = f"{name}: {len(parts)} items"
    return text if len(text) <= width else name[:width]


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
    paid, code = currency.current().of, in_money("USD")
    shown = [
        f"{f'{paid(usd):,.2f}' if paid(usd) >= 1 else f'{paid(usd):.3g}'} {code} per {what}"
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
