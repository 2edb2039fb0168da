"""The first part of the screen: what to buy, what it costs to run, what it draws and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from planner.outputs import scope
from planner.outputs.words import (
    days,
    given_away,
    money,
    number,
    percent,
    product,
    wrapped,
)
from planner.schema.plan import Line, Plan, Section, Totals
from planner.terminal import width

_INDENT = "  "
_GAP = "  "
_RIGHT = (True, False, True, True, True, True)
_SHORTEST_SHARE = 0.0005
_SHORTEST_NAME = 12
_CRITICAL = 2
"""How many of the items with the longest lead time are named."""


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
    elif line.section == "Storage":
        gives = f"{line.read_gb_per_s:,.0f}/{line.write_gb_per_s:,.0f} GB/s read/write"
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
    times = " x" if line.model[:1].isdigit() else ""
    return f"{line.quantity:,}{times} {line.model}"


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
    span = widths[1] + len(_GAP) + widths[2]
    lines = [_joined([row[0], row[1][: widths[1]], *row[2:]], widths, _RIGHT) for row in rows]
    for name, parts, sums in sections:
        cells, spans = ["", _fitted(name, parts, span), *sums], [widths[0], span, *widths[3:]]
        lines.append(_joined(cells, spans, (True, False, True, True, True)))
    return [*lines, _joined(total, widths, _RIGHT)]


def _widths(rows: list[list[str]], sections: list[Summed]) -> list[int]:
    """Return the width of each column: room for what the sections hold, within the screen."""
    ends = [["", "", "", *sums] for _, _, sums in sections]
    widths = [max(len(row[column]) for row in [*rows, *ends]) for column in range(6)]
    spare = width() - len(_INDENT) - sum(widths) - len(_GAP) * (len(widths) - 1)
    if spare < 0:
        widths[1] = max(_SHORTEST_NAME, widths[1] + spare)
    span = widths[1] + len(_GAP) + widths[2]
    wanted = max((len(f"{name}: {', '.join(parts)}") for name, parts, _ in sections), default=0)
    widths[2] += max(0, min(wanted - span, spare))
    return widths


def _joined(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    placed = zip(cells, widths, right, strict=True)
    text = _GAP.join(cell.rjust(width) if r else cell.ljust(width) for cell, width, r in placed)
    return f"{_INDENT}{text}".rstrip()


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
    facility = _facility(plan, totals)
    money_text = _running(plan, totals)
    if full or scope.cooled_by_liquid(plan):
        yield "; ".join(text for text in (facility, _heat(totals)) if text)
        yield from [money_text] if money_text else []
    else:
        yield f"{facility}; {money_text}" if money_text else facility
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


def _facility(plan: Plan, totals: Totals) -> str:
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
        f"TCO over {plan.site.years:g} years {money(totals.tco_usd)}{discounted}"
    )
    return f"{text}{_ratios(plan, totals)}"


def _ratios(plan: Plan, totals: Totals) -> str:
    """Return what useful work costs: a figure that only a complete bill or a limit makes sense
    of."""
    ratios = (
        ("per_useful_gpu_hour", totals.usd_per_useful_gpu_hour, "useful GPU-hour"),
        ("per_million_tokens", totals.usd_per_million_tokens, "million tokens"),
    )
    shown = [
        f"{f'{usd:,.2f}' if usd >= 1 else f'{usd:.3g}'} USD per {what}"
        for name, usd, what in ratios
        if usd is not None and (scope.complete(plan) or scope.limited(plan, name))
    ]
    return f"; {', '.join(shown)}" if shown else ""


def _lead_time(plan: Plan, totals: Totals, longest_days: float) -> str:
    names = {line.sku: product(line) for line in plan.lines}
    critical = [names.get(sku, sku) for sku in totals.critical_skus]
    more = len(critical) - _CRITICAL
    listed = ", ".join(critical[:_CRITICAL]) + (f" and {more} more" if more > 0 else "")
    return f"longest lead time {days(longest_days)}" + (f": {listed}" if listed else "")
