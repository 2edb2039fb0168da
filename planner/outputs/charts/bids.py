"""The picture of bids: what each costs, how much of that nobody quoted, and how far it may lie."""

from __future__ import annotations

import math

from planner.outputs.bids_text import (
    STATE_WORDS,
    name_of,
    ranked,
)
from planner.outputs.charts.model import ROW_MIDDLE, Axis, Bars, Chart, Panel, Whiskers
from planner.outputs.charts.words import (
    axis_scale,
    in_scale,
    short,
)
from planner.outputs.words import about, money
from planner.schema.bids import Bid, Bids

_LABEL = 60
_THICKNESS = 0.34


def charts(study: Bids) -> tuple[Chart, ...]:
    """Return the chart of bids."""
    title = heading(study)
    shown = [*ranked(study), *(bid for bid in study.bids if bid.figures and not bid.rank)]
    if not shown:
        return (Chart("bids", title, study.message or "There is nothing to draw."),)
    totals = [_total(study, bid) for bid in shown]
    unit = axis_scale(totals, "USD")
    rows = tuple(place + ROW_MIDDLE for place in range(len(shown)))
    own = [total - bid.lacks_usd for total, bid in zip(totals, shown, strict=True)]
    hovers = tuple(_hover(study, bid, total) for bid, total in zip(shown, totals, strict=True))
    ends = [_ends(bid, total) for bid, total in zip(shown, totals, strict=True)]
    what = "over the term" if study.money == "tco" else "at once"
    panel = Panel(
        Axis(f"paid {what}", unit.unit),
        Axis(""),
        (
            Bars("quoted, with energy and colocation", rows, (0.0,) * len(shown),
                 in_scale(own, unit), hovers, ("",) * len(shown), "main", False, _THICKNESS),
            Bars("not quoted, at the book's rates", rows, in_scale(own, unit),
                 in_scale(totals, unit), hovers, tuple(money(total) for total in totals),
                 "second", True, _THICKNESS),
            Whiskers("within the book's ranges", rows, in_scale([low for low, _ in ends], unit),
                     in_scale([high for _, high in ends], unit)),
        ),
        rows=tuple(_row(bid) for bid in shown),
    )  # fmt: skip
    text = "Bids that meet every limit are on top, the best first."
    return (Chart("bids", title, text, (panel,)),)


def heading(study: Bids) -> str:
    """Return the title of bids."""
    return f"{len(study.bids)} bids on {short(study.problem, 40)}"


def _total(study: Bids, bid: Bid) -> float:
    figures = bid.figures
    assert figures is not None
    return (figures.tco_usd if study.money == "tco" else figures.capex_usd) or 0.0


def _ends(bid: Bid, total: float) -> tuple[float, float]:
    low = math.fsum(lack.low_usd - lack.usd for lack in bid.lacks)
    high = math.fsum(lack.high_usd - lack.usd for lack in bid.lacks)
    return total + low, total + high


def _row(bid: Bid) -> str:
    rank = f"{bid.rank}. " if bid.rank else ""
    return short(f"{rank}{name_of(bid)}: {STATE_WORDS[bid.state]}", _LABEL)


def _hover(study: Bids, bid: Bid, total: float) -> str:
    figures = bid.figures
    assert figures is not None
    work = f"{figures.useful_gpus:,.0f} useful GPUs"
    if figures.useful_pflops is not None:
        work = f"{about(figures.useful_pflops)} useful PFLOP/s"
    return "\n".join(
        (
            name_of(bid),
            f"{money(total)}, of which {money(bid.lacks_usd)} not quoted",
            work,
            f"{study.measure.label}: {bid.measured or 0.0:,.6g}",
        )
    )
