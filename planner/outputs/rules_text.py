"""The table of rules on the screen: what each way buys, what it does, what that shows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from planner.outputs.blocks import aligned, joined
from planner.outputs.comparison_words import fitted, signed, write_figure
from planner.outputs.words import INDENT, duration, gap, money, number, percent, wrapped
from planner.schema.comparison import Bought, Measure, Outcome, RuleRow, RulesTable
from planner.terminal import width

_GROUPS = {
    "rule": "storage sized by a rule",
    "mode": "checkpoints written the other way",
    "variant": "one file system alone",
    "vendor": "storage of one vendor alone",
}
_LABEL_WIDTH, _LEAST_WIDTH = 30, 12
_STORAGE = 1
"""Column of words of the first table, which gives way where the table is too wide."""


def render(found: RulesTable) -> str:
    """Return the whole screen, at most 100 columns wide."""
    parts = [
        _title(found),
        _buying(found.rows),
        _doing(found.rows, found.measure),
        "\n".join(["What that shows", *(line for text in found.argument for line in _item(text))]),
        _again(found),
    ]
    return joined(parts)


def _title(found: RulesTable) -> str:
    scenario = "" if found.scenario is None else f", scenario {found.scenario}"
    return f"{found.problem}{scenario}  (the same problem, its storage chosen in other ways)"


def _item(text: str) -> list[str]:
    return wrapped(text, f"{INDENT}- ", f"{INDENT}  ")


Header = tuple[tuple[str, ...], tuple[str, ...]]
"""The two lines over a table, without the column of labels."""

_BLANK = ("",) * 5
_BUYS: Header = (
    ("storage", "storage", "IT", "", "GPUs"),
    ("bought", "kW", "kW", "capex", "in use"),
)


def _bought(plan: Outcome) -> tuple[str, ...]:
    return (
        _units(plan.storage),
        number(plan.storage_it_power_kw),
        number(plan.it_power_kw),
        money(plan.capex_usd),
        _gpus(plan),
    )


def _units(bought: Sequence[Bought]) -> str:
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
        first = ("useful work", measure.unit)
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
