"""Plans side by side, and rules side by side, on the screen: what differs, and why it matters."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from planner.currency import currency_among
from planner.figures import FIGURES
from planner.outputs.blocks import Column, FirstScreen, Table, Text, aligned, join_parts
from planner.outputs.words import (
    INDENT,
    LEAST_GIVEN_AWAY,
    changed_by,
    duration,
    fitted,
    gap,
    millions,
    money,
    number,
    percent,
    points,
    signed,
    titled,
    valued,
    wrapped,
    write_figure,
)
from planner.schema.comparison import (
    Bought,
    Comparison,
    FigureRow,
    LimitRow,
    LimitSide,
    LineRow,
    Measure,
    Outcome,
    RuleRow,
    RulesTable,
    Side,
)
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

_GROUPS = {
    "rule": "storage sized by a rule",
    "mode": "checkpoints written the other way",
    "variant": "one file system alone",
    "vendor": "storage of one vendor alone",
}
_LABEL_WIDTH, _LEAST_WIDTH = 30, 12
_STORAGE = 1
"""Column of words of the first table, which gives way where the table is too wide."""


def status(side: Side) -> str:
    """Return how far a plan is proven, or given away, or that its workbook was edited."""
    if side.edits and not side.message:
        return "as edited"
    if side.verdict:
        return f"not to be built as it is: {'; '.join(side.verdict)}"
    away, words = side.given_away or 0.0, _STATUS[side.status]
    if side.status == "optimal" and away > LEAST_GIVEN_AWAY:
        return f"{gap(away)} behind the {words}"
    return words


def render_comparison(found: Comparison, *, everything: bool = False) -> str:
    """Return the whole screen, at most 100 columns wide for up to three plans.

    Args:
        everything: whether to list what is the same in all, too.
    """
    keys = [side.key for side in found.sides]
    inputs = [row for row in found.inputs if everything or not row.equal]
    parts = [
        "\n".join(["Compared", *(text for side in found.sides for text in _side(side))]),
        _part("Inputs", _figures(inputs, keys)),
        *(_plans(found, keys, everything) if _comparable(found) else ()),
    ]
    return join_parts(parts)


_TOLD_FIRST = (
    "useful_pflops", "useful_gpus", "days_to_train", "goodput", "gpus_used", "capex_usd",
    "tco_usd", "facility_power_kw", "racks",
)  # fmt: skip
"""Figures of the first screen, where they differ."""

_MOST_ROWS = 6
"""Rows of inputs and of lines on the first screen."""


def first_comparison(found: Comparison, *, everything: bool = False) -> FirstScreen:
    """Return what one page says: what changed and why it matters, and the main figures.

    Args:
        everything: whether what is the same in all is asked for, too: then all of it is told.
    """
    if everything or not _comparable(found):
        return FirstScreen(entire=True)
    answer = [
        (side.key, f"{side.source}: {side.problem} ({status(side)})"
         + "".join(f"; {text}" for text in _notes(side)))
        for side in found.sides
    ]  # fmt: skip
    keys = [side.key for side in found.sides]
    named = {row.name.rpartition(".")[2]: row for row in found.figures if not row.equal}
    rows = [named[name] for name in _TOLD_FIRST if name in named]
    inputs = [row for row in found.inputs if not (row.equal or _long(row))]
    lines = sorted(
        (row for row in found.lines if not row.equal),
        key=lambda row: -max(abs(change or 0.0) for change in row.capex_usd.changes),
    )
    tables: tuple[tuple[str, list[Cells]], ...] = (
        ("Inputs that differ", [_cells(row) for row in inputs[:_MOST_ROWS]]),
        ("Bill, units", [(r.product, r.quantity.values, "") for r in lines[:_MOST_ROWS]]),
        ("Main figures that differ", [_cells(row) for row in rows]),
    )
    full = (
        "all that changed, every figure, limits, "
        f"{sum(not row.equal for row in found.lines)} lines of the bill that differ"
    )
    return FirstScreen(
        "Compared",
        tuple(answer),
        below=tuple(_side_by_side(title, cells, keys) for title, cells in tables if cells),
        full=full,
    )


Cells = tuple[str, Sequence[float | str | None], str]
"""A label, a value of each plan, and their unit."""


def _cells(row: FigureRow) -> Cells:
    return _titled(row), row.series.values, row.unit


def _titled(row: FigureRow) -> str:
    return titled(row.label, row.unit, currency_among(row.series.values))


def _side_by_side(title: str, rows: Sequence[Cells], keys: Sequence[str]) -> Table:
    """Return values side by side, of as many plans as the width has room for."""
    labels = Column("", tuple(label for label, _, _ in rows), words=True, gives_way=True)
    columns = [
        Column(key, tuple(write_figure(values[at], unit) for _, values, unit in rows))
        for at, key in enumerate(keys)
    ]
    room = width() - _LEAST_LABEL - 2 * len(INDENT)
    widths = [
        max(len(text) for text in (key, *column.written)) + 2
        for key, column in zip(keys, columns, strict=True)
    ]
    fit = sum(sum(widths[: at + 1]) <= room for at in range(len(widths)))
    left = len(keys) - fit
    notes = (f"{left} more under --full",) if left else ()
    return Table(title, (labels, *columns[:fit]), notes=notes)


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
    first = f"{INDENT}{side.key}  "
    lines = wrapped(f"{side.source}: {side.problem} ({status(side)})", first, " " * len(first))
    for text in _notes(side):
        lines += wrapped(text, " " * len(first), " " * len(first))
    return lines


def _notes(side: Side) -> Iterator[str]:
    """Yield why there is no plan, edits of a workbook, and the limits that they break."""
    if side.message:
        yield f"no plan: {side.message}"
    if side.edits:
        yield f"edited: {'; '.join(side.edits)}"
    if side.broken:
        yield f"breaks: {'; '.join(side.broken)}"


def _heads(keys: Sequence[str]) -> Row:
    """Return the heads of values and changes."""
    return ("", *keys, *(f"{key} - {keys[0]}" for key in keys[1:]))


def _figures(rows: Sequence[FigureRow], keys: Sequence[str]) -> list[str]:
    """Return figures as a table; those with long texts one under the other after it."""
    short = [row for row in rows if not _long(row)]
    texts = [
        (
            _titled(row),
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
            money = currency_among(side.limit for side in row.sides if side is not None)
            texts.append((titled(row.label, row.unit, money), *reached))
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


def render_rules(found: RulesTable) -> str:
    """Return the whole screen, at most 100 columns wide."""
    parts = [
        _title(found),
        _buying(found.rows),
        _doing(found.rows, found.measure),
        "\n".join(["What that shows", *points(*found.argument)]),
        _again(found),
    ]
    return join_parts(parts)


def first_rules(found: RulesTable) -> FirstScreen:
    """Return what one page says: what the rows show, and each row in a line."""
    own, *others = found.rows
    if own.outcome is None:
        return FirstScreen(entire=True)
    measure, plan = found.measure, own.outcome
    value = write_figure(plan.measured, "USD" if "USD" in measure.unit else "number")
    what = measure.label if "USD" in measure.unit else f"{measure.unit} of {measure.label}"
    needs = f"{_every(plan.storage)}: {value} {what}, {money(plan.capex_usd)} of capex"
    return FirstScreen(
        _title(found),
        (("Needed", needs),),
        below=(Text(found.argument, "What that shows", points=True), _rows_in_a_line(others)),
        full="what each row buys and does, with the command that solves it",
        proof=tuple(
            f"{row.label}: proven within {_proven(row.outcome.gap)}"
            for row in found.rows if row.outcome is not None
        ),
    )  # fmt: skip


_ROOM_FOR_LABELS, _NARROW_LABEL = 72, 18
"""Columns of a screen with room for whole labels, and how long they are without."""


def _every(bought: Sequence[Bought]) -> str:
    return ", ".join(f"{each.quantity:,} {each.model}" for each in bought) or "no storage"


def _rows_in_a_line(rows: Sequence[RuleRow]) -> Table:
    """Return each row with what storage it buys, its IT power, capex, and how it compares."""
    plans = [row.outcome for row in rows]
    capex = tuple(millions(plan.capex_usd) if plan else "" for plan in plans)
    million = currency_among(plan.capex_usd for plan in plans if plan).large[1]
    room = _LABEL_WIDTH if width() >= _ROOM_FOR_LABELS else _NARROW_LABEL
    labels = [fitted(row.label, room) for row in rows]
    marks = (" *" if row.own else "" for row in rows)
    return Table(
        "The same problem with its storage chosen in other ways",
        (
            Column("", tuple(map("".join, zip(labels, marks, strict=True))), words=True),
            Column("storage", tuple(_storage(p.storage) if p else "no plan" for p in plans),
                   words=True, gives_way=True),
            Column("kW", tuple(number(p.storage_it_power_kw) if p else "" for p in plans),
                   spare=1),
            Column(f"capex, {million}", capex, head=(million,)),
            Column("against", tuple(signed(p.difference) if p else "" for p in plans)),
        ),
        notes=("* what the problem file asks for",) if any(row.own for row in rows) else (),
    )  # fmt: skip


def _title(found: RulesTable) -> str:
    scenario = "" if found.scenario is None else f", scenario {found.scenario}"
    return f"{found.problem}{scenario}  (the same problem, its storage chosen in other ways)"


Header = tuple[tuple[str, ...], tuple[str, ...]]
"""The two lines over a table, without the column of labels."""

_BLANK = ("",) * 5
_BUYS: Header = (
    ("storage", "storage", "IT", "", "GPUs"),
    ("bought", "kW", "kW", "capex", "in use"),
)


def _bought(plan: Outcome) -> tuple[str, ...]:
    return (
        _storage(plan.storage),
        number(plan.storage_it_power_kw),
        number(plan.it_power_kw),
        money(plan.capex_usd),
        _gpus(plan),
    )


def _storage(bought: Sequence[Bought]) -> str:
    """Return the largest of several purchases, and how many more there are."""
    if not bought:
        return "none"
    first = max(bought, key=lambda each: each.quantity)
    more = f", +{len(bought) - 1} more" if len(bought) > 1 else ""
    return f"{first.quantity:,} {first.model}{more}"


def _gpus(plan: Outcome) -> str:
    """Return the GPUs in use, and those bought where some are not."""
    idle = "" if plan.gpus == plan.gpus_used else f" of {plan.gpus:,}"
    return f"{plan.gpus_used:,}{idle}"


def _does(measure: Measure) -> Header:
    first = ("", measure.label)
    if measure.name == "useful_pflops":
        first = (FIGURES["useful_pflops"].label, measure.unit)
    return (
        (first[0], "against what", "days to", "checkpoint", "", "proven"),
        (first[1], "the job needs", "train", "every", "goodput", "within"),
    )


def _done(plan: Outcome, measure: Measure) -> tuple[str, ...]:
    return (
        write_figure(plan.measured, "USD" if "USD" in measure.unit else "number"),
        signed(plan.difference),
        "-" if plan.days_to_train is None else number(plan.days_to_train, 1),
        duration(plan.interval_s),
        percent(plan.goodput, 2),
        _proven(plan.gap),
    )


def _proven(share: float | None) -> str:
    return "<1e-4 %" if share is not None and 0 < share < 1e-6 else gap(share)


def _buying(rows: Sequence[RuleRow]) -> str:
    """Return the table of what is bought; rows without a plan say why there is none."""
    texts = [(_label(row), *(_bought(row.outcome) if row.outcome else _BLANK)) for row in rows]
    lines = _narrow([("", *line) for line in _BUYS] + texts)
    width = max(len(text[0]) for text in (("",), *texts))
    shown_lines = [
        [line] if row.outcome else _without(row, width)
        for row, line in zip(rows, lines[2:], strict=True)
    ]
    marked = [f"{INDENT}* what the problem file asks for"] if any(r.own for r in rows) else []
    return "\n".join(["What each buys", *lines[:2], *_grouped(rows, shown_lines), *marked])


def _doing(rows: Sequence[RuleRow], measure: Measure) -> str:
    """Return the table of what is done with it, of the rows that have a plan."""
    planned = [(row, row.outcome) for row in rows if row.outcome]
    texts = [(_label(row), *_done(plan, measure)) for row, plan in planned]
    lines = aligned([("", *line) for line in _does(measure)] + texts, left=(0,))
    grouped = _grouped([row for row, _ in planned], [[line] for line in lines[2:]])
    return "\n".join(["What each does", *lines[:2], *grouped]) if planned else ""


def _narrow(texts: list[tuple[str, ...]]) -> list[str]:
    """Return an aligned table whose column of words is cut to what the width leaves."""
    excess = max(len(line) for line in aligned(texts, left=(0, _STORAGE))) - width()
    if excess > 0:
        widest = max(len(text[_STORAGE]) for text in texts)
        room = max(_LEAST_WIDTH, widest - excess)
        texts = [(text[0], fitted(text[_STORAGE], room), *text[_STORAGE + 1 :]) for text in texts]
    return aligned(texts, left=(0, _STORAGE))


def _grouped(rows: Sequence[RuleRow], lines: Sequence[list[str]]) -> list[str]:
    """Return the lines of rows with a heading over each group."""
    result: list[str] = []
    group = "demand"
    for row, own in zip(rows, lines, strict=True):
        if row.group != group:
            result.append(f"{INDENT}{_GROUPS[row.group]}")
        group = row.group
        result += own
    return result


def _label(row: RuleRow) -> str:
    """Return a row's label, marked where it is what the problem asks, set in under its group."""
    indent = INDENT if row.group in _GROUPS else ""
    return f"{indent}{fitted(row.label, _LABEL_WIDTH)}{' *' if row.own else ''}"


def _without(row: RuleRow, width: int) -> list[str]:
    reason = row.reason or "none was found"
    text = reason if reason.startswith("no plan") else f"no plan: {reason}"
    first = f"{INDENT}{_label(row).ljust(width)}  "
    return wrapped(text, first, " " * len(first))


def _again(found: RulesTable) -> str:
    """Return how to get one of the rows in full, and where the settings of the others stand."""
    row = next((row for row in found.rows if row.settings and not row.own), found.rows[0])
    scenario = [] if found.scenario is None else ["--scenario", found.scenario]
    settings = [part for text in (*found.overrides, *row.settings) for part in ("--set", text)]
    command = shlex.join(["planner", "solve", found.problem_file, *scenario, *settings])
    return (
        f"The row {row.label} in full (the workbook, by -o FOLDER, and --json tell it for each):\n"
        f"{INDENT}{command}"
    )
