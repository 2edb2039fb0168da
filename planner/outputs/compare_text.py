"""Plans side by side on the screen: what differs, by how much, and why it matters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.outputs.blocks import aligned, joined
from planner.outputs.comparison_words import changed_by, fitted, titled, valued, write_figure
from planner.outputs.words import INDENT, wrapped
from planner.schema.comparison import Comparison, FigureRow, LimitRow, LimitSide, LineRow, Side
from planner.terminal import width

_STATUS = {
    "optimal": "proven best",
    "feasible": "not proven",
    "infeasible": "no plan",
    "unbounded": "no plan",
    "no_solution": "no plan",
}
_LEAST_LABEL = 16
_LONGEST_CELL = 22
"""Longer texts stand one under the other instead of side by side."""

Row = tuple[str, ...]


def render(found: Comparison, *, everything: bool = False) -> str:
    """Return the whole screen, at most 100 columns wide for up to three plans.

    Args:
        found: the comparison.
        everything: whether to list what is the same in all, too.
    """
    keys = [side.key for side in found.sides]
    inputs = [row for row in found.inputs if everything or not row.equal]
    parts = [
        "\n".join(["Compared", *(text for side in found.sides for text in _side(side))]),
        _part("Inputs", _figures(inputs, keys)),
        *(_plans(found, keys, everything) if _comparable(found) else ()),
        *_explanations(found),
    ]
    return joined(parts)


def _comparable(found: Comparison) -> bool:
    """Return whether there are two plans or more to tell apart."""
    return sum(_STATUS[side.status] != "no plan" for side in found.sides) > 1


def _plans(found: Comparison, keys: Sequence[str], everything: bool) -> Iterator[str]:
    """Yield the tables of what the plans buy, do and keep to."""
    figures = [row for row in found.figures if everything or not row.equal]
    lines = [row for row in found.lines if everything or not row.equal]
    limits = [row for row in found.limits if everything or not row.equal]
    yield _part("Bill, units", _units(lines, keys))
    if lines:
        yield _part(f"Bill, money and IT power against {keys[0]}", _worth(lines, keys))
    yield _part("Figures", _figures(figures, keys))
    yield _part("Limits (* where it binds)", _limits(limits, keys))


def _part(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(lines or [f"{INDENT}the same in all"])])


def _side(side: Side) -> list[str]:
    status = "as edited" if side.edits and not side.message else _STATUS[side.status]
    first = f"{INDENT}{side.key}  "
    lines = wrapped(f"{side.source}: {side.problem} ({status})", first, " " * len(first))
    if side.message:
        lines += wrapped(f"no plan: {side.message}", " " * len(first), " " * len(first))
    return lines


def _heads(keys: Sequence[str]) -> Row:
    """Return the heads of values and changes."""
    return ("", *keys, *(f"{key} - {keys[0]}" for key in keys[1:]))


def _figures(rows: Sequence[FigureRow], keys: Sequence[str]) -> list[str]:
    """Return figures as a table; those with long texts one under the other after it."""
    short = [row for row in rows if not _long(row)]
    texts = [
        (
            titled(row.label, row.unit),
            *(write_figure(value, row.unit) for value in row.series.values),
            *(changed_by(change, row.unit) for change in row.series.changes[1:]),
        )
        for row in short
    ]
    lines = _aligned([_heads(keys), *texts]) if texts else []
    for row in rows:
        if _long(row):
            lines += _stacked(row, keys)
    return lines


def _long(row: FigureRow) -> bool:
    return any(isinstance(v, str) and len(v) > _LONGEST_CELL for v in row.series.values)


def _stacked(row: FigureRow, keys: Sequence[str]) -> Iterator[str]:
    yield f"{INDENT}{row.label}"
    for key, value in zip(keys, row.series.values, strict=True):
        first = f"{INDENT * 2}{key}  "
        yield from wrapped(write_figure(value, row.unit), first, " " * len(first))


def _units(rows: Sequence[LineRow], keys: Sequence[str]) -> list[str]:
    texts = [
        (
            row.product,
            *(write_figure(value, "") for value in row.quantity.values),
            *(changed_by(change, "") for change in row.quantity.changes[1:]),
        )
        for row in rows
    ]
    return _aligned([_heads(keys), *texts]) if texts else []


def _worth(rows: Sequence[LineRow], keys: Sequence[str]) -> list[str]:
    """Return how much more each line costs and draws in every other plan."""
    heads = ("", *(f"{key}, {what}" for key in keys[1:] for what in ("money", "kW")))
    texts = [
        (
            row.product,
            *(
                cell
                for place in range(1, len(keys))
                for cell in (
                    changed_by(row.capex_usd.changes[place], "USD"),
                    changed_by(row.it_power_kw.changes[place], ""),
                )
            ),
        )
        for row in rows
    ]
    return _aligned([heads, *texts]) if texts else []


def _limits(rows: Sequence[LimitRow], keys: Sequence[str]) -> list[str]:
    """Return what each plan reaches of each limit, and what it may where that differs."""
    texts: list[Row] = []
    for row in rows:
        bound = "at most" if row.sense == "<=" else "at least"
        reached = [_reached(side, row.unit) for side in row.sides]
        allowed = [None if side is None else valued(side.limit, row.unit) for side in row.sides]
        common = {text for text in allowed if text is not None}
        if len(common) == 1:
            texts.append((f"{row.label}, {bound} {common.pop()}", *reached))
        else:
            texts.append((titled(row.label, row.unit), *reached))
            texts.append((f"{INDENT}allowed {bound}", *(text or "-" for text in allowed)))
    return _aligned([("", *keys), *texts]) if texts else []


def _reached(side: LimitSide | None, unit: str) -> str:
    if side is None:
        return "-"
    return f"{write_figure(side.value, unit)}{'*' if side.binding else ''}"


def _aligned(rows: Sequence[Row]) -> list[str]:
    """Return a table whose labels are cut to what the figures leave of the screen's width."""
    figures = sum(max(len(row[place]) for row in rows) + 2 for place in range(1, len(rows[0])))
    room = max(_LEAST_LABEL, width() - len(INDENT) - figures)
    return aligned([(fitted(row[0], room), *row[1:]) for row in rows], left=(0,))


def _explanations(found: Comparison) -> Iterator[str]:
    sources = {side.key: side.source for side in found.sides}
    for each in found.explanations:
        title = f"What changed and why it matters: {each.key}, {sources[each.key]}"
        items = (wrapped(text, f"{INDENT}- ", f"{INDENT}  ") for text in each.sentences)
        yield "\n".join([*wrapped(title, "", INDENT), *(line for item in items for line in item)])
