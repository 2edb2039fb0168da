"""The edits of a workbook laid over its problem: quantities, prices, limits, lines of one's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planner.auditor.draft import (
    FIGURES,
    Draft,
    EditError,
    finish_term,
)
from planner.errors import Finding, InputError
from planner.inputs import Inputs, changed
from planner.limits import COUNTED_IN, named, path_of
from planner.outputs.workbook.book import RATE
from planner.outputs.workbook.cells import Scalar
from planner.schema.beside import Live
from planner.schema.catalog import Item
from planner.schema.plan import Plan
from planner.schema.prices import AS_LISTED, Price, SupportMoney
from planner.schema.problem import MOST_SPARES, Extra, Quantity
from planner.schema.verification import Edit

MOST_YEARS = 50.0
"""Longer than any term."""

# What each limit on the sheet ``Checks`` means in the problem file.


def set_limit(draft: Draft, name: str, value: float | None) -> None:
    """Set a limit of the problem; None removes it.

    Args:
        name: the limit's name in the plan.
        value: what is allowed now, in the limit's unit.

    Raises:
        EditError: the problem has no such limit, or it cannot be removed.
    """
    row = named(name)
    if not row.editable:
        raise EditError("this limit follows from a product or a rule and is no input")
    kind, path = name.partition(".")[0], path_of(name)
    if value is not None and row.file_unit in COUNTED_IN:
        value = round(value)
    if kind == "split" and value is None:
        value = 1.0
    draft.inputs = changed(draft.inputs, path, value)
    if name == "facility_power":  # what the feeds leave is the same limit
        draft.change("site", feeds=None)
    if row.name == "items.*.min" and value is None:
        draft.inputs = changed(draft.inputs, path.removesuffix("min") + "required", False)
    sku = name.partition(".")[2]
    price = draft.inputs.prices.get(sku)
    if kind == "stock" and value is None and price is not None:
        draft.set_price(sku, price.model_copy(update={"stock": None}))


# Lines that were added to the bill: services of the order, each an item and a price of its own.


def finish_own_lines(draft: Draft) -> None:
    """Lay the lines that were added over the problem, as services that are counted once.

    Raises:
        EditError: a line has no name, or no price.
    """
    for (section, number), parts in sorted(draft.own_lines.items()):
        count, model, price = (parts.get(key) for key in ("quantity", "model", "unit_list"))
        where = f"own line {number} of {section}"
        if count == 0 or set(parts) <= {"remark"}:
            continue
        if model is None:
            raise EditError(f"{where}: it has no description; say what it is")
        if price is None and parts.get("per_year") is None:
            raise EditError(f"{where}: it has no list price; give one, 0 for what costs nothing")
        _add_own_line(draft, section, number, parts)


def _add_own_line(draft: Draft, section: str, number: int, parts: Mapping[str, Scalar]) -> None:
    sku = "own_" + "_".join([*re.findall("[a-z]+", section.lower()), str(number)])
    remark, vendor, part_number = (parts.get(key) for key in ("remark", "vendor", "part_number"))
    item = Item(
        id=sku,
        vendor="not named" if vendor is None else str(vendor),
        model=str(parts["model"]),
        part_number=None if part_number is None else str(part_number),
        category="service",
        description=f"added to the bill, in its section {section}",
        notes=() if remark is None else (str(remark),),
    )
    numbers = {key: parts.get(key) for key in ("quantity", "unit_list", "discount")}
    count = 1 if numbers["quantity"] is None else round(float(numbers["quantity"]))
    typed: dict[str, Any] = {"list_usd": float(numbers["unit_list"] or 0.0), **_TYPED}
    yearly = parts.get("per_year")
    if yearly is not None:
        typed["support_per_year"] = SupportMoney.model_construct(usd=float(yearly))
    price = Price.model_construct(**typed)
    problem = draft.problem
    draft.inputs = replace(draft.inputs, items=(*draft.inputs.items, item))
    draft.change_problem(extras={**problem.extras, sku: Extra(count=count)})
    draft.set_price(sku, price)
    # Paid the whole term, whatever support the problem asks of products.
    draft.change_item(sku, spares=0.0, support_level=AS_LISTED, support_years=MOST_YEARS)
    draft.change_discount(sku, float(numbers["discount"] or 0.0))
    draft.quantities[sku] = count


# Lay the edits of a workbook over the inputs of its plan.


def apply(
    name: str,
    inputs: Inputs,
    plan: Plan,
    edits: Sequence[Edit],
    quantities: Mapping[str, int],
    live: Live | None = None,
) -> Draft:
    """Return the problem with the edits, and what the workbook decides.

    Args:
        name: the workbook, for messages.
        inputs: what the solved plan was made from.
        quantities: the units in place as the edited workbook lists them, by catalog id.
        live: what the workbook carries besides its plan.

    Raises:
        InputError: an edit does not fit the problem.
    """
    job, live = plan.jobs[0], live or Live()
    draft = Draft(
        inputs=inputs,
        plan=plan,
        quantities=dict(quantities),
        mode=job.mode,
        interval_s=job.interval_s,
        gpus_idle=_usable(plan) - job.gpus_used,
        standing=job.repair.spares if job.repair is not None and job.spares_move else None,
        ways={} if live.ways is None else {row.label: row.id for row in live.ways.rows},
    )
    # The sheet holds size and bytes apart; the problem would derive the one from the other.
    if any(edit.key in ("checkpoint_gb", "bytes_per_parameter") for edit in edits):
        draft.change_job("checkpoint", size_gb=job.checkpoint_gb)
        if job.bytes_per_parameter is not None:
            draft.change_job(bytes_per_parameter=job.bytes_per_parameter)
    findings = [finding for edit in edits if (finding := _applied(name, draft, edit))]
    endings = (
        ("Checkpoint", finish_term),
        ("Checkpoint", _check_replica),
        ("BOM", finish_spares),
        ("Own lines", finish_own_lines),
    )
    for sheet, finish in endings:
        try:
            finish(draft)
        except EditError as error:
            findings.append(Finding("input-cell", str(error), name, path=sheet))
    if findings:
        raise InputError(findings)
    return draft


def in_usd(edits: Sequence[Edit], plan: Plan) -> tuple[Edit, ...]:
    """Return edits with their amounts in USD, that of the rate of exchange first.

    Args:
        edits: what was changed, in the currency that the workbook shows.
    """
    old = new = plan.shown_in.usd
    for edit in edits:
        if edit.key == RATE and isinstance(edit.after, float):
            new = edit.after

    def amount(edit: Edit, value: float | str | None, rate: float) -> float | str | None:
        paid = "USD" in edit.unit and edit.key != RATE and isinstance(value, float)
        return float(f"{value * rate:.15g}") if paid and isinstance(value, float) else value

    changed_ones = (
        edit.model_copy(
            update={
                "before": amount(edit, edit.before, old),
                "after": amount(edit, edit.after, new),
            }
        )
        for edit in edits
    )
    if plan.shown_in.code == "USD":
        return tuple(edits)
    return tuple(sorted(changed_ones, key=lambda edit: edit.key != RATE))


def _usable(plan: Plan) -> int:
    """Return the GPUs that the job could use of all systems of its types in the plan."""
    job = plan.jobs[0]
    lines = [line for line in plan.lines if line.parent is None and line.sku in job.gpu_types]
    return sum(job.most_gpus(line.sku, line.working) for line in lines)


def _applied(name: str, draft: Draft, edit: Edit) -> Finding | None:
    """Apply one edit; return what is wrong with it."""
    try:
        _apply(draft, edit)
    except EditError as error:
        return Finding(
            "input-cell", f"{edit.label}: {error}", name, path=f"{edit.sheet}!{edit.cell}"
        )
    return None


def _apply(draft: Draft, edit: Edit) -> None:
    value = edit.after
    if edit.kind == "figure":
        FIGURES[edit.key](draft, value)
        return
    if edit.kind == "own_line":
        section, number, part = edit.key.split("|")
        draft.own_lines.setdefault((section, int(number)), {})[part] = value
        return
    if edit.kind in _TEXTS:
        _TEXTS[edit.kind](draft, edit.key, None if value is None else str(value))
        return
    assert not isinstance(value, str)
    if edit.kind == "limit":
        set_limit(draft, edit.key, value)
    elif value is None:
        raise EditError("is blank")
    elif edit.kind == "unit_list":
        draft.set_price(edit.key, _priced(draft.inputs.prices.get(edit.key), value))
    elif edit.kind == "quantity":
        draft.quantities[edit.key] = round(value)
    elif edit.kind == "installed":
        _installed(draft, edit.key, round(value))
    elif edit.kind == "spares":
        draft.spares[edit.key] = round(value)
    else:
        draft.change_discount(edit.key, value)


_TYPED: dict[str, Any] = {"date": "0000", "source": "workbook", "confidence": "low"}


def _priced(price: Price | None, list_usd: float) -> Price:
    """Return a price that was typed into the workbook; what comes with the price stays."""
    if price is None:
        return Price.model_construct(list_usd=list_usd, **_TYPED)
    cleared = {"low_usd": None, "high_usd": None, "parts": (), "note": None}
    return price.model_copy(update={"list_usd": list_usd, **_TYPED, **cleared})


def _installed(draft: Draft, sku: str, count: int) -> None:
    """Set how many units of an item are owned and stay."""
    rule = draft.problem.items.get(sku, Quantity())
    for key, most in (("fixed", rule.fixed), ("max", rule.max)):
        if most is not None and most < count:
            raise EditError(f"the problem has items.{sku}.{key}: {most}, fewer than {count}")
    draft.change_item(sku, installed=count, retire=False)


def _lead_time(draft: Draft, sku: str, text: str | None) -> None:
    price = draft.inputs.prices.get(sku)
    if price is None:
        raise EditError("its price is not known: fill in its list price as well")
    draft.set_price(sku, price.model_copy(update={"lead_time": text}))


def _remark(draft: Draft, sku: str, text: str | None) -> None:
    """Let the item have one more note, which its line then shows."""
    more = () if text is None else (text,)
    items = tuple(
        item.model_copy(update={"notes": (*item.notes, *more)}) if item.id == sku else item
        for item in draft.inputs.items
    )
    draft.inputs = replace(draft.inputs, items=items)


_TEXTS: dict[str, Callable[[Draft, str, str | None], None]] = {
    "lead_time": _lead_time,
    "remark": _remark,
}


def finish_spares(draft: Draft) -> None:
    """Let what lies in store be the share that comes to what was typed.

    Raises:
        EditError: there is nothing that it could be a share of.
    """
    parts = {line.sku: line for line in draft.plan.lines if line.parent is None}
    for sku, count in draft.spares.items():
        whole = draft.working(sku)
        if parts[sku].quantity == 0:  # spare parts: a share of what is in the bundles
            whole = sum(
                part.quantity * draft.working(item.id)
                for item in draft.inputs.items
                for part in item.components
                if part.id == sku
            )
        if count and not whole:
            raise EditError(f"cold spares of {parts[sku].model}: nothing of it is in place")
        share = count / whole if whole else 0.0
        if share > MOST_SPARES:
            most = f"more than {MOST_SPARES:g} for each in place"
            raise EditError(f"cold spares of {parts[sku].model}: {most}")
        draft.change_item(sku, spares=share)


def _check_replica(draft: Draft) -> None:
    job = draft.problem.job
    needs = job.checkpoint.writers == "one_replica" or job.restore.readers == "one_replica"
    needs = needs or job.restore.fan_out != "broadcast" or job.gpus.whole == "replicas"
    if needs and job.parallelism is None:
        raise EditError(
            "one_replica, sharded_optimizer, every_replica and whole replicas need the GPUs that "
            "hold one replica"
        )
