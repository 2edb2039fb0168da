"""The columns of the table: what was put in, what came out, what is bought, how it runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from planner.inputs import Inputs
from planner.schema.sensitivity import Column, Kind
from planner.studies.sensitivity.scenario import COUNT_PREFIX

PLACE, NAME = "scenario", "name"
_ANSWER = (
    ("status", "status", ""), ("objective", "objective", "objective"),
    ("bound", "bound of the objective", "objective"), ("gap", "proven gap", "share"),
    ("certificate", "certificate", ""),
)  # fmt: skip
_TOTALS = (
    ("capex_usd", "capex", "USD"), ("opex_usd_per_year", "opex per year", "USD"),
    ("tco_usd", "TCO", "USD"), ("it_power_kw", "IT power", "kW"),
    ("facility_power_kw", "power at the meter", "kW"), ("racks", "racks", "racks"),
    ("gpus", "GPUs bought", "GPUs"), ("storage_units", "storage units", "units"),
)  # fmt: skip
_JOB = (
    ("gpu_type", "GPU type", ""), ("storage_family", "storage family", ""),
    ("gpus_in_use", "GPUs in use", "GPUs"), ("mode", "checkpoint mode", ""),
    ("interval_s", "checkpoint interval", "s"), ("stall_s", "stall", "s"),
    ("drain_s", "drain", "s"), ("overlap", "overlap", "share"), ("restore_s", "restore", "s"),
    ("mtti_s", "mean time to interruption", "s"), ("goodput", "goodput", "share"),
    ("useful_gpus", "useful GPUs", "GPUs"), ("useful_pflops", "useful PFLOP/s", "PFLOP/s"),
    ("write_gb_per_s", "delivered write bandwidth", "GB/s"),
    ("read_gb_per_s", "delivered read bandwidth", "GB/s"),
    ("days_to_train", "days to train", "days"),
)  # fmt: skip
_TEXT = (("binding", "binding limits", ""), ("reason", "reason", ""))
WHOLE = frozenset({PLACE, "racks", "gpus", "gpus_in_use", "storage_units"})
WORDS = frozenset(
    {NAME, "status", "certificate", "gpu_type", "storage_family", "mode", "binding", "reason"}
)


ANSWERS = frozenset(
    {PLACE, NAME, *(name for names in (_ANSWER, _TOTALS, _JOB, _TEXT) for name, *_ in names)}
)
"""Names that no column of an input may have."""


def columns(
    axes: Sequence[Column], items: Sequence[Column], unit: str, *, named: bool
) -> tuple[Column, ...]:
    """Return all columns of a table in their order.

    Args:
        axes: those of the inputs.
        items: those of the items that any plan buys.
        unit: the objective's.
        named: whether scenarios have names.
    """
    names = [Column(name=NAME, label="name", kind="text")] if named else []
    return (
        Column(name=PLACE, label="scenario", kind="text"),
        *names,
        *axes,
        *_made(_ANSWER, "answer", unit),
        *items,
        *_made(_TOTALS, "total", unit),
        *_made(_JOB, "job", unit),
        *_made(_TEXT, "text", unit),
    )


def _made(rows: Iterable[tuple[str, str, str]], kind: Kind, unit: str) -> list[Column]:
    return [
        Column(name=name, label=label, unit=unit if of == "objective" else of, kind=kind)
        for name, label, of in rows
    ]


def items_on_offer(bases: Iterable[Inputs]) -> tuple[Column, ...]:
    """Return a column for each GPU system and storage item of any catalog."""
    offers = {
        item.id: item
        for inputs in bases
        for item in inputs.items
        if item.category in ("gpu_system", "storage")
    }
    order = sorted(offers.values(), key=lambda item: (item.category, item.id))
    return tuple(
        Column(name=COUNT_PREFIX + item.id, label=item.id, unit="units", kind="count")
        for item in order
    )


def bought(items: Iterable[Column], used: Collection[str]) -> tuple[Column, ...]:
    """Return the columns of items that any row buys."""
    return tuple(column for column in items if column.name in used)


def types(all_columns: Iterable[Column], texts: Collection[str]) -> Mapping[str, str]:
    """Return what a column holds: "int", "float" or "str"; ``texts`` are inputs that are words."""
    kinds = {}
    for column in all_columns:
        if column.name in WORDS or (column.kind == "input" and column.name in texts):
            kinds[column.name] = "str"
        elif column.name in WHOLE or column.kind == "count":
            kinds[column.name] = "int"
        else:
            kinds[column.name] = "float"
    return kinds
