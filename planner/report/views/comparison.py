"""Plans side by side: inputs, bill, figures and limits that differ."""

from __future__ import annotations

from collections.abc import Sequence

from planner.currency import currency_among
from planner.report.blocks import Block, Column, Facts, Heading, Table
from planner.report.words import (
    INDENT,
    LEAST_GIVEN_AWAY,
    changed_by,
    gap,
    titled,
    valued,
    write_figure,
)
from planner.schema.analysis import (
    Comparison,
    FigureRow,
    LimitSide,
    LineRow,
    Side,
)
from planner.terminal import width

_STATUS = {
    "optimal": "proven best", "feasible": "not proven", "infeasible": "no plan",
    "unbounded": "no plan", "no_solution": "no plan",
}  # fmt: skip
_MAIN = (
    "useful_pflops", "useful_gpus", "days_to_train", "goodput", "gpus_used", "capex_usd",
    "tco_usd", "facility_power_kw", "racks",
)  # fmt: skip
_FIRST_ROWS, _LEAST_LABEL = 6, 16


def view(found: Comparison, *, everything: bool = False) -> list[Block]:
    """Return a comparison as blocks.

    Args:
        everything: with rows that are the same in all plans.
    """
    blocks: list[Block] = [
        Heading("Compared"),
        Facts(tuple((side.key, _side(side)) for side in found.sides)),
    ]
    keys = [side.key for side in found.sides]
    inputs = [row for row in found.inputs if everything or not row.equal]
    which = "" if everything else " that differ"
    blocks.append(_figures(f"Inputs{which}", inputs, keys, first=_FIRST_ROWS))
    if sum(_STATUS[side.status] != "no plan" for side in found.sides) < 2:
        return blocks
    lines = [row for row in found.lines if everything or not row.equal]
    lines.sort(key=lambda row: -max(abs(change or 0.0) for change in row.capex_usd.changes))
    figures = [row for row in found.figures if everything or not row.equal]
    order = {name: at for at, name in enumerate(_MAIN)}
    names = [row.name.rpartition(".")[2] for row in figures]
    main = sum(name in order for name in names)
    ranked = sorted(zip(names, figures, strict=True), key=lambda one: order.get(one[0], len(order)))
    return [
        *blocks,
        _lines(lines, keys),
        _figures(f"Figures{which}", [row for _, row in ranked], keys, first=max(1, main)),
        _limits(found, keys, everything=everything),
    ]


def _side(side: Side) -> str:
    texts = [f"{side.source}: {side.problem} ({_status(side)})"]
    if side.message:
        texts.append(f"no plan: {side.message}")
    if side.edits:
        texts.append(f"edited: {'; '.join(side.edits)}")
    if side.broken:
        texts.append(f"breaks: {'; '.join(side.broken)}")
    return "; ".join(texts)


def _status(side: Side) -> str:
    if side.edits and not side.message:
        return "as edited"
    if side.verdict:
        return f"not to be built: {'; '.join(side.verdict)}"
    away, words = side.given_away or 0.0, _STATUS[side.status]
    if side.status == "optimal" and away > LEAST_GIVEN_AWAY:
        return f"{gap(away)} behind the {words}"
    return words


def _table(title: str, columns: Sequence[Column], first: int | None, *, detail: bool) -> Table:
    """Return a table of plans side by side; without rows a note that all are the same."""
    kept = () if first is None else tuple(range(first))
    rows = "lines" if title.startswith("Bill") else title.split()[0].lower()
    if not columns[0].values:
        return Table(title, (Column("", ("the same in all",), words=True),), detail=detail)
    return Table(title, tuple(columns), first=first, kept=kept, rows=rows, detail=detail)


def _figures(title: str, rows: Sequence[FigureRow], keys: Sequence[str], first: int) -> Table:
    """Return figures of the plans, and their change against the first."""
    columns = [
        Column("", tuple(map(_titled, rows)), words=True, gives_way=True),
        *(
            Column(key, tuple(write_figure(row.series.values[at], row.unit) for row in rows),
                   words=_has_words(rows))
            for at, key in enumerate(keys)
        ),
        *(
            Column(f"{key} - {keys[0]}", tuple(
                changed_by(row.series.changes[at], row.unit) for row in rows), detail=True)
            for at, key in enumerate(keys) if at
        ),
    ]  # fmt: skip
    return _table(title, columns, first, detail=False)


def _titled(row: FigureRow) -> str:
    return titled(row.label, row.unit, currency_among(row.series.values))


def _has_words(rows: Sequence[FigureRow]) -> bool:
    longest = width() // 4
    return any(isinstance(v, str) and len(v) > longest for r in rows for v in r.series.values)


def _lines(rows: Sequence[LineRow], keys: Sequence[str]) -> Table:
    """Return units in place, then capex and IT power against the first plan."""
    columns = [
        Column("", tuple(row.product for row in rows), words=True, gives_way=True),
        *(
            Column(key, tuple(write_figure(row.quantity.values[at], "") for row in rows))
            for at, key in enumerate(keys)
        ),
    ]
    for at, key in enumerate(keys[1:], 1):
        changes = (
            ("units", [changed_by(row.quantity.changes[at], "") for row in rows]),
            ("capex", [changed_by(row.capex_usd.changes[at], "USD") for row in rows]),
            ("IT kW", [changed_by(row.it_power_kw.changes[at], "") for row in rows]),
        )
        columns += [
            Column(f"{key} - {keys[0]}, {label}", tuple(texts), head=(f"{key} - {keys[0]}", label),
                   detail=True)
            for label, texts in changes
        ]  # fmt: skip
    return _table("Bill, units", columns, _FIRST_ROWS, detail=False)


def _limits(found: Comparison, keys: Sequence[str], *, everything: bool) -> Table:
    """Return value and bound of every limit in each plan."""
    rows: list[tuple[str, ...]] = []
    for row in found.limits:
        if row.equal and not everything:
            continue
        bound = "at most" if row.sense == "<=" else "at least"
        reached = [_reached(side, row.unit) for side in row.sides]
        allowed = [None if side is None else valued(side.limit, row.unit) for side in row.sides]
        common = {text for text in allowed if text is not None}
        if len(common) == 1:
            rows.append((f"{row.label}, {bound} {common.pop()}", *reached))
        else:
            money = currency_among(side.limit for side in row.sides if side is not None)
            rows.append((titled(row.label, row.unit, money), *reached))
            rows.append((f"{INDENT}allowed {bound}", *(text or "-" for text in allowed)))
    columns = [
        Column(key, tuple(row[at] for row in rows), words=not at, gives_way=not at)
        for at, key in enumerate(("", *keys))
    ]
    return _table("Limits (* binding)", columns, None, detail=True)


def _reached(side: LimitSide | None, unit: str) -> str:
    if side is None:
        return "-"
    return f"{write_figure(side.value, unit)}{'*' if side.binding else ''}"
