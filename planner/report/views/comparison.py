"""Plans side by side: inputs, bill, figures and limits that differ."""

from __future__ import annotations

from collections.abc import Sequence

from planner.currency import currency_among
from planner.report.blocks import Block, Column, Facts, Heading, Table, words
from planner.report.words import (
    LEAST_GIVEN_AWAY,
    STATUS_WORDS,
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

_MAIN = (
    "useful_pflops",
    "useful_gpus",
    "days_to_train",
    "goodput",
    "gpus_used",
    "capex_usd",
    "tco_usd",
    "facility_power_kw",
    "racks",
)
_FIRST_ROWS = 6


def view(found: Comparison, *, everything: bool = False) -> list[Block]:
    """A comparison as blocks; with ``everything`` rows that are the same in all plans, too."""
    keys = [side.key for side in found.sides]
    sides = Facts(tuple((side.key, _side(side)) for side in found.sides))
    inputs = [row for row in found.inputs if everything or not row.equal]
    which = "" if everything else " that differ"
    blocks: list[Block] = [Heading("Compared"), sides]
    blocks.append(_figures(f"Inputs{which}", inputs, keys, _FIRST_ROWS))
    if sum(side.status in ("optimal", "feasible") for side in found.sides) < 2:
        return blocks
    lines = [row for row in found.lines if everything or not row.equal]
    lines.sort(key=lambda row: -max(abs(change or 0.0) for change in row.capex_usd.changes))
    rows = [row for row in found.figures if everything or not row.equal]
    order = {name: at for at, name in enumerate(_MAIN)}
    rows.sort(key=lambda row: order.get(row.name.rpartition(".")[2], len(order)))
    main = sum(row.name.rpartition(".")[2] in order for row in rows)
    return [
        *blocks,
        _lines(lines, keys),
        _figures(f"Figures{which}", rows, keys, max(1, main)),
        _limits(found, keys, everything=everything),
    ]


def _side(side: Side) -> str:
    texts = [f"{side.source}: {side.problem} ({_status(side)})"]
    texts += [f"no plan: {side.message}"] if side.message else []
    texts += [f"edited: {'; '.join(side.edits)}"] if side.edits else []
    texts += [f"breaks: {'; '.join(side.broken)}"] if side.broken else []
    return "; ".join(texts)


def _status(side: Side) -> str:
    if side.edits and not side.message:
        return "as edited"
    if side.verdict:
        return f"not to be built: {'; '.join(side.verdict)}"
    away, text = side.given_away or 0.0, STATUS_WORDS[side.status]
    if side.status == "optimal" and away > LEAST_GIVEN_AWAY:
        return f"{gap(away)} behind the {text}"
    return text


def _table(title: str, columns: Sequence[Column], rows: str, first: int | None = None) -> Table:
    """A table of plans side by side; without rows a note that all are the same."""
    if not columns[0].values:
        return Table(title, (words("", ("the same in all",)),))
    return Table(title, tuple(columns), first=first, rows=rows, detail=first is None)


def _figures(title: str, rows: Sequence[FigureRow], keys: Sequence[str], first: int) -> Table:
    """Figures of the plans, and their change against the first."""
    named = [titled(row.label, row.unit, currency_among(row.series.values)) for row in rows]
    longest = width() // 4
    wordy = any(isinstance(v, str) and len(v) > longest for r in rows for v in r.series.values)
    columns = [words("", named)]
    for at, key in enumerate(keys):
        texts = tuple(write_figure(row.series.values[at], row.unit) for row in rows)
        columns.append(Column(key, texts, words=wordy))
    for at, key in enumerate(keys[1:], 1):
        texts = tuple(changed_by(row.series.changes[at], row.unit) for row in rows)
        columns.append(Column(f"{key} - {keys[0]}", texts, detail=True))
    return _table(title, columns, title.split()[0].lower(), first)


def _lines(rows: Sequence[LineRow], keys: Sequence[str]) -> Table:
    """Units in place, then capex and IT power against the first plan."""
    columns = [words("", (row.product for row in rows))]
    for at, key in enumerate(keys):
        columns.append(Column(key, tuple(write_figure(r.quantity.values[at], "") for r in rows)))
    for at, key in enumerate(keys[1:], 1):
        changes = (
            ("units", [changed_by(row.quantity.changes[at], "") for row in rows]),
            ("capex", [changed_by(row.capex_usd.changes[at], "USD") for row in rows]),
            ("IT kW", [changed_by(row.it_power_kw.changes[at], "") for row in rows]),
        )
        for label, texts in changes:
            columns.append(Column(f"{key} - {keys[0]}, {label}", tuple(texts), detail=True))
    return _table("Bill, units", columns, "lines", _FIRST_ROWS)


def _limits(found: Comparison, keys: Sequence[str], *, everything: bool) -> Table:
    """Value and bound of every limit in each plan."""
    rows: list[tuple[str, ...]] = []
    for row in found.limits:
        if row.equal and not everything:
            continue
        bound = "at most" if row.sense == "<=" else "at least"
        reached = [_reached(side, row.unit) for side in row.sides]
        allowed = ["-" if side is None else valued(side.limit, row.unit) for side in row.sides]
        common = {text for text in allowed if text != "-"}
        if len(common) == 1:
            rows.append((f"{row.label}, {bound} {common.pop()}", *reached))
        else:
            rows.append((row.label, *reached))
            rows.append((f"  allowed {bound}", *allowed))
    columns = [
        Column(key, tuple(row[at] for row in rows), words=not at)
        for at, key in enumerate(("", *keys))
    ]
    return _table("Limits (* binding)", columns, "limits")


def _reached(side: LimitSide | None, unit: str) -> str:
    if side is None:
        return "-"
    return f"{valued(side.value, unit)}{'*' if side.binding else ''}"
